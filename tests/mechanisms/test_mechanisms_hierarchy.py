"""Several levels of privacy: paths, trees, coalitions, readers."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from wane.errors import InvalidDescription
from wane.mechanisms import (
    Branch,
    BranchedRelease,
    BrownianMechanism,
    NestedRelease,
    OrnsteinUhlenbeckMechanism,
)
from wane.run.hierarchies import bridge

EXACT = 1e-12
DRAWS = 1_000_000
FIVE_SIGMA = 5.0


def random_process(rng):
    known = {"sensitivity": float(rng.uniform(0.1, 3)), "time": 0.01}
    spread = float(rng.uniform(0.2, 3))
    if rng.random() < 0.3:
        return BrownianMechanism(diffusion_scale=spread, **known)
    return OrnsteinUhlenbeckMechanism(
        diffusion_scale=spread, reversion=float(10 ** rng.uniform(-3, 0.7)), **known
    )


def exact_mu(process, times, shared):
    """sensitivity * sqrt(m' S^-1 m) of the joint Gaussian law, in fifty digits."""
    with mpmath.workdps(50):
        theta = mpmath.mpf(getattr(process, "reversion", 0.0))
        rho = mpmath.mpf(process.diffusion_scale)

        def variance(t):
            t = mpmath.mpf(t)
            if theta == 0:
                return 2 * rho**2 * t
            return -(rho**2) * mpmath.expm1(-2 * theta * t) / theta

        n = len(times)
        mean = mpmath.matrix([mpmath.exp(-theta * mpmath.mpf(t)) for t in times])
        cov = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                s = mpmath.mpf(shared[i][j])
                gap = mpmath.mpf(times[i]) + mpmath.mpf(times[j]) - 2 * s
                cov[i, j] = mpmath.exp(-theta * gap) * variance(s)
        return mpmath.mpf(process.sensitivity) * mpmath.sqrt(
            (mean.T * mpmath.lu_solve(cov, mean))[0]
        )


def test_coalitions_on_paths_equal_the_joint_gaussian():
    rng = np.random.default_rng(1)
    for _ in range(60):
        process = random_process(rng)
        times = sorted(float(t) for t in rng.uniform(0.02, 3, size=5))
        plan = NestedRelease(process, {f"level {i}": t for i, t in enumerate(times)})
        members = rng.choice(5, size=rng.integers(1, 6), replace=False)
        held = [times[i] for i in members]
        shared = [[min(a, b) for b in held] for a in held]
        truth = exact_mu(process, held, shared)
        found = plan.coalition([f"level {i}" for i in members]).mu
        assert truth * (1 - mpmath.mpf(1e-40)) <= found <= truth * (1 + mpmath.mpf(EXACT))


def random_tree(rng, process, size):
    branches = {}
    for i in range(size):
        parent = None if i == 0 or rng.random() < 0.2 else f"p{rng.integers(0, i)}"
        branches[f"p{i}"] = Branch(parent, float(rng.uniform(0.02, 1.0)))
    return BranchedRelease(process, branches)


def exact_times(plan):
    """Times and shared times in exact arithmetic, as rationals of the durations."""
    times = {}
    for name, (parent, duration) in plan.branches.items():
        times[name] = mpmath.mpf(duration) + (times[parent] if parent else 0)
    return times


def test_coalitions_on_trees_equal_the_joint_gaussian():
    rng = np.random.default_rng(2)
    for _ in range(80):
        process = random_process(rng)
        plan = random_tree(rng, process, 8)
        members = [f"p{i}" for i in rng.choice(8, size=rng.integers(1, 7), replace=False)]
        with mpmath.workdps(50):
            times = exact_times(plan)
            shared = [
                [times.get(plan.common_ancestor([a, b]), mpmath.mpf(0)) for b in members]
                for a in members
            ]
            truth = exact_mu(process, [times[m] for m in members], shared)
        certificate = plan.coalition(members)
        assert truth <= certificate.mu <= truth * (1 + mpmath.mpf(EXACT))
        assert certificate.mu <= plan.ancestor_bound(members) * (1 + EXACT)


def test_a_tree_that_is_a_path_costs_its_earliest_point():
    process = OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=0.5, time=0.1)
    plan = BranchedRelease(
        process, {"a": Branch(None, 0.1), "b": Branch("a", 0.2), "c": Branch("b", 0.3)}
    )
    path = NestedRelease(process, {"a": 0.1, "b": 0.1 + 0.2, "c": 0.1 + 0.2 + 0.3})
    for members in (["a", "b", "c"], ["b", "c"], ["c"]):
        assert plan.coalition(members).mu == pytest.approx(path.coalition(members).mu, rel=EXACT)


