"""TVM's public names over tirax: `import tirax.tvm_api as tvm`, and programs written for TVM 0.19-0.20 run.

Nothing is computed here. Sub-modules are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..diagnostics import TiraxError as TVMError
from ..handles.module import IRModule
from ..runtime import (
    Device,
    cpu,
    cuda,
    device,
    get_global_func,
    register_func,
)

if TYPE_CHECKING:
    from . import arith, error, ir, meta_schedule, nd, relax, runtime, script, target, te, testing, tir, topi, transform
    from .compilation import build, compile

__tirax_script_dialect__ = "tvm"
__version__ = "0.20.0"

_MODULES = frozenset(
    (
        "arith",
        "error",
        "ir",
        "meta_schedule",
        "nd",
        "relax",
        "runtime",
        "script",
        "target",
        "te",
        "testing",
        "tir",
        "topi",
        "transform",
    )
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in ("build", "compile"):
        module = import_module(".compilation", __name__)
        globals().update(build=module.build, compile=module.compile)
        return globals()[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*__all__])


__all__ = [
    "Device",
    "IRModule",
    "TVMError",
    "arith",
    "build",
    "compile",
    "cpu",
    "cuda",
    "device",
    "error",
    "get_global_func",
    "ir",
    "meta_schedule",
    "nd",
    "register_func",
    "relax",
    "runtime",
    "script",
    "target",
    "te",
    "testing",
    "tir",
    "topi",
    "transform",
]
