"""Programs that say with which options of `tirax-opt` they are to be read: `--run-reproducer`.

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
"""What a program is called in a folder that `--check-each` writes."""
_HEAD = "// configuration:"
_HINT = f"{_HEAD} -p 'legalize-ops' --check-each"


def configuration(options: Sequence[str]) -> str:
    """The line in front of a program that is to be read with these options."""
    return f"{_HEAD} {shlex.join(options)}\n"


def program_of(path: str | None) -> str:
    """The file of a reproducer: itself, or the program in its folder. Raises `UsageError` where none is named."""
    if path is None or path == "-":
        raise UsageError("--run-reproducer reads a file", expected="a .mlir file or its folder")
    return os.path.join(path, PROGRAM) if os.path.isdir(path) else path


def configured(path: str) -> list[str]:
    """The options in the first lines of a file. Raises `TiraxError` where there are none, or it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            words = [word for line in file if line.startswith(_HEAD) for word in shlex.split(line[len(_HEAD) :])]
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise TiraxError(f"cannot read '{path}': {reason}") from error
    except ValueError as error:  # a quotation that does not end
        raise TiraxError(f"the configuration in '{path}' is not understood: {error}", expected=_HINT) from error
    if not words:
        raise TiraxError(f"'{path}' does not say how to run it", expected=_HINT)
    return words
