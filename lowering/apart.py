"""Builds in a process of its own, which gives everything back that compiling takes.

What a compiler has used stays with its process, in pieces between what is still in use: 200 MB of a language model. So
another process (`build_text.py`) builds the module, and this one finds the executable in the cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer


def build_apart(op: ModuleOp, pipeline: str, target: str, opt_level: int) -> None:
    """Have another process build a module that has a place in the cache of executables, where it is then.

    Where there can be no other process, or it fails, nothing is there: who builds it here is told why.
    """
    if not sys.executable:
        return
    out = StringIO()
    Printer(out).print_op(op)
    command = [sys.executable, "-m", "tirax.lowering.build_text", pipeline, target, str(opt_level)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        subprocess.run(command, input=out.getvalue(), text=True, capture_output=True, env=environment, check=False)
    except OSError:  # no process can be started
        return
