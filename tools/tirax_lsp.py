"""`tirax-lsp`: the language server, started by an editor, speaking over stdin and stdout (docs/editors.md)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ..diagnostics import TiraxError
from .guard import OK, ArgumentParser, run_guarded


def command_line() -> argparse.ArgumentParser:
    """Return the parser of `tirax-lsp`."""
    parser = ArgumentParser(prog="tirax-lsp", description="A language server for MLIR text and TVMScript.")
    parser.add_argument("--stdio", action="store_true", help="communicate over stdin and stdout (the default)")
    parser.add_argument("-v", "--version", action="store_true", help="print the versions of tirax and its dependencies")
    return parser


def main(args: Sequence[str] | None = None) -> int:
    """Run `tirax-lsp` and return its exit code."""

    def program() -> int:
        options = command_line().parse_args(args)
        from .versions import version_line

        if options.version:
            print(version_line())
            return OK
        try:
            from .lsp.server import make_server
        except ImportError as error:
            raise TiraxError(
                f"the language server needs a package: {error}", hint="pip install 'tirax[lsp]'"
            ) from error
        stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
        sys.stdout = sys.stderr  # what anything prints must not get between the messages
        make_server(version_line()).start_io(stdin, stdout)
        return OK

    return run_guarded(program)
