"""What follows from the description alone: which runs are refused, and the grid of a release.

A run is checked before its first step, by public facts alone.

**Null records.**  Sums that turn a row which holds no record into the null record may do so under
every adjacency, and any record may be replaced by it.  A loss that is strongly convex or
dissipative is then not every record's, and two records differ by as much as one of them is long.

**Iterates stay in the doubles.**  Steps contract or not as the theorems say only while numbers are
finite: a run that left the doubles would have to go on from somewhere, and that would be no
Lipschitz map.  Noise in doubles is never beyond 40 deviations, and the sums are bounded, so how far
an iterate can get follows from the description: a step with factor q, from x, ends within

    q (|1 - step_size ridge| |x| + step_size (N C/b + 40 s sqrt(d))) + |prox(0)| ,

N being the most records of a batch.  Runs that could pass 1e120 are refused.

**Releases are rounded** to a power of two, far below the noise.  A number of double precision has
low-order bits that no noise of the same precision covers: which of them can occur depends on what
was added to what, and that depends on the records.  The spacing comes from the description alone,
and rounding looks at nothing but the release, so it is post-processing and costs no privacy.

The grid must be far above the last bits of every noise that the guarantee rests on.  The last one
may be far too small for that: after a step of size 1e-30 an iterate still has the bits of the step
before.  So each step's noise is followed to the release, times the largest factor by which every
later step may shrink a distance, whichever records join its batch, never more than one; the grid is
2^-FINER of the largest that is left.  Where a description says less of its losses the factor is one
and the grid coarser, which is the safe side.  In a bounded set no noise counts for more than the
diameter.

The released numbers have no bits below the grid, so those bits tell nothing.  Between two
neighbours on the grid lie at least 2^(52 - FINER) numbers of the size of the noise, whose irregular
gaps are averaged out.  What this does not cure: the noise inside the run is still drawn in double
precision; its law is not exactly Gaussian, and how much that costs is not proven.  Sums of
gradients are another matter: their rounding is covered by a margin, see `wane.run.linear`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from wane.arrays import Array
from wane.describe import Adjacency, LossForm, NoisyDescent, Objective, Phase, Poisson
from wane.describe.noise import FEWEST_ULPS
from wane.errors import InvalidDescription

FARTHEST = 1e120
"""Beyond, sums of linear models would no longer be what they are."""
WIDEST_NOISE = 40.0
"""No normal number in doubles is larger, in deviations."""


def require_described(run: NoisyDescent, gradients: Any, public: Any = None) -> None:
    """Refuse sums that are not those of the description, public ones included."""
    _require_public(run, gradients, public)
    bound = run.objective.gradient_bound
    if bound is None or gradients.gradient_bound > bound:
        raise InvalidDescription(
            f"gradients must be bounded by the described gradient_bound={bound}, "
            f"got {gradients.gradient_bound}; describe what will run."
        )
    refuse_add_remove(run.adjacency)
    if gradients.records != run.records:
        raise InvalidDescription(
            f"records must be the described {run.records}, got {gradients.records} rows."
        )
    if getattr(gradients, "makes_null_records", False):
        require_room_for_null(run.objective)
    actual = getattr(gradients, "objective", None)
    if isinstance(actual, Objective):
        require_constants(run.objective, actual)


def _require_public(run: NoisyDescent, gradients: Any, public: Any) -> None:
    """Refuse public sums that are missing, that no step uses, or that are not as described."""
    if run.public is None:
        if public is not None:
            raise InvalidDescription(
                "public must be absent for a run without steps on public records, got sums; "
                "describe what will run."
            )
        return
    if public is None:
        raise InvalidDescription(
            f"public must be the sums over the {run.public.records} public records that the run "
            "describes, got None."
        )
    require_described(run.on_public, public)
    if tuple(public.shape) != tuple(gradients.shape):
        raise InvalidDescription(
            f"public must have parameters of the shape {tuple(gradients.shape)}, "
            f"got {tuple(public.shape)}."
        )


def refuse_add_remove(adjacency: Adjacency) -> None:
    """Refuse the adjacency whose neighbours a table of fixed length could not hold."""
    if adjacency is Adjacency.ADD_REMOVE:
        raise InvalidDescription(
            "adjacency must be replace-one or zero-out to run on a table, got add-remove: a table "
            "with one row more or less would be refused, which shows its length; describe "
            "zero-out, and fill the table with empty rows up to a public number."
        )


def require_room_for_null(described: Objective) -> None:
    """Refuse constants that are false of the null record."""
    m, apart = described.strong_convexity, described.gradient_difference_bound
    bound = described.gradient_bound or 0.0
    false = [
        name
        for name, declared in (
            ("strong_convexity above 0", m is not None and m > 0.0),
            ("dissipativity", described.dissipativity is not None),
            ("gradient_difference_bound below gradient_bound", apart is not None and apart < bound),
        )
        if declared
    ]
    if false:
        raise InvalidDescription(
            f"objective must be true of the null record, got {' and '.join(false)}: rows that hold "
            "no record count as null records here; put curvature that all losses share into ridge."
        )


def require_constants(described: Objective, actual: Objective) -> None:
    """Refuse a description whose constants claim more than those of the sums."""
    other = described.holder_exponent != actual.holder_exponent
    apart = actual.gradient_difference_bound
    if apart is None and actual.gradient_bound is not None:
        apart = 2.0 * actual.gradient_bound
    more = {
        "gradient_difference_bound": _below(described.gradient_difference_bound, apart),
        "smoothness": _below(described.smoothness, actual.smoothness),
        "strong_convexity": _above(described.strong_convexity, actual.strong_convexity),
        "holder_constant": _below(described.holder_constant, actual.holder_constant)
        or (described.holder_constant is not None and other),
        "dissipativity": described.dissipativity not in (None, actual.dissipativity),
        "clipped": actual.clipped and not described.clipped,
        "form": described.clipped and described.form not in (actual.form, LossForm.GENERAL),
    }
    wrong = [name for name, claimed in more.items() if claimed]
    if wrong:
        raise InvalidDescription(
            f"objective.{wrong[0]} must be what the sums know of their losses, "
            f"{getattr(actual, wrong[0])}, got {getattr(described, wrong[0])}; describe what will "
            "run."
        )


def _below(declared: float | None, actual: float | None) -> bool:
    """Return whether an upper bound is declared below the actual one, or where there is none."""
    return declared is not None and (actual is None or declared < actual)


def _above(declared: float | None, actual: float | None) -> bool:
    """Return whether a lower bound is declared above the actual one, or where there is none."""
    return declared is not None and (actual is None or declared > actual)


def require_finite(run: NoisyDescent, size: int, reach: float) -> float:
    """Return how far an iterate can get from within this reach; refuse to leave the doubles."""
    farthest = farthest_iterate(run, reach, size)
    if not farthest <= FARTHEST:
        raise InvalidDescription(
            f"step_size must keep iterates within {FARTHEST:g} whatever the noise, got steps that "
            f"may reach {farthest:g}; choose step_size * ridge below 2, or fewer steps."
        )
    return farthest


def require_resolved(run: NoisyDescent, start: Array) -> None:
    """Refuse noise that is lost in the last bits of the start, or of where the domain lies."""
    centre = np.asarray(run.domain.prox(np.zeros(start.size), float(run.plan.step_size[0])))
    largest = float(max(np.max(np.abs(start), initial=0.0), np.max(np.abs(centre), initial=0.0)))
    noise = protecting_noise(run)
    if 0.0 < noise < FEWEST_ULPS * math.ulp(largest):
        raise InvalidDescription(
            f"noise must be at least 2^10 units in the last place of the start and of the domain, "
            f"{FEWEST_ULPS * math.ulp(largest):g}, got {noise:g}; move both nearer to the origin."
        )


def farthest_iterate(run: NoisyDescent, start: float, size: int) -> float:
    """Return a bound on the length of every iterate and of every point before its prox."""
    bound = run.objective.gradient_bound or 0.0
    diameter = float(run.domain.diameter)
    here = farthest = start
    with np.errstate(all="ignore"):
        for phase, noise_std in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
            pull = bound * _fullest(run) if phase.uses_records else 0.0
            if phase.public:
                pull = run.on_public.objective.gradient_bound or 0.0
            push = phase.step_size * (pull + WIDEST_NOISE * noise_std * math.sqrt(size))
            shrink = abs(1.0 - phase.step_size * run.objective.ridge)
            centre = _length_at_zero(run, phase.step_size, size)
            factor = run.domain.lipschitz(phase.step_size)
            factor = factor if math.isfinite(factor) else 1.0  # no theorem then follows distances
            here = _after(here, phase.repeat, factor * shrink, factor * push + centre)
            farthest = max(farthest, shrink * here + push)
            here = min(here, centre + diameter)
    return farthest


def _fullest(run: NoisyDescent) -> float:
    """Return the most records of a batch, over the divisor: Poisson batches may hold them all."""
    return run.records / run.batch_size if isinstance(run.batches, Poisson) else 1.0


def _length_at_zero(run: NoisyDescent, step_size: float, size: int) -> float:
    return float(np.linalg.norm(np.asarray(run.domain.prox(np.zeros(size), step_size))))


def _after(start: float, steps: int, factor: float, push: float) -> float:
    """Return an upper bound on x -> factor x + push, repeated; never below the start."""
    rate = max(factor, 1.0)
    if rate == 1.0:
        return start + steps * push
    try:
        grown = rate**steps
    except OverflowError:
        return math.inf
    return grown * start + push * (grown - 1.0) / (rate - 1.0)


FINER = 10
"""The grid is 2^-FINER of the noise: rounding adds less than 1e-7 of its variance."""
_SMALLEST = -1074


def protecting_noise(run: NoisyDescent) -> float:
    """Return the largest deviation of a step's noise that may be left in the last iterate.

    It is 0 if no step adds noise.
    """
    return protecting_noises(run, [run.total_steps])[0]


def protecting_noises(run: NoisyDescent, after: Iterable[int]) -> list[float]:
    """Return `protecting_noise` for the iterates after these numbers of steps, increasing."""
    phases = iter(zip(run.plan, run.gradient_noise_stds.tolist(), strict=True))
    noises: list[float] = []
    left = own = 0.0
    factor, done, end = 1.0, 0, 0
    for wanted in after:
        while done < wanted:
            if done == end:
                phase, noise_std = next(phases)
                own = min(phase.step_size * noise_std, float(run.domain.diameter))
                own = own if math.isfinite(own) else 0.0
                factor = _largest_factor(run, phase)
                end += phase.repeat
            count = min(end, wanted) - done
            left = max(left * factor**count, own)
            done += count
        noises.append(left)
    return noises


def _largest_factor(run: NoisyDescent, phase: Phase) -> float:
    """Return a bound, at most one, on the factor by which a step can change a distance."""
    step_size = phase.step_size
    factor = abs(1.0 - step_size * run.objective.ridge)
    if not phase.cool_down:
        losses = run.on_public.objective if phase.public else run.objective
        m, M = losses.strong_convexity, losses.smoothness
        if m is None or M is None or m < 0.0 or losses.clipped:
            return 1.0
        crowd = M * _fullest(run) if phase.uses_records else M
        factor = max(factor, abs(1.0 - step_size * (run.objective.ridge + crowd)))
    return min(1.0, factor * run.domain.lipschitz(step_size))


def release_grid(run: NoisyDescent) -> float:
    """Return the spacing for the last iterate of this run; 0 if no step adds noise."""
    return grid_below(protecting_noise(run))


def grid_below(noise_std: float) -> float:
    """Return the spacing for a release with noise of this deviation; 0 if there is none."""
    return math.ldexp(power_of_two_below(noise_std), -FINER) or power_of_two_below(noise_std)


def power_of_two_below(value: float) -> float:
    """Return the largest power of two that is not above the value; 0 for 0."""
    if not value:
        return 0.0
    _, exponent = math.frexp(value)  # 2^(exponent - 1) <= value
    return math.ldexp(1.0, max(exponent - 1, _SMALLEST))


def to_grid(values: Array, spacing: float) -> Array:
    """Return the nearest multiples of a power of two; spacing 0 leaves the values as they are."""
    if spacing == 0.0:
        return values
    with np.errstate(all="ignore"):
        rounded = np.rint(values / spacing) * spacing
    # a number of at least 2^52 spacings is one of their multiples already
    return np.where(np.abs(values) < 2.0**52 * spacing, rounded, values)
