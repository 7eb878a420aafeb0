"""A wide layer with many classes: its features are looked at during the pass, and not kept.

Whatever is noticed of a narrow layer must be noticed here as well.
"""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs torch; install wane[torch]")
pytest.importorskip("opacus", reason="needs opacus; install wane[opacus]")
pytest.importorskip("sklearn", reason="needs scikit-learn; install wane[learn]")

from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

from engines import DELTA, QUIET, TEN, Training, digits  # noqa: E402
from wane.extra.opacus.evidence import MIXTURES, WIDE  # noqa: E402

pytestmark = pytest.mark.filterwarnings(*QUIET)
FEATURES = 3 * 64


def wide(**options):
    rows, labels = digits()[:600]
    data = TensorDataset(torch.cat([rows, rows.square(), rows.sqrt()], dim=1), labels)
    return Training(data, (FEATURES, *TEN[1:]), **options)


def edited(edit):
    """A cross entropy that edits the outputs first."""

    def loss(outputs, labels):
        edit(outputs)
        return nn.functional.cross_entropy(outputs, labels)

    return loss


class Hooked(nn.Module):
    """Features of the bound, edited between the bound and the layer, or after the layer."""

    def __init__(self, head, before=lambda rows: None, after=lambda rows: None):
        super().__init__()
        self.bound, self.layer = head
        self.before, self.after = before, after

    def forward(self, x):
        rows = self.bound(x)
        self.before(rows)
        made = self.layer(rows)
        self.after(rows)
        return made


def test_this_layer_is_one_whose_features_are_not_kept():
    made = wide(bias=True).epochs(1)
    (kept, *_) = made.accountant._watch.witness._pending[-1].passes
    assert FEATURES > WIDE and TEN[1] > MIXTURES and kept.features.mixed.shape[0] == MIXTURES


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("poisson", [False, True])
def test_an_honest_run_is_certified(bias, poisson):
    made = wide(bias=bias, poisson=poisson).epochs(2)
    assert 0.0 < made.certified() < made.accountant.composed_epsilon(DELTA) * (1 + 1e-9)


def test_an_epsilon_that_is_asked_for_in_the_middle_of_a_step_changes_nothing():
    made = wide().epochs(1)
    for x, y in made.loader:
        made.optimizer.zero_grad()
        made.criterion(made.model(x), y).backward()
        made.accountant.obstacles  # noqa: B018  # examines what is pending
        made.optimizer.step()
    made.certified()


def test_physical_batches_add_up():
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    made = wide(bias=True)
    with BatchMemoryManager(
        data_loader=made.loader, max_physical_batch_size=20, optimizer=made.optimizer
    ) as parts:
        for x, y in parts:
            made.step(x, y)
    made.certified()


def test_outputs_that_were_mixed_behind_autograd_are_noticed():
    mixed = edited(lambda outputs: outputs.data.sub_(outputs.data.mean(0)))
    made = wide().epochs(1).epochs(1, loss=mixed)
    assert math.isinf(made.falls_back("outputs are not those"))


@pytest.mark.parametrize("bias", [False, True])
def test_one_record_whose_gradient_was_edited_is_noticed(bias):
    made = wide(bias=bias).epochs(1)
    for x, y in made.loader:
        made.optimizer.zero_grad()
        made.criterion(made.model(x), y).backward()
        trained = made.head[1].bias if bias else made.head[1].weight
        trained.grad_sample[0] *= 0.5
        made.optimizer.step()
    made.falls_back("no longer those of Softmax")


def test_other_labels_are_noticed():
    made = wide().epochs(1)
    for x, y in made.loader:
        made.step(x, (y + (torch.arange(len(y)) == 0)) % 10)
    made.falls_back("no longer those of Softmax")


def test_features_stretched_behind_autograd_are_noticed():
    def module(head):
        return Hooked(head, before=lambda rows: rows.data.mul_(3.0))

    wide(module=module).epochs(2).falls_back("features were longer")


def test_features_edited_after_the_pass_are_noticed():
    made = []

    def module(head):
        made.append(Hooked(head))
        return made[0]

    training = wide(module=module).epochs(1)
    made[0].after = lambda rows: rows.data[0].mul_(-1.0)
    training.epochs(1).falls_back("no longer those of Softmax")


def test_a_gradient_taken_at_other_weights_is_noticed():
    made = wide().epochs(1)
    weight = made.head[1].weight
    for x, y in made.loader:
        here = weight.data.clone()
        weight.data.mul_(1.1)
        made.optimizer.zero_grad()
        made.criterion(made.model(x), y).backward()
        weight.data.copy_(here)
        made.optimizer.step()
    assert math.isinf(made.falls_back("outputs are not those"))
