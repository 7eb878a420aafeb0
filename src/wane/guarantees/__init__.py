"""Guarantees of privacy, which know no algorithm and no adjacency."""

from wane.guarantees.base import Guarantee
from wane.guarantees.chain import ChainDP
from wane.guarantees.composed import ComposedDP
from wane.guarantees.failure import WithFailure
from wane.guarantees.gaussian import GaussianDP
from wane.guarantees.mixture import GaussianMixture
from wane.guarantees.numerical import NumericalDP
from wane.guarantees.pure import PureDP
from wane.guarantees.renyi import RenyiDP
from wane.guarantees.steps import (
    AccountStep,
    GaussianMixtureStep,
    GaussianStep,
    Pair,
    Recipe,
    SampledGaussianStep,
)

__all__ = [
    "AccountStep",
    "ChainDP",
    "ComposedDP",
    "GaussianDP",
    "GaussianMixture",
    "GaussianMixtureStep",
    "GaussianStep",
    "Guarantee",
    "NumericalDP",
    "Pair",
    "PureDP",
    "Recipe",
    "RenyiDP",
    "SampledGaussianStep",
    "WithFailure",
]
