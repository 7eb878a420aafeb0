"""Trainings with the real engine that are not what they seem: the right number, or a reason.

Each ends in the hidden-state epsilon of what really ran, or in composition with a line that says
what differed.
"""

import copy
import math
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch; install wane[torch]")
pytest.importorskip("opacus", reason="needs opacus; install wane[opacus]")
pytest.importorskip("sklearn", reason="needs scikit-learn; install wane[learn]")

from torch import nn  # noqa: E402
from torch.utils.data import DataLoader, Subset, TensorDataset  # noqa: E402

from engines import (  # noqa: E402
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
from wane.describe import Poisson  # noqa: E402
from wane.errors import InvalidDescription  # noqa: E402
from wane.extra.opacus import BoundedFeatures, bounded_head, side_by_side  # noqa: E402
from wane.extra.opacus.loaders import Order, sampling_of  # noqa: E402
from wane.guarantees import GaussianDP  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*QUIET)
ONCE_AN_EPOCH = composed(18, 9)


def epsilon_of_poisson(training):
    """What Opacus' own accountant charges for the same steps."""
    return side_by_side(training.engine, DELTA).opacus


# optimizers


def test_momentum_adam_and_maximising_fall_back_to_composition():
    for optimizer, settings, reason in (
        (torch.optim.SGD, {"lr": RATE, "momentum": 0.9}, "momentum=0.9"),
        (torch.optim.SGD, {"lr": RATE, "maximize": True}, "maximize=True"),
        (torch.optim.Adam, {"lr": 1e-3}, "Adam, not plain SGD"),
    ):
        training = Training(tumours(), optimizer=optimizer, settings=settings).epochs(2)
        assert training.falls_back(reason) == pytest.approx(ONCE_AN_EPOCH, rel=1e-9)


def test_momentum_switched_on_between_epochs_is_noticed():
    training = Training(tumours()).epochs(1)
    assert training.certified() <= composed(9, 9) * (1 + 1e-9)
    training.optimizer.param_groups[0]["momentum"] = 0.9
    training.epochs(1)
    assert training.falls_back("momentum=0.9") == pytest.approx(ONCE_AN_EPOCH, rel=1e-9)


def test_groups_of_parameters_must_be_alike():
    training = Training(tumours(), bias=True)
    weight, bias = training.head[1].parameters()
    options = training.optimizer.param_groups[0]
    training.optimizer.param_groups = [
        options | {"params": [weight]},
        options | {"params": [bias]},
    ]
    assert training.epochs(1).certified() > 0.0
    training.optimizer.param_groups[1]["lr"] = 0.1
    training.epochs(1).falls_back("learning rates or weight decays of their own")


@pytest.mark.parametrize("tensor", [False, True])
def test_a_learning_rate_changed_by_hand_is_noticed(tensor):
    rate = torch.tensor(RATE)
    training = Training(tumours(), settings={"lr": rate if tensor else RATE})

    def change(epoch):
        if tensor:
            rate.mul_(0.5)
        else:
            training.optimizer.param_groups[0]["lr"] *= 0.5

    training.epochs(2, every=change)
    assert training.falls_back("learning rate changed") == pytest.approx(ONCE_AN_EPOCH)


def test_a_plateau_rule_sees_the_records():
    training = Training(tumours())
    rule = torch.optim.lr_scheduler.ReduceLROnPlateau(training.optimizer, patience=0)
    training.epochs(3, every=lambda epoch: rule.step(1.0))
    training.falls_back("learning rate changed")


def test_changed_noise_falls_back():
    training = Training(tumours()).epochs(1)
    training.optimizer.noise_multiplier = 2 * NOISE
    training.epochs(1)
    mu = math.sqrt(1 / NOISE**2 + 1 / (2 * NOISE) ** 2)
    found = training.falls_back("noise multiplier changed")
    assert found == pytest.approx(GaussianDP(mu).epsilon(DELTA))


