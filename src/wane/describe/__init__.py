"""What an algorithm is, as frozen data; no privacy mathematics here."""

from wane.describe.choices import (
    Adjacency,
    Cyclic,
    EveryIterate,
    FullBatch,
    Iterates,
    LastIterate,
    Poisson,
    ShuffledOnce,
    WithoutReplacement,
)
from wane.describe.descent import NoisyDescent, PublicRecords
from wane.describe.facts import Fact, FactKind
from wane.describe.noise import GradientNoise, IterateNoise, NoiseMultiplier, Temperature
from wane.describe.objective import LossForm, Objective
from wane.describe.schedule import Phase, Schedule
from wane.describe.stated import StatedRelease

__all__ = [
    "Adjacency",
    "Cyclic",
    "EveryIterate",
    "Fact",
    "FactKind",
    "FullBatch",
    "GradientNoise",
    "IterateNoise",
    "Iterates",
    "LastIterate",
    "LossForm",
    "NoiseMultiplier",
    "NoisyDescent",
    "Objective",
    "Phase",
    "Poisson",
    "PublicRecords",
    "Schedule",
    "ShuffledOnce",
    "StatedRelease",
    "Temperature",
    "WithoutReplacement",
]
