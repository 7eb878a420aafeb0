"""The accountant inside the real PrivacyEngine, on the breast cancer and digits data."""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch; install wane[torch]")
pytest.importorskip("opacus", reason="needs opacus; install wane[opacus]")
datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn; install wane[learn]")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from opacus import PrivacyEngine
    from opacus.accountants import RDPAccountant
    from opacus.accountants.utils import get_noise_multiplier

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402

from wane import (  # noqa: E402
    Adjacency,
    Cyclic,
    LossForm,
    NoiseMultiplier,
    NoisyDescent,
    Objective,
    certify,
)
from wane.certify import composition_of  # noqa: E402
from wane.describe.domains import Ball  # noqa: E402
from wane.errors import InvalidDescription  # noqa: E402
from wane.extra.opacus import (  # noqa: E402
    BoundedFeatures,
    CompositionFallback,
    bounded_head,
    register_hidden_state,
)
from wane.extra.torch import CyclicLoader  # noqa: E402
from wane.guarantees import GaussianDP  # noqa: E402
from wane.report import certificate_document  # noqa: E402
from wane.run import release_grid  # noqa: E402
from wane.theory.facts import log_step_lipschitz  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore:Secure RNG", "ignore:Full backward hook", "ignore:Using a non-full backward hook"
)
DELTA = 1e-5
NOISE, CLIP, RATE, DECAY = 1.5, 0.8, 0.5, 0.05


def tumours():
    x, y = datasets.load_breast_cancer(return_X_y=True)
    x = (x / x.max(axis=0)).astype(np.float32)  # a test may look at its data
    return TensorDataset(torch.from_numpy(x), torch.from_numpy(y.astype(np.float32)[:, None]))


def digits():
    x, y = datasets.load_digits(return_X_y=True)
    return TensorDataset(torch.from_numpy((x / 16.0).astype(np.float32)), torch.from_numpy(y))


BINARY = (30, 1, nn.BCEWithLogitsLoss())
TEN = (64, 10, nn.CrossEntropyLoss())


class Training:
    """One engine with everything it was given; keywords replace what is usual."""

    def __init__(
        self,
        dataset,
        kind=BINARY,
        *,
        size=64,
        bias=False,
        optimizer=torch.optim.SGD,
        clip=CLIP,
        settings=None,
        adjacency=Adjacency.ZERO_OUT,
        loader=None,
        domain=None,
        poisson=False,
        declared_poisson=None,
        module=None,
        **engine,
    ):
        features, outputs, self.criterion = kind
        self.head = bounded_head(features, outputs, feature_norm=1.5, bias=bias)
        self.declared = CyclicLoader(dataset, size)
        register_hidden_state(
            head=self.head,
            loader=self.declared,
            criterion=self.criterion,
            adjacency=adjacency,
            domain=domain,
            poisson_sampling=poisson if declared_poisson is None else declared_poisson,
        )
        model = self.head if module is None else module(self.head)
        settings = {"lr": RATE, "weight_decay": DECAY} if settings is None else settings
        made = optimizer([p for p in model.parameters() if p.requires_grad], **settings)
        self.engine = PrivacyEngine(accountant="hidden-state")
        self.model, self.optimizer, self.loader = self.engine.make_private(
            module=model,
            optimizer=made,
            data_loader=self.declared if loader is None else loader,
            noise_multiplier=NOISE,
            max_grad_norm=clip,
            poisson_sampling=poisson,
            **engine,
        )
        self.accountant = self.engine.accountant

    def epochs(self, count=2, every=None):
        for epoch in range(count):
            for x, y in self.loader:
                self.optimizer.zero_grad()
                self.criterion(self.model(x), y).backward()
                self.optimizer.step()
            if every is not None:
                every(epoch)
        return self

    def falls_back(self, *reasons):
        with pytest.warns(CompositionFallback) as caught:
            epsilon = self.engine.get_epsilon(DELTA)
        assert len(caught) == 1
        for reason in reasons:
            assert reason in str(caught[0].message)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert self.engine.get_epsilon(DELTA) == epsilon  # warned of once
        return epsilon


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


