"""Functions of single elements that take several statements: loops until a series has converged, shared values."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te.broadcast import broadcast_indices, broadcast_shapes
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor

Body = Callable[..., PrimExpr]
"""`body(statements, x, …)` returns the result for elements x, …."""


def per_element(
    name: str, body: Body, wide: Attribute | None = f64, result: Attribute | None = None
) -> Callable[..., Tensor]:
    """Return the function of broadcast tensors that `body` computes from their elements.

    The elements are converted to `wide`, unless it is None; the result has the dtype `result`, or that of the first
    tensor.
    """

    def apply(*inputs: Tensor) -> Tensor:
        dtype = result or inputs[0].type
        shape = broadcast_shapes([t.dims for t in inputs])

        def statements(b: Statements, out: Tensor) -> None:
            with b.loops("i", shape, parallel=True) as i:
                elements = [t(*broadcast_indices(t.dims, i, shape)) for t in inputs]
                values = [b.let("x", e if wide is None else e.astype(wide)) for e in elements]
                b.store(out, i, tx.cast(dtype, body(b, *values)))

        return filled([(name, shape, dtype)], list(inputs), statements, name)[0]

    apply.__name__, apply.__doc__ = name, f"{name}, element by element with broadcasting."
    return apply
