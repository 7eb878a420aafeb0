"""An independent check of certificates, in interval arithmetic; needs the extra `verify`."""

from wane.verify.claims import Claim, Quantity
from wane.verify.judge import Checked, Outcome, Verification, verify

__all__ = ["Checked", "Claim", "Outcome", "Quantity", "Verification", "verify"]
