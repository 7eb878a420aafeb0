"""Moduli of continuity: losses that are not smooth or not convex, in a bounded set."""
