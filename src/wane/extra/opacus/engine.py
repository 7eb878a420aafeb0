"""Where the accountant meets the engine: declarations, and what `make_private` has made."""

from __future__ import annotations

import functools
from typing import Any
from weakref import WeakKeyDictionary

from opacus import PrivacyEngine

from wane import arguments
from wane.describe import Adjacency
from wane.describe.domains import Domain
from wane.errors import InvalidDescription
from wane.extra.opacus.accountant import NAME, PLANS_POISSON, HiddenStateAccountant
from wane.extra.opacus.loaders import Declared, sampling_of
from wane.extra.opacus.watching import Watch

_DECLARED: WeakKeyDictionary[Any, Declared] = WeakKeyDictionary()
"""What was declared for a module, until an engine makes that module private."""


def register_hidden_state(
    *,
    head: Any,
    adjacency: Adjacency | None = None,
    domain: Domain | None = None,
    poisson_sampling: bool | None = None,
    **read: Any,
) -> None:
    """Declare, for the engine that will make `head` private, what cannot be read.

    Only the adjacency and a domain are of use.  Poisson sampling is read from the loader, and must
    not contradict it; the `loader` and the `criterion`, which earlier versions asked for, are read
    too.  The declaration belongs to that head's engine, and no other engine sees it.
    """
    unknown = sorted(set(read) - {"loader", "criterion"})
    if unknown:
        raise InvalidDescription(
            f"a declaration must be of adjacency, domain or poisson_sampling, got {unknown[0]}."
        )
    declared = Declared(adjacency, domain, poisson_sampling)
    if adjacency is not None:
        arguments.kind("adjacency", adjacency, (Adjacency,))
    _DECLARED[head] = declared


def _declared_for(module: Any) -> Declared:
    return next((_DECLARED.pop(m) for m in module.modules() if m in _DECLARED), Declared())


def _watching(make_private: Any) -> Any:
    """Return a `make_private` after which a hidden-state accountant watches what it made."""

    @functools.wraps(make_private)
    def made_private(self: Any, *args: Any, **options: Any) -> Any:
        private = make_private(self, *args, **options)
        if isinstance(self.accountant, HiddenStateAccountant):
            wrapped, optimizer, loader = private[0], private[1], private[-1]
            module = getattr(wrapped, "_module", wrapped)
            sampling, declared = sampling_of(loader), _declared_for(module)
            declared.check_against(sampling)
            watch = Watch(module, optimizer, loader, sampling)
            if len(private) == 4:  # ghost clipping wraps the criterion, too
                watch.watch_losses(private[2])
            self.accountant.attach(watch, declared)
        return private

    made_private.watches = True  # type: ignore[attr-defined]
    return made_private


def _planning(make_private_with_epsilon: Any) -> Any:
    """Return a `make_private_with_epsilon` that plans for the batches that will be drawn."""

    @functools.wraps(make_private_with_epsilon)
    def made_private(self: Any, *args: Any, **options: Any) -> Any:
        token = PLANS_POISSON.set(bool(options.get("poisson_sampling", True)))
        try:
            return make_private_with_epsilon(self, *args, **options)
        finally:
            PLANS_POISSON.reset(token)

    return made_private


def register() -> None:
    """Let `PrivacyEngine(accountant="hidden-state")` make this accountant.

    Opacus 1.5 has no registry: there the engine is given one, `engine.accountant =
    HiddenStateAccountant()`, before `make_private`.
    """
    try:
        from opacus.accountants.registry import register_accountant
    except ImportError:
        return
    register_accountant(NAME, HiddenStateAccountant, force=True)


def watch_engines() -> None:
    """Let every engine tell its accountant what it made private; a second call changes nothing.

    Opacus hands an accountant nothing but the optimizer.
    """
    if not hasattr(PrivacyEngine.make_private, "watches"):
        PrivacyEngine.make_private = _watching(PrivacyEngine.make_private)
        planned = _planning(PrivacyEngine.make_private_with_epsilon)
        PrivacyEngine.make_private_with_epsilon = planned
