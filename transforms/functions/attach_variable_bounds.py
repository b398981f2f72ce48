"""Propagate bounds of symbolic variables to tensor functions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute

from ...dialects import relax, tir
from ...dialects.quick import operations
from ...dialects.sym.analyzer import EXTENT, Analyzer, Interval
from ...ir.functions.bounds import bind_bounds, set_bounds, variable_bounds
from ...ir.functions.lookup import callee_names, functions
from ...ir.functions.symbolic_vars import definable_vars
from ...ir.passes.transform import Pass
from .private import bind_variables

_Call = relax.CallTIROp | relax.CallTIRInplaceOp
_Bounds = dict[str, Interval]
_SIZED = relax.TensorType | relax.ShapeType
"""Types of parameters whose extents are checked, and are never negative."""


@dataclass(frozen=True)
class AttachVariableBounds(Pass):
    """Attach to private tensor functions the bounds that their symbolic variables have in all calls.

    R.func_attr({"tir_var_upper_bound": {"n": 64}}), R.call_tir(f, (x,), …) with x: R.Tensor((n,))
        ->  T.func_attr({"tir_var_upper_bound": {"m": 64}}) in f(X: T.Buffer((m,)), …)

    Bounds of Relax functions count if their parameters have the variables as extents, since a call checks those.
    Tensor functions that are used in any other way get none; existing bounds of private functions are replaced.
    """

    name = "attach-variable-bounds"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = functions(op)
        for func in table.values():
            if isinstance(func, tir.FuncOp) and func.private:
                set_bounds(func, {})
        if not any(isinstance(f, relax.FuncOp) and variable_bounds(f) for f in table.values()):
            return
        known: dict[str, _Bounds] = {}
        others: set[str] = set()
        for func in table.values():
            analyzer = Analyzer()
            if isinstance(func, relax.FuncOp):
                bind_bounds(func, analyzer, definable_vars(p.type for p in func.params if isinstance(p.type, _SIZED)))
            for inner in operations(func):
                callee = table.get(inner.callee_name) if isinstance(inner, _Call) else None
                if isinstance(inner, _Call) and isinstance(callee, tir.FuncOp):
                    _join(known, inner.callee_name, _of_call(inner, callee, analyzer))
                else:
                    others.update(callee_names(inner))
        for name, bounds in known.items():
            callee = table[name]
            if isinstance(callee, tir.FuncOp) and callee.private and name not in others:
                set_bounds(callee, bounds)


def _join(known: dict[str, _Bounds], name: str, bounds: _Bounds) -> None:
    """Join the bounds of earlier calls with those of this one."""
    before = known.get(name)
    if before is None:
        known[name] = bounds
        return
    both = before.keys() & bounds.keys()
    known[name] = {v: Interval(min(before[v].low, bounds[v].low), max(before[v].high, bounds[v].high)) for v in both}


def _of_call(call: _Call, callee: tir.FuncOp, analyzer: Analyzer) -> _Bounds:
    """Return the bounds of the callee's variables at a call."""
    buffers = [
        relax.TensorType.of(p.type.dims, p.type.dtype) for p in callee.params if isinstance(p.type, tir.BufferType)
    ]
    types = [*(v.type for v in call.call_args), *_flat(call.result_type)]
    if len(types) != len(buffers):
        return {}
    bounds = {v.name: analyzer.bounds(e) for v, e in bind_variables(buffers, types).items() if isinstance(v.name, str)}
    return {name: b for name, b in bounds.items() if b != EXTENT and b.low >= 0}


def _flat(t: Attribute) -> Iterable[Attribute]:
    return t.types if isinstance(t, TupleType) else [t]
