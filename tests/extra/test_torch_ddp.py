"""Two processes with gloo train the head that one process trains."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch; install wane[torch]")

from torch.utils.data import TensorDataset  # noqa: E402

from wane import Adjacency, NoiseMultiplier  # noqa: E402
from wane.describe.domains import Ball  # noqa: E402
from wane.errors import InvalidDescription  # noqa: E402
from wane.extra.torch import CyclicLoader, LinearHead, NoisySGD, certificate_of  # noqa: E402
from wane.run import links, seeded_generator_voids_privacy  # noqa: E402

RECORDS, COLUMNS, CLASSES, SIZE, EPOCHS = 103, 8, 3, 20, 4
SEED = 11


def train(rank=0, world_size=1):
    rng = np.random.default_rng(0)
    x = torch.from_numpy(rng.standard_normal((RECORDS, COLUMNS)))
    y = torch.from_numpy(rng.integers(0, CLASSES, RECORDS))
    head = LinearHead(
        COLUMNS, links.SoftmaxEnvelope(CLASSES), feature_norm=1.0, gradient_bound=0.5, intercept=0.5
    )
    with torch.no_grad():
        head.weight += rank  # rank 0's start counts, whatever the others have
    loader = CyclicLoader(TensorDataset(x, y), SIZE, rank=rank, world_size=world_size)
    optimizer = NoisySGD(
        head,
        loader,
        lr=2.0,
        noise=NoiseMultiplier(1.0),
        ridge=0.01,
        domain=Ball(2.0),
        adjacency=Adjacency.REPLACE_ONE,
        seed_voids_privacy=SEED + rank,  # rank 0's noise counts, and no other is drawn
    )
    for _ in range(EPOCHS):
        for features, targets in loader:
            optimizer.step(features, targets)
    return head, optimizer


def worker(rank, world_size, folder):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=world_size
    )
    head, optimizer = train(rank, world_size)
    np.savez(
        f"{folder}/{rank}.npz",
        weight=head.weight.detach().numpy(),
        epsilon=certificate_of(optimizer).nominal.epsilon(1e-5),
        next_draw=optimizer._generator.standard_normal(),
    )
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    torch.multiprocessing.spawn(worker, (2, str(folder)), nprocs=2)
    return [np.load(folder / f"{rank}.npz") for rank in range(2)]


@pytest.mark.slow
def test_two_processes_give_the_head_and_the_certificate_of_one(both):
    first, second = both
    head, optimizer = train()
    alone = head.weight.detach().numpy()
    np.testing.assert_array_equal(first["weight"], second["weight"])
    np.testing.assert_allclose(first["weight"], alone, rtol=1e-8, atol=1e-8)
    assert np.abs(alone).max() > 0.1
    expected = certificate_of(optimizer).nominal.epsilon(1e-5)
    assert first["epsilon"] == second["epsilon"] == expected


@pytest.mark.slow
def test_noise_is_drawn_by_one_process_only(both):
    untouched = seeded_generator_voids_privacy(SEED + 1).standard_normal()
    assert both[1]["next_draw"] == untouched


def test_a_loader_for_two_needs_a_process_group_of_two():
    with pytest.raises(InvalidDescription, match="process group, 1, got 2"):
        train(0, 2)
