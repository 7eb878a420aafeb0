"""A linear head trained in PyTorch, certified from the training objects.

    head = LinearHead(64, links.SoftmaxEnvelope(10), feature_norm=1.0, gradient_bound=0.5)
    loader = CyclicLoader(dataset, batch_size=50)  # or PoissonLoader
    optimizer = NoisySGD(head, loader, lr=4.0, noise=NoiseMultiplier(2.0),
                         adjacency=Adjacency.ZERO_OUT)
    for features, targets in loader:
        optimizer.step(features, targets)
    certificate = release(optimizer)  # rounds the weights, which may now be shown
    certificate.epsilon(1e-5)

A step is one step of `wane.run.descend`: the same gradient sums, the same noise, the same prox, in
double precision on the CPU, wherever the head is and whether it shows its weights in double or in
single precision.  What the head was when the run began it must stay: its norm, bound, link and
intercept, and its weights between steps; anything else is refused.  The optimizer works the
gradients out itself, from records that it bounds; `.grad` is never read, so that no loss of the
caller's making can stretch a gradient.

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

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import numpy as np

from wane import arguments
from wane.arrays import Array
from wane.certificates import Certificate, certify
from wane.describe import Adjacency, NoisyDescent, Phase, Schedule
from wane.describe.domains import Domain, Unbounded
from wane.describe.fields import run_to_fields
from wane.describe.noise import NOISES, Noise
from wane.errors import InvalidDescription, MissingExtra
from wane.randomness import noise_generator, refuse_to_be_copied
from wane.run import (
    Checkpoint,
    release_grid,
    to_grid,
)
from wane.run.checkpoint import read_sealed, write_sealed
from wane.run.descent import noisy_step
from wane.run.safeguards import require_finite

try:
    import torch
    from torch import distributed

    from wane.extra.torch_groups import groups_of, shared_numbers
    from wane.extra.torch_head import LinearHead
    from wane.extra.torch_loaders import CyclicLoader, PoissonLoader
except ImportError:
    raise MissingExtra("This bridge needs torch; install wane[torch].") from None


SEEDED = "The noise came from a seed: whoever knows it can subtract the noise."
ROUNDINGS = 2.5 * 2.0**-53
"""Room for one rounding of each term of a sum, as `wane.run.linear` counts it."""


def _refuse_loader(loader: CyclicLoader | PoissonLoader, adjacency: Adjacency) -> None:
    """Refuse a loader in mid-epoch, and one whose rate would tell the number of records."""
    cyclic = isinstance(loader, CyclicLoader)
    if cyclic and (loader.given % len(loader) or not loader.in_order):
        raise InvalidDescription(
            f"loader must be at the start of an epoch, got one that handed out {loader.given} "
            f"batches, {len(loader)} to an epoch; make a new one."
        )
    if adjacency is Adjacency.ADD_REMOVE and not cyclic and loader.counts_rows:
        raise InvalidDescription(
            "adjacency must not be add-remove where the number of rows sets the sampling "
            "rate, got it; give PoissonLoader a public number of records."
        )


class NoisySGD(torch.optim.Optimizer):  # type: ignore[misc]
    """Noisy gradient descent on a linear head: bounded sums, public divisor, noise, prox."""

    def __init__(
        self,
        head: LinearHead,
        loader: CyclicLoader | PoissonLoader,
        *,
        lr: float,
        noise: Noise,
        adjacency: Adjacency,
        ridge: float = 0.0,
        domain: Domain | None = None,
        groups: Iterable[Mapping[str, Any]] | None = None,
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
            groups: the head's parameters in groups, as PyTorch writes them; all of them must share
                one `lr` and one `weight_decay`, which is `ridge` by another name.
            seed_voids_privacy: makes the run repeatable, and the certificate void.
        """
        arguments.kind("head", head, (LinearHead,))
        arguments.kind("loader", loader, (CyclicLoader, PoissonLoader))
        arguments.kind("noise", noise, NOISES)
        arguments.real("ridge", ridge, least=0.0)
        defaults = {"lr": arguments.real("lr", lr, above=0.0), "weight_decay": ridge}
        super().__init__(groups_of(head, groups), defaults)
        lr, ridge = shared_numbers(head, self.param_groups)
        self._head, self._loader, self._noise = head, loader, noise
        self._adjacency, self._ridge = adjacency, ridge
        self._domain = Unbounded() if domain is None else domain
        self._public = head.public_numbers
        self._objective = head.objective(ridge)
        self._phases: list[Phase] = []
        self._ended = False
        self._x = head.iterate
        self._given_before = loader.given
        self._seeded = seed_voids_privacy is not None
        self._generator = noise_generator(seed_voids_privacy)
        self._process = os.getpid()
        self._reach = float(np.linalg.norm(self._x.ravel()))
        _refuse_loader(loader, adjacency)
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
        self._check_process()
        self._check_order()
        self._check_head()
        lr = self._rate()
        self._advance([Phase(1, lr, self._noise)])
        with torch.no_grad(), np.errstate(all="ignore"):
            total = self._total(features, targets)
            if not self._shared or distributed.get_rank() == 0:
                self._x = self._moved(total, lr)
            self._show()
        self._note(lr)

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse: two copies of a run would share its noise so far."""
        refuse_to_be_copied("a NoisySGD")

    def add_param_group(self, param_group: Any) -> None:
        """Refuse a group that comes later: all that a run trains is in its description."""
        if hasattr(self, "_head"):
            raise InvalidDescription(
                "param_groups must hold the head's parameters alone, got another group; give the "
                "head's own groups when the optimizer is made, and train other parameters "
                "beforehand, on public data, or with an optimizer and a certificate of their own."
            )
        super().add_param_group(param_group)

    def load_state_dict(self, state_dict: Any) -> None:
        """Refuse: a checkpoint holds an iterate that must stay hidden, and no count of steps."""
        raise InvalidDescription(
            "state_dict must not be loaded into NoisySGD: keep the optimizer until the run ends, "
            "or use save and resume, which seal what they write."
        )

    def save(self, checkpoint: Checkpoint) -> None:
        """Write the run, sealed, so that it can go on in another process; between epochs only."""
        if self._ended or self._loader.given % len(self._loader):
            raise InvalidDescription(
                "save must be called between two epochs of a run that has not ended, got another "
                "moment."
            )
        self._check_head()
        phases = np.array([[p.repeat, p.step_size] for p in self._phases])
        write_sealed(checkpoint, self._name, iterate=self._x, phases=phases.reshape(-1, 2))

    def resume(self, checkpoint: Checkpoint) -> int:
        """Go on with a saved run, and return how many steps it has taken; noise is drawn anew.

        The file is deleted: a run that is taken up twice would release what its parts share.
        """
        if self._phases or self._ended:
            raise InvalidDescription("resume must come before the first step, got a run begun.")
        found = read_sealed(checkpoint, self._name)
        self._x = np.ascontiguousarray(found["iterate"])
        self._phases = [Phase(int(n), float(lr), self._noise) for n, lr in found["phases"]]
        self._given_before = self._loader.given - self.steps_taken
        self._advance(self._phases)
        self._show()
        return self.steps_taken

    @property
    def _name(self) -> str:
        """What a saved run must have in common with the one that takes it up; all of it public."""
        described = run_to_fields(self._described([Phase(1, 1.0, self._noise)]))
        return json.dumps([described, repr(self._public)], sort_keys=True)

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
        self._show()

    def _show(self) -> None:
        """Give every process the iterate of rank 0, and the head its weights."""
        if self._shared:
            distributed.broadcast(torch.from_numpy(self._x), src=0)
        self._head.show(self._x)

    def _check_head(self) -> None:
        """What the head was when the run began it must still be."""
        if self._head.public_numbers != self._public:
            raise InvalidDescription(
                f"head must keep its public numbers during a run, {self._public[2:]}, got "
                f"{self._head.public_numbers[2:]}; begin a new run with a new optimizer."
            )
        if not self._head.shows(self._x):
            raise InvalidDescription(
                "head.weight must be what the last step left, got other weights; a step from them "
                "is none of the description's."
            )

    def _rate(self) -> float:
        """Return the step size that all groups share; the weight decay must be the run's."""
        lr, ridge = shared_numbers(self._head, self.param_groups)
        if ridge != self._ridge:
            raise InvalidDescription(
                f"weight_decay must stay the run's ridge, {self._ridge}, got {ridge}; begin a new "
                "run with a new optimizer."
            )
        return lr

    def _advance(self, phases: list[Phase]) -> None:
        """Follow how far the iterate can get, by public numbers, before these steps are taken."""
        if phases:
            self._reach = require_finite(self._described(phases), self._x.size, self._reach)

    def _check_process(self) -> None:
        """A run that has begun belongs to its process; before, the fork took a new key."""
        if self._phases and self._process != os.getpid():
            refuse_to_be_copied("a NoisySGD that has taken steps")
        self._process = os.getpid()

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
            # how many records joined by their coins must not show in how each is bounded
            most = None if isinstance(self._loader, CyclicLoader) else 2 * self._loader.records
            return self._head.gradient_sum(features, targets, at=self._x, capacity=most)
        size, count = self._loader.size, self._loader.world_size
        # each part leaves room for its own rounding; that of the others, and of adding them, is
        # left here: at most size + count + 64 additions of terms of size records
        slack = ROUNDINGS * (size + count + 64) * size
        part = self._head.gradient_sum(features, targets, slack=slack, at=self._x)
        total = torch.from_numpy(part)
        distributed.all_reduce(total)
        return np.asarray(total)

    def _moved(self, total: Array, lr: float) -> Array:
        run = self._described([Phase(1, lr, self._noise)])
        scales = (lr, float(run.gradient_noise_stds[0]))
        return noisy_step(run, self._x, total, scales, self._generator)

    def _note(self, lr: float) -> None:
        last = self._phases[-1] if self._phases else None
        if last is not None and last.step_size == lr:
            self._phases[-1] = Phase(last.repeat + 1, lr, self._noise)
        else:
            self._phases.append(Phase(1, lr, self._noise))

    def _described(self, phases: list[Phase]) -> NoisyDescent:
        return NoisyDescent(
            objective=self._objective,
            records=self._loader.records,
            schedule=Schedule(phases),
            batches=self._loader.batches,
            domain=self._domain,
            adjacency=self._adjacency,
        )


def release(optimizer: NoisySGD) -> Certificate:
    """Round the head's weights to the run's public grid, end the run, and return its certificate.

    Of several processes each one calls it, and all of them have the same weights.
    """
    optimizer._check_process()
    optimizer._check_head()
    made = certificate_of(optimizer)
    optimizer._ended = True
    optimizer._x = to_grid(optimizer._x, release_grid(optimizer.description()))
    optimizer._show()
    return made


def round_to(parameters: Iterable[Any], spacing: float) -> None:
    """Replace every number by the nearest multiple of a power of two; spacing 0 changes none."""
    with torch.no_grad():
        for parameter in parameters:
            rounded = to_grid(parameter.detach().double().cpu().numpy(), spacing)
            parameter.copy_(torch.from_numpy(rounded))


def certificate_of(optimizer: NoisySGD) -> Certificate:
    """Return what the steps taken so far guarantee if the head's weights are shown now, only now.

    Void if the noise came from a seed.  `release` also rounds the weights, and ends the run.
    """
    arguments.kind("optimizer", optimizer, (NoisySGD,))
    made = certify(optimizer.description())
    return made.void((SEEDED,)) if optimizer._seeded else made
