"""What wane's accountant adds to a training step of Opacus; needs wane[opacus].

Prints one JSON line for each model: seconds of a step with Opacus' own RDP accountant, with wane's,
and the part that the hook adds.  The hook's own time is measured alone, which noise disturbs less
than a difference of two long times.
"""

from __future__ import annotations

import json
import time
import warnings

import torch
from torch import nn
from torch.utils.data import TensorDataset

from benchmarks.timing import fastest

warnings.filterwarnings("ignore")

from opacus import PrivacyEngine  # noqa: E402

from wane import Adjacency  # noqa: E402
from wane.extra.opacus import bounded_head, register_hidden_state  # noqa: E402
from wane.extra.torch import CyclicLoader  # noqa: E402

SHAPES = ((8192, 64, 10, 256), (8192, 512, 10, 256), (8192, 64, 1, 64))
"""Records, features, outputs, batch size."""


class Hook:
    """A step hook that keeps count of its own seconds."""

    def __init__(self, inner) -> None:
        self.inner, self.seconds = inner, 0.0

    def __call__(self, optimizer) -> None:
        start = time.perf_counter()
        self.inner(optimizer)
        self.seconds += time.perf_counter() - start


def training(accountant: str, shape: tuple[int, int, int, int]):
    records, features, outputs, size = shape
    x = torch.randn(records, features)
    many = outputs > 1
    y = torch.randint(outputs, (records,)) if many else torch.randint(2, (records, 1)).float()
    loader = CyclicLoader(TensorDataset(x, y), size)
    head = bounded_head(features, outputs, feature_norm=1.0)
    criterion = nn.CrossEntropyLoss() if many else nn.BCEWithLogitsLoss()
    register_hidden_state(
        head=head, loader=loader, criterion=criterion, adjacency=Adjacency.ZERO_OUT
    )
    model, optimizer, loader = PrivacyEngine(accountant=accountant).make_private(
        module=head,
        optimizer=torch.optim.SGD(head.parameters(), lr=0.5),
        data_loader=loader,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        poisson_sampling=False,
    )
    hook = Hook(optimizer.step_hook)
    optimizer.attach_step_hook(hook)

    def epoch() -> None:
        for rows, targets in loader:
            optimizer.zero_grad()
            criterion(model(rows), targets).backward()
            optimizer.step()

    return epoch, hook, len(loader)


def main() -> None:
    torch.set_num_threads(1)
    for shape in SHAPES:
        seconds, hooks = {}, {}
        for name in ("rdp", "hidden-state"):
            epoch, hook, steps = training(name, shape)
            epoch()
            hook.seconds = 0.0
            seconds[name] = fastest(epoch, repeats=5) / steps
            hooks[name] = hook.seconds / (5 * steps)
        added = (hooks["hidden-state"] - hooks["rdp"]) / seconds["rdp"]
        line = {
            "records, features, outputs, batch": shape,
            "step_with_rdp": seconds["rdp"],
            "step_with_wane": seconds["hidden-state"],
            "hook_rdp": hooks["rdp"],
            "hook_wane": hooks["hidden-state"],
            "added": added,
        }
        print(json.dumps(line))


if __name__ == "__main__":
    main()