def composed(steps, per_epoch, sensitivity=1.0):
    """Gaussian composition of a record's own visits, from first principles."""
    mu = sensitivity * math.sqrt(math.ceil(steps / per_epoch)) / NOISE
    return GaussianDP(mu).epsilon(DELTA)


@pytest.mark.parametrize("bias", [False, True])
def test_a_release_is_on_the_public_grid_and_the_last_that_is_certified(bias):
    training = Training(tumours(), bias=bias).epochs(1)
    grid = release_grid(training.accountant.run())
    before = [p.detach().clone() for p in training.head.parameters()]
    found = training.accountant.release()
    assert found.epsilon(DELTA) == training.engine.get_epsilon(DELTA)
    for old, new in zip(before, training.head.parameters(), strict=True):
        steps = new.detach().double().numpy() / grid
        assert np.array_equal(steps, np.rint(steps)), "of single precision, and on the grid"
        assert 0.0 < float((new.detach() - old).abs().max()) <= grid / 2
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
    training = Training(data, adjacency=adjacency, bias=bias).epochs(2)
    assert training.optimizer.expected_batch_size == 63
    run = by_hand(data, 1.5**2 / 4, steps=18, adjacency=adjacency)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = training.engine.get_epsilon(DELTA)
    assert found == pytest.approx(certify(run).epsilon(DELTA), rel=1e-9)
    assert found < 0.95 * composition_of(run).epsilon(DELTA)
    assert training.accountant.obstacles == ()
    assert len(training.accountant) == 18


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
    assert general.engine.get_epsilon(DELTA) == pytest.approx(certify(run).epsilon(DELTA), rel=1e-9)
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
            training.optimizer.zero_grad()
            training.criterion(training.model(batch[0]), batch[1]).backward()
            training.optimizer.step()
            ends.append(weight.detach().clone())
        worst = max(worst, float((ends[1] - ends[0]).norm() / apart.norm()))
    same = Training(
        TensorDataset(x, labels.to(y.dtype)), kind, settings={"lr": 1.5, "weight_decay": DECAY}
    )
    run = same.epochs(1).accountant.run()
    limit = math.exp(log_step_lipschitz(run, np.array([run.step_size]))[0])
    assert 0.5 < worst <= limit * (1 + 1e-9)


def test_squared_errors_have_the_curvature_of_torch():
    run = Training(tumours(), (30, 1, nn.MSELoss())).epochs(1).accountant.run()
    assert run.objective.smoothness == pytest.approx(2 * 1.5**2)


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
    training = Training(data, domain=Ball(0.05)).epochs(3)
    assert training.head[1].weight.norm() <= 0.05 * (1 + 1e-6)
    expected = certify(by_hand(data, 1.5**2 / 4, steps=27, domain=Ball(0.05))).epsilon(DELTA)
    assert training.engine.get_epsilon(DELTA) == pytest.approx(expected, rel=1e-9)


def test_momentum_adam_and_maximising_fall_back_to_composition():
    for optimizer, settings in (
        (torch.optim.SGD, {"lr": RATE, "momentum": 0.9}),
        (torch.optim.SGD, {"lr": RATE, "maximize": True}),
        (torch.optim.Adam, {"lr": 1e-3}),
    ):
        training = Training(tumours(), optimizer=optimizer, settings=settings).epochs(2)
        found = training.falls_back("not plain SGD")
        assert found == pytest.approx(composed(18, 9), rel=1e-9)  # each record was used twice
        with pytest.raises(InvalidDescription, match="not plain SGD"):
            training.accountant.certificate()


def test_groups_of_parameters_must_be_alike():
    training = Training(tumours(), bias=True)
    weight, bias = training.head[1].parameters()
    options = training.optimizer.param_groups[0]
    training.optimizer.param_groups = [
        options | {"params": [weight]},
        options | {"params": [bias], "lr": 0.1},
    ]
    training.epochs(1).falls_back("alike for all parameters")


