"""Constant folding at import of results that depend only on small constants, since sizes and axes may depend
on them.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import OpResult, SSAValue

from ...dialects import relax
from ...dialects.relax.types import free_symbolic_vars
from ...handles.relax.expr import Expr
from ...interpreter.run import InterpreterError, make_interpreter
from .values import MOST_KNOWN

Array = np.ndarray[Any, Any]


_KEPT = frozenset({"relax.dequantize"})
"""Operators that are not folded: later passes match them on integer data."""


class _NotConstant(Exception):
    pass


def evaluate_small(expr: Expr) -> Array | None:
    """Evaluate an unbound expression of small constants, or return None for any other expression."""
    value = expr.ssa
    if not isinstance(value, OpResult) or value.op.parent is not None:
        return None
    if isinstance(value.op, relax.ConstantOp):
        return value.op.value.numpy()
    if not _small(value):
        return None
    try:
        result = _evaluate(value)
    except (_NotConstant, InterpreterError):
        return None
    return result if isinstance(result, np.ndarray) else None


def _small(value: SSAValue) -> bool:
    t = value.type
    if not isinstance(t, relax.TensorType) or t.element is None:
        return False
    extents = [d.constant for d in t.dims] if t.dims is not None else [0]
    return None not in extents and math.prod(e for e in extents if e is not None) <= MOST_KNOWN


def _evaluate(value: SSAValue) -> Any:
    op = value.owner
    if isinstance(op, relax.ConstantOp):
        if not _small(value):
            raise _NotConstant
        return op.value.numpy()
    if isinstance(op, relax.ShapeOp):
        if free_symbolic_vars([value.type]):
            raise _NotConstant
        return tuple(d.data.constant for d in op.values_)
    if isinstance(op, relax.TupleOp):
        return tuple(_evaluate(f) for f in op.fields_)
    if isinstance(op, relax.TupleGetItemOp) and op.parent is None:
        return _evaluate(op.operands[0])[op.index.data]
    if isinstance(op, relax.PrimValueOp | relax.StringOp | relax.DataTypeOp) or (
        isinstance(op, relax.Operator) and op.parent is None and op.PURE and op.name not in _KEPT
    ):
        if free_symbolic_vars([value.type]):
            raise _NotConstant
        interpreter, semantics = _interpreter()
        arguments = tuple(_evaluate(v) for v in op.operands)
        (result,) = semantics.table()[type(op)](interpreter, op, arguments)
        return result
    raise _NotConstant


@cache
def _interpreter() -> Any:
    return make_interpreter(ModuleOp([]))
