"""Numerical routines; each says on which side its result errs."""
