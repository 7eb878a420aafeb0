"""The accountant inside the real PrivacyEngine, on the breast cancer and digits data."""

import json
import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch; install wane[torch]")
pytest.importorskip("opacus", reason="needs opacus; install wane[opacus]")
datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn; install wane[learn]")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from engines import (  # noqa: E402
    BINARY,
    CLIP,
    DECAY,
    DELTA,
    NOISE,
    QUIET,
    RATE,
    TEN,
    Training,
    composed,
    digits,
    needs_1_6,
    tumours,
)
from wane import (  # noqa: E402
    Adjacency,
    Cyclic,
    LossForm,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    Poisson,
    certify,
)
from wane.certificates import certificate_document, composition_of  # noqa: E402
from wane.describe.domains import Ball  # noqa: E402
from wane.errors import InvalidDescription  # noqa: E402
from wane.extra.opacus import (  # noqa: E402
    BoundedFeatures,
    bounded_head,
    certificate_of,
    document_of,
    register_hidden_state,
    side_by_side,
)
from wane.extra.torch import CyclicLoader  # noqa: E402
from wane.run import release_grid  # noqa: E402
from wane.theorems.lemmas.lipschitz import log_step_lipschitz  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*QUIET)
AT_MOST = 2.64
"""2,000 rows, batch 50, multiplier 1, ten epochs, weight decay 0.05; Opacus' own figure is 3.18."""


def two_thousand(kind):
    rng = np.random.default_rng(1)
    x = torch.from_numpy(rng.standard_normal((2000, 20)).astype(np.float32))
    labels = {
        "logistic": (x[:, :1] > 0).float(),
        "softmax": torch.from_numpy(rng.integers(0, 3, 2000)),
        "linear": x[:, :1] + 0.1,
    }
    return TensorDataset(x, labels[kind])


KINDS = {
    "logistic": ((20, 1, nn.BCEWithLogitsLoss()), {"norm": 1.0, "clip": 1.0}),
    "softmax": ((20, 3, nn.CrossEntropyLoss()), {"norm": 1.0, "clip": 1.5}),
    "linear": ((20, 1, nn.MSELoss()), {"norm": 0.7, "clip": 1.0}),
}


def default_loader(name):
    kind, bounds = KINDS[name]
    made = Training(two_thousand(name), kind, size=50, noise=1.0, poisson=True, **bounds)
    return made.epochs(10)


@pytest.mark.parametrize("name", KINDS)
def test_the_default_loader_is_certified_with_no_declaration(name):
    made = default_loader(name)
    found = made.certified()
    assert found <= AT_MOST
    run = made.accountant.run()
    assert run.batches == Poisson(50) and run.records == 2000
    assert run.adjacency is Adjacency.ADD_REMOVE
    beside = side_by_side(made.engine, DELTA)
    assert beside.hidden_state == found
    assert beside.composition == pytest.approx(3.1694, abs=1e-4)
    assert beside.opacus == pytest.approx(3.18, abs=0.01) and beside.opacus_is_valid
    assert beside.change is not None and beside.change.epsilon < found
    assert beside.twice_as_long < found + 0.01, "longer training costs next to nothing"


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_its_document_is_confirmed_by_wane_verify(name, tmp_path):
    pytest.importorskip("flint", reason="needs flint; install wane[verify]")
    from wane.cli import main

    path = tmp_path / "certificate.json"
    made = default_loader(name)
    path.write_text(json.dumps(certificate_document(certificate_of(made.engine), delta=DELTA)))
    assert main(["verify", str(path)]) == 0


def by_hand(dataset, smoothness, *, size=64, steps, form=LossForm.GLM, **changes):
    """The same training, described by hand from what Opacus documents."""
    count = len(dataset)
    divisor = int(count / math.ceil(count / size))
    objective = Objective(
        gradient_bound=CLIP,
        smoothness=smoothness,
        strong_convexity=0.0,
        clipped=True,
        form=form,
        ridge=DECAY * divisor / size,
    )
    facts = {
        "objective": objective,
        "records": count,
        "steps": steps,
        "step_size": RATE * size / divisor,
        "noise": NoiseMultiplier(NOISE),
        "batches": Cyclic(size),
        "adjacency": Adjacency.ZERO_OUT,
    }
    return NoisyDescent(**(facts | changes))


