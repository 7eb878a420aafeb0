"""Release a statistic as the position of a linear diffusion, once, along a path, or on a tree."""
