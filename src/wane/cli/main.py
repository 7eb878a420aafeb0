"""Parse, run one command, print; every failure is one line and an exit status.

0: done.  1: the request cannot be met.  2: the input is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from wane._version import __version__
from wane.cli import (
    audit,
    check,
    commands,
    completion,
    demo,
    fit,
    ledger,
    plan,
    sample,
    score,
    serve,
    sign,
    statement,
    statistics,
    verify,
)
from wane.cli.options import Command, Result, add_delta, add_particulars, number, whole
from wane.describe import Adjacency
from wane.errors import InvalidDescription, PrivacyWarning, UnscaledFeatures, WaneError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    _accept_any_character()
    try:
        words = sys.argv[1:] if argv is None else list(argv)
        options = _parser(words[0] if words else "").parse_args(words)
        data, text = _noted(options)
        _print(json.dumps(data, indent=2, allow_nan=False) if options.json else text)
    except InvalidDescription as error:
        return _failed(error, 2)
    except WaneError as error:
        return _failed(error, 1)
    except MemoryError:
        return _failed("not enough memory", 1)
    except _OutputLost as lost:
        return _failed(lost, 1) if str(lost) else 1
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except OSError as error:  # a name that no file can have, a disk that is full
        reason = error.strerror or "the system refuses it"
        return _failed(f"{error.filename!r:.120} cannot be used: {reason}.", 2)
    except Exception as error:
        return _failed(_defect(error), 1)
    return int(getattr(options, "status", 0))


def _noted(options: argparse.Namespace) -> Result:
    """Run the command; what wane warns of becomes a note on standard error."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", PrivacyWarning)
        warnings.simplefilter("ignore", UnscaledFeatures)  # a schema has scaled the columns
        made: Result = options.command(options)
    for one in found:
        if issubclass(one.category, PrivacyWarning):
            _failed(f"note: {one.message}", 0)
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    return made


class _OutputLost(Exception):
    """What was printed did not arrive; without words if the reader went on purpose."""


def _accept_any_character() -> None:
    """Terminals that lack a character show its number."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _print(text: str) -> None:
    if sys.stdout is None:
        raise _OutputLost("the answer cannot be written: standard output is closed")
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError as error:
        # keep the interpreter from complaining when it closes the stream
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        gone = isinstance(error, BrokenPipeError)
        reason = error.strerror or "the stream is closed"
        raise _OutputLost("" if gone else f"the answer cannot be written: {reason}") from None


def _defect(error: Exception) -> str:
    """Return the message of a defect of wane: kind and place, as its text might quote a record."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).parent.name}/{Path(last.filename).name}:{last.lineno}"
    return f"internal error, {type(error).__name__} at {place}; please report it."


def _failed(error: object, status: int) -> int:
    line = " ".join(str(error).split())
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"wane: {line}\n")
            sys.stderr.flush()
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InvalidDescription(f"{message} (see {self.prog} --help).")


def _parser(asked: str = "") -> argparse.ArgumentParser:
    """Return the parser of the module whose command is asked for, or of all commands."""
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

    for register in [REGISTERS[asked]] if asked in REGISTERS else dict.fromkeys(REGISTERS.values()):
        register(verb)
    if asked not in REGISTERS:
        completion.register(verb, lambda: parser)
    return parser


def _on_descriptions(verb: Any) -> None:
    _certify(verb("certify", commands.certify_spec, "certificate of a description"))
    words = "cheapest setting that meets a target"
    _calibrate(verb("calibrate", commands.calibrate_spec, words))
    add_delta(verb("explain", commands.explain_spec, "every theorem: applies, or what is missing"))


def _on_curves_and_kernels(verb: Any) -> None:
    _curve(verb("curve", commands.curve_spec, "epsilon along steps, noise, step size or position"))
    _mixing(verb("mixing", commands.mixing_spec, "steps until projected Langevin forgets"))
    _mechanism(verb("mechanism", commands.mechanism, "release through a diffusion", spec=False))
    _kernel(verb("kernel", commands.kernel, "privacy amplified by a Markov kernel", spec=False))
    _figures(verb("reproduce", commands.reproduce, "the papers' figures, with CSV", spec=False))


REGISTERS: dict[str, Callable[[Any], None]] = {
    "demo": demo.register,
    "schema": fit.register,
    "fit": fit.register,
    "predict": fit.register,
    "score": score.register,
    "check": check.register,
    "sample": sample.register,
    "release": statistics.register,
    "certify": _on_descriptions,
    "calibrate": _on_descriptions,
    "explain": _on_descriptions,
    "audit": audit.register,
    "plan": plan.register,
    "curve": _on_curves_and_kernels,
    "mixing": _on_curves_and_kernels,
    "mechanism": _on_curves_and_kernels,
    "kernel": _on_curves_and_kernels,
    "reproduce": _on_curves_and_kernels,
    "ledger": ledger.register,
    "serve": serve.register,
    "statement": statement.register,
    "key": sign.register,
    "sign": sign.register,
    "verify": verify.register,
}
"""What describes each command, in the order of `wane --help`: if one is asked for, only it."""


