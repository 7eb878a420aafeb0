"""Descent-ascent against exact laws: matrices followed by hand, and a chain on an interval."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import wane
from trust.documents import valid
from wane import InvalidDescription, NoTheoremApplies
from wane.certificates import certificate_document
from wane.cli import main
from wane.describe.fields import description_from_fields, description_to_fields
from wane.documents import check_document
from wane.modulus import NoisyDescentAscent, best_path, descent_ascent

GAME = NoisyDescentAscent(
    gradient_bound=1.0,
    smoothness=1.0,
    records=1000,
    steps=2000,
    step_size=0.05,
    noise_std=0.05,
    diameter=0.02,
)
SHIFT = 2.0 / 1000 * 0.05


def exact_mu(field: np.ndarray, run: NoisyDescentAscent, moved: np.ndarray) -> float:
    """mu of the last z of z' = z - eta (J z + b + Z) against b + moved: two Gaussian laws."""
    size = len(field)
    step = np.eye(size) - run.step_size * field
    mean, covariance = np.zeros(size), np.zeros((size, size))
    for _ in range(run.steps):
        mean = step @ mean + run.step_size * moved
        covariance = step @ covariance @ step.T
        covariance += (run.step_size * run.noise_std) ** 2 * np.eye(size)
    return float(np.sqrt(mean @ np.linalg.solve(covariance, mean)))


def monotone(rng: np.random.Generator, size: int) -> np.ndarray:
    """The field's matrix of (x'Px)/2 + x'By - (y'Qy)/2: P and Q positive, B anything."""
    P, Q = (rng.normal(size=(size, size)) for _ in range(2))
    B = rng.normal(size=(size, size)) * 10.0 ** rng.uniform(-2.0, 1.0)
    scale = 10.0 ** rng.uniform(-3.0, 0.0)
    return np.block([[scale * P @ P.T, B], [-B.T, scale * Q @ Q.T]])


def declared(field: np.ndarray, moved: float, **chosen: float) -> NoisyDescentAscent:
    """The constants of this field, from the definitions."""
    return NoisyDescentAscent(
        gradient_difference_bound=moved * chosen["records"],
        smoothness=float(np.linalg.norm(field, 2)) * (1.0 + 1e-12),
        strong_monotonicity=float(np.linalg.eigvalsh((field + field.T) / 2.0)[0]) * (1.0 - 1e-12),
        **chosen,
    )


@pytest.mark.parametrize("seed", range(60))
def test_no_linear_game_leaks_more_than_is_claimed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    field = monotone(rng, int(rng.integers(1, 4)))
    moved = rng.normal(size=len(field))
    run = declared(
        field,
        float(np.linalg.norm(moved)),
        records=int(rng.integers(1, 50)),
        steps=int(rng.integers(1, 60)),
        step_size=float(10.0 ** rng.uniform(-2.0, 0.3) / np.linalg.norm(field, 2)),
        noise_std=float(10.0 ** rng.uniform(-1.0, 1.0)),
    )
    assert wane.certify(run).mu >= exact_mu(field, run, moved) * (1.0 - 1e-9)


@pytest.mark.parametrize("steps", [1, 2, 7, 300])
@pytest.mark.parametrize("pull", [0.1, 0.7, 1.0])
def test_a_quadratic_game_attains_the_number(steps: int, pull: float) -> None:
    """f = (m/2)|x|^2 - (m/2)|y|^2: nothing is claimed beyond what leaks."""
    field = pull * np.eye(4)
    chosen = {"records": 10, "steps": steps, "step_size": 0.9, "noise_std": 0.5}
    run = declared(field, 0.2, **chosen)
    exact = exact_mu(field, run, np.array([0.0, 0.2, 0.0, 0.0]))
    assert exact * (1.0 - 1e-12) <= wane.certify(run).mu <= exact * (1.0 + 1e-9)


def test_a_bilinear_game_attains_one_step_and_stays_below_many() -> None:
    """f = x y: a quarter turn, which drives points apart; its shift turns as well."""
    field = np.array([[0.0, 1.0], [-1.0, 0.0]])
    for steps in (1, 2, 40):
        run = declared(field, 0.1, records=5, steps=steps, step_size=0.3, noise_std=1.0)
        exact = exact_mu(field, run, np.array([0.1, 0.0]))
        claimed = wane.certify(run).mu
        assert claimed >= exact * (1.0 - 1e-12)
        assert (claimed <= exact * (1.0 + 1e-9)) == (steps == 1)


def test_fields_that_are_constant_attain_composition() -> None:
    """Linear functions: nothing fades, and every step adds to what is known."""
    run = replace(GAME, smoothness=0.0, diameter=math.inf, steps=50)
    exact = exact_mu(np.zeros((2, 2)), run, np.array([2.0 / 1000, 0.0]))
    assert exact * (1.0 - 1e-12) <= wane.certify(run).mu <= exact * (1.0 + 1e-9)


