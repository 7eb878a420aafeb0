"""A private diagnosis model, with its certificate.

    python examples/private_logistic.py

569 tumours of the breast cancer data that come with scikit-learn (extra `learn`).  The columns'
bounds stand in the published description of the data set, so they are public.
"""

from __future__ import annotations

import re

import numpy as np

from wane.certificates import composition_of
from wane.errors import MissingExtra
from wane.learn import PrivateLogisticRegression
from wane.report.text import round_up_to

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
TRAINED_ON = 455


def published_bounds(description: str) -> tuple[list[float], list[float]]:
    """Smallest and largest value of each measurement, as printed in the description."""
    rows = re.findall(r"^ *[a-z ]+\([a-z ]+\): +([0-9.]+) +([0-9.]+)$", description, re.MULTILINE)
    return [float(low) for low, _ in rows], [float(high) for _, high in rows]


def main() -> None:
    """Fit at several epsilons and compare with what composition would have to claim."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise MissingExtra("This example needs scikit-learn; install wane[learn].") from None
    data = load_breast_cancer()
    order = np.random.default_rng(0).permutation(len(data.data))
    train, test = order[:TRAINED_ON], order[TRAINED_ON:]
    print(f"{'epsilon':>8} {'by composition':>15} {'steps':>6} {'accuracy':>9}")
    for epsilon in EPSILONS:
        model = PrivateLogisticRegression(
            epsilon=epsilon,
            delta=DELTA,
            classes=[0, 1],
            feature_bounds=published_bounds(data.DESCR),
        ).fit(data.data[train], data.target[train])
        print(
            f"{round_up_to(model.certificate_.epsilon(DELTA), 4):>8} "
            f"{round_up_to(composition_of(model.run_).epsilon(DELTA), 4):>15} "
            f"{model.n_iter_:>6} {model.score(data.data[test], data.target[test]):>9.3f}"
        )
    print("(The accuracy is measured on 114 records that the models have not seen.)")


if __name__ == "__main__":
    main()
