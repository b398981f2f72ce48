"""TVM's classes of statements: views on the operations of a tensor function, and constructors of new ones.

A statement is a handle on an operation. The body of a loop is one statement: the only one in it, or a `SeqStmt` of
several; the body of a statement that names something (`LetStmt`, `Allocate`, …) is all that follows it. A block has two
views, as in TVM: `BlockRealize` binds its iterators, `Block` is its computation.

Calling a class creates a statement that belongs to no function yet: its parts are copied, with new loop variables and
iterators replacing the `Var`s passed for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import Any, Generic, TypeVar, cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerType
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.ir import Block as IRBlock

from ...diagnostics import DTypeError, TiraxError, UnsupportedError
from ...dialects import tir
from ...dialects.attributes import from_attr
from ...dialects.dtypes import dtype_name, dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.relax.data import TensorDataAttr
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import SymExpr, Var
from ...ir.origins import note, note_counters, note_variables
from ...ir.rewriting.copy import clone_expr, copied, is_expression, with_aliases
from ...ir.rewriting.substitute import mentions_symbol, substitute_symbols
from ..array import Array
from . import prim_expr as tx
from .attributes import attr_of, value_of
from .buffers import Buffer, Param, Stmt, note_source
from .domains import (
    ITER_KINDS,
    ITER_TYPES,
    BufferRegion,
    IterVar,
    MatchBufferRegion,
    Range,
    domain_of,
    range_of,
    region_of,
)
from .expr_kinds import dim_node, expr_node
from .predicates import check_predicate, only_index
from .prim_expr import ExprLike, PrimExpr, as_sym

T = TypeVar("T")

CLASSES: dict[type[Operation], type[Stmt]] = {}
"""The classes of statements by operation; each file of such classes adds its own."""


class ForKind(IntEnum):
    """The kind of a loop."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


def annotations_of(attrs: DictionaryAttr | None) -> dict[str, Any]:
    return {} if attrs is None else {k: from_attr(v) for k, v in attrs.data.items()}


def attributes_of(values: Mapping[str, Any] | None) -> DictionaryAttr | None:
    attrs = {k: attr_of(v) for k, v in (values or {}).items()}
    return DictionaryAttr({k: v for k, v in attrs.items() if v is not None}) if attrs else None


def view_of(cls: type[Stmt], op: Operation) -> Any:
    view = cls.__new__(cls)
    view.op = op
    return view


def stmt_of(op: Operation) -> Stmt:
    """Return the handle on a statement, of TVM's class for it."""
    return view_of(CLASSES.get(type(op), Stmt), op)


def opens_scope(op: Operation) -> bool:
    """Return whether everything that follows is the body of a statement."""
    return issubclass(CLASSES.get(type(op), Stmt), ScopeStmt)


def _until_scope(ops: Sequence[Operation]) -> list[Operation]:
    first = next((i for i, op in enumerate(ops) if opens_scope(op)), len(ops) - 1)
    return list(ops[: first + 1])


def statements_in(block: IRBlock) -> list[Operation]:
    """Return the statements of a block, without the expressions that they use and undeclared buffers."""
    return [op for op in block.ops if _is_statement(op)]


def _is_statement(op: Operation) -> bool:
    alias = isinstance(op, tir.DeclBufferOp) and op.alias
    return not (alias or is_expression(op) or isinstance(op, tir.YieldOp))


def ops_after(op: Operation) -> Iterator[Operation]:
    while (following := op.next_op) is not None:
        yield following
        op = following


def sequence(ops: Sequence[Operation]) -> Stmt:
    """Return consecutive operations as one statement; `Evaluate(0)` if there are none, as in TVM."""
    if not ops:
        return Evaluate(0)
    return stmt_of(ops[0]) if len(_until_scope(ops)) == 1 else SeqStmt.of(ops)


def body_of(block: IRBlock) -> Stmt:
    """Return the contents of a block as one statement."""
    return sequence(statements_in(block))


class Part(Generic[T]):
    """A part of a statement: `read` converts a property of its operation."""

    def __init__(self, read: Callable[[Any], T], path: str):
        self.read, self.get = read, attrgetter(path)

    def __get__(self, stmt: Any, owner: object = None) -> T:
        return self.read(self.get(stmt.op))


def each_part(read: Callable[[Any], T]) -> Callable[[Any], list[T]]:
    return lambda values: [read(v) for v in values]


