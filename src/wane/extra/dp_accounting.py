"""Certified runs as one event of dp_accounting, and an accountant that composes such events.

`SelfComposedDpEvent(step, T)` says that all T outputs are released.  A run of which only the last
iterate is seen is therefore one atomic event, `HiddenStateDpEvent`, which carries the description.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wane.certificates import Certificate, certify
from wane.describe import Adjacency, NoisyDescent, StatedRelease
from wane.describe.fields import run_from_fields, run_to_fields
from wane.describe.files import read_json
from wane.errors import InvalidDescription, MissingExtra, WaneError
from wane.guarantees import (
    ComposedDP,
    GaussianDP,
    Guarantee,
    NumericalDP,
    PureDP,
    RenyiDP,
    WithFailure,
)
from wane.guarantees.fields import guarantee_to_fields
from wane.guarantees.steps import Pair, SampledGaussianStep
from wane.numerics.rounding import inflate
from wane.report.text import round_up_to

try:
    import attr
    from dp_accounting import dp_event, privacy_accountant
except ImportError:
    raise MissingExtra("This bridge needs dp-accounting; install wane[dp-accounting].") from None

Relation = privacy_accountant.NeighboringRelation

RELATIONS = {
    Adjacency.REPLACE_ONE: Relation.REPLACE_ONE,
    Adjacency.ZERO_OUT: Relation.REPLACE_SPECIAL,
    Adjacency.ADD_REMOVE: Relation.ADD_OR_REMOVE_ONE,
}
"""The same notions under that library's names; its REPLACE_SPECIAL is a record blanked out."""


@attr.s(frozen=True, slots=True, auto_attribs=True)
class HiddenStateDpEvent(dp_event.DpEvent):  # type: ignore[misc]
    """A noisy descent of which only the listed iterates are released.

    The iterates are x' = prox(x - step_size * (sum of the batch's gradients / size + ridge x + Z)),
    Z ~ N(0, s^2 I), from a start that ignores the data.  Nothing but the release is seen: not the
    other iterates, not the random batches, not the noise.

    Attributes:
        description: the run as JSON, with sorted keys, in the format of `wane certify`, in pieces;
            it holds the adjacency, the release, and every constant that a theorem may use.  It is
            a tuple because the library's serialisation takes a bare string apart.
    """

    description: tuple[str, ...] = attr.ib()

    @description.validator
    def _check(self, _attribute: Any, value: Any) -> None:
        if not isinstance(value, tuple | list) or not all(isinstance(part, str) for part in value):
            raise InvalidDescription(
                f"description must be a tuple of pieces of JSON, got {type(value).__name__}; say "
                "event_of(run) for the event of a run."
            )

    @property
    def run(self) -> NoisyDescent:
        """The described run."""
        return run_from_fields(read_json("".join(self.description), "the description"))


def event_of(run: NoisyDescent | Certificate) -> HiddenStateDpEvent:
    """Return the event of a run."""
    described = run.run if isinstance(run, Certificate) else run
    return HiddenStateDpEvent((json.dumps(run_to_fields(described), sort_keys=True),))


def gaussian_event_of(guarantee: Guarantee) -> dp_event.GaussianDpEvent:
    """Return a Gaussian guarantee as an ordinary event, for accountants of ADD_OR_REMOVE_ONE only.

    mu already belongs to the run's own adjacency.  Accountants made for REPLACE_ONE double the
    sensitivity of such an event in one accountant and not in the other; give it to neither.
    """
    if not isinstance(guarantee, GaussianDP):
        raise InvalidDescription(
            f"guarantee must be a GaussianDP to become a Gaussian event, got {guarantee!r:.60}; "
            "use wane.extra.privacy_loss_distribution for others."
        )
    if guarantee.mu == 0.0:
        return dp_event.NoOpDpEvent()
    multiplier = 1.0 / guarantee.mu
    while 1.0 / multiplier < guarantee.mu:  # never a larger multiplier than mu allows
        multiplier = math.nextafter(multiplier, 0.0)
    return dp_event.GaussianDpEvent(multiplier)