def walls(run: NoisyDescentAscent, drift: float, cells: int) -> np.ndarray:
    """The law of x' = clip(x - eta (drift + Z)) on an interval of the run's diameter, from 0."""
    half, std = run.diameter / 2.0, run.step_size * run.noise_std
    edges = np.linspace(-half, half, cells + 1)
    middles = (edges[1:] + edges[:-1]) / 2.0
    points = np.concatenate([[-half], middles, [half]])
    borders = np.concatenate([[-np.inf], edges, [np.inf]])
    kernel = np.diff(stats.norm.cdf((borders - (points - run.step_size * drift)[:, None]) / std))
    law = np.zeros(cells + 2)
    law[(cells + 1) // 2] = 1.0  # the middle of an odd number of cells
    return law @ np.linalg.matrix_power(kernel, run.steps)


@pytest.mark.parametrize("steps", [3, 30, 300])
def test_no_game_between_walls_leaks_more_than_is_claimed(steps: int) -> None:
    """f = +-c x whatever y is, on an interval: a bounded set, followed cell by cell."""
    run = NoisyDescentAscent(
        gradient_bound=1.0,
        smoothness=0.0,
        records=2,
        steps=steps,
        step_size=0.1,
        noise_std=1.0,
        diameter=0.4,
    )
    p, q = (walls(run, drift, 401) for drift in (0.0, 1.0))  # one of two records changes its sign
    certificate = wane.certify(run)
    for epsilon in (0.0, 1.0, 3.0):
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())
        assert certificate.delta(epsilon) >= exact - 1e-6
    exact = float(np.maximum(p - q, 0.0).sum())
    assert certificate.delta(0.0) <= 1.7 * exact  # so that half of it would be noticed


def test_the_programme_is_that_of_a_path() -> None:
    """`best_path` searches the same programme on grids, and finds no less."""
    for run in (
        replace(GAME, steps=300),
        replace(GAME, steps=300, strong_monotonicity=0.9),
        replace(GAME, steps=40, smoothness=30.0, diameter=0.001),
    ):
        path = best_path(
            modulus=descent_ascent(
                run.step_size,
                smoothness=run.smoothness,
                change=2.0,
                strong_monotonicity=run.strong_monotonicity,
            ),
            shifts=[SHIFT] * run.steps,
            noise_stds=[run.step_size * run.noise_std] * run.steps,
            distance=0.0,
            diameter=run.diameter,
        )
        assert path.mu * 0.999 <= wane.certify(run).mu <= path.mu * (1.0 + 1e-6)


def test_both_bounds_of_the_field_count() -> None:
    """Far apart the bound, near by the smoothness: together less than either alone.

    With a million records the shift is next to nothing, and what is left is the sheet's value
    for D = 100, 2 eta L = 0.2, eta beta = 0.01.
    """
    wide = NoisyDescentAscent(
        gradient_bound=0.1,
        smoothness=0.01,
        records=1000,
        steps=10**13,
        step_size=1.0,
        noise_std=1.0,
        diameter=100.0,
    )
    only_smooth = replace(wide, gradient_bound=None, gradient_difference_bound=0.2)
    others = [wane.certify(run).mu for run in (replace(wide, smoothness=None), only_smooth)]
    assert wane.certify(wide).mu < 0.65 * min(others)
    limit = wane.certify(replace(wide, records=10**6)).mu
    assert limit == pytest.approx(math.sqrt(0.168753113), rel=1e-3)
    assert wane.certify(GAME).mu < 0.7 * math.sqrt(GAME.steps) * (2.0 / 1000) / 0.05


def test_long_runs_level_off_in_a_bounded_set() -> None:
    """No limit on steps: the programme is solved by stretches."""
    short, long = (wane.certify(replace(GAME, steps=steps)).mu for steps in (10**5, 10**14))
    assert short == pytest.approx(long, rel=1e-6) and long < 1.25
    free = replace(GAME, diameter=math.inf, steps=10**9)
    composed = math.sqrt(10**9) * (2.0 / 1000) / 0.05
    assert composed <= wane.certify(free).mu <= composed * (1.0 + 1e-9)


