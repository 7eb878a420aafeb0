"""What wane's accountant adds to an epoch of Opacus; needs wane[opacus].

Prints one JSON line for each model: processor seconds of an epoch with Opacus' own PRV accountant
and with wane's, which watches every step, and their ratio.  Both are timed in turn, over so many
epochs that all evidence which is examined late is examined within them; medians count.
"""

from __future__ import annotations

import json
import time
import warnings
from statistics import median

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")

from opacus import PrivacyEngine  # noqa: E402

from wane.extra.opacus import BoundedFeatures  # noqa: E402

MOST = 1.1
"""The ratio that is promised for a last layer on a frozen convolution, and for wide layers."""
RECORDS = 4096
ROUNDS = 15
STEPS = 256
"""At least so many steps are timed at once: evidence waits for no more of them."""


def frozen_convolution() -> tuple[nn.Module, torch.Tensor]:
    """A public feature extractor on images of 28 x 28, as in the tutorial."""
    body = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten())
    return body.requires_grad_(False), torch.randn(RECORDS, 1, 28, 28)


def none(features: int) -> tuple[nn.Module, torch.Tensor]:
    """Features that were computed before."""
    return nn.Identity(), torch.randn(RECORDS, features)


MODELS = {
    "convolution, 10 classes, batch 256": (frozen_convolution, 576, 10, 256),
    "512 features, 10 classes, batch 256": (lambda: none(512), 512, 10, 256),
    "64 features, 10 classes, batch 256": (lambda: none(64), 64, 10, 256),
    "20 features, 1 output, batch 50": (lambda: none(20), 20, 1, 50),
}


def training(accountant: str, name: str):
    """One epoch of this model, as a function without arguments."""
    made, features, outputs, size = MODELS[name]
    body, x = made()
    many = outputs > 1
    y = torch.randint(outputs, (len(x),)) if many else torch.randint(2, (len(x), 1)).float()
    model = nn.Sequential(body, BoundedFeatures(norm=1.0), nn.Linear(features, outputs))
    criterion = nn.CrossEntropyLoss() if many else nn.BCEWithLogitsLoss()
    model, optimizer, loader = PrivacyEngine(accountant=accountant).make_private(
        module=model,
        optimizer=torch.optim.SGD(model[2].parameters(), lr=0.5, weight_decay=0.05),
        data_loader=DataLoader(TensorDataset(x, y), batch_size=size),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )

    def epoch() -> None:
        for rows, targets in loader:
            optimizer.zero_grad()
            criterion(model(rows), targets).backward()
            optimizer.step()

    return epoch


def seconds(epoch, count: int) -> float:
    """Processor seconds of one epoch, on average over so many."""
    start = time.process_time()
    for _ in range(count):
        epoch()
    return (time.process_time() - start) / count


def main() -> None:
    torch.set_num_threads(1)
    for name, (*_, size) in MODELS.items():
        epochs = {kind: training(kind, name) for kind in ("prv", "hidden-state")}
        count = -(-STEPS * size // RECORDS)
        times = [{kind: seconds(one, count) for kind, one in epochs.items()} for _ in range(ROUNDS)]
        middle = {kind: median(row[kind] for row in times[1:]) for kind in epochs}
        ratio = median(row["hidden-state"] / row["prv"] for row in times[1:])
        print(json.dumps({"model": name, "seconds": middle, "ratio": round(ratio, 3)}), flush=True)


if __name__ == "__main__":
    main()
