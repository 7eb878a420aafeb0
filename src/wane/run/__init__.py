"""Run a certified description: noisy descent on records, of which only the release is returned."""

from wane.randomness import private_generator, seeded_generator_voids_privacy
from wane.run import links
from wane.run.checkpoint import Checkpoint, new_checkpoint_key
from wane.run.descent import GradientSums, Rows, descend
from wane.run.discrete_gaussian import DiscreteGaussian
from wane.run.linear import LinearSums
from wane.run.safeguards import release_grid, to_grid

__all__ = [
    "Checkpoint",
    "DiscreteGaussian",
    "GradientSums",
    "LinearSums",
    "Rows",
    "descend",
    "links",
    "new_checkpoint_key",
    "private_generator",
    "release_grid",
    "seeded_generator_voids_privacy",
    "to_grid",
]