class SeqStmt(Stmt):
    """A sequence of statements."""

    __slots__ = ("_ops",)

    def __init__(self, seq: Sequence[Stmt], span: object = None):
        block = IRBlock()
        for stmt in seq:
            add_to(block, stmt)
        self._ops = statements_in(block)
        self.op = self._ops[0]

    @classmethod
    def of(cls, ops: Sequence[Operation]) -> SeqStmt:
        """Return the handle on consecutive operations of a block."""
        seq = cls.__new__(cls)
        seq._ops, seq.op = list(ops), ops[0]
        return seq

    @property
    def seq(self) -> list[Stmt]:
        """The statements; the body of one that names something is the rest of the sequence, so it is the last."""
        return [stmt_of(op) for op in _until_scope(self._ops)]

    def __getstate__(self) -> list[Operation]:
        return [op.clone() for op in self._ops]

    def __setstate__(self, state: list[Operation]) -> None:
        self._ops, self.op = state, state[0]

    def __getitem__(self, index: int) -> Stmt:
        return self.seq[index]

    def __len__(self) -> int:
        return len(self.seq)

    def __iter__(self) -> Iterator[Stmt]:
        return iter(self.seq)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeqStmt) and self._ops == other._ops

    def __hash__(self) -> int:
        return hash((SeqStmt, self.op))


class BuiltStmt(Stmt):
    """A statement that is one operation."""

    __slots__ = ()
    PARTS: tuple[str, ...] = ()
    """The parts that visitors visit, in order."""

    def _set(self, make: Callable[[IRBlock], Operation]) -> None:
        """Set the operation to the result of `make`, at the end of a block of its own."""
        block = IRBlock()
        op = make(block)
        block.add_op(op)
        self.op = op


class ScopeStmt(BuiltStmt):
    """A statement whose result is visible in the statements after it, its body."""

    __slots__ = ()

    @property
    def body(self) -> Stmt:
        return sequence([op for op in ops_after(self.op) if _is_statement(op)])

    def _with_body(self, body: Stmt, mapping: dict[SSAValue, SSAValue]) -> None:
        add_to(cast(IRBlock, self.op.parent), body, mapping)


