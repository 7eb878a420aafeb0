"""A prox of one's own: the catalogue's numbers from the same facts, and lies found when it runs."""

from __future__ import annotations

import copy
import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest

import wane
from runs import make_run
from trust.documents import valid
from wane.certificates import certificate_document
from wane.cli import main
from wane.describe.domains import (
    Ball,
    Box,
    ElasticNet,
    Lasso,
    OwnProx,
    Product,
    Ridge,
    Unbounded,
    WithRidge,
    from_fields,
    to_fields,
)
from wane.describe.fields import run_from_fields, run_to_fields
from wane.documents import check_document
from wane.errors import InvalidDescription
from wane.report import html_page
from wane.run.descent import safe_prox


def soft(point, step_size):
    """The prox of 0.3 |x|_1, written out."""
    return np.sign(point) * np.maximum(np.abs(point) - 0.3 * step_size, 0.0)


def elastic(point, step_size):
    return soft(point, step_size) / (1.0 + 0.5 * step_size)


def ball(point, step_size):
    return point / max(1.0, float(np.linalg.norm(point)) / 2.0)


def tent(point, step_size):
    """The prox of max(|x| - 1, 0)^2: 0 inside of [-1, 1], a pull beyond."""
    far = np.abs(point) - 1.0
    return np.where(far > 0.0, np.sign(point) * (1.0 + far / (1.0 + 2.0 * step_size)), point)


SAME = {
    "soft threshold": (OwnProx("soft"), Lasso(0.3), soft),
    "elastic": (OwnProx("elastic", strong_convexity=0.5), ElasticNet(0.3, 0.5), elastic),
    "ridge": (OwnProx("r", strong_convexity=0.7), Ridge(0.7), lambda x, eta: x / (1 + 0.7 * eta)),
    "ball": (OwnProx("ball", diameter=4.0, projection=True), Ball(2.0), ball),
    "box": (
        OwnProx("box", diameter=2.0, dimension=1, projection=True),
        Box(-1.0, 1.0, dimension=1),
        lambda x, _: np.clip(x, -1.0, 1.0),
    ),
    "with a ridge": (
        WithRidge(OwnProx("ball", diameter=4.0, projection=True), 0.25),
        WithRidge(Ball(2.0), 0.25),
        None,
    ),
    "a product": (
        Product((OwnProx("e", strong_convexity=0.5), Unbounded()), (2, 1)),
        Product((ElasticNet(0.3, 0.5), Unbounded()), (2, 1)),
        None,
    ),
}
BATCHES = (wane.FullBatch(), wane.Cyclic(10), wane.Poisson(10), wane.WithoutReplacement(10))


def described(domain, batches):
    """A small run; in a set its losses are neither smooth nor convex, too."""
    return make_run(records=100, steps=30, step_size=0.8, batches=batches, domain=domain)


@pytest.mark.parametrize("batches", BATCHES, ids=lambda b: b.kind)
@pytest.mark.parametrize("name", SAME)
def test_the_catalogue_gives_the_same_number(name, batches):
    mine, listed, _ = SAME[name]
    own, theirs = wane.certify(described(mine, batches)), wane.certify(described(listed, batches))
    assert own.epsilon(1e-5) == theirs.epsilon(1e-5)
    assert {v.theorem.name for v in own.applicable} == {v.theorem.name for v in theirs.applicable}


@pytest.mark.parametrize("name", ["elastic", "ball"])
def test_what_is_not_declared_never_helps(name):
    mine, _, _ = SAME[name]
    run = described(OwnProx("nothing known"), wane.FullBatch())
    assert wane.certify(run).mu == wane.certify(replace(run, domain=Unbounded())).mu
    assert wane.certify(run).mu >= wane.certify(replace(run, domain=mine)).mu
    with pytest.raises(wane.NoTheoremApplies, match="unbounded"):
        wane.mixing.mixing(run, 0.1)


@pytest.mark.parametrize("seed", range(10))
def test_no_quadratic_leaks_more_through_a_prox_that_contracts(seed):
    """x' = (x - eta (k x + shift + noise))/(1 + eta m), and a last step: its law is Gaussian."""
    rng = np.random.default_rng(seed)
    low, high = np.sort(rng.uniform(0.0, 2.0, 2)).tolist()
    m, eta = float(rng.uniform(0.0, 2.0)), float(rng.uniform(0.05, 0.5))
    run = wane.NoisyDescent(
        objective=wane.Objective(
            gradient_difference_bound=2.0, smoothness=high, strong_convexity=low
        ),
        records=10,
        steps=int(rng.integers(1, 40)),
        step_size=eta,
        noise=wane.GradientNoise(0.5),
        domain=OwnProx("a ridge", strong_convexity=m),
    )
    for share in (0.0, 0.5, 1.0):
        keep = 1.0 - eta * (low + share * (high - low))
        gap = variance = 0.0
        for _ in range(run.steps):
            gap = (keep * gap + eta * 0.2) / (1.0 + eta * m)
            variance = (keep**2 * variance + (eta * 0.5) ** 2) / (1.0 + eta * m) ** 2
        exact = gap / math.sqrt(variance)
        assert wane.certify(run).mu >= exact * (1.0 - 1e-12)
    if low == high or run.steps == 1:
        assert wane.certify(run).mu <= exact * (1.0 + 1e-9)