def release_of(
    event: Any, *, name: str, adjacency: Adjacency | str = Adjacency.ZERO_OUT
) -> StatedRelease:
    """Return an event of this library as a release that certificates and ledgers take.

    It costs what `HiddenStateAccountant` says of the event; `name` tells what was released.
    """
    relation = RELATIONS[Adjacency(adjacency)]
    accountant = HiddenStateAccountant(relation)
    if not accountant.supports(event):
        raise InvalidDescription(
            f"event must be one that wane knows under {Adjacency(adjacency).value}, got "
            f"{type(event).__name__}; HiddenStateAccountant says which these are."
        )
    accountant.compose(event)
    return StatedRelease(
        name=name,
        source=f"dp_accounting, {type(event).__name__}",
        adjacency=Adjacency(adjacency),
        other=json.dumps(guarantee_to_fields(accountant.guarantee), sort_keys=True),
    )


class HiddenStateAccountant(privacy_accountant.PrivacyAccountant):  # type: ignore[misc]
    """Composes hidden-state runs with the events that this library has for single releases.

    Gaussians may be sampled by coins or in samples of a fixed size, alone or composed.  Laplace
    noise, randomised response and the exponential mechanism count as pure privacy, sums over trees
    as Gaussians, one for each node above a record.

    Under REPLACE_ONE the sensitivity of a Gaussian, a Laplace or a tree event is twice its norm
    bound, since the event's values may point in opposite directions.
    """

    def __init__(self, neighboring_relation: Any = Relation.REPLACE_SPECIAL) -> None:
        super().__init__(neighboring_relation)
        self._total: Guarantee = GaussianDP(0.0)
        self._pure: list[tuple[PureDP, int]] = []
        self._void = False

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        if isinstance(event, dp_event.NoOpDpEvent):
            return None
        if isinstance(event, dp_event.NonPrivateDpEvent) or _has_no_noise(event):
            self._void = self._void or (do_compose and count > 0)
            return None
        if isinstance(event, dp_event.SelfComposedDpEvent):
            return self._maybe_compose(event.event, event.count * count, do_compose)
        if isinstance(event, dp_event.ComposedDpEvent):
            inner = (self._maybe_compose(one, count, do_compose) for one in event.events)
            return next((error for error in inner if error is not None), None)
        try:
            guarantee = self._guarantee(event)
        except WaneError as error:
            return self.CompositionErrorDetails(event, str(error))
        if do_compose and count > 0:
            self._add(guarantee, count)
        return None

    def _guarantee(self, event: Any) -> Guarantee:
        reader = _READERS.get(type(event))
        if reader is None:
            names = ", ".join(kind.__name__ for kind in _READERS)
            raise InvalidDescription(f"event must be one of {names}, got {type(event).__name__}.")
        return reader(event, self._neighboring_relation)

    def _add(self, guarantee: Guarantee, count: int) -> None:
        """Pure releases are kept apart: composed by their profiles they cost least."""
        if isinstance(guarantee, PureDP):
            self._pure.append((guarantee, count))
        else:
            self._total = self._total.compose(guarantee.repeat(count))

    @property
    def _whole(self) -> Guarantee:
        others = () if self._total == GaussianDP(0.0) else ((self._total, 1),)
        return ComposedDP((*others, *self._pure)) if self._pure else self._total

    @property
    def guarantee(self) -> Guarantee:
        """Everything composed so far, as a wane guarantee."""
        if self._void:
            raise InvalidDescription("a non-private event was composed; nothing can be claimed.")
        return self._whole

    def get_epsilon(self, target_delta: float) -> float:
        """Return epsilon at a delta, never rounded down."""
        return math.inf if self._void else self._whole.epsilon(target_delta)

    def get_delta(self, target_epsilon: float) -> float:
        """Return delta at an epsilon, never rounded down."""
        if self._void:
            return 1.0
        return 0.0 if target_epsilon == math.inf else self._whole.delta(target_epsilon)


