"""Replace computations on single bytes by table lookups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8, i16, i32
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.dtypes import ui8
from ...dialects.quick import operations
from ...dialects.relax.elementwise import BINARY, UNARY
from ...dialects.relax.operator import Operator
from ...dialects.relax.types import TensorType
from ...ir.passes.transform import Pass
from ...ir.rewriting.driver import Emit, rewrite_functions
from ...ir.rewriting.edit import replace_op
from ...target import Target
from .dot_products import are_words

_OTHERS = ("astype", "quantize", "dequantize", "nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu")
_ELEMENTWISE = frozenset(f"relax.{name}" for name in (*UNARY, *BINARY, *_OTHERS))
_COSTLY = frozenset(
    f"relax.{name}" for name in ("erf", "exp", "log", "tanh", "sigmoid", "nn.gelu", "nn.gelu_tanh", "nn.silu")
)
"""Operators that make a table worthwhile."""
_NARROW = (i8, ui8, i16)


@dataclass(frozen=True)
class TabulateBytes(Pass):
    """Replace elementary functions of bytes with narrow integer results by tables.

    d = dequantize(q, s, z)
    y = astype(limited(round(multiply(d, add(erf(d), 1)) / t) + p), "uint8")
    ->  y = take(table, astype(q, "int32"))        table = the same of arange(256), which `fold-constant` computes

    All other operands are constant numbers, and intermediate values have no other uses. For `target`s that compute byte
    products in 16-bit words: their vectors are short, so that elementary functions are slow.
    """

    name = "tabulate-bytes"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if are_words(Target(self.target)):
            rewrite_functions(op, _tabulate)


def _tabulate(func: relax.FuncOp) -> bool:
    """Tabulate the last results of each tensor of bytes; return whether there were any."""
    sources = _sources(func)
    done: set[Operation] = set()
    for value in reversed(sources):
        if value.owner not in done and _element(value) in _NARROW:
            between = _between(sources, value)
            if between is not None:
                _look_up(sources[value], value, between)
                done |= set(between)
    return bool(done)


def _sources(func: relax.FuncOp) -> dict[SSAValue, SSAValue]:
    """Map element-wise functions of a single byte tensor to that tensor."""
    sources: dict[SSAValue, SSAValue] = {}
    for op in operations(func):
        if isinstance(op, Operator) and op.name in _ELEMENTWISE:
            origins = {sources.get(x, x) for x in op.operands if not _is_number(x)}
            source = origins.pop() if len(origins) == 1 else None
            if source is not None and _element(source) in (i8, ui8) and _dims(source) == _dims(op.results[0]):
                sources[op.results[0]] = source
    return sources


def _between(sources: dict[SSAValue, SSAValue], value: SSAValue) -> list[Operation] | None:
    """Return the operations from the bytes to a value, in order; None if they have other uses, or all are cheap."""
    between: dict[Operation, None] = {}
    waiting = [value]
    while waiting:
        owner = cast(Operation, waiting.pop().owner)
        between[owner] = None
        waiting += [x for x in owner.operands if x in sources and x.owner not in between]
    inner = (use.operation for op in between for result in op.results if result is not value for use in result.uses)
    if not any(op.name in _COSTLY for op in between) or any(user not in between for user in inner):
        return None
    return [cast(Operation, v.owner) for v in sources if v.owner in between]


def _look_up(source: SSAValue, value: SSAValue, between: list[Operation]) -> None:
    """Replace a value by a table lookup."""
    emit = Emit(cast(Operation, value.owner))
    least, element = (-128 if _element(source) == i8 else 0), cast(Attribute, _element(source))
    values = {source: emit.constant(np.arange(least, least + 256), element)}
    for op in cast("list[Operator]", between):
        args = [values.get(x, x) for x in op.operands]
        values[op.results[0]] = emit(op.name.removeprefix("relax."), *args, **_attributes(op))
    index = emit("astype", source, dtype="int32")
    if least:
        index = emit("subtract", index, emit.constant(least, i32))
    replace_op(cast(Operation, value.owner), emit("take", values[value], index, axis=0))


def _attributes(op: Operator) -> dict[str, Any]:
    """Return the attributes of an operator for a tensor of one dimension."""
    return {name: 0 if name == "axis" else op.attr(name) for name in op.ATTR_SPECS}


def _is_number(value: SSAValue) -> bool:
    return isinstance(value.owner, relax.ConstantOp) and _dims(value) == ()


def _dims(value: SSAValue) -> object:
    return value.type.dims if isinstance(value.type, TensorType) else None


def _element(value: SSAValue) -> Attribute | None:
    return value.type.element if isinstance(value.type, TensorType) else None