def test_a_second_optimizer_is_a_second_run():
    training = Training(tumours()).epochs(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, training.optimizer, _ = training.engine.make_private(
            module=training.model,
            optimizer=torch.optim.SGD(training.head.parameters(), lr=RATE, weight_decay=DECAY),
            data_loader=training.loader,
            noise_multiplier=NOISE,
            max_grad_norm=CLIP,
            poisson_sampling=False,
        )
    training.epochs(1)
    training.falls_back("make_private was called again")


def test_an_extra_step_of_the_inner_optimizer_is_noticed():
    training = Training(tumours()).epochs(1)
    training.optimizer.original_optimizer.step()
    training.falls_back("took a step of its own")


def test_a_step_taken_twice_on_one_batch_is_noticed():
    training = Training(tumours())
    for x, y in training.loader:
        training.step(x, y)
        training.step(x, y)
    assert training.falls_back("whole and once") > composed(9, 9)


# clipping and gradients


@needs_1_6
def test_ghost_clipping_is_certified_like_clipping_by_hooks():
    hooks = Training(digits(), TEN, poisson=True).epochs(1)
    ghost = Training(digits(), TEN, poisson=True, grad_sample_mode="ghost").epochs(1)
    assert ghost.certified() == hooks.certified()
    scaled = Training(digits(), TEN, poisson=True, grad_sample_mode="ghost")
    for x, y in scaled.loader:
        scaled.optimizer.zero_grad()
        (scaled.criterion(scaled.model(x), y) * 100.0).backward()
        scaled.optimizer.step()
    found = scaled.falls_back("not those of a loss that wane knows")
    assert found == pytest.approx(hooks.accountant.composed_epsilon(DELTA), rel=1e-9)


def test_ghost_clipping_that_does_not_clip_leaves_nothing_to_claim():
    """Opacus multiplies the losses by their factors; a column of losses becomes a square."""
    training = Training(tumours(), poisson=True, grad_sample_mode="ghost").epochs(1)
    assert training.falls_back("ghost clipping did not clip") == math.inf
    deeper = Training(
        tumours(),
        poisson=True,
        grad_sample_mode="ghost",
        module=lambda head: nn.Sequential(nn.Linear(30, 30), head),
    ).epochs(1)
    assert deeper.falls_back("ghost clipping did not clip") == math.inf


def test_clipping_by_layer_falls_back():
    training = Training(
        tumours(), bias=True, clip=[CLIP, CLIP], clipping="per_layer", loss_reduction="mean"
    ).epochs(2)
    assert training.falls_back("DPPerLayerOptimizer") == pytest.approx(ONCE_AN_EPOCH)


def test_adaptive_clipping_is_not_proved():
    training = Training(
        tumours(),
        clipping="adaptive",
        target_unclipped_quantile=0.5,
        clipbound_learning_rate=0.2,
        max_clipbound=10.0,
        min_clipbound=0.1,
        unclipped_num_std=3.0,
    ).epochs(1)
    assert training.falls_back("exact size of the batch") == math.inf


def test_a_hooked_gradient_is_noticed():
    training = Training(tumours())
    for x, y in training.loader:
        training.optimizer.zero_grad()
        z = training.model(x)
        z.register_hook(lambda gradient: gradient * 3.0)
        training.criterion(z, y).backward()
        training.optimizer.step()
    training.falls_back("not those of a loss that wane knows")


def test_gradients_of_single_records_that_were_edited_are_noticed():
    training = Training(tumours())
    for x, y in training.loader:
        training.optimizer.zero_grad()
        training.criterion(training.model(x), y).backward()
        training.head[1].weight.grad_sample[0] *= -1.0
        training.optimizer.step()
    training.falls_back("not those of a loss that wane knows")


def test_losses_without_known_constants_fall_back():
    smoothed = (64, 10, nn.CrossEntropyLoss(label_smoothing=0.1))
    Training(digits(), smoothed).epochs(1).falls_back("loss that wane knows")
    weighted = (64, 10, nn.CrossEntropyLoss(weight=torch.linspace(0.5, 2.0, 10)))
    Training(digits(), weighted).epochs(1).falls_back("loss that wane knows")
    summed = (30, 1, nn.BCEWithLogitsLoss(reduction="sum"))
    Training(tumours(), summed).epochs(1).falls_back("loss that wane knows")


def test_labels_that_are_not_the_loaders_are_noticed():
    """Labels that a model makes depend on its weights, and no convexity is left."""
    training = Training(tumours()).epochs(1)
    for x, _ in training.loader:
        with torch.no_grad():
            guessed = (training.head(x) > 0).float()
        training.step(x, guessed)
    training.falls_back("no longer those of Logistic")


def test_labels_changed_in_place_are_noticed():
    training = Training(tumours())
    for x, y in training.loader:
        training.step(x, y.neg_().add_(1.0))
    training.falls_back("changed in place")


def test_a_weight_of_positives_is_read_off_when_the_first_positive_comes():
    x, y = tumours().tensors
    order = y[:, 0].argsort()  # the first three batches have no positive label
    kind = (30, 1, nn.BCEWithLogitsLoss(pos_weight=torch.tensor([7.0])))
    training = Training(TensorDataset(x[order], y[order]), kind).epochs(2)
    training.certified()
    assert training.accountant.run().objective.smoothness == pytest.approx(7 * 1.5**2 / 4, rel=2e-4)


# models


def test_two_engines_in_one_process_do_not_see_one_another():
    alone = Training(tumours()).epochs(2).certified()
    first, second = Training(tumours()), Training(digits(), TEN, clip=2.2)
    for _ in range(2):
        first.epochs(1)
        second.epochs(1)
    assert first.certified() == alone
    assert second.certified() == Training(digits(), TEN, clip=2.2).epochs(2).certified()


def test_a_second_model_with_the_same_criterion_changes_nothing():
    training = Training(tumours())
    other = nn.Linear(30, 1)
    teacher = torch.optim.SGD(other.parameters(), lr=0.1)
    for x, y in training.loader:
        training.step(x, y)
        teacher.zero_grad()
        training.criterion(other(x), y).backward()
        teacher.step()
    assert training.certified() == Training(tumours()).epochs(1).certified()


def test_a_trained_layer_before_the_head_falls_back():
    training = Training(
        tumours(), module=lambda head: nn.Sequential(nn.Linear(30, 30), head)
    ).epochs(1)
    found = training.falls_back("not the weight of one nn.Linear")
    assert found == pytest.approx(composed(9, 9))


def test_features_that_nobody_bounds_fall_back():
    training = Training(tumours(), module=lambda head: head[1]).epochs(1)
    training.falls_back("put BoundedFeatures(norm) before the layer")
    between = Training(
        tumours(), module=lambda head: nn.Sequential(head[0], nn.Tanh(), head[1])
    ).epochs(1)
    between.falls_back("not what BoundedFeatures has just made")


def test_a_frozen_bias_is_no_feature():
    training = Training(
        tumours(), module=lambda head: head[1].bias.requires_grad_(False) is None or head, bias=True
    ).epochs(1)
    training.certified()
    room = math.sqrt(1.5**2 - 1.0)
    assert training.accountant.run().objective.smoothness == pytest.approx(room**2 / 4)


def test_a_bias_frozen_between_epochs_is_noticed():
    training = Training(tumours(), bias=True).epochs(1)
    training.head[1].bias.requires_grad_(False)
    training.epochs(1)
    training.falls_back("trained parameters or the optimizer changed")


def test_a_frozen_layer_that_learns_elsewhere_is_noticed():
    body = nn.Linear(30, 30).requires_grad_(False)
    training = Training(tumours(), module=lambda head: nn.Sequential(body, head)).epochs(1)
    body.weight.data.add_(0.1)
    assert "frozen parameter" in training.accountant.obstacles[0]


def test_an_evaluation_that_writes_into_a_buffer_is_noticed():
    norm = nn.BatchNorm1d(30).requires_grad_(False)
    training = Training(tumours(), module=lambda head: nn.Sequential(norm, head))
    norm.eval()
    training.epochs(1)
    training.certified()
    norm.train()
    with torch.no_grad():
        training.model(tumours().tensors[0])
    norm.eval()
    training.epochs(1)
    training.falls_back("a buffer changed")


def test_layers_that_mix_records_leave_nothing_to_claim():
    norm = nn.BatchNorm1d(30, track_running_stats=False).requires_grad_(False)
    training = Training(tumours(), module=lambda head: nn.Sequential(norm, head)).epochs(1)
    assert training.falls_back("mixes the records") == math.inf


def test_the_best_weights_of_several_epochs_are_a_choice_that_saw_the_records():
    training = Training(tumours()).epochs(1)
    kept = {name: value.clone() for name, value in training.head.state_dict().items()}
    training.epochs(1)
    training.head.load_state_dict(kept)
    training.falls_back("not those that the last step left")


def test_an_evaluation_that_changes_nothing_is_allowed():
    training = Training(tumours(), poisson=True)

    def evaluate(epoch):
        training.model.eval()
        training.model(tumours().tensors[0])
        training.model.train()
        with torch.no_grad():
            training.model(tumours().tensors[0])

    assert training.epochs(2, every=evaluate).certified() > 0.0


# loaders


def test_a_loader_replaced_between_epochs_is_charged_in_full_from_then_on():
    training = Training(tumours()).epochs(1)
    training.loader = DataLoader(tumours(), batch_size=64, shuffle=True)
    training.epochs(1)
    expected = GaussianDP(math.sqrt(10) / NOISE).epsilon(DELTA)  # once in nine steps, then nine
    assert training.falls_back("another loader") == pytest.approx(expected, rel=1e-9)


def test_an_epoch_of_a_fixed_order_that_is_broken_off_is_noticed():
    training = Training(tumours())
    for _ in range(3):
        training.step(*next(iter(training.loader)))
    assert training.falls_back("broken off") == pytest.approx(composed(3, 1), rel=1e-9)


def test_an_epoch_of_poisson_batches_may_be_broken_off():
    training = Training(tumours(), poisson=True)
    for _ in range(3):
        training.step(*next(iter(training.loader)))
    assert training.certified() > 0.0
    assert training.accountant.run().total_steps == 3


def test_a_skipped_batch_is_noticed():
    training = Training(tumours(), poisson=True)
    for position, (x, y) in enumerate(training.loader):
        if position != 4:
            training.step(x, y)
    assert training.falls_back("left out") > epsilon_of_poisson(training)


def test_an_empty_poisson_batch_is_a_step_like_any_other():
    data = Subset(tumours(), range(12))
    training = Training(data, size=1, poisson=True, noise=8.0)
    sizes = []
    for _ in range(3):
        for x, y in training.loader:
            sizes.append(len(x))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the mean of nothing
                training.step(x, y)
    assert 0 in sizes and max(sizes) > 0
    training.certified()
    assert training.accountant.run().batches == Poisson(1)


@needs_1_6
def test_empty_batches_filled_with_made_up_records_are_charged_twice():
    data = Subset(tumours(), range(12))
    training = Training(data, size=1, poisson=True, noise=8.0, rand_on_empty=True).epochs(1)
    found = training.falls_back("made-up records")
    assert found == pytest.approx(composed(12, 1, sensitivity=2.0, noise=8.0), rel=1e-9)


def test_accumulated_gradients_are_charged_for_every_pass():
    training = Training(tumours())
    for position, (x, y) in enumerate(training.loader):
        training.criterion(training.model(x), y).backward()
        if position % 3 == 2:
            training.optimizer.step()
            training.optimizer.zero_grad()
    found = training.falls_back("accumulated gradients")
    assert found == pytest.approx(composed(3, 1, sensitivity=3.0), rel=1e-9)


@pytest.mark.parametrize("poisson", [True, False])
def test_physical_batches_add_up_to_the_drawn_one(poisson):
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    training = Training(tumours(), poisson=poisson)
    steps = 0
    for _ in range(2):
        with BatchMemoryManager(
            data_loader=training.loader, max_physical_batch_size=20, optimizer=training.optimizer
        ) as parts:
            for x, y in parts:
                assert len(x) <= 20
                training.step(x, y)
                steps += 1
    assert steps > 2 * 9
    training.certified()
    assert training.accountant.run().total_steps == 18


def test_virtual_steps_by_hand_are_charged_for_every_pass():
    training = Training(tumours())
    for position, (x, y) in enumerate(training.loader):
        training.optimizer.signal_skip_step(do_skip=position % 3 != 2)
        training.step(x, y)
    assert training.falls_back("whole and once") == pytest.approx(composed(3, 1, sensitivity=3.0))


def test_workers_hand_out_the_same_batches():
    options = {"num_workers": 1}
    training = Training(tumours(), loader_options=options, poisson=True).epochs(2)
    assert training.certified() > 0.0
    fixed = Training(tumours(), loader_options=options).epochs(2)
    assert fixed.certified() == Training(tumours()).epochs(2).certified()


def test_every_kind_of_order_is_read():
    data, sampler = tumours(), torch.utils.data.SubsetRandomSampler(range(100))
    shared = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0)
    whole = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0, drop_last=True)
    orders = {
        "plain": (DataLoader(data, batch_size=64), Order.FIXED, 569, 1, 1),
        "shuffled": (DataLoader(data, batch_size=64, shuffle=True), Order.SHUFFLED, 569, 1, 1),
        "subset": (DataLoader(data, batch_size=64, sampler=sampler), Order.SHUFFLED, 100, 1, 1),
        "padded": (DataLoader(data, batch_size=64, sampler=shared), Order.SHUFFLED, 285, 2, 2),
        "shared": (DataLoader(data, batch_size=64, sampler=whole), Order.SHUFFLED, 284, 1, 2),
    }
    for name, (loader, order, records, uses, processes) in orders.items():
        found = sampling_of(loader)
        assert (found.order, found.records, found.uses, found.processes) == (
            order,
            records,
            uses,
            processes,
        ), name


