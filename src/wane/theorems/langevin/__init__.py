"""How far an overdamped Langevin chain is from its target, and from the diffusion."""
