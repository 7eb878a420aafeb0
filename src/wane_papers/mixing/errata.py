"""False statements on mixing and diffusion mechanisms, failing on exact instances.

The letters E2.1, E2.2, ... are those of docs/errata/mixing.md.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import integrate

from wane.audit.finite import finite_hockey_stick
from wane.mechanisms import (
    MarkovKernel,
    OrnsteinUhlenbeckMechanism,
    PrivacyTarget,
    calibrated_ornstein_uhlenbeck,
    intrinsic,
    per_index_sgd,
)
from wane_papers.exhibits import Row, counterexample
from wane_papers.mixing import printed

KEY = "balle2019mixing"


def _implication() -> list[Row]:
    """A (0.1, 0.2)-private pair of laws on two points, sent through randomised response."""
    first, second = np.array([0.2, 0.8]), np.array([0.0, 1.0])
    made = []
    for strength in (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0):
        kernel = MarkovKernel.randomized_response(strength)
        gamma = kernel.dobrushin_at(strength)  # zero, but for rounding
        rows = kernel.matrix
        made.append(
            {
                "strength": strength,
                "printed": printed.threshold_implies_dobrushin(gamma=gamma, delta=0.2),
                "exact": float(finite_hockey_stick(first @ rows, second @ rows, 0.1)),
                "corrected": float(kernel.amplified_delta(0.1, epsilon=0.1, delta=0.2)),
            }
        )
    return made


def _missing_order() -> list[Row]:
    """The last step of two quadratics whose gradients differ by 1.6 within the set."""
    curvature, reach = 0.01, 20.0
    gap = 2.0 * curvature * (1.0 / curvature - reach)
    ours = per_index_sgd(0, gradient_gap=2.0, noise_std=1.0, contraction=1.0 - curvature)
    return [
        {
            "order": order,
            "printed": printed.per_index(C=1.0, sigma=1.0),
            "exact": order * gap**2 / 2.0,
            "corrected": ours.renyi(order),
        }
        for order in (1.1, 1.5, 2.0, 4.0, 10.0, 30.0, 100.0)
    ]


def _drive() -> list[Row]:
    theta, time, made = 0.5, 1.5, []
    for rho in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0):
        claimed = OrnsteinUhlenbeckMechanism(
            sensitivity=1.0, reversion=theta, diffusion_scale=rho, time=time
        )
        variance = printed.driven_variance(theta=theta, rho=rho, t=time)
        simulated = OrnsteinUhlenbeckMechanism(
            sensitivity=1.0, reversion=theta, diffusion_scale=math.sqrt(rho), time=time
        )
        made.append(
            {
                "rho": rho,
                "printed": claimed.mu,
                "exact": math.exp(-theta * time) / math.sqrt(variance),
                "corrected": simulated.mu,
            }
        )
    return made


def _display() -> list[Row]:
    R, made = 2.0, []
    for y in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0):
        # mu = 1, unit sensitivity, dimension 3: y = 3 Delta^2, so the sensitivity is sqrt(y/3)
        mechanism = calibrated_ornstein_uhlenbeck(
            PrivacyTarget(mu=1.0), sensitivity=math.sqrt(y / 3.0), norm_bound=R, dimension=3
        )
        made.append(
            {
                "y": y,
                "printed": printed.last_display(y=y, R=R),
                "exact": (R**2 * y**2 + R**4 * y) / (R**2 + y) ** 2,
                "corrected": mechanism.mean_squared_error(),
            }
        )
    return made


def _unmerged() -> list[Row]:
    """A process pushed away from a mirror at zero, started at 0 and at 1: its laws never merge.

    It is |Y| with Y ~ N(x e^t, e^(2t) - 1); its invariant measure is unique.  Order two.
    """

    def variance(time: float) -> float:
        return math.expm1(2.0 * time)

    def rate(time: float) -> float:
        return (math.exp(time) / variance(time)) ** 2

    def remaining(time: float) -> float:
        square = math.exp(2.0 * time) / variance(time)
        return 0.5 * math.log(math.cosh(square)) if square < 700.0 else 0.5 * square

    return [
        {
            "time": time,
            "printed": float(integrate.quad(rate, time, 40.0)[0]),
            "exact": remaining(time),
            "corrected": intrinsic.finite_horizon(rate, remaining, time=time, horizon=40.0),
        }
        for time in (0.1, 0.25, 0.5, 1.0, 2.0, 3.0)
    ]


def _never_better() -> list[Row]:
    """The suggested process stopped before its time, d = 10, Delta = R = 1, eps = 0.1."""
    d, R, eps = 10, 1.0, 0.1
    theta, rho = printed.suggested(eps=eps, Delta=1.0, d=d, R=R)
    made = calibrated_ornstein_uhlenbeck(
        PrivacyTarget(mu=math.sqrt(2.0 * eps)), sensitivity=1.0, norm_bound=R, dimension=d
    )
    rows = []
    for time in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0):
        parameters = {"theta": theta, "rho": rho, "t": time, "d": d}
        plain = printed.plain_error(**parameters)
        rows.append(
            {
                "time": time,
                "printed": plain,
                "exact": printed.error(**parameters, R=R),
                "corrected": made.at(time).mean_squared_error() * (1.0 + 1e-12),
            }
        )
    return rows


MIXING = (
    counterexample(
        "mixing-e2-1",
        "A coefficient above a threshold does not bound the coefficient",
        source=(KEY, "Lemma 9 and Figure 1"),
        says=(
            "a kernel that is (gamma, epsilon)-Dobrushin is gamma-Dobrushin, so it would multiply "
            "delta by gamma.",
            "the implication runs the other way.  Randomised response with parameter eps0 is "
            "(0, eps0)-Dobrushin and would wipe out delta.  Corrected: the exact amplification.",
        ),
        rows=_implication,
        along=("strength", "eps0 of randomised response"),
        of="delta at epsilon 0.1 after the kernel",
        logarithmic="",
    ),
    counterexample(
        "mixing-e2-2",
        "A divergence that does not grow with its order",
        source=(KEY, "Theorem 5, main text"),
        says=(
            "record i of projected SGD has a Renyi divergence of at most eps_i at every order.",
            "order * eps_i, as the appendix says.  The last record, two quadratics.",
        ),
        rows=_missing_order,
        along=("order", "Renyi order"),
        of="Renyi divergence",
    ),
    counterexample(
        "mixing-e2-3",
        "The printed equation adds less noise than its privacy assumes",
        source=(KEY, "Section 5.1"),
        says=(
            "the process dX = -theta X dt + sqrt(2 rho) dW has the privacy of Corollary 7.",
            "that privacy, like the kernel, belongs to sqrt(2) rho dW; for rho > 1 the printed "
            "equation is less private.  theta = 0.5, time 1.5.",
        ),
        rows=_drive,
        along=("rho", "rho"),
        of="mu of the released position",
    ),
    counterexample(
        "mixing-e2-5",
        "The error of the suggested parameters, as displayed in the proof",
        source=(KEY, "Theorem 8, last display of the proof"),
        says=(
            "the error is (R^2 (y/R^2)^2 + R^4 y/R^2)/(R^2 + y)^2 with y = d Delta^2/(2 eps).",
            "the numerator is R^2 y^2 + R^4 y.  R = 2.",
        ),
        rows=_display,
        along=("y", "d Delta^2/(2 eps)"),
        of="mean squared error",
    ),
    counterexample(
        "mixing-e2-6",
        "What an integral leaves out if the laws do not merge",
        source=(KEY, "Theorem 6"),
        says=(
            "the integral of the rate from t on bounds the divergence at t, divided by the order.",
            "only if the two laws merge, which a unique invariant measure does not imply.  A "
            "process pushed away from a mirror keeps its memory.  Corrected: the integral to a "
            "horizon plus what is left.",
        ),
        rows=_unmerged,
        along=("time", "time of release"),
        of="Renyi divergence / order",
        logarithmic="",
    ),
    counterexample(
        "mixing-e2-7",
        "The suggested process is better at time one, not at every time",
        source=(KEY, "Theorem 8, second half"),
        says=(
            "at time one the error with the suggested parameters is at most that of the Gaussian "
            "mechanism; 'in particular' suggests that the first half, for all times, applies.",
            "the claim at time one is true.  Earlier the error can be five times as large, because "
            "the suggested parameters violate the condition of the first half.",
        ),
        rows=_never_better,
        along=("time", "time of release"),
        of="mean squared error",
    ),
)
