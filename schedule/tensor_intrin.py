"""Tensor intrinsics: what a machine computes in one step, as a description and an implementation.

    TensorIntrin.register("dot_4", desc, impl)
    sch.tensorize(loop, "dot_4")

`desc` says in plain loops and blocks what is computed, `impl` does it. Both take the same buffers in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..diagnostics import TiraxError, unknown_name
from ..dialects import tir
from ..dialects.tir import BufferType
from ..handles.tir.prim_func import PrimFunc


@dataclass(frozen=True)
class TensorIntrin:
    """A description and an implementation of the same computation.

    Raises `TiraxError` where they do not take buffers of the same shapes and dtypes in the same order.
    """

    desc: PrimFunc
    impl: PrimFunc

    registered: ClassVar[dict[str, TensorIntrin]] = {}
    builtin: ClassVar[dict[str, Callable[[], TensorIntrin]]] = {}
    """Those that come with tirax, made when they are first asked for."""

    def __post_init__(self) -> None:
        desc, impl = _signature(self.desc), _signature(self.impl)
        if desc != impl:
            raise TiraxError("desc and impl take different buffers", expected=desc, found=impl)

    @staticmethod
    def register(name: str, desc: PrimFunc, impl: PrimFunc, override: bool = False) -> None:
        """Let `tensorize` know an intrinsic by a name. Raises `TiraxError` where it is taken, unless `override`."""
        if not override and name in TensorIntrin.names():
            raise TiraxError(f"there is a tensor intrinsic '{name}' already", hint="override=True takes its place")
        TensorIntrin.registered[name] = TensorIntrin(desc, impl)

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic of a name. Where there is none: None if `allow_missing`, else `NameLookupError`."""
        names = TensorIntrin.names()
        if name not in TensorIntrin.registered and name in names:
            TensorIntrin.registered[name] = TensorIntrin.builtin[name]()
        found = TensorIntrin.registered.get(name)
        if found is None and not allow_missing:
            raise unknown_name("tensor intrinsic", name, names)
        return found

    @staticmethod
    def names() -> list[str]:
        """The names of all intrinsics."""
        from . import intrinsics

        TensorIntrin.builtin.update(intrinsics.BUILTIN)
        return sorted({*TensorIntrin.registered, *TensorIntrin.builtin})


def _signature(func: Any) -> list[str]:
    if not isinstance(func, PrimFunc):
        raise TiraxError("an intrinsic is made of tensor functions", expected="PrimFunc", found=type(func).__name__)
    op = func.op
    assert isinstance(op, tir.FuncOp)
    rows: list[str] = []
    for param in op.params:
        if not isinstance(param.type, BufferType):
            raise TiraxError("the parameters of an intrinsic are buffers", found=param.type)
        rows.append(f"{param.type.dtype}{[str(d) for d in param.type.dims]}")
    return rows
