"""`wane audit`: the exact lower bound beside the upper bound, and a measured one if asked for."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from wane import arguments, report
from wane.certificates import Certificate, bracket_fields, certify
from wane.cli.commands import proper
from wane.cli.folder import check_new
from wane.cli.options import Result, Verb, add_delta, number, whole
from wane.errors import Unreachable
from wane.losses.files import read_run
from wane.report.text import shown_down

LEAST_TRIALS, MOST_TRIALS = 40, 10**6
"""Fewer prove nothing, and more are not needed."""


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("audit", audit, "lower bound beside the upper bound")
    made.add_argument("--trials", type=whole, help="also run it this often, each way")
    made.add_argument(
        "--minutes", type=number, help="as many trials as fit into this time, --trials at most"
    )
    made.add_argument("--seed", type=whole, help="repeatable trials; an audit uses no private data")
    made.add_argument("--plot", metavar="FILE", help="draw the attacks against the certificate")
    made.add_argument("--force", action="store_true", help="replace the file")
    add_delta(made)


def audit(options: Namespace) -> Result:
    """Bracket the true epsilon; refute the certificate if the trials do."""
    if options.plot:
        check_new(options.plot, force=options.force)
    certificate = certify(read_run(options.spec))
    delta = proper(options.delta)
    made = bracket_fields(certificate, delta)
    text = report.bracket_text(made)
    if options.trials is None and options.minutes is None:
        return made, text
    trials, evidence = _measured(certificate, options)
    guarantee = certificate.best(delta).guarantee
    made["measured"] = evidence.to_fields(delta) | {"refuted": evidence.refutes(guarantee)}
    if options.plot:
        from wane.plots import save_audit

        save_audit(evidence, guarantee, options.plot)
    verdict = "REFUTED" if made["measured"]["refuted"] else "not refuted"
    epsilon, mu = shown_down(evidence.epsilon(delta)), shown_down(evidence.mu)
    return made, (
        f"{text}\n  measured: epsilon >= {epsilon}, mu >= {mu} "
        f"with confidence {evidence.confidence:g} ({trials} runs each way): {verdict}"
    )


def _measured(certificate: Certificate, options: Namespace) -> tuple[int, Any]:
    """Return how many trials were run, which is settled before the first, and what they prove."""
    from wane.audit.measured import audit_release, canary_pair
    from wane.run import descend

    run = certificate.run
    present, absent = canary_pair(run)

    def with_record(generator: Any) -> Any:
        return descend(run, present, generator=generator)

    def without(generator: Any) -> Any:
        return descend(run, absent, generator=generator)

    seconds = _seconds(with_record, without)
    trials = _trials(options, seconds)
    told = f"audit: {trials} runs each way take about {_words(trials * seconds)}"
    print(told, file=sys.stderr, flush=True)
    seed = options.seed
    return trials, audit_release(with_record, without, trials=trials, seed=seed, progress=True)


def _seconds(*ways: Callable[[Any], Any]) -> float:
    """How long one run each way takes; the first is left out, since it loads what it needs."""
    from wane.randomness import private_generator

    generator, times = private_generator(), []
    for _ in range(2):
        start = time.perf_counter()
        for way in ways:
            way(generator)
        times.append(time.perf_counter() - start)
    return times[-1]


def _trials(options: Namespace, seconds: float) -> int:
    if options.minutes is None:
        return int(options.trials)
    minutes = arguments.real("minutes", options.minutes, above=0.0)
    fit = int(min(60.0 * minutes / seconds, MOST_TRIALS))
    trials = fit if options.trials is None else min(fit, int(options.trials))
    if fit < LEAST_TRIALS:
        raise Unreachable(
            f"An audit needs {LEAST_TRIALS} runs each way, about {_words(LEAST_TRIALS * seconds)}, "
            f"got --minutes {minutes:g}; allow more, or describe a shorter run."
        )
    return trials


def _words(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120.0 else f"{seconds / 60.0:.0f} minutes"
