"""Parse, run one command, print; every failure is one line and an exit status.

0: done.  1: the request cannot be met.  2: the input is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from wane._version import __version__
from wane.cli import commands
from wane.errors import InvalidDescription, WaneError

Command = Callable[[argparse.Namespace], tuple[dict[str, Any], str]]


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
    except BrokenPipeError:
        # the reader has gone; keep the interpreter from complaining when it closes the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    return 0


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

    demo = verb("demo", commands.demo, "certify and calibrate a bundled example", spec=False)
    _delta(demo)

    certify = verb("certify", commands.certify_spec, "certificate of a description")
    either = certify.add_mutually_exclusive_group()
    _delta(either)
    either.add_argument("--epsilon", type=_number, help="print delta at this epsilon instead")

    calibrate = verb("calibrate", commands.calibrate_spec, "cheapest setting that meets a target")
    calibrate.add_argument("--epsilon", type=_number, required=True)
    calibrate.add_argument("--delta", type=_number, required=True)
    calibrate.add_argument("--over", choices=["noise", "steps", "step-size"], required=True)

    _delta(verb("explain", commands.explain_spec, "every theorem: applies, or what is missing"))
    _delta(verb("audit", commands.audit_spec, "lower bound beside the upper bound"))

    _curve(verb("curve", commands.curve_spec, "epsilon along steps or noise, all theorems"))
    _mixing(verb("mixing", commands.mixing_spec, "steps until projected Langevin forgets"))
    _mechanism(verb("mechanism", commands.mechanism, "release through a diffusion", spec=False))
    _kernel(verb("kernel", commands.kernel, "privacy amplified by a Markov kernel", spec=False))
    _figures(verb("reproduce", commands.reproduce, "the papers' figures, with CSV", spec=False))
    return parser


def _curve(parser: Any) -> None:
    parser.add_argument("--over", choices=["steps", "noise"], default="steps")
    parser.add_argument("--from", dest="start", type=_number, required=True, metavar="A")
    parser.add_argument("--to", dest="stop", type=_number, required=True, metavar="B")
    parser.add_argument("--points", type=_whole, default=25, help="how many (default 25)")
    parser.add_argument("--plot", metavar="FILE", help="also draw it (PNG, SVG or PDF)")
    _delta(parser)


def _figures(parser: Any) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help="which (default: all)")
    parser.add_argument("--out", default="wane-figures", metavar="DIR", help="where to write")


def _mixing(parser: Any) -> None:
    parser.add_argument("--tv", type=_number, default=0.25, help="total variation (default 0.25)")


def _mechanism(parser: Any) -> None:
    parser.add_argument("kind", choices=["ou", "brownian"])
    parser.add_argument("--sensitivity", type=_number, required=True)
    parser.add_argument("--norm-bound", type=_number, help="bound on the statistic's norm")
    parser.add_argument("--dimension", type=_whole, help="entries of the statistic")
    parser.add_argument("--time", type=_number, help="when ou is released (default 1)")
    for name in ("epsilon", "delta", "mu", "order", "divergence"):
        parser.add_argument(f"--{name}", type=_number)


def _kernel(parser: Any) -> None:
    parser.add_argument("matrix", metavar="MATRIX", help="rows of probabilities: CSV, NPY or NPZ")
    parser.add_argument("--epsilon", type=_number, required=True)
    parser.add_argument("--delta", type=_number, required=True)
    parser.add_argument("--power", type=_whole, default=1, metavar="T", help="apply it T times")
    parser.add_argument("--points", type=_whole, default=21, help="points of the curve")


def _delta(parser: Any) -> None:
    parser.add_argument("--delta", type=_number, default=1e-5, help="delta (default 1e-5)")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number, got {text!r:.60}") from None


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r:.60}") from None
