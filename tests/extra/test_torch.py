"""Training a linear head with the real PyTorch, against the NumPy runner and the certificate."""

import copy
import itertools
import math
import os
import pickle
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch; install wane[torch]")

from torch.utils.data import TensorDataset  # noqa: E402

from wane import Adjacency, Cyclic, GradientNoise, NoiseMultiplier, NoisyDescent, certify  # noqa: E402
from wane.certificates import certificate_document  # noqa: E402
from wane.describe import EveryIterate, Phase, Poisson, Schedule  # noqa: E402
from wane.describe.domains import Ball  # noqa: E402
from wane.errors import InvalidDescription  # noqa: E402
from wane.extra.torch import (  # noqa: E402
    CyclicLoader,
    LinearHead,
    NoisySGD,
    PoissonLoader,
    certificate_of,
    release,
)
from wane.run import (  # noqa: E402
    Checkpoint,
    LinearSums,
    descend,
    links,
    new_checkpoint_key,
    release_grid,
    seeded_generator_voids_privacy,
    to_grid,
)

ROOT = Path(__file__).parents[2]
DELTA = 1e-5
LINKS = {
    "logistic": (links.Logistic(), None),
    "clamped logistic": (links.Logistic(), 0.3),
    "envelope": (links.SoftmaxEnvelope(4), 0.4),
    "softmax": (links.Softmax(4), None),
}


def records(link, count=47, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, columns)).astype(np.float32)
    y = rng.integers(0, link.outputs, count) if link.outputs > 1 else rng.choice([-1, 1], count)
    return torch.from_numpy(x), torch.from_numpy(y)


def trained(link, bound, *, epochs=3, count=47, size=10, domain=None, seed=7, lr=1.5):
    x, y = records(link, count)
    head = LinearHead(5, link, feature_norm=1.0, gradient_bound=bound, intercept=0.5)
    loader = CyclicLoader(TensorDataset(x, y), size)
    optimizer = NoisySGD(
        head,
        loader,
        lr=lr,
        noise=NoiseMultiplier(0.7),
        ridge=0.05,
        domain=domain,
        adjacency=Adjacency.ZERO_OUT,
        seed_voids_privacy=seed,
    )
    for _ in range(epochs):
        for features, targets in loader:
            optimizer.step(features, targets)
    return head, optimizer, (x, y)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("domain", [None, Ball(0.8)])
def test_training_is_the_described_descent(name, domain, monkeypatch):
    monkeypatch.setattr("wane.run.safeguards.FINER", 50)  # lost in the tolerance
    link, bound = LINKS[name]
    head, optimizer, (x, y) = trained(link, bound, domain=domain)
    run = optimizer.description()
    sums = LinearSums(
        x.numpy(), y.numpy(), link, feature_norm=1.0, gradient_bound=bound, intercept=0.5
    )
    expected = descend(run, sums, generator=seeded_generator_voids_privacy(7))
    # the runner's room for rounding is that of all records, the optimizer's that of a batch
    np.testing.assert_allclose(head.weight.detach().numpy(), expected, rtol=1e-8, atol=1e-8)
    assert np.abs(expected).max() > 0.01


def test_the_description_is_what_a_user_would_write():
    link = links.Logistic()
    _, optimizer, _ = trained(link, None, domain=Ball(0.8))
    by_hand = NoisyDescent(
        objective=link.objective(1.0, None, 0.05),
        records=47,
        schedule=Schedule([Phase(15, 1.5, NoiseMultiplier(0.7))]),
        batches=Cyclic(10),
        domain=Ball(0.8),
        adjacency=Adjacency.ZERO_OUT,
    )
    assert optimizer.description() == by_hand
    constant = NoisyDescent(
        objective=link.objective(1.0, None, 0.05),
        records=47,
        steps=15,
        step_size=1.5,
        noise=NoiseMultiplier(0.7),
        batches=Cyclic(10),
        domain=Ball(0.8),
        adjacency=Adjacency.ZERO_OUT,
    )
    nominal = certificate_of(optimizer).nominal
    assert nominal.epsilon(DELTA) == certify(constant).epsilon(DELTA)


