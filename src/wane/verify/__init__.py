"""Verify certificates independently, in interval arithmetic (extra `verify`)."""

from wane.verify.claims import Claim, Quantity
from wane.verify.judge import CheckedClaim, Outcome, Verification, verify

__all__ = ["CheckedClaim", "Claim", "Outcome", "Quantity", "Verification", "verify"]
