"""The random generators of wane: private noise, repeatable noise for tests, and public choices.

Private noise comes from ChaCha with 20 rounds, whose 256-bit key is taken from the operating system
and kept nowhere else.  Two runs that draw the same noise show the difference of their records, so a
private generator is never pickled, copied or spawned from, and a process that was forked from
another takes a new key before it draws anything.

A seed makes a run repeatable, and anyone who knows it can subtract the noise: every function that
takes one calls it `seed_voids_privacy`.
"""

from __future__ import annotations

import operator
import os
import secrets
import weakref
from typing import Any, NoReturn

import numpy as np
from randomgen import ChaCha

from wane.errors import InvalidDescription

_ROUNDS = 20
_ALIVE: weakref.WeakSet[_PrivateChaCha] = weakref.WeakSet()


def private_generator() -> np.random.Generator:
    """Return a generator that nobody can repeat; for everything that protects records."""
    return _PrivateGenerator(_PrivateChaCha(key=_new_key(), rounds=_ROUNDS))


def seeded_generator_voids_privacy(seed: int) -> np.random.Generator:
    """Return a repeatable generator; whoever knows the seed knows the noise.  For tests only."""
    return np.random.Generator(ChaCha(seed, rounds=_ROUNDS))


def noise_generator(seed_voids_privacy: int | None) -> np.random.Generator:
    """Return the private generator, or for tests the one that this seed repeats."""
    if seed_voids_privacy is None:
        return private_generator()
    try:
        seed = operator.index(seed_voids_privacy)
    except TypeError:
        seed = -1
    if seed < 0:
        raise InvalidDescription(
            f"seed_voids_privacy must be a whole number of at least 0, got "
            f"{type(seed_voids_privacy).__name__}; leave it out to draw private noise."
        )
    return seeded_generator_voids_privacy(seed)


def public_generator(seed: int) -> np.random.Generator:
    """Return a repeatable generator for choices that anyone may know, such as an order of trials.

    Nothing that is drawn from it protects a record.
    """
    return np.random.default_rng(seed)


def refuse_to_be_copied(what: str) -> NoReturn:
    """Raise the error of an object that two holders would draw the same noise from."""
    raise TypeError(
        f"{what} is never pickled or copied: two copies would draw the same noise; make one where "
        "it is used."
    )


class _NeverCopied:
    """What belongs to one process and has no second copy."""

    def __reduce__(self) -> NoReturn:
        refuse_to_be_copied("a private generator")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        refuse_to_be_copied("a private generator")

    def __copy__(self) -> NoReturn:
        refuse_to_be_copied("a private generator")

    def __deepcopy__(self, memo: object) -> NoReturn:
        refuse_to_be_copied("a private generator")

    def spawn(self, n_children: int) -> NoReturn:
        """Refuse: what is spawned in two processes would be the same."""
        refuse_to_be_copied("a private generator")


class _PrivateChaCha(_NeverCopied, ChaCha):  # type: ignore[misc]
    """The stream cipher; a process that was forked gets a key of its own."""

    state: dict[str, Any]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        _ALIVE.add(self)

    def take_new_key(self) -> None:
        """Forget the key, and everything that was drawn ahead from it."""
        fresh = ChaCha(key=_new_key(), rounds=_ROUNDS).state["state"]
        kept: dict[str, Any] = self.state
        self.state = kept | {"state": fresh}


class _PrivateGenerator(_NeverCopied, np.random.Generator):
    """A numpy generator that refuses to be copied."""


def _new_key() -> int:
    return secrets.randbits(256)


def _take_new_keys() -> None:
    for one in list(_ALIVE):
        one.take_new_key()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_take_new_keys)
