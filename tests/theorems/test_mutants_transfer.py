"""Samples by way of their target: triangles in forty digits, and both verifiers of chains."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

pytest.importorskip("flint")

from flint import arb

from twins.samplers import exact_divergences
from wane.balls.arithmetic import PRECISION, ball, bits, top
from wane.describe import Adjacency, Objective
from wane.describe.chain import Direction, Overdamped, PointStart, Question, Target, Underdamped
from wane.guarantees import GaussianDP
from wane.sampling import Losses, OverdampedRun, Posterior, UnderdampedRun, certify_underdamped
from wane.theorems.gibbs.transfer import (
    ORDERS,
    Closeness,
    TransferredCurve,
    closeness,
    exact_draws,
    two_triangles,
)
from wane.theorems.gibbs.verifier import Step
from wane.theorems.kinetic.privacy import mu_with_window
from wane.theorems.lemmas.kinetic import KineticFree, kinetic_divergence
from wane.theorems.lemmas.letters import kinetic_letters_of
from wane.theorems.registry import THEOREMS
from wane.verify.judge import verifiers

mp = mpmath.mp.clone()
mp.dps = 40
KNOWN = Losses(
    objective=Objective(gradient_bound=1.0, smoothness=0.3, strong_convexity=0.0),
    dimension=2,
    shared_curvature=0.2,
    range_of_loss=0.5,
    height_at_start=0.7,
)


def run(**changes):
    fields = {"losses": KNOWN, "records": 50, "prior_precision": 2.0, "temperature": 3.0}
    fields["adjacency"] = Adjacency.ZERO_OUT
    how = {"step_size": 0.01, "steps": 500, "samples": 2}
    how |= {name: changes.pop(name) for name in ("samples",) if name in changes}
    return OverdampedRun(posterior=Posterior(**(fields | changes)), **how)


# the triangles


def both_triangles(a, before, exact, after, *, p, p2):
    """Hoelder's inequality twice, with the exponents as the proof has them."""
    a, p, p2 = mp.mpf(a), mp.mpf(p), mp.mpf(p2)
    o = (a - 1 / p) * p / (p - 1)
    return (a - 1 / p) / (a - 1) * before + (o - 1 / p2) / (o - 1) * exact(p2 * o) + after


@pytest.mark.parametrize("order", [1.01, 1.7, 4.0])
@pytest.mark.parametrize("p", [1.2, 3.0])
@pytest.mark.parametrize("p2", [1.1, 5.0])
def test_two_triangles_in_forty_digits(order, p, p2):
    found = two_triangles(order, 0.3, lambda a: 0.2 * a, 0.7, p=p, p2=p2)
    exact = both_triangles(order, mp.mpf(0.3), lambda a: mp.mpf(0.2) * a, mp.mpf(0.7), p=p, p2=p2)
    assert found == pytest.approx(float(exact), rel=1e-12)


def test_two_triangles_bound_gaussians_exactly_where_they_lie_in_line():
    """P, R, R' and P' of one variance: of order a they diverge by a/2 distance squared."""

    def divergence(order, apart):
        return order / 2.0 * apart**2

    for order in (1.5, 3.0, 9.0):
        for p in (1.2, 2.0, 5.0):
            for p2 in (1.2, 2.0, 5.0):
                middle = p / (p - 1.0) * (order - 1.0 / p)
                last = p2 / (p2 - 1.0) * (middle - 1.0 / p2)
                bound = two_triangles(
                    order,
                    divergence(p * order, 0.1),
                    lambda a: divergence(a, 0.5),
                    divergence(last, 0.2),
                    p=p,
                    p2=p2,
                )
                assert bound >= divergence(order, 0.8) * (1.0 - 1e-12)


def test_the_verifier_takes_the_same_triangles():
    A, B, before, after = 8.0, 50.0, 0.3, 0.7
    with bits(PRECISION):
        step = Step(A, B, ball(before), ball(after), lambda a: a * ball(0.2))
        for order in (1.2, 2.0, 5.0):
            o = mp.mpf(order) * (A - 1) / (A - mp.mpf(order))
            p, p2 = A / mp.mpf(order), (B - 1) / (B - o)
            exact = both_triangles(
                order, mp.mpf(before), lambda a: mp.mpf(0.2) * a, mp.mpf(after), p=p, p2=p2
            )
            assert float(step.renyi(ball(order))) == pytest.approx(float(exact), rel=1e-12)
        assert step.renyi(ball(8.0)) is None and step.renyi(ball(9.0)) is None
        middle = 50.0 * 8.0 / (7.0 + 50.0)  # from here on the orders between exceed B
        assert step.renyi(ball(middle * 1.001)) is None
        assert step.renyi(ball(middle * 0.999)) is not None


