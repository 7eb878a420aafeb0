"""What is true of one run was claimed of another; each claim below the truth, by its numbers.

The exact values come from chains of Gaussians, whose means and variances are followed step by step
here: two data sets, linear losses that pull in opposite directions, a shared curvature and a prox
that shrinks.  They share no code with the theorems.
"""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from wane import (
    Adjacency,
    Fact,
    FactKind,
    GradientNoise,
    InvalidDescription,
    NoisyDescent,
    Objective,
    Ridge,
    calibrate,
    certify,
    curve,
    tracked_log_sobolev,
)
from wane.certificates import (
    certificate_document,
    certificate_from_fields,
    certificate_to_fields,
)
from wane.cli.main import main
from wane.sampling import Losses, Posterior, certify_samples
from wane.sampling.posterior_samples import Wish, plan_posterior
from wane.verify import Outcome, verify

DELTA = 1e-5
GOLDEN = Path(__file__).parents[1] / "golden" / "0.1.0"


@dataclass(frozen=True)
class Chain:
    """`x' = shrink (keep x +- pull + noise)` from one point: means part, and the variance grows."""

    keep: float
    pull: float
    noise: float
    shrink: float = 1.0

    def mu(self, steps: int) -> float:
        """Exactly how far apart the two laws are, in deviations."""
        apart = variance = 0.0
        for _ in range(steps):
            apart = self.shrink * (self.keep * apart + 2.0 * self.pull)
            variance = self.shrink**2 * (self.keep**2 * variance + self.noise**2)
        return apart / math.sqrt(variance)

    def epsilon(self, steps: int, delta: float = DELTA) -> float:
        """Exactly epsilon at `delta`, from the normal distribution alone."""
        return gaussian_epsilon(self.mu(steps), delta)


def gaussian_epsilon(mu: float, delta: float = DELTA) -> float:
    def excess(epsilon: float) -> float:
        tail = norm.logcdf(-mu / 2 - epsilon / mu) + epsilon
        return norm.cdf(mu / 2 - epsilon / mu) - math.exp(tail) - delta

    return brentq(excess, 0.0, 10.0 * mu * (mu + 10.0), xtol=1e-12)


PULLED = NoisyDescent(
    objective=Objective(gradient_bound=0.2, ridge=1.0),
    records=1,
    steps=2000,
    step_size=0.1,
    noise=GradientNoise(1.0),
)
"""Linear losses +-0.2 x and a ridge: the log-Sobolev constant 19 is true of this run."""


def stated(run: NoisyDescent, constant: float) -> tuple[Fact, ...]:
    return (Fact.of(run, FactKind.LOG_SOBOLEV, constant),)


def pulled_epsilon(run: NoisyDescent) -> float:
    eta, s = run.step_size, float(run.gradient_noise_stds[0])
    return Chain(1.0 - eta, 0.2 * eta, eta * s).epsilon(run.steps)


def test_the_fact_is_used_for_its_own_run():
    found = certify(PULLED, facts=stated(PULLED, 19.0))
    assert found.epsilon(DELTA) == pytest.approx(9.66167, abs=1e-5)
    assert pulled_epsilon(PULLED) == pytest.approx(8.45308, abs=1e-5)
    assert found.epsilon(DELTA) < certify(PULLED).epsilon(DELTA)
    assert found.facts == stated(PULLED, 19.0)


@pytest.mark.parametrize(
    ("changes", "claimed", "exact"),
    [
        ({"noise": GradientNoise(1.4575721902171033)}, 4.000, 5.393),
        ({"noise": GradientNoise(1.2222670174346237)}, 6.000, 6.641),
        ({"step_size": 0.22941573393737597}, 3.666, 4.948),
    ],
)
def test_a_calibrated_run_does_not_keep_the_constant_of_the_run_before(changes, claimed, exact):
    """What was certified, and what is exact, at the settings that calibration returned."""
    run = replace(PULLED, **changes)
    assert pulled_epsilon(run) == pytest.approx(exact, abs=6e-4)
    found = certify(run, facts=stated(PULLED, 19.0))
    assert found.facts == ()
    assert found.epsilon(DELTA) >= pulled_epsilon(run) > claimed
    (theorem,) = [v for v in found.obstacles if v.analysis.name == "log_sobolev_dynamics"]
    assert "another run" in theorem.obstacles[0].because


