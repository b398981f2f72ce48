"""Simplify bindings: aliases, fields of known tuples, redundant casts, copies out of dataflow blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import free_symbolic_vars, is_base_of
from ...ir.functions.lookup import binding_blocks, relax_functions
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase


@dataclass(frozen=True)
class CanonicalizeBindings(Pass):
    """Remove bindings that only rename; a single walk in order of definition reaches the fixed point."""

    name = "canonicalize-bindings"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in relax_functions(op):
            canonicalize_function(func)


def canonicalize_function(func: Operation) -> None:
    """Simplify the bindings of a function, in place."""
    for block in binding_blocks(func):
        for binding in list(block.ops):
            _simplify(binding)
    for block in binding_blocks(func):
        for binding in block.ops:
            if isinstance(binding, relax.DataflowOp):
                _name_outputs(binding)


def _bound_value(op: relax.BindOp) -> SSAValue | None:
    # y = x -> x
    return op.value if op.value.type == op.result.type else None


def _field(op: relax.TupleGetItemOp) -> SSAValue | None:
    # t = (a, b); t[0] -> a
    source = op.tuple_.owner
    return source.fields_[op.index.data] if isinstance(source, relax.TupleOp) else None


def _certain_cast(op: relax.MatchCastOp) -> SSAValue | None:
    # match_cast(x, T) -> x if x has type T and T defines no new variable
    return op.value if op.value.type == op.result.type and is_base_of(op.result.type, op.value.type) else None


def _tuple_again(op: relax.TupleOp) -> SSAValue | None:
    # y = (t[0], t[1]) -> t if t has two fields; an inline tuple is unchanged
    if name_of(op.result) is None:
        return None
    sources = [f.owner for f in op.fields_]
    if not sources or not all(isinstance(s, relax.TupleGetItemOp) for s in sources):
        return None
    items: list[Any] = sources
    source = items[0].tuple_
    same = all(s.tuple_ is source and s.index.data == i for i, s in enumerate(items))
    return source if same and source.type == op.result.type else None


_RULES: dict[type[Operation], Callable[[Any], SSAValue | None]] = {
    relax.BindOp: _bound_value,
    relax.TupleGetItemOp: _field,
    relax.MatchCastOp: _certain_cast,
    relax.TupleOp: _tuple_again,
}


def _simplify(op: Operation) -> None:
    rule = _RULES.get(type(op))
    new = None if rule is None else rule(op)
    if new is None:
        return
    if isinstance(op, relax.MatchCastOp) and free_symbolic_vars([op.result.type]) != free_symbolic_vars([new.type]):
        return
    op.results[0].replace_all_uses_with(new)
    erase(op)


def _name_outputs(op: relax.DataflowOp) -> None:
    """`lv = f(x); gv = lv; output(gv)` -> `gv = f(x); output(gv)`, if the value is output once."""
    inside = list(op.output_op.values_)
    for value, result in zip(inside, op.outputs, strict=True):
        outer = name_of(result)
        local = isinstance(value, OpResult) and value.op.parent is op.body.block
        if outer is not None and local and inside.count(value) == 1 and value.has_one_use():
            set_name(value, outer)
