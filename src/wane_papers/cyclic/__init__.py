"""Kong and Ribero 2024, cyclic clipped descent: printed bounds, refuted ones, errata."""