def test_a_seed_voids_the_certificate_and_its_absence_does_not():
    _, seeded, _ = trained(links.Logistic(), None)
    found = certificate_of(seeded)
    assert found.void_because
    assert found.epsilon(DELTA) == math.inf
    _, private, _ = trained(links.Logistic(), None, seed=None)
    assert certificate_of(private).epsilon(DELTA) == found.nominal.epsilon(DELTA) < math.inf


def test_two_private_runs_differ():
    first, _, _ = trained(links.Logistic(), None, seed=None, epochs=1)
    second, _, _ = trained(links.Logistic(), None, seed=None, epochs=1)
    assert not torch.equal(first.weight, second.weight)


@pytest.mark.parametrize("name", LINKS)
def test_a_release_is_on_the_public_grid_and_ends_the_run(name):
    link, bound = LINKS[name]
    head, optimizer, _ = trained(link, bound)
    before = head.weight.detach().numpy().copy()
    grid = release_grid(optimizer.description())
    assert grid > 0.0 and not np.array_equal(before, to_grid(before, grid))
    made = release(optimizer)
    after = head.weight.detach().numpy()
    assert np.array_equal(after, to_grid(before, grid)), "the grid of every other release"
    assert np.array_equal(after / grid, np.rint(after / grid))
    assert np.abs(after - before).max() <= grid / 2
    assert made.nominal.epsilon(DELTA) == certificate_of(optimizer).nominal.epsilon(DELTA)
    release(optimizer)
    assert np.array_equal(head.weight.detach().numpy(), after), "a second time changes nothing"
    features, targets = next(iter(optimizer._loader))
    with pytest.raises(InvalidDescription, match="must not follow the release"):
        optimizer.step(features, targets)
    assert np.array_equal(head.weight.detach().numpy(), after)


def test_nothing_is_released_before_a_step():
    _, optimizer, _ = trained(links.Logistic(), None, epochs=0)
    with pytest.raises(InvalidDescription, match="must have taken a step"):
        release(optimizer)
    optimizer.step(*next(iter(optimizer._loader)))
    assert optimizer.steps_taken == 1


def test_a_scheduler_becomes_phases():
    link = links.Logistic()
    x, y = records(link)
    loader = CyclicLoader(TensorDataset(x, y), 10)
    optimizer = NoisySGD(
        LinearHead(5, link, feature_norm=1.0),
        loader,
        lr=1.0,
        noise=GradientNoise(0.1),
        adjacency=Adjacency.REPLACE_ONE,
    )
    halve = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for _ in range(2):
        for features, targets in loader:
            optimizer.step(features, targets)
        halve.step()
    assert list(optimizer.description().plan) == [
        Phase(5, 1.0, GradientNoise(0.1)),
        Phase(5, 0.5, GradientNoise(0.1)),
    ]


@pytest.mark.parametrize("name", LINKS)
def test_no_record_moves_the_sum_further_than_the_bound(name):
    link, bound = LINKS[name]
    head = LinearHead(5, link, feature_norm=1.0, gradient_bound=bound, intercept=0.5)
    declared = head.objective(0.0).gradient_bound
    x, y = records(link, count=200)
    x = x * torch.logspace(-3, 6, 200)[:, None]  # short and very long records
    with torch.no_grad():
        head.weight.copy_(torch.randn(head.weight.shape, generator=torch.manual_seed(0)) * 5)
    longest = max(np.linalg.norm(head.gradient_sum(x[i : i + 1], y[i : i + 1])) for i in range(200))
    assert 0.3 * declared < longest <= declared


