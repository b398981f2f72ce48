"""Statements that store, and those that define a value or memory for the statements after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.ir import Block as IRBlock
from xdsl.ir import Operation

from ...diagnostics import TiraxError, UnsupportedError
from ...dialects import tir
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.relax.data import TensorDataAttr
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr, Var
from ...ir.rewriting.substitute import mentions_symbol, substitute_symbols
from . import placeholders, variables
from . import prim_expr as tx
from .buffers import Buffer, Param, Stmt
from .expr_kinds import dim_node, expr_node
from .predicates import check_predicate, only_index
from .prim_expr import ExprLike, PrimExpr, as_sym
from .stmt import CLASSES, BuiltStmt, Part, ScopeStmt, annotations_of, attributes_of, each_part, ops_after, planted_in


class BufferStore(BuiltStmt):
    """`buffer[indices] = value`"""

    __slots__ = ()
    PARTS = ("value", "indices")

    def __init__(
        self,
        buffer: Buffer,
        value: ExprLike,
        indices: Sequence[ExprLike],
        predicate: PrimExpr | None = None,
        span: object = None,
    ):
        if predicate is not None:
            check_predicate(predicate, tx.convert(value).type, "store")

        def make(block: IRBlock) -> Operation:
            stored = tx.convert(value, None) if isinstance(value, PrimExpr) else tx.const(value, buffer.type.dtype)
            planted, places = planted_in(stored, block), [planted_in(tx.index_of(i), block) for i in indices]
            if predicate is None:
                return tir.StoreOp(planted, buffer.ssa, places)
            return tir.MaskedStoreOp(planted, buffer.ssa, only_index(places), planted_in(predicate, block))

        self._set(make)

    buffer = Part(Buffer, "buffer")
    value = Part(expr_node, "value")
    indices = Part(each_part(lambda index: expr_node(tir.written_index(index))), "indices")

    @property
    def predicate(self) -> PrimExpr | None:
        """The mask of the stored lanes; None for all."""
        return expr_node(self.op.mask) if isinstance(self.op, tir.MaskedStoreOp) else None


class LetStmt(ScopeStmt):
    """Binds `var` to `value` in `body`.

    A size (`te.size_var`) is identified by name in extents, where its value is substituted. Raises `UnsupportedError`
    if that value is not composed of constants and sizes.
    """

    __slots__ = ()
    PARTS = ("value", "body")

    def __init__(self, var: PrimExpr, value: ExprLike, body: Stmt, span: object = None):
        bound = tx.convert(value, var)
        self._set(lambda block: tir.LetOp(planted_in(bound, block)))
        result = self.op.results[0]
        set_name(result, name_of(var.ssa))
        self._with_body(body, {var.ssa: result})
        if isinstance(var, variables.SizeVar):
            self._put_in(cast(Var, as_sym(var)), as_sym(bound))

    def _put_in(self, size: Var, value: SymExpr) -> None:
        """Substitute the value of a size in the body."""
        following = list(ops_after(self.op))
        if all(v.value is None for v in value.free_vars()):
            for op in following:
                substitute_symbols(op, {size: value})
            return
        for use in [op for root in following for op in root.walk() if isinstance(op, ValueOp) and op.expr.data == size]:
            use.result.replace_all_uses_with(self.op.results[0])
            use.detach()
            use.erase()
        if any(mentions_symbol(op, size) for op in ops_after(self.op)):
            raise UnsupportedError(
                f"the size '{size.name}' is bound to a value that extents cannot be made of",
                expected="constants and sizes",
                found=str(self.value),
                hint="give the function a parameter for it",
            )

    var = Part(Param, "result")
    value = Part(expr_node, "value")


class Allocate(ScopeStmt):
    """Allocates memory at the address `buffer_var`, for `body`."""

    __slots__ = ()
    PARTS = ("extents", "body")

    def __init__(
        self,
        buffer_var: PrimExpr,
        dtype: str,
        extents: Sequence[ExprLike],
        condition: ExprLike,
        body: Stmt,
        annotations: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        if tx.convert(condition).constant not in (1, True):
            raise TiraxError("memory cannot be allocated under a condition", found=str(condition))
        scope = buffer_var.type.scope.data if isinstance(buffer_var.type, tir.HandleType) else "global"
        sizes = [placeholders.with_names(as_sym(tx.convert(e))) for e in extents]
        self._set(lambda block: tir.AllocateOp(sizes, dtype_of(dtype), scope, annotations=attributes_of(annotations)))
        set_name(self.op.results[0], name_of(buffer_var.ssa))
        self._with_body(body, {buffer_var.ssa: self.op.results[0]})

    buffer_var = Part(Param, "result")
    dtype = Part(dtype_name, "dtype")
    extents = Part(each_part(dim_node), "extents")

    @property
    def condition(self) -> PrimExpr:
        return tx.const(True)

    annotations = Part(annotations_of, "annotations")


class AllocateConst(ScopeStmt):
    """A buffer of constants, for `body`."""

    __slots__ = ()
    PARTS = ("body",)

    def __init__(
        self,
        buffer_var: PrimExpr | Buffer,
        dtype: str,
        extents: Sequence[int],
        data_or_idx: Any,
        body: Stmt,
        annotations: object = None,
        span: object = None,
    ):
        array = data_or_idx.numpy() if hasattr(data_or_idx, "numpy") else data_or_idx
        shape = tuple(int(e) for e in extents)
        self._set(lambda block: tir.AllocConstOp(TensorDataAttr.from_numpy(array.reshape(shape), dtype_of(dtype))))
        set_name(self.op.results[0], name_of(buffer_var.ssa))
        self._with_body(body, {buffer_var.ssa: self.op.results[0]})

    buffer_var = Part(Buffer, "result")

    @property
    def data(self) -> Any:
        return cast(tir.AllocConstOp, self.op).value.data.numpy()


class DeclBuffer(ScopeStmt):
    """Declares a buffer, for `body`."""

    __slots__ = ()
    PARTS = ("body",)

    def __init__(self, buffer: Buffer, body: Stmt, span: object = None, data: PrimExpr | None = None):
        def make(block: IRBlock) -> Operation:
            if data is None:
                return tir.AllocBufferOp(buffer.type, declared=True)
            return tir.DeclBufferOp(planted_in(data, block), buffer.type)

        self._set(make)
        set_name(self.op.results[0], buffer.name)
        self._with_body(body, {buffer.ssa: self.op.results[0]})

    buffer = Part(Buffer, "result")


CLASSES |= {
    tir.StoreOp: BufferStore,
    tir.MaskedStoreOp: BufferStore,
    tir.LetOp: LetStmt,
    tir.AllocateOp: Allocate,
    tir.AllocConstOp: AllocateConst,
    tir.DeclBufferOp: DeclBuffer,
    tir.AllocBufferOp: DeclBuffer,
}