def _has_no_noise(event: Any) -> bool:
    """Return whether some part of the event adds no noise: then sampling makes nothing private."""
    if isinstance(event, dp_event.ComposedDpEvent):
        return any(_has_no_noise(one) for one in event.events)
    inner = getattr(event, "event", None)
    if inner is not None:
        return _has_no_noise(inner)
    if isinstance(event, dp_event.RandomizedResponseDpEvent | dp_event.DiscreteLaplaceDpEvent):
        silent = 0.0 if isinstance(event, dp_event.RandomizedResponseDpEvent) else math.inf
        return bool(event.noise_parameter == silent)
    return getattr(event, "noise_multiplier", 1.0) == 0.0


def _hidden_state(event: HiddenStateDpEvent, relation: Any) -> Guarantee:
    run = event.run
    if RELATIONS[run.adjacency] is not relation:
        raise InvalidDescription(
            f"adjacency must be the accountant's {relation.name}, got {run.adjacency.value}; "
            "describe the run under it."
        )
    return certify(run).guarantee


def _gaussian(event: Any, relation: Any) -> Guarantee:
    return GaussianDP(_mu(event, 2.0 if relation is Relation.REPLACE_ONE else 1.0))


def _mu(event: Any, moved: float = 1.0) -> float:
    """Return the distance of the two Gaussians, if the values move this many norm bounds apart."""
    return math.nextafter(moved / event.noise_multiplier, math.inf)


def _inner_mu(event: Any) -> float:
    """The distance for Gaussians that are released together: the root of the sum of squares."""
    if isinstance(event, dp_event.GaussianDpEvent):
        return _mu(event)
    if isinstance(event, dp_event.SelfComposedDpEvent):
        return math.nextafter(math.sqrt(event.count) * _inner_mu(event.event), math.inf)
    if isinstance(event, dp_event.ComposedDpEvent) and event.events:
        return math.nextafter(math.hypot(*map(_inner_mu, event.events)), math.inf)
    raise InvalidDescription(
        f"sampled event must be Gaussian, or Gaussians composed, got {type(event).__name__}."
    )


def _poisson(event: Any, relation: Any) -> Guarantee:
    # a pair's mu is one record against none, also where it is replaced
    pair = Pair.REPLACE if relation is Relation.REPLACE_ONE else Pair.ADD_OR_REMOVE
    step = SampledGaussianStep(_inner_mu(event.event), event.sampling_probability, pair)
    return NumericalDP(((step, 1),))


def _fixed_size(event: Any, relation: Any) -> Guarantee:
    if relation is Relation.ADD_OR_REMOVE_ONE:
        raise InvalidDescription(
            "neighboring_relation must be REPLACE_ONE or REPLACE_SPECIAL for samples of a fixed "
            "size, got ADD_OR_REMOVE_ONE; with one record more the sample of the others changes."
        )
    # the record takes another's place, so that the values may be two norm bounds apart
    mu = math.nextafter(2.0 * _inner_mu(event.event), math.inf)
    rate = math.nextafter(event.sample_size / event.source_dataset_size, math.inf)
    step = SampledGaussianStep(mu, min(rate, 1.0), Pair.FIXED_SIZE)
    return NumericalDP(((step, 1),))


def _doubled(relation: Any) -> float:
    return 2.0 if relation is Relation.REPLACE_ONE else 1.0


def _laplace(event: Any, relation: Any) -> Guarantee:
    return PureDP(math.nextafter(_doubled(relation) / event.noise_multiplier, math.inf))


def _discrete_laplace(event: Any, relation: Any) -> Guarantee:
    level = _doubled(relation) * event.noise_parameter * event.sensitivity
    return PureDP(math.nextafter(level, math.inf))


