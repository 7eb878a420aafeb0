"""Loaders whose order is known: fixed batches, and Poisson batches by coins of a secret source.

Both count what they hand out, so that a step on anything else can be refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wane import arguments
from wane.describe import Cyclic, Poisson
from wane.errors import InvalidDescription, MissingExtra
from wane.run import private_generator

try:
    import torch
    from torch.utils.data import DataLoader, Sampler, default_collate
except ImportError:
    raise MissingExtra("This bridge needs torch; install wane[torch].") from None


class FixedBatches(Sampler[list[int]]):  # type: ignore[misc]
    """Lists of positions in a fixed order: this process' parts of disjoint batches."""

    def __init__(
        self, parts: list[list[int]], records: int, size: int, world_size: int = 1
    ) -> None:
        self.parts, self.records, self.size, self.world_size = parts, records, size, world_size

    def __iter__(self) -> Iterator[list[int]]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


class CyclicLoader(DataLoader[Any]):  # type: ignore[misc]
    """Fixed disjoint batches in the order of the data set, the same in every epoch.

    It counts what it hands out, so that a step on anything else can be refused.  Of several
    processes each gets its own part of every batch.
    """

    def __init__(
        self, dataset: Any, batch_size: int, *, rank: int = 0, world_size: int = 1, **options: Any
    ) -> None:
        """Cut the data set into batches; `options` may hold `collate_fn` and `pin_memory`."""
        self.records = arguments.whole("records", len(dataset), least=1)
        self.size = arguments.whole("batch_size", batch_size, least=1, most=self.records)
        self.world_size = arguments.whole("world_size", world_size, least=1)
        arguments.whole("rank", rank, least=0, most=world_size - 1)
        if self.last_size < world_size:
            raise InvalidDescription(
                f"batch_size must leave a record for each of the {world_size} processes in the "
                f"last batch, got {batch_size} for {self.records} records."
            )
        self.given = 0
        self.in_order = True
        extra = sorted(set(options) - {"collate_fn", "pin_memory"})
        if extra:
            raise InvalidDescription(
                f"options must be collate_fn or pin_memory, got {', '.join(extra)}."
            )
        parts = [
            list(range(first + rank, min(first + batch_size, self.records), world_size))
            for first in range(0, self.records, batch_size)
        ]
        parted = FixedBatches(parts, self.records, self.size, self.world_size)
        super().__init__(dataset, batch_sampler=parted, **options)

    @property
    def last_size(self) -> int:
        """How many records the last batch of an epoch holds."""
        return (self.records - 1) % self.size + 1

    @property
    def rows_given(self) -> int:
        """How many records the batch that was handed out last has here."""
        return len(self.batch_sampler.parts[(self.given - 1) % len(self)])

    @property
    def batches(self) -> Cyclic:
        """The order as a description."""
        return Cyclic(self.size)

    def __iter__(self) -> Iterator[Any]:
        """Hand out an epoch; one that is broken off puts the next out of order."""
        for position, batch in enumerate(super().__iter__()):
            self.in_order = self.in_order and self.given % len(self) == position
            self.given += 1
            yield batch


class PoissonBatches(Sampler[list[int]]):  # type: ignore[misc]
    """Lists of positions: each record joins each batch by its own coin, from ChaCha20."""

    def __init__(self, rows: int, rate: float, batches: int) -> None:
        self.rows, self.rate, self.batches = rows, rate, batches
        self._generator = private_generator()

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(self.batches):
            yield (self._generator.random(self.rows) < self.rate).nonzero()[0].tolist()

    def __len__(self) -> int:
        return self.batches


class PoissonLoader(DataLoader[Any]):  # type: ignore[misc]
    """Batches that each record joins independently, with probability `batch_size / records`.

    The coins come from the source of wane's noise, and must stay as secret.  A batch may be empty,
    and is a step like any other.  An epoch may be broken off: every batch is drawn anew.
    """

    world_size = 1
    in_order = True

    def __init__(
        self, dataset: Any, batch_size: int, *, records: int | None = None, **options: Any
    ) -> None:
        """Describe the coins; `options` may hold `collate_fn` and `pin_memory`.

        `records` is the public number that the probability is made with.  Left out it is the size
        of the data set, which is then public, so that adding a record is not covered.
        """
        rows = arguments.whole("dataset", len(dataset), least=1)
        self.counts_rows = records is None
        self.records = arguments.whole("records", rows if records is None else records, least=1)
        self.size = arguments.whole("batch_size", batch_size, least=1, most=self.records)
        self.given = self.rows_given = 0
        extra = sorted(set(options) - {"collate_fn", "pin_memory"})
        if extra:
            raise InvalidDescription(
                f"options must be collate_fn or pin_memory, got {', '.join(extra)}."
            )
        self._collate = options.pop("collate_fn", None) or default_collate
        coins = PoissonBatches(rows, self.size / self.records, -(-self.records // self.size))
        super().__init__(dataset, batch_sampler=coins, collate_fn=self._collated, **options)

    @property
    def batches(self) -> Poisson:
        """The order as a description."""
        return Poisson(self.size)

    def _collated(self, chosen: list[Any]) -> Any:
        self.rows_given = len(chosen)
        return self._collate(chosen) if chosen else _emptied(self._collate([self.dataset[0]]))

    def __iter__(self) -> Iterator[Any]:
        """Hand out as many batches as make one pass on average."""
        for batch in super().__iter__():
            self.given += 1
            yield batch


def _emptied(batch: Any) -> Any:
    """Return a batch of the same kind without a record."""
    if isinstance(batch, torch.Tensor):
        return batch[:0]
    if isinstance(batch, dict):
        return {name: _emptied(part) for name, part in batch.items()}
    if isinstance(batch, list | tuple):
        return [_emptied(part) for part in batch]
    raise InvalidDescription(
        f"collate_fn must make tensors, or lists and dicts of them, got {type(batch)!r:.60}."
    )
