"""Claims that were below the truth because a constant meant two things, each by its numbers.

Every exact value comes from the losses alone (`exact_laws`).  Each case says what is true of its
losses by the definitions, that the old reading is refused or refuted, and that what is certified
for the true constants is not below the exact value.
"""

import itertools
import json
import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, special

from regressions.exact_laws import Interval, hockey_stick, mixture_delta
from trust.sealed import sealed
from wane import (
    Adjacency,
    Box,
    GradientNoise,
    InvalidDescription,
    IterateNoise,
    NoisyDescent,
    NoTheoremApplies,
    Objective,
    Phase,
    Poisson,
    Temperature,
    WithoutReplacement,
    certify,
)
from wane.audit.concrete import Family
from wane.audit.meaning import Truth, judge
from wane.certificates import certificate_document
from wane.describe.chain import Direction
from wane.mixing import mixing
from wane.sampling import Losses, Posterior, certify_distance
from wane.theorems.contraction import recursion as contraction
from wane.verify import Outcome, verify


@dataclass(frozen=True)
class Parabola:
    """`bend x^2/2 + slope x` in one dimension."""

    bend: float
    slope: float

    def gradient(self, x):
        return self.bend * x + self.slope

    def hessian(self, x):
        return np.full((len(x), 1, 1), self.bend)


def truths(objective, losses, half_width):
    """What the predicates say of each declared constant."""
    end = np.array([half_width])
    return judge(objective, Family(tuple(losses), -end, end))


def agree(found, exact):
    """An oracle on a grid, against the number of record."""
    assert found == pytest.approx(exact, abs=2e-4)


def covers(run, exact, **more):
    """Nothing certified is below the exact delta at these epsilons."""
    certificate = certify(run, **more)
    for epsilon, delta in exact.items():
        assert certificate.delta(epsilon) >= delta


# ---- smoothness below the curvature of a concave loss ---------------------------------------

HILL = (Phase(300, 0.1, GradientNoise(1e-5)), Phase(1000, 0.01, GradientNoise(10**0.5)))


def hill(objective):
    return NoisyDescent(
        objective=objective, records=1000, schedule=HILL, domain=Box(-1, 1, dimension=1)
    )


def on_the_hill():
    """Losses -x^2/2 and +-x/2 for one record: quiet steps drive the runs to opposite ends."""
    interval, laws = Interval(-1, 1, 1200), []
    for slope in (0.5, -0.5):
        law = interval.at(-math.copysign(1.0, slope))
        step = interval.kernel([(1.0, 1.01, -0.01 * slope / 1000)], 0.01 * 10**0.5)
        for _ in range(1000):
            law = law @ step
        laws.append(law)
    return laws


def test_the_quiet_steps_of_the_hill_reach_the_ends():
    """After 80 of them the mean is 200 deviations from the middle, and beyond the end."""
    mean, variance = 0.0, 0.0
    for _ in range(80):
        mean, variance = 1.1 * mean + 0.1 * 0.5 / 1000, 1.21 * variance + (0.1 * 1e-5) ** 2
    assert mean > 1.0 and mean > 200 * math.sqrt(variance)


def test_strong_convexity_below_minus_smoothness():
    """Certified delta(0) = 0.713 and delta(1) = 0.555; exact 0.9991 and 0.9984."""
    laws = on_the_hill()
    agree(hockey_stick(*laws, 0.0), 0.9991)
    agree(hockey_stick(*laws, 1.0), 0.9984)
    with pytest.raises(InvalidDescription, match="declare smoothness=1"):
        Objective(gradient_bound=1.5, smoothness=0.01, strong_convexity=-1.0, dimension=1)
    true = Objective(gradient_bound=1.5, smoothness=1.0, strong_convexity=-1.0, dimension=1)
    covers(hill(true), {0.0: 0.9989, 1.0: 0.9982})


