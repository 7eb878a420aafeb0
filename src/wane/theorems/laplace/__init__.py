"""Release numbers with Laplace noise, and further Laplace noise on top of it."""
