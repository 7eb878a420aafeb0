"""Where noise comes from: a stream cipher keyed by the operating system.

A private run draws from ChaCha with 20 rounds, whose 256-bit key comes from the operating system
and is kept nowhere else.  A seed makes a run repeatable, and anyone who knows it can subtract the
noise: the one function that takes a seed says so in its name.
"""

from __future__ import annotations

import secrets

import numpy as np
from randomgen import ChaCha

_ROUNDS = 20


def private_generator() -> np.random.Generator:
    """Return a generator that nobody can repeat."""
    return np.random.Generator(ChaCha(key=secrets.randbits(256), rounds=_ROUNDS))


def seeded_generator_voids_privacy(seed: int) -> np.random.Generator:
    """Return a repeatable generator; whoever knows the seed knows the noise.  For tests only."""
    return np.random.Generator(ChaCha(seed, rounds=_ROUNDS))
