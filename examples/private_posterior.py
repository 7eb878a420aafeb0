"""How sure is the model?  A private posterior tells, within one privacy budget.

    python examples/private_posterior.py

Twenty posterior samples of a logistic regression on the breast cancer data, released together at
epsilon 2: their spread shows which coefficients are known and which are not.  Two certificates come
with them: what the release costs, and how far each sample's law is from the posterior.
"""

from __future__ import annotations

from typing import Any

from wane.sampling import PosteriorLogisticRegression

COLUMNS = ("mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry")
LOW, HIGH = (5.0, 5.0, 0.0, 0.0, 0.0), (30.0, 40.0, 0.2, 0.5, 0.4)
"""Bounds a pathologist could name without the data."""
EPSILON, DELTA, SAMPLES = 2.0, 1e-4, 20


def tumours() -> tuple[Any, Any]:
    """The chosen measurements, and whether the tumour is malignant."""
    from sklearn.datasets import load_breast_cancer

    raw = load_breast_cancer()
    places = [list(raw.feature_names).index(name) for name in COLUMNS]
    return raw.data[:, places], (raw.target == 0).astype(int)


def sampled(features: Any, labels: Any, **settings: Any) -> PosteriorLogisticRegression:
    """Twenty samples from the posterior of the coefficients."""
    given = {"prior_precision": 1.0, "distance": 0.5} | settings
    return PosteriorLogisticRegression(
        epsilon=EPSILON,
        delta=DELTA,
        classes=(0, 1),
        feature_norm=1.0,
        feature_bounds=(LOW, HIGH),
        n_samples=SAMPLES,
        **given,
    ).fit(features, labels)


def report(model: PosteriorLogisticRegression) -> str:
    """The samples' middle and spread, and both certificates."""
    draws = model.coef_samples_[:, 0]
    lines = [f"{'':<18}{'mean':>8}{'spread':>8}"]
    for name, middle, spread in zip(COLUMNS, draws.mean(axis=0), draws.std(axis=0), strict=True):
        lines.append(f"{name:<18}{middle:8.2f}{spread:8.2f}")
    lines += [
        f"privacy of all {SAMPLES} samples: epsilon {model.certificate_.epsilon(DELTA):.4f} "
        f"at delta {DELTA:g}, {model.certificate_.run.adjacency.value}",
        f"temperature {model.temperature_:.3f}, {model.n_iter_} steps",
        f"each sample's divergence from the posterior: at most {model.distance_.value:.4f} "
        f"(Renyi order {model.distance_.order:g}, both ways)",
    ]
    return "\n".join(lines)


def main() -> None:
    """Sample and tell."""
    print(report(sampled(*tumours())))


if __name__ == "__main__":
    main()