def test_several_processes_fall_back_to_one_use_an_epoch():
    data = tumours()
    shared = torch.utils.data.DistributedSampler(data, num_replicas=2, rank=0, drop_last=True)
    training = Training(data, loader=DataLoader(data, batch_size=64, sampler=shared)).epochs(2)
    assert training.falls_back("several processes") == pytest.approx(ONCE_AN_EPOCH, rel=1e-9)


# checkpoints


def test_steps_of_a_loaded_history_were_not_watched():
    first = Training(tumours(), poisson=True).epochs(1)
    second = Training(tumours(), poisson=True)
    second.accountant.load_state_dict(first.accountant.state_dict())
    second.epochs(1)
    found = second.falls_back("not every step was watched")
    assert found == pytest.approx(epsilon_of_poisson(second), rel=0.05)
    bare = Training(tumours(), poisson=True)
    state = first.accountant.state_dict()
    del state["charges"]
    bare.accountant.load_state_dict(state)
    steps = len(first.accountant)
    assert bare.falls_back("watched") == pytest.approx(composed(steps, 1), rel=1e-9)


def test_steps_that_an_engine_did_not_report_are_charged_in_full():
    training = Training(tumours(), poisson=True).epochs(1)
    training.accountant.step(noise_multiplier=NOISE, sample_rate=1 / 9)
    steps = len(training.accountant)
    assert training.falls_back("watched") == pytest.approx(composed(steps, 1), rel=1e-9)


