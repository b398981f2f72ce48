"""What tirax brings to xDSL: dialects, passes and targets, each loaded when it is first asked for.

`xdsl-opt` finds this through the entry point `xdsl.universe`; `tirax-opt` uses the same tables. One more pass is one more row.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.universe import Universe

_DIALECTS = {
    "sym": "dialects.sym:Sym",
    "relax": "dialects.relax:Relax",
    "tir": "dialects.tir:Tir",
}

_PASSES: dict[str, str] = {}

_TARGETS: dict[str, str] = {}


def _lazy(path: str) -> Callable[[], Any]:
    module, _, attribute = path.partition(":")
    return lambda: getattr(import_module(f".{module}", __package__), attribute)


TIRAX_UNIVERSE = Universe(
    all_dialects={name: _lazy(path) for name, path in _DIALECTS.items()},
    all_passes={name: _lazy(path) for name, path in _PASSES.items()},
    all_targets={name: _lazy(path) for name, path in _TARGETS.items()},
)
