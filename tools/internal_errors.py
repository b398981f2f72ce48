"""Save a reproducer for internal errors of passes, and print the command that reduces it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.utils.exceptions import DiagnosticException

from .reproducer import PROGRAM

_NOT_INTERNAL = (DiagnosticException, OSError, MemoryError, RecursionError)


@contextmanager
def reproducing(program: Callable[[], str], options: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Add notes to an exception of a pass that is not a diagnostic: the saved program, and the next command.

    `program` returns the program's text, `options` the `tirax-opt` options that run the passes; both are called
    after the error.
    """
    try:
        yield
    except _NOT_INTERNAL:
        raise
    except Exception as error:
        if getattr(error, "__notes__", None):  # of a pass: `naming_pass`
            for note in _saved(program(), options()):
                error.add_note(note)
        raise


def _saved(program: str, options: Sequence[str]) -> Iterator[str]:
    from .checking import save_reproducer

    folder = save_reproducer(program, (), f"tirax-opt {PROGRAM} {shlex.join(options)}", options)
    yield f"reproducer: {folder}"
    words = ["tirax", "reduce", str(folder / PROGRAM), *options, "--predicate", "crash", "-o", "small.mlir"]
    yield f"make it smaller: {shlex.join(words)}"
