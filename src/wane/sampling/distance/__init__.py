"""How far a Langevin chain's last state is from its target: certified, in both directions."""

from wane.describe.chain import Diffusion
from wane.describe.distance import Direction, Question, Reference
from wane.sampling.distance.bounds import BOUNDS
from wane.sampling.distance.certificate import DistanceCertificate
from wane.sampling.distance.certify import certify_closeness, certify_distance
from wane.sampling.distance.planner import Friction, SamplingPlan, plan_closeness, plan_sampling

__all__ = [
    "BOUNDS",
    "Diffusion",
    "Direction",
    "DistanceCertificate",
    "Friction",
    "Question",
    "Reference",
    "SamplingPlan",
    "certify_closeness",
    "certify_distance",
    "plan_closeness",
    "plan_sampling",
]