def test_values_that_are_no_numbers_count_as_null_records():
    link = links.Logistic()
    head = LinearHead(2, link, feature_norm=1.0)
    bad = torch.tensor([[math.nan, 1.0], [math.inf, 0.0], [1.0, 1.0]])
    targets = torch.tensor([1.0, 1.0, 0.0])  # the last target means nothing to the link
    assert not head.gradient_sum(bad, targets).any()


def test_gradients_of_others_are_not_read():
    link = links.Logistic()
    x, y = records(link)
    loader = CyclicLoader(TensorDataset(x, y), 47)
    weights = []
    for factor in (0.0, 1e9):
        head = LinearHead(5, link, feature_norm=1.0)
        loader = CyclicLoader(TensorDataset(x, y), 47)
        optimizer = NoisySGD(
            head,
            loader,
            lr=1.0,
            noise=GradientNoise(0.1),
            adjacency=Adjacency.ZERO_OUT,
            seed_voids_privacy=1,
        )
        for features, targets in loader:
            (factor * head(features).sum()).backward()
            optimizer.step(features, targets)
        weights.append(head.weight.detach())
    assert torch.equal(*weights)


@pytest.mark.parametrize("name", LINKS)
def test_predictions_use_the_features_of_the_training(name):
    link, bound = LINKS[name]
    head = LinearHead(5, link, feature_norm=1.0, gradient_bound=bound, intercept=0.5)
    with torch.no_grad():
        head.weight.copy_(torch.randn(head.weight.shape, generator=torch.manual_seed(0)))
    x, _ = records(link)
    rows = np.hstack([x.double().numpy(), np.full((47, 1), 0.5)])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    np.testing.assert_allclose(head(x).detach().numpy(), rows @ head.weight.detach().numpy())


def begun(size=10):
    link = links.Logistic()
    x, y = records(link)
    loader = CyclicLoader(TensorDataset(x, y), size)
    head = LinearHead(5, link, feature_norm=1.0)
    optimizer = NoisySGD(
        head, loader, lr=1.0, noise=GradientNoise(0.1), adjacency=Adjacency.ZERO_OUT
    )
    return loader, optimizer


def test_the_order_is_that_of_the_data_set_in_every_epoch():
    x = torch.arange(23)[:, None]
    loader = CyclicLoader(TensorDataset(x), 10)
    epochs = [[batch.flatten().tolist() for (batch,) in loader] for _ in range(2)]
    assert epochs[0] == epochs[1] == [list(range(10)), list(range(10, 20)), [20, 21, 22]]


def test_the_parts_of_all_processes_make_the_batch():
    x = torch.arange(23)[:, None]
    parts = [CyclicLoader(TensorDataset(x), 10, rank=r, world_size=3) for r in range(3)]
    for together in zip(*parts, strict=True):
        whole = sorted(value for (batch,) in together for value in batch.flatten().tolist())
        assert whole == list(range(whole[0], whole[0] + len(whole)))
    with pytest.raises(InvalidDescription, match="leave a record for each of the 4"):
        CyclicLoader(TensorDataset(x), 10, rank=0, world_size=4)


def test_a_batch_may_not_be_used_twice_nor_left_out():
    loader, optimizer = begun()
    batches = iter(loader)
    batch = next(batches)
    optimizer.step(*batch)
    with pytest.raises(InvalidDescription, match="once for each batch"):
        optimizer.step(*batch)
    next(batches)
    batch = next(batches)
    with pytest.raises(InvalidDescription, match="once for each batch"):
        optimizer.step(*batch)


def test_an_epoch_that_was_broken_off_ends_the_run():
    loader, optimizer = begun()
    optimizer.step(*next(iter(loader)))
    with pytest.raises(InvalidDescription, match="in order"):
        optimizer.step(*next(iter(loader)))


def test_a_batch_of_another_size_is_refused():
    loader, optimizer = begun()
    features, targets = next(iter(loader))
    with pytest.raises(InvalidDescription, match="batch of 10 records, got 9"):
        optimizer.step(features[:9], targets[:9])


