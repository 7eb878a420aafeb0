"""Fine-tune the last layer of a network on private records, with PyTorch.

    python examples/torch_last_layer.py

The digits that come with scikit-learn (extras `torch` and `learn`).  A third of them are public and
train a small network on an easier task; the others are private, and only a new last layer is fitted
to them.
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import TensorDataset

from wane import Adjacency, NoiseMultiplier, NoisyDescent, calibrate, losses
from wane.certificates import composition_of
from wane.extra.torch import CyclicLoader, LinearHead, NoisySGD, release
from wane.report.text import round_up_to

EPSILON, DELTA = 2.0, 1e-5
BATCH, EPOCHS, LEARNING_RATE, RIDGE = 80, 20, 4.0, 0.005
HIDDEN = 64


def split() -> list[torch.Tensor]:
    """Public, private and test images and labels."""
    images, labels = load_digits(return_X_y=True)
    x, y = torch.from_numpy(images / 16.0).float(), torch.from_numpy(labels)
    public_x, rest_x, public_y, rest_y = train_test_split(x, y, test_size=2 / 3, random_state=0)
    return [public_x, public_y, *train_test_split(rest_x, rest_y, test_size=0.3, random_state=0)]


def public_network(images: torch.Tensor, labels: torch.Tensor) -> nn.Module:
    """A hidden layer learned from public digits, grouped into five classes; then frozen."""
    torch.manual_seed(0)
    hidden = nn.Sequential(nn.Linear(images.shape[1], HIDDEN), nn.ReLU())
    network = nn.Sequential(hidden, nn.Linear(HIDDEN, 5))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(200):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(images), labels % 5).backward()
        optimizer.step()
    return hidden.requires_grad_(False).eval()


def main() -> None:
    """Plan the noise from public numbers, train the head, and certify what was done."""
    public_x, public_y, private_x, test_x, private_y, test_y = split()
    hidden = public_network(public_x, public_y)

    head = LinearHead(
        HIDDEN, losses.SoftmaxEnvelope(10), feature_norm=1.0, gradient_bound=0.5, intercept=0.2
    )
    # the features of one record depend on that record alone
    loader = CyclicLoader(TensorDataset(hidden(private_x), private_y), BATCH)
    plan = NoisyDescent(
        objective=head.objective(RIDGE),
        records=loader.records,
        steps=EPOCHS * len(loader),
        step_size=LEARNING_RATE,
        noise=NoiseMultiplier(1.0),
        batches=loader.batches,
        adjacency=Adjacency.ZERO_OUT,
    )
    found = calibrate(plan, epsilon=EPSILON, delta=DELTA, over="noise")

    optimizer = NoisySGD(
        head,
        loader,
        lr=LEARNING_RATE,
        noise=found.run.noise,
        ridge=RIDGE,
        adjacency=Adjacency.ZERO_OUT,
    )
    for _ in range(EPOCHS):
        for features, targets in loader:
            optimizer.step(features, targets)

    certificate = release(optimizer)  # rounds the weights to a public grid, and ends the run
    composed = composition_of(optimizer.description())
    right = (head(hidden(test_x)).argmax(1) == test_y).double().mean()
    print(f"noise multiplier {found.run.noise.value:.3f}, {optimizer.steps_taken} steps")
    print(f"epsilon {round_up_to(certificate.epsilon(DELTA), 4)} at delta {DELTA:g}, zero-out")
    print(f"by composition {round_up_to(composed.epsilon(DELTA), 4)}")
    print(f"accuracy {right:.3f} on {len(test_y)} digits that it has not seen")


if __name__ == "__main__":
    main()
