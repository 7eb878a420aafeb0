"""Room 1: what privacy means.  Guarantees know no algorithm and no adjacency."""

from wane.guarantees.atoms import (
    Atom,
    GaussianMixtureStep,
    GaussianStep,
    Pair,
    Recipe,
    SampledGaussianStep,
)
from wane.guarantees.base import Guarantee
from wane.guarantees.chain import ChainDP
from wane.guarantees.composed import ComposedDP
from wane.guarantees.failure import WithFailure
from wane.guarantees.gaussian import GaussianDP
from wane.guarantees.mixture import GaussianMixture
from wane.guarantees.numerical import NumericalDP
from wane.guarantees.pure import PureDP
from wane.guarantees.renyi import RenyiDP

__all__ = [
    "Atom",
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