def test_a_loader_in_the_middle_of_an_epoch_is_refused():
    loader, _ = begun()
    next(iter(loader))
    head = LinearHead(5, links.Logistic(), feature_norm=1.0)
    with pytest.raises(InvalidDescription, match="start of an epoch"):
        NoisySGD(head, loader, lr=1.0, noise=GradientNoise(0.1), adjacency=Adjacency.ZERO_OUT)


def test_nothing_is_certified_before_a_step_nor_after_a_checkpoint():
    _, optimizer = begun()
    with pytest.raises(InvalidDescription, match="taken a step"):
        certificate_of(optimizer)
    with pytest.raises(InvalidDescription, match="must not be loaded"):
        optimizer.load_state_dict(optimizer.state_dict())


def test_a_column_of_targets_is_as_good_as_a_row():
    head = LinearHead(5, links.Logistic(), feature_norm=1.0)
    x, y = records(links.Logistic())
    assert np.array_equal(head.gradient_sum(x, y), head.gradient_sum(x, y[:, None]))


def test_single_precision_shows_the_iterate_and_does_not_change_it():
    loader, optimizer = begun()
    optimizer._head.float()
    for features, targets in loader:
        optimizer.step(features, targets)
    shown = optimizer._head.weight.detach()
    assert shown.dtype is torch.float32
    assert np.array_equal(shown.numpy(), optimizer._x.astype(np.float32))
    assert not np.array_equal(shown.double().numpy(), optimizer._x)


def test_half_precision_is_refused_in_words():
    loader, optimizer = begun()
    features, targets = next(iter(loader))
    with pytest.raises(InvalidDescription, match=r"bfloat16; call \.float\(\) on them"):
        optimizer.step(features.bfloat16(), targets)
    optimizer._head.bfloat16()
    with pytest.raises(InvalidDescription, match="double or single precision, got"):
        optimizer.step(features, targets)
    head = LinearHead(5, links.Logistic(), feature_norm=1.0).half()
    with pytest.raises(InvalidDescription, match="float16"):
        NoisySGD(head, begun()[0], lr=1.0, noise=GradientNoise(0.1), adjacency=Adjacency.ZERO_OUT)


@pytest.mark.parametrize(
    "name, value", [("gradient_bound", 0.1), ("feature_norm", 2.0), ("intercept", 0.3)]
)
def test_a_public_number_of_the_head_must_not_change(name, value):
    loader, optimizer = begun()
    batches = iter(loader)
    optimizer.step(*next(batches))
    before = certificate_of(optimizer).epsilon(DELTA)
    setattr(optimizer._head, name, value)
    with pytest.raises(InvalidDescription, match="keep its public numbers"):
        optimizer.step(*next(batches))
    with pytest.raises(InvalidDescription, match="keep its public numbers"):
        release(optimizer)
    assert certificate_of(optimizer).epsilon(DELTA) == before, "what ran is what is certified"


def test_weights_must_be_those_that_the_last_step_left():
    loader, optimizer = begun()
    batches = iter(loader)
    optimizer.step(*next(batches))
    optimizer._head.weight.data.add_(1e-9)
    with pytest.raises(InvalidDescription, match="what the last step left"):
        optimizer.step(*next(batches))
    with pytest.raises(InvalidDescription, match="what the last step left"):
        release(optimizer)


def test_a_group_of_other_parameters_is_refused():
    _, optimizer = begun()
    with pytest.raises(InvalidDescription, match="the head's parameters alone"):
        optimizer.add_param_group({"params": [torch.nn.Parameter(torch.zeros(1))]})


def in_groups(link, made=None, *, bias_apart=True, start=0.0, dtype=torch.float64):
    """A run whose head holds its bias apart, in the groups that `made` makes of weight and bias."""
    head = LinearHead(5, link, feature_norm=1.0, intercept=0.5, bias_apart=bias_apart).to(dtype)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.fill_(start)
    loader = CyclicLoader(TensorDataset(*records(link)), 10)
    optimizer = NoisySGD(
        head,
        loader,
        lr=1.5,
        noise=NoiseMultiplier(0.7),
        ridge=0.05,
        adjacency=Adjacency.ZERO_OUT,
        groups=None if made is None else made(head.weight, head.bias),
        seed_voids_privacy=7,
    )
    return head, loader, optimizer


