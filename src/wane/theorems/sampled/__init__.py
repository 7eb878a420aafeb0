"""Random batches and hidden iterates."""
