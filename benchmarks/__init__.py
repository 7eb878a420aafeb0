"""What is measured, as scripts: ratios in one run."""
