"""What wane's accountant adds to an epoch of Opacus; needs wane[opacus].

Prints one JSON line for each model: seconds of an epoch with Opacus' own PRV accountant and with
wane's, which watches every step, and their ratio.  Epochs of both are timed in turn, and the
fastest of each counts.
"""

from __future__ import annotations

import json
import time
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")

from opacus import PrivacyEngine  # noqa: E402

from wane.extra.opacus import BoundedFeatures  # noqa: E402

MOST = 1.1
"""The ratio that is promised for a last layer on a frozen convolution, and for wide layers."""
ROUNDS = 9


def frozen_convolution() -> tuple[nn.Module, torch.Tensor]:
    """A public feature extractor on images of 28 x 28, as in the tutorial."""
    body = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten())
    return body.requires_grad_(False), torch.randn(4096, 1, 28, 28)


def none(features: int) -> tuple[nn.Module, torch.Tensor]:
    """Features that were computed before."""
    return nn.Identity(), torch.randn(4096, features)


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


def seconds(epoch) -> float:
    """Processor seconds of one epoch."""
    start = time.process_time()
    epoch()
    return time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    for name in MODELS:
        epochs = {kind: training(kind, name) for kind in ("prv", "hidden-state")}
        for epoch in epochs.values():
            epoch()
        times = [{kind: seconds(epoch) for kind, epoch in epochs.items()} for _ in range(ROUNDS)]
        best = {kind: min(row[kind] for row in times) for kind in epochs}
        ratio = best["hidden-state"] / best["prv"]
        print(json.dumps({"model": name, "seconds": best, "ratio": round(ratio, 3)}))


if __name__ == "__main__":
    main()
