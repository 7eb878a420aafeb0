"""Real numbers with proven error (balls), and the mathematics of the verifiers in them."""
