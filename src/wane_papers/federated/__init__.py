"""Sun, Shen and Tao 2024, convergent privacy of federated learning: a printed bound, an erratum."""
