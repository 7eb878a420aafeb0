"""The mass run: many seeds, several processes, one table."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from laws.families import FAMILIES
from laws.soundness import Tally, shares


def chunk(pairs: int, seed: int) -> Tally:
    """About this many pairs from one seed."""
    tally = Tally()
    wanted = shares(pairs, {name: share for name, (share, _) in FAMILIES.items()})
    for place, (name, (_, family)) in enumerate(FAMILIES.items()):
        rng = np.random.default_rng([seed, place])
        while tally.families.get(name, 0) < wanted[name]:
            tally.judge(name, family, rng)
    return tally


def mass_run(pairs: int, seed: int, *, processes: int = 2, size: int = 5_000, report=None) -> Tally:
    """All chunks in parallel; the same pairs whatever the number of processes."""
    total, chunks = Tally(), -(-pairs // size)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for done, made in enumerate(
            pool.map(chunk, [size] * chunks, range(seed * 10**6, seed * 10**6 + chunks))
        ):
            total.add(made)
            if report is not None:
                report(f"{done + 1}/{chunks} chunks, {total.pairs} pairs")
    return total
