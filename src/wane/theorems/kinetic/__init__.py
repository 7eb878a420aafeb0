"""Underdamped Langevin chains: what they cost, and how far they are from their target."""
