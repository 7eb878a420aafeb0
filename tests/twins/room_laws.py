"""Exact values for rooms beside the theorems: certificates, mechanisms, samplers, Langevin."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
from scipy import optimize, special

from twins.exact import Gaussians, Masses, exact_epsilon
from twins.members import described, laws_of, widest
from twins.removal import claim_of
from twins.samplers import exact_divergences, posterior, sample_laws
from twins.tables import schema_of, worst_distance
from wane import certify, mu_by_position, mu_of_group
from wane.certificates import together
from wane.certificates.analyse import certify_closeness, certify_distance
from wane.certificates.parts import grouped
from wane.describe import Adjacency, StatedRelease
from wane.describe.chain import Direction, Overdamped, PointStart, Question, Target, Underdamped
from wane.describe.domains import MCP, Ridge
from wane.describe.samples import OverdampedRun, UnderdampedRun
from wane.guarantees import (
    ChainDP,
    ComposedDP,
    GaussianDP,
    NumericalDP,
    Pair,
    PureDP,
    RenyiDP,
    SampledGaussianStep,
)
from wane.guarantees.composed import composed_of
from wane.learn.curvature import private_curvature
from wane.learn.exact import exact_guarantee
from wane.losses import Logistic
from wane.mechanisms import (
    AmplifiedGuarantee,
    DiffusionMechanism,
    MarkovKernel,
    constant_chain,
    iterated_gaussian,
    lipschitz_gaussian,
    noisy_chain,
    per_index_sgd,
)
from wane.run.discrete_gaussian import DiscreteGaussian
from wane.sampling import certify_underdamped
from wane.sampling.posterior_samples import distances
from wane.statistics import STATISTICS
from wane.theorems.gibbs.transfer import closeness
from wane.theorems.kernel.amplification import bounded_gaussian, pure_renyi
from wane.theorems.kinetic.statement import steered_kinetic
from wane.theorems.lemmas.family import Profile
from wane.theorems.lemmas.isotonic import mu_squared
from wane.theorems.lemmas.kinetic import Contraction, steering_cost
from wane.theorems.lemmas.letters import kinetic_letters_of
from wane.theorems.lemmas.modulus_programme import Steps, saddle_switch, value
from wane.theorems.lemmas.tracking import tracked_distances
from wane.theorems.log_sobolev import dynamics as langevin
from wane.theorems.log_sobolev.spread import tracked_log_sobolev
from wane.theorems.theorem import Applies

NEAR = 1.0 - 1e-9


def certificate_law() -> None:
    """A certificate answers as the exact linear run does; so do groups and compositions."""
    run = described(schedule="eight")
    exact = max(law.mu for law in laws_of(run) if isinstance(law, Gaussians))
    made, pair = certify(run), Gaussians(exact)
    assert made.delta(1.0) >= pair.delta(1.0) * NEAR
    assert made.epsilon(1e-5) >= exact_epsilon(pair, 1e-5) * (1.0 - 1e-6)
    assert made.renyi(3.0) >= pair.renyi(3.0) * NEAR
    assert made.mu >= exact * NEAR
    assert made.guarantee.delta(1.0) >= pair.delta(1.0) * NEAR
    assert made.group(2).delta(1.0) >= Gaussians(2.0 * exact).delta(1.0) * NEAR
    for verdict in made.applicable:
        assert grouped(run, verdict, 2).renyi(2.0) >= 4.0 * pair.renyi(2.0) * NEAR
    twice = Gaussians(math.sqrt(2.0) * exact)
    assert made.compose(made).delta(1.0) >= twice.delta(1.0) * NEAR
    joint = together((made, made))
    assert joint.mu >= twice.mu * NEAR and joint.delta(1.0) >= twice.delta(1.0) * NEAR
    assert joint.guarantee.renyi(2.0) >= twice.renyi(2.0) * NEAR
    assert joint.renyi(2.0) >= twice.renyi(2.0) * NEAR
    for part in (made, *made.parts):
        assert part.best(1e-7).conclusion.renyi(3.0) >= pair.renyi(3.0) * NEAR
        assert part.group(2).renyi(2.0) >= 4.0 * pair.renyi(2.0) * NEAR
        for verdict in (*part.applicable, *part.verdicts):
            if isinstance(verdict, Applies):
                assert verdict.conclusion.renyi(3.0) >= pair.renyi(3.0) * NEAR
    assert made.guarantee_at(1e-7).renyi(3.0) >= pair.renyi(3.0) * NEAR
    assert made.for_persons(2).renyi(2.0) >= 4.0 * pair.renyi(2.0) * NEAR


def pure_law() -> None:
    """Randomised response: its profile and divergences, alone, in a chain and composed."""
    level = 0.8
    yes = math.exp(level) / (1.0 + math.exp(level))
    pair, claim = Masses(np.array([yes, 1.0 - yes]), np.array([1.0 - yes, yes])), PureDP(level)
    for epsilon in (0.0, 0.3, 0.7):
        assert claim.delta(epsilon) >= pair.delta(epsilon) * NEAR
        assert claim.epsilon(pair.delta(epsilon)) >= epsilon * NEAR
    far = math.exp(2.0 * level) / (1.0 + math.exp(2.0 * level))
    group = Masses(np.array([far, 1.0 - far]), np.array([1.0 - far, far]))
    assert claim.group(2).delta(1.0) >= group.delta(1.0) * NEAR
    assert claim.renyi(3.0) >= pair.renyi(3.0) * NEAR
    assert claim.repeat(2).renyi(3.0) >= 2.0 * pair.renyi(3.0) * NEAR
    assert claim.compose(GaussianDP(0.1)).renyi(3.0) >= (pair.renyi(3.0) + 0.015) * NEAR


def stated_law() -> None:
    """A stated release costs what is stated, and its failure on top."""
    words = {"name": "a count", "source": "a page", "adjacency": Adjacency.REPLACE_ONE}
    gaussian = certify(StatedRelease(mu=0.5, failure=1e-3, **words))
    assert gaussian.delta(1.0) >= (Gaussians(0.5).delta(1.0) + 1e-3) * NEAR
    point = certify(StatedRelease(epsilon=0.8, delta=1e-3, **words))
    yes = math.exp(0.8) / (1.0 + math.exp(0.8))
    for epsilon in (0.0, 0.5, 0.8):
        inner = max(yes - math.exp(epsilon) * (1.0 - yes), 0.0)
        assert point.delta(epsilon) >= (1e-3 + (1.0 - 1e-3) * inner) * NEAR
    assert point.epsilon(1e-3) == 0.8


def position_law() -> None:
    """Linear losses in a fixed order: what each position leaks, alone and as a group."""
    run = described(batches="cyclic", schedule="eight")
    kept, push = 0.6, 2.0
    shifts = np.array([push * kept ** (7 - t) for t in range(8)])
    spread = math.sqrt(sum(kept ** (2 * t) for t in range(8)))
    for place, mu in enumerate(mu_by_position(run)):
        assert mu >= shifts[place::2].sum() / spread * NEAR
    assert mu_of_group(run, [0, 1]) >= shifts.sum() / spread * NEAR
    ones = np.zeros(8)
    found = mu_squared(np.log(shifts * 0 + push), ones, np.full(8, math.log(kept)))
    assert found >= (shifts.sum() / spread) ** 2 * NEAR


def prox_law() -> None:
    """Difference quotients of the prox itself."""
    points = np.linspace(-4.0, 4.0, 4001)[:, None]
    for domain, eta in ((MCP(weight=1.0, shape=2.0), 1.0), (Ridge(0.5), 1.0)):
        slopes = np.diff(domain.prox(points, eta)[:, 0]) / np.diff(points[:, 0])
        assert domain.lipschitz(eta) >= slopes.max() * (1.0 - 1e-9)


def coupling_law() -> None:
    """Linear chains: a distance, shrunk and covered by the noise of all steps."""

    def linear(distance: float, steps: list[tuple[float, float]]) -> float:
        variance = 0.0
        for slope, std in steps:
            distance, variance = slope * distance, slope**2 * variance + std**2
        return distance / math.sqrt(variance)

    steps = [(0.8, 1.0), (1.3, 0.5), (0.9, 2.0)]
    assert noisy_chain(2.0, steps).mu >= linear(2.0, steps) * NEAR
    for slope in (0.7, 1.0, 1.2):
        same = [(slope, 0.5)] * 5
        claimed = constant_chain(2.0, steps=5, lipschitz=slope, noise_std=0.5).mu
        assert claimed >= linear(2.0, same) * NEAR
        after = [(1.0, 1.0), *[(slope, 1.0)] * 4]
        one = per_index_sgd(4, gradient_gap=2.0, noise_std=1.0, contraction=slope).mu
        assert one >= linear(2.0, after) * NEAR
    assert iterated_gaussian(1.0, 0.6, 0.8).mu >= 1.0 * NEAR
    two = [(1.0, 0.6), (0.5, 0.8)]
    assert lipschitz_gaussian(1.0, 0.6, 0.8, lipschitz=0.5).mu >= linear(1.0, two) * NEAR


def kernel_law() -> None:
    """Two normal laws of which only a noisy report of the sign is seen."""
    kernel = MarkovKernel.randomized_response(1.0)
    claim = AmplifiedGuarantee(GaussianDP(1.0), kernel)
    right = math.e / (1.0 + math.e)
    rows = np.array([[right, 1.0 - right], [1.0 - right, right]])
    p, q = (np.array([1.0 - above, above]) for above in (special.ndtr(0.5), special.ndtr(-0.5)))
    pair = Masses(p @ rows, q @ rows)
    assert claim.delta(0.0) >= pair.delta(0.0) * NEAR
    gap = kernel.dobrushin * Gaussians(1.0).delta(0.0)
    assert claim.delta(0.0) >= gap * NEAR, "total variation is multiplied by the coefficient"
    assert claim.delta(claim.epsilon(0.05)) <= 0.05 * (1.0 + 1e-6)
    assert claim.renyi(1.01) >= pair.renyi(1.01) * NEAR
    # two points that attain the exact amplification at epsilon zero
    gap = Gaussians(1.0).delta(0.0)
    worst = [np.array([0.5 + side * gap / 2, 0.5 - side * gap / 2]) for side in (1, -1)]
    attained = Masses(worst[0] @ rows, worst[1] @ rows)
    assert claim.renyi(1.01) >= attained.renyi(1.01) * NEAR
    assert claim.repeat(3).delta(0.0) >= attained.delta(0.0) * NEAR
    assert claim.repeat(3).delta(claim.repeat(3).epsilon(0.05)) <= 0.05 * (1.0 + 1e-6)
    squared = Masses(*(np.outer(one, one).ravel() for one in (worst[0] @ rows, worst[1] @ rows)))
    assert claim.repeat(2).delta(0.0) >= squared.delta(0.0) * NEAR
    assert claim.repeat(2).group(2).delta(0.0) >= kernel.dobrushin * Gaussians(2.0).delta(0.0)
    assert claim.group(2).delta(0.0) >= kernel.dobrushin * Gaussians(2.0).delta(0.0) * NEAR
    assert claim.repeat(2).renyi(2.0) >= 2.0 * claim.renyi(2.0) * NEAR
    whole = bounded_gaussian(1.0, epsilon=0.0, delta=1.0, diameter=1.0, noise_std=1.0)
    assert whole >= Gaussians(1.0).delta(1.0) * NEAR


def profiles_law() -> None:
    """Gaussians composed through their profiles, and responses whose answers are counted."""
    two = ComposedDP(((GaussianDP(1.0), 1), (GaussianDP(1.0), 1)))
    three = two.compose(GaussianDP(1.0))
    for made, mu in ((two, math.sqrt(2.0)), (three, math.sqrt(3.0)), (two.repeat(2), 2.0)):
        exact = Gaussians(mu)
        assert made.delta(1.0) >= exact.delta(1.0) * NEAR
        assert exact.delta(made.epsilon(1e-3)) <= 1e-3 * (1.0 + 1e-6)
        assert made.renyi(2.0) >= exact.renyi(2.0) * NEAR
        assert made._as_renyi.renyi(2.0) >= exact.renyi(2.0) * NEAR
    assert two.group(2).delta(1.0) >= Gaussians(2.0 * math.sqrt(2.0)).delta(1.0) * NEAR
    assert composed_of((GaussianDP(1.0), two)).renyi(2.0) >= Gaussians(math.sqrt(3.0)).renyi(2.0)
    # a certain input: the report alone is seen, and it is a randomised response
    sure = AmplifiedGuarantee(GaussianDP(math.inf), MarkovKernel.randomized_response(1.0))
    right = math.e / (1.0 + math.e)
    pair = Masses(np.array([right, 1.0 - right]), np.array([1.0 - right, right]))
    assert sure.pure_epsilon >= 1.0 * NEAR
    assert sure.repeat(2).pure_epsilon >= 2.0 * NEAR
    assert sure.renyi(1.5) >= pair.renyi(1.5) * NEAR
    assert pure_renyi(1.5, 1.0) >= pair.renyi(1.5) * NEAR


def diffusion_law() -> None:
    """A linear drift far from the ends of its interval: a linear chain."""
    made = DiffusionMechanism(
        drift=lambda x: -x,
        spread=lambda x: 0.0 * x + 1.0,
        low=-60.0,
        high=60.0,
        sensitivity=1.0,
        time=1.0,
        drift_lipschitz=1.0,
        drift_contraction=1.0,
        spread_lipschitz=0.0,
        steps=16,
    )
    kept, variance, distance = 1.0 - 1.0 / 16, 0.0, 1.0
    for _ in range(16):
        distance, variance = kept * distance, kept**2 * variance + 2.0 / 16
    assert made.guarantee.mu >= distance / math.sqrt(variance) * NEAR
    turning = DiffusionMechanism(
        drift=lambda x: np.array([-x[1], x[0]]),
        dimension=2,
        sensitivity=1.0,
        time=16.0,
        drift_lipschitz=1.0,
        drift_contraction=0.0,
        steps=16,
    )
    noise = sum(2.0 * 2.0**k for k in range(16))  # a step turns, and grows by the root of two
    assert turning.guarantee.mu >= math.sqrt(2.0**16 / noise) * NEAR


def mirrors_law() -> None:
    """Free motion between mirrors, from both ends: densities by images."""
    made = DiffusionMechanism(
        drift=lambda x: 0.0 * x,
        low=0.0,
        high=1.0,
        sensitivity=1.0,
        time=0.1,
        drift_lipschitz=0.0,
        steps=2,
        adjacency="zero-out",
    )
    shown = 2.0 * np.arange(-8, 9)
    near, far = (sum(math.exp(-((y - s) ** 2) / 0.4) for s in shown) for y in (0.0, 1.0))
    assert certify(made.tabulated(100)).epsilon(0.0) >= math.log(near / far) * NEAR
    assert made.mu_at(0.2) >= 1.0 / math.sqrt(0.4) * NEAR


def discrete_law() -> None:
    """Noise on a grid far finer than itself is as good as normal noise, and no better."""
    run = described()
    noise = DiscreteGaussian.on_release(run, 2.0)
    assert noise.guarantee(noise.std, 1).renyi(2.0) >= Gaussians(1.0).renyi(2.0) * NEAR
    alone = exact_guarantee(run, 2.0, 1)
    assert alone is not None
    apart = 1.0 + 0.6  # what one record moves: linear losses, two steps
    assert alone.renyi(2.0) >= Gaussians(apart / noise.std).renyi(2.0) * NEAR


FAR = Target(1.0, 1.0, 1, laplacian_lipschitz=0.0)


def closeness_law() -> None:
    """A chain from afar, against the exact divergence from its target."""
    chain = Overdamped(FAR, 0.01, 600, PointStart(1000.0))
    table = closeness(chain)
    for way, values in (
        (Direction.CHAIN_FIRST, table.chain_first),
        (Direction.REFERENCE_FIRST, table.target_first),
    ):
        exact = max(exact_divergences(Question(chain, table.orders[1], way)))
        assert values[1] >= exact
        assert certify_distance(chain, order=2.0, direction=way).value >= exact * NEAR
    both = max(exact_divergences(Question(chain, 2.0, way))[0] for way in Direction)
    assert certify_closeness(chain, (2.0,)).renyi(2.0) >= both * NEAR


def posterior_law() -> None:
    """The same by way of a posterior whose minimiser is as far as its records allow."""
    steep = posterior(gradient_bound=1000.0, height_at_start=None)
    run = OverdampedRun(posterior=steep, step_size=0.01, steps=600)
    far = [max(exact_divergences(Question(run.chain, 2.0, way))) for way in Direction]
    assert max(closeness(run.chain).target_first[1], closeness(run.chain).chain_first[1]) >= max(
        far
    )
    assert distances(run, 2.0).value >= max(far)


def kinetic_law() -> None:
    """Underdamped samples of linear losses; the least energy that steers two chains together."""
    run = UnderdampedRun(posterior=posterior(), step_size=0.001, steps=3000, friction=4.0)
    (pair,) = sample_laws(run)
    made = certify_underdamped(run)
    assert made.delta(1.0) >= pair.delta(1.0) * NEAR
    assert made.mu is not None and made.mu >= pair.mu * NEAR
    assert made.guarantee.renyi(2.0) >= pair.renyi(2.0) * NEAR


def steering_law() -> None:
    """The cubic path that ends a gap of position and velocity, by plain quadrature."""
    chain = Underdamped(FAR, 0.01, 400, 4.0)
    x = kinetic_letters_of(chain)
    window = 25
    r, s = window * x.eta, (np.arange(20_000) + 0.5) / 20_000
    slopes = ((6.0 * s**2 - 6.0 * s) / r, 1.0 - 4.0 * s + 3.0 * s**2)
    bends = ((12.0 * s - 6.0) / r**2, (6.0 * s - 4.0) / r)
    starts = np.arange(window) / window
    at_starts = (1 - 3 * starts**2 + 2 * starts**3, r * (starts - 2 * starts**2 + starts**3))

    def cost(angle: float) -> float:
        e, g = math.cos(angle), math.sin(angle)
        position, velocity = (e - g) / x.gam, g  # the gaps that Psi = (e, g) stands for
        control = position * (bends[0] + x.gam * slopes[0]) + velocity * (
            bends[1] + x.gam * slopes[1]
        )
        drift = position * at_starts[0] + velocity * at_starts[1]
        both = math.sqrt(r * float(np.mean(control**2)))
        return both + x.mu * x.L * math.sqrt(x.eta * float(np.sum(drift**2)))

    worst = max(cost(angle) for angle in np.linspace(0.0, math.pi, 400))
    assert worst * 0.999 <= steering_cost(x, window) <= 1.5 * worst


def steered_law() -> None:
    """From afar the bound is the energy of steering what friction has left of the gap."""
    chain = Underdamped(FAR, 0.01, 400, 4.0, 1.0, PointStart(1e4))
    x = kinetic_letters_of(chain)
    kept = 1.0 - Contraction.of(x).gap
    left = (steering_cost(x, k) * kept ** (x.N - k) for k in range(1, x.N + 1, 7))
    energy = 0.5 * (min(left) * x.gam * x.r0) ** 2 / (2.0 * x.gam * x.mu)
    asked = Question(chain, 1.0, Direction.REFERENCE_FIRST)
    claim = claim_of(steered_kinetic(asked))
    assert isinstance(claim, float) and claim >= 0.99 * energy
    assert claim >= max(exact_divergences(asked))


def langevin_law() -> None:
    """Linear Langevin steps in closed form, from a fixed start."""
    S, tau, m, eta, K = 1.0, 0.5, 1.0, 0.1, 40
    mean = variance = 0.0
    for _ in range(K):
        kept = 1.0 - eta * m
        mean, variance = kept * mean + eta * S, kept**2 * variance + 2.0 * eta * tau
    rho = mean**2 / variance / 2.0
    common = {"gradient_sensitivity": S, "temperature": tau}
    run = {**common, "strong_convexity": m, "smoothness": m, "step_size": eta, "steps": K}
    own = {**common, "curvature": m, "step_size": eta, "steps": K}
    assert langevin.quadratic_law(**own) >= rho * NEAR
    assert langevin.strongly_convex(**run) >= rho * NEAR
    assert (
        langevin.strongly_convex(**run)
        >= S**2 / (m * tau) * (1 - math.exp(-m * eta * K / 2)) * NEAR
    )
    assert langevin.strongly_convex_fixed_start(**run) >= rho * NEAR
    step = langevin.LangevinStep(
        gradient_sensitivity=S, temperature=tau, step_size=eta, lipschitz=1.0 - eta * m, repeat=K
    )
    assert langevin.tracked_spread([step]) >= variance * NEAR
    assert langevin.tracked_bound([step]) >= rho * NEAR
    assert langevin.settled_constant(
        strong_convexity=m, smoothness=m, temperature=tau, step_size=eta
    ) <= (1.0 - (1.0 - eta * m) ** 2) / (2.0 * tau * eta)
    continuous = S**2 / (m * tau) * math.tanh(m * K * eta / 2.0)
    time = {**common, "time": K * eta}
    assert langevin.langevin_mu(**time, strong_convexity=m) ** 2 >= continuous * NEAR
    assert langevin.composition(**time) >= S**2 * K * eta / (4.0 * tau) * NEAR
    short = {**common, "time": 0.01, "constant": 1.0, "split": 0.5}
    assert langevin.fixed_split(**short) >= S**2 * 0.01 / (4.0 * tau) * NEAR
    assert langevin.contraction_gap(0.5, 1.0, 1.0) == Fraction(1, 2)
    before = RenyiDP.zcdp(1.0)
    kept = langevin.warm_start(
        2.0, before.renyi, **{**common, "time": 1e-9, "constant": 1e-9, "split": 0.5}
    )
    assert kept >= before.renyi(2.0) * (1.0 - 1e-6), "after no time nothing has faded"
    alike = described(schedule="eight")
    stated = tracked_log_sobolev(alike)
    assert stated.value <= 1.0 / widest(alike)
    assert stated.value >= 0.6 / widest(alike)


def distance_law() -> None:
    """Two linear runs with opposite records, driven by the same noise and batches."""
    run = described(batches="fixed", schedule="eight")
    follow = tracked_distances(run, 0, 1)
    apart = 0.0
    for step in range(1, 9):
        apart = 0.6 * apart + 2.0
        assert follow(step) >= apart * NEAR


def programme_law() -> None:
    """Short modulus programmes by brute force over what each step hides."""
    jump, bend, variance, distance = 0.5, 0.4, 2.0, 1.5

    def psi(w: float) -> float:
        return min(w + jump**2, (1.0 + bend**2) * w)

    def two(first: float) -> float:
        reached = math.sqrt(psi(distance**2)) - first
        return (first**2 + psi(max(reached, 0.0) ** 2)) / variance

    best = optimize.minimize_scalar(
        two, bounds=(0.0, math.sqrt(psi(distance**2))), method="bounded"
    )
    assert saddle_switch(jump, bend, variance, distance, 2)[0] >= best.fun * (1.0 - 1e-6)
    steps = Steps(np.zeros(3), np.zeros(3), np.full(3, variance))
    assert value(steps, distance) >= distance**2 / (3.0 * variance) * NEAR


def curvature_law() -> None:
    """The largest eigenvalue of the average curvature, by a plain sum over rows."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 3))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    top = np.linalg.eigvalsh(rows.T @ rows / len(rows) / 4.0)[-1]
    found = private_curvature(
        rows,
        Logistic(),
        feature_norm=1.0,
        gradient_bound=1.0,
        mu=1.0,
        failure_probability=1e-6,
        adjacency=Adjacency.REPLACE_ONE,
        generator=np.random.default_rng(7),
    )
    assert found.smoothness >= top


