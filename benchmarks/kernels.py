"""How long kernels take, in units that do not depend on the machine.

    python -m benchmarks.kernels [--quick]

1.  The amplification curve of a 2,000-state kernel to the power 1e6, in dense matrix products of
    that size (goal: 30).
2.  A (gamma, epsilon)-Dobrushin curve at 50 epsilons and 500 states, in passes over all ordered
    pairs of rows (goal: 100).

3.  The power itself, its Dobrushin, Doeblin and ultra-mixing coefficients and delta at one epsilon,
    of sparse walks of 2,000 states of several sorts, for powers from 100 to 1e9, in the same
    products and in seconds of one processor (goal: 2).  A drift of 0.1 a step along a line stays
    above it beyond 1e4, at 2.5: most of its law is below every double's reach, few rows are too
    vague, and whole matrices are squared.  So does a line whose rates change at random, at 9 from
    1e8: its law has many peaks far apart, and such powers do not settle.

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


def on_a_line(n, up, down, end):
    """Steps up and down, else stay; the ends keep what would leave, but for the share `end`."""
    rows = sparse.diags_array([1 - up - down, up, down], offsets=[0, 1, -1], shape=(n, n)).tolil()
    rows[0, 1], rows[-1, -2] = up + end * down, down + end * up
    rows[0, 0], rows[-1, -1] = 1 - rows[0, 1], 1 - rows[-1, -2]
    return sparse.csr_array(rows)


def on_a_graph(weights):
    """Along the edges of a graph, each as often as its weight says."""
    degrees = weights.sum(axis=1)
    return sparse.csr_array(sparse.diags_array(1.0 / degrees) @ weights)


def on_a_tree(n, rng, rest):
    """Along the branches of a tree that grows at random places, or at rest."""
    later, sooner = np.arange(1, n), np.array([rng.integers(0, i) for i in range(1, n)])
    ends = np.concatenate([later, sooner]), np.concatenate([sooner, later])
    walk = on_a_graph(sparse.csr_array((np.ones(2 * n - 2), ends), shape=(n, n)))
    return sparse.csr_array(rest * sparse.eye_array(n) + (1.0 - rest) * walk)


def on_an_uneven_line(n, rng):
    weights = rng.exponential(size=n - 1)
    walk = on_a_graph(sparse.diags_array([weights, weights], offsets=[1, -1], shape=(n, n)))
    return sparse.csr_array(0.5 * sparse.eye_array(n) + 0.5 * walk)


def at_random_rates(n, rng):
    """Up, down or at rest as often as drawn for each state: its law has peaks far apart."""
    up, down, rest = 0.1 + rng.random(n - 1), 0.1 + rng.random(n - 1), rng.random(n)
    return on_a_graph(sparse.diags_array([up, down, rest], offsets=[1, -1, 0], shape=(n, n)))


def on_a_circle(n, up, down):
    steps = {0: 1 - up - down, 1: up, -1: down, n - 1: down, 1 - n: up}
    return sparse.csr_array(
        sparse.diags_array(list(steps.values()), offsets=list(steps), shape=(n, n))
    )


def on_a_torus(high, wide):
    first, second = on_a_circle(high, 0.5, 0.5), on_a_circle(wide, 0.5, 0.5)
    one, other = sparse.eye_array(high), sparse.eye_array(wide)
    moves = sparse.kron(first, other) + sparse.kron(one, second)
    return sparse.csr_array(0.5 * sparse.eye_array(high * wide) + 0.25 * moves)


def few_jumps(n, rng, *, even):
    """Four jumps from every state: along four permutations, or anywhere with shares of its own."""
    columns = [rng.permutation(n) if even else rng.integers(0, n, n) for _ in range(4)]
    shares = np.tile(rng.dirichlet(np.ones(4)), (n, 1)) if even else rng.dirichlet(np.ones(4), n)
    cells = (np.tile(np.arange(n), 4), np.concatenate(columns))
    return sparse.csr_array((shares.T.reshape(-1), cells), shape=(n, n))


def loosely_joined(n, rng):
    """Two halves that are left once in a thousand steps, one of them without any symmetry."""
    halves = [few_jumps(n // 2, rng, even=even) for even in (True, False)]
    across = sparse.diags_array([1.0, 1.0], offsets=[n // 2, -(n // 2)], shape=(n, n))
    return sparse.csr_array(0.999 * sparse.block_diag(halves) + 0.001 * across)


def sparse_walks(n, rng):
    kinds = {
        "lazy circle": on_a_circle(n, 0.25, 0.25),
        "odd circle": on_a_circle(n - 1 + n % 2, 0.5, 0.5),
        "torus": on_a_torus(n // 50, 50),
        "line": on_a_line(n, 0.25, 0.25, 0.0),
        "restless line": on_a_line(n, 0.5, 0.5, 0.0),
        "reflected line": on_a_line(n, 0.25, 0.25, 1.0),
        "without rest": on_a_line(n, 0.5, 0.5, 1.0),
        "uneven line": on_an_uneven_line(n, rng),
        "random rates": at_random_rates(n, rng),
        "tree": on_a_tree(n, rng, 0.0),
        "lazy tree": on_a_tree(n, rng, 0.5),
        "slow drift": on_a_line(n, 0.25 + 4 / n / 4, 0.25 - 4 / n / 4, 0.0),
        "fast drift": on_a_line(n, 0.3, 0.2, 0.0),
        "even jumps": few_jumps(n, rng, even=True),
        "uneven jumps": few_jumps(n, rng, even=False),
        "joined halves": loosely_joined(n, rng),
    }
    for name, rows in kinds.items():
        made = MarkovKernel(rows)
        for times in (100, 1000, 10**4, 10**6, 10**9):
            unit, start = one_product(n, rng), time.process_time()
            power = made.power(times)
            told = power.dobrushin, power.doeblin_coefficient, power.ultra_mixing
            delta = power.amplified_delta(0.5, epsilon=1.0, delta=1e-6)
            spent = time.process_time() - start
            print(f"{name:<14} to the power {times:<10} {spent / unit:6.1f} products, "
                  f"{spent:.2f} s; dobrushin {told[0]:.3g}, delta {delta:.3g}")  # fmt: skip


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
