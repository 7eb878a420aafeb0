"""A private upper bound on the curvature of the average loss, which allows longer steps.

A step that uses every record bends as much as the average loss does, not as much as the worst
record could.  The largest eigenvalue of the average curvature moves by at most M/n when one record
changes, so it can be released with little noise.  Proof: docs/proofs/curvature.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from wane import arguments
from wane.arrays import Array
from wane.certificates import Certificate, certify, together
from wane.describe import Adjacency, Fact, FactKind, FullBatch, NoisyDescent, StatedRelease
from wane.describe.choices import adjacency_of
from wane.errors import InvalidDescription
from wane.guarantees import GaussianDP
from wane.learn.bounding import require_described, row_norm
from wane.losses import Loss
from wane.run.safeguards import FINER

if TYPE_CHECKING:
    from wane.learn.base import Prepared, PrivateLinearModel

LEVELS = 256
"""Row norms are rounded up to so many levels before a link is asked how much such a row bends."""
BLOCK_ROWS = 4096
ROUNDING = 1e-9
"""Relative, for what is computed in a few operations."""
UNIT = 2.0**-53
SOURCE = "docs/proofs/curvature.md"
MOST_SHARE = 0.5
ROOM = 1e-6
"""A run is calibrated so much below its promise, since it is planned by epsilon and not by mu."""


@dataclass(frozen=True, kw_only=True)
class PrivateCurvature:
    """The wish to release a bound on the curvature first, and to take longer steps in return.

    Attributes:
        share: of the squared Gaussian level of the whole fit, so much pays for the bound.
        failure: so much of delta pays for the case that the bound is too small.
    """

    share: float = 0.01
    failure: float = 0.01

    def __post_init__(self) -> None:
        for name in ("share", "failure"):
            arguments.real(name, getattr(self, name), above=0.0, most=MOST_SHARE)

    def split(self, epsilon: float, delta: float) -> Budgets:
        """Return what the bound and the run may cost, so that together they meet the target."""
        lost = delta * self.failure
        mu = GaussianDP.from_target(epsilon=epsilon, delta=delta - lost).mu * (1.0 - ROUNDING)
        return Budgets(math.sqrt(self.share) * mu, lost, math.sqrt(1.0 - self.share) * mu)


@dataclass(frozen=True)
class Budgets:
    """Gaussian levels of the bound and of the run, and the probability that the bound fails."""

    bound: float
    failure: float
    run: float

    def epsilon(self, delta: float) -> float:
        """Return the run's own target at `delta`, a little below its level."""
        return GaussianDP(self.run * (1.0 - ROOM)).epsilon(delta)

    def promises(self, adjacency: Adjacency) -> tuple[StatedRelease, StatedRelease]:
        """Return what both releases will cost at most, whatever the bound turns out to be."""
        return (
            StatedRelease(
                name=BOUND_NAME,
                source=SOURCE,
                adjacency=adjacency,
                mu=self.bound,
                failure=self.failure,
            ),
            StatedRelease(name=RUN_NAME, source=SOURCE, adjacency=adjacency, mu=self.run),
        )


BOUND_NAME = "a bound on the average curvature"
RUN_NAME = "a run of all rows, planned in view of that bound"


@dataclass(frozen=True)
class CurvatureBound:
    """The average loss of these records, and of their neighbours, bends at most this much.

    It is a fact of one table, with one way to bound its rows.  It is no constant of the losses, so
    it never stands in an `Objective`; `about` states it of a run on that table.

    Attributes:
        smoothness: the bound, which is all that was released.
        release: what it cost; to be joined with the certificate of the run that uses it.
        records: the number of rows of the table.
        gradient_bound: no record's gradient was longer, or was clipped to that.
    """

    smoothness: float
    release: StatedRelease
    records: int
    gradient_bound: float | None

    def about(self, run: NoisyDescent) -> Fact:
        """Return the bound as a fact of this very run, whose steps all use this table whole."""
        if not isinstance(run.batches, FullBatch):
            raise InvalidDescription(
                f"batches must be full to use the curvature of the average, got "
                f"{run.batches.kind}; a batch may bend more than the average does."
            )
        if math.isfinite(run.domain.diameter):
            raise InvalidDescription(
                "domain must be unbounded to use the curvature of the average, got a bounded one; "
                "theorems for bounded sets look at single records."
            )
        if run.adjacency is not self.release.adjacency:
            raise InvalidDescription(
                f"adjacency must be that of the bound, {self.release.adjacency.value}, got "
                f"{run.adjacency.value}."
            )
        if run.records != self.records or run.objective.gradient_bound != self.gradient_bound:
            raise InvalidDescription(
                f"records and gradient_bound must be those of the table that the bound is of, "
                f"{self.records} and {self.gradient_bound}, got {run.records} and "
                f"{run.objective.gradient_bound}; release a bound for this run."
            )
        return Fact.of(run, FactKind.AVERAGE_SMOOTHNESS, self.smoothness)