def apart(weight, bias):
    return [{"params": [weight]}, {"params": bias, "lr": 1.5, "weight_decay": 0.05}]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("link", [links.Logistic(), links.Softmax(4)])
def test_two_groups_alike_are_one_run_bit_for_bit(link, dtype):
    found = []
    for made, bias_apart in ((None, False), (None, True), (apart, True)):
        head, loader, optimizer = in_groups(
            link, made, bias_apart=bias_apart, start=0.25, dtype=dtype
        )
        halve = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        for _ in range(2):
            for batch in loader:
                optimizer.step(*batch)
            halve.step()
        x = records(link)[0]
        run, hidden = optimizer.description(), optimizer._x.tobytes()
        found.append((run, hidden, head(x).detach(), head.gradient_sum(x, records(link)[1])))
        assert len(optimizer.param_groups) == (2 if made else 1)
        release(optimizer)
        shown = torch.from_numpy(optimizer._x).to(dtype)[-1]
        assert torch.equal(head.bias if bias_apart else head.weight[-1], shown)
    (run, hidden, margins, sums), *others = found
    assert list(run.plan)[1].step_size == 0.75 and margins.abs().max() > 0.01
    for other in others:
        assert other[0] == run and other[1] == hidden
        assert torch.equal(other[2], margins) and np.array_equal(other[3], sums)


def test_groups_may_set_together_what_the_optimizer_is_not_told():
    def both(weight, bias):
        alike = {"lr": torch.tensor(0.5), "weight_decay": 0.25}
        return [{"params": [weight], **alike}, {"params": [bias], **alike}]

    _, loader, optimizer = in_groups(links.Logistic(), both)
    optimizer.step(*next(iter(loader)))
    run = optimizer.description()
    assert run.objective.ridge == 0.25
    assert list(run.plan) == [Phase(1, 0.5, NoiseMultiplier(0.7))]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            lambda w, b: [{"params": [w]}, {"params": [b], "lr": 0.1}],
            r"one learning rate, got 0.1 in group 1 \(bias\) beside 1.5 in group 0 \(weight\).*"
            "intercept",
        ),
        (
            lambda w, b: [{"params": [w]}, {"params": [b], "weight_decay": 0.0}],
            r"one weight decay, got 0.0 in group 1 \(bias\) beside 0.05 .*set one for all",
        ),
        (lambda w, b: [{"params": [w]}], r"\(weight, bias\), got weight;"),
        (lambda w, b: [], "got none"),
        (lambda w, b: [{"params": [w, b]}, {"params": [b]}], "got weight, bias, bias"),
        (
            lambda w, b: [{"params": [w, b, torch.nn.Parameter(torch.zeros(1))]}],
            "a parameter that is not the head's",
        ),
        (lambda w, b: [{"params": [w, b], "momentum": 0.9}], "group 0 must have params.*momentum"),
        (lambda w, b: [{"params": [w, b], "lr": -1.0}], "lr must be"),
        (lambda w, b: [{"params": [w, b], "weight_decay": -1.0}], "weight_decay must be"),
    ],
)
def test_groups_that_are_not_one_run_are_refused(made, words):
    with pytest.raises(InvalidDescription, match=words):
        in_groups(links.Logistic(), made)


def test_groups_must_stay_alike_during_the_run():
    _, loader, optimizer = in_groups(links.Logistic(), apart)
    slower = torch.optim.lr_scheduler.LambdaLR(optimizer, [lambda n: 1.0, lambda n: 0.5**n])
    batches = iter(loader)
    optimizer.step(*next(batches))
    slower.step()
    with pytest.raises(InvalidDescription, match=r"learning rate, got 0.75 in group 1 \(bias\)"):
        optimizer.step(*next(batches))
    assert optimizer.steps_taken == 1
    _, loader, optimizer = in_groups(links.Logistic(), apart)
    for group in optimizer.param_groups:
        group["weight_decay"] = 0.0
    with pytest.raises(InvalidDescription, match="weight_decay must stay the run's ridge"):
        optimizer.step(*next(iter(loader)))


