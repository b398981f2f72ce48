"""`tir.ir_builder`: statements written one after the other, in Python's `with`.

ib = ir_builder.create()
A = ib.buffer_ptr(buffer)
with ib.for_range(0, n, name="i") as i:
    A[i] = A[i] + 1.0
stmt = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr

from ...diagnostics import TiraxError
from ...dialects import tir
from ...dialects.dtypes import dtype_of
from ...dialects.sym.expr import SymExpr
from . import placeholders, variables
from . import prim_expr as tx
from .buffers import Buffer, Stmt, decl_buffer
from .control_flow import AttrStmt, For, ForKind, IfThenElse, While
from .expr_kinds import CLASSES
from .intrinsics import likely
from .prim_expr import ExprLike, PrimExpr
from .stmt import Evaluate, SeqStmt
from .storage import Allocate, BufferStore, DeclBuffer, LetStmt


def stmt_seq(*args: Stmt | PrimExpr) -> Stmt:
    """Return statements as one sequence; an expression is evaluated."""
    statements = [Evaluate(a) if isinstance(a, PrimExpr) else a for a in args]
    return statements[0] if len(statements) == 1 else SeqStmt(statements)


def stmt_list(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a sequence, with nested sequences flattened."""
    return [s for inner in stmt for s in stmt_list(inner)] if isinstance(stmt, SeqStmt) else [stmt]


_KINDS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}
Around = Callable[[Stmt], Stmt]


class BufferVar:
    """A buffer whose elements are read and written by index; a single index addresses the flattened buffer."""

    def __init__(self, builder: IRBuilder, buffer: Buffer):
        self._builder, self._buffer = builder, buffer

    @property
    def buffer(self) -> Buffer:
        """The buffer itself, for example as a parameter of a `PrimFunc`."""
        return self._buffer

    def asobject(self) -> Buffer:
        """TVM's name of `buffer`."""
        return self._buffer

    @property
    def dtype(self) -> str:
        return self._buffer.dtype

    def _indices(self, index: Any) -> list[ExprLike]:
        indices = list(index) if isinstance(index, tuple | list) else [index]
        dims = self._buffer.type.dims
        if len(indices) == 1 and len(dims) > 1:
            indices = _unflattened(indices[0], dims)
        if len(indices) != len(dims):
            raise TiraxError("wrong number of indices", expected=len(dims), found=len(indices))
        return indices

    def __getitem__(self, index: Any) -> PrimExpr:
        return CLASSES["BufferLoad"](self._buffer, self._indices(index))

    def __setitem__(self, index: Any, value: ExprLike) -> None:
        stored = tx.convert(value) if isinstance(value, PrimExpr) else tx.const(value, self._buffer.type.dtype)
        if stored.type != self._buffer.type.dtype:
            raise TiraxError("the value is of another dtype", expected=self.dtype, found=stored.dtype)
        self._builder.emit(BufferStore(self._buffer, stored, self._indices(index)))


def _with_alias(buffer: Buffer, body: Stmt, data: PrimExpr) -> Stmt:
    """Return a body in which a buffer is bound to an address, without a statement, as in TVM."""
    declaration = DeclBuffer(buffer, body, data=data)
    cast(tir.DeclBufferOp, declaration.op).alias = True
    return declaration


def _unflattened(index: ExprLike, dims: Sequence[SymExpr]) -> list[ExprLike]:
    """Return the index of each dimension for a flat index."""
    out: list[ExprLike] = []
    rest = tx.convert(index)
    for extent in reversed(dims[1:]):
        size = tx.from_sym(extent).astype(rest.type)
        out.append(tx.floormod(rest, size))
        rest = tx.floordiv(rest, size)
    return [rest, *reversed(out)]


