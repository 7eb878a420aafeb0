"""Audits of real runs: lower bounds on the leak that an attacker who sees the release measures.

A measured audit runs the trainer itself on two neighbouring data sets, many times, and returns a
lower bound on its privacy loss that holds with a stated confidence.  A claim below it is false, or
the trainer does not do what was described.
"""

from wane.audit.measured.canaries import Quadratics, canary_pair
from wane.audit.measured.evidence import Evidence, OperatingPoint
from wane.audit.measured.one_run import OneRunEvidence, audit_one_run
from wane.audit.measured.replay import Replayed, replay
from wane.audit.measured.trials import Discriminator, audit_release, learn_discriminator

__all__ = [
    "Discriminator",
    "Evidence",
    "OneRunEvidence",
    "OperatingPoint",
    "Quadratics",
    "Replayed",
    "audit_one_run",
    "audit_release",
    "canary_pair",
    "learn_discriminator",
    "replay",
]
