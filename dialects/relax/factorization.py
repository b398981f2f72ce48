"""Factorizations and inverses of matrices: the last two dimensions of a tensor, the leading ones being a batch.

They are computed by the LAPACK of numpy (`runtime/linear_algebra.py`). `info` is 0 for each matrix that has a result,
else the order of the leading minor that is not positive definite, or the 1-based position of a pivot that is zero. With
`check`, a matrix without a result is an error when the program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from xdsl.dialects.builtin import f32, f64, i32, i64
from xdsl.ir import Attribute

from ..sym.expr import Const, SymExpr
from ..sym.operators import minimum
from .elementwise import broadcast_dims
from .indexing import integer_tensor, same_dtype
from .operator import Domain, Operator, operator
from .types import TensorType, tuple_type

REALS = Domain("float32 or float64", "float32, float64", lambda t: t in (f32, f64))
"""The data types of LAPACK's real routines."""

Part = tuple[Sequence[SymExpr], Attribute | None]
"""The extents of a result for one matrix, and its dtype; None is that of x."""


class MatrixOperator(Operator):
    """Base of operators on matrices `x`, which are square unless `SQUARE` is False."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"*": REALS}
    SQUARE: ClassVar[bool] = True

    def infer(self) -> Attribute:
        x = self.matrix("x", self.SQUARE)
        if x.dims is not None:
            types = [TensorType.of([*x.dims[:-2], *dims], t or x.element) for dims, t in self.parts(*x.dims[-2:])]
        else:
            parts = [(None if x.rank is None else x.rank - 2 + len(d), t) for d, t in self.parts(Const(1), Const(1))]
            types = [TensorType.of(None, t or x.element, rank) for rank, t in parts]
        return types[0] if len(types) == 1 else tuple_type(types)

    def matrix(self, arg: str, square: bool) -> TensorType:
        """Return the type of an operand. Raises `ShapeError` unless it holds (square) matrices."""
        x = self.tensor(arg)
        if x.rank is not None and x.rank < 2:
            self.fail_shape(f"argument {arg} must be a matrix", "rank 2 or more", x.rank)
        if square and x.dims is not None:
            rows, columns = x.dims[-2:]
            self.require_equal(rows, columns, f"argument {arg} must be square", f"{rows} columns", columns)
        return x

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        """Return the results for one matrix of m rows and n columns."""
        raise NotImplementedError(self.name)


@operator("relax.linalg.cholesky", "x", upper=False, check=True)
class Cholesky(MatrixOperator):
    """The lower triangular L with x = L · Lᵀ (or the upper one, Lᵀ) of a positive definite x, and `info`.

    Only the lower (upper) triangle of x is read. Without `check`, a matrix without a result gives NaN.
    """

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((m, n), None), ((), i32)]


@operator("relax.linalg.inv", "x", check=True)
class Inv(MatrixOperator):
    """The inverse, and `info`. Without `check`, a singular matrix gives NaN."""

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((m, n), None), ((), i32)]


@operator("relax.linalg.lu", "x")
class LU(MatrixOperator):
    """P · L · U with partial pivoting: L (its diagonal of ones left out) below U, the pivots, and `info`.

    Row i was exchanged with row `pivots[i]`, counted from 1 as in LAPACK.
    """

    SQUARE: ClassVar[bool] = False

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((m, n), None), ((minimum(m, n),), i32), ((), i32)]


def _require_pivots(op: Operator) -> None:
    """Raise `DTypeError` unless the operand `pivots` is of int32."""
    pivots = integer_tensor(op, "pivots")
    if pivots.element not in (None, i32):
        op.fail_dtype("argument pivots must be of int32", "int32", pivots.element)


@operator("relax.linalg.pivots_to_order", "x pivots")
class PivotsToOrder(MatrixOperator):
    """The order of rows that the exchanges of `pivots` give (see `lu`, whose first result is x): P[order[i], i] = 1."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"x": REALS}
    SQUARE: ClassVar[bool] = False

    def infer(self) -> Attribute:
        _require_pivots(self)
        return super().infer()

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((m,), i64)]


@operator("relax.linalg.det", "x")
class Det(MatrixOperator):
    """The determinant."""

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((), None)]


@operator("relax.linalg.slogdet", "x")
class SLogDet(MatrixOperator):
    """The sign of the determinant, and the logarithm of its magnitude."""

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((), None), ((), None)]


@operator("relax.linalg.qr", "x", mode="reduced")
class QR(MatrixOperator):
    """Q with orthonormal columns and upper triangular R, x = Q · R.

    Q is square in the `mode` complete; r gives R alone.
    """

    SQUARE: ClassVar[bool] = False

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        mode = self.attr("mode")
        if mode not in ("reduced", "complete", "r"):
            self.fail_shape("attribute mode is unknown", "reduced, complete or r", mode)
        k = m if mode == "complete" else minimum(m, n)
        return [((m, k), None)] * (mode != "r") + [((k, n), None)]


