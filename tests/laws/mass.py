"""The mass run: many seeds, several processes, one table."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from laws.soundness import Tally, run_pairs


def _chunk(given: tuple[int, int]) -> Tally:
    return run_pairs(*given)


def mass_run(pairs: int, seed: int, *, processes: int = 2, size: int = 5_000, report=None) -> Tally:
    """All chunks in parallel; the same pairs whatever the number of processes."""
    total, chunks = Tally(), -(-pairs // size)
    given = [(size, seed * 10**6 + chunk) for chunk in range(chunks)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for done, made in enumerate(pool.map(_chunk, given)):
            total.add(made)
            if report is not None:
                report(f"{done + 1}/{chunks} chunks, {total.pairs} pairs")
    return total
