"""Epsilon by composition, as a peer's accountants see it; runs inside the peer's environment.

    python peer_accounting_epsilons.py dp_accounting jobs.json
    python peer_accounting_epsilons.py opacus jobs.json

A job names its mechanism, its noise over sensitivity, its steps, its sampling and its neighbours
(`benchmarks.tightness.composition` writes them).  One JSON line for each job, accountant and delta;
epsilon is null where the accountant has no analysis of that mechanism, or failed: then `trouble`
says how.
"""

import json
import math
import sys
import warnings
from pathlib import Path


def by_dp_accounting(name, job):
    """Return epsilon as a function of delta, or None where the accountant refuses the event."""
    import dp_accounting
    from dp_accounting.pld import PLDAccountant
    from dp_accounting.rdp import RdpAccountant

    relation = {
        "add-remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
        "replace-one": dp_accounting.NeighboringRelation.REPLACE_ONE,
    }[job["relation"]]
    event = dp_accounting.GaussianDpEvent(job["multiplier"])
    if job["mechanism"] == "poisson":
        event = dp_accounting.PoissonSampledDpEvent(job["rate"], event)
    elif job["mechanism"] == "without-replacement":
        event = dp_accounting.SampledWithoutReplacementDpEvent(job["records"], job["size"], event)
    event = dp_accounting.SelfComposedDpEvent(event, job["steps"])
    make = {"dp_accounting PLD": PLDAccountant, "dp_accounting RDP": RdpAccountant}[name]
    accountant = make(neighboring_relation=relation)
    return accountant.compose(event).get_epsilon if accountant.supports(event) else None


def by_opacus(name, job):
    """Return epsilon as a function of delta; Opacus knows Poisson batches, add or remove."""
    from opacus.accountants import PRVAccountant, RDPAccountant

    if job["mechanism"] == "without-replacement" or job["relation"] != "add-remove":
        return None
    accountant = {"Opacus RDP": RDPAccountant, "Opacus PRV": PRVAccountant}[name]()
    accountant.history = [(job["multiplier"], job["rate"], job["steps"])]
    return lambda delta: accountant.get_epsilon(delta=delta)


PEERS = {
    "dp_accounting": (by_dp_accounting, ("dp_accounting PLD", "dp_accounting RDP")),
    "opacus": (by_opacus, ("Opacus RDP", "Opacus PRV")),
}


def answers(account, name, job):
    """Yield delta, epsilon and trouble."""
    try:
        epsilon = account(name, job)
    except Exception as error:
        yield from ((delta, None, f"{type(error).__name__}: {error}") for delta in job["deltas"])
        return
    for delta in job["deltas"]:
        if epsilon is None:
            yield delta, None, ""
            continue
        try:
            value = float(epsilon(delta))
        except Exception as error:
            yield delta, None, f"{type(error).__name__}: {error}"
            continue
        yield (delta, value, "") if math.isfinite(value) else (delta, None, f"answers {value}")


def main(peer, path):
    warnings.simplefilter("ignore")
    account, names = PEERS[peer]
    for job in json.loads(Path(path).read_text()):
        for name in names:
            for delta, value, trouble in answers(account, name, job):
                line = {"names": job["names"], "accountant": name, "delta": delta}
                print(json.dumps({**line, "epsilon": value, "trouble": trouble}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