def test_a_layer_outside_the_package_is_read_like_bounded_head():
    """What the tutorial does: BoundedFeatures before any nn.Linear."""
    model = nn.Sequential(nn.Flatten(), BoundedFeatures(), nn.Linear(64, 10))
    images = TensorDataset(digits().tensors[0].view(-1, 8, 8), digits().tensors[1])
    training = Training(images, TEN, module=lambda head: model, clip=1.5, poisson=True).epochs(1)
    training.certified()
    expected = math.sqrt(2) * math.sqrt(2)  # softmax, with the constant of a trained bias
    assert training.accountant.run().objective.gradient_bound == 1.5 < expected
    assert bounded_head(2, 1, feature_norm=1.0)[0].norm == 1.0


def test_no_order_of_a_linear_member_leaks_more_than_the_worst_one():
    """x' = c x + shift at the use + noise: exact for any positions, with c = 1 - lr decay."""
    training = Training(tumours(), loader_options={"shuffle": True}).epochs(3)
    claimed = training.certified()
    run = training.accountant.run()
    c = 1.0 - run.step_size * run.objective.ridge
    ages = np.arange(27)[::-1]
    noise = np.sqrt((c ** (2 * ages)).sum())
    rng = np.random.default_rng(0)
    worst = 0.0
    for draw in range(2000):
        places = rng.integers(0, 9, 3) if draw else np.full(3, 8)
        steps = places + 9 * np.arange(3)
        mu = (c ** (26 - steps)).sum() / noise / NOISE
        worst = max(worst, GaussianDP(mu).epsilon(DELTA))
    assert 0.2 * claimed < worst <= claimed


