"""How long kernels take, in units that do not depend on the machine.

    python -m benchmarks.kernels [--quick]

1.  The amplification curve of a 2,000-state kernel to the power 1e6, in dense matrix products of
    that size (goal: 30).
2.  A (gamma, epsilon)-Dobrushin curve at 50 epsilons and 500 states, in passes over all ordered
    pairs of rows (goal: 100).

3.  The power itself and its Dobrushin coefficient, of a sparse walk of 2,000 states on a line and
    on a cycle, for powers from 100 to 1e9, in the same products and in seconds.

Units are timed before and after, and the smaller of the two medians is used.
"""

import argparse
import statistics
import time

import numpy as np
from scipy import sparse

from wane.mechanisms import MarkovKernel

PRODUCTS_ALLOWED = 30
PASSES_ALLOWED = 100


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def lazy_walk(n):
    rows = 0.5 * np.eye(n) + 0.25 * np.eye(n, k=1) + 0.25 * np.eye(n, k=-1)
    rows[0, 0] = rows[-1, -1] = 0.75
    return rows


def two_towns(n, rng):
    """Two halves that talk to each other rarely: not mixed even after many steps."""
    rows = rng.dirichlet(np.full(n, 0.1), size=n)
    rows[: n // 2, n // 2 :] *= 1e-6
    rows[n // 2 :, : n // 2] *= 1e-6
    return rows / rows.sum(axis=1, keepdims=True)


def one_product(n, rng):
    first, second = rng.random((n, n)), rng.random((n, n))
    return statistics.median(timed(lambda: first @ second)[0] for _ in range(5))


def one_pass(rows):
    """Total variation between all ordered pairs of rows, one row against all others at a time."""

    def work():
        best = 0.0
        for row in rows:
            difference = row - rows
            np.maximum(difference, 0.0, out=difference)
            best = max(best, float(difference.sum(axis=1).max()))
        return best

    return statistics.median(timed(work)[0] for _ in range(3))


def powers(n, rng):
    kinds = {
        "lazy walk": lazy_walk(n),
        "two towns": two_towns(n, rng),
        "random": rng.dirichlet(np.ones(n), size=n),
    }
    epsilons = np.linspace(0.0, 1.0, 11)
    for name, rows in kinds.items():
        unit = one_product(n, rng)
        made = MarkovKernel(rows)

        def curve(made=made):
            return made.power(10**6).amplified_curve(epsilons, epsilon=1.0, delta=1e-6)

        spent, deltas = timed(curve)
        unit = min(unit, one_product(n, rng))
        print(f"power 1e6, {n} states, {name:<10} {spent / unit:6.1f} products of {unit:.2f} s "
              f"(allowed {PRODUCTS_ALLOWED}); delta(0) = {deltas[0]:.3g}")  # fmt: skip


def curves(n, rng):
    for name, spikes in (("spiky", 0.1), ("random", 1.0), ("flat", 10.0)):
        rows = rng.dirichlet(np.full(n, spikes), size=n)
        unit = one_pass(rows)
        made = MarkovKernel(rows)
        spent, found = timed(lambda made=made: made.dobrushin_curve(np.linspace(0.0, 5.0, 50)))
        unit = min(unit, one_pass(rows))
        print(f"50 epsilons, {n} states, {name:<6} {spent / unit:6.1f} passes of {unit:.2f} s "
              f"(allowed {PASSES_ALLOWED}); from {found[0]:.3f} to {found[-1]:.3f}")  # fmt: skip


def sparse_walks(n, rng):
    cycle = lazy_walk(n)
    cycle[0, 0] = cycle[-1, -1] = 0.5
    cycle[0, -1] = cycle[-1, 0] = 0.25
    for name, rows in (("line", lazy_walk(n)), ("cycle", cycle)):
        made = MarkovKernel(sparse.csr_array(rows))
        for times in (100, 1000, 10**4, 10**6, 10**9):
            unit = one_product(n, rng)
            spent, found = timed(lambda made=made, times=times: made.power(times).dobrushin)
            print(f"walk on a {name:<5} to the power {times:<10} {spent / unit:6.1f} products, "
                  f"{spent:.2f} s; dobrushin {found:.3g}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    curves(150 if quick else 500, rng)
    powers(300 if quick else 2000, rng)
    sparse_walks(300 if quick else 2000, rng)


if __name__ == "__main__":
    main()
