"""How a loader chooses its batches, read from the loader itself, and what nobody can read there."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import torch
from opacus.utils.uniform_sampler import (
    DistributedUniformWithReplacementSampler,
    UniformWithReplacementSampler,
)
from torch.utils.data import (
    BatchSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
)
from torch.utils.data.distributed import DistributedSampler

from wane.describe import Adjacency, Cyclic, Poisson
from wane.describe.domains import Domain
from wane.errors import InvalidDescription
from wane.extra.opacus.heads import leaves
from wane.extra.torch_loaders import FixedBatches

MOST_PARTS = 10**9
"""The largest denominator of a sampling rate that is described exactly."""


class Order(enum.Enum):
    """How the records of a batch are chosen.

    POISSON   each record by its own coin.
    FIXED     disjoint batches, in the same order in every epoch.
    SHUFFLED  disjoint batches, in a new order in every epoch.
    """

    POISSON = "Poisson batches"
    FIXED = "batches in a fixed order"
    SHUFFLED = "batches shuffled anew in every epoch"


@dataclass(frozen=True)
class Sampling:
    """A loader as data.

    Attributes:
        order: how the records of a batch are chosen.
        records: how many records there are, those that are never used left out.
        size: how many a batch holds, or for Poisson batches the divisor of the description.
        per_epoch: how many batches an epoch has.
        rate: the probability that a record joins a Poisson batch.
        uses: how often a record can be used in one epoch.
        processes: how many processes share the records.
        fills_empty: an empty batch is filled with a made-up record, so that a record can move a sum
            by twice the clipping threshold.
        skips_empty: an empty batch is left out, so that not every coin is tossed.
    """

    order: Order
    records: int
    size: int
    per_epoch: int
    rate: float = 1.0
    uses: int = 1
    processes: int = 1
    fills_empty: bool = False
    skips_empty: bool = False

    @property
    def poisson(self) -> bool:
        """Whether each record has its own coin."""
        return self.order is Order.POISSON

    @property
    def batches(self) -> Poisson | Cyclic:
        """The order in wane's words; shuffled batches have none of their own."""
        return Poisson(self.size) if self.poisson else Cyclic(self.size)

    @property
    def adjacency(self) -> Adjacency:
        """What Opacus means for Poisson batches; where records have places, one is blanked."""
        return Adjacency.ADD_REMOVE if self.poisson else Adjacency.ZERO_OUT


def sampling_of(loader: Any) -> Sampling:
    """Return how a loader chooses its batches; refused in words if that is not known."""
    if isinstance(loader.dataset, IterableDataset):
        raise _unknown("an IterableDataset, whose order nobody can check")
    sampler = loader.batch_sampler
    reader = _READERS.get(kind_of(sampler))
    if reader is None:
        name = "no batches" if sampler is None else f"the batch sampler {kind_of(sampler).__name__}"
        raise _unknown(name)
    return reader(sampler, loader)


def kind_of(thing: Any) -> type:
    """Return the class of a sampler or loader, seen through what watches it."""
    return getattr(type(thing), "watched_kind", type(thing))


