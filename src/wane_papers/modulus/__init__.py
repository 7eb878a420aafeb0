"""Bravo, Flores-Mella and Guzman 2025, moduli of continuity: printed bounds, errata, figures."""
