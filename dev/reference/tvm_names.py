"""Generate docs/reference/tvm_api.md."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ...tvm_api._implementations import implementation_modules
from .markdown import NOTE, table

_PACKAGE = "tirax.tvm_api"
_INTERNAL = frozenset(("dlight_rules", "handles", "llm", "operators", "passes"))
"""Folders with the implementations of TVM's names."""


def tvm_api() -> str:
    """Return the page of the provided TVM modules and their names."""
    head = """\
`import tirax.tvm_api as tvm`: these names are those of [api.md](api.md), of the [operators](operators.md) and of the
[passes](passes.md), where TVM has them. They can also be imported from the modules that TVM's packages import them
from (`tvm.relax.op.binary`). What is left out is in [left_out.md](left_out.md).
"""
    rows = ((f"`{path}`", ", ".join(f"`{name}`" for name in names)) for path, names in sorted(_modules()) if names)
    return "\n".join([NOTE, "# TVM's names\n", head, *table(("module", "names"), rows), ""])


def _modules() -> Iterator[tuple[str, list[str]]]:
    """Yield each module by TVM's path, with its names other than modules."""
    root = Path(import_module(_PACKAGE).__file__ or "").parent
    files = (p.relative_to(root).with_suffix("") for p in root.rglob("*.py"))
    dotted = (
        ".".join(f.parts).removesuffix("__init__").rstrip(".")
        for f in files
        if f.parts[0] not in _INTERNAL and (not f.name.startswith("_") or f.name == "__init__")
    )
    for path in dotted:
        import_module(f"{_PACKAGE}.{path}" if path else _PACKAGE)
    implementations = {f"{_PACKAGE}.{path}" for path in implementation_modules()}
    for name, module in list(sys.modules.items()):
        folder = name.removeprefix(_PACKAGE).removeprefix(".").partition(".")[0]
        is_public = name == _PACKAGE or name.startswith(f"{_PACKAGE}.") and "._" not in name
        if is_public and folder not in _INTERNAL and name not in implementations:
            yield name.replace(_PACKAGE, "tvm"), list(_names(module))


def _names(module: ModuleType) -> Iterator[str]:
    """Yield the names that a module exports: its `__all__`, or else its definitions."""
    lists = "__dir__" in vars(module) or getattr(module, "__file__", None) is None
    names = dir(module) if lists else vars(module).get("__all__")
    if names is None:
        names = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    for name in sorted(names):
        if not name.startswith("_") and not isinstance(getattr(module, name, None), ModuleType):
            yield name


__all__ = ["tvm_api"]
