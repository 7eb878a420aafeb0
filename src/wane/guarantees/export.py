"""The same steps as a dp_accounting privacy loss distribution: for its users, and as a check.

wane's own convolution bounds its rounding and stays tight at millions of steps; dp_accounting's is
the one that the field has read.  The two are held against each other in the tests.
"""

from __future__ import annotations

from typing import Any

from wane.errors import InvalidDescription
from wane.guarantees.atoms import GaussianStep, Pair, SampledGaussianStep
from wane.guarantees.base import Guarantee


def privacy_loss_distribution(guarantee: Guarantee, *, interval: float = 1e-4) -> Any:
    """Return the guarantee as `dp_accounting.pld.PrivacyLossDistribution`, discretised upwards.

    The sensitivity is already in the steps' mu: compose the result with others as it stands, and
    never pass it through an accountant that rescales for an adjacency.
    """
    recipe = guarantee.recipe()
    if not recipe or not all(isinstance(a, GaussianStep | SampledGaussianStep) for a, _ in recipe):
        raise InvalidDescription(
            f"guarantee must be made of Gaussian or sampled Gaussian steps to become a privacy "
            f"loss distribution, got {guarantee!r:.60}; export its epsilon and delta instead."
        )
    total = None
    for atom, count in recipe:
        one = _distribution(atom, interval).self_compose(count)
        total = one if total is None else total.compose(one)
    return total


def _distribution(atom: Any, interval: float) -> Any:
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as pld

    if isinstance(atom, GaussianStep):
        return pld.from_gaussian_mechanism(1.0 / atom.mu, value_discretization_interval=interval)
    relations = {
        Pair.REPLACE: NeighboringRelation.REPLACE_ONE,
        Pair.ADD_OR_REMOVE: NeighboringRelation.ADD_OR_REMOVE_ONE,
    }
    return pld.from_gaussian_mechanism(
        1.0 / atom.mu,
        sampling_prob=atom.rate,
        value_discretization_interval=interval,
        neighboring_relation=relations[atom.pair],
    )
