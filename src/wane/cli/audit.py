"""`wane audit`: the exact lower bound beside the upper bound, and a measured one if asked for."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from wane import report
from wane.certificates import Certificate, bracket_fields, certify
from wane.cli.commands import proper
from wane.cli.folder import check_new
from wane.cli.options import Result, Verb, add_delta, whole
from wane.losses.files import read_run
from wane.report.text import shown_down


def register(verb: Verb) -> None:
    """Add the command."""
    made = verb("audit", audit, "lower bound beside the upper bound")
    made.add_argument("--trials", type=whole, help="also run it this often, each way")
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
    if options.trials is None:
        return made, text
    evidence = _measured(certificate, options)
    guarantee = certificate.best(delta).guarantee
    made["measured"] = evidence.to_fields(delta) | {"refuted": evidence.refutes(guarantee)}
    if options.plot:
        from wane.plots import save_audit

        save_audit(evidence, guarantee, options.plot)
    verdict = "REFUTED" if made["measured"]["refuted"] else "not refuted"
    epsilon, mu = shown_down(evidence.epsilon(delta)), shown_down(evidence.mu)
    return made, (
        f"{text}\n  measured: epsilon >= {epsilon}, mu >= {mu} "
        f"with confidence {evidence.confidence:g} ({options.trials} runs each way): {verdict}"
    )


def _measured(certificate: Certificate, options: Namespace) -> Any:
    from wane.audit.measured import audit_release, canary_pair
    from wane.run import descend

    run = certificate.run
    present, absent = canary_pair(run)
    return audit_release(
        lambda generator: descend(run, present, generator=generator),
        lambda generator: descend(run, absent, generator=generator),
        trials=options.trials,
        seed=options.seed,
        progress=True,
    )