def _certify(parser: Any) -> None:
    either = parser.add_mutually_exclusive_group()
    add_delta(either)
    either.add_argument("--epsilon", type=number, help="print delta at this epsilon instead")
    parser.add_argument(
        "--page", "--html", dest="html", metavar="FILE", help="also write it as a page to sign"
    )
    add_particulars(parser)
    parser.add_argument("--force", action="store_true", help="replace the page")


def _calibrate(parser: Any) -> None:
    parser.add_argument("--epsilon", type=number, help="target, with --delta")
    parser.add_argument("--delta", type=number, help="of --epsilon")
    parser.add_argument(
        "--renyi",
        type=number,
        nargs=2,
        metavar=("ORDER", "DIVERGENCE"),
        help="target: a Renyi divergence of this order",
    )
    parser.add_argument("--zcdp", type=number, metavar="RHO", help="target: zero-concentrated")
    parser.add_argument("--mu", type=number, help="target: Gaussian privacy")
    words = "target: true-positive minus false-positive rate of any attack"
    parser.add_argument("--advantage", type=number, metavar="A", help=words)
    words = "target: at a false-positive rate, the largest true-positive rate"
    parser.add_argument("--attack", type=number, nargs=2, metavar=("FPR", "TPR"), help=words)
    words = "target: for a prior probability, how often the best guess is right"
    parser.add_argument("--guess", type=number, nargs=2, metavar=("PRIOR", "SUCCESS"), help=words)
    over = ["noise", "steps", "step-size"]
    parser.add_argument("--over", choices=over, required=True, help="what is searched for")


def _curve(parser: Any) -> None:
    over = ["steps", "noise", "step-size", "position"]
    words = "along what (default steps); position is that of a record's batch in the order"
    parser.add_argument("--over", choices=over, default="steps", help=words)
    words = "first; needed but for positions"
    parser.add_argument("--from", dest="start", type=number, metavar="A", help=words)
    words = "last; needed but for positions"
    parser.add_argument("--to", dest="stop", type=number, metavar="B", help=words)
    parser.add_argument("--points", type=whole, default=25, help="how many (default 25)")
    parser.add_argument("--plot", metavar="FILE", help="also draw it (PNG, SVG or PDF)")
    parser.add_argument("--force", action="store_true", help="replace the file")
    add_delta(parser)


def _figures(parser: Any) -> None:
    parser.add_argument("name", nargs="*", metavar="NAME", help="which (default: all)")
    parser.add_argument("--out", default="wane-figures", metavar="DIR", help="where to write")


def _mixing(parser: Any) -> None:
    parser.add_argument("--tv", type=number, default=0.25, help="total variation (default 0.25)")
    parser.add_argument(
        "--after", type=whole, metavar="T", help="show how close copies are after T steps instead"
    )


def _mechanism(parser: Any) -> None:
    parser.add_argument("kind", choices=["ou", "brownian", "linear"], help="which diffusion")
    parser.add_argument("--sensitivity", type=number, help="how far one record moves the statistic")
    parser.add_argument(
        "--sensitivity-matrix", metavar="FILE", help="linear: a matrix M, v' M^-1 v <= 1 (CSV)"
    )
    parser.add_argument("--box", metavar="B1,B2,...", help="linear: bounds around the centre")
    parser.add_argument("--ellipsoid", metavar="FILE", help="linear: a matrix in place of a box")
    parser.add_argument("--centre", metavar="C1,C2,...", help="linear: the origin if left out")
    parser.add_argument("--norm-bound", type=number, help="bound on the statistic's norm")
    parser.add_argument("--dimension", type=whole, help="entries of the statistic")
    parser.add_argument("--time", type=number, help="when ou is released (default 1)")
    words = "which data sets the sensitivity compares; prints a description to certify"
    parser.add_argument("--adjacency", choices=[a.value for a in Adjacency], help=words)
    for name, words in (
        ("epsilon", "target, with --delta"),
        ("delta", "of --epsilon"),
        ("mu", "target: Gaussian privacy"),
        ("order", "of --divergence"),
        ("divergence", "target: Renyi, with --order"),
    ):
        parser.add_argument(f"--{name}", type=number, help=words)


def _kernel(parser: Any) -> None:
    parser.add_argument(
        "matrix",
        metavar="MATRIX",
        help="rows of probabilities: CSV, NPY or NPZ; or gaussian or laplace, noise on a bounded "
        "input",
    )
    parser.add_argument("--noise", type=number, help="gaussian: its deviation; laplace: its scale")
    parser.add_argument("--diameter", type=number, help="largest distance of two inputs")
    parser.add_argument(
        "--lipschitz", type=number, default=1.0, help="of a map before the noise (default 1)"
    )
    parser.add_argument(
        "--projected", action="store_true", help="the output is projected back: needed for powers"
    )
    parser.add_argument("--epsilon", type=number, required=True, help="before the kernel")
    parser.add_argument("--delta", type=number, required=True, help="before the kernel")
    parser.add_argument("--power", type=whole, default=1, metavar="T", help="apply it T times")
    parser.add_argument(
        "--target-epsilon", type=number, help="take the smallest power that meets this epsilon"
    )
    parser.add_argument("--target-delta", type=number, help="and this delta")
    parser.add_argument("--points", type=whole, default=21, help="points of the curve")
