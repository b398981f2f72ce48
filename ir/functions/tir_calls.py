"""Calls between tensor functions: the callee's sizes at a call, and recursive functions."""

from __future__ import annotations

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import SSAValue
from xdsl.traits import SymbolTable

from ...diagnostics import UnsupportedError, unknown_name
from ...dialects import tir
from ...dialects.names import name_of
from ...dialects.quick import operations
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import SymExpr, Var
from ..locations import location_of


def extents_of_call(call: tir.CallOp, callee: tir.FuncOp) -> dict[str, SymExpr | SSAValue]:
    """Return the callee's symbolic variables in terms of the caller: scalar arguments, else extents of passed buffers.

    Raises `UnsupportedError` if a variable is not determined.
    """
    extents: dict[str, SymExpr | SSAValue] = {}
    for param, value in zip(callee.params, call.call_args, strict=True):
        name = name_of(param)
        if not isinstance(param.type, tir.BufferType) and name is not None:
            extents[name] = value
    required: dict[str, None] = {}
    for param, value in zip(callee.params, call.call_args, strict=True):
        if isinstance(param.type, tir.BufferType):
            required |= {str(v.name): None for e in param.type.exprs() for v in e.free_vars()}
            _match(param.type, value, extents)
    missing = [name for name in required if name not in extents]
    if missing:
        raise UnsupportedError(
            f"the call of @{call.func.data} does not say what '{missing[0]}' is",
            location=location_of(call),
            hint="pass whole buffers (A.data), or the size as a parameter of its name",
        )
    return {name: extents[name] for name in required}


def _match(t: tir.BufferType, value: SSAValue, extents: dict[str, SymExpr | SSAValue]) -> None:
    """Match the extents of a parameter with those of the buffer whose address is passed."""
    if not isinstance(value.owner, tir.BufferDataOp):
        return
    actual = value.owner.buffer.type
    if not isinstance(actual, tir.BufferType) or actual.rank != t.rank:
        return
    for declared, extent in zip(t.dims, actual.dims, strict=True):
        if isinstance(declared, Var) and isinstance(declared.name, str):
            extents.setdefault(declared.name, extent)


def note_call_sizes(module: ModuleOp) -> None:
    """Annotate each call with the buffer extents that the callee needs, before buffers are flattened.

    Raises `NameLookupError` for a callee that is not in the module.
    """
    functions = [f for f in module.ops if isinstance(f, tir.FuncOp)]
    for call in [op for f in functions for op in operations(f) if isinstance(op, tir.CallOp)]:
        callee = SymbolTable.lookup_symbol(module, call.func.data)
        if not isinstance(callee, tir.FuncOp):
            raise unknown_name("prim_func", call.func.data, (), location_of(call))
        sizes = {n: e for n, e in extents_of_call(call, callee).items() if not isinstance(e, SSAValue)}
        call.attributes[tir.CallOp.SIZES] = DictionaryAttr({n: SymAttr(e) for n, e in sizes.items()})