@pytest.mark.parametrize("adjacency", ["zero-out", "add-remove"])
def test_what_bounds_one_record_depends_on_the_adjacency(adjacency: str) -> None:
    run = replace(GAME, steps=1, adjacency=adjacency)
    assert wane.certify(run).mu == pytest.approx((1.0 / 1000) / 0.05)
    differing = replace(run, gradient_bound=None, gradient_difference_bound=1.0)
    with pytest.raises(NoTheoremApplies, match="length of a field"):
        _ = wane.certify(differing).mu
    assert wane.certify(replace(differing, adjacency="replace-one")).mu > 0.0
    with pytest.raises(NoTheoremApplies, match="bound on the fields"):
        _ = wane.certify(replace(GAME, gradient_bound=None)).mu


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batches": "cyclic:10"}, "batches must be FullBatch"),
        ({"batches": 3}, "batches must be"),
        ({"strong_monotonicity": 1.1}, "strong_monotonicity must be at most smoothness"),
        ({"strong_monotonicity": 0.9, "diameter": 3.0}, "strong_monotonicity times diameter"),
        ({"strong_monotonicity": 0.9, "diameter": math.inf}, "strong_monotonicity times diameter"),
        ({"strong_monotonicity": -0.1}, "strong_monotonicity"),
        ({"smoothness": -1.0}, "smoothness must be"),
        ({"gradient_bound": 0.0}, "gradient_bound must be"),
        ({"noise_std": 0.0}, "noise_std must be"),
        ({"diameter": 0.0}, "diameter must be"),
        ({"records": 0}, "records must be"),
        ({"steps": 1.5}, "steps must be"),
        ({"adjacency": "nobody"}, "adjacency must be"),
    ],
)
def test_bad_games_are_refused(change: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidDescription, match=words):
        replace(GAME, **change)
    assert replace(GAME, strong_monotonicity=1.0)  # just inside: m = M, m D <= 2 C


def test_numbers_that_leave_the_doubles_are_refused() -> None:
    for change in ({"gradient_bound": 1e200}, {"noise_std": 1e300}, {"step_size": 1e308}):
        with pytest.raises(NoTheoremApplies, match="floating-point"):
            _ = wane.certify(replace(GAME, **change)).mu
    small = replace(GAME, gradient_bound=1e-170, noise_std=1e-145, steps=1, diameter=math.inf)
    assert wane.certify(small).mu == pytest.approx(2e-28)


def test_documents_hold_what_was_declared_and_are_verified() -> None:
    for run in (GAME, replace(GAME, adjacency="zero-out", smoothness=None, steps=10**7)):
        fields = json.loads(json.dumps(description_to_fields(run)))
        assert fields["batches"] == {"kind": "full"}
        assert description_from_fields(fields) == run
        made = json.loads(json.dumps(certificate_document(wane.certify(run), delta=1e-6)))
        valid(made)
        assert check_document(made).verified
        assert not check_document(made | {"mu": made["mu"] * (1.0 - 1e-4)}).verified
    with pytest.raises(InvalidDescription, match=r"batches must be FullBatch\(\)"):
        description_from_fields(fields | {"batches": {"kind": "poisson", "size": 3}})
    with pytest.raises(InvalidDescription, match="keys that wane writes"):
        description_from_fields(fields | {"ridge": 1.0})


def test_a_game_is_calibrated_over_noise_and_steps() -> None:
    noise = wane.calibrate(GAME, mu=1.0)
    assert noise.value == noise.run.noise_std and noise.certificate.mu <= 1.0
    assert wane.certify(replace(GAME, noise_std=noise.value * 0.999)).mu > 1.0
    steps = wane.calibrate(GAME, epsilon=4.0, delta=1e-5, over="steps")
    assert steps.reached <= 4.0
    assert wane.certify(replace(GAME, steps=int(steps.value) + 1)).epsilon(1e-5) > 4.0
    with pytest.raises(InvalidDescription, match="over must be noise or steps"):
        wane.calibrate(GAME, mu=1.0, over="step-size")
    with pytest.raises(InvalidDescription, match="run must be one of"):
        wane.calibrate(wane.mechanisms.BrownianMechanism(sensitivity=1.0, time=1.0), mu=1.0)


def test_commands_read_a_game(tmp_path, capsys) -> None:
    """Certify, explain, calibrate, curve and verify, as for any run."""
    place = tmp_path / "game.json"
    place.write_text(json.dumps(description_to_fields(GAME)))
    page = tmp_path / "game.html"
    assert main(["certify", str(place), "--json", "--page", str(page)]) == 0
    written = tmp_path / "certificate.json"
    written.write_text(capsys.readouterr().out)
    assert main(["verify", str(written)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "averages over them" in text and "strong_monotonicity" in text
    assert main(["explain", str(place)]) == 0
    assert "saddle_last_iterate" in capsys.readouterr().out
    assert main(["calibrate", str(place), "--mu", "1", "--over", "noise", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mu"] <= 1.0
    assert main(["curve", str(place), "--from", "1", "--to", "9", "--points", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["epsilon"][0] > 0.0


def test_several_records_cost_no_more_than_their_shift() -> None:
    """A group of k moves a step k times as far."""
    one = replace(GAME, gradient_difference_bound=2.0, gradient_bound=None)
    three = replace(one, gradient_difference_bound=6.0)
    assert wane.certify(three).mu <= wane.certify(one).group(3).mu * (1.0 + 1e-9)