def _poisson(sampler: Any, loader: Any) -> Sampling:
    records, rate = sampler.num_samples, float(sampler.sample_rate)
    share = Fraction(rate).limit_denominator(MOST_PARTS)
    if not 0.0 < rate <= 1.0 or float(share) != rate:
        raise _unknown(f"the sampling rate {rate!r}")
    # null records make their number a multiple of the denominator; they obey every constant that
    # the losses here have, so the padded data set is one that the description covers
    groups = -(-records // share.denominator)
    return Sampling(
        Order.POISSON,
        records=groups * share.denominator,
        size=groups * share.numerator,
        per_epoch=len(sampler),
        rate=rate,
        fills_empty=bool(getattr(loader.collate_fn, "rand_on_empty", False)),
    )


def _shared_poisson(sampler: Any, loader: Any) -> Sampling:
    made = replace(_poisson(sampler, loader), processes=sampler.num_replicas, skips_empty=True)
    return replace(made, records=sampler.total_size)


def _fixed(sampler: Any, loader: Any) -> Sampling:
    return Sampling(
        Order.FIXED,
        records=sampler.records,
        size=sampler.size,
        per_epoch=len(sampler),
        processes=sampler.world_size,
    )


def _batched(sampler: Any, loader: Any) -> Sampling:
    inner, size = sampler.sampler, sampler.batch_size
    rank = _ORDERS.get(type(inner))
    if rank is None:
        raise _unknown(f"the sampler {type(inner).__name__}")
    order, uses, processes = rank(inner)
    count = len(inner)
    used = count - count % size if sampler.drop_last else count
    if used == 0:
        raise _unknown(f"no whole batch of {size}")
    return Sampling(order, used, size, len(sampler), uses=uses, processes=processes)


def _sequential(sampler: Any) -> tuple[Order, int, int]:
    return Order.FIXED, 1, 1


def _random(sampler: Any) -> tuple[Order, int, int]:
    count = len(sampler.data_source)
    if sampler.replacement or sampler.num_samples > count:
        raise _unknown("a RandomSampler that draws a record more than once an epoch")
    return Order.SHUFFLED, 1, 1


def _subset(sampler: Any) -> tuple[Order, int, int]:
    if len(set(sampler.indices)) != len(sampler.indices):
        raise _unknown("a SubsetRandomSampler that lists a record more than once")
    return Order.SHUFFLED, 1, 1


def _distributed(sampler: Any) -> tuple[Order, int, int]:
    padded = sampler.total_size > len(sampler.dataset)  # some records are handed out again
    repeats = -(-sampler.total_size // len(sampler.dataset)) if padded else 1
    order = Order.SHUFFLED if sampler.shuffle else Order.FIXED
    return order, repeats, sampler.num_replicas


def _unknown(what: str) -> InvalidDescription:
    return InvalidDescription(
        f"data_loader must draw Poisson batches, or walk through fixed or shuffled batches, got "
        f"{what}; leave poisson_sampling at True, or use a plain DataLoader."
    )


_READERS: dict[type, Callable[[Any, Any], Sampling]] = {
    UniformWithReplacementSampler: _poisson,
    DistributedUniformWithReplacementSampler: _shared_poisson,
    BatchSampler: _batched,
    FixedBatches: _fixed,
}
_ORDERS: dict[type, Callable[[Any], tuple[Order, int, int]]] = {
    SequentialSampler: _sequential,
    RandomSampler: _random,
    SubsetRandomSampler: _subset,
    DistributedSampler: _distributed,
}


class Handed:
    """What a loader has drawn and handed out; counts run on, batches are kept until a step.

    Without workers the sampler is watched, and what is collated from its draws: this also shows
    the parts into which Opacus' BatchMemoryManager cuts a batch.  Workers draw ahead, so that with
    them the loader is watched, and such parts are not seen.
    """

    def __init__(self, loader: Any) -> None:
        self.epochs = 0
        self.drawn = 0
        self.last_size = 0
        self.last_place = -1
        self.batches: list[Labelled] = []
        if loader.num_workers > 0:
            _watch(loader, self, self._hand_whole)
        else:
            _watch(loader.batch_sampler, self, lambda batch: self._draw(len(batch)))
            loader.collate_fn = _Collate(loader.collate_fn, self)

    def hand(self, batch: Any) -> None:
        """Keep the tensors of a batch, with the number of changes each has seen."""
        flat = type(batch) is list and {torch.Tensor}.issuperset(map(type, batch))
        found = batch if flat else leaves(batch)
        self.batches.append([(leaf, leaf._version) for leaf in found])

    def begin_epoch(self) -> None:
        """Count a new pass over the records."""
        self.epochs += 1
        self.last_place = -1

    def _draw(self, size: int) -> None:
        self.drawn += 1
        self.last_size = size
        self.last_place += 1

    def _hand_whole(self, batch: Any) -> None:
        self.hand(batch)
        first = next(leaves(batch), None)
        self._draw(-1 if first is None or first.ndim == 0 else len(first))


Labelled = list[tuple[Any, int]]
"""The tensors of a batch, each with its version when it was handed out."""


class _Collate:
    """A collate function that tells what it made."""

    def __init__(self, inner: Any, handed: Handed) -> None:
        self._inner, self._handed = inner, handed

    def __call__(self, batch: Any) -> Any:
        made = self._inner(batch)
        self._handed.hand(made)
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _watch(thing: Any, handed: Handed, tell: Callable[[Any], None]) -> None:
    """Let one object tell what it yields, and stay what it is for everybody else."""
    kind = type(thing)

    def iterate(self: Any) -> Iterator[Any]:
        handed.begin_epoch()
        for batch in kind.__iter__(self):
            tell(batch)
            yield batch

    body = {"__iter__": iterate, "watched_kind": kind_of(thing)}
    thing.__class__ = type(kind.__name__, (kind,), body)


@dataclass(frozen=True)
class Declared:
    """What a caller adds to what is read; all of it is optional.

    Attributes:
        adjacency: which data sets must be indistinguishable.  Left out: add-remove for Poisson
            batches, as Opacus means it, zero-out for others.
        domain: a set or regulariser; its prox is applied to the weights after each step.
        poisson_sampling: checked against the loader.
    """

    adjacency: Adjacency | None = None
    domain: Domain | None = None
    poisson_sampling: bool | None = None

    def check_against(self, sampling: Sampling) -> None:
        """Refuse what contradicts the loader."""
        if self.poisson_sampling not in (None, sampling.poisson):
            raise InvalidDescription(
                f"poisson_sampling must agree with the loader, which draws {sampling.order.value}, "
                f"got {self.poisson_sampling}; leave it out, it is read from the loader."
            )
        if self.adjacency is Adjacency.ADD_REMOVE and not sampling.poisson:
            raise InvalidDescription(
                f"adjacency must be zero-out or replace-one for {sampling.order.value}, got "
                "add-remove; adding a record would move the others to other batches."
            )
