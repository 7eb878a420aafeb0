"""Times one accountant, and runs in that accountant's own environment.

    python peer_accounting_times.py "Opacus RDP"

It imports the library, says so, and then answers one JSON request per line of its input with one
JSON line.  Each request is worked on by a process of its own, forked after the import, so that
neither memory nor caches of one reach another; a process that passes its limit of processor time
is ended by its alarm, whatever library code it is in.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

RATE = 0.01
RECORDS = 10_000
DELTA = 1e-6
EPSILON = 1.0
MU = 0.25
"""Runs are given noise for about this mu, which is epsilon 1.06 at delta 1e-6."""
PRECISION = 1e-6
"""To which wane narrows a noise it has no formula for, and dp_accounting is asked to."""
MOST_MEMORY = 8 * 2**30


def budgeted_noise(rate: float, steps: int) -> float:
    """Return the noise at which a run of any length costs about ``MU``, by the central limit."""
    return 1.0 / math.sqrt(math.log1p((MU / (rate * math.sqrt(steps))) ** 2))


@dataclass(frozen=True)
class Case:
    """A kind of run; ``noise`` depends on the number of steps, ``rate`` is 1 for full batches."""

    rate: float
    noise: Callable[[int], float]


CASES = {
    "Poisson, every iterate": Case(RATE, lambda steps: budgeted_noise(RATE, steps)),
    "full batch, every iterate": Case(1.0, lambda steps: math.sqrt(steps) / MU),
    "full batch, last iterate": Case(1.0, lambda steps: 400.0),
    "cyclic batches, last iterate": Case(RATE, lambda steps: 9.0),
    "Poisson on a ball, last iterate": Case(RATE, lambda steps: budgeted_noise(RATE, steps)),
}


@dataclass(frozen=True)
class Accountant:
    """What a library answers: epsilon of a run at a noise, and noise of a run for an epsilon."""

    epsilon: Callable[[str, int, float], float]
    noise: Callable[[str, int], float]


def wane() -> Accountant:
    import wane

    def run(case: str, steps: int, noise: float) -> wane.NoisyDescent:
        convex = wane.Objective(
            gradient_bound=1.0, smoothness=0.25, strong_convexity=0.0, ridge=1e-3
        )
        unknown = wane.Objective(gradient_bound=1.0)
        common: dict[str, Any] = {
            "records": RECORDS,
            "steps": steps,
            "noise": wane.NoiseMultiplier(noise),
            "step_size": 1.0,
        }
        batch = round(RATE * RECORDS)
        added = wane.Adjacency.ADD_REMOVE
        cases: dict[str, dict[str, Any]] = {
            "Poisson, every iterate": {
                "objective": unknown, "batches": wane.Poisson(batch), "adjacency": added,
                "release": wane.EveryIterate(),
            },
            "full batch, every iterate": {
                "objective": unknown, "adjacency": added, "release": wane.EveryIterate()
            },
            "full batch, last iterate": {"objective": convex},
            "cyclic batches, last iterate": {"objective": convex, "batches": wane.Cyclic(batch)},
            "Poisson on a ball, last iterate": {
                "objective": convex, "batches": wane.Poisson(batch), "domain": wane.Ball(0.5)
            },
        }  # fmt: skip
        return wane.NoisyDescent(**common, **cases[case])

    def noise(case: str, steps: int) -> float:
        start = run(case, steps, CASES[case].noise(steps))
        return wane.calibrate(start, epsilon=EPSILON, delta=DELTA).value

    def epsilon(case: str, steps: int, noise: float) -> float:
        return wane.certify(run(case, steps, noise)).epsilon(DELTA)

    # theorems are loaded when they are first asked; what others need is loaded by their import
    for name, case in CASES.items():
        epsilon(name, 1, case.noise(1))
    noise("full batch, every iterate", 1)
    return Accountant(epsilon, noise)


def _google(accountant: Callable[[], Any]) -> Accountant:
    import dp_accounting

    def event(case: str, steps: int, noise: float) -> Any:
        one = dp_accounting.GaussianDpEvent(noise)
        rate = CASES[case].rate
        sampled = one if rate == 1.0 else dp_accounting.PoissonSampledDpEvent(rate, one)
        return dp_accounting.SelfComposedDpEvent(sampled, steps)

    def noise(case: str, steps: int) -> float:
        start = CASES[case].noise(steps)  # from its own first guess it seldom comes back in time
        return dp_accounting.calibrate_dp_mechanism(
            accountant,
            lambda noise: event(case, steps, noise),
            EPSILON,
            DELTA,
            bracket_interval=dp_accounting.LowerEndpointAndGuess(start / 2, start),
            tol=PRECISION * start,
        )

    return Accountant(
        lambda case, steps, noise: (
            accountant().compose(event(case, steps, noise)).get_epsilon(DELTA)
        ),
        noise,
    )


def dp_accounting_pld() -> Accountant:
    from dp_accounting import pld

    return _google(pld.PLDAccountant)


def dp_accounting_rdp() -> Accountant:
    from dp_accounting import rdp

    return _google(rdp.RdpAccountant)


def _opacus(name: str) -> Accountant:
    from opacus.accountants import create_accountant
    from opacus.accountants.utils import get_noise_multiplier

    def epsilon(case: str, steps: int, noise: float) -> float:
        accountant = create_accountant(name)
        accountant.history = [(noise, CASES[case].rate, steps)]
        return accountant.get_epsilon(DELTA)

    return Accountant(
        epsilon,
        lambda case, steps: get_noise_multiplier(
            target_epsilon=EPSILON,
            target_delta=DELTA,
            sample_rate=CASES[case].rate,
            steps=steps,
            accountant=name,
        ),
    )


def prv_accountant() -> Accountant:
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant
    from prv_accountant.dpsgd import find_noise_multiplier

    def epsilon(case: str, steps: int, noise: float) -> float:
        one = PoissonSubsampledGaussianMechanism(
            noise_multiplier=noise, sampling_probability=CASES[case].rate
        )
        accountant = PRVAccountant(
            one, eps_error=0.1, delta_error=DELTA / 1000, max_self_compositions=steps
        )
        return accountant.compute_epsilon(DELTA, steps)[2]

    return Accountant(
        epsilon,
        lambda case, steps: find_noise_multiplier(
            CASES[case].rate, steps, EPSILON, DELTA, mu_max=1e7
        ),
    )


METHODS: dict[str, Callable[[], Accountant]] = {
    "wane": wane,
    "dp_accounting PLD": dp_accounting_pld,
    "dp_accounting RDP": dp_accounting_rdp,
    "Opacus RDP": lambda: _opacus("rdp"),
    "Opacus PRV": lambda: _opacus("prv"),
    "prv_accountant": prv_accountant,
}


def memory() -> dict[str, float]:
    """Return this process' memory in megabytes, of its own and of mapped files, as Linux counts."""
    with open("/proc/self/status") as file:  # noqa: PTH123
        found = dict(line.split(":", 1) for line in file)
    return {kind: int(found[kind].split()[0]) / 1024 for kind in ("RssAnon", "RssFile")}


