"""The pass `MergeCompositeFunctions`: calls of composite functions for the same code generator become one function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import relax
from ...dialects.names import set_name
from ...ir.functions.lookup import callee_names, functions, ops_of_type, relax_functions
from ...ir.names import NameSupply, make_unique
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, insert_before, replace_op
from ..fusion.graph import BindingGraph
from ..fusion.outline import Outliner, is_primitive
from .fuse_ops_by_pattern import CODEGEN, COMPOSITE, codegen_of


@dataclass(frozen=True)
class MergeCompositeFunctions(Pass):
    """Merge calls of composite functions that feed each other into one public function with the attribute `Codegen`.

    The composite functions become its local functions. Calls are merged unless a path between them leads through other
    bindings.
    """

    name: ClassVar[str] = "merge-composite-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        composite = {n: f for n, f in functions(op).items() if isinstance(f, relax.FuncOp) and _composite(f)}
        outliner = Outliner(op, bind_constants=True, rename_at_once=True)
        for func in sorted(relax_functions(op), key=lambda f: f.sym_name.data):
            if is_primitive(func) or (func.func_attrs is not None and CODEGEN in func.func_attrs.data):
                continue
            for block in list(ops_of_type(func, relax.DataflowOp)):
                _merge(block, composite, outliner)
            make_unique(func)
        called = {n for f in op.body.block.ops for inner in f.walk() for n in callee_names(inner)}
        for name, func in composite.items():
            if func.private and name not in called:
                erase(func)


def _composite(func: relax.FuncOp) -> str | None:
    """Return the code generator of a composite function, or None for other functions."""
    name = None if func.func_attrs is None else func.func_attrs.data.get(COMPOSITE)
    return codegen_of(name.data) if isinstance(name, StringAttr) else None


def _merge(dataflow: relax.DataflowOp, composite: dict[str, relax.FuncOp], outliner: Outliner) -> None:
    graph = BindingGraph(dataflow.body.block)
    regions = _Regions(graph, [_codegen_at(op, composite) for op in graph.ops])

    def finish(func: relax.FuncOp, ops: Sequence[Operation]) -> tuple[relax.FuncOp, str]:
        codegen = _codegen_at(ops[0], composite) or ""
        return _for_codegen(func, codegen, composite), codegen

    outliner.outline(dataflow, graph, regions.groups(), finish)


def _codegen_at(op: Operation, composite: dict[str, relax.FuncOp]) -> str | None:
    callee = composite.get(op.callee_name) if isinstance(op, relax.CallOp) else None
    return None if callee is None else _composite(callee)


@dataclass
class _Region:
    """Bindings for one code generator. `before` is a bit set of all bindings it depends on."""

    codegen: str
    members: list[int] = field(default_factory=list[int])
    before: int = 0


class _Regions:
    """Regions grown in program order: a binding joins the regions of its operands unless this creates a cycle."""

    def __init__(self, graph: BindingGraph, codegens: Sequence[str | None]):
        self._graph = graph
        self._before = [0] * len(graph.ops)
        self._of: list[_Region | None] = [None] * len(graph.ops)
        for i, codegen in enumerate(codegens):
            self._visit(i, codegen)

    def _visit(self, i: int, codegen: str | None) -> None:
        producers = self._graph.producers[i]
        before = 0
        for p in producers:
            before |= self._reached(p)
        self._before[i] = before
        if codegen is None and not isinstance(self._graph.ops[i], relax.TupleGetItemOp):
            return
        region = None if codegen is None else _Region(codegen, before=before)
        for p in producers:
            other = self._of[p]
            if other is None or other is region:
                continue
            if region is None:
                region = other
            elif other.codegen == region.codegen and self._may_join(i, region, other, producers):
                self._join(region, other)
        if region is not None:
            region.members.append(i)
            self._of[i] = region

    def _reached(self, p: int) -> int:
        """Return the bit set of p and its dependencies; a binding in a region has all dependencies of the region."""
        region = self._of[p]
        return (self._before[p] if region is None else region.before) | (1 << p)

    def _may_join(self, i: int, region: _Region, other: _Region, producers: Sequence[int]) -> bool:
        """Return whether merging creates no cycle: no outside operand of i or of either region depends on them."""
        inside = {*region.members, *other.members, i}
        bits = sum(1 << m for m in inside)
        used = {p for m in inside - {i} for p in self._graph.producers[m]} | set(producers)
        return not any(self._reached(p) & bits for p in used - inside)

    def _join(self, region: _Region, other: _Region) -> None:
        """Merge `other` into `region`; bindings that depend on either now depend on the dependencies of both."""
        region.members.extend(other.members)
        region.before |= other.before
        for m in other.members:
            self._of[m] = region
        bits = sum(1 << m for m in region.members)
        for r in {id(r): r for r in self._of if r is not None and r is not region}.values():
            if r.before & bits:
                r.before |= region.before
        for k, reached in enumerate(self._before):
            if reached & bits:
                self._before[k] |= region.before

    def groups(self) -> list[list[int]]:
        """Return the members of each region, in order."""
        regions = {id(r): r for r in self._of if r is not None}
        return [sorted(r.members) for r in regions.values()]


def _for_codegen(func: relax.FuncOp, codegen: str, composite: dict[str, relax.FuncOp]) -> relax.FuncOp:
    """Return the function of a region as a public one for a code generator; it calls local copies of the callees."""
    body = func.body.block
    for dataflow in [op for op in body.ops if isinstance(op, relax.DataflowOp)]:
        _inline_dataflow(dataflow)
    for op in list(body.ops):
        if isinstance(op, relax.CallOp):
            _call_local(op, composite[op.callee_name])
    func.func_attrs = DictionaryAttr({CODEGEN: StringAttr(codegen)})
    func.properties.pop("sym_visibility", None)
    make_unique(func)
    names = NameSupply()
    for local in [op for op in body.ops if isinstance(op, relax.ClosureOp)]:
        set_name(local.result, names.fresh("gv"))
    return func


def _inline_dataflow(dataflow: relax.DataflowOp) -> None:
    block = cast(Block, dataflow.parent)
    output = dataflow.output_op
    values: list[SSAValue] = list(output.values_)
    for old, new in zip(dataflow.outputs, values, strict=True):
        old.replace_all_uses_with(new)
    for op in list(dataflow.body.block.ops):
        op.detach()
        if op is not output:
            block.insert_op_before(op, dataflow)
    output.erase()
    erase(dataflow)


def _call_local(call: relax.CallOp, callee: relax.FuncOp) -> None:
    copy = callee.clone()
    attrs = {k: v for k, v in cast(DictionaryAttr, copy.func_attrs).data.items() if k != "Primitive"}
    local = relax.ClosureOp(copy.detach_region(0), copy.ret_type, attrs=DictionaryAttr(attrs))
    insert_before(call, local)
    replace_op(call, relax.CallValueOp(local.result, list(call.call_args), call.result.type))