@pytest.mark.parametrize("name", [name for name, (*_, function) in SAME.items() if function])
def test_what_runs_is_the_function(name):
    mine, listed, function = SAME[name]
    points = np.linspace(-9.0, 9.0, 30).reshape(10, 3)[:, : mine.dimension or 3]
    runnable = mine.computed_by(function)
    assert runnable == mine and hash(runnable) == hash(mine)
    for step_size in (0.1, 0.8, 5.0):
        expected = listed.prox(points, step_size)
        assert np.allclose(runnable.prox(points, step_size), expected, atol=1e-12)
        one = pickle.loads(pickle.dumps(mine)).computed_by(function).prox(points[0], step_size)
        assert np.allclose(one, expected[0], atol=1e-12)
    assert np.allclose(copy.deepcopy(runnable).prox(points, 0.5), listed.prox(points, 0.5))


def test_inside_of_others_it_runs_as_well():
    mine = OwnProx("tent").computed_by(tent)
    assert np.allclose(Product((mine, Unbounded()), (1, 1)).prox([3.0, 3.0], 0.5), [2.0, 3.0])
    pulled = WithRidge(mine, 1.0).prox(np.array([6.0]), 1.0)
    assert np.allclose(pulled, [2.0])  # 3 at half the step: 1 + 2/(1 + 1)


class Sums:
    """Records whose gradients are constant."""

    records, shape, gradient_bound = 100, (3,), 1.0

    def __call__(self, parameters, rows):
        return np.full(3, 0.1) * (rows.stop - rows.start if isinstance(rows, slice) else len(rows))


def test_a_run_is_that_of_the_catalogue():
    drawn = []
    for domain in (Lasso(0.3), OwnProx("soft").computed_by(soft)):
        run = described(domain, wane.FullBatch())
        run = replace(run, objective=replace(run.objective, gradient_bound=1.0))
        drawn.append(wane.run.descend(run, Sums(), generator=np.random.default_rng(3)))
    assert np.array_equal(*drawn)
    with pytest.raises(InvalidDescription, match="computed_by"):
        wane.run.descend(replace(run, domain=OwnProx("soft")), Sums())


def test_a_run_is_not_saved_on_the_way(tmp_path):
    """A file could be taken up with another function, which would share its noise."""
    run = described(OwnProx("soft").computed_by(soft), wane.FullBatch())
    checkpoint = wane.run.Checkpoint(tmp_path / "saved", key=bytes(32))
    with pytest.raises(InvalidDescription, match="prox of one's own"):
        wane.run.descend(run, Sums(), checkpoint=checkpoint)


LIES = {
    "expands": (OwnProx("x"), lambda x, _: 1.01 * x, "convex function"),
    "jumps": (OwnProx("x"), lambda x, _: x * (np.abs(x) > 0.5), "convex function"),
    "turns": (OwnProx("x"), lambda x, _: x[::-1] * np.array([1.0, -1.0]), "convex function"),
    "reflects": (OwnProx("x"), lambda x, _: -x, "convex function"),
    "normalises": (OwnProx("x"), lambda x, _: x / (np.linalg.norm(x) or 1.0), "convex function"),
    "contracts less": (OwnProx("x", strong_convexity=0.6), elastic, "strong_convexity=0.6"),
    "is wider": (OwnProx("x", diameter=3.9), ball, "diameter=3.9"),
    "is unbounded": (OwnProx("x", diameter=3.9), soft, "diameter=3.9"),
    "is no projection": (OwnProx("x", projection=True), soft, "projection=True"),
    "varies with the step": (
        OwnProx("x", projection=True),
        lambda x, eta: np.clip(x, -eta, eta),
        "projection=True",
    ),
    "is longer": (OwnProx("x"), lambda x, _: np.append(x, 0.0), "must return 2 finite numbers"),
    "is not a number": (OwnProx("x"), lambda x, _: x * np.nan, "must return 2 finite numbers"),
    "raises": (OwnProx("x"), lambda x, _: x.nothing, "must take every point"),
}