@pytest.mark.parametrize(("over", "epsilon"), [("noise", 4.0), ("noise", 6.0), ("step-size", 4.0)])
def test_calibration_asks_each_run_for_its_own_facts(over, epsilon):
    """With a function of a run, calibration still meets its target, and truly."""
    known = replace(PULLED, objective=replace(PULLED.objective, smoothness=0.0))
    found = calibrate(
        known,
        epsilon=epsilon,
        delta=DELTA,
        over=over,
        facts=lambda run: (tracked_log_sobolev(run),),
    )
    assert pulled_epsilon(found.run) <= found.certificate.epsilon(DELTA) <= epsilon
    assert [fact.kind for fact in found.certificate.facts] == [FactKind.LOG_SOBOLEV]


def test_calibration_and_curves_take_no_fact_by_itself():
    for search in (
        lambda facts: calibrate(PULLED, epsilon=4.0, delta=DELTA, facts=facts),
        lambda facts: curve(PULLED, start=1, stop=4, points=2, facts=facts),
    ):
        with pytest.raises(InvalidDescription, match="function of a run"):
            search(stated(PULLED, 19.0))


WALK = NoisyDescent(
    objective=Objective(gradient_bound=0.05),
    records=1,
    steps=100,
    step_size=0.1,
    noise=GradientNoise(1.0),
)
"""A random walk: after 100 steps its variance is one, and grows for ever."""


def test_more_steps_do_not_keep_the_constant_of_fewer():
    """549,755,813,888 steps were said to cost 10.72; a million cost 5426."""
    walk = Chain(1.0, 0.005, 0.1)
    assert walk.epsilon(10**6) == pytest.approx(5425.5, abs=0.1)
    # mu = sqrt(steps)/10, and epsilon is about mu^2/2 for so many
    claimed_steps = 549_755_813_888
    assert claimed_steps / 100 / 2 == pytest.approx(2.7e9, rel=0.02)
    assert certify(WALK, facts=stated(WALK, 1.0)).epsilon(DELTA) < 10.72
    found = calibrate(WALK, epsilon=12.0, delta=DELTA, over="steps")
    assert found.limited
    assert walk.epsilon(found.run.steps) <= 12.0 < walk.epsilon(found.run.steps + 1)
    longer = replace(WALK, steps=10**6)
    exact = walk.epsilon(10**6) * (1 - 1e-9)  # a million additions
    assert certify(longer, facts=stated(WALK, 1.0)).epsilon(DELTA) >= exact
    along = curve(WALK, start=1, stop=10**6, points=3, delta=DELTA)
    assert along.best[-1] >= exact


SHRUNK = NoisyDescent(
    objective=Objective(gradient_bound=0.1, smoothness=0.0),
    records=1,
    steps=400,
    step_size=1.0,
    noise=GradientNoise(1.0),
    domain=Ridge(2**0.5 - 1),
)
BENT = 0.97 * 4.113 - 1.0
"""A shared concave part -BENT x^2/2, of which the prox with weight 3.113 leaves 0.97."""
CONCAVE = replace(
    SHRUNK,
    objective=Objective(gradient_bound=0.1, smoothness=BENT, strong_convexity=-BENT),
    domain=Ridge(3.113),
)


