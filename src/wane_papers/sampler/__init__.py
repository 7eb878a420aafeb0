"""Ganesh and Talwar 2020, Langevin sampling: printed bounds, a corrected route, figures."""