class For(BuiltStmt):
    """A loop: `body` for each of the `extent` values of `loop_var` from `min` on."""

    __slots__ = ()
    PARTS = ("min", "extent", "body")

    def __init__(
        self,
        loop_var: PrimExpr,
        min: ExprLike,
        extent: ExprLike,
        kind: ForKind | int,
        body: Stmt,
        thread_binding: IterVar | None = None,
        annotations: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        if tir.index_cast(loop_var.ssa) is not None:
            raise DTypeError("a loop variable has a byte at least", expected="int32 or int64", found=loop_var.dtype)

        def make(block: IRBlock) -> Operation:
            region = body_region([loop_var], body)
            thread = None if thread_binding is None else thread_binding.thread_tag
            first, size = _bound(min, loop_var, block), _bound(extent, loop_var, block)
            return tir.ForOp(
                first, size, region, _KINDS[int(kind)], thread=thread, annotations=attributes_of(annotations)
            )

        self._set(make)

    loop_var = Part(Param, "loop_var")

    @property
    def min(self) -> PrimExpr:
        return range_of(cast(tir.ForOp, self.op).min, cast(tir.ForOp, self.op).extent).min

    extent = Part(dim_node, "extent")

    @property
    def kind(self) -> ForKind:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ForKind(_KINDS.index(cast(tir.ForOp, self.op).kind))

    @property
    def thread_binding(self) -> IterVar | None:
        op = cast(tir.ForOp, self.op)
        if op.thread is None:
            return None
        return IterVar(range_of(op.min, op.extent), self.loop_var, 1, op.thread.data)

    annotations = Part(annotations_of, "annotations")
    body = Part(body_of, "body.block")


_KINDS = list(tir.ForKind)


class While(BuiltStmt):
    """Runs `body` while the `condition` holds."""

    __slots__ = ()
    PARTS = ("condition", "body")

    def __init__(self, condition: ExprLike, body: Stmt, span: object = None):
        self._set(lambda block: tir.WhileOp(_yielding(condition), body_region([], body)))

    condition = Part(expr_node, "cond")
    body = Part(body_of, "body.block")


class IfThenElse(BuiltStmt):
    """Runs `then_case` if the `condition` holds, else `else_case`, which may be None."""

    __slots__ = ()
    PARTS = ("condition", "then_case", "else_case")

    def __init__(self, condition: ExprLike, then_case: Stmt, else_case: Stmt | None = None, span: object = None):
        def make(block: IRBlock) -> Operation:
            other = None if else_case is None else body_region([], else_case)
            return tir.IfOp(planted_in(tx.truth(tx.convert(condition)), block), body_region([], then_case), other)

        self._set(make)

    condition = Part(expr_node, "cond")
    then_case = Part(body_of, "then_region.block")

    @property
    def else_case(self) -> Stmt | None:
        op = cast(tir.IfOp, self.op)
        return body_of(op.else_region.block) if op.has_else else None


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


class Evaluate(BuiltStmt):
    """Evaluates an expression for its effect."""

    __slots__ = ()
    PARTS = ("value",)

    def __init__(self, value: ExprLike, span: object = None):
        self._set(lambda block: tir.EvaluateOp(planted_in(value, block)))

    value = Part(expr_node, "value")


CLASSES[tir.EvaluateOp] = Evaluate


class AssertStmt(ScopeStmt):
    """Stops the function if the `condition` does not hold; `body` is what follows."""

    __slots__ = ()
    PARTS = ("condition", "body")

    def __init__(self, condition: ExprLike, message: Any, body: Stmt, span: object = None):
        text = message.value if isinstance(message, PrimExpr) else message
        self._set(lambda block: tir.AssertOp(planted_in(condition, block), text))
        self._with_body(body, {})

    condition = Part(expr_node, "cond")

    @property
    def message(self) -> PrimExpr:
        return expr_node(tir.StringImmOp(cast(tir.AssertOp, self.op).message.data).result)


class AttrStmt(BuiltStmt):
    """An annotation of a body, `attr_key` with `value`, about `node`."""

    __slots__ = ()
    PARTS = ("value", "body")

    def __init__(self, node: Any, attr_key: str, value: ExprLike | str, body: Stmt, span: object = None):
        def make(block: IRBlock) -> Operation:
            if isinstance(node, IterVar) and not isinstance(value, str):
                extent = clone_expr(tx.convert(value, node.var).ssa, block, {})
                return tir.LaunchThreadOp(node.thread_tag, extent, body_region([node.var], body))
            if isinstance(value, str):
                noted: SSAValue = clone_expr(tir.StringImmOp(value).result, block, {})
            else:
                noted = planted_in(value, block)
            return tir.AttrOp(attr_key, noted, body_region([], body), _about(node, block))

        self._set(make)

    @property
    def node(self) -> Any:
        if isinstance(self.op, tir.LaunchThreadOp):
            return IterVar(Range(0, self.value), Param(self.op.index), 1, self.op.tag.data)
        on = cast(tir.AttrOp, self.op).on
        if on is None:
            return expr_node(tir.ConstOp(0, tx.i32).result)
        if isinstance(on, SSAValue):
            return Buffer(on) if isinstance(on.type, tir.BufferType) else expr_node(on)
        return value_of(on)

    @property
    def attr_key(self) -> str:
        return self.op.key if isinstance(self.op, tir.LaunchThreadOp) else cast(tir.AttrOp, self.op).key.data

    @property
    def value(self) -> Any:
        op = self.op
        return expr_node(op.extent if isinstance(op, tir.LaunchThreadOp) else cast(tir.AttrOp, op).value)

    body = Part(body_of, "body.block")


CLASSES |= {
    tir.ForOp: For,
    tir.WhileOp: While,
    tir.IfOp: IfThenElse,
    tir.AssertOp: AssertStmt,
    tir.AttrOp: AttrStmt,
    tir.LaunchThreadOp: AttrStmt,
}


def _about(node: Any, block: IRBlock) -> Attribute | SSAValue | None:
    if node is None or (isinstance(node, int) and node == 0):
        return None
    if isinstance(node, Buffer):
        return node.ssa
    return planted_in(node, block) if isinstance(node, PrimExpr) else attr_of(node)


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
        if isinstance(var, tx.SizeVar):
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
        sizes = [tx.with_names(as_sym(tx.convert(e))) for e in extents]
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

    def __init__(self, buffer: Buffer, body: Stmt, data: PrimExpr | None = None, span: object = None):
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


class BlockBase(BuiltStmt):
    """A block of the program, or a function, whose body is its root block."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.op is cast(Stmt, other).op

    def __hash__(self) -> int:
        return hash((type(self), self.op))


class Block(BlockBase):
    """The computation of a block over the iterators `iter_vars`: `body`, after `init` at the first point of a
    reduction.
    """

    __slots__ = ()
    PARTS = ("reads", "writes", "match_buffers", "init", "body")

    def __init__(
        self,
        iter_vars: Sequence[IterVar],
        reads: Sequence[BufferRegion],
        writes: Sequence[BufferRegion],
        name_hint: str,
        body: Stmt,
        init: Stmt | None = None,
        alloc_buffers: Sequence[Buffer] | None = None,
        match_buffers: Sequence[MatchBufferRegion] | None = None,
        annotations: Mapping[str, Any] | None = None,
        span: object = None,
    ):
        inner = IRBlock(arg_types=[v.var.type for v in iter_vars])
        mapping: dict[SSAValue, SSAValue] = {}
        for iterator, arg in zip(iter_vars, inner.args, strict=True):
            set_name(arg, name_of(iterator.var.ssa))
            mapping[iterator.var.ssa] = arg
        for cls, regions in ((tir.ReadsOp, reads), (tir.WritesOp, writes)):
            for region in regions:
                starts, extents = _starts(region, inner, mapping)
                inner.add_op(cls(mapping.get(region.buffer.ssa, region.buffer.ssa), starts, extents))
        for buffer in alloc_buffers or ():
            _define(tir.AllocBufferOp(buffer.type), buffer, inner, mapping)
        for match in match_buffers or ():
            starts, extents = _starts(match.source, inner, mapping)
            source = mapping.get(match.source.buffer.ssa, match.source.buffer.ssa)
            _define(tir.MatchBufferOp(source, starts, extents, match.buffer.type), match.buffer, inner, mapping)
        if init is not None:
            inner.add_op(tir.InitOp(body_region([], init, mapping)))
        add_to(inner, body, mapping)
        iters = [(ITER_KINDS[v.iter_type], v.var.ssa, domain_of(v.dom)) for v in iter_vars]
        self._set(lambda block: tir.BlockOp(name_hint, iters, Region(inner), annotations=attributes_of(annotations)))

    def script(self, **options: Any) -> str:
        """Return the block as TVMScript, without the values of its iterators: `with T.block("C", no_realize=True):`."""
        from ...script.printer import fragment

        return fragment.print_block(cast(tir.BlockOp | tir.FuncOp, self.op), **options)

    @property
    def name_hint(self) -> str:
        return self.op.block_name.data if isinstance(self.op, tir.BlockOp) else "root"

    @property
    def iter_vars(self) -> list[IterVar]:
        op = self.op
        rows = zip(op.iter_vars, op.kinds, op.mins, op.extents, strict=True) if isinstance(op, tir.BlockOp) else ()
        return [IterVar(range_of(least, extent), Param(v), ITER_TYPES[kind]) for v, kind, least, extent in rows]

    def _regions(self, cls: type[Operation]) -> Array[BufferRegion]:
        ops = [cast(tir.RegionOp, op) for op in self.op.regions[0].block.ops if isinstance(op, cls)]
        return Array(region_of(op.buffer, op) for op in ops)

    @property
    def reads(self) -> Array[BufferRegion]:
        return self._regions(tir.ReadsOp)

    @property
    def writes(self) -> Array[BufferRegion]:
        return self._regions(tir.WritesOp)

    @property
    def alloc_buffers(self) -> list[Buffer]:
        return [Buffer(op.result) for op in self.op.regions[0].block.ops if isinstance(op, tir.AllocBufferOp)]

    @property
    def match_buffers(self) -> list[MatchBufferRegion]:
        ops = self.op.regions[0].block.ops
        return [
            MatchBufferRegion(Buffer(o.result), region_of(o.source, o)) for o in ops if type(o) is tir.MatchBufferOp
        ]

    @property
    def init(self) -> Stmt | None:
        init_op = self.op.init if isinstance(self.op, tir.BlockOp) else None
        return None if init_op is None else body_of(init_op.body.block)

    @property
    def annotations(self) -> dict[str, Any]:
        notes = annotations_of(self.op.annotations) if isinstance(self.op, tir.BlockOp) else {}
        return {k: self._with_buffers(v) for k, v in notes.items()}

    def _with_buffers(self, value: Any) -> Any:
        """Return the value of an annotation, with buffers that the block reads as handles."""
        if isinstance(value, list):
            return [self._with_buffers(v) for v in cast("list[Any]", value)]
        return self.reads[value.index.data].buffer if isinstance(value, tir.ReadBufferAttr) else value

    @property
    def body(self) -> Stmt:
        return sequence([op for op in statements_in(self.op.regions[0].block) if not isinstance(op, BLOCK_HEAD)])


BLOCK_HEAD = (tir.ReadsOp, tir.WritesOp, tir.InitOp, tir.AllocBufferOp, tir.MatchBufferOp)
"""The operations of a block besides its body."""


class BlockRealize(BlockBase):
    """A block with the values of its iterators; it runs if the `predicate` holds."""

    __slots__ = ()
    PARTS = ("iter_values", "predicate", "block")

    def __init__(self, iter_values: Sequence[ExprLike], predicate: ExprLike, block: Block, span: object = None):
        block_op = cast(tir.BlockOp, block.op)

        def make(at: IRBlock) -> Operation:
            values = [
                planted_in(tx.index_of(tx.convert(v, expr_node(b))), at)
                for v, b in zip(iter_values, block_op.iter_vars, strict=True)
            ]
            holds = tx.convert(predicate)
            inside = IRBlock()
            copied([block_op], inside, dict(zip(block_op.bindings, values, strict=True)))
            new = cast(tir.BlockOp, inside.last_op)
            new.detach()
            iters = list(zip(new.kinds, values, zip(new.mins, new.extents, strict=True), strict=True))
            body = new.detach_region(0)
            return tir.BlockOp(
                new.block_name.data,
                iters,
                body,
                predicate=None if holds.constant in (True, 1) else planted_in(holds, at),
                annotations=new.annotations,
            )

        self._set(make)

    @property
    def iter_values(self) -> list[PrimExpr]:
        return [expr_node(v) for v in self.op.bindings] if isinstance(self.op, tir.BlockOp) else []

    @property
    def predicate(self) -> PrimExpr:
        condition = self.op.predicate if isinstance(self.op, tir.BlockOp) else None
        return tx.const(True) if condition is None else expr_node(condition)

    @property
    def block(self) -> Block:
        return view_of(Block, self.op)


CLASSES |= {tir.BlockOp: BlockRealize, tir.FuncOp: BlockRealize}


def operations_of(stmt: Stmt) -> list[Operation]:
    """Return the operations of a statement, including the ones that follow if these are its body."""
    if isinstance(stmt, SeqStmt):
        return list(stmt._ops)
    if opens_scope(stmt.op):
        return [stmt.op, *(op for op in ops_after(stmt.op) if not is_expression(op))]
    return [stmt.op]


def add_to(block: IRBlock, stmt: Stmt, mapping: dict[SSAValue, SSAValue] | None = None) -> None:
    """Copy a statement to the end of a block; for a function seen as its root block, copy its body."""
    known = {} if mapping is None else mapping
    note_variables(known)
    before = block.last_op
    stated = operations_of(stmt)
    originals = with_aliases(stated, known)
    for op in originals:
        copied(op.regions[0].block.ops if isinstance(op, tir.FuncOp) else [op], block, known)
        if not isinstance(op, tir.FuncOp):
            note_source(cast(Operation, block.last_op), op)
    copies = block.ops if before is None else ops_after(before)
    note_counters(originals, copies)


def planted_in(value: ExprLike, block: IRBlock) -> SSAValue:
    return clone_expr(tx.convert(value).ssa, block, {})


def _yielding(value: ExprLike) -> Region:
    block = IRBlock()
    block.add_op(tir.YieldOp(planted_in(value, block)))
    return Region(block)


def body_region(variables: Sequence[PrimExpr], body: Stmt, mapping: dict[SSAValue, SSAValue] | None = None) -> Region:
    """Return a region with a copy of `body`, whose arguments replace `variables`."""
    block = IRBlock(arg_types=[v.type for v in variables])
    inner = dict(mapping or {})
    for variable, arg in zip(variables, block.args, strict=True):
        set_name(arg, name_of(variable.ssa))
        inner[variable.ssa] = arg
        note(arg, variable.ssa)
    add_to(block, body, inner)
    return Region(block)


def _bound(value: ExprLike, like: PrimExpr, block: IRBlock) -> SymExpr | SSAValue:
    """Return a loop bound: a symbolic expression if it only has named variables, else a value."""
    expr = tx.convert(value, like)
    if not isinstance(expr.type, IntegerType):
        raise TiraxError("a bound of a loop is an integer", found=expr.dtype)
    expr = tx.index_of(expr)
    symbolic = as_sym(expr)
    named = all(isinstance(v.name, str) for v in symbolic.free_vars())
    return symbolic if named else planted_in(expr, block)


def _starts(
    region: BufferRegion, block: IRBlock, mapping: dict[SSAValue, SSAValue]
) -> tuple[list[SSAValue], list[SymExpr]]:
    starts = [clone_expr(tx.index_of(r.min).ssa, block, mapping) for r in region.region]
    return starts, [as_sym(r.extent) for r in region.region]


def _define(op: Operation, buffer: Buffer, block: IRBlock, mapping: dict[SSAValue, SSAValue]) -> None:
    set_name(op.results[0], buffer.name)
    block.add_op(op)
    mapping[buffer.ssa] = op.results[0]


Stmt.operations = operations_of