@pytest.mark.parametrize(
    ("run", "chain", "exact", "constant"),
    [
        (SHRUNK, Chain(1.0, 0.1, 1.0, 2**-0.5), 1.917, 0.5),
        (CONCAVE, Chain(1.0 + BENT, 0.1, 1.0, 1 / 4.113), 7.738, 0.0591),
    ],
)
def test_the_inequality_is_asked_of_the_law_before_the_prox(run, chain, exact, constant):
    """The iterates have the constant 1, for which 1.693 was claimed; the laws before have less."""
    assert chain.epsilon(run.steps) == pytest.approx(exact, abs=6e-4)
    fact = tracked_log_sobolev(run)
    assert fact.value == pytest.approx(constant, abs=1e-6)
    only = [a for a in certify(run).verdicts if a.analysis.name == "log_sobolev_dynamics"]
    found = certify(run, [only[0].analysis], facts=[fact])
    assert found.epsilon(DELTA) >= chain.epsilon(run.steps)
    if run is SHRUNK:
        assert found.epsilon(DELTA) == pytest.approx(2.484, abs=6e-4)


def test_no_law_before_the_prox_is_narrower_than_its_noise():
    """A contracting prox makes iterates narrower; that is no reason to claim more."""
    found = certify(SHRUNK, facts=stated(SHRUNK, 1.0 + 1e-8))
    assert "log_sobolev_dynamics" not in {v.analysis.name for v in found.applicable}


def test_a_planned_posterior_does_not_keep_the_constant_of_the_one_before():
    """Stated for 5 steps it is 1.4586; for 400 steps 1.758 was claimed, and 1.937 is exact."""
    losses = Losses(
        objective=Objective(gradient_bound=0.25, smoothness=0.0, strong_convexity=0.0), dimension=1
    )
    posterior = Posterior(losses=losses, records=1, prior_precision=1.0)
    chain = Chain(0.9, 0.025, math.sqrt(0.2))
    constant = 0.19 / (0.2 * (1 - 0.9**10))
    wish = Wish(epsilon=5.0, delta=DELTA, temperature=1.0, step_size=0.1, steps=400)
    planned = plan_posterior(posterior, wish)
    assert chain.epsilon(400) == pytest.approx(1.93685, abs=1e-5)
    assert certify_samples(planned).epsilon(DELTA) >= chain.epsilon(400) * (1 - 1e-9)
    early = posterior.descent(0.1, 5)
    found = certify(planned.descent, facts=stated(early, constant))
    assert "log_sobolev_dynamics" not in {v.analysis.name for v in found.applicable}


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize("bend", [-0.3, 0.0, 0.5, 1.0])
def test_the_tracked_constant_holds_for_every_data_set_that_the_adjacency_allows(adjacency, bend):
    """Parabolas of one curvature, of which one may be missing, or one more be there."""
    n, eta, s, start = 3, 0.7, 0.4, 0.2
    run = NoisyDescent(
        objective=Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=bend, clipped=True)
        if bend > 0
        else Objective(gradient_bound=1.0, smoothness=1.0, strong_convexity=bend),
        records=n,
        steps=30,
        step_size=eta,
        noise=GradientNoise(s),
        domain=Ridge(0.2),
        adjacency=adjacency,
    )
    counts = {"replace-one": [n], "zero-out": [n, n - 1], "add-remove": [n - 1, n, n + 1]}
    widest = 0.0
    for count in counts[adjacency.value]:
        for curvature in (bend if bend <= 0 else 0.0, 1.0):
            keep, variance = 1.0 - eta * curvature * count / n, start
            for _ in range(run.steps):
                before = keep**2 * variance + (eta * s) ** 2
                widest = max(widest, before)
                variance = before / (1 + eta * 0.2) ** 2
    assert tracked_log_sobolev(run, start_spread=start).value <= 1.0 / widest


def test_documents_carry_facts_with_their_hashes_and_verify_compares_them():
    facts = stated(SHRUNK, 0.5)
    document = certificate_document(certify(SHRUNK, facts=facts), delta=DELTA)
    assert document["facts"] == [facts[0].to_fields()]
    assert verify(document).verified
    moved = json.loads(json.dumps(document))
    moved["facts"][0]["about"] = Fact.of(CONCAVE, FactKind.LOG_SOBOLEV, 0.5).about
    found = verify(moved)
    assert not found.verified
    assert any("stated for another run" in words for words in found.contradictions)
    assert any(row.outcome is not Outcome.VERIFIED for row in found.checked)
    bare = {name: value for name, value in document.items() if name != "facts"}
    assert not verify(bare).verified


