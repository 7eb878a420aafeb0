"""A linear head trained in PyTorch, certified from the training objects.

    head = LinearHead(64, links.SoftmaxEnvelope(10), feature_norm=1.0, gradient_bound=0.5)
    loader = CyclicLoader(dataset, batch_size=50)
    optimizer = NoisySGD(head, loader, lr=4.0, noise=NoiseMultiplier(2.0),
                         adjacency=Adjacency.ZERO_OUT)
    for features, targets in loader:
        optimizer.step(features, targets)
    certificate = release(optimizer)  # rounds the weights, which may now be shown
    certificate.epsilon(1e-5)

A step is one step of `wane.run.descend`: the same gradient sums, the same noise, the same prox, in
double precision on the CPU.  The optimizer works the gradients out itself, from records that it
bounds; `.grad` is never read, so that no loss of the caller's making can stretch a gradient.

**Several processes.**  Each one holds its part of every batch.  The sums are added over all, rank 0
adds the noise, once, and sends the iterate to the others.  All of them see hidden iterates, so all
of them must be trusted.

**The end.**  `release` rounds the weights to `wane.run.release_grid`, as every estimator of wane
does, and ends the run: a step from rounded weights would be none of the description's.  Weights
that are shown without it keep low-order bits, through which noise in floating point is known to
leak.

**What the caller vouches for.**  The start, the learning rates and the number of steps do not
depend on the private records; features are a function of one record alone; and nothing but the
head's last parameters, as `release` leaves them, is shown to anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wane.certify import Certificate, certify
from wane.describe import Adjacency, Cyclic, NoisyDescent, Objective, Phase, Schedule, check
from wane.describe.domains import Domain, Unbounded
from wane.describe.noise import NOISES, Noise
from wane.errors import InvalidDescription, MissingExtra
from wane.learn.void import VoidCertificate
from wane.run import (
    LinearSums,
    private_generator,
    release_grid,
    seeded_generator_voids_privacy,
    to_grid,
)
from wane.run.descent import noisy_step
from wane.run.links import Link

try:
    import torch
    from torch import distributed, nn
    from torch.utils.data import DataLoader
except ImportError:
    raise MissingExtra("This bridge needs torch; install wane[torch].") from None

Array = NDArray[np.float64]

SEEDED = "The noise came from a seed: whoever knows it can subtract the noise."
ROUNDINGS = 2.5 * 2.0**-53
"""Room for one rounding of each term of a sum, as `wane.run.linear` counts it."""


class LinearHead(nn.Module):  # type: ignore[misc]
    """A linear layer whose records are scaled to a public norm, with the loss to fit it by.

    It starts at zero, in double precision.  `weight` has the shape (features,) for one output, else
    (features, outputs), with one more row, the last, if there is an intercept.
    """

    def __init__(
        self,
        features: int,
        link: Link,
        *,
        feature_norm: float,
        gradient_bound: float | None = None,
        intercept: float = 0.0,
    ) -> None:
        """Describe the head.

        Args:
            features: how many a record has.
            link: the loss, which also says what targets look like (-1 and +1 for `Logistic`); a
                record with any other target counts as a null record.
            feature_norm: longer records, intercept included, are scaled down to this length.
            gradient_bound: cap on the length of a record's gradient, below the link's own.
            intercept: value of the constant coordinate, 0 for none.
        """
        super().__init__()
        self.features = check.whole("features", features, least=1)
        self.link = link
        self.feature_norm = check.real("feature_norm", feature_norm, above=0.0)
        self.gradient_bound = gradient_bound
        self.intercept = check.real("intercept", intercept, least=0.0)
        self.objective(0.0)  # a bound that the link refuses is refused here
        rows = self.features + (self.intercept > 0.0)
        shape = (rows,) if link.outputs == 1 else (rows, link.outputs)
        self.weight = nn.Parameter(torch.zeros(shape, dtype=torch.float64))

    def objective(self, ridge: float) -> Objective:
        """The constants of the bounded loss."""
        return self.link.objective(self.feature_norm, self.gradient_bound, ridge)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the margins of each record, scaled as in training."""
        rows = features.to(self.weight.dtype)
        norms = (rows.square().sum(-1) + self.intercept**2).sqrt()
        scale = (self.feature_norm / norms.clamp(min=self.feature_norm)).to(rows.dtype)
        margins = rows @ self.weight[: self.features]
        if self.intercept:
            margins = margins + self.intercept * self.weight[-1]
        return margins * (scale if self.link.outputs == 1 else scale.unsqueeze(-1))

    def gradient_sum(
        self, features: torch.Tensor, targets: torch.Tensor, *, slack: float = 0.0
    ) -> Array:
        """Return the sum of these records' bounded gradients, each shorter by `slack`, relative."""
        if features.ndim != 2 or features.shape[1] != self.features:
            raise InvalidDescription(
                f"features must have {self.features} columns, got shape {tuple(features.shape)}."
            )
        cap = None if self.gradient_bound is None else self.gradient_bound * (1.0 - slack)
        flat = targets.detach().cpu().numpy()
        sums = LinearSums(
            features.detach().cpu().numpy(),
            flat.reshape(-1) if self.link.outputs == 1 else flat,
            self.link,
            feature_norm=self.feature_norm * (1.0 - slack),
            gradient_bound=cap,
            intercept=self.intercept,
        )
        return sums(self.weight.detach().cpu().numpy(), slice(0, sums.records))


