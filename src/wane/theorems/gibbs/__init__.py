"""Samples of a posterior are nearly as private as exact draws from it."""