def test_a_changed_learning_rate_falls_back():
    training = Training(tumours())
    schedule = torch.optim.lr_scheduler.StepLR(training.optimizer, 1, 0.5)
    training.epochs(2, every=lambda epoch: schedule.step())
    assert training.falls_back("changed during training") == pytest.approx(composed(18, 9))


def test_a_learning_rate_changed_inside_its_tensor_is_seen():
    rate = torch.tensor(RATE)
    training = Training(tumours(), settings={"lr": rate})
    training.epochs(2, every=lambda epoch: rate.mul_(0.5))
    training.falls_back("changed during training")


def test_another_loader_is_charged_in_full():
    data = tumours()
    shuffled = DataLoader(data, batch_size=64, shuffle=True)
    training = Training(data, loader=shuffled).epochs(2)
    assert training.falls_back("declared loader") == pytest.approx(composed(18, 1), rel=1e-9)


def test_an_epoch_broken_off_is_noticed():
    training = Training(tumours())
    for _ in range(3):
        x, y = next(iter(training.loader))
        training.optimizer.zero_grad()
        training.criterion(training.model(x), y).backward()
        training.optimizer.step()
    assert training.falls_back("in order") == pytest.approx(composed(3, 1), rel=1e-9)


def test_a_batch_used_twice_is_noticed():
    training = Training(tumours())
    for x, y in training.loader:
        for _ in range(2):
            training.optimizer.zero_grad()
            training.criterion(training.model(x), y).backward()
            training.optimizer.step()
    assert training.falls_back("in order") == pytest.approx(composed(18, 1), rel=1e-9)


def test_accumulated_gradients_are_noticed():
    training = Training(tumours())
    for position, (x, y) in enumerate(training.loader):
        training.criterion(training.model(x), y).backward()
        if position % 3 == 2:
            training.optimizer.step()
            training.optimizer.zero_grad()
    assert training.falls_back("in order") == pytest.approx(composed(3, 1), rel=1e-9)


@pytest.mark.parametrize("noise, epochs", [(NOISE, 1), (NOISE, 4)])
def test_declared_poisson_sampling_is_never_worse_than_opacus(noise, epochs):
    training = Training(tumours(), poisson=True).epochs(epochs)
    found = training.falls_back("sampled at random")
    rdp = RDPAccountant()
    rdp.history = training.accountant.history
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = rdp.get_epsilon(DELTA)
    assert 0.7 * theirs < found <= theirs


def test_poisson_sampling_that_nobody_declared_is_charged_in_full():
    training = Training(tumours(), poisson=True, declared_poisson=False).epochs(1)
    steps = len(training.accountant)
    assert training.falls_back("declared loader") == pytest.approx(composed(steps, 1), rel=1e-9)


def test_a_trained_layer_before_the_head_falls_back():
    def deeper(head):
        return nn.Sequential(nn.Linear(30, 30), head)

    training = Training(tumours(), module=deeper).epochs(1)
    assert training.falls_back("not those of the declared head") == pytest.approx(composed(9, 9))


def test_a_frozen_layer_before_the_head_does_not():
    def frozen(head):
        layer = nn.Linear(30, 30)
        layer.requires_grad_(False)
        return nn.Sequential(layer, head)

    training = Training(tumours(), module=frozen).epochs(1)
    assert training.accountant.obstacles == ()


def test_losses_without_known_constants_fall_back():
    weighted = (30, 1, nn.BCEWithLogitsLoss(pos_weight=torch.tensor([7.0])))
    Training(tumours(), weighted).epochs(1).falls_back("no known constants")
    labels = torch.nn.functional.one_hot(digits().tensors[1]).float()
    many = TensorDataset(digits().tensors[0], labels)
    Training(many, (64, 10, nn.BCEWithLogitsLoss())).epochs(1).falls_back("no known constants")


