"""Composition as the peers account it: what each is told of a run, and what it answers."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import wane
from benchmarks.environments import DP_ACCOUNTING, OPACUS, Environment, Unavailable
from benchmarks.tightness.configurations import Configuration
from benchmarks.tightness.published import bound, noise, one_use, uses

SCRIPT = "peer_accounting_epsilons.py"


@dataclass(frozen=True)
class Peer:
    """A library, its word for the script, its environment and its accountants."""

    word: str
    environment: Environment
    accountants: tuple[str, ...]


PEERS = (
    Peer("dp_accounting", DP_ACCOUNTING, ("dp_accounting PLD", "dp_accounting RDP")),
    Peer("opacus", OPACUS, ("Opacus RDP", "Opacus PRV")),
)
ACCOUNTANTS = tuple(name for peer in PEERS for name in peer.accountants)

Key = tuple[str, float, str]
"""Configuration, delta, accountant."""
Told = tuple[tuple[str, Any], ...]
"""What a peer is told of a run, without its name; runs that differ in their losses share it."""


@dataclass(frozen=True)
class Answers:
    """What the peers said, and what went wrong."""

    epsilons: dict[Key, float | None]
    troubles: tuple[str, ...]


def told(run: wane.NoisyDescent) -> Told:
    """A mechanism, and noise over what one record moves.

    In a fixed order every use of the record is one Gaussian mechanism of sensitivity S; peers need
    no notion of neighbours for that.  Batches of fixed size are told the sensitivity of an
    exchange, 2C; Poisson batches that of one record's presence, C, whatever the neighbours.
    """
    multiplier = noise(run) * run.batch_size / bound(run)
    replaced = run.adjacency is wane.Adjacency.REPLACE_ONE
    relation = "replace-one" if replaced else "add-remove"
    rate, steps = run.batch_size / run.records, run.total_steps
    match run.batches:
        case wane.Poisson():
            mechanism = "poisson"
        case wane.WithoutReplacement():
            mechanism, multiplier = "without-replacement", multiplier / 2.0
        case _:
            mechanism, multiplier, relation = "gaussian", 1.0 / one_use(run), "add-remove"
            rate, steps = 1.0, uses(run)
    return (
        ("mechanism", mechanism),
        ("multiplier", multiplier),
        ("relation", relation),
        ("rate", rate),
        ("steps", steps),
        ("records", run.records),
        ("size", run.batch_size),
    )


def ask(made: Iterable[Configuration], deltas: Iterable[float], peers: Iterable[Peer]) -> Answers:
    """Run every accountant of every peer in its own environment, each mechanism once."""
    names: dict[Told, list[str]] = {}
    for each in made:
        names.setdefault(told(each.run), []).append(each.name)
    jobs = [{**dict(key), "names": names[key], "deltas": list(deltas)} for key in names]
    epsilons: dict[Key, float | None] = {}
    troubles: list[str] = []
    for peer in peers:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "jobs.json"
            path.write_text(json.dumps(jobs))
            try:
                for line in peer.environment.lines(SCRIPT, peer.word, str(path)):
                    for name in line["names"]:
                        epsilons[name, line["delta"], line["accountant"]] = line["epsilon"]
                    if line["trouble"]:
                        troubles.append(
                            f"{line['accountant']}, {line['names'][0]}, delta {line['delta']:g}: "
                            f"{line['trouble']}"
                        )
            except Unavailable as error:
                troubles.append(str(error))
    return Answers(epsilons, tuple(troubles))