def private_curvature(
    features: NDArray[Any],
    link: Loss,
    *,
    feature_norm: float,
    gradient_bound: float | None,
    mu: float,
    failure_probability: float,
    adjacency: Adjacency,
    generator: np.random.Generator,
    intercept: float = 0.0,
) -> CurvatureBound:
    """Release an upper bound on the average curvature; mu-Gaussian private but for rare failures.

    Claim.  With M the curvature of one record and s = M/(n mu), the largest eigenvalue plus M/n
    plus s (Z + z), z the normal quantile of 1 - failure_probability, covers both neighbours except
    with that probability.  `feature_norm` includes the intercept; longer rows are scaled down.
    What arithmetic may lose is added to the sensitivity and to the bound, and the bound is rounded
    up to a grid.
    """
    R = arguments.real("feature_norm", feature_norm, above=0.0)
    level = arguments.real("mu", mu, above=0.0, cure="mu = 0 would need infinite noise")
    failure = arguments.real("failure_probability", failure_probability, above=0.0, most=0.5)
    adjacency = adjacency_of("adjacency", adjacency)
    if adjacency is Adjacency.ADD_REMOVE:
        raise InvalidDescription(
            "adjacency must be replace-one or zero-out, got add-remove; the number of rows is "
            "public here."
        )
    worst = float(_most(link, np.array([R]), gradient_bound)[0])
    n, lost = len(features), _lost(*features.shape)
    top = _largest_eigenvalue(features, link, R, gradient_bound, intercept)
    sensitivity = worst * (1.0 / n + 2.0 * lost) * (1.0 + ROUNDING)
    std = sensitivity / level * (1.0 + ROUNDING)
    margin = std * -float(ndtri(failure)) * (1.0 + ROUNDING)
    centre = top + worst * lost + sensitivity + margin
    noisy = _up_to_grid(centre + std * float(generator.standard_normal()), std)
    release = StatedRelease(
        name=BOUND_NAME, source=SOURCE, adjacency=adjacency, mu=level, failure=failure
    )
    return CurvatureBound(
        smoothness=min(max(noisy, sensitivity), worst),
        release=release,
        records=n,
        gradient_bound=link.objective(R, gradient_bound, 0.0).gradient_bound,
    )


def _lost(rows: int, columns: int) -> float:
    """How far a computed eigenvalue is from the exact one, as a multiple of one record's curvature.

    Each product of the sum passes through a block and then through the blocks, rows are brought to
    length one in d + 8 operations, and the solver is backward stable.
    """
    return UNIT * (BLOCK_ROWS + rows / BLOCK_ROWS + 64.0 * (columns + 2))


def _up_to_grid(value: float, std: float) -> float:
    """Round up to a power of two's multiple far below the noise: lower bits would tell of rows."""
    spacing = math.ldexp(1.0, math.frexp(std)[1] - 1 - FINER)
    return math.ceil(value / spacing) * spacing


