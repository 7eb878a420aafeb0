"""Printed formulas are not evaluated where their own hypotheses fail."""

import pytest

from wane.errors import InvalidDescription
from wane_papers.cyclic import printed as cyclic_paper
from wane_papers.dynamics import printed as dynamics_paper
from wane_papers.federated import printed as federated_paper
from wane_papers.mixing import printed as mixing_paper
from wane_papers.modulus import printed as modulus_paper
from wane_papers.sampler import printed as sampler_paper


@pytest.mark.parametrize(
    ("formula", "arguments"),
    [
        (cyclic_paper.lipschitz, {"lam": 5.0, "m": 0.0, "M": 1.0}),
        (
            cyclic_paper.by_position,
            {"alpha": 2.0, "s": 1.0, "L": 1.0, "T": 3, "first": 5, "ell": 2},
        ),
        (
            modulus_paper.geometric_bound,
            {"alpha": 2.0, "sigma": 1.0, "D": 1.0, "c": 1.0, "h": 0.1, "T": 5},
        ),
        (modulus_paper.order_limit, {"q": 0.3, "sigma_tilde": 5.0}),
        (
            dynamics_paper.excess_risk,
            {"L": 1.0, "lam": 1.0, "beta": 2.0, "d": 3, "sigma2": 0.1, "eta": 0.2, "K": 10},
        ),
        (
            sampler_paper.movement,
            {"d": 3, "L": 4.0, "eta": 0.5, "T": 10, "delta": 0.1, "c": 1.0},
        ),
        (
            mixing_paper.iteration,
            {"alpha": 2.0, "L": 1.2, "sigma": 1.0, "Delta": 1.0, "r": 3},
        ),
        (mixing_paper.doeblin, {"gamma": 1.5, "eps": 1.0, "delta": 0.1}),
        (
            modulus_paper.earlier_contraction,
            {"alpha": 2.0, "sigma": 1.0, "D": 1.0, "c": 1.5, "T": 3},
        ),
        (cyclic_paper.fade_bound, {"L": 1.01, "xi": 2.0, "s": 3}),
        (sampler_paper.hypercontraction, {"alpha0": 1.0, "D0": 1.0, "t": 1.0}),
        (federated_paper.convergent, {"s": 1.0, "r": 1.0, "T": 3}),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_printed_formula_refuses_numbers_outside_its_hypotheses(formula, arguments):
    with pytest.raises(InvalidDescription, match="is printed for"):
        formula(**arguments)
