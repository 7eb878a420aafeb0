"""Mechanisms face exact laws of concrete diffusions, chains and kernels, written from scratch."""

import math
from dataclasses import fields

import numpy as np
import pytest
from scipy import stats

from laws.catalogue import CATALOGUE, measured
from laws.line import QUADRATURE, Line, Prox, Steps, TooFine, gauss, hockey_stick
from wane.mechanisms import (
    BrownianMechanism,
    DiffusionMechanism,
    IteratedLaplace,
    MarkovKernel,
    NestedRelease,
    OrnsteinUhlenbeckMechanism,
    constant_chain,
    gradient_contraction,
    iterated_gaussian,
    lipschitz_gaussian,
    noisy_chain,
    per_index_sgd,
)

CURVED = ("hills", "parabolas", "waves", "wells", "log_cosh", "smooth_links", "sums", "one_curved")
EXACT = 1e-9


def positive(rng, low: float = -1.0, high: float = 1.0) -> float:
    return float(10 ** rng.uniform(low, high))


def moved_together(distance: float, steps) -> float:
    """The exact mu of two starts after linear maps with noise."""
    variance = 0.0
    for slope, std in steps:
        distance, variance = slope * distance, slope**2 * variance + std**2
    return distance / math.sqrt(variance)


def test_linear_maps_attain_the_formulas_of_chains():
    rng = np.random.default_rng(0)
    for _ in range(200):
        steps = [(positive(rng, -0.5, 0.3), positive(rng)) for _ in range(int(rng.integers(1, 7)))]
        distance = positive(rng)
        exact = moved_together(distance, steps)
        assert exact * (1 - EXACT) <= noisy_chain(distance, steps).mu <= exact * (1 + EXACT)
        (slope, std), count = steps[0], len(steps)
        exact = moved_together(distance, [(slope, std)] * count)
        claim = constant_chain(distance, steps=count, lipschitz=slope, noise_std=std).mu
        assert exact * (1 - EXACT) <= claim <= exact * (1 + EXACT)
        first = positive(rng)
        exact = slope * distance / math.hypot(slope * first, std)
        claim = lipschitz_gaussian(distance, first, std, lipschitz=slope).mu
        assert exact * (1 - EXACT) <= claim <= exact * (1 + EXACT)
        exact = distance / math.sqrt(first**2 + std**2)
        assert iterated_gaussian(distance, first, std).mu == pytest.approx(exact, rel=EXACT)
        # a record used once: its step moves two runs apart, the later ones bring them together
        eta = positive(rng)
        later = [(slope, eta * std)] * count
        variance = (eta * std) ** 2
        apart = eta * distance
        for factor, noise in later:
            apart, variance = factor * apart, factor**2 * variance + noise**2
        claim = per_index_sgd(count, gradient_gap=distance, noise_std=std, contraction=slope).mu
        exact = apart / math.sqrt(variance)
        assert exact * (1 - EXACT) <= claim <= exact * (1 + EXACT)


def test_gradient_steps_bring_two_starts_together_as_certified():
    """Concrete losses on an interval; constants by their definition, two starts, equal steps."""
    rng, met, worst = np.random.default_rng(1), 0, 0.0
    while met < 60:
        drawn = CATALOGUE[str(rng.choice(CURVED))](rng)
        B = drawn.half_width
        true = measured(drawn, ("smoothness", "strong_convexity"))
        m, M = true["strong_convexity"], true["smoothness"]
        eta, std = positive(rng, -1, 0.3) / max(M, 1e-3), B * positive(rng, -0.9, 0.3)
        count = int(rng.integers(1, 8))
        line = Line(
            losses=drawn.losses,
            clip=None,
            ridge=0.0,
            prox=Prox(-B, B),
            plan=(Steps(count, eta, std),),
            kind="full",
            records=1,
            size=1,
            seen=frozenset({count}),
        )
        try:
            states = line.states
        except TooFine:
            continue
        pairs = rng.integers(len(states), size=(30, 2))
        pairs[0] = len(states) - 2, len(states) - 1
        slope = gradient_contraction(eta, strong_convexity=m, smoothness=M)
        laws = [line.law((0,), pairs[:, i]) for i in (0, 1)]
        for epsilon in (0.0, 0.5):
            exact = hockey_stick(*laws, epsilon) - QUADRATURE
            for gap, leak in zip(
                np.abs(states[pairs[:, 0]] - states[pairs[:, 1]]), exact, strict=True
            ):
                chain = noisy_chain(float(gap), [(slope, std)] * count).delta(epsilon)
                equal = constant_chain(float(gap), steps=count, lipschitz=slope, noise_std=std)
                assert leak <= chain and leak <= equal.delta(epsilon), (drawn, eta, std, count)
                worst = max(worst, leak / chain if chain > 1e-3 else 0.0)
        met += 1
    assert worst > 0.9