@pytest.mark.parametrize("bias", [False, True])
def test_a_release_is_on_the_public_grid_and_the_last_that_is_certified(bias):
    training = Training(tumours(), bias=bias).epochs(1)
    grid = release_grid(training.accountant.run())
    # of all numbers together: a single one may happen to be on the grid before
    before = nn.utils.parameters_to_vector(training.head.parameters()).detach().clone()
    found = training.accountant.release()
    assert found.epsilon(DELTA) == training.engine.get_epsilon(DELTA)
    after = nn.utils.parameters_to_vector(training.head.parameters()).detach()
    steps = after.double().numpy() / grid
    assert np.array_equal(steps, np.rint(steps)), "of single precision, and on the grid"
    assert 0.0 < float((after - before).abs().max()) <= grid / 2
    verifier = pytest.importorskip("wane.verify", reason="needs flint; install wane[verify]")
    assert verifier.verify(certificate_document(found, delta=DELTA)).verified
    training.epochs(1)
    assert training.falls_back("after the release") >= found.epsilon(DELTA)
    with pytest.raises(InvalidDescription, match="after the release"):
        training.accountant.release()


@pytest.mark.parametrize("adjacency", [Adjacency.ZERO_OUT, Adjacency.REPLACE_ONE])
@pytest.mark.parametrize("bias", [False, True])
def test_logistic_regression_is_certified_as_described(adjacency, bias):
    data = tumours()  # 569 records: nine batches of 64, the last with 57, all divided by 63
    training = Training(data, declared={"adjacency": adjacency}, bias=bias).epochs(2)
    assert training.optimizer.expected_batch_size == 63
    run = by_hand(data, 1.5**2 / 4, steps=18, adjacency=adjacency)
    found = training.certified()
    assert found == pytest.approx(certify(run).epsilon(DELTA), rel=1e-9)
    assert found < 0.95 * composition_of(run).epsilon(DELTA)
    assert len(training.accountant) == 18


def test_poisson_batches_that_do_not_divide_the_records_are_padded_with_null_records():
    training = Training(tumours(), poisson=True).epochs(1)
    run = training.accountant.run()
    assert (run.records, run.batches) == (576, Poisson(64))  # rate 1/9, as Opacus draws it
    assert run.step_size == pytest.approx(RATE * 64 / 63)
    assert run.gradient_noise_stds[0] == pytest.approx(NOISE * CLIP / 64)
    assert training.certified() <= training.accountant.composed_epsilon(DELTA)


def test_the_learned_head_is_of_use():
    data = tumours()
    training = Training(data, bias=True, settings={"lr": 2.0}).epochs(10)
    x, y = data.tensors
    with torch.no_grad():
        right = ((training.model(x) > 0).float() == y).float().mean()
    assert right > 0.8


def test_the_steps_are_those_of_the_description():
    """Without noise, Opacus' iterates are the described descent's, incomplete batch included."""
    data = tumours()
    training = Training(data)
    training.optimizer.noise_multiplier = 0.0
    training.epochs(2)
    assert training.engine.get_epsilon(DELTA) == math.inf
    rows = BoundedFeatures(1.5)(data.tensors[0]).double().numpy()
    labels = data.tensors[1][:, 0].double().numpy()
    x = np.zeros(30)
    run = by_hand(data, 1.5**2 / 4, steps=18)
    for step in range(18):
        part = slice(64 * (step % 9), min(64 * (step % 9 + 1), 569))
        a = rows[part]
        gradients = (1 / (1 + np.exp(-a @ x)) - labels[part])[:, None] * a
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        total = (gradients * np.minimum(1.0, CLIP / (norms + 1e-6))).sum(axis=0)
        x = x - run.step_size * (total / run.batch_size + run.objective.ridge * x)
    np.testing.assert_allclose(training.head[1].weight.detach().numpy()[0], x, rtol=1e-4, atol=1e-5)


