"""Factorizations, triangular systems and Fourier transforms: StableHLO's operations, and LAPACK's that JAX calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, f32, f64, i32
from xdsl.ir import Operation

from ...diagnostics import UnsupportedError
from ...dialects.dtypes import dtype_name
from ...dialects.sym.expr import Const, SymExpr
from ...handles.relax.expr import Expr, PrimValue, ShapeExpr
from ...handles.tir import math_functions as m
from ...handles.tir import prim_expr as tx
from ...handles.tir.prim_expr import PrimExpr, from_sym
from ...te.extern_body import Statements, filled
from ...te.tensor import Tensor
from ..importing.relax_operators import R
from .control_flow import custom
from .graph import Graph, dims_of, dtype_of, rule
from .scalars import number
from .sorting import best
from .structural import transposed
from .values import Pair, Splat, attribute, element_of, integers, is_complex, truth, word


def _swapped(graph: Graph, x: Expr) -> Expr:
    rank = len(dims_of(x))
    return graph.emit(transposed(x, [*range(rank - 2), rank - 1, rank - 2]))


@rule("stablehlo.cholesky")
def cholesky(graph: Graph, op: Operation) -> None:
    """Return the triangular factor."""
    result = graph.emit(R.linalg.cholesky(graph.tensor(op.operands[0]), upper=not truth(op, "lower"), check=False))
    graph.set(op, graph.emit(result[0]))


@rule("stablehlo.triangular_solve")
def triangular_solve(graph: Graph, op: Operation) -> None:
    """Solve a triangular system, from the left or the right."""
    if is_complex(op.operands[0]):
        raise UnsupportedError("a triangular system of complex numbers")
    a, b = (graph.tensor(v) for v in op.operands)
    transpose = word(op, "transpose_a") in ("TRANSPOSE", "ADJOINT")
    wide = dtype_of(a) if dtype_of(a) in (f32, f64) else f32
    flags = (truth(op, "left_side"), truth(op, "lower"), transpose, truth(op, "unit_diagonal"))
    result = _solved(graph, graph.cast(a, wide), graph.cast(b, wide), *flags)
    graph.set(op, graph.cast(result, dtype_of(b)))


def _solved(graph: Graph, a: Expr, b: Expr, left: bool, lower: bool, transpose: bool, unit: bool) -> Expr:
    if transpose:
        a, lower = _swapped(graph, a), not lower
    if not left:  # x a = b is the same as a' x' = b'
        return _swapped(graph, _solved(graph, a, _swapped(graph, b), True, lower, True, unit))
    return graph.emit(R.linalg.solve_triangular(a, b, upper=not lower, unitriangular=unit))


# -- LAPACK ------------------------------------------------------------------------------------------------------------


def option(op: Operation, name: str) -> str:
    """Return an option of LAPACK: a letter."""
    value = _configuration(op).get(name)
    return chr(value.value.data) if isinstance(value, IntegerAttr) else ""


def _configuration(op: Operation) -> dict[str, Any]:
    for name in ("mhlo.backend_config", "backend_config"):
        found = attribute(op, name)
        if isinstance(found, DictionaryAttr):
            return dict(found.data)
    return {}


def _of_reals(*names: str) -> Callable[[Callable[[Graph, Operation], None]], Callable[[Graph, Operation], None]]:
    return custom(*(f"lapack_{kind}{name}_ffi" for name in names for kind in "sd"))


def _info(graph: Graph, op: Operation) -> Splat:
    """Return that LAPACK succeeded."""
    dims = dims_of(graph.tensor(op.operands[0]))
    return Splat(0, i32, dims[: len(dims) - 2])


@_of_reals("potrf")
def potrf(graph: Graph, op: Operation) -> None:
    """Return the triangular factor, and whether there is one."""
    result = graph.emit(R.linalg.cholesky(graph.tensor(op.operands[0]), upper=option(op, "uplo") == "U", check=False))
    graph.set(op, *(graph.emit(result[k]) for k in range(2)))


@_of_reals("getrf")
def getrf(graph: Graph, op: Operation) -> None:
    """Return L and U in one matrix, the rows that were exchanged, and whether U is regular."""
    result = graph.emit(R.linalg.lu(graph.tensor(op.operands[0])))
    graph.set(op, *(graph.emit(result[k]) for k in range(3)))


@custom(*(f"lapack_{kind}trsm_ffi" for kind in "sd"))
def trsm(graph: Graph, op: Operation) -> None:
    """Solve a triangular system."""
    a, b = (graph.tensor(v) for v in op.operands[:2])
    flags = (option(op, "side") == "L", option(op, "uplo") == "L", option(op, "trans_x") in "TC")
    graph.set(op, _solved(graph, a, b, *flags, option(op, "diag") == "U"))


@_of_reals("syevd")
def syevd(graph: Graph, op: Operation) -> None:
    """Return the eigenvectors and the eigenvalues of a symmetric matrix."""
    result = graph.emit(R.linalg.eigh(graph.tensor(op.operands[0]), upper=option(op, "uplo") == "U"))
    graph.set(op, graph.emit(result[1]), graph.emit(result[0]), _info(graph, op))


@_of_reals("gesdd")
def gesdd(graph: Graph, op: Operation) -> None:
    """Return what the matrix was replaced by, singular values, and the singular vectors of both sides."""
    x, mode = graph.tensor(op.operands[0]), option(op, "mode")
    result = graph.emit(R.linalg.svd(x, full_matrices=mode == "A"))
    u, s, vt = (graph.emit(result[k]) for k in range(3))
    graph.set(op, x, s, u, vt, _info(graph, op))


@_of_reals("geqrf")
def geqrf(graph: Graph, op: Operation) -> None:
    """Return R and the reflections whose product is Q, as LAPACK packs them."""
    graph.set(op, *graph.te("geqrf", _reflections, graph.tensor(op.operands[0])))


@_of_reals("orgqr")
def orgqr(graph: Graph, op: Operation) -> None:
    """Return the first columns of Q, of the reflections; a third operand is the sizes of the result, if they vary."""
    graph.set(op, graph.te("orgqr", _product_of_reflections, *(graph.tensor(v) for v in op.operands[:2]))[0])


def _of_index(size: SymExpr) -> PrimExpr:
    return from_sym(size)


def _reflections(a: Tensor) -> Sequence[Tensor]:
    *batch, rows, columns = a.dims
    count = rows if (rows.constant or 0) < (columns.constant or 0) else columns

    def body(b: Statements, out: Tensor, taus: Tensor) -> None:
        with b.loops("c", a.dims) as c:
            b.store(out, c, a(*c))
        with b.loops("n", batch, parallel=True) as n, b.loop("k", count) as k:
            norm = b.cell("norm", a.type, number(0, a.type))
            with b.loop("i", rows) as i, b.when(tx.greater(i, k)):
                norm.set(norm.value + out(*n, i, k) * out(*n, i, k))
            alpha = b.let("alpha", out(*n, k, k))
            plain = b.let("plain", tx.equal(norm.value, number(0, a.type)))
            size = m.sqrt(alpha * alpha + norm.value)
            beta = b.let("beta", tx.select(tx.less(alpha, number(0, a.type)), size, size * number(-1, a.type)))
            safe = b.let("safe", tx.select(plain, number(1, a.type), beta))
            tau = b.let("tau", tx.select(plain, number(0, a.type), tx.div(safe - alpha, safe)))
            scale = b.let("scale", tx.select(plain, number(0, a.type), tx.div(number(1, a.type), alpha - safe)))
            b.store(taus, [*n, k], tau)
            with b.loop("i", rows) as i, b.when(tx.greater(i, k)):
                b.store(out, [*n, i, k], tx.select(plain, out(*n, i, k), out(*n, i, k) * scale))
            b.store(out, [*n, k, k], tx.select(plain, alpha, beta))
            with b.loop("j", columns) as j, b.when(tx.greater(j, k)):
                _reflect(b, out, out, n, k, j, rows, tau)

    return filled([("r", a.dims, a.type), ("taus", [*batch, count], a.type)], [a], body, "geqrf")


def _reflect(
    b: Statements,
    vectors: Tensor,
    target: Tensor,
    n: Sequence[PrimExpr],
    k: PrimExpr,
    j: PrimExpr,
    rows: SymExpr,
    tau: PrimExpr,
) -> None:
    """Apply reflection `k` to column `j` of the target."""
    total = b.cell("total", target.type, target(*n, k, j))
    with b.loop("i", rows) as i, b.when(tx.greater(i, k)):
        total.set(total.value + vectors(*n, i, k) * target(*n, i, j))
    part = b.let("part", total.value * tau)
    b.store(target, [*n, k, j], target(*n, k, j) - part)
    with b.loop("i", rows) as i, b.when(tx.greater(i, k)):
        b.store(target, [*n, i, j], target(*n, i, j) - vectors(*n, i, k) * part)


def _product_of_reflections(a: Tensor, taus: Tensor) -> Sequence[Tensor]:
    *batch, rows, columns = a.dims
    count = taus.dims[-1]

    def body(b: Statements, out: Tensor) -> None:
        with b.loops("c", a.dims) as c:
            unit = tx.equal(c[-1], c[-2])
            b.store(out, c, tx.select(unit, number(1, a.type), number(0, a.type)))
        with b.loops("n", batch, parallel=True) as n, b.loop("step", count) as step:
            k = b.let("k", _of_index(count) - 1 - step)
            tau = b.let("tau", taus(*n, k))
            with b.loop("j", columns) as j:
                _reflect(b, a, out, n, k, j, rows, tau)

    return filled([("q", a.dims, a.type)], [a, taus], body, "orgqr")


@custom("ApproxTopK")
def approximate_top_k(graph: Graph, op: Operation) -> None:
    """Return the greatest or the least elements along a dimension, exactly, and what comes with them."""
    details = _configuration(op)
    axis, k = (details[name].value.data for name in ("reduction_dim", "top_k"))
    called: Any = attribute(op, "called_computations")
    kind = dtype_name(element_of(op.results[1]))
    largest = "_gt_" in str(called)
    x = graph.tensor(op.operands[0])
    pair = graph.emit(R.topk(x, k=k, axis=axis, ret_type="both", largest=largest, dtype=kind))
    graph.set(op, *(graph.emit(pair[n]) for n in range(2)))


@custom("TopK", "mhlo.topk")
def top_k(graph: Graph, op: Operation) -> None:
    """Return the greatest elements along the last dimension."""
    best(graph, op, dims_of_result(op)[-1])


def dims_of_result(op: Operation) -> list[int]:
    """Return the declared sizes of the first result."""
    kind: Any = op.results[0].type
    return list(kind.get_shape())


# -- Fourier transforms ------------------------------------------------------------------------------------------------


@rule("stablehlo.fft")
def fft(graph: Graph, op: Operation) -> None:
    """Transform the last dimensions."""
    kind, lengths = word(op, "fft_type"), integers(op, "fft_length")
    if any(d.constant == 0 for d in graph.dims(op.operands[0])):
        results = [graph.made(Splat(0.0, element_of(op.results[0]), [Const(n) for n in dims_of_result(op)]))]
        graph.set(op, Pair(results[0], results[0]) if is_complex(op.results[0]) else results[0])
        return
    count = len(lengths)
    if kind == "RFFT":
        x = graph.emit(R.fft.rfft(graph.tensor(op.operands[0]), axis=-1))
        rest = count - 1
    else:
        parts = graph.parts(op.operands[0])
        x = graph.emit(R.stack(parts, axis=-1))
        rest = count
    inverse = kind in ("IFFT", "IRFFT")
    for axis in range(2 if kind in ("RFFT", "IRFFT") else 1, rest + 1 + (kind == "RFFT")):
        x = graph.emit(R.fft.fft(x, axis=-axis, inverse=inverse))
    if kind == "IRFFT":
        results = graph.emit(R.fft.irfft(x, PrimValue(lengths[-1]), axis=-1))
        graph.set(op, results)
        return
    *dims, _ = dims_of(x)
    axis = len(dims)
    halves = [graph.emit(R.strided_slice(x, axes=[axis], begin=[k], end=[k + 1])) for k in (0, 1)]
    graph.set(op, Pair(*(graph.emit(R.reshape(h, ShapeExpr(dims))) for h in halves)))