def tuned_law() -> None:
    """Guarantees that are tuned when asked: repeated, composed and for groups."""
    for chosen in ({"batches": "poisson"}, {"batches": "poisson", "domain": "narrow"}):
        run = described(**chosen)
        for verdict in certify(run).applicable:
            claim = verdict.guarantee
            single = max(law.renyi(2.0) for law in laws_of(run))
            assert claim.repeat(2).renyi(2.0) >= 2.0 * single * 0.98
            assert claim.repeat(3).renyi(2.0) >= 1.5 * claim.repeat(2).renyi(2.0) * 0.98
            assert claim.compose(GaussianDP(3.0)).renyi(2.0) >= 9.0 + single * 0.98
            assert claim.group(2).renyi(2.0) >= _two_links(claim.renyi, 2.0) * 0.98
            if isinstance(claim, Profile):  # what it adds up is what it says
                assert math.isclose(claim.repeat(2).renyi(2.0), 2.0 * claim.renyi(2.0))


def _two_links(curve: Callable[[float], float], order: float) -> float:
    """Two neighbours in a row, by Hoelder's inequality at the best exponent."""
    return min(
        (order - 1.0 / p) / (order - 1.0) * curve(p * order) + curve((p * order - 1.0) / (p - 1.0))
        for p in np.geomspace(1.2, 6.0, 12)
    )