def folded(line_nodes, mean, std: float, low: float, high: float):
    """Densities at nodes after a normal step that is reflected at both ends."""
    width, made = high - low, 0.0
    for k in range(-4, 5):
        for image in (line_nodes + 2 * k * width, 2 * low - line_nodes + 2 * k * width):
            made = made + stats.norm.pdf(image[None, :], mean[:, None], std)
    return made


def test_reflected_diffusions_are_as_private_as_certified():
    """Drifts are slopes of concrete losses; the chain that runs, step by step."""
    rng, met, worst = np.random.default_rng(2), 0, 0.0
    at, weights = gauss(120)
    while met < 50:
        drawn = CATALOGUE[str(rng.choice(CURVED))](rng)
        B, loss = drawn.half_width, drawn.losses[0]
        one = measured(type(drawn)(drawn.name, (loss,), B, {}), ("smoothness", "strong_convexity"))
        steps, spread = int(rng.integers(1, 9)), B * positive(rng, -0.5, 0.5)
        time = positive(rng, -1.0, 0.5) / max(one["smoothness"], 0.1)
        sensitivity = B * float(rng.uniform(0.2, 2.0))
        std = math.sqrt(2 * time / steps) * spread
        if not 0.12 * B < std < 2 * B:
            continue
        mechanism = DiffusionMechanism(
            drift=lambda x, loss=loss: -loss.slope(x),
            spread=lambda x, spread=spread: np.full(np.shape(x), spread),
            low=-B,
            high=B,
            sensitivity=sensitivity,
            time=time,
            drift_lipschitz=one["smoothness"] * (1 + 1e-9),
            drift_contraction=one["strong_convexity"] if rng.random() < 0.7 else None,
            spread_lipschitz=0.0,
            steps=steps,
        )
        nodes, w = B * at, B * weights
        eta = time / steps
        starts = np.linspace(-B, B, 41)
        law = folded(nodes, starts - eta * loss.slope(starts), std, -B, B) * w
        kernel = folded(nodes, nodes - eta * loss.slope(nodes), std, -B, B) * w
        for _ in range(steps - 1):
            law = law @ kernel
        law = law / law.sum(axis=1, keepdims=True)
        far = max(1, int(sensitivity / (starts[1] - starts[0])))
        if far > 40:
            continue
        for epsilon in (0.0, 0.5):
            # positive parts at nodes are not smooth: their quadrature is good to about 1e-3
            exact = float(np.max(hockey_stick(law[:-far], law[far:], epsilon))) - 3e-3
            claim = mechanism.guarantee.delta(epsilon)
            assert exact <= claim, (drawn, mechanism)
            worst = max(worst, exact / claim if claim > 0.05 else 0.0)
        met += 1
    assert worst > 0.8