@pytest.mark.parametrize("name", LIES)
def test_what_contradicts_its_facts_is_refused(name):
    domain, function, words = LIES[name]
    with pytest.raises(InvalidDescription, match=words):
        domain.computed_by(function).prox(np.zeros(2), 1.0)
    Sums.shape = (2,)
    try:
        run = described(domain.computed_by(function), wane.FullBatch())
        with pytest.raises(InvalidDescription, match=words):  # before the first step
            wane.run.descend(run, Sums(), progress=lambda _: pytest.fail("a step was taken"))
    finally:
        Sums.shape = (3,)


def test_every_step_size_is_tried_before_the_first_step():
    """A function that lies at long steps alone is found, though the first step is short."""
    phases = [
        wane.Phase(2, 0.1, wane.GradientNoise(0.5)),
        wane.Phase(2, 4.0, wane.GradientNoise(1)),
    ]
    domain = OwnProx("x").computed_by(lambda x, eta: x * (2.0 if eta > 1.0 else 1.0))
    run = make_run(records=100, schedule=wane.Schedule(phases), domain=domain)
    with pytest.raises(InvalidDescription, match="convex function"):
        wane.run.descend(run, Sums(), progress=lambda _: pytest.fail("a step was taken"))


def test_a_failure_on_the_way_says_nothing_of_the_records():
    """Once running, a function that breaks down is treated as a factorisation that does."""

    def fragile(point, step_size):
        if 1.23 in point:
            raise RuntimeError(f"secret {point}")
        return soft(point, step_size)

    domain = OwnProx("x").computed_by(fragile)
    assert np.array_equal(safe_prox(domain, np.array([1.23, 5.0]), 1.0), [0.0, 0.0])
    with pytest.raises(np.linalg.LinAlgError) as caught:
        domain.prox(np.array([1.23, 5.0]), 1.0)
    assert "secret" not in str(caught.value) and caught.value.__cause__ is None


def test_the_function_cannot_change_its_point():
    def greedy(point, step_size):
        point *= 0.5
        return point

    given = np.array([4.0, 2.0])
    OwnProx("x").computed_by(greedy).prox(given, 1.0)
    assert given.tolist() == [4.0, 2.0]


def test_documents_hold_the_facts_and_say_that_they_are_declared():
    domain = Product((OwnProx("my tent", strong_convexity=0.5, diameter=3.0), Ball(1.0)), (2, 1))
    run = described(domain, wane.FullBatch())
    made = json.loads(json.dumps(certificate_document(wane.certify(run), delta=1e-6)))
    valid(made)
    found = check_document(made)
    assert found.verified
    (said,) = [row for row in found.reading.stated if row.where == "description.domain.parts[0]"]
    assert said.value["name"] == "my tent" and said.value["diameter"] == 3.0
    page = html_page(made)
    assert "my tent" in page and "proven nowhere" in page and "as declared of the prox" in page
    assert "proven nowhere" not in html_page(
        certificate_document(wane.certify(replace(run, domain=Ball(1.0))), delta=1e-6)
    )
    stronger = json.loads(json.dumps(made))
    stronger["description"]["domain"]["parts"][0]["strong_convexity"] = 0.1
    assert not check_document(stronger).verified


def test_files_hold_what_is_declared(tmp_path, capsys):
    run = described(OwnProx("mine", strong_convexity=0.5).computed_by(elastic), wane.FullBatch())
    fields = json.loads(json.dumps(run_to_fields(run), allow_nan=False))
    assert fields["domain"] == {
        "kind": "own-prox",
        "name": "mine",
        "strong_convexity": 0.5,
        "projection": False,
    }
    assert run_from_fields(fields) == run
    assert from_fields("own-prox", to_fields(OwnProx("m", diameter=2.0))).diameter == 2.0
    place = tmp_path / "certificate.json"
    wane.certify(run).save(place)
    assert main(["verify", str(place)]) == 0
    assert "stated, not checked: description.domain = " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: OwnProx(""), "name must be"),
        (lambda: OwnProx(3), "name must be"),
        (lambda: OwnProx("a\nb"), "name must be"),
        (lambda: OwnProx("x" * 61), "name must be"),
        (lambda: OwnProx("x", strong_convexity=-0.1), "strong_convexity must be"),
        (lambda: OwnProx("x", strong_convexity=math.nan), "strong_convexity must be"),
        (lambda: OwnProx("x", diameter=0.0), "diameter must be"),
        (lambda: OwnProx("x", dimension=0), "dimension must be"),
        (lambda: OwnProx("x", projection=1), "projection must be"),
        (lambda: OwnProx("x", strong_convexity=0.5, projection=True), "must be 0 for a projection"),
        (lambda: OwnProx("x").computed_by(3), "function must be"),
        (lambda: OwnProx("x").computed_by(soft).penalty([1.0]), "of the catalogue"),
        (lambda: from_fields("own-prox", {"name": "x", "function": "soft"}), "must be among"),
    ],
)
def test_bad_declarations_are_refused(wrong, words):
    with pytest.raises(InvalidDescription, match=words):
        wrong()
