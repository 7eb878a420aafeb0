"""The accountant that `PrivacyEngine(accountant="hidden-state")` makes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from itertools import groupby
from typing import Any, ClassVar

from opacus.accountants import IAccountant

from wane.certificates import Certificate, Circumstances, certificate_document, certify
from wane.describe import (
    Adjacency,
    EveryIterate,
    GradientNoise,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Phase,
    Poisson,
    Schedule,
)
from wane.describe.domains import Unbounded
from wane.describe.noise import Noise
from wane.errors import InvalidDescription
from wane.extra.opacus.charges import Charges
from wane.extra.opacus.loaders import Declared, Order, Sampling
from wane.extra.opacus.watching import Watch
from wane.extra.torch import round_to
from wane.guarantees import Guarantee
from wane.run import release_grid
from wane.theorems.lemmas.lipschitz import log_step_lipschitz

NAME = "hidden-state"
WHATEVER_THE_ORDERS = (
    "shuffled anew in every epoch; what is certified here is a fixed order, by theorems whose "
    "bound holds for every sequence of orders (docs/proofs/joint-programme.md, Lemma 7a)"
)
"""What a document says where the batches were shuffled."""


class CompositionFallback(UserWarning):
    """The last iterate could not be certified; epsilon is that of composition."""


PLANS_POISSON: ContextVar[bool] = ContextVar("plans_poisson", default=True)
"""Whether the steps that are planned now will have Poisson batches."""


class HiddenStateAccountant(IAccountant):  # type: ignore[misc]
    """Watches one engine's optimizer, loader and last layer, and certifies what it saw."""

    name: ClassVar[str] = NAME

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []
        self._charges = Charges()
        self._watch: Watch | None = None
        self._declared = Declared()
        self._counted = 0
        self._loaded = 0
        self._earlier: list[str] = []
        self._warned: tuple[str, ...] | None = None

    @classmethod
    def mechanism(cls) -> str:
        """Return the name it is registered under."""
        return cls.name

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    # what Opacus calls

    def attach(self, watch: Watch, declared: Declared) -> None:
        """Take up what sees everything that `make_private` has returned."""
        if self._watch is not None:
            self._earlier.append("make_private was called again: a second run began")
        self._declared, self._watch = declared, watch
        watch.domain = declared.domain

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step."""
        last = self.history[-1] if self.history else None
        if last is not None and last[:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, last[2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """Return the hook that looks at the optimizer before each step."""

        def hook(optimizer: Any) -> None:
            self._observe(optimizer)
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=rate)

        return hook

    def state_dict(self, destination: Any = None) -> Any:
        """Return the history and what it costs by composition; no weights, no record."""
        made = super().state_dict(destination)
        made["charges"] = self._charges.state()
        return made

    def load_state_dict(self, state_dict: Any) -> None:
        """Take over a history; of steps that were not watched, nothing but composition is known."""
        super().load_state_dict(state_dict)
        self._loaded = self._counted = len(self)
        if "charges" in state_dict:
            self._charges = Charges.load(state_dict["charges"])
        else:
            self._charges = self._in_full()

    # what a user asks

    @property
    def sampling(self) -> Sampling:
        """How the loader chooses its batches."""
        return self._seen.sampling

    @property
    def adjacency(self) -> Adjacency:
        """Which data sets must be indistinguishable."""
        if self._declared.adjacency is not None:
            return self._declared.adjacency
        return Adjacency.ADD_REMOVE if self._watch is None else self.sampling.adjacency

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why the last iterate is not certified; empty if it is."""
        found = list(self._earlier)
        if self._watch is not None:
            found += self._watch.final()
            if self.sampling.processes > 1:
                found.append("several processes share the records")
            if self.sampling.fills_empty:
                found.append("empty batches are filled with made-up records (rand_on_empty)")
        if self._watch is None or self._loaded or self._counted != len(self) or not self._counted:
            found.append("not every step was watched")
        return tuple(found)

    def run(self) -> NoisyDescent:
        """Return the steps so far as a description; refused where there are obstacles.

        Opacus divides by E, the expected size of a batch, and lets SGD add the weight decay w:
        `x' = x - lr (sum/E + w x + N(0, (z C/E)^2))`.  In averages over B records, B the size that
        is described, this is step size lr B/E, ridge w E/B and noise z C/B.
        """
        if self.obstacles:
            raise InvalidDescription(
                f"training must be plain to be described: {self._reasons()}; composition() "
                "certifies what every noisy sum gives away together."
            )
        sampling, steps = self.sampling, self._seen.steps
        size, first = sampling.size, steps[0]
        stretch = size / first.divisor
        assert self._seen.loss is not None
        objective = self._seen.loss.objective(self._seen.kind(first.clip))
        noise = GradientNoise(first.noise_multiplier * first.clip / size)
        rates = [(rate, len(list(same))) for rate, same in groupby(s.step_size for s in steps)]
        return NoisyDescent(
            objective=replace(objective, ridge=first.weight_decay / stretch),
            records=sampling.records,
            **self._timed(rates, stretch, noise),
            batches=sampling.batches,
            domain=self._declared.domain or Unbounded(),
            adjacency=self.adjacency,
        )

    @staticmethod
    def _timed(rates: list[tuple[float, int]], stretch: float, noise: Noise) -> dict[str, Any]:
        if len(rates) == 1:
            ((rate, count),) = rates
            return {"steps": count, "step_size": rate * stretch, "noise": noise}
        phases = [Phase(count, rate * stretch, noise) for rate, count in rates]
        return {"schedule": Schedule(phases)}

    def certificate(self) -> Certificate:
        """Return the certificate of the last iterate; refused where there are obstacles.

        That of batches shuffled anew in every epoch is of a fixed order, described so that all
        theorems which apply to it also hold for shuffled ones; `document` says so.
        """
        run = self.run()
        if self.sampling.order is not Order.SHUFFLED:
            return certify(run)
        names = self._whatever_the_orders(run)
        tried = (run, replace(run, domain=Unbounded()), replace(run, release=EveryIterate()))
        made = [certify(one) for one in (tried if len(names) > 1 else tried[2:])]
        return next(c for c in made if names.issuperset(v.theorem.name for v in c.applicable))

    def document(self, delta: float) -> dict[str, Any]:
        """Return the certificate as a document, which `wane verify` checks."""
        order = (("order of the batches", WHATEVER_THE_ORDERS),)
        circumstances = Circumstances(
            context=order if self.sampling.order is Order.SHUFFLED else ()
        )
        return certificate_document(self.certificate(), delta=delta, circumstances=circumstances)

    def composition(self) -> Guarantee:
        """Return what all noisy sums give away together; refused where records are mixed."""
        self._refuse_mixtures()
        if self._watch is None and not self._counted:
            return self._planned().guarantee(self.adjacency)
        charges = self._charges if self._counted == len(self) else self._in_full()
        return charges.guarantee(self.adjacency)

    def composition_certificate(self) -> Certificate:
        """Return the certificate of every iterate, if all steps were watched and alike."""
        self._refuse_mixtures()
        if self._counted != len(self) or self._loaded or len(self.history) != 1:
            raise InvalidDescription("steps must be watched and alike to be certified as one run.")
        ((noise, _, steps),) = self.history
        return certify(
            NoisyDescent(
                objective=Objective(gradient_bound=1.0),
                records=self.sampling.records,
                steps=steps,
                step_size=1.0,
                noise=NoiseMultiplier(noise),
                batches=self.sampling.batches,
                adjacency=self.adjacency,
                release=EveryIterate(),
            )
        )

    def release(self) -> Certificate:
        """Round the trained weights to the run's public grid, and return the certificate.

        Refused where there are obstacles.  A step after it is one, and leaves composition.
        """
        made = self.certificate()
        assert self._seen.head is not None
        self._seen.released = True
        round_to(self._seen.head.trained, release_grid(self.run()))
        return made

    def get_epsilon(self, delta: float, **ignored: Any) -> float:
        """Return epsilon of the last iterate, or by composition after one warning."""
        if not self.history:
            return 0.0
        if self._charges.silent or any(not noise > 0.0 for noise, _, _ in self.history):
            return math.inf
        found = self.obstacles
        if found and not self._is_plan and self._warned != found:
            self._warned = found
            warnings.warn(
                f"The last iterate is not certified, epsilon is by composition: {self._reasons()}.",
                CompositionFallback,
                stacklevel=2,
            )
        return self.composed_epsilon(delta) if found else self._hidden_epsilon(delta)

    def composed_epsilon(self, delta: float) -> float:
        """Return epsilon by composition; infinite where records are mixed."""
        return math.inf if self._mixes else self.composition().epsilon(delta)

    # the rest

    @property
    def _seen(self) -> Watch:
        if self._watch is None:
            raise InvalidDescription(
                "engine must have made a model private, got none; call make_private first."
            )
        return self._watch

    @property
    def _mixes(self) -> bool:
        """Whether a record may have moved more than its own gradient, evidence of late included."""
        if self._watch is None:
            return False
        self._watch.final()
        return self._watch.unproven

    def _refuse_mixtures(self) -> None:
        if self._mixes:
            raise InvalidDescription(
                f"training must clip each record's own gradient to be composed: {self._reasons()}; "
                "nothing is proved of this run."
            )

    @property
    def _is_plan(self) -> bool:
        """A history that somebody only thinks of, as `make_private_with_epsilon` does."""
        return self._watch is None and not self._counted and not self._loaded

    def _reasons(self) -> str:
        return "; ".join(self.obstacles)

    def _observe(self, optimizer: Any) -> None:
        noise, watch = optimizer.noise_multiplier, self._watch
        self._counted += 1
        if watch is None:
            self._charges.add_whole(noise)
            return
        ours, sampling = watch.before_step(optimizer), watch.sampling
        if not ours or sampling.skips_empty or sampling.fills_empty:
            self._charges.add_whole(noise, watch.passes * (2.0 if sampling.fills_empty else 1.0))
        elif sampling.order is Order.POISSON:
            self._charges.add_sampled(noise, sampling.rate)
        else:
            self._charges.add_in_epoch(noise, watch.handed.epochs, sampling.uses)

    def _hidden_epsilon(self, delta: float) -> float:
        return self.epsilon_of(self.run(), delta)

    def epsilon_of(self, run: NoisyDescent, delta: float) -> float:
        """Return epsilon of a run with this loader's order, for what might have been trained."""
        made = certify(run)
        if self.sampling.order is not Order.SHUFFLED or isinstance(run.batches, Poisson):
            return made.epsilon(delta)
        names = self._whatever_the_orders(run)
        return min(v.guarantee.epsilon(delta) for v in made.applicable if v.theorem.name in names)

    def _whatever_the_orders(self, run: NoisyDescent) -> frozenset[str]:
        """Theorems on a fixed order whose bound also holds if every epoch has an order of its own.

        Composition counts one use an epoch.  If no step moves two runs apart, a record fares worst
        if it comes last in every epoch, as the last position of a fixed order does
        (docs/proofs/joint-programme.md, Lemma 7a).
        """
        whole = run.total_steps % run.steps_per_epoch == 0 and len(run.plan) == 1
        if whole and (log_step_lipschitz(run, run.plan.step_size) <= 0.0).all():
            # the constants are those of the steps before any prox, which moves no runs apart
            return frozenset({"gaussian_composition", "last_iterate", "last_iterate_bounded"})
        return frozenset({"gaussian_composition"})

    def _planned(self) -> Charges:
        made = Charges()
        for noise, rate, steps in self.history:
            if PLANS_POISSON.get():
                made.add_sampled(noise, rate, steps)
            else:
                for epoch in range(math.ceil(steps * rate - 1e-9)):
                    made.add_in_epoch(noise, epoch, 1)
        return made

    def _in_full(self) -> Charges:
        made = Charges()
        for noise, _, steps in self.history:
            made.add_whole(noise, steps=steps)
        return made