def test_a_bias_apart_must_be_what_the_last_step_left():
    head, loader, optimizer = in_groups(links.Logistic(), apart)
    batches = iter(loader)
    optimizer.step(*next(batches))
    head.bias.data.add_(1e-9)
    with pytest.raises(InvalidDescription, match="what the last step left"):
        optimizer.step(*next(batches))
    with pytest.raises(InvalidDescription, match="intercept must be above 0"):
        LinearHead(5, links.Logistic(), feature_norm=1.0, bias_apart=True)


def poisson(public=None, adjacency=Adjacency.ZERO_OUT, seed=None):
    link = links.Logistic()
    loader = PoissonLoader(TensorDataset(*records(link)), 2, records=public)
    head = LinearHead(5, link, feature_norm=1.0)
    optimizer = NoisySGD(
        head, loader, lr=1.0, noise=NoiseMultiplier(2.0), adjacency=adjacency, ridge=0.1,
        seed_voids_privacy=seed,
    )  # fmt: skip
    return loader, optimizer


def test_poisson_batches_are_drawn_by_coins_and_described():
    loader, optimizer = poisson()
    sizes = []
    for _ in range(8):
        for features, targets in loader:
            sizes.append(len(features))
            optimizer.step(features, targets)
    assert len(sizes) == 8 * 24 and 0 in sizes and len(set(sizes)) > 3
    assert abs(np.mean(sizes) - 2.0) < 5 * math.sqrt(2.0 / len(sizes))
    run = optimizer.description()
    assert run.batches == Poisson(2) and run.records == 47
    assert release(optimizer).epsilon(DELTA) < certify(
        replace(run, release=EveryIterate())
    ).epsilon(DELTA)


def test_a_poisson_epoch_may_be_broken_off_but_no_batch_used_twice():
    loader, optimizer = poisson()
    batch = next(iter(loader))
    optimizer.step(*batch)
    with pytest.raises(InvalidDescription, match="once for each batch"):
        optimizer.step(*batch)
    loader, optimizer = poisson()
    for _ in range(3):
        optimizer.step(*next(iter(loader)))
    assert optimizer.steps_taken == 3


def test_adding_a_record_needs_a_public_number_of_records():
    with pytest.raises(InvalidDescription, match="public number of records"):
        poisson(adjacency=Adjacency.ADD_REMOVE)
    _, optimizer = poisson(public=50, adjacency=Adjacency.ADD_REMOVE)
    loader = optimizer._loader
    for batch in loader:
        optimizer.step(*batch)
    assert optimizer.description().records == 50


def test_a_run_goes_on_from_a_sealed_checkpoint(tmp_path):
    pytest.importorskip("cryptography", reason="needs cryptography; install wane[checkpoints]")
    place = Checkpoint(tmp_path / "run.sealed", new_checkpoint_key())
    loader, optimizer = begun()
    for batch in loader:
        optimizer.step(*batch)
    optimizer.save(place)
    kept = optimizer._head.weight.detach().clone()
    assert kept.numpy().tobytes() not in (tmp_path / "run.sealed").read_bytes()
    loader, other = begun()
    with pytest.raises(InvalidDescription, match="must be of this run"):
        poisson()[1].resume(place)
    with pytest.raises(InvalidDescription, match="key must be the one"):
        other.resume(Checkpoint(place.path, new_checkpoint_key()))
    assert other.resume(place) == 5
    assert torch.equal(other._head.weight, kept)
    assert not (tmp_path / "run.sealed").exists(), "taken up once"
    for batch in loader:
        other.step(*batch)
    assert other.description().total_steps == 10
    assert certificate_of(other).epsilon(DELTA) > certificate_of(optimizer).epsilon(DELTA)
    with pytest.raises(InvalidDescription, match="cannot be read"):
        begun()[1].resume(place)
    batches = iter(loader)
    other.step(*next(batches))
    with pytest.raises(InvalidDescription, match="between two epochs"):
        other.save(place)