def measured(accountant: Accountant, request: dict[str, Any]) -> dict[str, Any]:
    """Time the first call and, if it is short, the median of further ones, and what it held.

    Times are processor seconds of this thread, which does all the work.
    Mapped library files are taken out of the peak: after a fork they are counted as they are used.
    """
    case, steps = request["case"], request["steps"]
    planned = CASES[case].noise(steps)
    calls: dict[str, Callable[[int], float]] = {
        # a little more noise each time, in case a library remembers what it was asked
        "certify": lambda i: accountant.epsilon(case, steps, planned * (1 + 1e-9 * i)),
        "calibrate": lambda i: accountant.noise(case, steps),
    }
    call = calls[request["task"]]
    before = memory()["RssAnon"]
    start = time.thread_time()
    answer = float(call(0))
    first = time.thread_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    held = max(peak - memory()["RssFile"] - before, 0.0)
    times: list[float] = []
    while first + sum(times) < request["enough"]:
        start = time.thread_time()
        call(len(times) + 1)
        times.append(time.thread_time() - start)
    return {
        "answer": answer,
        "first": first,
        "seconds": statistics.median(times or [first]),
        "memory": held,
    }


def child(accountant: Accountant, request: dict[str, Any]) -> None:
    """Answer one request and leave, or be ended by the alarm."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    signal.setitimer(signal.ITIMER_PROF, request["limit"])
    try:
        found = measured(accountant, request)
    except MemoryError:
        found = {"note": f"needs more than {MOST_MEMORY // 2**30} GB"}
    except Exception as error:  # whatever a library raises is its answer, and goes into the table
        found = {"note": f"{type(error).__name__}: {error}"[:160]}
    print(json.dumps(found), flush=True)
    os._exit(0)


def main() -> None:
    warnings.simplefilter("ignore")
    accountant = METHODS[sys.argv[1]]()
    print(json.dumps({"ready": sys.argv[1]}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        job = os.fork()
        if job == 0:
            child(accountant, request)
        status = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
        if status == -signal.SIGPROF:
            print(json.dumps({"note": f"> {request['limit']:g} s"}), flush=True)
        elif status:
            print(json.dumps({"note": f"ended with {status}"}), flush=True)


if __name__ == "__main__":
    main()
