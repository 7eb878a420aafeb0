"""Shifted interpolation, solved jointly over the whole run."""