def test_an_old_document_of_that_description_is_refused():
    true = Objective(gradient_bound=1.5, smoothness=1.0, strong_convexity=-1.0, dimension=1)
    document = json.loads(json.dumps(certificate_document(certify(hill(true)), epsilon=1.0)))
    document["description"]["objective"]["smoothness"] = 0.01
    document["delta"] = 0.555
    with pytest.raises(InvalidDescription, match="smoothness"):
        verify(sealed(document))


def test_undeclared_convexity_is_not_an_assumption():
    """Claimed delta(1) = 1.9e-17 for smoothness 0.01, exact 0.9984: 0.01 is false of -x^2/2."""
    losses = [Parabola(-1.0, slope) for slope in (0.0, 0.5, -0.5)]
    false = Objective(gradient_bound=1.5, smoothness=0.01, dimension=1)
    assert truths(false, losses, 1.0)["smoothness"] is Truth.REFUTED
    true = Objective(gradient_bound=1.5, smoothness=1.0, dimension=1)
    assert Truth.REFUTED not in truths(true, losses, 1.0).values()
    covers(hill(true), {0.0: 0.9989, 1.0: 0.9982})


def test_batches_of_fixed_size_on_the_hill():
    """WithoutReplacement(1) of three such records, eight steps: exact delta(0) 0.9571."""
    interval, laws = Interval(-1, 1, 1500), []
    for slope in (0.5, -0.5):
        law = interval.at(0.0)
        step = interval.kernel([(2 / 3, 1.2, 0.0), (1 / 3, 1.2, -0.2 * slope)], 0.01)
        for _ in range(8):
            law = law @ step
        laws.append(law)
    agree(hockey_stick(*laws, 0.0), 0.9571)
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.5, smoothness=1.0, dimension=1),
        records=3,
        steps=8,
        step_size=0.2,
        noise=GradientNoise(0.05),
        batches=WithoutReplacement(1),
        domain=Box(-1, 1, dimension=1),
    )
    for verdict in certify(run).applicable:
        assert verdict.guarantee.delta(0.0) >= 0.957, verdict.analysis.name


# ---- gradient_bound: the whole contribution --------------------------------------------------


def test_a_shared_hill_is_part_of_the_gradient_bound():
    """Losses -x^2/4 +- 0.01 x described by 0.01: delta 0.516, 0.280; exact 0.8745, 0.7695."""
    interval, laws = Interval(-2, 2, 800), []
    for slope in (0.01, -0.01):
        law = interval.at(-math.copysign(2.0, slope))
        step = interval.kernel([(1.0, 1.05, -0.1 * slope)], 0.2)
        for _ in range(400):
            law = law @ step
        laws.append(law)
    exact = {epsilon: hockey_stick(*laws, epsilon) for epsilon in (0.0, 1.0)}
    agree(exact[0.0], 0.8745)
    agree(exact[1.0], 0.7695)
    bent = {"smoothness": 0.5, "strong_convexity": -0.5}
    losses = [Parabola(-0.5, slope) for slope in (0.01, -0.01)]
    old = Objective(gradient_bound=0.01, **bent)
    assert truths(old, losses, 2.0)["gradient_bound"] is Truth.REFUTED
    for known in (
        {"gradient_bound": 1.01},
        {"gradient_difference_bound": 0.02},
        {"gradient_bound": 1.01, "gradient_difference_bound": 0.02},
    ):
        true = Objective(**known, **bent)
        assert Truth.REFUTED not in truths(true, losses, 2.0).values()
        run = NoisyDescent(
            objective=true,
            records=1,
            schedule=[Phase(20, 2.0, GradientNoise(5e-4)), Phase(400, 0.1, GradientNoise(2.0))],
            domain=Box(-2, 2, dimension=1),
        )
        covers(run, exact)


