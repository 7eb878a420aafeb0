"""Send a private output through a Markov kernel, and release what comes out."""
