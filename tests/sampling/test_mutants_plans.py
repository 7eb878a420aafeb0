"""The search for the cheapest chain, on families whose best members are known."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from wane.describe.chain import Direction, NormalStart, Overdamped, PointStart, Target, Underdamped
from wane.errors import InvalidDescription, NoTheoremApplies, PrivacyWarning, Unreachable
from wane.sampling import distance_plan as plans, posterior_samples as planning
from wane.sampling.distance_plan import Friction, plan_closeness, plan_sampling
from wane.theorems.lemmas.letters import kinetic_letters_of, letters_of
from wane.theorems.lemmas.shifted_girsanov import local_error

TARGET = Target(1.0, 4.0, 10, laplacian_lipschitz=0.0)
START = NormalStart(0.25, 0.5)


def request(**changes):
    given = {"target": TARGET, "start": START, "temperature": 1.5, "order": 2.0, "goal": 0.1}
    return plans._Request(**({"direction": Direction.CHAIN_FIRST} | given | changes))


class Known:
    """A family whose least bound after n steps is scale/n^2, at the step size 3/n."""

    def __init__(self, scale, guess=(1.0, 4), first=1):
        self.scale, self.guess, self.first = scale, guess, first
        self.asked = []

    def best_step(self, steps, guess, warm):
        self.asked.append((steps, guess, warm))
        if steps < self.first:
            return plans._HOPELESS, guess, np.zeros(1)
        return math.log(self.scale / steps**2), 3.0 / steps, np.full(1, float(steps))


@pytest.mark.parametrize("needed", [4, 10, 137, 5000])
def test_the_fewest_steps_are_found_to_two_percent(needed):
    family = Known(0.1 * needed**2)
    steps, eta = plans._fewest(family, 0.1 * (1 + 1e-12), progress=False)
    assert needed <= steps <= max(needed * 1.021 + 1, needed + 1)
    assert eta == 3.0 / steps
    assert len(family.asked) <= 40
    # warm starts come with what was found before, over the same time
    enough = [n for n, _, _ in family.asked].index(
        next(n for n, _, _ in family.asked if n >= needed)
    )
    for place, (asked, guess, warm) in enumerate(family.asked[1:], start=1):
        before = family.asked[place - 1][0]
        assert warm is not None and warm[0] in [n for n, _, _ in family.asked[:place]]
        if place <= enough:
            assert asked == math.ceil(before * 1.3) and guess == 3.0 / before == 3.0 / warm[0]
        else:
            assert guess * asked == pytest.approx(3.0, rel=1e-9) and warm[0] >= needed


def test_steps_are_doubled_while_no_bound_is_finite():
    family = Known(0.1 * 50.0**2, first=30)
    steps, _ = plans._fewest(family, 0.1 * (1 + 1e-12), progress=False)
    assert 50 <= steps <= 52
    assert [n for n, _, _ in family.asked][:4] == [4, 8, 16, 32]
    assert [g for _, g, _ in family.asked][:4] == [1.0, 0.5, 0.25, 0.125]
    assert all(w is None for _, _, w in family.asked[:4])
    with pytest.raises(Unreachable, match="no plan of up to"):
        plans._fewest(Known(math.inf, first=10**30), 0.1, progress=False)


def family_of(bound, starts=None, largest=2.0):
    return plans._Family(
        make=lambda eta, steps: None,
        bound=bound,
        starts=starts or (lambda eta, steps: [np.array([0.0])]),
        largest=largest,
        guess=(0.1, 10),
    )


def test_the_best_step_size_and_parameters_are_found():
    """log bound = (log eta - log 0.3)^2 + (z - 0.7)^2 + log(steps): a bowl."""

    def bound(eta, steps, z):
        return math.exp(math.log(eta / 0.3) ** 2 + float((z[0] - 0.7) ** 2)) * steps

    for warm in (None, np.array([0.5])):
        value, eta, point = family_of(bound).best_step(5, 0.1, warm)
        assert value == pytest.approx(math.log(5.0), abs=1e-4)
        assert eta == pytest.approx(0.3, rel=1e-2) and point[0] == pytest.approx(0.7, abs=1e-2)
    # no step size beyond the largest is looked at
    seen = []

    def narrow(eta, steps, z):
        seen.append(eta)
        return bound(eta, steps, z)

    value, eta, _ = family_of(narrow, largest=0.2).best_step(5, 0.5, None)
    assert max(seen) < 0.2 and eta == pytest.approx(0.2, rel=1e-2)
    # where a warm start finds nothing, the usual ones are tried
    tried = []

    def starts(eta, steps):
        tried.append((eta, steps))
        return [np.array([0.6])]

    def walled(eta, steps, z):
        return bound(eta, steps, z) if abs(z[0] - 0.7) < 0.2 else math.inf

    value, _, _ = family_of(walled, starts).best_step(5, 0.1, np.array([50.0]))
    assert value < math.log(5.0) + 1e-3
    assert tried == [(pytest.approx(0.1), 5), (pytest.approx(0.03), 5), (pytest.approx(0.01), 5)]


def test_steps_until_a_start_is_forgotten():
    for factor, rate in ((100.0, 0.1), (1e6, 0.013), (2.0, 0.5)):
        assert plans._warm_up(factor, rate) == math.ceil((2.0 + math.log(factor)) / rate)
    assert plans._warm_up(0.5, 0.1) == 20  # nothing to forget
    assert plans._warm_up(1.0, 100.0) == 2
    assert plans._warm_up(1e6, 1e-300) == plans.MOST_STEPS


@pytest.mark.parametrize("goal", [1e-4, 0.1])
@pytest.mark.parametrize("order", [2.0, 30.0])
def test_the_first_step_size_has_three_quarters_of_the_goal(goal, order):
    x = letters_of(Overdamped(TARGET, 0.01, 1, START, 1.0))
    eta = plans.first_step_size(x, order, goal)

    def stationary(eta):
        found = local_error(replace(x, eta=eta))
        drift = found.a0 + found.a1 * math.sqrt(x.L * x.d)
        logs = math.log1p(1.0 / (2.0 * x.m * eta)) + 1.0
        return order / 4 * (2 * drift**2 / (x.m * eta**2) + (x.L * eta) ** 2 * x.d * logs)

    if eta < 0.999 / x.L:
        assert stationary(eta) <= 0.75 * goal < stationary(eta * 1.01)


def test_overdamped_families_guess_by_the_stationary_error():
    asked = request()
    family = plans._overdamped(asked)
    chain = family.make(0.01, 7)
    assert (chain.step_size, chain.steps, chain.temperature) == (0.01, 7, 1.5)
    assert chain.target is TARGET and chain.start is START
    x = letters_of(chain)
    eta, steps = family.guess
    assert eta <= family.largest / 2
    assert eta == pytest.approx(
        min(plans.first_step_size(x, 2.0, 0.1) / 1.5, family.largest / 2), rel=1e-6
    )
    far = 2 * x.m * (x.d * (x.s0 + 1 / x.m) + x.r0**2)
    assert steps == plans._warm_up(far * 2.0 / 0.1, 2 * x.m * 1.5 * eta)
    assert len(family.starts(eta, steps)) == 16
    bounds = [family.bound(eta, steps, z) for z in family.starts(eta, steps)]
    best = family.starts(eta, steps)[int(np.argmin(bounds))]
    assert 0.0 < min(bounds) < 1.0
    higher = plans._overdamped(request(order=3.0))
    assert higher.bound(eta, steps, best) > family.bound(eta, steps, best)
    other = plans._overdamped(request(direction=Direction.REFERENCE_FIRST))
    assert other.bound(eta, steps, best) <= family.bound(eta, steps, best)


def test_kinetic_families_have_the_least_friction_or_the_one_that_is_asked_for():
    for mass, chosen in ((1.0, None), (2.0, None), (1.0, 5.0)):
        family = plans._kinetic(request(), Friction(mass, chosen))
        chain = family.make(0.01, 7)
        least = math.sqrt(mass * 5.0)
        assert isinstance(chain, Underdamped) and chain.inverse_mass == mass
        assert chain.friction == pytest.approx(least if chosen is None else chosen, rel=1e-12)
        assert chain.friction >= least and chain.temperature == 1.5
        x = kinetic_letters_of(chain)
        eta, steps = family.guess
        scale = x.d * 2.0 * (x.L / x.m) ** 2 * x.gam
        assert eta == pytest.approx(min(math.sqrt(0.1 / scale), 0.3 * family.largest), rel=1e-6)
        far = x.gam * (x.d * (x.s0 + 1 / x.m) + x.r0**2) * x.L
        assert steps == plans._warm_up(10.0 * far * 2.0 / 0.1, 2 * x.rate * eta)
        assert family.starts(eta, steps)
        assert family.bound(eta, steps, family.starts(eta, steps)[0]) > 0.0
    for wrong in (0.0, -1.0):
        with pytest.raises(InvalidDescription):
            plans._kinetic(request(), Friction(wrong))


@pytest.fixture
def faked(monkeypatch):
    """A search that finds 100 steps of size 0.01, and certificates that fall with the steps."""
    made = SimpleNamespace(needed=100, asked=[])

    def certify(chain, *, order, direction):
        made.asked.append((chain.steps, chain.step_size, order, direction))
        return SimpleNamespace(value=0.1 if chain.steps >= made.needed else 0.1001)

    def fewest(family, goal, progress):
        made.goal = goal
        return 100, 0.01

    monkeypatch.setattr(plans, "_fewest", fewest)
    monkeypatch.setattr(plans, "certify_distance", certify)
    return made


def test_plans_are_certified_in_every_direction_that_is_asked_for(faked):
    ask = {"order": 2.0, "distance": 0.1, "start": START}
    plan = plan_sampling(TARGET, **ask)
    assert (plan.chain.steps, plan.chain.step_size, plan.order) == (100, 0.01, 2.0)
    assert plan.distance == 0.1 and [c.value for c in plan.certificates] == [0.1, 0.1]
    assert {a[3] for a in faked.asked} == set(Direction) and faked.goal == 0.1
    faked.asked.clear()
    one = plan_sampling(TARGET, directions=(Direction.REFERENCE_FIRST,), **ask)
    assert len(one.certificates) == 1 and len(faked.asked) == 1
    assert isinstance(plan_sampling(TARGET, friction=Friction(), **ask).chain, Underdamped)


def test_plans_that_are_not_confirmed_get_more_steps(faked):
    faked.needed = 103
    plan = plan_sampling(TARGET, order=2.0, distance=0.1, start=START)
    assert plan.chain.steps == 103  # 101 and ceil(102.01)
    assert plan.chain.step_size == pytest.approx(0.01 * 0.995**2)
    faked.needed = 10**9
    faked.asked.clear()
    with pytest.raises(Unreachable, match="does not confirm"):
        plan_sampling(TARGET, order=2.0, distance=0.1, start=START)
    assert len(faked.asked) == 40


def test_the_order_is_the_one_with_most_room_for_each_step(monkeypatch):
    asked = {}
    monkeypatch.setattr(plans, "plan_sampling", lambda target, **given: asked.update(given))
    for epsilon, delta in ((1.0, 1e-5), (0.1, 1e-3), (8.0, 1e-9)):
        plan_closeness(TARGET, epsilon=epsilon, delta=delta, start=START, temperature=3.0)
        a, allowed = asked["order"], asked["distance"]
        exact = epsilon + math.log(a / (a - 1)) - (-math.log(delta) - math.log(a)) / (a - 1)
        assert allowed <= exact and allowed == pytest.approx(exact, rel=1e-9)
        orders = 1 + np.exp(np.linspace(-5, 15, 4001))
        rooms = epsilon + np.log(orders / (orders - 1))
        rooms -= (-math.log(delta) - np.log(orders)) / (orders - 1)
        assert allowed / a >= float(np.max(rooms / orders)) * (1 - 1e-6)
        assert asked["temperature"] == 3.0 and asked["friction"] is None
    for wrong in ({"epsilon": 0.0}, {"epsilon": -1.0}, {"delta": 0.0}, {"delta": 1.5}):
        with pytest.raises(InvalidDescription):
            plan_closeness(TARGET, start=START, **({"epsilon": 1.0, "delta": 0.1} | wrong))


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"order": 0.5}, InvalidDescription),
        ({"distance": 0.0}, InvalidDescription),
        ({"distance": -0.5}, InvalidDescription),
        ({"start": PointStart()}, NoTheoremApplies),
    ],
)
def test_questions_without_an_answer_are_refused_at_once(changes, kind):
    with pytest.raises(kind):
        plan_sampling(TARGET, **({"order": 2.0, "distance": 0.1, "start": START} | changes))
    with pytest.raises(NoTheoremApplies):
        plan_sampling(Target(0.0, 4.0, 10), order=2.0, distance=0.1, start=START)


# plans for posteriors


def test_long_plans_are_announced_and_longer_ones_refused(monkeypatch):
    planned = SimpleNamespace(chain=SimpleNamespace(steps=10, step_size=0.25))
    monkeypatch.setattr(planning, "plan_sampling", lambda target, **given: planned)
    posterior = SimpleNamespace(target=TARGET, start=START, descent_temperature=1.0)
    wish = planning.Wish(epsilon=1.0, delta=1e-5)
    assert planning._planned(posterior, wish) == (0.25, 10)
    planned.chain.steps = planning.MANY_STEPS
    assert planning._planned(posterior, wish)[1] == planning.MANY_STEPS == 100_000
    planned.chain.steps += 1
    with pytest.warns(PrivacyWarning, match="100001 steps are planned"):
        planning._planned(posterior, wish)
    planned.chain.steps = planning.MOST_STEPS
    with pytest.warns(PrivacyWarning):
        assert planning._planned(posterior, wish)[1] == 2_000_000
    planned.chain.steps += 1
    with pytest.raises(Unreachable, match="needs 2000001 steps"):
        planning._planned(posterior, wish)
    with pytest.raises(InvalidDescription):
        planning._planned(posterior, planning.Wish(epsilon=1.0, delta=1e-5, distance=0.0))


def test_the_worse_direction_is_the_distance_and_the_better_total_variation():
    def found(value, variation):
        return SimpleNamespace(value=value, total_variation=variation, explain=lambda: str(value))

    both = planning.Distances(2.0, found(0.5, 0.25), found(0.75, 0.125))
    assert (both.value, both.total_variation) == (0.75, 0.125)
    assert both.explain() == "0.5\n0.75"


def test_defaults_of_a_wish():
    wish = planning.Wish(epsilon=1.0, delta=1e-5)
    assert (wish.samples, wish.order, wish.distance, wish.coldest) == (1, 2.0, 0.1, 1.0)
    for half in ({"step_size": 0.1}, {"steps": 3}):
        with pytest.raises(InvalidDescription, match="together"):
            planning.plan_posterior(None, planning.Wish(epsilon=1.0, delta=1e-5, **half))
