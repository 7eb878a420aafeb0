"""`wane ledger`: what was spent on which data, and what may be."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from wane.cli.options import Result, Verb, number
from wane.describe import Adjacency
from wane.errors import InvalidDescription
from wane.numerics.display import round_up_to


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("ledger", ledger, "what was spent on which data, and what may be", spec=False)
    made.add_argument("action", choices=list(_ACTIONS))
    made.add_argument("file", metavar="FILE", help="the ledger")
    made.add_argument("--dataset", help="name of the data set")
    made.add_argument("--epsilon", type=number, help="budget")
    made.add_argument("--delta", type=number, default=1e-5, help="delta (default 1e-5)")
    made.add_argument(
        "--adjacency",
        choices=[kind.value for kind in Adjacency],
        default=Adjacency.ZERO_OUT.value,
        help="what the budget counts (default zero-out)",
    )


def ledger(options: Namespace) -> Result:
    """Dispatch on the action."""
    return _ACTIONS[options.action](options)


def _show(options: Namespace) -> Result:
    fields = _accounts(options, with_entries=False)
    lines = []
    for name, account in fields["datasets"].items():
        budget = account["budget"]
        allowed = f" of {budget['epsilon']:g}" if budget else ", no budget"
        spent = round_up_to(account["epsilon"])
        lines.append(
            f"{name}: {account['releases']} releases, epsilon {spent}{allowed} "
            f"at delta {account['delta']:g} ({account['unconfirmed']} not confirmed)"
        )
    return fields, "\n".join(lines) or "nothing was spent"


def _export(options: Namespace) -> Result:
    import json

    fields = _accounts(options, with_entries=True)
    return fields, json.dumps(fields, indent=2)


def _set_budget(options: Namespace) -> Result:
    from wane.ledger import Budget, Ledger

    if options.dataset is None or options.epsilon is None:
        raise InvalidDescription("set-budget needs --dataset and --epsilon.")
    budget = Budget(options.epsilon, options.delta, Adjacency(options.adjacency))
    Ledger(options.file).account(options.dataset).set_budget(budget)
    words = f"{options.dataset}: epsilon {budget.epsilon:g} at delta {budget.delta:g}"
    return {"dataset": options.dataset, "budget": _budget_fields(budget)}, words


def _accounts(options: Namespace, *, with_entries: bool) -> dict[str, Any]:
    from pathlib import Path

    from wane.ledger import Ledger

    if not Path(options.file).exists():
        raise InvalidDescription(f"file must be a ledger, got {options.file!r}: no such file.")
    book = Ledger(options.file)
    names = book.datasets() if options.dataset is None else (options.dataset,)
    return {
        "datasets": {name: _account(book.account(name), options, with_entries) for name in names}
    }


def _account(account: Any, options: Namespace, with_entries: bool) -> dict[str, Any]:
    from wane.learn.releases import certificate_to_fields

    budget, entries, total = account.budget, account.entries, account.total
    delta = budget.delta if budget else options.delta
    made: dict[str, Any] = {
        "releases": len(entries),
        "unconfirmed": sum(not entry.confirmed for entry in entries),
        "epsilon": 0.0 if total is None else total.epsilon(delta),
        "delta": delta,
        "budget": None if budget is None else _budget_fields(budget),
    }
    if with_entries:
        made["entries"] = [
            {
                "number": entry.number,
                "spent_at": entry.spent_at,
                "confirmed": entry.confirmed,
                "certificate": certificate_to_fields(entry.certificate),
            }
            for entry in entries
        ]
    return made


def _budget_fields(budget: Any) -> dict[str, Any]:
    return {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "adjacency": budget.adjacency.value,
    }


_ACTIONS = {"show": _show, "set-budget": _set_budget, "export": _export}