def test_a_document_of_version_0_1_0_that_kept_the_constant_is_not_verified(capsys):
    """Epsilon 4.000 was certified and confirmed; 5.393 is exact."""
    old = GOLDEN / "log-sobolev.json"
    document = json.loads(old.read_text(encoding="utf-8"))
    assert document["epsilon"] == pytest.approx(4.0, abs=1e-5)
    found = verify(document)
    assert not found.verified
    assert not found.count(Outcome.VERIFIED)
    assert "fact of one run" in found.contradictions[0]
    assert main(["verify", str(old)]) == 1
    assert "fact of one run" in capsys.readouterr().out


def test_ledgers_of_version_0_1_0_are_read_without_the_constant():
    document = json.loads((GOLDEN / "log-sobolev.json").read_text(encoding="utf-8"))
    row = {"releases": [{"run": document["description"]}], "voids": []}
    found = certificate_from_fields(row)
    assert found.epsilon(DELTA) >= 5.393
    assert certificate_from_fields(certificate_to_fields(found)).run == found.run


def test_releases_are_read_back_with_their_facts():
    found = certify(SHRUNK, facts=stated(SHRUNK, 0.5))
    again = certificate_from_fields(certificate_to_fields(found))
    assert again.facts == found.facts
    assert again.epsilon(DELTA) == found.epsilon(DELTA)


SPEC = """
kind = "noisy-descent"
records = 1
steps = 400
step_size = 1.0
noise = {{ gradient_std = 1.0 }}
{beside}
domain = {{ kind = "ridge", ridge = 0.41421356237309515 }}
[objective]
gradient_bound = 0.1
{inside}
"""


def test_a_file_states_the_fact_beside_the_run(tmp_path, capsys):
    spec = tmp_path / "run.toml"
    spec.write_text(SPEC.format(beside="log_sobolev = 0.5", inside=""))
    assert main(["certify", str(spec), "--delta", "1e-5", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["epsilon"] == pytest.approx(2.48407, abs=1e-5)
    assert verify(document).verified
    for verb in (
        ["curve", "--from", "1", "--to", "2"],
        ["calibrate", "--mu", "1", "--over", "noise"],
    ):
        assert main([verb[0], str(spec), *verb[1:]]) == 2
        assert "fact of one run" in capsys.readouterr().err


def test_a_file_with_the_fact_inside_the_objective_is_refused_with_the_cure(tmp_path, capsys):
    spec = tmp_path / "run.toml"
    spec.write_text(SPEC.format(beside="", inside="log_sobolev = 0.5"))
    assert main(["certify", str(spec)]) == 2
    said = capsys.readouterr().err
    assert "objective.log_sobolev must be absent" in said
    assert "at the top level" in said


def test_an_objective_has_no_such_constant():
    with pytest.raises(TypeError, match="log_sobolev"):
        Objective(gradient_bound=1.0, log_sobolev=1.0)


def test_facts_refuse_what_they_cannot_be():
    with pytest.raises(InvalidDescription, match="fingerprint of a run"):
        Fact(FactKind.LOG_SOBOLEV, 1.0, "this run")
    with pytest.raises(InvalidDescription, match="log_sobolev must be"):
        Fact.of(WALK, FactKind.LOG_SOBOLEV, 0.0)
    with pytest.raises(InvalidDescription, match="one number of each kind"):
        certify(WALK, facts=[*stated(WALK, 1.0), *stated(WALK, 0.5)])
    with pytest.raises(InvalidDescription, match="smoothness must be declared"):
        tracked_log_sobolev(WALK)
