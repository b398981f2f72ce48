"""Programs with the `tirax-opt` options to run them with: `--run-reproducer`.

// configuration: -p 'legalize-ops,fuse-ops' --check-each
builtin.module { … }
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

from ..diagnostics import TiraxError
from .guard import UsageError

PROGRAM = "program.mlir"
"""The name of the program in a folder that `--check-each` writes."""
_HEAD = "// configuration:"
_HINT = f"{_HEAD} -p 'legalize-ops' --check-each"


def configuration(options: Sequence[str]) -> str:
    """Return the first line of a program that is to be read with these options."""
    return f"{_HEAD} {shlex.join(options)}\n"


def program_of(path: str | None) -> str:
    """Return the file of a reproducer: `path`, or the program in that folder. Raises `UsageError` if it is None."""
    if path is None or path == "-":
        raise UsageError("--run-reproducer reads a file", expected="a .mlir file or its folder")
    return os.path.join(path, PROGRAM) if os.path.isdir(path) else path


def configured(path: str) -> list[str]:
    """Return the options in the first lines of a file. Raises `TiraxError` if it has none or cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            words = [word for line in file if line.startswith(_HEAD) for word in shlex.split(line[len(_HEAD) :])]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a text"
        raise TiraxError(f"cannot read '{path}': {reason}") from error
    except ValueError as error:  # a quotation that does not end
        raise TiraxError(f"the configuration in '{path}' is not understood: {error}", expected=_HINT) from error
    if not words:
        raise TiraxError(f"'{path}' does not say how to run it", expected=_HINT)
    return words
