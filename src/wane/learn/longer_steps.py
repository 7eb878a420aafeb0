"""A fit that releases a bound on the curvature first, and then takes steps as long as it allows.

The target is split before any row is looked at.  What both releases may cost is promised, and
entered in a ledger, before the first noise is drawn; the run is planned in view of the bound and
keeps the promise whatever the bound is.  Proof: docs/proofs/curvature.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wane import arguments
from wane.certificates import Certificate, certify, together
from wane.describe import FullBatch
from wane.errors import InvalidDescription
from wane.learn.bounding import require_described, row_norm
from wane.learn.curvature import Budgets, CurvatureBound, PrivateCurvature, private_curvature

if TYPE_CHECKING:
    from wane.learn.base import Prepared, PrivateLinearModel

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