def _largest_eigenvalue(
    features: NDArray[Any], link: Loss, R: float, bound: float | None, intercept: float
) -> float:
    """Of the average over records of (curvature of its loss) (its direction)(its direction)^T."""
    levels = R * np.arange(1, LEVELS + 1) / LEVELS
    curvature = _most(link, levels, bound)
    columns = features.shape[1] + (intercept > 0.0)
    total = np.zeros((columns, columns))
    for first in range(0, len(features), BLOCK_ROWS):
        rows = np.asarray(features[first : first + BLOCK_ROWS], dtype=np.float64)
        if intercept > 0.0:
            rows = np.column_stack([rows, np.full(len(rows), intercept)])
        with np.errstate(all="ignore"):
            norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            live = np.isfinite(norms) & (norms > 0.0)
            rows = np.where(live[:, None], rows / np.where(live, norms, 1.0)[:, None], 0.0)
        place = np.ceil(np.minimum(np.where(live, norms, 0.0) / R, 1.0) * LEVELS).astype(int)
        weights = np.where(live, curvature[np.maximum(place, 1) - 1], 0.0)
        total += (rows * weights[:, None]).T @ rows
    return max(float(np.linalg.eigvalsh(total / len(features))[-1]), 0.0)


def _most(link: Loss, norms: Array, bound: float | None) -> Array:
    """Return the curvature of one record's loss for rows up to these norms, made to increase."""
    found = []
    for norm in norms.tolist():
        M = link.objective(norm, bound, 0.0).smoothness
        if M is None:
            raise InvalidDescription(f"link must be smooth, got {link!r}; it has no curvature.")
        found.append(M)
    return np.maximum.accumulate(np.array(found))


ALONE = ("checkpoint", "release_noise", "tune_on")
"""Arguments that need the run, or choose its steps, before anything is released."""


def check_curvature(model: PrivateLinearModel) -> None:
    """Refuse what does not go together with a bound on the curvature."""
    if model.curvature is None:
        return
    arguments.kind("curvature", model.curvature, (PrivateCurvature,))
    if model.batches is not None and not isinstance(model.batches, FullBatch):
        raise InvalidDescription(
            "batches must be None or FullBatch() with curvature, got others; a batch may bend more "
            "than the average does."
        )
    for name in ALONE:
        if getattr(model, name) is not None:
            raise InvalidDescription(
                f"{name} must be None with curvature, got one: what is run is known only after the "
                "bound was released."
            )


def with_curvature(
    model: PrivateLinearModel, ready: Prepared, budgets: Budgets, rows: NDArray[Any]
) -> Prepared:
    """Return the fit as a promise, which draws the bound and then plans the run.

    `ready` is a plan without the bound; its clipping is kept, since the bound belongs to it.
    """
    *earlier, _ = ready.certificate.nominal.each
    voids = ready.certificate.void_because

    def released(noise: np.random.Generator) -> Prepared:
        bound = _bound(model, ready, budgets, rows, noise)
        run = model._planned(
            ready.task,
            ready.coordinates,
            ready.scaler,
            len(rows),
            epsilon=budgets.epsilon(model.delta),
            batches=FullBatch(),
            clip=ready.run.objective.gradient_bound,
            curvature=bound,
        )
        require_described(run.objective, ready.gradients.objective)
        found = _kept(model._certified(run, (bound.about(run),)), budgets)
        whole = together((*earlier, certify(bound.release), found)).void(voids)
        return replace(ready, run=run, certificate=whole)

    promises = (certify(promise) for promise in budgets.promises(model.adjacency))
    promise = together((*earlier, *promises)).void(voids)
    return replace(ready, certificate=promise, first=released)


def _bound(
    model: PrivateLinearModel,
    ready: Prepared,
    budgets: Budgets,
    rows: NDArray[Any],
    noise: np.random.Generator,
) -> CurvatureBound:
    return private_curvature(
        ready.scaler(rows),
        ready.task.link,
        feature_norm=row_norm(ready.scaler, ready.coordinates),
        gradient_bound=ready.run.objective.gradient_bound,
        mu=budgets.bound,
        failure_probability=budgets.failure,
        adjacency=model.adjacency,
        generator=noise,
        intercept=ready.coordinates.intercept,
    )


def _kept(found: Certificate, budgets: Budgets) -> Certificate:
    """Return the certificate; refuse one above the promise that is in the ledger already."""
    if found.mu is None or found.mu > budgets.run:
        raise InvalidDescription("The run must cost no more than was promised; it was not run.")
    return found