# what a step was taken on


def test_outputs_that_were_mixed_behind_autograd_are_noticed():
    def mixed(z, y):
        z.data.sub_(z.data.mean())  # every gradient now depends on all records
        return nn.functional.binary_cross_entropy_with_logits(z, y)

    made = Training(tumours()).epochs(2, loss=mixed)
    assert math.isinf(made.accountant.composed_epsilon(DELTA)), "asked before anything else"
    for claim in (made.accountant.composition, made.accountant.composition_certificate):
        with pytest.raises(InvalidDescription, match=r"to be composed: .*outputs are not those"):
            claim()
    assert math.isinf(made.falls_back("outputs are not those")), "no composition either"


def test_a_mixture_is_noticed_though_something_else_differed_since():
    made = Training(tumours()).epochs(1)

    def mixed(z, y):
        z.data.sub_(z.data.mean())
        return nn.functional.binary_cross_entropy_with_logits(z, y)

    made.epochs(1, loss=mixed)
    made.optimizer.param_groups[0]["momentum"] = 0.9
    made.epochs(1)
    assert math.isinf(made.falls_back("momentum", "outputs are not those"))


def test_a_gradient_taken_at_other_weights_is_noticed():
    made = Training(tumours())
    weight, before = made.head[1].weight, None
    for _ in range(2):
        for x, y in made.loader:
            here = weight.data.clone()
            if before is not None:
                weight.data.add_(here - before, alpha=0.9)  # looks ahead, as Nesterov does
            made.optimizer.zero_grad()
            made.criterion(made.model(x), y).backward()
            weight.data.copy_(here)
            made.optimizer.step()
            before = here
    assert math.isinf(made.falls_back("outputs are not those")), "it might be a mixture"


