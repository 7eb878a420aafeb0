"""A claim through PyTorch that was two hundred times too small."""

import pytest

torch = pytest.importorskip("torch", reason="needs torch; install wane[torch]")

from torch.utils.data import TensorDataset  # noqa: E402

from wane import Adjacency, GradientNoise  # noqa: E402
from wane.errors import InvalidDescription  # noqa: E402
from wane.extra.torch import CyclicLoader, LinearHead, NoisySGD, certificate_of  # noqa: E402
from wane.run import links  # noqa: E402

OLD_CLAIM, TRUE = 0.302, 71.6


def test_the_bound_of_the_last_step_is_not_charged_for_all():
    """Ten records, 20 steps, noise 0.5; bound 5 for 19 steps and 0.05 for the last."""
    x = torch.randn(10, 3, generator=torch.manual_seed(0))
    loader = CyclicLoader(TensorDataset(x, torch.sign(x[:, 0])), 10)
    head = LinearHead(3, links.Squared(), feature_norm=1.0, gradient_bound=5.0)
    optimizer = NoisySGD(
        head, loader, lr=0.5, noise=GradientNoise(0.5), adjacency=Adjacency.REPLACE_ONE
    )
    for step in range(20):
        if step == 19:
            head.gradient_bound = 0.05
        for features, targets in loader:
            if step < 19:
                optimizer.step(features, targets)
            else:
                with pytest.raises(InvalidDescription, match="keep its public numbers"):
                    optimizer.step(features, targets)
    assert certificate_of(optimizer).epsilon(1e-5) > TRUE > OLD_CLAIM
