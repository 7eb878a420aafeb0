"""An accountant for Opacus that certifies the last iterate where the theorems allow it.

    import wane.extra.opacus
    model = nn.Sequential(features, BoundedFeatures(norm=1.0), nn.Linear(64, 10))
    engine = PrivacyEngine(accountant="hidden-state")
    ... make_private and train, as ever ...
    engine.get_epsilon(1e-5)
    wane.extra.opacus.certificate_of(engine)

**What is read.**  The loader: Poisson, fixed or shuffled batches, their rate, the number of
records.  The optimizer, at every step: learning rate, weight decay, momentum, clipping, noise,
divisor.  The model: which layer is trained, what bounds its input, that nothing else changes.  The
loss: the sum of clipped gradients must be that of a known loss on the rows and labels that the
loader handed out.  Where any of this breaks a hypothesis, the answer is that of composition, and
one warning says why.

**What the caller vouches for.**  Features are a function of one record alone; the start, the
learning rates and the number of steps do not depend on the records; nothing but the last weights
is seen, after `release` has rounded them: no checkpoint, no loss, no weights from before the end.
The size of the data set is public.  Opacus computes in single precision and draws noise from
PyTorch's generator: the certificate is that of exact arithmetic and of noise that nobody can
repeat.
"""

from __future__ import annotations

from typing import Any

from wane.certificates import Certificate
from wane.errors import InvalidDescription, MissingExtra

try:
    from wane.extra.opacus.accountant import (
        CompositionFallback,
        HiddenStateAccountant,
    )
    from wane.extra.opacus.beside import SideBySide, side_by_side
    from wane.extra.opacus.engine import register, register_hidden_state, watch_engines
    from wane.extra.opacus.heads import BoundedFeatures, bounded_head
except ImportError:
    raise MissingExtra("This bridge needs opacus; install wane[opacus].") from None

__all__ = [
    "BoundedFeatures",
    "CompositionFallback",
    "HiddenStateAccountant",
    "SideBySide",
    "bounded_head",
    "certificate_of",
    "document_of",
    "register_hidden_state",
    "side_by_side",
]

watch_engines()
register()


def certificate_of(engine: Any) -> Certificate:
    """Return the certificate of an engine's training; refused where it falls back to composition.

    The engine must have been made with `accountant="hidden-state"`.
    """
    accountant = engine.accountant
    if not isinstance(accountant, HiddenStateAccountant):
        raise InvalidDescription(
            f'engine must have been made with accountant="hidden-state", got '
            f"{accountant.mechanism()!r}."
        )
    return accountant.certificate()


def document_of(engine: Any, delta: float) -> dict[str, Any]:
    """Return the certificate of an engine's training as a document for `wane verify`."""
    certificate_of(engine)  # refuses what has none
    made: dict[str, Any] = engine.accountant.document(delta)
    return made