@operator("relax.linalg.svd", "x", full_matrices=True)
class SVD(MatrixOperator):
    """U, the singular values in descending order, and Vᵀ: x = U · diag(s) · Vᵀ.

    U and Vᵀ are square if `full_matrices`.
    """

    SQUARE: ClassVar[bool] = False

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        k, full = minimum(m, n), self.attr("full_matrices")
        return [((m, m if full else k), None), ((k,), None), ((n if full else k, n), None)]


@operator("relax.linalg.svdvals", "x")
class SVDVals(MatrixOperator):
    """The singular values in descending order."""

    SQUARE: ClassVar[bool] = False

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((minimum(m, n),), None)]


@operator("relax.linalg.eigh", "x", upper=False)
class Eigh(MatrixOperator):
    """The eigenvalues of a symmetric matrix in ascending order, and the eigenvectors as columns.

    Only the lower (upper) triangle of x is read.
    """

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((n,), None), ((n, n), None)]


@operator("relax.linalg.eigvalsh", "x", upper=False)
class EigValsH(MatrixOperator):
    """The eigenvalues of a symmetric matrix in ascending order; only the lower (upper) triangle is read."""

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((n,), None)]


@operator("relax.linalg.eig", "x")
class Eig(MatrixOperator):
    """The eigenvalues of a matrix in no order, and the eigenvectors as columns: complex numbers.

    Complex numbers are pairs (real, imaginary) in a last dimension.
    """

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((n, Const(2)), None), ((n, n, Const(2)), None)]


@operator("relax.linalg.geqrf", "x")
class GeQRF(MatrixOperator):
    """R on and above the diagonal, the Householder vectors of Q below it, and their factors, as LAPACK stores them."""

    SQUARE: ClassVar[bool] = False

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((m, n), None), ((minimum(m, n),), None)]


@operator("relax.linalg.ldl", "x", check=True)
class LDL(MatrixOperator):
    """L and D of x = P · L · D · Lᵀ · Pᵀ for a symmetric x, in one matrix, the pivots, and `info`.

    D has blocks of one or two rows. Pivots are those of LAPACK, from 1: two equal negative ones represent a block of
    two rows. Only the lower triangle of x is read, and written: the rest of the result is 0.
    """

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((m, n), None), ((n,), i32), ((), i32)]


@operator("relax.linalg.matrix_exp", "x")
class MatrixExp(MatrixOperator):
    """The matrix exponential."""

    def parts(self, m: SymExpr, n: SymExpr) -> Sequence[Part]:
        return [((m, n), None)]


class _Solve(MatrixOperator):
    """Base of linear systems x · result = b, for matrices b; the batches are broadcast."""

    def solution(self) -> tuple[TensorType, TensorType]:
        """Return the type of the result, and that of `info`."""
        x, b = self.matrix("x", True), self.matrix("b", False)
        same_dtype(self, "x", "b")
        if x.dims is None or b.dims is None:
            rank = None if x.rank is None or b.rank is None else max(x.rank, b.rank)
            info = None if rank is None else rank - 2
            return TensorType.of(None, x.element or b.element, rank), TensorType.of(None, i32, info)
        n, rows = x.dims[-1], b.dims[-2]
        self.require_equal(n, rows, "argument b must have as many rows as x", n, rows)
        batch = broadcast_dims(self, ("x", "b"), (x.dims[:-2], b.dims[:-2]))
        dims = None if batch is None else [*batch, *b.dims[-2:]]
        rank = max(len(x.dims), len(b.dims))
        return TensorType.of(dims, x.element or b.element, rank), TensorType.of(batch, i32, rank - 2)


@operator("relax.linalg.solve", "x b", check=True)
class Solve(_Solve):
    """The solution of x · result = b, and `info`. Without `check`, a singular x gives NaN."""

    def infer(self) -> Attribute:
        return tuple_type(list(self.solution()))


@operator("relax.linalg.solve_triangular", "x b", upper=False, unitriangular=False)
class SolveTriangular(_Solve):
    """The solution of x · result = b for a lower (upper) triangular x; the other triangle is not read.

    If `unitriangular`, the diagonal is not read either: it is 1. A zero on the diagonal gives infinities or NaN.
    """

    def infer(self) -> Attribute:
        return self.solution()[0]


@operator("relax.linalg.ldl_solve", "x pivots b")
class LDLSolve(_Solve):
    """The solution of A · result = b by the factors and pivots of `ldl`. A zero in D gives infinities or NaN."""

    DOMAINS: ClassVar[Mapping[str, Domain]] = {"x": REALS, "b": REALS}

    def infer(self) -> Attribute:
        _require_pivots(self)
        return self.solution()[0]