def test_ten_classes_pay_for_clipping_and_do_not_where_it_never_acts():
    data = digits()
    general = Training(data, TEN).epochs(1)
    run = by_hand(data, 1.5**2 / 2, steps=29, form=LossForm.GENERAL)
    assert general.certified() == pytest.approx(certify(run).epsilon(DELTA), rel=1e-9)
    wide = Training(data, TEN, clip=2.2).epochs(1).accountant.run()
    assert not wide.objective.clipped
    assert wide.objective.gradient_bound == pytest.approx(math.sqrt(2) * 1.5)
    assert wide.gradient_noise_stds[0] == pytest.approx(NOISE * 2.2 / 64)  # as Opacus adds it
    narrow = Training(data, TEN, clip=math.sqrt(2) * 1.5).epochs(1).accountant.run()
    assert narrow.objective.clipped  # within the millionth by which Opacus softens the clip


def test_two_classes_are_one_margin():
    labels = tumours().tensors[1][:, 0].long()
    data = TensorDataset(tumours().tensors[0], labels)
    run = Training(data, (30, 2, nn.CrossEntropyLoss())).epochs(1).accountant.run()
    assert run.objective.form is LossForm.GLM
    assert run.objective.smoothness == pytest.approx(1.5**2 / 2)


@pytest.mark.parametrize("kind", [BINARY, TEN, (64, 2, nn.CrossEntropyLoss())])
def test_a_real_step_moves_two_runs_apart_no_further_than_described(kind):
    """Opacus' own step, clip included, from pairs of weights; what amplification rests on."""
    x, y = (tumours() if kind is BINARY else digits()).tensors
    labels = y.double() if kind is BINARY else y % kind[1]
    training = Training(
        TensorDataset(x.double(), labels), kind, settings={"lr": 1.5, "weight_decay": DECAY}
    )
    training.head.double()
    training.optimizer.noise_multiplier = 0.0
    weight = training.head[1].weight
    generator = torch.manual_seed(1)
    worst = 0.0
    batches = iter(training.loader)
    for _ in range(8):
        batch = next(batches)
        start = torch.randn(weight.shape, generator=generator).double() * 3
        apart = torch.randn(weight.shape, generator=generator).double() * 0.1
        ends = []
        for begin in (start, start + apart):
            with torch.no_grad():
                weight.copy_(begin)
            training.step(*batch)
            ends.append(weight.detach().clone())
        worst = max(worst, float((ends[1] - ends[0]).norm() / apart.norm()))
    same = Training(
        TensorDataset(x, labels.to(y.dtype)), kind, settings={"lr": 1.5, "weight_decay": DECAY}
    )
    run = same.epochs(1).accountant.run()
    limit = math.exp(log_step_lipschitz(run, run.plan.step_size)[0])
    assert 0.5 < worst <= limit * (1 + 1e-9)


def test_squared_errors_have_the_curvature_of_torch():
    run = Training(tumours(), (30, 1, nn.MSELoss())).epochs(1).accountant.run()
    assert run.objective.smoothness == pytest.approx(2 * 1.5**2)


def several(loss, labels):
    return Training(TensorDataset(digits().tensors[0], labels), (64, 10, loss)).epochs(1)


def test_losses_of_several_outputs_are_averages_over_them():
    labels = nn.functional.one_hot(digits().tensors[1]).float()
    squared = several(nn.MSELoss(), labels).accountant.run().objective
    assert squared.smoothness == pytest.approx(2 * 1.5**2 / 10)
    assert squared.form is LossForm.RADIAL
    rest = several(nn.BCEWithLogitsLoss(), labels).accountant.run().objective
    assert rest.smoothness == pytest.approx(1.5**2 / 4 / 10)
    assert rest.form is LossForm.GENERAL