def test_linear_diffusions_are_gaussian():
    """Brownian and mean-reverting paths: levels alone, and coalitions by their joint law."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        scale, pull, sensitivity = positive(rng), positive(rng), positive(rng)
        times = np.sort([positive(rng, -1, 0.5) for _ in range(3)])
        kinds = (
            (BrownianMechanism, {}, 0.0),
            (OrnsteinUhlenbeckMechanism, {"reversion": pull}, pull),
        )
        for kind, more, reversion in kinds:
            mechanism = kind(
                sensitivity=sensitivity, time=float(times[0]), diffusion_scale=scale, **more
            )
            decay = np.exp(-reversion * times)
            if reversion:
                spread = scale**2 * -np.expm1(-2 * reversion * times) / reversion
            else:
                spread = 2 * scale**2 * times
            exact = sensitivity * decay / np.sqrt(spread)
            release = NestedRelease(
                mechanism, {f"level {i}": float(t) for i, t in enumerate(times)}
            )
            for i, level in enumerate(exact):
                assert level * (1 - EXACT) <= release.guarantee(f"level {i}").mu
            assert exact[0] * (1 - EXACT) <= mechanism.guarantee.mu <= exact[0] * 1.01
            # covariance of two times: that of the earlier, carried on
            cov = np.array(
                [
                    [
                        spread[min(i, j)] * np.exp(-reversion * abs(times[i] - times[j]))
                        for j in (0, 1, 2)
                    ]
                    for i in (0, 1, 2)
                ]
            )
            shift = sensitivity * decay
            joint = math.sqrt(shift @ np.linalg.solve(cov, shift))
            assert joint * (1 - 1e-6) <= release.worst_case.mu
            pair = np.ix_([1, 2], [1, 2])
            two = math.sqrt(shift[1:] @ np.linalg.solve(cov[pair], shift[1:]))
            assert two * (1 - 1e-6) <= release.coalition(["level 1", "level 2"]).mu


def test_laplace_noise_added_twice():
    rng = np.random.default_rng(4)
    x = np.linspace(-80, 80, 160_001)
    step = x[1] - x[0]
    for _ in range(12):
        a, b = positive(rng, -0.3, 0.5), positive(rng, -0.3, 0.5)
        if abs(a - b) < 0.05 * a:
            continue
        sensitivity = positive(rng, -0.5, 0.5)

        def density(y, a=a, b=b):
            y = np.abs(y)
            return (a * np.exp(-y / a) - b * np.exp(-y / b)) / (2 * (a * a - b * b))

        p, q = density(x), density(x - sensitivity)
        made = IteratedLaplace(sensitivity, a, b)
        for order in (1.5, 4.0, 12.0):
            exact = math.log(np.sum(p**order * q ** (1 - order)) * step) / (order - 1)
            assert exact * (1 - 1e-4) - 1e-5 <= made.renyi(order), (a, b, sensitivity, order)
        assert float(np.max(np.log(p / q))) <= made.pure_epsilon * (1 + 1e-9)


def test_kernels_amplify_as_certified():
    """Any two laws that are (epsilon, delta)-close, pushed through a random kernel."""
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(150):
        inputs, outputs = (int(k) for k in rng.integers(2, 6, size=2))
        matrix = rng.dirichlet(np.full(outputs, positive(rng, -0.7, 0.7)), size=inputs)
        p, q = rng.dirichlet(np.full(inputs, 0.5), size=2)
        epsilon = float(rng.choice([0.0, 0.3, 1.0]))
        delta = float(hockey_stick(p[None], q[None], epsilon)[0])
        if not 1e-6 < delta < 1:
            continue
        kernel = MarkovKernel(matrix)
        made = kernel.amplify(epsilon=epsilon, delta=delta * (1 + 1e-12))
        for field, claim in zip(
            fields(made), [getattr(made, f.name) for f in fields(made)], strict=True
        ):
            exact = float(hockey_stick((p @ matrix)[None], (q @ matrix)[None], claim.epsilon)[0])
            assert exact <= claim.delta + 1e-12, (field.name, matrix, p, q)
            if field.name == "exact" and claim.delta > 1e-3:
                worst = max(worst, exact / claim.delta)
        for at in (0.0, 0.5):
            before = float(hockey_stick(p[None], q[None], at)[0])
            exact = float(hockey_stick((p @ matrix)[None], (q @ matrix)[None], at)[0])
            (claim,) = kernel.amplified_profile([at], [min(1.0, before * (1 + 1e-12))])
            assert exact <= claim + 1e-12
    assert worst > 0.9