def joined_law() -> None:
    """Sampled steps beside a guarantee that is known by its divergences only."""
    one = NumericalDP(((SampledGaussianStep(1.0, 1.0, Pair.ADD_OR_REMOVE), 1),))
    both = one.compose(RenyiDP.zcdp(0.02))
    assert both.renyi(2.0) >= (Gaussians(1.0).renyi(2.0) + 0.04) * NEAR
    assert RenyiDP.zcdp(0.02).compose(one).renyi(2.0) >= (Gaussians(1.0).renyi(2.0) + 0.04) * NEAR
    rare = NumericalDP(((SampledGaussianStep(1.5, 0.4, Pair.ADD_OR_REMOVE), 1),))
    assert rare.delta(20.0) >= _rare_delta(20.0, 1.5, 0.4)
    assert one.group(2).renyi(2.0) >= _two_links(Gaussians(1.0).renyi, 2.0) * 0.98


def chain_law() -> None:
    """Two links of a Gaussian chain are one of twice the distance."""
    links, pair = ChainDP(GaussianDP(1.0), 2), Gaussians(2.0)
    assert links.delta(1.0) >= pair.delta(1.0) * NEAR
    assert links.renyi(2.0) >= pair.renyi(2.0) * NEAR
    assert links.epsilon(0.05) >= exact_epsilon(pair, 0.05) * NEAR
    assert links.group(2).delta(1.0) >= Gaussians(4.0).delta(1.0) * NEAR
    assert links.repeat(2).renyi(2.0) >= 2.0 * pair.renyi(2.0) * NEAR
    assert links.compose(GaussianDP(1.0)).renyi(2.0) >= pair.renyi(2.0) + 1.0


def _rare_delta(epsilon: float, mu: float, rate: float) -> float:
    """Of one sampled normal step, far below what doubles can subtract."""
    with mpmath.workdps(80):
        odds = (mpmath.e**epsilon - 1 + rate) / rate
        place = mpmath.log(odds) / mu + mpmath.mpf(mu) / 2
        tail, moved = mpmath.ncdf(-place), mpmath.ncdf(mu - place)
        return float((1 - rate) * tail + rate * moved - mpmath.e**epsilon * tail)


def statistics_law() -> None:
    """One record of an adversarial table moves no statistic farther than its sensitivity."""
    for kind in STATISTICS.values():
        for adjacency in Adjacency:
            statistic = kind.of(schema_of(), adjacency=adjacency, columns=COLUMNS[kind.name])
            assert worst_distance(statistic, schema_of(), most=40) <= statistic.sensitivity


COLUMNS = {"mean": None, "counts": None} | dict.fromkeys(
    ("histogram", "covariance", "quantiles"), ("age", "height")
)

ROOM_LAWS: dict[str, Callable[[], None]] = {
    name.removesuffix("_law"): law
    for name, law in list(globals().items())
    if name.endswith("_law") and callable(law)
}