@pytest.mark.parametrize("loss", [nn.HuberLoss(), nn.SmoothL1Loss()])
def test_hubers_loss_is_recognised(loss):
    run = Training(tumours(), (30, 1, loss), settings={"lr": 0.1}).epochs(1).accountant.run()
    assert run.objective.smoothness == pytest.approx(1.5**2)


def test_sums_have_no_divisor():
    kind = (30, 1, nn.BCEWithLogitsLoss(reduction="sum"))
    settings = {"lr": 0.01, "weight_decay": 3.0}
    run = Training(tumours(), kind, settings=settings, loss_reduction="sum").epochs(1)
    made = run.accountant.run()
    assert made.step_size == pytest.approx(0.64)
    assert made.objective.ridge == pytest.approx(3.0 / 64)
    assert made.gradient_noise_stds[0] == pytest.approx(NOISE * CLIP / 64)


def test_a_domain_is_enforced_and_certified():
    data = tumours()
    training = Training(data, declared={"domain": Ball(0.05)}).epochs(3)
    assert training.head[1].weight.norm() <= 0.05 * (1 + 1e-6)
    expected = certify(by_hand(data, 1.5**2 / 4, steps=27, domain=Ball(0.05))).epsilon(DELTA)
    assert training.certified() == pytest.approx(expected, rel=1e-9)


def test_a_frozen_layer_before_the_head_is_part_of_the_features():
    def frozen(head):
        layer = nn.Linear(30, 30)
        layer.requires_grad_(False)
        return nn.Sequential(layer, head)

    assert Training(tumours(), module=frozen).epochs(1).certified() > 0.0


def test_a_scheduler_becomes_phases():
    training = Training(tumours())
    schedule = torch.optim.lr_scheduler.StepLR(training.optimizer, 1, 0.5)
    training.epochs(2, every=lambda epoch: schedule.step())
    training.certified()
    plan = training.accountant.run().plan
    assert plan.repeat.tolist() == [9, 9]
    assert plan.step_size[1] == pytest.approx(plan.step_size[0] / 2)


def test_the_fixed_order_of_a_plain_loader_and_of_wanes_own_are_one():
    ours = Training(tumours(), loader=CyclicLoader(tumours(), 64)).epochs(2)
    theirs = Training(tumours()).epochs(2)
    assert ours.certified() == theirs.certified()
    dropped = Training(tumours(), loader_options={"drop_last": True}).epochs(1)
    run = dropped.accountant.run()
    assert run.records == 512 and run.step_size == pytest.approx(RATE * 64 / 71)
    assert dropped.certified() > 0.0


def test_shuffled_batches_are_charged_at_the_worst_position():
    training = Training(tumours(), loader_options={"shuffle": True}).epochs(2)
    fixed = Training(tumours()).epochs(2)
    assert training.certified() == pytest.approx(fixed.certified(), rel=1e-9)
    beside = side_by_side(training.engine, DELTA)
    assert beside.composition == pytest.approx(composed(18, 9), rel=1e-9)
    assert not beside.opacus_is_valid and beside.opacus < beside.hidden_state
    assert "false here" in str(beside)
    assert certificate_of(training.engine).run == certificate_of(fixed.engine).run


@pytest.mark.parametrize("rate", [RATE, 30.0])
def test_the_document_of_shuffled_batches_is_confirmed_and_says_what_it_is(rate, tmp_path):
    pytest.importorskip("flint", reason="needs flint; install wane[verify]")
    from wane.cli import main

    settings = {"lr": rate, "weight_decay": DECAY}
    made = Training(tumours(), settings=settings, loader_options={"shuffle": True}).epochs(2)
    document = document_of(made.engine, DELTA)
    names = {verdict.analysis.name for verdict in certificate_of(made.engine).applicable}
    # a step that moves two runs apart leaves only composition
    assert ("last_iterate" in names) == (rate == RATE)
    assert document["epsilon"] == pytest.approx(made.certified(), rel=1e-9)
    assert "shuffled anew" in document["context"]["order of the batches"]
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(document))
    assert main(["verify", str(path)]) == 0