def test_one_finite_order_in_each_direction_is_enough():
    some, none = (math.inf, 0.3), (math.inf, math.inf)
    assert Closeness((2.0, 3.0), some, some).useful
    assert not Closeness((2.0, 3.0), none, some).useful
    assert not Closeness((2.0, 3.0), some, none).useful


def test_the_curve_is_the_least_over_pairs_of_orders():
    known = Closeness((2.0, 5.0, 20.0), (0.01, 0.2, 0.4), (0.02, 0.1, 0.9))
    curve = TransferredCurve(known, GaussianDP(0.6))
    for order in (1.05, 1.5, 3.0, 8.0):
        choices = []
        for A, before in zip(known.orders, known.chain_first, strict=True):
            for B, after in zip(known.orders, known.target_first, strict=True):
                o = mp.mpf(order) * (A - 1) / (A - mp.mpf(order)) if order < A else mp.inf
                if o < B:
                    p, p2 = A / mp.mpf(order), (B - 1) / (B - o)
                    choices.append(
                        both_triangles(
                            order,
                            mp.mpf(before),
                            lambda a: mp.mpf("0.18") * a,
                            mp.mpf(after),
                            p=p,
                            p2=p2,
                        )
                    )
        assert float(min(choices)) <= curve(order) <= float(min(choices)) * (1 + 1e-4)
    assert curve(20.0) == curve(30.0) == math.inf
    assert curve(1.0 + 1e-9) == curve(1.001)


# the verifiers of transferred samples


class Near:
    """A chain whose closeness is made up, so that what follows from it can be computed by hand."""

    def divergence(self, order, *, chain_first):
        """Return a number that grows with the order, and is infinite at high ones."""
        if order > 60.0:
            return arb.pos_inf()
        return ball((0.003 if chain_first else 0.002) * order)


def least_delta(epsilon, samples, exact):
    """By a fine grid of orders for each pair of known ones."""
    best = 1.0
    orders = [o for o in ORDERS if o <= 60.0]
    for A in orders:
        for B in orders:
            most = B * A / (A - 1.0 + B)  # there o = B
            for a in 1.0 + np.geomspace(1e-3, (most - 1.0) * (1.0 - 1e-9), 400):
                o = a * (A - 1.0) / (A - a)
                p, p2 = A / a, (B - 1.0) / (B - o)
                R = (a - 1 / p) / (a - 1) * 0.003 * A + 0.002 * B
                R = samples * (R + (o - 1 / p2) / (o - 1) * exact(p2 * o))
                best = min(
                    best, math.exp(min((a - 1) * (R - epsilon), 99.0)) * (1 - 1 / a) ** a / (a - 1)
                )
    return best


def randomised(epsilon):
    """Renyi divergences of randomised response."""
    yes = 1.0 / (1.0 + math.exp(-epsilon))

    def at(a):
        one, other = math.log(yes), math.log1p(-yes)
        both = np.logaddexp(a * one + (1 - a) * other, a * other + (1 - a) * one)
        return float(both) / (a - 1)

    return at


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
def test_transferred_samples_by_hand(adjacency):
    described = run(adjacency=adjacency)
    mu = exact_draws(described.posterior).mu
    twice = 2.0 if adjacency is Adjacency.REPLACE_ONE else 1.0
    eps = twice * 0.5 / 3.0  # of losses, over the temperature of the sum
    for name, exact in (
        ("gibbs_transfer", lambda a: a * mu**2 / 2.0),
        ("range_transfer", randomised(eps)),
    ):
        fresh = replace(described)
        vars(fresh)["_chain_in_balls"] = Near()
        with bits(PRECISION):
            bound = verifiers()[name](fresh)
            for epsilon in (0.5, 1.5):
                by_hand = least_delta(epsilon, 2, exact)
                assert by_hand < 0.9, "a comparison of nothing"
                proven = float(top(bound.delta(ball(epsilon))))
                assert by_hand * 0.99 <= proven <= by_hand * 1.001
            assert bound.delta(ball(math.inf)) == 1
            assert not bound.tight


def test_verifiers_of_samples_prove_nothing_where_a_hypothesis_fails():
    class Far:
        def divergence(self, order, *, chain_first):
            return arb.pos_inf()

    class OneWay:
        def divergence(self, order, *, chain_first):
            return ball(0.1) if chain_first else arb.pos_inf()

    without_bound = replace(KNOWN, objective=replace(KNOWN.objective, gradient_bound=None))
    with bits(PRECISION):
        for name in ("gibbs_transfer", "range_transfer"):
            for chain in (Far(), OneWay()):
                far = run()
                vars(far)["_chain_in_balls"] = chain
                assert verifiers()[name](far) is None
            added = run(adjacency=Adjacency.ADD_REMOVE)
            vars(added)["_chain_in_balls"] = Near()
            assert verifiers()[name](added) is None
        free = run(losses=without_bound)
        vars(free)["_chain_in_balls"] = Near()
        assert verifiers()["gibbs_transfer"](free) is None
        assert verifiers()["range_transfer"](free) is not None
        no_range = run(losses=replace(KNOWN, range_of_loss=None))
        vars(no_range)["_chain_in_balls"] = Near()
        assert verifiers()["range_transfer"](no_range) is None
        assert verifiers()["gibbs_transfer"](no_range) is not None


