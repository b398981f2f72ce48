"""Builds in a separate process, which returns all memory used by compilation to the system.

The memory of a compiler stays with its process, fragmented by objects still in use: 200 MB for a language model. So
another process builds the module, from its text (`build_text.py`) or by creating it itself, and this one loads the
executable from the cache.
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
    """Build a module in another process, which stores the executable in the cache.

    Failures are silent, as in `run_in_subprocess`.
    """
    out = StringIO()
    Printer(out).print_op(op)
    run_in_subprocess("tirax.driver.build_text", (pipeline, target, str(opt_level)), out.getvalue())


_RUN = """
import gc, runpy, sys
gc.disable()
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
"""`python -m` without the garbage collector, which takes a seventh of the time to import a compiler and frees
nothing.
"""


def python_process(module: str, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a process that runs a Python module with this process's import path.

    Nothing is imported from the current folder unless this process does so. Such a process is short-lived and runs
    without the garbage collector.
    """
    path = os.pathsep.join(filter(None, sys.path))
    return [sys.executable, "-P", "-c", _RUN, module, *arguments], {**os.environ, "PYTHONPATH": path}


def run_in_subprocess(module: str, arguments: Sequence[str], text: str = "") -> None:
    """Run a Python module in another process, with `text` as its input and no output; its results go to the cache.

    If the process cannot be started or fails, the cache has no result, and the error appears when the caller builds
    here.
    """
    if not sys.executable:
        return
    command, environment = python_process(module, arguments)
    try:
        subprocess.run(command, input=text, text=True, capture_output=True, env=environment, check=False)
    except OSError:  # no process can be started
        return