def test_features_stretched_behind_autograd_are_noticed():
    class Stretched(nn.Module):
        def __init__(self, head):
            super().__init__()
            self.bound, self.layer = head

        def forward(self, x):
            rows = self.bound(x)
            rows.data.mul_(3.0)
            return self.layer(rows)

    made = Training(tumours(), module=Stretched).epochs(2)
    assert made.falls_back("features were longer") == pytest.approx(ONCE_AN_EPOCH, rel=1e-9)


@pytest.mark.parametrize("last", [False, True])
def test_a_step_that_was_prepared_and_not_taken_is_noticed(last):
    made = Training(tumours()).epochs(1)
    inner = made.optimizer.original_optimizer
    real, left_out = inner.step, 9 if last else 3
    for number, (x, y) in enumerate(made.loader, start=1):
        inner.step = (lambda *_, **__: None) if number == left_out else real
        made.step(x, y)
    assert made.falls_back("prepared, and not taken") == pytest.approx(ONCE_AN_EPOCH, rel=1e-9)


def test_a_copy_of_the_model_tells_nobody():
    made = Training(tumours()).epochs(1)
    twin = copy.deepcopy(made.head)
    twin.eval()(torch.zeros(3, 30))
    assert twin[0].tell is None and made.head[0].tell is not None
    made.epochs(1).certified()
