"""Opacus on one prepared data set; run by learning.py inside Opacus' own environment.

Usage: peer_opacus.py data.npz settings.json, which prints one JSON line for each fit.
"""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
DELTA = 1e-5


def tensors(path: str) -> tuple[torch.Tensor, ...]:
    data = np.load(path)
    binary = int(data["train_labels"].max()) == 1
    kind = np.float32 if binary else np.int64
    return (
        torch.from_numpy(data["train_features"].astype(np.float32)),
        torch.from_numpy(data["train_labels"].astype(kind)),
        torch.from_numpy(data["test_features"].astype(np.float32)),
        torch.from_numpy(data["test_labels"].astype(kind)),
    )


def fit(
    x, y, *, seed, epsilon, batch, epochs, learning_rate, clip, mode="hooks", most_steps=None,
    threads=1,
):  # fmt: skip
    """Train the same linear model, without bias, and return it with seconds for each epoch.

    Processor seconds, and those on the wall.
    """
    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    binary = y.dtype == torch.float32
    model = nn.Linear(x.shape[1], 1 if binary else 1 + int(y.max()), bias=False)
    nn.init.zeros_(model.weight)
    criterion = nn.BCEWithLogitsLoss() if binary else nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    loader = DataLoader(TensorDataset(x, y), batch_size=min(batch, len(x)))
    made = PrivacyEngine(accountant="prv").make_private_with_epsilon(
        module=model,
        optimizer=optimizer,
        criterion=criterion,
        data_loader=loader,
        target_epsilon=epsilon,
        target_delta=DELTA,
        epochs=epochs,
        max_grad_norm=clip,
        grad_sample_mode=mode,
    )
    private, optimizer, *rest, loader = made
    criterion = rest[0] if rest else criterion
    start, wall, done = time.process_time(), time.perf_counter(), 0
    for _ in range(epochs):
        for rows, labels in loader:
            optimizer.zero_grad()
            out = private(rows)
            loss = criterion(out[:, 0] if binary else out, labels)
            loss.backward()
            optimizer.step()
            done += 1
            if done == most_steps:
                break
        if done == most_steps:
            break
    share = len(loader) / done
    return model, (time.process_time() - start) * share, (time.perf_counter() - wall) * share


def accuracy(model, x, y) -> float:
    with torch.no_grad():
        out = model(x)
    found = (out[:, 0] > 0).float() if y.dtype == torch.float32 else out.argmax(1)
    return float((found == y).double().mean())


def main() -> None:
    x, y, x_test, y_test = tensors(sys.argv[1])
    settings = json.loads(Path(sys.argv[2]).read_text())
    for setting in settings:
        model, seconds, wall = fit(x, y, **setting)
        found = accuracy(model, x_test, y_test)
        line = {**setting, "accuracy": found, "seconds": seconds, "wall": wall}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
