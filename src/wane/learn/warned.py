"""Warnings about a fit, from public facts alone."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from wane.certificates import Certificate, certify, composition_of
from wane.describe import Cyclic, FullBatch, ShuffledOnce
from wane.errors import NothingGained, PrivacyWarning, UnscaledFeatures
from wane.report.text import round_up_to

if TYPE_CHECKING:
    from wane.learn.base import Prepared, PrivateLinearModel

WEAK = 10.0
"""An epsilon above which a guarantee says little."""
_GAIN = 0.99


def warn(model: PrivateLinearModel, ready: Prepared) -> None:
    """Warn of what is likely to be a mistake, before anything is drawn."""
    records = ready.run.records
    if model.delta > 1.0 / records:
        _say(
            f"delta = {round_up_to(model.delta)} exceeds 1/records = {1.0 / records:.3g}: "
            "releasing one record at random would meet it; choose delta well below 1/records."
        )
    if model.epsilon > WEAK:
        _say(
            f"epsilon = {round_up_to(model.epsilon)} is above {WEAK:g}: the guarantee says little."
        )
    if model.feature_bounds is None:
        _say(
            "feature_bounds is not declared: columns are used in their own units and rows are "
            f"shortened to feature_norm = {model.feature_norm:g}, so that a column of large "
            "numbers drowns the others; declare public bounds, or use wane.learn.PublicScaler.",
            UnscaledFeatures,
        )
    _warn_of_no_gain(model, ready)


def _warn_of_no_gain(model: PrivateLinearModel, ready: Prepared) -> None:
    if not isinstance(ready.run.batches, FullBatch | Cyclic | ShuffledOnce):
        return  # sampled batches gain whenever they fade at all, and asking twice takes long
    certificate = _certificate(ready)
    hidden = certificate.epsilon(model.delta)
    seen = composition_of(ready.run).for_persons(certificate.rows_per_person).epsilon(model.delta)
    if hidden > _GAIN * seen:
        _say(
            f"hidden state gains nothing here: epsilon is {round_up_to(hidden)} whether or not all "
            f"{ready.run.total_steps} iterates are published, as other accountants assume. A "
            "larger ridge, sampled batches or a longer run gain.",
            NothingGained,
        )


def _certificate(ready: Prepared) -> Certificate:
    """The run's own certificate; where something comes first, there is only a promise so far."""
    at_hand = (one for one in ready.certificate.nominal.each if one.run == ready.run)
    return next(at_hand, None) or certify(ready.run)


def _say(words: str, kind: type[PrivacyWarning] = PrivacyWarning) -> None:
    warnings.warn(words, kind, stacklevel=4)
