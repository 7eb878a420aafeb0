"""Real numbers with proven error, and the mathematics of the verifiers in them."""
