"""`tirax-opt`: read a program, run passes on it, write it in any format. `docs/tirax-opt.md` is the manual.

This module contains only the command line, so that `--help` does not import the compiler; `driver` does the
work.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from .color import add_color_option
from .guard import ArgumentParser, UsageError, count, run_guarded
from .options import sizes

_EPILOG = """\
Pass syntax: name{option=value option=value,value}; names and options accept - or _. -p and --pipeline can be
repeated and run in command-line order. Everything except the output goes to stderr.
Exit codes: 0 success, 1 an error in the program, 2 an error in the command line.
"""


class AddPasses(argparse.Action):
    """Collects `-p` and `--pipeline` into one list, in order."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        kind = "pipeline" if option_string == "--pipeline" else "passes"
        namespace.steps = [*(getattr(namespace, "steps", None) or ()), (kind, values)]


class Version(argparse.Action):
    """Prints the versions, and ends."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        from .versions import version_line

        print(version_line())
        parser.exit()


_CHECKS = {
    "--check-each": "compare results before and after every pass, on samples; stop at a difference",
    "--check-each=proof": "the same for all inputs, where a proof covers them",
}
"""Options that compare; the next word is never their value."""


def _names(text: str) -> list[str]:
    return [name for name in text.replace(" ", "").split(",") if name]


def command_line() -> argparse.ArgumentParser:
    """Return the parser of `tirax-opt`."""
    parser = ArgumentParser(
        prog="tirax-opt",
        description="Run passes over a program of the relax and tir dialects, in MLIR text or TVMScript.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.register("type", "sizes", sizes)
    parser.register("type", "bytes", lambda text: -1 if text == "none" else count(text))
    add = parser.add_argument
    flag: dict[str, Any] = {"action": "store_true"}
    add(
        "input_file",
        nargs="?",
        help="a .mlir or .py (TVMScript) file, or file.py:NAME for one of its modules (default: stdin)",
    )
    add("-f", "--format", metavar="LANG", help="input language: mlir, py or tvmscript (default: by extension)")
    add("-o", "--output-file", type="path", metavar="FILE", help="write to FILE, atomically (default: stdout)")
    add("-t", "--target", default="mlir", help="output: mlir (default), tvmscript, llvm, asm, obj, or one of xDSL's")
    add_color_option(parser)
    add("-v", "--version", nargs=0, action=Version, help="print the versions of tirax and its dependencies")

    group = parser.add_argument_group("passes")
    passes: dict[str, Any] = {"action": AddPasses, "dest": "steps"}
    group.add_argument("-p", "--passes", metavar="PASSES", help="passes to run: 'name{option=value},name'", **passes)
    group.add_argument("--pipeline", metavar="NAME", help="run a named pipeline", **passes)
    group.add_argument(
        "--insert",
        action="append",
        default=[],
        metavar="after=PASS:PASSES",
        help="insert passes after the last PASS, or before the first one: before=PASS:PASSES",
    )
    group.add_argument("--stop-after", metavar="PASS", help="stop after the first PASS")
    group.add_argument("--dump-pass-pipeline", help="print the resulting pipeline in the syntax of -p", **flag)
    group.add_argument("--disable-verify", help="do not verify the module after each pass", **flag)
    group.add_argument("--list-passes", help="list passes with their options", **flag)
    group.add_argument("--list-pipelines", help="list pipelines and their passes", **flag)
    group.add_argument("--list-dialects", help="list dialects", **flag)
    group.add_argument("--list-targets", help="list targets with their options", **flag)

    _add_watching(parser)
    _add_checking(parser)

    group = parser.add_argument_group("MLIR text")
    group.add_argument("--print-op-generic", "--mlir-generic", help="print operations in generic form", **flag)
    group.add_argument("--print-irdl", help="print IRDL descriptions of the dialects of tirax", **flag)
    group.add_argument("--print-for-irdl", help="print operations in the form that these describe", **flag)
    group.add_argument(
        "--elide-constants",
        type="bytes",
        metavar="BYTES",
        help="omit the contents of larger constants; none: print all (default on a terminal and stderr: 1024)",
    )
    group.add_argument("--print-debuginfo", help="print source locations", **flag)
    group.add_argument("--allow-unregistered-dialect", help="accept operations of unknown dialects", **flag)
    return parser


def _add_watching(parser: argparse.ArgumentParser) -> None:
    flag: dict[str, Any] = {"action": "store_true"}
    group = parser.add_argument_group("watching")
    names: dict[str, Any] = {"type": _names, "default": [], "metavar": "PASS[,PASS]"}
    group.add_argument("--print-ir-before", help="print the IR before these passes", **names)
    group.add_argument("--print-ir-after", help="print the IR after these passes", **names)
    group.add_argument("--print-ir-after-all", help="print the IR after every pass", **flag)
    group.add_argument("--print-ir-diff", help="print the changes of each pass", **flag)
    group.add_argument(
        "--print-ir-dir", type="path", metavar="DIR", help="write the IR after every pass to a file in DIR"
    )
    group.add_argument(
        "--print-ir-as", choices=["mlir", "tvmscript"], default="mlir", help="format of the printed IR (default: mlir)"
    )
    group.add_argument("--explain", help="explain why operators are not fused and schedule rules do not fit", **flag)
    group.add_argument("--timing", help="print the time of each pass", **flag)


def _add_checking(parser: argparse.ArgumentParser) -> None:
    flag: dict[str, Any] = {"action": "store_true"}
    group = parser.add_argument_group("checking")
    group.add_argument(
        "--run-reproducer", help="read options from // configuration: … lines of the input or folder", **flag
    )
    group.add_argument("--verify-diagnostics", help="check errors against comments: // expected-error {{...}}", **flag)
    group.add_argument(
        "--split-input-file", help="split the input at // ----- lines and process each piece separately", **flag
    )
    for name, help_text in _CHECKS.items():
        kind = name.partition("=")[2] or "samples"
        group.add_argument(name, dest="check_each", action="store_const", const=kind, help=help_text)
    group.add_argument(
        "--check-sizes",
        type="sizes",
        default=(2, 5, 1, 0),
        metavar="N=2,M=3",
        help="symbolic sizes in these comparisons, by name, or values that all take (default: 2,5,1,0)",
    )


def _reproducer_options(options: argparse.Namespace, args: Sequence[str]) -> argparse.Namespace:
    """Return the options in a reproducer's text, overridden by those of the command line. Raises `TiraxError`."""
    from .reproducer import configured, program_of

    path = program_of(options.input_file)
    words = configured(path)
    recorded = command_line().parse_args(words)
    if recorded.output_file is not None or recorded.print_ir_dir is not None or recorded.input_file is not None:
        raise UsageError("a reproducer names a file", expected="passes and checks", found=" ".join(words))
    options = command_line().parse_args([*words, *args])
    options.input_file = path
    return options


def main(args: Sequence[str] | None = None) -> int:
    """Run `tirax-opt` and return its exit code."""

    def program() -> int:
        options = command_line().parse_args(args)
        if options.run_reproducer:
            options = _reproducer_options(options, sys.argv[1:] if args is None else args)
        from .driver import run

        return run(options)

    return run_guarded(program)
