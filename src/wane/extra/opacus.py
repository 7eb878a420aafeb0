"""An accountant for Opacus that certifies the last iterate where the theorems allow it.

    head = bounded_head(64, 10, feature_norm=1.0)
    loader = CyclicLoader(dataset, batch_size=50)
    register_hidden_state(head=head, loader=loader, criterion=criterion,
                          adjacency=Adjacency.ZERO_OUT)
    engine = PrivacyEngine(accountant="hidden-state")
    engine.make_private(module=head, data_loader=loader, poisson_sampling=False, ...)

**What is read.**  From the real optimizer, at every step: learning rate, momentum, weight decay,
clipping threshold, noise multiplier and divisor.  From the loader: that every batch came from it,
in order, once.  From the head: that nothing else is trained, and the norm of its features.  Where
any of this breaks a hypothesis, the answer is that of composition, and one warning says why.

**What is described.**  Opacus clips each record's gradient at C, adds noise z C to the sum, divides
by the *expected* batch size E = floor(records / batches), and lets SGD add the weight decay w:

    x' = x - lr (sum / E + w x + N(0, (z C / E)^2)) .

Batches hold B >= E records (fewer at the end of an epoch), so this is a descent on averages over B
with step size lr B/E, ridge w E/B and noise z C/B.  Clipping is the projection onto the ball of
radius C, up to a shift of 1e-6 in the length that leaves it firmly nonexpansive; a loss of one
margin stays convex under it, softmax does not.

**What the caller vouches for.**  The criterion is the one that is minimised; the start does not
depend on the data; the number of steps neither; only the last weights are seen, after `release` has
rounded them to the grid of wane's other releases.  The size of the data set is public.  Opacus
computes in single precision and draws noise from PyTorch's generator: the certificate is that of
exact arithmetic and of noise that nobody can repeat.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from wane.certify import Certificate, certify
from wane.describe import (
    Adjacency,
    Cyclic,
    EveryIterate,
    GradientNoise,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
)
from wane.describe.domains import Unbounded
from wane.errors import InvalidDescription, MissingExtra
from wane.guarantees import GaussianDP, Guarantee, NumericalDP
from wane.guarantees.atoms import Pair, SampledGaussianStep
from wane.run import release_grid

try:
    import torch
    from opacus.accountants import IAccountant
    from opacus.accountants.registry import _ACCOUNTANTS, register_accountant
    from opacus.optimizers import DPOptimizer

    from wane.extra.opacus_head import BoundedFeatures, Setting, bounded_head, project
    from wane.extra.torch import round_to
except ImportError:
    raise MissingExtra("This bridge needs opacus; install wane[opacus].") from None

__all__ = [
    "BoundedFeatures",
    "CompositionFallback",
    "HiddenStateAccountant",
    "Setting",
    "bounded_head",
    "register_hidden_state",
]

READ = ("lr", "weight_decay", "momentum", "dampening", "nesterov", "maximize")
"""What is read from each group of parameters."""


class CompositionFallback(UserWarning):
    """The last iterate could not be certified; epsilon is that of composition."""


def register_hidden_state(
    name: str = "hidden-state", **setting: Any
) -> type[HiddenStateAccountant]:
    """Register an accountant made for one `Setting` under a name, and return its class."""
    given = Setting(**setting)
    there = _ACCOUNTANTS.get(name)
    made = type("HiddenStateAccountant", (HiddenStateAccountant,), {"name": name, "given": given})
    ours = there is not None and issubclass(there, HiddenStateAccountant)
    register_accountant(name, made, force=ours)
    return made


@dataclass(frozen=True)
class _Observed:
    """One step's settings; the optimizer itself is kept, so that no other can pass for it."""

    optimizer: Any
    trained: tuple[int, ...]
    groups: tuple[tuple[Any, ...], ...]
    clip: Any
    noise_multiplier: float
    divisor: float


