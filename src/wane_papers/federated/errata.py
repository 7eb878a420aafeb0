"""A bound on federated averaging that does not grow with the rounds, failing on linear losses."""

from __future__ import annotations

from wane.audit.linear import exact_mu, linear_step
from wane.describe import IterateNoise, NoisyDescent, Objective
from wane_papers.certified import certified_mu
from wane_papers.exhibits import Row, counterexample
from wane_papers.federated import printed

EXPANSION = 2.0
"""By how much a round of the class may move two models apart: one local step with eta L = 1."""


def _rounds() -> list[Row]:
    """Two clients' losses that differ by a linear term: every round adds the same shift."""
    made: list[Row] = []
    for rounds in (1, 2, 3, 5, 10, 20, 50, 100):
        one = linear_step([[1.0]], [1.0], noise_std=1.0)
        run = NoisyDescent(
            objective=Objective(
                gradient_difference_bound=1.0,
                smoothness=EXPANSION - 1.0,
                strong_convexity=1.0 - EXPANSION,
            ),
            records=1,
            steps=rounds,
            step_size=1.0,
            noise=IterateNoise(1.0),
        )
        made.append(
            {
                "rounds": float(rounds),
                "printed": printed.convergent(s=1.0, r=EXPANSION, T=rounds),
                "exact": exact_mu([one] * rounds),
                "corrected": certified_mu(run),
                "first_share": printed.first_share(r=EXPANSION, T=rounds),
            }
        )
    return made


FEDERATED = (
    counterexample(
        "federated-theorem-3a",
        "Privacy of federated averaging does not converge without convexity",
        source=(printed.KEY, "Theorem 3 (a)"),
        says=(
            "for L-smooth losses the mu of noisy federated averaging stays bounded for any "
            "number of rounds: in units of one round, sqrt((r + 1)/(r - 1) (r^T - 1)/(r^T + 1)) "
            "with r = (1 + eta L)^K.",
            "linear losses are L-smooth, and after T rounds two of them are sqrt(T) apart.  The "
            "minimiser of the proof pays more than the whole distance in the first round, which "
            "no interpolation can.  Corrected: wane's certificate for the class, which is "
            "composition.  r = 2.",
        ),
        rows=_rounds,
        along=("rounds", "rounds of communication"),
        of="mu, in units of one round",
        columns={"first_share": "share of the distance that the proof lets the first round pay"},
    ),
)