def test_shuffled_batches_that_end_within_an_epoch_are_composed():
    training = Training(tumours(), loader_options={"shuffle": True}).epochs(1)
    training.step(*next(iter(training.loader)))
    assert training.certified() == pytest.approx(composed(10, 9), rel=1e-9)


@needs_1_6
def test_noise_planned_by_opacus_is_enough():
    for poisson in (True, False):
        training = Training(tumours())
        head = bounded_head(30, 1, feature_norm=1.5)
        _, optimizer, _ = training.engine.__class__(
            accountant="hidden-state"
        ).make_private_with_epsilon(
            module=head,
            optimizer=torch.optim.SGD(head.parameters(), lr=RATE),
            data_loader=DataLoader(tumours(), batch_size=64),
            target_epsilon=2.0,
            target_delta=DELTA,
            epochs=2,
            max_grad_norm=CLIP,
            poisson_sampling=poisson,
        )
        expected = 2.6 if not poisson else 1.0
        assert optimizer.noise_multiplier > expected


def test_nothing_happened_costs_nothing():
    assert Training(tumours()).engine.get_epsilon(DELTA) == 0.0


def test_features_are_bounded_in_single_precision():
    rows = (
        torch.randn(1000, 50, generator=torch.manual_seed(0))
        * torch.logspace(-3, 18, 1000)[:, None]
    )
    rows[7, 3], rows[8, 0] = math.nan, math.inf
    bounded = BoundedFeatures(1.5)(rows)
    norms = np.linalg.norm(bounded.double().numpy(), axis=1)
    assert norms.max() <= 1.5
    assert norms[-1] > 1.4999
    assert norms[7] == norms[8] == 0.0


def test_what_contradicts_the_loader_is_refused():
    with pytest.raises(InvalidDescription, match="fixed order, got True"):
        Training(tumours(), declared={"poisson_sampling": True})
    with pytest.raises(InvalidDescription, match="Poisson batches, got False"):
        Training(tumours(), declared={"poisson_sampling": False}, poisson=True)
    with pytest.raises(InvalidDescription, match="zero-out or replace-one"):
        Training(tumours(), declared={"adjacency": Adjacency.ADD_REMOVE})
    weights = torch.utils.data.WeightedRandomSampler([1.0] * 569, 569)
    with pytest.raises(InvalidDescription, match="sampler WeightedRandomSampler"):
        Training(tumours(), loader=DataLoader(tumours(), batch_size=64, sampler=weights))
    with pytest.raises(InvalidDescription, match="more than once an epoch"):
        again = torch.utils.data.RandomSampler(tumours(), replacement=True)
        Training(tumours(), loader=DataLoader(tumours(), batch_size=64, sampler=again))
    with pytest.raises(InvalidDescription, match="feature_norm"):
        bounded_head(30, 1, feature_norm=1.0, bias=True)
    with pytest.raises(InvalidDescription, match="adjacency"):
        register_hidden_state(head=bounded_head(30, 1, feature_norm=1.0), adjacency="zero-out")
    with pytest.raises(InvalidDescription, match='accountant="hidden-state", got'):
        certificate_of(Training(tumours(), accountant="rdp").engine)


def test_composition_of_poisson_batches_is_never_worse_than_opacus():
    from opacus.accountants import RDPAccountant

    training = Training(tumours(), poisson=True).epochs(4)
    rdp = RDPAccountant()
    rdp.history = training.accountant.history
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = rdp.get_epsilon(DELTA)
    assert 0.7 * theirs < training.accountant.composed_epsilon(DELTA) <= theirs


def test_a_certificate_of_composition_can_be_made_and_verified():
    training = Training(tumours(), poisson=True, settings={"lr": RATE, "momentum": 0.9}).epochs(1)
    made = training.accountant.composition_certificate()
    assert made.epsilon(DELTA) == pytest.approx(training.falls_back("momentum"), rel=1e-6)
    verifier = pytest.importorskip("wane.verify", reason="needs flint; install wane[verify]")
    assert verifier.verify(certificate_document(made, delta=DELTA)).verified