def test_a_reduction_that_does_not_match_falls_back():
    kind = (30, 1, nn.BCEWithLogitsLoss(reduction="sum"))
    Training(tumours(), kind).epochs(1).falls_back("reduction")


def test_clipping_by_layer_falls_back():
    training = Training(
        tumours(), bias=True, clip=[CLIP, CLIP], clipping="per_layer", loss_reduction="mean"
    ).epochs(1)
    training.falls_back("not flat")


def test_steps_of_a_loaded_history_were_not_watched():
    first = Training(tumours()).epochs(1)
    state = first.accountant.state_dict()
    second = Training(tumours())
    second.accountant.load_state_dict(state)
    second.epochs(1)
    assert second.falls_back("watched") == pytest.approx(composed(18, 1), rel=1e-9)


def test_noise_planned_by_opacus_is_enough():
    training = Training(tumours())
    with pytest.warns(CompositionFallback, match="watched"):
        noise = get_noise_multiplier(
            target_epsilon=2.0,
            target_delta=DELTA,
            sample_rate=1 / 9,
            epochs=2,
            accountant="hidden-state",
        )
    training.optimizer.noise_multiplier = noise
    training.epochs(2)
    assert training.engine.get_epsilon(DELTA) < 2.0


def test_parameters_frozen_in_between_are_noticed():
    training = Training(tumours(), bias=True)
    training.epochs(1)
    training.head[1].bias.requires_grad_(False)
    training.epochs(1)
    training.falls_back("changed during training")


def test_changed_noise_falls_back():
    training = Training(tumours()).epochs(1)
    training.optimizer.noise_multiplier = 2 * NOISE
    training.epochs(1)
    mu = math.sqrt(9 / NOISE**2 + 9 / (2 * NOISE) ** 2)
    assert training.falls_back("noise multiplier") == pytest.approx(GaussianDP(mu).epsilon(DELTA))


def test_a_second_optimizer_is_a_second_run():
    training = Training(tumours()).epochs(1)
    _, training.optimizer, _ = training.engine.make_private(
        module=training.model,
        optimizer=torch.optim.SGD(training.head.parameters(), lr=RATE, weight_decay=DECAY),
        data_loader=training.declared,
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
        poisson_sampling=False,
    )
    training.epochs(1)
    assert training.falls_back("changed during training") == pytest.approx(composed(18, 9))


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


def test_what_cannot_be_described_is_refused():
    data = tumours()
    head, loader = bounded_head(30, 1, feature_norm=1.0), CyclicLoader(data, 64)
    good = {
        "head": head,
        "loader": loader,
        "criterion": nn.BCEWithLogitsLoss(),
        "adjacency": Adjacency.ZERO_OUT,
    }
    with pytest.raises(InvalidDescription, match="zero-out or replace-one"):
        register_hidden_state(**(good | {"adjacency": Adjacency.ADD_REMOVE}))
    with pytest.raises(InvalidDescription, match="bounded_head"):
        register_hidden_state(**(good | {"head": nn.Linear(30, 1)}))
    with pytest.raises(InvalidDescription, match="loader"):
        register_hidden_state(**(good | {"loader": DataLoader(data)}))
    with pytest.raises(InvalidDescription, match="feature_norm"):
        bounded_head(30, 1, feature_norm=1.0, bias=True)
    with pytest.raises(ValueError, match="already registered"):
        register_hidden_state("rdp", **good)


def test_the_documented_example_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "ecosystem.md").read_text()
    (example,) = re.findall(r"```text\n(from opacus .*?)```", page, re.S)
    x, y = digits().tensors
    exec(
        compile(example, "ecosystem.md", "exec"), {"dataset": TensorDataset(x, (y % 2.0)[:, None])}
    )
    epsilon, *explained = capsys.readouterr().out.splitlines()
    assert 0.0 < float(epsilon) < composed(58, 29)
    assert any("yes last_iterate" in line for line in explained)