def test_shuffling_is_not_an_option():
    with pytest.raises(InvalidDescription, match="shuffle"):
        CyclicLoader(TensorDataset(torch.zeros(4, 1)), 2, shuffle=True)


@pytest.mark.slow
def test_the_documented_example_runs_and_its_certificate_is_verified(capsys, monkeypatch):
    pytest.importorskip("sklearn", reason="needs scikit-learn; install wane[learn]")
    released = []

    def kept(optimizer):
        released.append(release(optimizer))
        return released[-1]

    monkeypatch.setattr("wane.extra.torch.release", kept)
    runpy.run_path(str(ROOT / "examples" / "torch_last_layer.py"), run_name="__main__")
    said = dict(re.findall(r"(epsilon|by composition|accuracy) ([0-9.]+)", capsys.readouterr().out))
    assert float(said["epsilon"]) <= 2.0 < float(said["by composition"])
    assert float(said["accuracy"]) > 0.5  # a tenth by chance; the noise is not seeded
    verifier = pytest.importorskip("wane.verify", reason="needs flint; install wane[verify]")
    (certificate,) = released
    assert verifier.verify(certificate_document(certificate, delta=DELTA)).verified


def taken(optimizer, loader, steps=1):
    for features, targets in itertools.islice(iter(loader), steps):
        optimizer.step(features, targets)
    return optimizer


def made(seed=None):
    link, bound = LINKS["logistic"]
    head, optimizer, _ = trained(link, bound, seed=seed, epochs=0)
    return head, optimizer


def in_a_child(work):
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(into, np.asarray(work(), dtype=np.float64).tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    found = np.frombuffer(os.read(out, 10**6))
    os.close(out)
    os.close(into)
    return found


def test_two_children_share_no_noise():
    """One optimizer in two children: the two releases differed by the noiseless difference."""
    head, optimizer = made()

    def step():
        taken(optimizer, optimizer._loader)
        return optimizer._x

    first, second = in_a_child(step), in_a_child(step)
    assert first.size == second.size == head.weight.numel()
    assert not np.any(first == second)  # the same records, so only the noise differs


def test_a_run_that_has_begun_stays_in_its_process():
    _, optimizer = made()
    taken(optimizer, optimizer._loader)

    def step():
        try:
            release(optimizer)
        except TypeError as error:
            return [float("never pickled or copied" in str(error))]
        return [0.0]

    assert in_a_child(step).tolist() == [1.0]
    for way in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(TypeError, match="never pickled or copied"):
            way(optimizer)


def test_how_many_joined_a_batch_does_not_change_how_each_is_bounded():
    """With the coin of one record up or down, the sums differ by no more than its bound."""
    link, bound = LINKS["clamped logistic"]
    head = LinearHead(3, link, feature_norm=1.0, gradient_bound=bound)
    x = torch.from_numpy(np.random.default_rng(0).standard_normal((60, 3)))
    y = torch.ones(60, dtype=torch.float64)
    kept = {
        size: LinearSums(
            x.numpy()[:size], y.numpy()[:size], link,
            feature_norm=1.0, gradient_bound=bound, capacity=100,
        )._margin
        for size in (1, 30, 59, 60)
    }  # fmt: skip
    assert len(set(kept.values())) == 1
    totals = [head.gradient_sum(x[:n], y[:n], capacity=100) for n in (59, 60)]
    alone = head.gradient_sum(x[59:], y[59:], capacity=100)
    np.testing.assert_allclose(totals[1] - totals[0], alone, atol=1e-14)