def _randomised_response(event: Any, relation: Any) -> Guarantee:
    """One of k buckets: ln(1 + k (1 - p)/p), whichever value was replaced by whichever."""
    if relation is not Relation.REPLACE_ONE:
        raise InvalidDescription(
            "neighboring_relation must be REPLACE_ONE for randomised response, got "
            f"{relation.name}; who answers is seen, so only what is answered can be hidden."
        )
    p, k = event.noise_parameter, event.num_buckets
    level = math.log1p(k * (1.0 - p) / p)
    return PureDP(inflate(level, 1e-15) if level > 0.0 else 0.0)


def _pure(event: Any, relation: Any) -> Guarantee:
    return PureDP(event.epsilon)


def _tree(event: Any, relation: Any) -> Guarantee:
    """A record is in one leaf, below at most floor(log2 n) + 1 nodes of its tree of n leaves."""
    if relation is Relation.ADD_OR_REMOVE_ONE:
        raise InvalidDescription(
            "neighboring_relation must be REPLACE_ONE or REPLACE_SPECIAL for sums over trees, got "
            "ADD_OR_REMOVE_ONE; with one record more the others move to other leaves."
        )
    counts = event.step_counts
    most = max(counts) if isinstance(counts, list | tuple) else counts
    depth = int(most).bit_length()
    mu = _doubled(relation) * math.sqrt(depth) / event.noise_multiplier
    return GaussianDP(inflate(mu, 1e-15))


@dataclass(frozen=True)
class _Line:
    """order -> xi + rho * order, at most `most`, rounded up."""

    xi: float
    rho: float
    most: float = math.inf

    def __call__(self, order: float) -> float:
        return min((self.xi + self.rho * order) * (1.0 + 1e-15), self.most)


def _zcdp(event: Any, relation: Any) -> Guarantee:
    if event.xi == 0.0:
        return RenyiDP.zcdp(event.rho)
    if not (event.xi > 0.0 and event.rho >= 0.0):
        raise InvalidDescription(f"xi must be >= 0, got {event.xi!r}.")
    return RenyiDP(_Line(event.xi, event.rho), label=f"({event.xi:g}, {event.rho:g})-zCDP")


def _epsilon_delta(event: Any, relation: Any) -> Guarantee:
    """Pure privacy, of divergences at most epsilon and epsilon^2/2 * order, but for delta."""
    pure = GaussianDP(0.0)
    if event.epsilon == 0.0:
        return WithFailure(pure, event.delta)
    made = RenyiDP(
        _Line(0.0, event.epsilon**2 / 2.0, event.epsilon), label=f"{round_up_to(event.epsilon)}-DP"
    )
    return WithFailure(made, event.delta) if event.delta > 0.0 else made


_READERS: dict[type, Callable[[Any, Any], Guarantee]] = {
    HiddenStateDpEvent: _hidden_state,
    dp_event.GaussianDpEvent: _gaussian,
    dp_event.PoissonSampledDpEvent: _poisson,
    dp_event.SampledWithoutReplacementDpEvent: _fixed_size,
    dp_event.ZCDpEvent: _zcdp,
    dp_event.LaplaceDpEvent: _laplace,
    dp_event.DiscreteLaplaceDpEvent: _discrete_laplace,
    dp_event.RandomizedResponseDpEvent: _randomised_response,
    dp_event.SingleEpochTreeAggregationDpEvent: _tree,
}
for _name in ("ExponentialMechanismDpEvent", "PermuteAndFlipDpEvent"):
    if hasattr(dp_event, _name):  # since the version after 0.6
        _READERS[getattr(dp_event, _name)] = _pure
if hasattr(dp_event, "EpsilonDeltaDpEvent"):  # since the version after 0.6
    _READERS[dp_event.EpsilonDeltaDpEvent] = _epsilon_delta
