"""The arguments of what is measured."""

from __future__ import annotations

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.dtypes import dtype_name
from ..handles.module import IRModule
from ..transforms.tir.walk import functions
from .types import TensorInfo


def entry_of(mod: IRModule) -> tir.FuncOp:
    """The function that is tuned: `main`, or the only one. Raises `TiraxError` where neither is there."""
    found = {f.sym_name.data: f for f in functions(mod.op)}
    if "main" in found:
        return found["main"]
    if len(found) != 1:
        raise TiraxError("a module that is tuned has one tensor function", expected="main", found=sorted(found))
    return next(iter(found.values()))


def args_info(mod: IRModule) -> list[TensorInfo]:
    """The tensors that the function of a module takes. Raises `TiraxError` for other arguments, and unknown sizes."""
    out: list[TensorInfo] = []
    for value in entry_of(mod).body.block.args:
        kind = value.type
        if not isinstance(kind, tir.BufferType):
            raise TiraxError("only functions of tensors are tuned", expected="a buffer", found=kind)
        shape = [d.constant for d in kind.dims]
        sizes = [d for d in shape if d is not None]
        if len(sizes) != len(shape):
            raise TiraxError("only functions of known sizes are tuned", found=[str(d) for d in kind.dims])
        out.append(TensorInfo(dtype_name(kind.dtype), tuple(sizes)))
    return out
