"""Where the noise comes from."""

from __future__ import annotations

import secrets

import numpy as np

from wane.errors import InvalidDescription


def generator(insecure_rng: np.random.Generator | None) -> np.random.Generator:
    """The given generator, for tests; otherwise one seeded by the operating system.

    Whoever knows the generator's state can remove the noise, hence the name of the argument.
    """
    if insecure_rng is None:
        return np.random.default_rng(secrets.randbits(256))
    if not isinstance(insecure_rng, np.random.Generator):
        raise InvalidDescription(
            f"insecure_rng must be a numpy Generator, got {type(insecure_rng).__name__}; leave it "
            "out to draw from the operating system."
        )
    return insecure_rng
