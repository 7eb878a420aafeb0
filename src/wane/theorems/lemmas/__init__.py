"""What several theorems share, in doubles."""
