"""Removal of layout transformations that cancel out."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ....dialects import relax
from ....dialects.relax.layout_transform import LayoutTransform
from ....dialects.relax.operator import Operator
from ....dialects.sym import IndexMapping
from ....dialects.sym.analyzer import Analyzer
from ....ir.functions.lookup import FunctionOp, functions
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit, apply_rules
from ....transforms.layout.attributes import operator_name
from ....transforms.operators.rules import producer
from .alter_op_impl import REMOVE_PAD


@dataclass(frozen=True)
class OptimizeLayoutTransform(Pass):
    """Removes layout transformations that restore a tensor's original layout, as `AlterOpImpl` inserts them.

    layout_transform(layout_transform(x, f), g)              ->  x   where g(f(i)) is i
    layout_transform(remove_pad(layout_transform(x, f)), g)  ->  x   where g does not say what is padded

    Dead bindings of changed functions are removed.
    """

    name: ClassVar[str] = "optimize-layout-transform"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, {"relax.layout_transform": _Rule(functions(op))})


@dataclass(frozen=True)
class _Rule:
    table: dict[str, FunctionOp] = field(hash=False)

    def __call__(self, op: Operator, _: Emit) -> SSAValue | None:
        inner = _transform_of(op.operands[0])
        if inner is None:
            source = self._before_remove_pad(op.operands[0])
            inner = None if source is None or op.attr("pad_value") is not None else _transform_of(source)
        if inner is None or not _undoes(cast(LayoutTransform, op).mapping, inner):
            return None
        value = inner.operands[0]
        return value if value.type == op.result_type else None

    def _before_remove_pad(self, value: SSAValue) -> SSAValue | None:
        """Return the tensor that `value` was cropped from, or None."""
        call = value.owner
        if not isinstance(call, relax.CallTIROp) or operator_name(self.table.get(call.callee_name)) != REMOVE_PAD:
            return None
        return call.args[0]


def _transform_of(value: SSAValue) -> Operator | None:
    return producer(value, "layout_transform")


def _undoes(second: IndexMapping, inner: Operator) -> bool:
    """Return whether `second` moves every element back to its position before `inner`."""
    first, dims = cast(LayoutTransform, inner).mapping, inner.tensor("x").dims
    if dims is None or len(second.params) != len(first.results) or len(second.results) != len(first.params):
        return False
    analyzer = Analyzer()
    for param, extent in zip(first.params, dims, strict=True):
        analyzer.bind(param, 0, inf if extent.constant is None else max(extent.constant - 1, 0))
    pairs = zip(second.apply(first.results), first.params, strict=True)
    return all(analyzer.can_prove_equal(analyzer.simplify(a), b) for a, b in pairs)
