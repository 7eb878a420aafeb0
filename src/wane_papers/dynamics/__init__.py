"""Chourasia, Ye and Shokri 2021, privacy dynamics: printed bounds, errata, the design."""
