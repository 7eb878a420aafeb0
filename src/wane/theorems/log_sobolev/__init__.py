"""Langevin dynamics whose laws obey a log-Sobolev inequality."""
