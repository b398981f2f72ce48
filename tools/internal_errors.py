"""Internal errors of passes leave a reproducer behind, and say how it becomes smaller."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from xdsl.utils.exceptions import DiagnosticException

from .reproducer import PROGRAM

_NOT_INTERNAL = (DiagnosticException, OSError, MemoryError, RecursionError)


@contextmanager
def reproducing(program: Callable[[], str], options: Callable[[], Sequence[str]]) -> Iterator[None]:
    """An exception of a pass that is no diagnostic gets notes: where the program lies, and the command to go on.

    `program` gives its text, `options` those of `tirax-opt` that run the passes; they are asked after the error.
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
