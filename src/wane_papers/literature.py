"""Bounds exactly as printed in papers, for comparison only; nothing here can enter a certificate.

Each module holds one paper.  A printed bound says where it stands, what it assumes, and whether it
is sound, loose or false, with the reason.  Users reach this module as `wane.literature`.
"""

from wane_papers.cyclic import printed as cyclic_paper, refuted as cyclic_refuted
from wane_papers.dynamics import printed as dynamics_paper
from wane_papers.federated import printed as federated_paper
from wane_papers.mixing import printed as mixing_paper
from wane_papers.modulus import printed as modulus_paper, printed_mixing as modulus_mixing
from wane_papers.sampler import (
    corrected_route as sampler_route,
    printed as sampler_paper,
    rivals as sampler_rivals,
)

__all__ = [
    "cyclic_paper",
    "cyclic_refuted",
    "dynamics_paper",
    "federated_paper",
    "mixing_paper",
    "modulus_mixing",
    "modulus_paper",
    "sampler_paper",
    "sampler_rivals",
    "sampler_route",
]
