"""Linear diffusions against integrals, exact fractions and searches that know nothing of them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, linalg

from wane.errors import InvalidDescription, Unreachable
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    LinearDiffusion,
    NestedRelease,
    Outside,
    PrivacyTarget,
    calibrated_linear_diffusion,
    calibrated_ornstein_uhlenbeck,
)
from wane.numerics.linear_flow import added_noise
from wane.numerics.semidefinite import exactly, largest_ratio_up, surely_positive
from wane.run.diffusions import start_of

BOX = (10.0, 1.0, 0.1, 0.1, 0.1, 0.1)
TARGET = PrivacyTarget(mu=0.5)


def random_positive(rng: np.random.Generator, size: int, least: float = 0.1) -> np.ndarray:
    x = rng.normal(size=(size, size))
    found = x @ x.T + least * np.eye(size)
    return (found + found.T) / 2.0


def law_of(process: LinearDiffusion) -> tuple[np.ndarray, np.ndarray]:
    """Factor and covariance of the position, integrated from the equation."""
    size = process.dimension
    basis = np.eye(size) if process.basis is None else np.array(process.basis)
    q, c = np.array(process.reversion), np.array(process.covariance)
    q, c = (np.diag(m) if m.ndim == 1 else m for m in (q, c))
    q = basis @ q @ np.linalg.inv(basis)
    c = basis @ c @ basis.T
    integral, _ = integrate.quad_vec(
        lambda s: 2.0 * linalg.expm(-q * s) @ c @ linalg.expm(-q * s).T,
        0.0,
        process.time,
        epsrel=1e-12,
    )
    return linalg.expm(-q * process.time), integral


def sensitivity_root(process: LinearDiffusion) -> np.ndarray:
    given = process.sensitivity
    if isinstance(given, float):
        return given * np.eye(process.dimension)
    m = np.array(given)
    return np.linalg.cholesky(np.diag(m) if m.ndim == 1 else m)


def brute_mu(process: LinearDiffusion) -> float:
    factor, noise = law_of(process)
    white = np.linalg.solve(linalg.sqrtm(noise).real, factor @ sensitivity_root(process))
    return float(np.linalg.norm(white, 2))


def test_box_of_the_issue_is_reached() -> None:
    made = calibrated_linear_diffusion(TARGET, sensitivity=1.0, box=BOX)
    assert made.mu <= 0.5 and made.mu > 0.5 * (1.0 - 1e-11)
    exact = sum(b * b * 4.0 / (b * b + 4.0) for b in BOX)
    assert exact == pytest.approx(4.686, abs=5e-4)
    assert made.least_possible_error <= made.mean_squared_error <= 1.01 * exact
    assert made.least_possible_error == pytest.approx(exact, rel=1e-8)
    assert made.least_possible_error <= exact
    plain = calibrated_ornstein_uhlenbeck(
        TARGET, sensitivity=1.0, norm_bound=math.hypot(*BOX), dimension=6
    )
    assert plain.mean_squared_error() == pytest.approx(19.393, abs=5e-3)


@pytest.mark.parametrize("seed", range(12))
def test_mu_is_the_largest_over_all_differences(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    turned = rng.normal(size=(size, size)) + 1.5 * np.eye(size)
    process = LinearDiffusion(
        reversion=turned.tolist(),
        covariance=random_positive(rng, size).tolist(),
        sensitivity=random_positive(rng, size).tolist() if seed % 2 else 0.7,
        time=float(rng.uniform(0.1, 1.5)),
        basis=(rng.normal(size=(size, size)) + 2.0 * np.eye(size)).tolist() if seed % 3 else None,
    )
    exact = brute_mu(process)
    assert exact * (1.0 - 1e-11) <= process.mu <= exact * (1.0 + 1e-6)
    # no direction that was drawn exceeds it, and one comes near
    factor, noise = law_of(process)
    ways = rng.normal(size=(4000, size))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    moved = ways @ (factor @ sensitivity_root(process)).T
    found = np.sqrt(np.einsum("ij,ij->i", moved, np.linalg.solve(noise, moved.T).T))
    assert float(found.max()) <= process.mu
    assert float(found.max()) > 0.9 * process.mu


def test_hockey_stick_on_a_grid_never_exceeds_the_guarantee() -> None:
    process = LinearDiffusion(
        reversion=((1.0, 0.8), (-0.3, 0.2)),
        covariance=((1.0, 0.3), (0.3, 0.4)),
        sensitivity=((0.5, 0.1), (0.1, 0.3)),
        time=0.7,
    )
    factor, noise = law_of(process)
    reach = 9.0 * np.sqrt(np.diag(noise))
    points = [np.linspace(-r, r, 1201) for r in reach]
    grid = np.stack(np.meshgrid(*points, indexing="ij"), axis=-1)
    cell = math.prod(float(p[1] - p[0]) for p in points)
    precision = np.linalg.inv(noise)
    scale = cell / (2.0 * math.pi * math.sqrt(np.linalg.det(noise)))

    def density(mean: np.ndarray) -> np.ndarray:
        away = grid - mean
        return scale * np.exp(-0.5 * np.einsum("...i,ij,...j->...", away, precision, away))

    largest, root = 0.0, sensitivity_root(process)
    for angle in np.linspace(0.0, math.pi, 24, endpoint=False):
        way = root @ np.array([math.cos(angle), math.sin(angle)])
        shift = factor @ way / 2.0
        for epsilon in (0.2, 1.0):
            found = float(
                np.maximum(density(shift) - math.exp(epsilon) * density(-shift), 0.0).sum()
            )
            claimed = process.guarantee.delta(epsilon)
            assert found <= claimed * (1.0 + 1e-6)
            largest = max(largest, found / claimed)
    assert largest > 0.97


@pytest.mark.parametrize("seed", range(6))
def test_no_linear_gaussian_release_beats_the_least_possible_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 5))
    sensitivity = random_positive(rng, size)
    if seed % 2:
        half = rng.uniform(0.1, 3.0, size)
        made = calibrated_linear_diffusion(TARGET, sensitivity=sensitivity.tolist(), box=half)
        corners = np.array(np.meshgrid(*[[-b, b] for b in half])).reshape(size, -1).T
    else:
        shape = random_positive(rng, size)
        made = calibrated_linear_diffusion(
            TARGET, sensitivity=sensitivity.tolist(), ellipsoid=shape.tolist()
        )
        # the ends of the axes have the second moments of the surface
        root = np.linalg.cholesky(shape)
        corners = np.concatenate([root.T, -root.T])
    assert made.mean_squared_error <= 1.01 * made.least_possible_error

    def mean_error(factor: np.ndarray) -> float:
        noise = factor @ sensitivity @ factor.T / 0.25
        away = corners @ (factor - np.eye(size)).T
        return float(np.mean(np.sum(away**2, axis=1)) + np.trace(noise))

    factor, noise = law_of(made)
    away = corners @ (factor - np.eye(size)).T
    own = float(np.mean(np.sum(away**2, axis=1)) + np.trace(noise))
    assert made.mean_squared_error == pytest.approx(own, rel=1e-6)
    for spread in (1e-3, 0.1, 1.0):
        for _ in range(200):
            tried = mean_error(factor + spread * rng.normal(size=(size, size)))
            assert tried >= made.least_possible_error


def test_large_reversions_and_small_boxes_lose_no_digits() -> None:
    made = calibrated_linear_diffusion(TARGET, sensitivity=1.0, box=(1e6, 1.0, 1e-6, 1e-9))
    assert 0.5 * (1.0 - 1e-11) < made.mu <= 0.5
    assert made.mean_squared_error <= 1.01 * made.least_possible_error


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_within_its_stated_error(seed: int) -> None:
    """Doubling against rational arithmetic: powers of the block matrix, many terms."""
    rng = np.random.default_rng(seed)
    q = np.round(rng.normal(size=(2, 2)) * 8) / 8
    c = np.array([[2.0, 0.5], [0.5, 1.0]])
    found = added_noise(q, c, 0.75)
    exact = [[Fraction(0)] * 2 for _ in range(2)]
    term = [[Fraction(float(x)) for x in row] for row in c]
    exact_q = [[Fraction(float(x)) for x in row] for row in q]
    time, weight = Fraction(3, 4), Fraction(2)
    for j in range(60):
        weight = weight * time / (j + 1)
        for a in range(2):
            for b in range(2):
                exact[a][b] += weight * term[a][b]
        term = [
            [
                sum(exact_q[a][k] * term[k][b] + term[a][k] * exact_q[b][k] for k in range(2))
                for b in range(2)
            ]
            for a in range(2)
        ]
    for a in range(2):
        for b in range(2):
            away = abs(Fraction(float(found.matrix[a, b])) - exact[a][b])
            assert away <= Fraction(float(found.error[a, b])) + Fraction(1, 10**25)
            assert found.error[a, b] < 1e-12 * (1.0 + float(np.abs(found.matrix).max()))


def exactly_semidefinite(matrix: np.ndarray) -> bool:
    """By elimination in fractions."""
    rows = [[Fraction(float(x)) for x in row] for row in matrix]
    for k in range(len(rows)):
        if rows[k][k] < 0 or (rows[k][k] == 0 and any(rows[k][j] != 0 for j in range(len(rows)))):
            return False
        if rows[k][k] == 0:
            continue
        for i in range(k + 1, len(rows)):
            share = rows[i][k] / rows[k][k]
            rows[i] = [a - share * b for a, b in zip(rows[i], rows[k], strict=True)]
    return True


def test_a_proof_of_positivity_is_never_wrong() -> None:
    rng = np.random.default_rng(1)
    proven = refuted = 0
    for _ in range(300):
        size = int(rng.integers(2, 7))
        x = rng.normal(size=(size, size - 1)) * 10.0 ** rng.uniform(-3, 3, size)[:, None]
        matrix = x @ x.T
        matrix = (matrix + matrix.T) / 2.0
        matrix += np.diag(np.diag(matrix)) * 10.0 ** rng.uniform(-17, -12) * rng.choice([-1, 1])
        truth = exactly_semidefinite(matrix)
        if surely_positive(matrix, np.zeros_like(matrix)):
            proven += 1
            assert truth
        refuted += not truth
    assert proven > 60 and refuted > 60


def test_ratio_of_close_matrices_is_not_rounded_down() -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        below = random_positive(rng, 3)
        above = below * (1.0 + 1e-15 * rng.integers(-3, 4))
        ratio = largest_ratio_up(exactly(above), exactly(below))
        exact = [
            [
                Fraction(ratio) * Fraction(float(b)) - Fraction(float(a))
                for a, b in zip(*uv, strict=True)
            ]
            for uv in zip(above, below, strict=True)
        ]
        minors = [
            exact[0][0],
            exact[0][0] * exact[1][1] - exact[0][1] * exact[1][0],
        ]
        assert all(m >= 0 for m in minors)
        assert ratio < 1.0 + 1e-11


def test_released_moments_and_grid() -> None:
    process = LinearDiffusion(
        reversion=((1.0, 0.5), (0.0, 0.3)),
        covariance=(0.2, 0.3),
        sensitivity=0.3,
        centre=(1.0, -1.0),
        basis=((1.0, 0.2), (0.1, 1.0)),
    )
    drawn = np.array([process.release([2.0, 0.5], seed_voids_privacy=s) for s in range(4000)])
    factor, noise = law_of(process)
    mean = np.array([1.0, -1.0]) + factor @ (np.array([2.0, 0.5]) - np.array([1.0, -1.0]))
    assert np.allclose(drawn.mean(axis=0), mean, atol=5.0 * np.sqrt(noise.max() / 4000))
    assert np.allclose(np.cov(drawn.T), noise, atol=0.06)
    own_mean, own_noise = process.law([2.0, 0.5])
    assert np.allclose(own_mean, mean, atol=1e-9)
    assert np.allclose(own_noise, noise, rtol=1e-9)
    spacing = 2.0 ** math.floor(math.log2(math.sqrt(noise[0, 0])) - 10)
    assert np.all(drawn[:, 0] % spacing == 0.0)
    path = process.path([2.0, 0.5], [1.0, 2.0], seed_voids_privacy=1)
    assert len(path) == 2 and path[0].shape == (2,)


def test_time_for_meets_its_target_from_above() -> None:
    process = calibrated_linear_diffusion(
        TARGET, sensitivity=((1.0, 0.4), (0.4, 0.5)), ellipsoid=((4.0, 1.0), (1.0, 2.0))
    )
    for mu in (0.05, 0.3, 0.5, 2.0):
        time = process.time_for(mu)
        assert mu * (1.0 - 1e-6) < process.mu_at(time) <= mu
    time = process.time_for(epsilon=1.0, delta=1e-6)
    assert process.at(time).guarantee.delta(1.0) <= 1e-6


def test_projection_is_entry_by_entry_or_refused() -> None:
    made = calibrated_linear_diffusion(TARGET, sensitivity=1.0, box=(1.0, 0.5), centre=(2.0, 0.0))
    with pytest.raises(InvalidDescription, match="declared box or ellipsoid"):
        made.release([4.0, 0.0])
    assert np.array_equal(start_of(made, [4.0, -9.0], Outside.PROJECT), [3.0, -0.5])
    slanted = calibrated_linear_diffusion(
        TARGET, sensitivity=((1.0, 0.4), (0.4, 0.5)), box=(1.0, 0.5)
    )
    with pytest.raises(InvalidDescription, match=r"must be Outside\.REFUSE"):
        slanted.release([4.0, 0.0], outside=Outside.PROJECT)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"reversion": 3}, "reversion must be a square matrix"),
        ({"reversion": "ab"}, "reversion must be a square matrix"),
        ({"reversion": ((1.0, 2.0),)}, "reversion must be a square matrix, got 1 rows of 2"),
        ({"reversion": ((1.0, 2.0), (1.0,))}, "reversion must be a square matrix"),
        ({"reversion": (1.0, math.nan)}, r"reversion\[1\] must be a finite number"),
        ({"covariance": (1.0,)}, "covariance must have 2 rows"),
        ({"covariance": ((1.0, 0.5), (0.4, 1.0))}, "covariance must be symmetric"),
        ({"covariance": (1.0, -1.0)}, "covariance must be a positive matrix"),
        ({"sensitivity": 0.0}, "sensitivity must be > 0"),
        ({"sensitivity": None}, "sensitivity must be a square matrix"),
        ({"sensitivity": (1.0, 1.0, 1.0)}, "sensitivity must have 2 rows"),
        ({"box": (1.0, 0.0)}, r"box\[1\] must be > 0"),
        ({"box": (1.0, 1.0), "ellipsoid": (1.0, 1.0)}, "ellipsoid must be left out"),
        ({"time": 1e9}, "time must leave a noise"),
        ({"centre": 1.0}, "centre must be a row of numbers"),
    ],
)
def test_refusals_name_the_argument(fields: dict[str, object], words: str) -> None:
    right = {"reversion": (1.0, 2.0), "covariance": (1.0, 1.0), "sensitivity": 1.0}
    with pytest.raises(InvalidDescription, match=words):
        LinearDiffusion(**{**right, **fields})  # type: ignore[arg-type]


def test_other_refusals() -> None:
    process = LinearDiffusion(reversion=(1.0, 2.0), covariance=(1.0, 1.0), sensitivity=1.0)
    for bad in ([1.0], "ab", None, [1.0, math.nan], [[1.0], 2.0], {"a": 1.0}):
        with pytest.raises(InvalidDescription, match="statistic"):
            process.release(bad)
    with pytest.raises(InvalidDescription, match="outside"):
        process.release([0.0, 0.0], outside="project")  # type: ignore[arg-type]
    with pytest.raises(InvalidDescription, match="box or ellipsoid"):
        process.mean_squared_error  # noqa: B018
    with pytest.raises(InvalidDescription, match="exactly one"):
        calibrated_linear_diffusion(TARGET, sensitivity=1.0)
    with pytest.raises(InvalidDescription, match="target must be exactly one"):
        process.time_for()
    with pytest.raises(Unreachable):
        calibrated_linear_diffusion(TARGET, sensitivity=1e9, box=(1e-160,))


SLANTED = LinearDiffusion(
    reversion=((0.7, 0.2), (-0.1, 0.4)),
    covariance=((1.0, 0.3), (0.3, 0.5)),
    sensitivity=((1.0, 0.2), (0.2, 0.5)),
    basis=((1.0, 0.5), (0.0, 1.0)),
    centre=(1.0, 0.0),
    time=0.5,
)


def tree_by_steps(branches: dict[str, Branch], seen: list[str]) -> float:
    """The joint law of a tree, one branch after another, and the largest difference in it."""
    means: dict[str | None, np.ndarray] = {None: np.eye(2)}
    joint: dict[tuple[str | None, str | None], np.ndarray] = {(None, None): np.zeros((2, 2))}
    for name, (parent, span) in branches.items():
        factor, noise = law_of(replace(SLANTED, time=span))
        means[name] = factor @ means[parent]
        for other in list(means):
            if other != name:
                joint[name, other] = factor @ joint[parent, other]
                joint[other, name] = joint[name, other].T
        joint[name, name] = factor @ joint[parent, parent] @ factor.T + noise
    mean = np.concatenate([means[name] for name in seen])
    cov = np.block([[joint[a, b] for b in seen] for a in seen])
    inner = mean.T @ np.linalg.solve(cov, mean)
    root = sensitivity_root(SLANTED)
    return math.sqrt(float(np.linalg.eigvalsh(root.T @ inner @ root)[-1]))


def test_trees_cost_what_their_joint_law_says() -> None:
    branches = {
        "stem": Branch(None, 0.5),
        "left": Branch("stem", 0.4),
        "right": Branch("stem", 1.0),
        "leaf": Branch("left", 0.3),
        "other": Branch(None, 0.8),
    }
    tree = BranchedRelease(SLANTED, branches)
    for seen in (
        ["stem"],
        ["left"],
        ["left", "right"],
        ["leaf", "right"],
        ["leaf", "right", "other"],
        ["stem", "leaf", "other"],
        list(branches),
    ):
        exact, claimed = tree_by_steps(branches, seen), tree.coalition(seen).mu
        assert exact * (1.0 - 1e-10) <= claimed <= exact * (1.0 + 1e-6)
    drawn = tree.publish([1.0, 0.5])
    assert set(drawn.reader("left").points) == {"left", "leaf"}


def test_a_path_costs_its_earliest_level_and_is_published_in_any_order() -> None:
    levels = NestedRelease.for_mu(SLANTED, {"team": 0.5, "public": 0.1})
    assert levels.coalition(["team", "public"]).mu == levels.guarantee("team").mu <= 0.5
    assert 0.0999 < levels.guarantee("public").mu <= 0.1
    path = levels.open([1.0, 0.5], seed_voids_privacy=3)
    strict = path.publish("public")
    loose = path.publish("team")
    assert not np.array_equal(strict, loose)
    assert np.array_equal(path.publish("public"), strict)
    assert set(path.reader("public").points) == {"public"}
    # the joint law is that of one path: later minus its mean given earlier is fresh noise
    pairs = [levels.open([1.0, 0.5], seed_voids_privacy=s) for s in range(1500)]
    early = np.array([p.publish("team") for p in pairs]) - [1.0, 0.0]
    late = np.array([p.publish("public") for p in pairs]) - [1.0, 0.0]
    span = levels.levels["public"] - levels.levels["team"]
    factor, noise = law_of(replace(SLANTED, time=span))
    left = late - early @ factor.T
    assert np.allclose(np.cov(left.T), noise, rtol=0.3, atol=0.15 * float(np.abs(noise).max()))
    assert np.allclose(left.T @ early / 1500, 0.0, atol=0.3 * math.sqrt(float(noise.max())))