class HiddenStateAccountant(IAccountant):  # type: ignore[misc]
    """Watches the optimizer and the loader; made by `register_hidden_state`."""

    name: ClassVar[str]
    given: ClassVar[Setting]

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []
        self._seen: _Observed | None = None
        self._steps = 0
        self._first_batch = 0
        self._in_order = True
        self._obstacles: list[str] = []
        self._warned = self._loaded = self._released = False

    @classmethod
    def mechanism(cls) -> str:
        """The name it is registered under."""
        return cls.name

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step."""
        last = self.history[-1] if self.history else None
        if last is not None and last[:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, last[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return the hook that reads the optimizer before each step."""

        def hook(optimizer: Any) -> None:
            self._observe(optimizer)
            accumulated = optimizer.accumulated_iterations
            self.step(
                noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate * accumulated
            )

        return hook

    def load_state_dict(self, state_dict: Any) -> None:
        """Take over a history; of steps that were not watched, nothing but composition is known."""
        super().load_state_dict(state_dict)
        self._loaded = True

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why the last iterate is not certified; empty if it is."""
        found = list(self._obstacles)
        if self._steps == 0 or self._steps != len(self):
            found.append("not every step was watched")
        if len(self.history) > 1:
            found.append("the noise multiplier or the sample rate changed")
        return tuple(found)

    def run(self) -> NoisyDescent:
        """Return the steps so far as a description; refused where there are obstacles."""
        if self.obstacles:
            raise InvalidDescription(f"training must be plain to be described: {self._reasons()}.")
        seen, given = self._seen, self.given
        assert seen is not None
        size = given.loader.size
        stretch = size / seen.divisor
        objective = given.objective(seen.clip)
        assert objective is not None
        step_size, decay = (float(value) for value in seen.groups[0][:2])
        return NoisyDescent(
            objective=replace(objective, ridge=decay / stretch),
            records=given.loader.records,
            steps=self._steps,
            step_size=step_size * stretch,
            noise=GradientNoise(seen.noise_multiplier * seen.clip / size),
            batches=Cyclic(size),
            domain=Unbounded() if given.domain is None else given.domain,
            adjacency=given.adjacency,
        )

    def certificate(self) -> Certificate:
        """Return the certificate of the last iterate; refused where there are obstacles."""
        return certify(self.run())

    def release(self) -> Certificate:
        """Round the head's weights to the run's public grid, and return the certificate.

        Refused where there are obstacles.  A step after it is one, and leaves composition.
        """
        made = self.certificate()
        self._released = True
        trained = [p for p in self.given.head.parameters() if p.requires_grad]
        round_to(trained, release_grid(made.run))
        return made

    def get_epsilon(self, delta: float, **ignored: Any) -> float:
        """Return epsilon of the last iterate, or by composition after one warning."""
        if not self.history:
            return 0.0
        if any(not noise > 0.0 for noise, _, _ in self.history):
            return math.inf
        if not self.obstacles:
            return self.certificate().epsilon(delta)
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The last iterate is not certified, epsilon is by composition: {self._reasons()}.",
                CompositionFallback,
                stacklevel=2,
            )
        return self._composed().epsilon(delta)

    def _reasons(self) -> str:
        return "; ".join(self.obstacles)

    def _composed(self) -> Guarantee:
        """Every step is seen; what is charged for it depends on what is known of the batches."""
        if self.given.poisson_sampling:
            pair = {Adjacency.ZERO_OUT: Pair.ADD_OR_REMOVE, Adjacency.REPLACE_ONE: Pair.REPLACE}
            return NumericalDP(
                tuple(
                    (SampledGaussianStep(_up(1.0 / z), min(q, 1.0), pair[self.given.adjacency]), t)
                    for z, q, t in self.history
                )
            )
        planned = self._steps == 0 and not self._loaded  # a history somebody only thinks of
        watched = self._steps == len(self) and self._in_order
        if len(self.history) == 1 and (planned or watched):
            return certify(self._every_iterate()).guarantee
        moved = self.given.adjacency.sensitivity(1.0)
        each = [GaussianDP(_up(moved / z)).repeat(t) for z, _, t in self.history]
        return each[0].compose(*each[1:])

    def _every_iterate(self) -> NoisyDescent:
        """Whatever the steps did with their noisy sums, every batch was used once an epoch."""
        ((noise, _, steps),) = self.history
        return NoisyDescent(
            objective=Objective(gradient_bound=1.0),
            records=self.given.loader.records,
            steps=steps,
            step_size=1.0,
            noise=NoiseMultiplier(noise),
            batches=self.given.loader.batches,
            adjacency=self.given.adjacency,
            release=EveryIterate(),
        )

    def _observe(self, optimizer: Any) -> None:
        if self._released:
            self._obstacle("a step was taken after the release")
        if not self.given.poisson_sampling:
            self._watch_order(optimizer)
        self._steps += 1
        seen = _Observed(
            optimizer,
            tuple(map(id, optimizer.params)),
            tuple(tuple(_plain(group.get(n)) for n in READ) for group in optimizer.param_groups),
            _plain(optimizer.max_grad_norm),
            optimizer.noise_multiplier,
            optimizer.expected_batch_size if optimizer.loss_reduction == "mean" else 1,
        )
        if self._seen is None:
            self._first(optimizer, seen)
        elif seen != self._seen:
            self._obstacle("a setting of the optimizer changed during training")

    def _watch_order(self, optimizer: Any) -> None:
        loader = self.given.loader
        if self._steps == 0:
            self._first_batch = loader.given - 1
        sample = getattr(optimizer.params[0], "grad_sample", None)
        rows = len(sample) if isinstance(sample, torch.Tensor) else -1
        expected = self._first_batch + self._steps + 1
        begun = self._first_batch >= 0 and self._first_batch % len(loader) == 0
        if not (
            begun and loader.in_order and loader.given == expected and rows == loader.rows_given
        ):
            self._in_order = False
            self._obstacle(
                "the batches are not those of the declared loader, each once and in order"
            )

    def _first(self, optimizer: Any, seen: _Observed) -> None:
        self._seen = seen
        for reason in _obstacles_of(optimizer, seen, self.given):
            self._obstacle(reason)
        domain = self.given.domain
        if domain is not None and not self._obstacles:
            step_size = float(seen.groups[0][0]) * self.given.loader.size / seen.divisor
            optimizer.original_optimizer.register_step_post_hook(
                lambda *_: project(self.given.head, domain, step_size)
            )

    def _obstacle(self, reason: str) -> None:
        if reason not in self._obstacles:
            self._obstacles.append(reason)


def _obstacles_of(optimizer: Any, seen: _Observed, given: Setting) -> list[str]:
    """What keeps this optimizer from being noisy descent on a known loss."""
    plain = (
        type(optimizer.original_optimizer) is torch.optim.SGD
        and len(set(seen.groups)) == 1
        and not any(seen.groups[0][2:])
    )
    ours = {id(p) for p in given.head.parameters() if p.requires_grad}
    clip = seen.clip if isinstance(seen.clip, float | int) else None
    findings = {
        "the optimizer is not plain SGD, without momentum, alike for all parameters": plain,
        "clipping is not flat and fixed": type(optimizer) is DPOptimizer and clip is not None,
        "the trained parameters are not those of the declared head": set(seen.trained) == ours,
        "the criterion's reduction is not the engine's loss_reduction": (
            getattr(given.criterion, "reduction", None) == optimizer.loss_reduction
        ),
        "the loss has no known constants": clip is None or given.objective(clip) is not None,
        "the loader serves several processes": given.loader.world_size == 1,
        "batches are sampled at random": not given.poisson_sampling,
    }
    return [reason for reason, fine in findings.items() if not fine]


def _plain(value: Any) -> Any:
    """A tensor may be changed in place, so its number is kept."""
    return value.item() if isinstance(value, torch.Tensor) and value.numel() == 1 else value


def _up(value: float) -> float:
    return math.nextafter(value, math.inf)