class IRBuilder:
    """Builds statements in the order in which they are emitted; see the module."""

    def __init__(self) -> None:
        self._frames: list[list[Stmt | Around]] = [[]]

    def emit(self, stmt: Stmt | PrimExpr | Around) -> None:
        """Emit a statement, an expression for its effect, or a function that wraps all that follows in a statement."""
        self._frames[-1].append(Evaluate(stmt) if isinstance(stmt, PrimExpr) else stmt)

    def _closed(self) -> Stmt:
        """Return the innermost frame as one statement."""
        body: Stmt | None = None
        for item in reversed(self._frames.pop()):
            if not isinstance(item, Stmt):
                body = item(Evaluate(0) if body is None else body)
            else:
                body = item if body is None else stmt_seq(item, body)
        return Evaluate(0) if body is None else body

    @contextmanager
    def _frame(self, around: Around) -> Generator[None]:
        self._frames.append([])
        yield
        self.emit(around(self._closed()))

    @contextmanager
    def for_range(
        self, begin: ExprLike, end: ExprLike, name: str = "i", dtype: str | None = None, kind: str = "serial"
    ) -> Generator[variables.Var]:
        """Open a loop from `begin` up to `end`; `kind` is serial, parallel, vectorize or unroll."""
        if kind not in _KINDS:
            raise TiraxError(f"there are no loops of the kind '{kind}'", expected=", ".join(_KINDS))
        first, last = tx.match_types(begin, end)
        var = variables.Var(name, dtype or last.type)
        extent = tx.simplified(last - first)
        with self._frame(lambda body: For(var, first.astype(var.type), extent.astype(var.type), _KINDS[kind], body)):
            yield var

    def while_loop(self, condition: ExprLike) -> AbstractContextManager[None]:
        """Open a loop that runs while the condition holds."""
        return self._frame(lambda body: While(condition, body))

    def if_scope(self, cond: ExprLike) -> AbstractContextManager[None]:
        """Open the code that runs if the condition holds."""
        return self._frame(lambda body: IfThenElse(cond, body))

    @contextmanager
    def else_scope(self) -> Generator[None]:
        """Open the code that runs if the condition of the preceding `if_scope` does not hold."""
        frame = self._frames[-1]
        before = frame[-1] if frame else None
        if not isinstance(before, IfThenElse) or before.else_case is not None:
            raise TiraxError("else_scope follows an if_scope")
        frame.pop()
        with self._frame(lambda body: IfThenElse(before.condition, before.then_case, body)):
            yield

    def scope_attr(self, node: Any, attr_key: str, value: ExprLike | str) -> None:
        """Annotate everything that follows in the scope."""
        self.emit(lambda body: AttrStmt(node, attr_key, value, body))

    def let(self, var_name: str, value: ExprLike) -> variables.Var:
        """Bind a name to a value, for everything that follows in the scope."""
        bound = tx.convert(value)
        var = variables.Var(var_name, bound.type)
        self.emit(lambda body: LetStmt(var, bound, body))
        return var

    def allocate(
        self, dtype: str, shape: Any, name: str = "buf", axis_separators: object = None, scope: str = "global"
    ) -> BufferVar:
        """Allocate memory for everything that follows in the scope."""
        sizes = list(shape) if isinstance(shape, tuple | list) else [shape]
        buffer = decl_buffer(sizes, dtype, name, scope=scope)
        address = PrimExpr(placeholders.placeholder_value(tir.HandleType(dtype_of(dtype), StringAttr(scope)), name))
        self.emit(lambda body: Allocate(address, dtype, sizes, True, _with_alias(buffer, body, address)))
        return BufferVar(self, buffer)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "global") -> BufferVar:
        """Return a pointer without a known number of elements, in TVM a buffer of one: a free one, not a parameter."""
        return BufferVar(self, decl_buffer([1], content_type, name, scope=scope))

    def buffer_ptr(self, buf: Buffer, shape: object = None) -> BufferVar:
        """Return access to a buffer by its elements."""
        return BufferVar(self, buf)

    def likely(self, expr: ExprLike) -> PrimExpr:
        """Mark a condition as likely."""
        return likely(expr)

    def get(self) -> Stmt:
        """Return everything emitted as one statement; the builder cannot be used afterwards."""
        if len(self._frames) != 1:
            raise TiraxError("a scope is open still", hint="get() stands after all `with`s")
        return self._closed()


def create() -> IRBuilder:
    """Return a new builder."""
    return IRBuilder()
