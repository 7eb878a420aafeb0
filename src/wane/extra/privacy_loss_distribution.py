"""The same steps as a dp_accounting privacy loss distribution: for its users, and as a check.

wane's own convolution bounds its rounding and stays tight at millions of steps; dp_accounting's is
the one that the field has read.  The two are held against each other in the tests.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from wane.errors import InvalidDescription
from wane.guarantees.base import Guarantee
from wane.guarantees.steps import GaussianStep, Pair, SampledGaussianStep
from wane.numerics.normal import gaussian_delta

_REACH = 12.0  # standard deviations of the noise on the grid; what lies beyond counts as infinite


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
    if atom.pair is Pair.FIXED_SIZE:
        return _fixed_size(atom, interval)
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


def _fixed_size(atom: SampledGaussianStep, interval: float) -> Any:
    """From the profile at the grid's points, since dp_accounting has no such mechanism.

    delta(e) = q H(ln(1 + (e^e - 1)/q)) for e >= 0, H that of Gaussians mu apart, and
    delta(-e) = 1 - e^-e + e^-e delta(e).
    """
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution as pld

    largest = atom.mu * (_REACH + 0.5 * atom.mu) + math.log(atom.rate)
    half = max(math.ceil(max(largest, 0.0) / interval), 1)
    epsilons = np.arange(half + 1) * interval
    # ln(1 + (e^e - 1)/q), without forming e^e
    inner = epsilons + np.log(-np.expm1(-epsilons) + atom.rate * np.exp(-epsilons))
    inner = np.maximum(inner - math.log(atom.rate), 0.0)
    deltas = atom.rate * gaussian_delta(inner, atom.mu)
    mirrored = -np.expm1(-epsilons) + np.exp(-epsilons) * deltas
    profile = np.concatenate([mirrored[:0:-1], deltas])
    places = np.arange(-half, half + 1)
    return pld.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots(interval, places, profile)
    )
