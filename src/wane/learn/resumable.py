"""A fit that can be taken up again: entered in the ledger once, and ended once.

**What is counted.**  A run with a checkpoint has a name, which is on the disk, sealed, before the
ledger has its row, and the row before any noise.  Taken up again, the run is the one that the row
speaks of: it draws the same noise for the same records and comes to the same end, so the row is
confirmed and no other is written.  A run whose row is confirmed already is refused, since a row
stands for one release; so is a row with another certificate.  In a ledger that does not know the
name, the run is a new one and is counted there.

**What is lost.**  A process that dies between the row and the end has spent, as always; who deletes
its checkpoint, or has other records by then, begins another run, which is counted as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np

from wane.certificates import Certificate, certificate_to_fields
from wane.learn.presented import entered
from wane.run import Checkpoint

NOT_SEALED = ("account", "checkpoint", "progress", "seed_voids_privacy", "tune_on", "warm_start")
"""Arguments that do not say what is run; a start and what voids are sealed as they come out."""


def public_settings(estimator: Any) -> dict[str, str]:
    """Return every public argument of an estimator as text, and what kind of estimator it is."""
    named = (field.name for field in fields(estimator) if field.name not in NOT_SEALED)
    settings = {name: _as_text(getattr(estimator, name)) for name in named}
    return settings | {"model": type(estimator).__name__}


def _as_text(value: Any) -> str:
    """Return the value in full; numpy would leave out the middle of a long array."""
    if hasattr(value, "__array__"):
        given = np.asarray(value)
        return f"{given.dtype} {given.shape} {given.tolist()!r}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_as_text(each) for each in value)}]"
    return repr(value)


@contextmanager
def accounted(
    account: Any,
    certificate: Certificate,
    checkpoint: Checkpoint | None,
    **public: Any,
) -> Iterator[Checkpoint | None]:
    """Yield the checkpoint to run with; leaving the context confirms the release.

    `public` says what else must be the same when the run is taken up again: every public parameter
    of the estimator and its loss, since the same noise in another model would show the difference.
    """
    if checkpoint is None:
        with entered(account, certificate):
            yield None
        return
    with ExitStack() as stack:

        def begun(name: str) -> None:
            if checkpoint.begun is not None:
                checkpoint.begun(name)
            stack.enter_context(entered(account, certificate, run=name))

        words = {"own": checkpoint.context, "certificate": certificate_to_fields(certificate)}
        yield replace(checkpoint, context=json.dumps(words | public), begun=begun)