@pytest.mark.parametrize(
    ("other", "exact"),
    [(0.0, {0.3: 0.1466, 1.0: 0.0635}), (5.0, {0.3: 0.1071, 1.0: 0.0317})],
)
def test_a_coin_leaves_out_the_whole_gradient(other, exact):
    """Losses (5 +- 0.5) x described by 0.5, Poisson(1) of two: delta 0.0907 and 0.0057."""
    both = [
        [(0.25, a * other + c * slope) for a, c in itertools.product((0, 1), repeat=2)]
        for slope in (5.5, 4.5)
    ]
    for epsilon, delta in exact.items():
        agree(mixture_delta(*both, epsilon), delta)

    def run(objective):
        return NoisyDescent(
            objective=objective,
            records=2,
            steps=1,
            step_size=1.0,
            noise=GradientNoise(1.0),
            batches=Poisson(1),
        )

    linear = {"smoothness": 0.0, "strong_convexity": 0.0}
    losses = [Parabola(0.0, slope) for slope in (4.5, other, 5.5)]
    assert (
        truths(Objective(gradient_bound=0.5, **linear), losses, 9.0)["gradient_bound"]
        is Truth.REFUTED
    )
    differences = Objective(gradient_difference_bound=1.0, **linear)
    assert not certify(run(differences)).applicable  # a coin needs the whole gradient
    covers(run(Objective(gradient_bound=5.5, **linear)), exact)
    covers(run(Objective(gradient_bound=5.5, gradient_difference_bound=1.0, **linear)), exact)


def test_two_records_at_two_points():
    """WithoutReplacement(1) of -x^2/4 and -x^2/4 +- 0.01 x: 0.6875, 0.5169 and 0.6927, 0.5245.

    Exact 0.9330 and 0.8870.  Sixty quiet steps double the distance from the middle; the end that a
    run is driven to is the sign of 0.02 U + N(0, 1e-6/3), U uniform: the coins, read as digits.
    """
    wrong = integrate.quad(lambda u: special.ndtr(-0.02 * u / (1e-3 / math.sqrt(3))), 0, 1)[0]
    interval, laws = Interval(-2, 2, 4000), []
    for way in (1, -1):
        law = (1 - wrong) * interval.at(-2.0 * way) + wrong * interval.at(2.0 * way)
        laws.append(law @ interval.kernel([(0.5, 2.0, 0.0), (0.5, 2.0, -0.02 * way)], 2.0))
    exact = {epsilon: hockey_stick(*laws, epsilon) for epsilon in (0.0, 1.0)}
    agree(exact[0.0], 0.9330)
    agree(exact[1.0], 0.8870)
    for known in ({"gradient_bound": 1.01}, {"gradient_difference_bound": 0.02}):
        run = NoisyDescent(
            objective=Objective(**known, smoothness=0.5, strong_convexity=-0.5),
            records=2,
            schedule=[Phase(60, 2.0, GradientNoise(5e-4)), Phase(1, 2.0, GradientNoise(1.0))],
            batches=WithoutReplacement(1),
            domain=Box(-2, 2, dimension=1),
        )
        covers(run, exact)
        for verdict in certify(run).applicable:
            for epsilon, delta in exact.items():
                assert verdict.guarantee.delta(epsilon) >= delta, verdict.analysis.name


def gaussian_renyi(order, mean, variance, other_mean, other_variance):
    """The Renyi divergence of two normal laws."""
    mixed = order * other_variance + (1 - order) * variance
    spread = math.log(mixed / (variance ** (1 - order) * other_variance**order))
    return order * (mean - other_mean) ** 2 / (2 * mixed) - spread / (2 * (order - 1))


@pytest.mark.parametrize(("steps", "old", "exact"), [(100, 0.0742, 0.5280), (200, 0.00229, 0.0095)])
def test_a_posterior_whose_losses_share_a_slope(steps, old, exact):
    """The start's distance is that of the whole gradient: order 2 from the target."""
    keep = 0.98**steps
    mean, variance = -5.5 * (1 - keep), 0.04 * (1 - keep**2) / (1 - 0.98**2)
    found = gaussian_renyi(2.0, mean, variance, -5.5, 1.0)
    agree(found, exact)

    def certified(known):
        losses = Losses(
            objective=Objective(**known, smoothness=0.0, strong_convexity=0.0), dimension=1
        )
        posterior = Posterior(losses=losses, records=1, prior_precision=1.0)
        chain = posterior.chain(0.02, steps)
        return certify_distance(chain, order=2.0, direction=Direction.CHAIN_FIRST).value

    assert old < exact <= certified({"gradient_bound": 5.5})
    with pytest.raises(NoTheoremApplies, match="distance"):
        certified({"gradient_difference_bound": 1.0})


