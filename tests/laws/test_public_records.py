"""Steps on public records against exact laws: quadratics, mixtures of Gaussians, an interval."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import wane
from wane.audit.interval_law import AffineStep, IntervalPair
from wane.audit.lower_bound import lower_bound
from wane.audit.member_epsilon import GridLeak
from wane.certificates.document import certificate_document
from wane.describe.fields import run_from_fields, run_to_fields
from wane.run import descend, seeded_generator_voids_privacy
from wane.verify import verify


def described(rng: np.random.Generator, **changes: object) -> wane.NoisyDescent:
    """A run with public phases before, between and after the private ones."""
    m, M = np.sort(rng.uniform(0.0, 2.0, 2)).tolist()
    low, high = np.sort(rng.uniform(-0.5, 3.0, 2)).tolist()
    high = max(high, -low)
    phases = []
    for place in range(int(rng.integers(2, 6))):
        eta = float(rng.uniform(0.05, 0.8))
        noise = wane.GradientNoise(float(rng.uniform(0.05, 2.0)))
        kind = (
            "private"
            if place == 0
            else rng.choice(["private", "public", "idle"], p=[0.4, 0.4, 0.2])
        )
        phases.append(
            wane.Phase(int(rng.integers(1, 6)), eta, noise, kind == "idle", kind == "public")
        )
    phases.append(wane.Phase(int(rng.integers(1, 8)), 0.4, wane.GradientNoise(0.3), public=True))
    order = rng.permutation(len(phases))
    made = {
        "objective": wane.Objective(
            gradient_difference_bound=float(rng.uniform(0.1, 3.0)),
            smoothness=M,
            strong_convexity=m,
            ridge=float(rng.choice([0.0, 0.3])),
        ),
        "public": wane.PublicRecords(
            records=7, objective=wane.Objective(smoothness=high, strong_convexity=low)
        ),
        "records": 12,
        "schedule": wane.Schedule([phases[i] for i in order]),
    }
    return wane.NoisyDescent(**{**made, **changes})


def exact_mu(run: wane.NoisyDescent, bend: float, public_bend: float, position: int) -> float:
    """Two neighbours whose losses have these curvatures, and slopes that differ by the bound.

    Followed number by number from the update rule; no lemma of wane is used.
    """
    apart = variance = 0.0
    used = 0
    for phase, noise in zip(run.plan, run.gradient_noise_stds.tolist(), strict=True):
        for _ in range(phase.repeat):
            eta, shift, curved = phase.step_size, 0.0, 0.0
            if phase.public:
                curved = public_bend
            elif not phase.cool_down:
                curved = bend
                if used % run.steps_per_epoch == position:
                    slope = run.objective.gradient_difference_bound
                    assert slope is not None
                    shift = eta * slope / run.batch_size
                used += 1
            keep = 1.0 - eta * (curved + run.objective.ridge)
            apart, variance = keep * apart + shift, keep**2 * variance + (eta * noise) ** 2
    return abs(apart) / math.sqrt(variance)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("batches", [wane.FullBatch(), wane.Cyclic(4)])
def test_no_quadratic_leaks_more(seed: int, batches: wane.FullBatch | wane.Cyclic) -> None:
    rng = np.random.default_rng(seed)
    run = described(rng, batches=batches)
    claim = wane.certify(run).guarantee
    assert isinstance(claim, wane.GaussianDP)
    o, p = run.objective, run.on_public.objective
    for bend in np.linspace(o.strong_convexity, o.smoothness, 5):
        for public in np.linspace(p.strong_convexity, p.smoothness, 5):
            for position in range(run.steps_per_epoch):
                assert exact_mu(run, bend, public, position) <= claim.mu * (1.0 + 1e-12)


def test_the_claim_is_attained_and_public_steps_help() -> None:
    """One curvature for each kind of step: the programme is exact, within rounding."""
    phases = [
        wane.Phase(30, 0.5, wane.GradientNoise(0.1)),
        wane.Phase(8, 0.4, wane.GradientNoise(0.2), public=True),
    ]
    run = wane.NoisyDescent(
        objective=wane.Objective(
            gradient_difference_bound=2.0, smoothness=0.0, strong_convexity=0.0
        ),
        public=wane.PublicRecords(
            records=50, objective=wane.Objective(smoothness=1.0, strong_convexity=1.0)
        ),
        records=100,
        schedule=wane.Schedule(phases),
    )
    mu = wane.certify(run).guarantee.mu
    assert mu == pytest.approx(exact_mu(run, 0.0, 1.0, 0), rel=1e-12)
    without = replace(run, schedule=wane.Schedule(phases[:1]), public=None)
    assert mu < 0.1 * wane.certify(without).guarantee.mu
    found = lower_bound(run)
    assert found is not None and found.mu(1e-6) == pytest.approx(mu, rel=1e-3)
    # halving the public records' curvature must be noticed
    flatter = replace(
        run,
        public=wane.PublicRecords(
            records=50, objective=wane.Objective(smoothness=1.0, strong_convexity=0.5)
        ),
    )
    assert wane.certify(flatter).guarantee.mu > mu * 1.5


@pytest.mark.parametrize("seed", range(4))
def test_poisson_batches_then_public_steps(seed: int) -> None:
    """Linear private losses: the end is a mixture over which steps drew the record."""
    rng = np.random.default_rng(seed)
    steps, after = 3, int(rng.integers(1, 5))
    bend, noise = float(rng.uniform(0.2, 1.0)), float(rng.uniform(0.1, 0.4))
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, smoothness=0.0, strong_convexity=0.0),
        public=wane.PublicRecords(
            records=3, objective=wane.Objective(smoothness=bend, strong_convexity=bend)
        ),
        records=10,
        batches=wane.Poisson(4),
        adjacency=wane.Adjacency.ZERO_OUT,
        domain=wane.Diameter(1e3),
        schedule=wane.Schedule(
            [
                wane.Phase(steps, 0.5, wane.GradientNoise(noise)),
                wane.Phase(after, 0.5, wane.GradientNoise(noise), public=True),
            ]
        ),
    )
    keep = (1.0 - 0.5 * bend) ** after
    variance = steps * keep**2 + sum((1.0 - 0.5 * bend) ** (2 * k) for k in range(after))
    std = 0.5 * noise * math.sqrt(variance)
    rate = 0.4
    weights, means = [], []
    for drawn in itertools.product((0, 1), repeat=steps):
        weights.append(math.prod(rate if d else 1.0 - rate for d in drawn))
        means.append(keep * sum(drawn) * 0.5 / 4)

    def delta(epsilon: float) -> float:
        def excess(x: float) -> float:
            p = sum(w * stats.norm.pdf(x, m, std) for w, m in zip(weights, means, strict=True))
            return float(max(p - math.exp(epsilon) * stats.norm.pdf(x, 0.0, std), 0.0))

        return float(integrate.quad(excess, -10 * std, max(means) + 10 * std, limit=500)[0])

    claim = wane.certify(run).guarantee
    for epsilon in (0.1, 0.5, 1.0):
        assert delta(epsilon) <= claim.delta(epsilon) * (1.0 + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("batches", [wane.FullBatch(), wane.Poisson(2)])
def test_public_steps_in_an_interval(batches: wane.FullBatch | wane.Poisson) -> None:
    """A grid of the projected chain never leaks more than any theorem says."""
    eta, noise, bend = 0.5, 0.6, 0.8
    phases = [
        wane.Phase(4, eta, wane.GradientNoise(noise)),
        wane.Phase(3, eta, wane.GradientNoise(noise), public=True),
    ]
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=1.0, dimension=1, strong_convexity=0.0),
        public=wane.PublicRecords(
            records=3, objective=wane.Objective(smoothness=bend, strong_convexity=bend)
        ),
        records=4,
        batches=batches,
        adjacency=wane.Adjacency.ZERO_OUT,
        domain=wane.Box((-0.5,), (0.5,)),
        schedule=wane.Schedule(phases),
    )
    rate = 1.0 if isinstance(batches, wane.FullBatch) else 0.5
    move = eta / (4 if rate == 1.0 else 2)
    drawn = ((rate, move),) if rate == 1.0 else ((rate, move), (1.0 - rate, 0.0))
    private = AffineStep(1.0, drawn, eta * noise), AffineStep(1.0, ((1.0, 0.0),), eta * noise)
    quiet = AffineStep(1.0 - eta * bend, ((1.0, 0.0),), eta * noise)
    leak = GridLeak(IntervalPair(0.5, [private] * 4 + [(quiet, quiet)] * 3, 0.0))
    account = wane.certify(run)
    for delta in (1e-2, 1e-4):
        exact = leak.epsilon(delta, 0.0)
        for verdict in account.verdicts:
            if hasattr(verdict, "conclusion"):
                assert verdict.conclusion.epsilon(delta) >= exact, verdict.theorem.name


def test_fields_round_trip_and_files_name_losses(tmp_path: object) -> None:
    run = described(np.random.default_rng(0))
    written = run_to_fields(run)
    assert run_from_fields(json.loads(json.dumps(written))) == run
    assert written["public"]["records"] == 7
    alike = replace(run, public=wane.PublicRecords(records=7))
    assert alike.public is not None and alike.public.objective == replace(run.objective, ridge=0.0)
    steeper = replace(alike, objective=replace(alike.objective, smoothness=50.0))
    assert steeper.on_public.objective.smoothness == run.objective.smoothness


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"public": None}, "public must say how many"),
        ({"public": wane.PublicRecords(records=1), "schedule": None}, "phase with public = true"),
        ({"schedule": [wane.Phase(1, 0.1, wane.GradientNoise(1.0), public=True)]}, "uses records"),
    ],
)
def test_refusals(changes: dict[str, object], words: str) -> None:
    run = described(np.random.default_rng(0))
    if changes.get("schedule", 1) is None:
        changes = {**changes, "steps": 1, "step_size": 0.1, "noise": wane.GradientNoise(1.0)}
    with pytest.raises(wane.InvalidDescription, match=words):
        replace(run, **changes)  # type: ignore[arg-type]


def test_a_phase_has_records_or_none_and_ridge_is_the_runs() -> None:
    with pytest.raises(wane.InvalidDescription, match="cool_down must be absent"):
        wane.Phase(1, 0.1, wane.GradientNoise(1.0), cool_down=True, public=True)
    with pytest.raises(wane.InvalidDescription, match="ridge"):
        wane.PublicRecords(records=1, objective=wane.Objective(ridge=0.1))


def test_theorems_refuse_in_words_what_they_cannot_treat() -> None:
    """Without a Lipschitz constant of the public steps only composition is left."""
    run = described(np.random.default_rng(3))
    bare = replace(run, public=wane.PublicRecords(records=7, objective=wane.Objective()))
    account = wane.certify(bare)
    assert account.best().theorem.name == "gaussian_composition"
    assert "public.objective.smoothness" in wane.certify(bare).explain()


def test_documents_of_such_runs_are_proven_again() -> None:
    run = described(np.random.default_rng(5))
    for other in (run, replace(run, domain=wane.Ball(radius=1.0))):
        made = certificate_document(wane.certify(other), delta=1e-6)
        assert verify(made).verified


class Sums:
    """Quadratics `bend/2 |x|^2 + <slope, x>`, the first record with another slope."""

    def __init__(self, records: int, bend: float, bound: float) -> None:
        self.records, self.bend, self.gradient_bound, self.shape = records, bend, bound, (2,)

    def __call__(self, parameters: np.ndarray, rows: slice) -> np.ndarray:
        count = len(range(*rows.indices(self.records)))
        return np.asarray(count * self.bend * parameters + 1.0)


def test_the_certified_object_runs_step_by_step() -> None:
    """Every step is the rule, public ones with the public records; a plain loop agrees."""
    phases = [
        wane.Phase(2, 0.5, wane.GradientNoise(0.1)),
        wane.Phase(2, 0.4, wane.GradientNoise(0.0), public=True),
        wane.Phase(1, 0.2, wane.GradientNoise(0.1), cool_down=True),
    ]
    run = wane.NoisyDescent(
        objective=wane.Objective(gradient_bound=9.0, smoothness=1.0, ridge=0.25),
        public=wane.PublicRecords(
            records=3, objective=wane.Objective(gradient_bound=9.0, smoothness=2.0)
        ),
        records=4,
        schedule=wane.Schedule(phases),
    )
    private, public = Sums(4, 0.5, 9.0), Sums(3, 2.0, 9.0)
    made = descend(run, private, public=public, generator=seeded_generator_voids_privacy(1))
    noise = seeded_generator_voids_privacy(1)
    x = np.zeros(2)
    for phase in phases:
        for _ in range(phase.repeat):
            drift = 0.25 * x
            if phase.public:
                drift = drift + 2.0 * x + 1.0 / 3
            elif not phase.cool_down:
                drift = drift + 0.5 * x + 1.0 / 4
            x = x - phase.step_size * (drift + phase.noise.value * noise.standard_normal(2))
    assert made == pytest.approx(x, abs=0.1 * 2.0**-9)
    with pytest.raises(wane.InvalidDescription, match="public must be the sums"):
        descend(run, private)
    with pytest.raises(wane.InvalidDescription, match="3"):
        descend(run, private, public=Sums(5, 2.0, 9.0))
    with pytest.raises(wane.InvalidDescription, match="bounded by"):
        descend(run, private, public=Sums(3, 2.0, 10.0))