def test_branches_cost_more_than_either_and_less_than_their_stem():
    process = OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=0.5, time=0.1)
    many = {"stem": Branch(None, 0.1)} | {f"b{i}": Branch("stem", 0.4) for i in range(40)}
    plan = BranchedRelease(process, many)
    costs = [plan.coalition([f"b{i}" for i in range(k)]).mu for k in (1, 2, 10, 40)]
    assert costs == sorted(costs)
    assert len(set(costs)) == 4
    assert costs[-1] < plan.guarantee("stem").mu
    assert plan.worst_case.mu == pytest.approx(plan.guarantee("stem").mu, rel=EXACT)
    assert plan.ancestor_bound(["b1", "b2"]) == pytest.approx(plan.guarantee("stem").mu, rel=EXACT)


def test_separate_releases_add_up():
    process = BrownianMechanism(sensitivity=1.0, time=0.5)
    plan = BranchedRelease(process, {"one": Branch(None, 0.5), "two": Branch(None, 0.5)})
    assert plan.worst_case.mu == pytest.approx(math.sqrt(2.0), rel=EXACT)
    assert plan.common_ancestor(["one", "two"]) is None
    assert plan.ancestor_bound(["one", "two"]) == math.inf


def three_levels(**changes):
    process = OrnsteinUhlenbeckMechanism(
        sensitivity=1.0, reversion=0.5, diffusion_scale=0.8, time=0.2, **changes
    )
    return NestedRelease(process, {"inner": 0.2, "staff": 0.7, "public": 1.5})


@pytest.mark.parametrize(
    "order",
    [("inner", "staff", "public"), ("public", "staff", "inner"), ("staff", "public", "inner"),
     ("public", "inner", "staff")],
    ids="-".join,
)  # fmt: skip
def test_the_joint_law_does_not_depend_on_the_order_of_publication(order):
    plan = three_levels()
    process, start = plan.mechanism, np.full(DRAWS, 1.2)
    path = plan.open(start, seed_voids_privacy=sum(map(ord, "-".join(order))))
    points = {level: path.publish(level) for level in order}
    times = [plan.levels[name] for name in ("inner", "staff", "public")]
    drawn = np.stack([points[name] for name in ("inner", "staff", "public")])
    mean = np.array([process.decay_after(t) * 1.2 for t in times])
    truth = np.array(
        [
            [process.decay_after(abs(a - b)) * process.variance_after(min(a, b)) for b in times]
            for a in times
        ]
    )
    spread = np.sqrt(np.diag(truth))
    assert np.all(np.abs(drawn.mean(axis=1) - mean) < FIVE_SIGMA * spread / math.sqrt(DRAWS))
    found = np.cov(drawn)
    limits = FIVE_SIGMA * np.sqrt((truth**2 + np.outer(spread**2, spread**2)) / DRAWS)
    assert np.all(np.abs(found - truth) < limits)
    for row, centre, std in zip(drawn, mean, spread, strict=True):
        assert stats.kstest((row - centre) / std, "norm").pvalue > 1e-3


def test_two_orders_of_publication_look_the_same():
    plan = three_levels()
    sums = []
    for seed, order in enumerate((("inner", "public"), ("public", "inner"))):
        path = plan.open(np.zeros(DRAWS), seed_voids_privacy=seed)
        points = {level: path.publish(level) for level in order}
        sums.append(points["inner"] + 2.0 * points["public"])
    assert stats.ks_2samp(*sums, method="asymp").pvalue > 1e-3


def test_bridge_of_brownian_motion():
    process = BrownianMechanism(sensitivity=1.0, time=0.1)
    before, after, variance = bridge(process, 0.3, 0.9)
    assert (before, after) == pytest.approx((0.75, 0.25), rel=1e-14)
    assert variance == pytest.approx(2 * 0.3 * 0.9 / 1.2, rel=1e-14)


def test_readers_see_their_level_and_stricter_ones_only():
    path = three_levels().open([0.3, 0.1], seed_voids_privacy=0)
    for level in ("inner", "staff", "public"):
        path.publish(level)
    seen = {level: set(path.reader(level).points) for level in path.published}
    assert seen == {
        "inner": {"inner", "staff", "public"},
        "staff": {"staff", "public"},
        "public": {"public"},
    }
    reading = path.reader("public")
    assert reading.guarantee == path.plan.guarantee("public")
    assert reading.points["public"].tolist() == path.publish("public").tolist()
    assert "0.3" not in repr(path)
    assert not any("statistic" in name or "path" in name for name in vars(reading))


