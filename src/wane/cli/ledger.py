"""`wane ledger`: what was spent on which data, and what may be."""

from __future__ import annotations

import json
import math
from argparse import Namespace
from typing import Any

from wane.cli.options import Result, Verb, number
from wane.describe import Adjacency
from wane.describe.files import read_table
from wane.errors import InvalidDescription
from wane.report.text import round_up_to

MOST_BYTES = 64 * 2**20


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("ledger", ledger, "what was spent on which data, and what may be", spec=False)
    made.add_argument("action", choices=list(_ACTIONS), help="what to do with it")
    made.add_argument("file", metavar="FILE", help="the ledger")
    made.add_argument("--dataset", help="name of the data set")
    made.add_argument("--epsilon", type=number, help="budget")
    made.add_argument("--delta", type=number, default=1e-5, help="delta (default 1e-5)")
    made.add_argument("--document", metavar="JSON", help="check: the certificate of a release")
    made.add_argument(
        "--adjacency",
        choices=[kind.value for kind in Adjacency],
        default=Adjacency.ZERO_OUT.value,
        help="what the budget counts (default zero-out)",
    )


def ledger(options: Namespace) -> Result:
    """Dispatch on the action."""
    return _ACTIONS[options.action](options)


def _init(options: Namespace) -> Result:
    from wane.ledger import Ledger

    Ledger(options.file, new=True)
    return {"ledger": options.file}, f"{options.file}: a new ledger, without accounts"


def _add(options: Namespace) -> Result:
    from wane.ledger import Ledger

    name = Ledger(options.file).account(_dataset(options), new=True).dataset
    return {"dataset": name}, f"{name}: a new account, nothing spent"


def _check(options: Namespace) -> Result:
    """Return whether the ledger still holds what it held when a release was documented."""
    from wane.ledger import Ledger

    if options.document is None:
        raise InvalidDescription("check needs --document, the certificate of a release.")
    document = read_table(options.document, most_bytes=MOST_BYTES)
    said = document.get("earlier_releases", {}) if isinstance(document, dict) else {}
    if said.get("source") != "ledger":
        raise InvalidDescription(
            f"{options.document} must be a certificate that names a ledger, got one without."
        )
    held = Ledger(options.file).knows(str(said.get("head")))
    options.status = 0 if held else 1
    words = "holds" if held else "does NOT hold"
    return {"held": held}, f"the ledger {words} the row that the certificate names"


def _show(options: Namespace) -> Result:
    from wane.report.text import visible

    fields = _accounts(options, with_entries=False)
    lines = [_line(visible(name), account) for name, account in fields["datasets"].items()]
    return fields, "\n".join(lines) or "nothing was spent"


def _line(name: str, account: dict[str, Any]) -> str:
    budget = account["budget"]
    allowed = f" of {round_up_to(budget['epsilon'])}" if budget else ", no budget"
    spent = account["epsilon"]
    shown = spent if isinstance(spent, str) else round_up_to(spent)
    releases = "release" if account["releases"] == 1 else "releases"
    made = (
        f"{name}: {account['releases']} {releases}, epsilon {shown}{allowed} "
        f"at delta {round_up_to(account['delta'])} ({account['unconfirmed']} not confirmed)"
    )
    return f"{made}; {account['remark']}" if account["remark"] else made


def _export(options: Namespace) -> Result:
    fields = _accounts(options, with_entries=True)
    return fields, json.dumps(fields, indent=2)


def _set_budget(options: Namespace) -> Result:
    from wane.ledger import Budget, Ledger

    if options.epsilon is None:
        raise InvalidDescription("set-budget needs --dataset and --epsilon.")
    budget = Budget(options.epsilon, options.delta, Adjacency(options.adjacency))
    account = Ledger(options.file).account(_dataset(options))
    account.set_budget(budget)
    words = f"{account.dataset}: epsilon {round_up_to(budget.epsilon)} "
    words += f"at delta {round_up_to(budget.delta)}"
    return {"dataset": account.dataset, "budget": _budget_fields(budget)}, words


def _dataset(options: Namespace) -> str:
    if options.dataset is None:
        raise InvalidDescription(f"{options.action} needs --dataset.")
    return str(options.dataset)


def _accounts(options: Namespace, *, with_entries: bool) -> dict[str, Any]:
    from wane.ledger import Account, Ledger

    book = Ledger(options.file)
    if options.dataset is not None:
        found = [book.account(options.dataset)]
    else:  # an old file may hold names that would be refused today
        found = [Account(book, name) for name in book.datasets()]
    return {"datasets": {one.dataset: _account(one, options, with_entries) for one in found}}


def _account(account: Any, options: Namespace, with_entries: bool) -> dict[str, Any]:
    budget, entries = account.budget, account.entries
    delta = budget.delta if budget else options.delta
    epsilon, remark = _spent(account, delta)
    made: dict[str, Any] = {
        "releases": len(entries),
        "unconfirmed": sum(not entry.confirmed for entry in entries),
        "epsilon": epsilon,
        "delta": delta,
        "budget": None if budget is None else _budget_fields(budget),
        "remark": remark,
    }
    if with_entries:
        made["entries"] = [
            {
                "number": entry.number,
                "spent_at": entry.spent_at,
                "confirmed": entry.confirmed,
                "certificate": entry.content["certificate"],
            }
            for entry in entries
        ]
    return made


def _spent(account: Any, delta: float) -> tuple[float | str, str]:
    """Epsilon of all releases, and a remark; infinite where wane 0.1 let two units be mixed."""
    try:
        total = account.total
    except InvalidDescription as error:
        return "infinity", f"the releases do not add up: {error}"
    found = 0.0 if total is None else total.epsilon(delta)
    return ("infinity" if math.isinf(found) else found), ""


def _budget_fields(budget: Any) -> dict[str, Any]:
    return {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "adjacency": budget.adjacency.value,
    }


_ACTIONS = {
    "init": _init,
    "add": _add,
    "show": _show,
    "set-budget": _set_budget,
    "export": _export,
    "check": _check,
}
