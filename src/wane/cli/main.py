"""Parse, run one command, print; every failure is one line and an exit status.

0: done.  1: the request cannot be met.  2: the input is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from wane._version import __version__
from wane.cli import audit, commands, demo, fit, ledger, sample, serve, statement, verify
from wane.cli.options import Command, add_delta, number, whole
from wane.errors import InvalidDescription, WaneError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    try:
        options = _parser().parse_args(argv)
        data, text = options.command(options)
        output = json.dumps(data, indent=2, allow_nan=False) if options.json else text
        sys.stdout.write(output + "\n")
        sys.stdout.flush()
    except InvalidDescription as error:
        return _failed(error, 2)
    except WaneError as error:
        return _failed(error, 1)
    except MemoryError:
        return _failed("not enough memory", 1)
    except BrokenPipeError:
        # the reader has gone; keep the interpreter from complaining when it closes the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    return int(getattr(options, "status", 0))


def _failed(error: object, status: int) -> int:
    line = " ".join(str(error).split())
    sys.stderr.write(f"wane: {line}\n")
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidDescription(f"{message} (see {self.prog} --help).")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="wane", description="Hidden-state differential privacy: only the end is seen."
    )
    parser.add_argument("--version", action="version", version=f"wane {__version__}")
    verbs = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    def verb(name: str, command: Command, words: str, *, spec: bool = True) -> Any:
        made = verbs.add_parser(name, help=words, description=words)
        made.set_defaults(command=command)
        made.add_argument("--json", action="store_true", help="print one JSON object")
        if spec:
            made.add_argument("spec", metavar="SPEC", help="description, a TOML or JSON file")
        return made

    demo.register(verb)
    fit.register(verb)
    sample.register(verb)

    certify = verb("certify", commands.certify_spec, "certificate of a description")
    either = certify.add_mutually_exclusive_group()
    add_delta(either)
    either.add_argument("--epsilon", type=number, help="print delta at this epsilon instead")
    certify.add_argument("--html", metavar="FILE", help="also write it as a page, to file or print")

    calibrate = verb("calibrate", commands.calibrate_spec, "cheapest setting that meets a target")
    calibrate.add_argument("--epsilon", type=number, required=True)
    calibrate.add_argument("--delta", type=number, required=True)
    calibrate.add_argument("--over", choices=["noise", "steps", "step-size"], required=True)

    add_delta(verb("explain", commands.explain_spec, "every theorem: applies, or what is missing"))
    audit.register(verb)

    _curve(verb("curve", commands.curve_spec, "epsilon along steps or noise, all theorems"))
    _mixing(verb("mixing", commands.mixing_spec, "steps until projected Langevin forgets"))
    _mechanism(verb("mechanism", commands.mechanism, "release through a diffusion", spec=False))
    _kernel(verb("kernel", commands.kernel, "privacy amplified by a Markov kernel", spec=False))
    _figures(verb("reproduce", commands.reproduce, "the papers' figures, with CSV", spec=False))
    ledger.register(verb)
    serve.register(verb)
    statement.register(verb)
    verify.register(verb)
    return parser


def _curve(parser: Any) -> None:
    parser.add_argument("--over", choices=["steps", "noise"], default="steps")
    parser.add_argument("--from", dest="start", type=number, required=True, metavar="A")
    parser.add_argument("--to", dest="stop", type=number, required=True, metavar="B")
    parser.add_argument("--points", type=whole, default=25, help="how many (default 25)")
    parser.add_argument("--plot", metavar="FILE", help="also draw it (PNG, SVG or PDF)")
    add_delta(parser)


def _figures(parser: Any) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help="which (default: all)")
    parser.add_argument("--out", default="wane-figures", metavar="DIR", help="where to write")


def _mixing(parser: Any) -> None:
    parser.add_argument("--tv", type=number, default=0.25, help="total variation (default 0.25)")


def _mechanism(parser: Any) -> None:
    parser.add_argument("kind", choices=["ou", "brownian"])
    parser.add_argument("--sensitivity", type=number, required=True)
    parser.add_argument("--norm-bound", type=number, help="bound on the statistic's norm")
    parser.add_argument("--dimension", type=whole, help="entries of the statistic")
    parser.add_argument("--time", type=number, help="when ou is released (default 1)")
    for name in ("epsilon", "delta", "mu", "order", "divergence"):
        parser.add_argument(f"--{name}", type=number)


def _kernel(parser: Any) -> None:
    parser.add_argument("matrix", metavar="MATRIX", help="rows of probabilities: CSV, NPY or NPZ")
    parser.add_argument("--epsilon", type=number, required=True)
    parser.add_argument("--delta", type=number, required=True)
    parser.add_argument("--power", type=whole, default=1, metavar="T", help="apply it T times")
    parser.add_argument("--points", type=whole, default=21, help="points of the curve")
