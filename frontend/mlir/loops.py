"""Operations of functions on tensors that become a kernel as they are: loops, branches between blocks, and more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, MemRefType, VectorType
from xdsl.ir import Operation, Region, SSAValue

from ...dialects import tir
from ...dialects.sym.expr import Const
from ..importing.callee import callee_of
from .elements import ELEMENTS, Access
from .graph import Graph
from .kernels import region_of, statements_of
from .payload import Payload
from .scalars import Expressions
from .structured import attribute, element_of, rank
from .tensors import Rule, import_block, index_of


def import_region(graph: Graph, region: Region) -> list[SSAValue]:
    """Translate a region; return the values that its end takes.

    Branches between blocks, and operations on memrefs and vectors of its own, become one kernel.
    """
    if len(region.blocks) == 1 and not any(_is_local(op) for op in region.block.ops):
        return import_block(graph, region.block)
    return region_of(graph, region)


def _is_local(op: Operation) -> bool:
    """Return whether an operation has memrefs or vectors, which a function on tensors does not take."""
    return any(isinstance(v.type, MemRefType | VectorType) for v in (*op.operands, *op.results))


def _call(graph: Graph, op: func.CallOp) -> None:
    """A call of another function becomes its body."""
    callee = callee_of(graph.functions, op.callee.string_value(), op, ())
    with graph.inside(callee, op):
        graph.values |= {p: graph.values[v] for p, v in zip(callee.args, op.arguments, strict=True)}
        results = import_region(graph, callee.body)
    graph.values |= {r: graph.values[v] for r, v in zip(op.results, results, strict=True)}


def _by_kernel(graph: Graph, op: Operation) -> None:
    statements_of(graph, [op], op.results, op.name.partition(".")[2].replace(".", "_"))


def _access(graph: Graph, p: Payload) -> Access:
    def read(e: Expressions, value: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
        result = p.outer(e, value)
        return e.add(tir.LoadOp(result, indices)) if rank(value) else result

    return Access(
        read,
        lambda e, value: p.outer(e, value),
        lambda e, size: index_of(cast(Payload, e), size),
        graph.dims,
        graph.size,
    )


def _element_by_element(graph: Graph, op: Operation) -> None:
    """Compute each element at its indices, in a block, which fuses."""

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        _, element = ELEMENTS[op.name](_access(graph, p), op)
        return [element(p, list(p.iters)[: len(dims)])]

    dims, _ = ELEMENTS[op.name](_access(graph, cast(Payload, None)), op)
    result = op.results[0]
    graph.values[result] = graph.pointwise(op.name.partition(".")[2], dims, element_of(result), compute)


def _softmax(graph: Graph, op: Operation) -> None:
    axis = cast(IntegerAttr, attribute(op, "dimension")).value.data
    graph.values[op.results[0]] = graph.operator("nn.softmax", graph.tensor(op.operands[0]), axis=axis)


def _rank(graph: Graph, op: Operation) -> None:
    graph.values[op.results[0]] = Const(len(graph.dims(op.operands[0])))


def _same(graph: Graph, op: Operation) -> None:
    """`materialize_in_destination` of tensors: the destination is where the result may be."""
    graph.values[op.results[0]] = graph.values[op.operands[0]]


_KERNELS = (
    "scf.for", "scf.while", "scf.parallel", "scf.forall", "scf.index_switch", "scf.execute_region",
    "affine.for", "affine.if", "affine.parallel", "affine.min", "affine.max", "affine.delinearize_index",
    "affine.linearize_index", "tensor.scatter",
)  # fmt: skip
BY_KERNEL: dict[str, Rule] = {
    **dict.fromkeys(_KERNELS, cast(Rule, _by_kernel)),
    **dict.fromkeys(ELEMENTS, cast(Rule, _element_by_element)),
    "func.call": _call,
    "linalg.softmax": _softmax,
    "tensor.rank": _rank,
    "bufferization.materialize_in_destination": _same,
}
"""operation -> its translation."""
