"""Builds in a process of its own, which gives everything back that compiling takes.

What a compiler has used stays with its process, in pieces between what is still in use: 200 MB of a language model. So
another process builds the module, of its text (`build_text.py`) or as it makes it itself, and this one finds the
executable in the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer


def build_in_subprocess(op: ModuleOp, pipeline: str, target: str, opt_level: int) -> None:
    """Have another process build a module that has a place in the cache of executables, where it is then.

    Raises nothing, as `run_in_subprocess`.
    """
    out = StringIO()
    Printer(out).print_op(op)
    run_in_subprocess("tirax.driver.build_text", (pipeline, target, str(opt_level)), out.getvalue())


_RUN = """
import gc, runpy, sys
gc.disable()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""`python -m`, without the garbage collector: a seventh of what it takes to import a compiler, which is no garbage."""


def python_process(module: str, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """(command, environment) of a process that runs a module of Python with what this one can import.

    Nothing is imported from the folder in which it runs, unless this process does so. Such a process ends soon, and
    has no garbage collector.
    """
    path = os.pathsep.join(filter(None, sys.path))
    return [sys.executable, "-P", "-c", _RUN, module, *arguments], {**os.environ, "PYTHONPATH": path}


def run_in_subprocess(module: str, arguments: Sequence[str], text: str = "") -> None:
    """Run a module of Python in another process, with a text to read, in silence: what it makes is in the cache then.

    Where there can be no other process, or it fails, nothing is there: who builds it here is told why.
    """
    if not sys.executable:
        return
    command, environment = python_process(module, arguments)
    try:
        subprocess.run(command, input=text, text=True, capture_output=True, env=environment, check=False)
    except OSError:  # no process can be started
        return
