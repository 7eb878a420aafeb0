"""Contraction of hockey-stick divergences in a bounded set."""
