"""The change that would help most: what is told is what certifying the changed run says."""

import json
from dataclasses import replace

import pytest

import wane
from wane.certificates import certify, change_fields, changes
from wane.certificates.changes import MOST_PHASES
from wane.cli import main
from wane.describe.fields import run_from_fields, run_to_fields

DELTA = 1e-5
OBJECTIVE = wane.Objective(gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0)
RUN = wane.NoisyDescent(
    objective=OBJECTIVE,
    records=1000,
    steps=400,
    step_size=1.0,
    noise=wane.NoiseMultiplier(4.0),
    batches=wane.Cyclic(50),
)
RUNS = {
    "cyclic": RUN,
    "every iterate": replace(RUN, release=wane.EveryIterate()),
    "Poisson": replace(RUN, batches=wane.Poisson(50)),
    "full": replace(RUN, batches=wane.FullBatch(), noise=wane.NoiseMultiplier(40.0)),
    "ridge": replace(RUN, objective=replace(OBJECTIVE, ridge=0.2)),
    "gradient noise": replace(RUN, noise=wane.GradientNoise(0.1)),
    "zero-out": replace(RUN, adjacency=wane.Adjacency.ZERO_OUT),
    "nothing declared": replace(RUN, objective=wane.Objective(gradient_bound=1.0)),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_every_change_lowers_epsilon_to_what_is_told_and_the_best_comes_first(run):
    now, found = certify(run).epsilon(DELTA), changes(run, DELTA)
    assert [c.epsilon for c in found] == sorted(c.epsilon for c in found)
    for change in found:
        assert change.epsilon == certify(change.run).epsilon(DELTA) < now
        assert change.run != run and change.words


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_no_change_declares_more_of_the_losses_or_protects_others(run):
    for change in changes(run, DELTA):
        assert replace(change.run.objective, ridge=run.objective.ridge) == run.objective
        assert change.run.objective.ridge >= run.objective.ridge
        assert change.run.adjacency is run.adjacency and change.run.records == run.records
        assert change.run.domain == run.domain and change.run.total_steps == run.total_steps
        assert {phase.noise for phase in change.run.plan} == {phase.noise for phase in run.plan}


def test_what_is_known_to_help_is_found():
    assert "Poisson batches" in changes(RUN, DELTA)[0].words
    assert "ridge (weight decay) of 0.05" in changes(RUNS["Poisson"], DELTA)[0].words
    assert any("last iterate only" in c.words for c in changes(RUNS["every iterate"], DELTA))
    assert any("twice as large" in c.words for c in changes(RUNS["gradient noise"], DELTA))


def test_a_certificate_for_people_is_told_their_epsilon():
    mine = certify(RUN).for_persons(2)
    best = mine.best_change(DELTA)
    assert best.epsilon == certify(best.run).for_persons(2).epsilon(DELTA) < mine.epsilon(DELTA)


def test_long_plans_and_void_or_joint_certificates_have_no_change():
    phases = [wane.Phase(1, 1.0 / k, wane.NoiseMultiplier(4.0)) for k in range(1, MOST_PHASES + 2)]
    long = replace(RUN, steps=None, step_size=None, noise=None, schedule=wane.Schedule(phases))
    assert changes(long, DELTA) == []
    made = certify(RUN)
    assert made.void(["a seed"]).best_change() is None
    assert made.compose(made).best_change() is None


def test_explain_says_what_applies_first_and_then_the_change():
    text = certify(RUN).explain(DELTA).splitlines()
    kinds = [line[:6] for line in text[1:-1] if line[:5] in ("  yes", "  no ")]
    assert kinds == sorted(kinds, reverse=True), "what applies comes first"
    told = [float(line.split("epsilon = ")[1].split()[0]) for line in text if line[:5] == "  yes"]
    assert len(told) > 1 and told == sorted(told)
    assert "their squares add up" in "\n".join(text)
    (change,) = [line for line in text if line.startswith("The one change that would help most")]
    assert "draw Poisson batches" in change
    assert text.index(change) == next(i for i, line in enumerate(text) if line[:5] == "  no ") - 1


def test_the_command_writes_the_change_and_its_description(capsys, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(run_to_fields(RUN)))
    assert main(["explain", str(path), "--delta", "1e-5", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["best_change"]
    best = changes(RUN, DELTA)[0]
    assert made == change_fields(best)
    assert certify(run_from_fields(made["description"])).epsilon(DELTA) == made["epsilon"]
    assert change_fields(None) is None