@pytest.mark.parametrize(
    ("rows", "best"), [((math.inf, 0.3, 0.9), "0.3"), ((0.9, math.inf, 0.25), "0.25"), (None, "")]
)
def test_a_chain_is_close_if_some_order_is_certified_both_ways(rows, best):
    (theorem,) = [t for t in THEOREMS if t.name == "gibbs_transfer"]
    described, none = run(), (math.inf,) * 3
    table = Closeness((2.0, 3.0, 5.0), rows or none, rows or none)
    vars(described.chain)["_closeness"] = table
    close = theorem.assumes[-1](described)
    assert (close.holds is True) is (rows is not None)
    assert best in close.because
    if rows is not None:
        assert f"<= {best} at" in close.because


# tables of closeness


@pytest.mark.parametrize(("m", "L"), [(1.0, 1.0), (0.5, 2.0)])
def test_the_table_of_an_overdamped_chain_is_above_gaussian_chains(m, L):
    chain = Overdamped(Target(m, L, 1, laplacian_lipschitz=0.0), 0.01, 300, PointStart(1.0))
    table = closeness(chain)
    assert closeness(chain) is table and table.orders == ORDERS
    for place, order in enumerate(ORDERS[:7]):
        for way, row in (
            (Direction.CHAIN_FIRST, table.chain_first),
            (Direction.REFERENCE_FIRST, table.target_first),
        ):
            exact = max(exact_divergences(Question(chain, order, way)))
            assert row[place] >= exact
            if m == L and order <= 5.0:
                assert row[place] <= 100.0 * exact + 1e-3


def test_the_table_of_an_underdamped_chain_is_near_the_best_window():
    """Every window is valid, and the table tries few; none of all is much better."""
    chain = Underdamped(Target(1.0, 2.0, 1), 0.005, 4000, friction=2.0, start=PointStart(1.0))
    table, x = closeness(chain), kinetic_letters_of(chain)
    for order in (1.5, 8.0):
        place = ORDERS.index(order)
        for way, row in (
            (Direction.CHAIN_FIRST, table.chain_first),
            (Direction.REFERENCE_FIRST, table.target_first),
        ):
            scanned = min(
                kinetic_divergence(x, way, order, KineticFree(window=window, q1=q1, q2=q2))
                for window in (1, 3, 10, 30, 60, 100, 150, 200, 300, 400, 600, 800, 1500, 4000)
                for q1 in (4.0, 10.0, 30.0, 100.0)
                for q2 in (10.0, 40.0)
            )
            assert math.isfinite(scanned) and row[place] <= 1.5 * scanned


# underdamped samples


def frictional(**changes):
    posterior = Posterior(
        losses=Losses(
            objective=Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0),
            dimension=3,
            height_at_start=0.7,
        ),
        records=200,
        prior_precision=10.0,
        temperature=4.0,
        adjacency=changes.pop("adjacency", Adjacency.ZERO_OUT),
    )
    target = posterior.target
    heavy = math.sqrt(target.strong_convexity + target.smoothness) * (1.0 + 1e-12)
    how = {"step_size": 0.02, "steps": 10**4, "friction": heavy, "samples": 4}
    return UnderdampedRun(posterior=posterior, **(how | changes))


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("samples", [1, 4])
def test_underdamped_samples_agree_from_both_sides(adjacency, samples):
    described = frictional(adjacency=adjacency, samples=samples)
    certified = {v.theorem.name: v for v in certify_underdamped(described).verdicts}
    with bits(PRECISION):
        for name in ("kinetic_composition", "kinetic_last_state"):
            proven = float(verifiers()[name](described).mu)
            claimed = certified[name].guarantee.mu
            assert proven <= claimed * (1.0 + 1e-15) and claimed <= proven * (1.0 + 1e-6)
    assert (
        certified["kinetic_last_state"].guarantee.mu < certified["kinetic_composition"].guarantee.mu
    )


def test_underdamped_samples_without_a_bound_or_friction():
    light = frictional(friction=0.05)
    free = frictional()
    losses = free.posterior.losses
    unbounded = replace(losses, objective=replace(losses.objective, gradient_bound=None))
    free = replace(free, posterior=replace(free.posterior, losses=unbounded))
    assert mu_with_window(kinetic_letters_of(light.chain), 1.0, 5) == math.inf
    with bits(PRECISION):
        assert verifiers()["kinetic_last_state"](light) is None
        assert verifiers()["kinetic_composition"](light) is not None
        for name in ("kinetic_composition", "kinetic_last_state"):
            assert verifiers()[name](free) is None
