"""Balle, Barthe, Gaboardi and Geumlek 2019, mixing and diffusion: printed bounds, errata."""