# ---- one record more, one record fewer -------------------------------------------------------

CURVED = {"smoothness": 0.5, "strong_convexity": 0.5}
PULLED = NoisyDescent(
    objective=Objective(gradient_bound=2.85, **CURVED),
    records=2,
    steps=8,
    step_size=1.0,
    noise=GradientNoise(0.08),
    batches=Poisson(1),
    domain=Box(-1, 1, dimension=1),
    adjacency=Adjacency.ADD_REMOVE,
)


def pulled_laws(start):
    """Losses (x - z)^2/4 with z = -1.2 and 4.7, against -1.2 alone."""
    interval, laws = Interval(-1, 1, 1000), []
    for centres in ((-1.2, 4.7), (-1.2,)):
        branches = []
        for coins in itertools.product((0, 1), repeat=len(centres)):
            pull = sum(coin * z for coin, z in zip(coins, centres, strict=True)) / 2
            branches.append((0.5 ** len(centres), 1 - sum(coins) / 2, pull))
        law, step = interval.at(start), interval.kernel(branches, 0.08)
        for _ in range(8):
            law = law @ step
        laws.append(law)
    return laws


def test_against_one_record_fewer_there_are_fewer_others():
    """Poisson contraction claimed delta(0) = delta(2) = 0.7997; exact 0.9013 and 0.8523."""
    for start, exact in ((0.0, {0.0: 0.9013, 2.0: 0.8523}), (-1.0, {0.0: 0.9385, 2.0: 0.9036})):
        laws = pulled_laws(start)
        for epsilon, delta in exact.items():
            agree(hockey_stick(*laws, epsilon), delta)
        covers(PULLED, exact)
    losses = [Parabola(0.5, -z / 2) for z in (-1.2, 4.7)]
    assert Truth.REFUTED not in truths(PULLED.objective, losses, 1.0).values()


def written(certificate):
    return json.loads(json.dumps(certificate_document(certificate, epsilon=2.0)))


def judged(document):
    """What the verifier says of the contraction's claims."""
    rows = verify(document).checked
    return {row.outcome for row in rows if row.claim.theorem == "poisson_contraction"}


def test_verify_refuses_the_claim_that_counted_all_records(monkeypatch):
    counted = contraction.recursions_of

    def slipped(run):
        return counted(run)[1:]  # n others only

    monkeypatch.setattr("wane.theorems.contraction.statement.recursions_of", slipped)
    certificate = certify(PULLED)
    assert certificate.delta(0.0) == pytest.approx(0.7997, abs=1e-4)
    assert certificate.delta(2.0) == pytest.approx(0.7997, abs=1e-4)
    document = written(certificate)
    assert document["delta"] == pytest.approx(0.7997, abs=1e-4)
    monkeypatch.undo()
    assert Outcome.NOT_VERIFIED in judged(document)
    assert judged(written(certify(PULLED))) == {Outcome.VERIFIED}


# ---- mixing times ----------------------------------------------------------------------------


def chain_on(objective):
    return NoisyDescent(
        objective=objective,
        records=1,
        steps=1,
        step_size=0.01,
        noise=Temperature(1.0),
        domain=Box(-1, 1, dimension=1),
    )


def test_a_hill_is_not_crossed_in_three_hundred_steps():
    """-10 x^2 described by smoothness 0.01: 304 steps to 0.0997, where copies are 0.9993 apart."""
    interval = Interval(-1, 1, 400)
    step = interval.kernel([(1.0, 1.2, 0.0)], math.sqrt(0.02))
    laws = [interval.at(-1.0), interval.at(1.0)]
    for _ in range(304):
        laws = [law @ step for law in laws]
    agree(hockey_stick(*laws, 0.0), 0.9993)
    for undeclared in ({}, {"strong_convexity": -20.0}):
        true = Objective(smoothness=20.0, dimension=1, **undeclared)
        assert mixing(chain_on(true), 0.1).steps == 11_476_410
    with pytest.raises(InvalidDescription, match="declare smoothness=20"):
        Objective(smoothness=0.01, strong_convexity=-20.0, dimension=1)
    false = Objective(smoothness=0.01, dimension=1)
    assert truths(false, [Parabola(-20.0, 0.0)], 1.0)["smoothness"] is Truth.REFUTED