def test_publishing_twice_gives_the_same_point():
    path = three_levels().open([0.0])
    first = path.publish("staff")
    first[0] = 99.0
    assert path.publish("staff")[0] != 99.0
    assert path.publish("staff").tolist() == path.reader("staff").points["staff"].tolist()


def test_certificates_say_what_was_published():
    plan = three_levels()
    path = plan.open([0.0])
    assert path.guarantee.mu == 0.0
    path.publish("public")
    assert path.guarantee.mu == plan.guarantee("public").mu
    path.publish("inner")
    assert path.guarantee.mu == plan.guarantee("inner").mu == plan.worst_case.mu


def test_levels_from_budgets():
    process = OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=0.5, time=1.0)
    budgets = {"inner": 2.0, "staff": 0.5, "public": 0.1}
    plan = NestedRelease.for_mu(process, budgets)
    for level, mu in budgets.items():
        assert mu * (1 - 1e-9) <= plan.guarantee(level).mu <= mu


def test_tree_readers_see_what_descends_from_them():
    process = BrownianMechanism(sensitivity=1.0, time=0.1)
    plan = BranchedRelease(
        process,
        {"stem": Branch(None, 0.1), "left": Branch("stem", 1.0), "leaf": Branch("left", 1.0),
         "right": Branch("stem", 2.0)},
    )  # fmt: skip
    drawn = plan.publish(np.zeros((2, 2)), seed_voids_privacy=0)
    assert set(drawn.reader("left").points) == {"left", "leaf"}
    assert set(drawn.reader("stem").points) == set(plan.branches)
    assert drawn.reader("left").guarantee.mu == plan.coalition(["left", "leaf"]).mu
    assert set(drawn.coalition(["right", "leaf"])) == {"right", "leaf"}
    assert drawn.reader("right").points["right"].shape == (2, 2)


def test_tree_draws_have_the_joint_law():
    process = OrnsteinUhlenbeckMechanism(sensitivity=1.0, reversion=0.5, time=0.2)
    plan = BranchedRelease(
        process,
        {"stem": Branch(None, 0.2), "left": Branch("stem", 0.5), "right": Branch("stem", 1.0)},
    )
    drawn = plan.publish(np.full(DRAWS, 0.7), seed_voids_privacy=5)
    points = drawn.coalition(["left", "right"])
    truth = process.decay_after(1.5) * process.variance_after(0.2)
    found = np.cov(points["left"], points["right"])
    scale = math.sqrt(process.variance_after(0.7) * process.variance_after(1.2))
    assert abs(found[0, 1] - truth) < FIVE_SIGMA * scale * math.sqrt(2.0 / DRAWS)
    for name, time in (("left", 0.7), ("right", 1.2)):
        residual = points[name] - process.decay_after(time) * 0.7
        assert (
            stats.kstest(residual / math.sqrt(process.variance_after(time)), "norm").pvalue > 1e-3
        )


def process():
    return BrownianMechanism(sensitivity=1.0, time=0.5)


@pytest.mark.parametrize(
    "call",
    [
        lambda: NestedRelease(process(), {}),
        lambda: NestedRelease(process(), {"a": 0.4}),
        lambda: NestedRelease(process(), {"a": math.nan}),
        lambda: NestedRelease(process(), {"": 1.0}),
        lambda: NestedRelease(process(), {3: 1.0}),
        lambda: NestedRelease(process(), [1.0]),
        lambda: NestedRelease("ou", {"a": 1.0}),
        lambda: NestedRelease(process(), {"a": 1.0}).guarantee("b"),
        lambda: NestedRelease(process(), {"a": 1.0}).coalition([]),
        lambda: NestedRelease(process(), {"a": 1.0}).open([math.nan]),
        lambda: NestedRelease(process(), {"a": 1.0}).open([0.0]).publish("b"),
        lambda: NestedRelease.for_mu(process(), {"a": 0.0}),
        lambda: BranchedRelease(process(), {}),
        lambda: BranchedRelease(process(), {"a": Branch(None, 0.1)}),
        lambda: BranchedRelease(process(), {"a": Branch("b", 1.0)}),
        lambda: BranchedRelease(process(), {"a": Branch(None, -1.0)}),
        lambda: BranchedRelease(process(), {"a": Branch(None, 1.0)}).coalition(["b"]),
        lambda: BranchedRelease(process(), {"a": Branch(None, 1.0)}).coalition([]),
    ],
)
def test_bad_plans_are_refused(call):
    with pytest.raises(InvalidDescription) as refusal:
        call()
    assert "\n" not in str(refusal.value)
