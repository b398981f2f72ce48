"""MLIR's parser and verifier, of the packages that bring them: `iree-base-compiler` and `jaxlib`.

A judge is a function from a text to the error that it finds, None for a text that it takes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

Judge = Callable[[str, bool], "str | None"]
"""(text, whether unregistered dialects are allowed) -> the first error."""


def judges() -> Mapping[str, Judge]:
    """Return the judges of the packages that are installed, by name."""
    present: dict[str, Judge] = {}
    if iree_opt() is not None:
        present["iree-opt"] = judged_by_iree
    if find_spec("jaxlib") is not None:
        present["jaxlib"] = judged_by_jaxlib
    return present


def iree_opt() -> str | None:
    """Return the path of `iree-opt`: beside the interpreter, or in PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), "iree-opt")
    return own if os.path.exists(own) else shutil.which("iree-opt")


def judged_by_iree(text: str, unregistered: bool = False, descriptions: str | None = None) -> str | None:
    """Return what `iree-opt` reports of a text; `descriptions` is a file of IRDL for it to load."""
    path = iree_opt()
    assert path is not None
    command = [path, "-", "-o", os.devnull, *(["--allow-unregistered-dialect"] if unregistered else [])]
    command += [] if descriptions is None else [f"--irdl-file={descriptions}"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)
    return None if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def judged_by_jaxlib(text: str, unregistered: bool = False) -> str | None:
    """Return what jaxlib's bindings of MLIR report of a text."""
    ir, context = jaxlib_context(unregistered)
    with context:
        try:
            ir.Module.parse(text).operation.verify()
        except ir.MLIRError as error:
            return str(error)
    return None


def jaxlib_context(unregistered: bool = False) -> tuple[Any, Any]:
    """Return jaxlib's module `ir` and a context with every dialect that it has."""
    from importlib import import_module  # a package of its own version: its types are unknown here

    ir = import_module("jaxlib.mlir.ir")
    registry = ir.DialectRegistry()
    import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context = ir.Context()
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    context.allow_unregistered_dialects = unregistered
    return ir, context
