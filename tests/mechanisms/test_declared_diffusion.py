"""Diffusions of one's own against exact laws of their chains, written down by hand."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import wane
from trust.documents import valid
from wane.certificates import certificate_document
from wane.describe.declared_diffusion import DeclaredDiffusion, Walls
from wane.describe.fields import description_from_fields, description_to_fields
from wane.documents import check_document
from wane.errors import InvalidDescription, NoTheoremApplies, Unreachable, WaneError
from wane.mechanisms import DiffusionMechanism, NestedRelease, Outside

TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def described(**changes):
    known = {
        "drift": lambda x: -x,
        "sensitivity": 0.5,
        "time": 1.0,
        "steps": 7,
        "drift_lipschitz": 1.0,
        "adjacency": "zero-out",
    }
    return DiffusionMechanism(**{**known, **changes})


def linear_mu(matrix, *, distance, eta, steps, spread=1.0):
    """The exact mu of the chain of the drift `matrix x`, over all directions of the difference."""
    size = len(matrix)
    once, shift, noise = np.eye(size) + eta * matrix, np.eye(size), np.zeros((size, size))
    for _ in range(steps):
        shift = once @ shift
        noise = once @ noise @ once.T + 2 * eta * spread**2 * np.eye(size)
    inner = shift.T @ np.linalg.solve(noise, shift)
    return distance * math.sqrt(float(np.linalg.eigvalsh(inner)[-1]))


@pytest.mark.parametrize("slope", [-1.0, -0.3, 0.0, 0.7, 9.0])
def test_linear_drifts_on_the_line_meet_the_claim(slope):
    made = described(
        drift=lambda x: -slope * x,
        drift_lipschitz=abs(slope),
        drift_contraction=slope,
        spread=0.8,
    )
    exact = linear_mu(np.array([[-slope]]), distance=0.5, eta=1 / 7, steps=7, spread=0.8)
    assert exact <= made.guarantee.mu <= exact * (1 + 1e-5) + 1e-6


def test_linear_gradients_in_space_lie_below_the_claim_and_meet_it_along_one_direction():
    rng, nearest = np.random.default_rng(0), 0.0
    for _ in range(40):
        size, steps = int(rng.integers(2, 5)), int(rng.integers(1, 9))
        axes, _ = np.linalg.qr(rng.normal(size=(size, size)))
        curves = np.sort(rng.uniform(-1.0, 3.0, size))
        matrix = -(axes * curves) @ axes.T
        made = described(
            drift=lambda x, matrix=matrix: matrix @ x,
            dimension=size,
            time=0.2 * steps,
            steps=steps,
            drift_lipschitz=float(np.abs(curves).max()) * (1 + 1e-12),
            drift_contraction=max(float(curves[0]) - 1e-9, -float(np.abs(curves).max())),
            drift_is_gradient=True,
        )
        exact = linear_mu(matrix, distance=0.5, eta=0.2, steps=steps)
        assert exact <= made.guarantee.mu
        nearest = max(nearest, exact / made.guarantee.mu)
    assert nearest > 0.9999


@pytest.mark.parametrize(("kappa", "slope"), [(0.0, 1.0), (0.5, 2.0), (-0.4, 0.9), (1.0, 1.0)])
def test_turning_drifts_meet_the_claim_and_are_no_gradients(kappa, slope):
    matrix = -kappa * np.eye(2) + math.sqrt(slope**2 - kappa**2) * TURN
    known = {"drift_lipschitz": slope * (1 + 1e-15), "drift_contraction": kappa, "dimension": 2}
    made = described(drift=lambda x: matrix @ x, **known)
    exact = linear_mu(matrix, distance=0.5, eta=1 / 7, steps=7)
    assert exact * (1 - 1e-9) <= made.guarantee.mu <= exact * (1 + 1e-5)
    if kappa < slope:  # what the constant of a gradient would claim of it is false
        called = DeclaredDiffusion(
            sensitivity=0.5, time=1.0, steps=7, drift_at_centre=0.0, drift_is_gradient=True, **known
        )
        assert called.guarantee.mu < exact * 0.99
        with pytest.raises(InvalidDescription, match="drift_is_gradient must be False"):
            described(drift=lambda x: matrix @ x, drift_is_gradient=True, **known)


def stepped(nodes, means, std, ends, walls):
    """Laws on nodes of a fine grid after one noisy step that is kept in an interval."""
    cell, (low, high) = nodes[1] - nodes[0], ends
    if walls is Walls.PROJECT:  # what leaves stays at the ends
        edges = np.concatenate([[-np.inf], (nodes[1:] + nodes[:-1]) / 2, [np.inf]])
        return np.diff(stats.norm.cdf(edges[None, :], means[:, None], std), axis=1)
    density, width = 0.0, high - low
    for k in range(-6, 7):
        for image in (nodes + 2 * k * width, 2 * low - nodes + 2 * k * width):
            density = density + stats.norm.pdf(image[None, :], means[:, None], std)
    return density * cell


@pytest.mark.parametrize("walls", list(Walls))
@pytest.mark.parametrize("kind", ["sine", "kinked", "outwards"])
def test_chains_of_curved_drifts_on_a_grid_are_never_above_the_claim(walls, kind):
    drift, slope, kappa = {
        "sine": (lambda x: -np.sin(x), 1.0, None),
        "kinked": (lambda x: -2.0 * np.minimum(x, 0.3), 2.0, 0.0),
        "outwards": (lambda x: 0.5 * x + 0.4, 0.5, -0.5),
    }[kind]
    low, high, steps, eta = -1.5, 2.0, 5, 0.1
    made = described(
        drift=drift,
        low=low,
        high=high,
        walls=walls.value,
        sensitivity=0.7,
        time=steps * eta,
        steps=steps,
        drift_lipschitz=slope,
        drift_contraction=kappa,
    )
    nodes = np.linspace(low, high, 701)
    once = stepped(nodes, nodes + eta * drift(nodes), math.sqrt(2 * eta), (low, high), walls)
    once /= once.sum(axis=1, keepdims=True)
    law = np.linalg.matrix_power(once, steps)
    worst = 0.0
    for epsilon in (0.0, 0.3, 1.0):
        away = np.maximum(law[:-140] - math.exp(epsilon) * law[140:], 0).sum(axis=1).max()
        back = np.maximum(law[140:] - math.exp(epsilon) * law[:-140], 0).sum(axis=1).max()
        claim = made.guarantee.delta(epsilon)
        assert max(away, back) <= claim + 1e-5
        worst = max(worst, max(away, back) / claim)
    assert worst > 0.4


def images(std, x, y):
    """The density of reflected Brownian motion on [0, 1]."""
    n = np.arange(-30, 31)[:, None]
    return sum(stats.norm.pdf(y - s * x - 2 * n, scale=std) for s in (1, -1)).sum(axis=0)


@pytest.mark.parametrize(("time", "sensitivity"), [(0.1, 1.0), (0.05, 0.3), (0.5, 0.2)])
def test_pure_levels_of_free_motion_are_nearly_exact(time, sensitivity):
    made = described(
        drift=np.zeros_like,
        drift_lipschitz=0.0,
        low=0.0,
        high=1.0,
        time=time,
        sensitivity=sensitivity,
        steps=3,
    ).tabulated(400)
    y, starts = np.linspace(0.0, 1.0, 201), np.linspace(0.0, 1.0 - sensitivity, 41)
    std = math.sqrt(2 * time)
    exact = max(
        np.abs(np.log(images(std, x, y) / images(std, x + sensitivity, y))).max() for x in starts
    )
    claim = wane.certify(made).epsilon(0.0)
    assert exact <= claim <= exact * 1.1


@pytest.mark.parametrize("wild", [False, True])
def test_pure_levels_hold_for_drifts_that_differ_between_the_nodes(wild):
    """A fine grid knows the drift everywhere; the claim knows it at nodes, and its slope."""
    cells, slope, steps, low, high = 100, 1.0, 6, -1.0, 1.0
    gap = (high - low) / cells

    def drift(x):
        return 0.5 * gap - np.abs((x - low) % gap - 0.5 * gap) if wild else -np.sin(x)

    made = described(
        drift=drift,
        low=low,
        high=high,
        sensitivity=0.4,
        time=0.6,
        steps=steps,
        drift_lipschitz=slope * (1 + 1e-9),
    ).tabulated(cells)
    assert not wild or np.abs(made.drift_values).max() < 1e-12
    nodes = low + (high - low) * (np.arange(1000) + 0.5) / 1000
    std = math.sqrt(0.2)
    once = stepped(nodes, nodes + 0.1 * drift(nodes), std, (low, high), Walls.REFLECT)
    law = np.linalg.matrix_power(once, steps)
    exact = float(np.abs(np.log(law[:-200] / law[200:])).max())
    claim = wane.certify(made).epsilon(0.0)
    assert exact <= claim <= exact * 1.25


def test_a_pure_certificate_is_verified_and_its_half_is_not():
    made = described(
        drift=np.cos, low=0.0, high=2.0, steps=4, drift_lipschitz=1.0, sensitivity=0.4
    ).tabulated(80)
    found = wane.certify(made)
    assert found.best().theorem.name == "reflected_chain"
    document = json.loads(json.dumps(certificate_document(found, delta=1e-6)))
    valid(document)
    assert check_document(document).verified
    assert not check_document(document | {"epsilon": document["epsilon"] * 0.999}).verified
    other = json.loads(json.dumps(document))
    other["description"]["drift_values"][3] += 1e-3
    assert not check_document(other).verified


def test_cells_that_hide_the_density_are_refused():
    made = described(low=-3.0, high=3.0, steps=64).tabulated(12)
    (refusal,) = wane.certify(made).obstacles
    assert refusal.theorem.name == "reflected_chain"
    assert "more cells" in refusal.obstacles[0].complaint


def test_what_is_written_is_certified_alike_and_cannot_be_drawn():
    made = described(
        drift=lambda x: -x, low=(-2.0, -1.0), high=2.0, dimension=2, walls="project", spread=0.5
    )
    fields = json.loads(json.dumps(description_to_fields(made)))
    again = description_from_fields(fields)
    assert description_to_fields(again) == fields
    assert wane.certify(again).mu == wane.certify(made).mu
    with pytest.raises(InvalidDescription, match="drift must be given to release"):
        wane.release(again, [0.0, 0.0])


def test_a_spread_that_is_a_function_is_written_as_its_number():
    made = described(low=-2.0, high=2.0, spread=lambda x: 0 * x + 0.5, spread_lipschitz=0.0)
    same = described(low=-2.0, high=2.0, spread=0.5)
    assert made.to_fields() == same.to_fields()
    assert made.guarantee == same.guarantee
    varying = described(low=-2.0, high=2.0, spread=np.exp, spread_lipschitz=8.0)
    for call in (varying.to_fields, lambda: varying.release(0.0)):
        with pytest.raises(InvalidDescription, match="constant"):
            call()
    with pytest.raises(NoTheoremApplies, match="same wherever"):
        wane.certify(varying).epsilon(1e-6)


def test_releases_in_the_plane_follow_their_law():
    matrix = -0.5 * np.eye(2) + TURN
    made = described(
        drift=lambda x: matrix @ x, dimension=2, drift_lipschitz=1.2, drift_contraction=0.5
    )
    once, mean, variance = np.eye(2) + matrix / 7, np.array([3.0, -1.0]), 0.0
    for _ in range(7):  # a turn keeps the noise round
        mean, variance = once @ mean, np.linalg.det(once) * variance + 2 / 7
    drawn = np.array([made.release([3.0, -1.0], seed_voids_privacy=seed) for seed in range(600)])
    for place in (0, 1):
        away = (drawn[:, place] - mean[place]) / math.sqrt(variance)
        assert stats.kstest(away, "norm").pvalue > 1e-3
    assert made.release([[3.0], [-1.0]]).shape == (2, 1)


@pytest.mark.parametrize("walls", list(Walls))
def test_positions_stay_in_the_box(walls):
    seen = []

    def drift(x):
        seen.append(x.copy())
        return 3.0 * np.ones(2)

    made = described(
        drift=drift, low=(0.0, -1.0), high=(1.0, 1.0), walls=walls, drift_lipschitz=0.0
    )
    seen.clear()
    drawn = [made.release([0.5, 0.0], seed_voids_privacy=seed) for seed in range(50)]
    for points in (np.array(seen), np.array(drawn)):
        assert np.all((points >= [0.0, -1.0]) & (points <= [1.0, 1.0]))
    at_faces = np.mean(np.isin(np.array(drawn)[:, 0], (0.0, 1.0)))
    assert at_faces > 0.5 if walls is Walls.PROJECT else at_faces < 0.1


def test_two_statistics_of_a_box_are_no_farther_apart_than_its_corners():
    known = {"low": (0.0, 0.0), "high": (0.3, 0.4)}
    far, near = described(sensitivity=9.0, **known), described(sensitivity=0.5, **known)
    assert near.guarantee.mu == pytest.approx(far.guarantee.mu, rel=1e-12)


def test_times_meet_their_target_in_whole_steps():
    made = described(drift_contraction=1.0, steps=10)
    for target in ({"mu": 0.05}, {"epsilon": 0.3, "delta": 1e-6}):
        time = made.time_for(**target)
        shown, before = made.at(time), made.at(time - made.step_size)
        assert shown.steps == round(time * 10) and shown.guarantee.mu == made.mu_at(time)
        if "mu" in target:
            assert shown.guarantee.mu <= 0.05 < before.guarantee.mu
        else:
            assert shown.guarantee.delta(0.3) <= 1e-6 < before.guarantee.delta(0.3)
    with pytest.raises(Unreachable, match="is not met within"):
        described(drift_contraction=-1.0).time_for(0.1)


def test_a_tabulated_drift_meets_an_epsilon_without_a_delta():
    """By its constants alone it cannot: a drift that may push apart forgets too little."""
    made = described(drift=lambda y: -np.sin(y), low=-2.0, high=2.0, sensitivity=0.3, steps=16)
    with pytest.raises(Unreachable):
        made.time_for(epsilon=0.6, delta=1e-6)
    table = made.tabulated(200)
    times = [table.time_for(epsilon=0.6, delta=delta) for delta in (1e-6, 0.0)]
    assert times[0] == times[1]
    assert wane.certify(table.at(times[0])).epsilon(0.0) <= 0.6
    assert wane.certify(table.at(times[0] - table.step_size)).epsilon(0.0) > 0.6
    assert table.time_for(mu=0.5) == made.time_for(mu=0.5)
    assert table.time_for(epsilon=9.0, delta=0.1) <= made.time_for(epsilon=9.0, delta=0.1)
    with pytest.raises(Unreachable):
        table.time_for(epsilon=1e-3, delta=1e-6)
    for epsilon in (math.nan, -1.0):
        with pytest.raises(InvalidDescription, match="epsilon"):
            table.time_for(epsilon=epsilon, delta=0.0)
    with pytest.raises(InvalidDescription, match="delta"):
        table.time_for(epsilon=0.6, delta=2.0)


def test_levels_along_one_path_cost_the_earliest():
    made = described(drift_contraction=1.0)
    levels = NestedRelease.for_mu(made, {"team": 0.3, "everybody": 0.05})
    assert levels.coalition(["team", "everybody"]).mu == levels.guarantee("team").mu <= 0.3
    found = wane.release(levels, [0.4])
    assert set(found.value) == {"team", "everybody"}
    document = json.loads(json.dumps(certificate_document(found.certificate, delta=1e-6)))
    assert check_document(document).verified


@pytest.mark.parametrize(
    ("statistic", "said"),
    [
        ([0.0, 0.0, 0.0], "2 entries"),
        ([0.0, math.nan], "finite"),
        ([[0.0], [0.0, 1.0]], "equal length"),
        ("text", "finite real numbers"),
        ([0.0, 1.5], "between low and high.*PROJECT"),
    ],
)
def test_bad_statistics_are_refused_by_name(statistic, said):
    made = described(low=-1.0, high=1.0, dimension=2)
    with pytest.raises(InvalidDescription, match=f"^statistic must .*{said}"):
        made.release(statistic)


def test_far_statistics():
    boxed = described(low=-1.0, high=1.0, dimension=2)
    assert np.all(np.abs(boxed.release([5.0, 0.0], outside=Outside.PROJECT)) <= 1.0)
    free = described(dimension=2)
    with pytest.raises(InvalidDescription, match="subtract a public number"):
        free.release([1e9, 0.0])
    with pytest.raises(InvalidDescription, match=r"^outside must"):
        free.release([0.0, 0.0], outside="project")


def test_a_drift_that_breaks_while_it_runs_says_nothing_of_the_data():
    made = described(drift=lambda x: np.where(np.abs(x) > 50.0, np.nan, -x))
    with pytest.raises(InvalidDescription) as refusal:
        made.release([60.0])
    assert "60" not in str(refusal.value) and "keep this message" in str(refusal.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"low": 0.0},
        {"low": 1.0, "high": 1.0},
        {"low": (0.0, 0.0), "high": (1.0, -1.0)},
        {"low": (0.0, 0.0), "high": (1.0, 1.0, 1.0)},
        {"low": -1.0, "high": "one"},
        {"dimension": 0},
        {"walls": "mirrors"},
        {"spread": -1.0},
        {"spread": np.ones_like},
        {"drift_is_gradient": 1},
        {"drift": None},
        {"drift_at_centre": -1.0},
        {"drift_at_centre": 0.5, "drift": lambda x: 1.0 - x},
        {"drift": lambda x: x[:, 0], "dimension": 2},
        {"drift": lambda x: "text"},
        {"drift": lambda x: -2.0 * x, "dimension": 2},
        {"drift": lambda x: -0.1 * x, "dimension": 2, "drift_contraction": 0.5},
        {"drift": lambda x: -2.0 * x},
        {"drift_values": (0.0, 0.1, 0.0)},
        {"drift_values": (0.0, 9.0, 0.0), "low": -1.0, "high": 1.0},
        {"drift_values": (0.0, 0.1), "low": -1.0, "high": 1.0},
        {"drift_values": (0.1, 0.0, 0.1), "drift_contraction": 0.0, "low": -1.0, "high": 1.0},
        {"drift_values": (0.0, 0.1, 0.0), "low": -1.0, "high": 1.0, "walls": "project"},
        {"steps": 10**7},
    ],
)
def test_bad_descriptions_are_refused_in_one_line(changes):
    with pytest.raises(WaneError) as refusal:
        described(**changes).guarantee  # noqa: B018
    assert "\n" not in str(refusal.value) and " must " in str(refusal.value)


def test_what_cannot_be_estimated_or_tabulated_is_refused():
    for made in (described(), described(low=-1.0, high=1.0, walls="project")):
        with pytest.raises(NoTheoremApplies, match="interval with mirrors"):
            made.estimated_renyi(2.0)
    with pytest.raises(InvalidDescription, match="ends of an interval"):
        described().tabulated()
    with pytest.raises(InvalidDescription, match="drift must be given"):
        replace(DeclaredDiffusion(sensitivity=1.0, time=1.0, low=0.0, high=1.0)).tabulated()


def test_trees_and_laws_are_refused_with_a_cure():
    made = described()
    tree = wane.mechanisms.BranchedRelease(made, {"a": wane.mechanisms.Branch(None, 1.0)})
    with pytest.raises(InvalidDescription, match="publish one path"):
        tree.guarantee("a")
    with pytest.raises(InvalidDescription, match="known law"):
        made.law([0.0])


def test_constants_that_nobody_declared_are_not_assumed():
    for missing in ({"drift_lipschitz": None}, {"drift_at_centre": None}):
        known = {"drift_lipschitz": 1.0, "drift_at_centre": 0.0} | missing
        made = DeclaredDiffusion(sensitivity=1.0, time=1.0, adjacency="zero-out", **known)
        with pytest.raises(NoTheoremApplies, match=next(iter(missing))):
            wane.certify(made).epsilon(1e-6)
        with pytest.raises(NoTheoremApplies, match="must be declared"):
            made.guarantee  # noqa: B018
