"""A certificate: one description, and every theorem's answer to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wane.audit.lower_bound import LowerBound, lower_bound
from wane.describe import Adjacency, NoisyDescent, check
from wane.errors import InvalidDescription, NoTheoremApplies
from wane.guarantees import GaussianDP, Guarantee
from wane.numerics.display import round_up_to
from wane.theory import Applies, DoesNotApply, Verdict

DEFAULT_DELTA = 1e-5
"""Where a best theorem must be named and nobody said at which delta."""


@dataclass(frozen=True)
class Certificate:
    """What can be claimed about a run, and on what grounds.

    All bounds are valid at once, so each question is answered by the smallest.
    """

    run: NoisyDescent
    verdicts: tuple[Verdict, ...]

    @property
    def applicable(self) -> tuple[Applies, ...]:
        """The theorems whose hypotheses all hold."""
        return tuple(v for v in self.verdicts if isinstance(v, Applies))

    @property
    def obstacles(self) -> tuple[DoesNotApply, ...]:
        """The theorems that do not apply, with what stands in their way."""
        return tuple(v for v in self.verdicts if isinstance(v, DoesNotApply))

    def best(self, delta: float = DEFAULT_DELTA) -> Applies:
        """Return the theorem with the smallest epsilon at `delta`; the first of equals."""
        return self._least(lambda g: epsilon_of(g, delta))

    def epsilon(self, delta: float) -> float:
        """Return the smallest certified epsilon at `delta`, never rounded down."""
        return min(epsilon_of(v.guarantee, delta) for v in self._required)

    def delta(self, epsilon: float) -> float:
        """Return the smallest certified delta at `epsilon`, never rounded down."""
        check.real("epsilon", epsilon, least=0.0)
        return min(1.0, *(_in_range(v.guarantee.delta, epsilon) for v in self._required))

    @property
    def mu(self) -> float | None:
        """The Gaussian-DP parameter, or None if the best guarantee is not a Gaussian one."""
        return gaussian_mu_of(self.best().guarantee)

    def lower_bound_epsilon(self, delta: float) -> float | None:
        """Return what an exact member of the described class leaks; None where none is known."""
        return None if self._worst_known is None else self._worst_known.epsilon(delta)

    def bracket(self, delta: float = DEFAULT_DELTA) -> tuple[float | None, float]:
        """Return a lower and an upper bound on the true epsilon at `delta`."""
        return self.lower_bound_epsilon(delta), self.epsilon(delta)

    def bracket_mu(self, delta: float = DEFAULT_DELTA) -> tuple[float | None, float | None]:
        """Return what bounds mu from below, judged at `delta`, and the certified mu, if any."""
        lower = None if self._worst_known is None else self._worst_known.mu(delta)
        return lower, gaussian_mu_of(self.best(delta).guarantee)

    @property
    def guarantee(self) -> Guarantee:
        """The best guarantee at the default delta, ready to be composed."""
        return self.best().guarantee

    def true_positive_rate(self, false_positive_rate: float) -> float:
        """Return a bound on an attacker's true-positive rate at this false-positive rate."""
        return min(v.guarantee.true_positive_rate(false_positive_rate) for v in self._required)

    def group(self, size: int) -> Guarantee:
        """Return the guarantee for any `size` records at once."""
        m = self.run.objective.strong_convexity
        curved = m is not None and m > 0.0 and not self.run.objective.clipped
        if curved and self.run.adjacency is not Adjacency.REPLACE_ONE and self.mu is None:
            # on the way from one data set to the other some batches would hold several null
            # records, and bend less than declared
            raise NoTheoremApplies(
                f"group needs adjacency replace-one for strongly convex losses, got "
                f"{self.run.adjacency.value}; put the curvature into ridge instead."
            )
        return self.guarantee.group(size)

    def compose(self, *others: Certificate) -> Guarantee:
        """Return the guarantee of releasing this run and the others, on the same records."""
        for other in others:
            if other.run.adjacency is not self.run.adjacency:
                raise InvalidDescription(
                    f"adjacency must be the same to compose, got {self.run.adjacency.value} and "
                    f"{other.run.adjacency.value}; certify both under one."
                )
        return self.guarantee.compose(*(other.guarantee for other in others))

    def explain(self, delta: float = DEFAULT_DELTA) -> str:
        """Return every theorem's answer as text."""
        lines = [f"{_summary(self.run)}"]
        for verdict in self.verdicts:
            lines += _explained(verdict, delta)
        if not self.applicable:
            lines.append("no theorem applies")
        return "\n".join(lines)

    @cached_property
    def _worst_known(self) -> LowerBound | None:
        return lower_bound(self.run)

    @cached_property
    def _required(self) -> tuple[Applies, ...]:
        if not self.applicable:
            raise NoTheoremApplies(_nothing_applies(self.obstacles))
        return self.applicable

    def _least(self, measure: Callable[[Guarantee], float]) -> Applies:
        return min(self._required, key=lambda v: measure(v.guarantee))


def _summary(run: NoisyDescent) -> str:
    return (
        f"{run.total_steps} steps on {run.records} records, batches {run.batches.kind}, "
        f"adjacency {run.adjacency.value}, released: {run.release.name}"
    )


def _explained(verdict: Verdict, delta: float) -> list[str]:
    title = f"{verdict.analysis.name} [{verdict.analysis.source}]"
    if isinstance(verdict, Applies):
        epsilon = epsilon_of(verdict.guarantee, delta)
        return [f"  yes {title}: epsilon = {round_up_to(epsilon)} at delta = {delta:g}"]
    lines = [f"  no  {title}"]
    return lines + [f"        {obstacle.complaint}" for obstacle in verdict.obstacles]


def gaussian_mu_of(guarantee: Guarantee) -> float | None:
    """Return mu if the guarantee is a Gaussian one."""
    return guarantee.mu if isinstance(guarantee, GaussianDP) else None


def zcdp_of(guarantee: Guarantee) -> float | None:
    """Return the rho of zero-concentrated DP if the guarantee is a Gaussian one: mu^2/2."""
    return guarantee.renyi(2.0) / 2.0 if isinstance(guarantee, GaussianDP) else None


def epsilon_of(guarantee: Guarantee, delta: float) -> float:
    """Return a guarantee's epsilon at `delta`; infinite where its computation has no answer."""
    check.real("delta", delta, least=0.0, most=1.0)
    return _in_range(guarantee.epsilon, delta)


def _in_range(measure: Callable[[float], float], at: float) -> float:
    """An answer that overflows, or is not a number, is no guarantee."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            value = measure(at)
    except ArithmeticError:
        return math.inf
    return math.inf if math.isnan(value) else value


def _nothing_applies(refusals: tuple[DoesNotApply, ...]) -> str:
    if not refusals:
        return "No theorem was asked; pass some analyses."
    nearest = min(refusals, key=lambda v: len(v.obstacles))
    return (
        f"No theorem applies to this description; the nearest is {nearest.analysis.name}, "
        f"which needs: {nearest.obstacles[0].need}."
    )
