"""Einstein sums, outer products, determinants, quantization."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute

from ..diagnostics import ShapeError, TiraxError
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir import limits, math_functions
from ..handles.tir import prim_expr as tx
from ..handles.tir.prim_expr import PrimExpr
from ..te import reduction as red
from ..te.axis import IterVar
from ..te.broadcast import Indices, broadcast_indices, broadcast_shapes, over_axes, zero_like
from ..te.extern_body import Statements, filled
from ..te.tensor import Tensor, compute


def matmul(a: Tensor, b: Tensor, out_dtype: str | Attribute | None = None) -> Tensor:
    """Return the matrix product over the last two dimensions; leading ones broadcast, vectors behave as in numpy.

    Operands are converted to `out_dtype` first. Raises `TiraxError` for a tensor of rank 0.
    """
    if a.ndim == 0 or b.ndim == 0:
        raise TiraxError("matmul takes tensors of rank 1 or more", found=f"ranks {a.ndim} and {b.ndim}")
    dtype = a.type if out_dtype in (None, "", "void") else out_dtype
    batch_a, batch_b = a.dims[:-2], b.dims[:-2]
    batch = broadcast_shapes([batch_a, batch_b]) if batch_a or batch_b else []
    rows = list(a.dims[-2:-1])
    columns = list(b.dims[-1:]) if b.ndim > 1 else []
    extent = a.dims[-1]
    k = IterVar("k", Const(0, extent.dtype), extent, is_reduction=True)

    def element(*i: PrimExpr) -> Any:
        own = i[: len(batch)]
        left = a(*broadcast_indices(batch_a, own, batch), *i[len(batch) : len(batch) + len(rows)], k)
        right = b(*broadcast_indices(batch_b, own, batch), k, *i[len(batch) + len(rows) :])
        return red.sum(left.astype(dtype) * right.astype(dtype), axis=k)

    return compute([*batch, *rows, *columns], element, "matmul", "matmul")


def grouped_matmul(a: Tensor, b: Tensor, groups: Tensor) -> Tensor:
    """Return the product of each row of a (rows, k) with the matrix of its group among b (groups, k, n)."""
    k = IterVar("k", Const(0), a.dims[1], is_reduction=True)

    def element(i: PrimExpr, j: PrimExpr) -> Any:
        return red.sum(a(i, k) * b(groups(i), k, j), axis=k)

    return compute([a.dims[0], b.dims[2]], element, "grouped_matmul")


def einsum(xs: Sequence[Tensor], inputs: Sequence[str], result: str, extents: Mapping[str, SymExpr]) -> Tensor:
    """Return the sum of products over the letters of `inputs` that are not in `result`; an extent of 1 broadcasts."""
    summed = [c for c in dict.fromkeys("".join(inputs)) if c not in result]
    ks = {c: IterVar(c, Const(0, extents[c].dtype), extents[c], is_reduction=True) for c in summed}

    def factor(x: Tensor, term: str, where: Mapping[str, PrimExpr]) -> PrimExpr:
        at = [zero_like(d) if d.constant == 1 else where[c] for c, d in zip(term, x.dims, strict=True)]
        return x(*at)

    def element(i: Indices) -> Any:
        where = {**dict(zip(result, i, strict=True)), **ks}
        out = factor(xs[0], inputs[0], where)
        for x, term in zip(xs[1:], inputs[1:], strict=True):
            out = out * factor(x, term, where)
        return red.sum(out, axis=list(ks.values()))

    return over_axes([extents[c] for c in result], element, "T_einsum", "einsum")


def einsum_of(subscripts: str, xs: Sequence[Tensor]) -> Tensor:
    """Compute an Einstein sum in numpy's notation, without `...`. Raises `ShapeError` if the tensors do not match."""
    left, arrow, result = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(xs) or any(len(t) != x.ndim for t, x in zip(inputs, xs, strict=False)):
        ranks = ", ".join(f"rank {x.ndim}" for x in xs)
        raise ShapeError("einsum: the tensors do not fit the subscripts", expected=subscripts, found=ranks)
    if not arrow:
        result = "".join(sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1))
    extents = {c: d for t, x in zip(inputs, xs, strict=True) for c, d in zip(t, x.dims, strict=True)}
    missing = [c for c in result if c not in extents]
    if missing:
        raise ShapeError("einsum: the result has letters that no tensor has", found=", ".join(missing))
    return einsum(xs, inputs, result, extents)


