"""A bar that shows how many steps are done and how long they took, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def step_counter(steps: int, *, shown: bool) -> Iterator[Callable[[int], None] | None]:
    """Yield what a run tells its progress to, or None if nobody wants to see it."""
    if not shown:
        yield None
        return
    from tqdm import tqdm

    with tqdm(total=steps, unit="step", leave=False) as bar:

        def told(done: int) -> None:
            bar.update(done - bar.n)

        yield told
