"""Run-time checks of the kernels' assumptions on extents, inserted before their calls.

Struct info inference rejects extents that certainly differ, and assumes that symbolic ones are equal
(`Operator.require_equal`). Otherwise the kernel would read beyond the smaller tensor. So the caller compares them:

%y = relax.matmul %a, %b         ->  %s = relax.shape [k]                        where a is [n, k], b is [l, m]
                                     relax.match_cast %s : shape<[k]> -> shape<[l]>
                                     %y = relax.call_tir @matmul(%a, %b)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from xdsl.ir import SSAValue

from ...dialects import relax
from ...dialects.names import set_name
from ...dialects.relax.indexing import broadcast_indices
from ...dialects.relax.operator import Operator
from ...dialects.sym.expr import SymExpr
from .broadcast_unknown_extents import repeated

Dims = tuple[SymExpr, ...]
Pairs = Iterable[tuple[SymExpr, SymExpr]]


def _dims(value: SSAValue | None) -> Dims:
    """Return the extents of a tensor, empty if unknown."""
    return (value.type.dims or ()) if value is not None and isinstance(value.type, relax.TensorType) else ()


def _broadcast(dims: Dims, result: Dims) -> Pairs:
    """Return pairs of operand and result extents, aligned at the last dimension, except operand extents of 1."""
    return [(g, r) for g, r in zip(dims[::-1], result[::-1], strict=False) if g.constant != 1]


def _matmul(op: Any) -> Pairs:
    a, b, result = _dims(op.x1), _dims(op.x2), _dims(op.results[0])
    matrix = (len(a) > 1) + (len(b) > 1)
    batch = result[: len(result) - matrix]
    yield from _broadcast(a[:-2], batch)
    yield from _broadcast(b[:-2], batch)


def _broadcast_to(op: Any) -> Pairs:
    return [(repeated(extent, to), to) for extent, to in _broadcast(_dims(op.x), _dims(op.results[0]))]


def _elementwise(op: Operator) -> Pairs:
    for value in op.operands:
        yield from _broadcast(_dims(value), _dims(op.results[0]))


def _index_put(op: Any) -> Pairs:
    data, indices = _dims(op.data), op.tensors("indices")
    together = broadcast_indices(op, indices)
    return [] if together is None else _broadcast(_dims(op.values), (*together, *data[len(indices) :]))


_BROADCASTS: dict[str, Callable[[Any], Pairs]] = {
    "relax.matmul": _matmul,
    "relax.broadcast_to": _broadcast_to,
    "relax.where": _elementwise,
    "relax.index_put": _index_put,
}
"""By operator: pairs of extents that must be equal to fill a result whose shape is declared, not inferred."""


def extent_check(op: Operator) -> list[relax.ShapeOp | relax.MatchCastOp]:
    """Return detached operations that compare extents that must be equal but may differ; empty if there are none."""
    broadcasts = _BROADCASTS.get(op.name)
    required = [*op.assumptions(), *(() if broadcasts is None else broadcasts(op))]
    pairs = dict.fromkeys((a, b) for a, b in required if (a - b).constant != 0)
    if not pairs:
        return []
    actual = relax.ShapeOp([a for a, _ in pairs])
    check = relax.MatchCastOp(actual.result, relax.ShapeType.of(b for _, b in pairs))
    set_name(check.result, f"{op.name.rpartition('.')[2]}_extents")
    return [actual, check]