def tensordot(a: Tensor, b: Tensor, pairs: Sequence[tuple[int, int]]) -> Tensor:
    """Return the sum of products over `pairs` of dimensions; the others are those of `a`, then those of `b`."""
    ks = [IterVar(f"k{n}", Const(0, a.dims[x].dtype), a.dims[x], is_reduction=True) for n, (x, _) in enumerate(pairs)]
    left = {x: k for (x, _), k in zip(pairs, ks, strict=True)}
    right = {y: k for (_, y), k in zip(pairs, ks, strict=True)}
    dims = [d for n, d in enumerate(a.dims) if n not in left] + [d for n, d in enumerate(b.dims) if n not in right]

    def element(i: Indices) -> Any:
        rest = iter(i)
        first = a(*(left[n] if n in left else next(rest) for n in range(a.ndim)))
        second = b(*(right[n] if n in right else next(rest) for n in range(b.ndim)))
        return red.sum(first * second, axis=ks) if ks else first * second

    return over_axes(dims, element, "T_tensordot", "matmul")


def outer(x: Tensor, y: Tensor) -> Tensor:
    """Return the outer product of two vectors."""
    return compute([x.dims[0], y.dims[0]], lambda i, j: x(i) * y(j), "outer")


def ewise_fma(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Return x * y + z."""
    return over_axes(x.dims, lambda i: x(*i) * y(*i) + z(*i), "T_ewise_fma", "elemwise")


def parameter(t: Tensor | PrimExpr, i: Sequence[PrimExpr], axis: int) -> PrimExpr:
    """Return the parameter for an index of `axis`, or the only one."""
    return t if isinstance(t, PrimExpr) else t(i[axis]) if t.ndim else t()


def quantize(
    data: Tensor, scale: Tensor | PrimExpr, zero_point: Tensor | PrimExpr, axis: int, dtype: Attribute
) -> Tensor:
    """Return round(data / scale) + zero_point, saturated to the range of `dtype`."""
    low, high = (
        tx.const(float(bound(dtype).constant or 0), data.type) for bound in (limits.min_value, limits.max_value)
    )

    def element(*i: PrimExpr) -> PrimExpr:
        scaled = math_functions.round_(tx.div(data(*i), parameter(scale, i, axis).astype(data.type)))
        shifted = scaled + parameter(zero_point, i, axis).astype(data.type)
        return tx.maximum(tx.minimum(shifted, high), low).astype(dtype)

    return compute(data.dims, element, "quantized", "injective")


def dequantize(
    data: Tensor, scale: Tensor | PrimExpr, zero_point: Tensor | PrimExpr, axis: int, dtype: Attribute
) -> Tensor:
    """Return (data - zero_point) * scale."""

    def element(*i: PrimExpr) -> PrimExpr:
        moved = data(*i).astype(i32) - parameter(zero_point, i, axis).astype(i32)
        return moved.astype(dtype) * parameter(scale, i, axis).astype(dtype)

    return compute(data.dims, element, "dequantized", "injective")


def determinant(x: Tensor) -> Tensor:
    """Return the determinants of the matrices in the last two dimensions, by elimination with partial pivoting."""
    *outer, n, _ = x.dims

    def body(b: Statements, out: Tensor, work: Tensor) -> None:
        with b.loops("b", outer) as i:
            with b.loops("c", [n, n]) as (r, c):
                b.store(work, [*i, r, c], x(*i, r, c))
            b.store(out, i, 1.0)
            with b.loop("k", n) as k:
                _pivot_row_first(b, work, out, i, k, n)
                pivot = work(*i, k, k)
                b.store(out, i, out(*i) * pivot)
                with b.loop("r", n) as r, b.when(tx.logical_and(r > k, tx.not_equal(pivot, 0.0))):
                    factor = b.cell("factor", x.type, tx.div(work(*i, r, k), pivot))
                    with b.loop("c", n) as c, b.when(c > k):
                        b.store(work, [*i, r, c], work(*i, r, c) - factor.value * work(*i, k, c))

    specs = [("determinant", outer, x.type), ("eliminated", x.dims, x.type)]
    return filled(specs, [x], body, "determinant")[0]


def _pivot_row_first(b: Statements, work: Tensor, out: Tensor, i: Indices, k: PrimExpr, n: SymExpr) -> None:
    """Swap row `k` with the row from `k` on that has the greatest magnitude in column `k`; a swap changes the sign."""
    best = b.cell("best", i64, k)
    with (
        b.loop("r", n) as r,
        b.when(r > k),
        b.when(math_functions.abs_(work(*i, r, k)) > math_functions.abs_(work(*i, best.value, k))),
    ):
        best.set(r)
    with b.when(tx.not_equal(best.value, k)):
        b.store(out, i, out(*i) * -1.0)
        with b.loop("c", n) as c:
            kept = b.cell("kept", work.type, work(*i, k, c))
            b.store(work, [*i, k, c], work(*i, best.value, c))
            b.store(work, [*i, best.value, c], kept.value)