# ---- weak smoothness everywhere --------------------------------------------------------------


def saturated(z, flat_from, over):
    """The odd function that is z up to a point, its slope falling linearly to zero after it."""
    far = np.minimum(np.maximum(np.abs(z) - flat_from, 0.0), over)
    return np.sign(z) * (np.minimum(np.abs(z), flat_from) + far - far**2 / (2 * over))


def slope(z, flat_from, over):
    return np.clip(1 - (np.abs(z) - flat_from) / over, 0.0, 1.0)


def thin_box_gradient(t, u):
    """A saddle far out, convex around the box [-1/2, 1/2] x [-4e-11, 4e-11]."""
    s, v = saturated(t, 0.51, 0.5), saturated(u, 0.001, 1.0)
    along = slope(t, 0.51, 0.5) * v + 0.01 * np.clip(t, -0.51, 0.51)
    across = s * slope(u, 0.001, 1.0) + 101 * np.clip(u, -4.8e-11, 4.8e-11)
    return np.array([along, across])


@pytest.mark.parametrize("constant", [1.15, 1.25])
def test_weakly_smooth_everywhere_needs_convexity_everywhere(constant):
    """delta(0), delta(1), delta(2) were 0.5276, 0.2954, 0.1217; exact 0.6155, 0.4194, 0.1796."""
    eta = 2 / constant
    t, side, laws = Interval(-0.5, 0.5, 4000), 4e-11, []
    for way in (1, -1):  # the record adds 6 t/1000 or takes it away
        place = np.array([-0.5 * way, side * way])
        mean = place - eta * (thin_box_gradient(*place) + np.array([0.006 * way, 0.0]))
        along = t.at(place[0]) @ t.kernel([(1.0, 0.0, mean[0])], 1.0)
        above = special.ndtr(mean[1])  # the projection leaves the sign of u, and next to nothing
        laws.append(np.concatenate([along * above, along * (1 - above)]))
    exact = {epsilon: hockey_stick(*laws, epsilon) for epsilon in (0.0, 0.5, 1.0, 2.0)}
    if constant == 1.15:
        for epsilon, delta in zip(exact, (0.6155, 0.5216, 0.4194, 0.1796), strict=True):
            agree(exact[epsilon], delta)
    run = NoisyDescent(
        objective=Objective(
            gradient_bound=6.6,
            strong_convexity=0.0,
            holder_exponent=0.6,
            holder_constant=constant,
        ),
        records=1000,
        schedule=[Phase(200, eta, IterateNoise(1e-6)), Phase(1, eta, IterateNoise(1.0))],
        domain=Box((-0.5, -side), (0.5, side)),
    )
    covers(run, exact)
    # outside the box the loss is no longer convex, so that holder_everywhere is false of it
    x, y = np.array([0.01, 0.0003]), np.array([0.0, 0.0008])
    assert (thin_box_gradient(*x) - thin_box_gradient(*y)) @ (x - y) < 0


def test_the_quiet_steps_in_the_thin_box_reach_the_ends():
    eta, rng = 2 / 1.15, np.random.default_rng(0)
    for way in (1, -1):
        x = np.zeros(2)
        for _ in range(200):
            pull = thin_box_gradient(*x) + np.array([0.006 * way, 0.0])
            x = x - eta * pull + 1e-6 * rng.standard_normal(2)
            x = np.clip(x, [-0.5, -4e-11], [0.5, 4e-11])
        assert x[0] == pytest.approx(-0.5 * way, abs=1e-5) and x[1] == 4e-11 * way