class CyclicLoader(DataLoader[Any]):  # type: ignore[misc]
    """Fixed disjoint batches in the order of the data set, the same in every epoch.

    It counts what it hands out, so that a step on anything else can be refused.  Of several
    processes each gets its own part of every batch.
    """

    def __init__(
        self, dataset: Any, batch_size: int, *, rank: int = 0, world_size: int = 1, **options: Any
    ) -> None:
        """Cut the data set into batches; `options` may hold `collate_fn` and `pin_memory`."""
        self.records = check.whole("records", len(dataset), least=1)
        self.size = check.whole("batch_size", batch_size, least=1, most=self.records)
        self.world_size = check.whole("world_size", world_size, least=1)
        check.whole("rank", rank, least=0, most=world_size - 1)
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
        super().__init__(dataset, batch_sampler=parts, **options)

    @property
    def last_size(self) -> int:
        """How many records the last batch of an epoch holds."""
        return (self.records - 1) % self.size + 1

    @property
    def rows_given(self) -> int:
        """How many records the batch that was handed out last has here."""
        return len(self.batch_sampler[(self.given - 1) % len(self)])

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


class NoisySGD(torch.optim.Optimizer):  # type: ignore[misc]
    """Noisy gradient descent on a linear head: bounded sums, public divisor, noise, prox."""

    def __init__(
        self,
        head: LinearHead,
        loader: CyclicLoader,
        *,
        lr: float,
        noise: Noise,
        adjacency: Adjacency,
        ridge: float = 0.0,
        domain: Domain | None = None,
        seed_voids_privacy: int | None = None,
    ) -> None:
        """Describe the run; the head's present weights are its start.

        Args:
            head: what is trained.
            loader: where every batch comes from.
            lr: step size; a scheduler may change it, by a rule that never looks at the records.
            noise: on each step, in any of wane's conventions.
            adjacency: which data sets must be indistinguishable.
            ridge: weight of `ridge/2 |weight|^2`.
            domain: set or regulariser whose prox ends each step.
            seed_voids_privacy: makes the run repeatable, and the certificate void.
        """
        check.kind("head", head, (LinearHead,))
        check.kind("loader", loader, (CyclicLoader,))
        check.kind("noise", noise, NOISES)
        super().__init__([head.weight], {"lr": check.real("lr", lr, above=0.0)})
        self._head, self._loader, self._noise = head, loader, noise
        self._adjacency, self._ridge = adjacency, ridge
        self._domain = Unbounded() if domain is None else domain
        self._phases: list[Phase] = []
        self._ended = False
        self._given_before = loader.given
        self._seeded = seed_voids_privacy is not None
        self._generator = (
            private_generator()
            if seed_voids_privacy is None
            else seeded_generator_voids_privacy(seed_voids_privacy)
        )
        if loader.given % len(loader) or not loader.in_order:
            raise InvalidDescription(
                f"loader must be at the start of an epoch, got one that handed out {loader.given} "
                f"batches, {len(loader)} to an epoch; make a new one."
            )
        self._described([Phase(1, lr, noise)])  # what no description allows is refused here
        if self._shared:
            self._meet()

    @property
    def steps_taken(self) -> int:
        """How many."""
        return sum(phase.repeat for phase in self._phases)

    def step(self, features: torch.Tensor, targets: torch.Tensor) -> None:
        """Take one step on the batch that the loader has just handed out."""
        if self._ended:
            raise InvalidDescription(
                "step must not follow the release, got one: the weights are rounded and may have "
                "been seen; begin a new run."
            )
        self._check_order()
        if self._head.weight.dtype is not torch.float64:
            raise InvalidDescription(
                f"head must stay in double precision until the end, got {self._head.weight.dtype}."
            )
        lr = check.real("lr", float(self.param_groups[0]["lr"]), above=0.0)
        with torch.no_grad(), np.errstate(all="ignore"):
            total = self._total(features, targets)
            if not self._shared or distributed.get_rank() == 0:
                self._head.weight.copy_(torch.from_numpy(self._moved(total, lr)))
            if self._shared:
                distributed.broadcast(self._head.weight.detach(), src=0)
        self._note(lr)

    def load_state_dict(self, state_dict: Any) -> None:
        """Refuse: a checkpoint holds an iterate that must stay hidden, and no count of steps."""
        raise InvalidDescription(
            "state_dict must not be loaded into NoisySGD: keep the optimizer until the run ends."
        )

    def description(self) -> NoisyDescent:
        """Return the steps taken so far as a description."""
        if not self._phases:
            raise InvalidDescription("optimizer must have taken a step, got none to describe.")
        return self._described(self._phases)

    @property
    def _shared(self) -> bool:
        return self._loader.world_size > 1

    def _meet(self) -> None:
        """Start all processes at the weights of rank 0."""
        found = distributed.get_world_size() if distributed.is_initialized() else 1
        if found != self._loader.world_size:
            raise InvalidDescription(
                f"world_size must be that of the process group, {found}, "
                f"got {self._loader.world_size}."
            )
        distributed.broadcast(self._head.weight.detach(), src=0)

    def _check_order(self) -> None:
        ours = self._loader.given - self._given_before
        if not self._loader.in_order or ours != self.steps_taken + 1:
            raise InvalidDescription(
                "step must be taken once for each batch of the loader, in order, got "
                f"{self.steps_taken} steps and {ours} batches; evaluate with another loader."
            )

    def _total(self, features: torch.Tensor, targets: torch.Tensor) -> Array:
        if len(features) != self._loader.rows_given:
            raise InvalidDescription(
                f"features must be the loader's batch of {self._loader.rows_given} records, "
                f"got {len(features)} rows."
            )
        if not self._shared:
            return self._head.gradient_sum(features, targets)
        size, count = self._loader.size, self._loader.world_size
        # each part leaves room for its own rounding; that of the others, and of adding them, is
        # left here: at most size + count + 64 additions of terms of size records
        slack = ROUNDINGS * (size + count + 64) * size
        total = torch.from_numpy(self._head.gradient_sum(features, targets, slack=slack))
        distributed.all_reduce(total)
        return np.asarray(total)

    def _moved(self, total: Array, lr: float) -> Array:
        run = self._described([Phase(1, lr, self._noise)])
        x = self._head.weight.detach().cpu().numpy()
        scales = (lr, float(run.gradient_noise_stds[0]))
        return noisy_step(run, x, total, scales, self._generator)

    def _note(self, lr: float) -> None:
        last = self._phases[-1] if self._phases else None
        if last is not None and last.step_size == lr:
            self._phases[-1] = Phase(last.repeat + 1, lr, self._noise)
        else:
            self._phases.append(Phase(1, lr, self._noise))

    def _described(self, phases: list[Phase]) -> NoisyDescent:
        return NoisyDescent(
            objective=self._head.objective(self._ridge),
            records=self._loader.records,
            schedule=Schedule(phases),
            batches=self._loader.batches,
            domain=self._domain,
            adjacency=self._adjacency,
        )


def release(optimizer: NoisySGD) -> Certificate | VoidCertificate:
    """Round the head's weights to the run's public grid, end the run, and return its certificate.

    Of several processes each one calls it, and all of them have the same weights.
    """
    made = certificate_of(optimizer)
    optimizer._ended = True
    round_to([optimizer._head.weight], release_grid(optimizer.description()))
    return made


def round_to(parameters: Iterable[Any], spacing: float) -> None:
    """Replace every number by the nearest multiple of a power of two; spacing 0 changes none."""
    with torch.no_grad():
        for parameter in parameters:
            rounded = to_grid(parameter.detach().double().cpu().numpy(), spacing)
            parameter.copy_(torch.from_numpy(rounded))


def certificate_of(optimizer: NoisySGD) -> Certificate | VoidCertificate:
    """Return what the steps taken so far guarantee if the head's weights are shown now, only now.

    Void if the noise came from a seed.  `release` also rounds the weights, and ends the run.
    """
    check.kind("optimizer", optimizer, (NoisySGD,))
    made = certify(optimizer.description())
    return VoidCertificate(made, (SEEDED,)) if optimizer._seeded else made
