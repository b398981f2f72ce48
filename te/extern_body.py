"""Tensors computed by explicit statements: loops, branches and stores, in a block of their own.

    def body(b: Statements) -> None:
        with b.loop("i", n) as i:
            b.store(out, [i], x(i))

For computations that `te.compute` cannot express: scans, sorting, stores at computed positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..dialects import tir
from ..dialects.dtypes import dtype_of
from ..dialects.names import set_name
from ..dialects.sym.expr import Const, SymExpr
from ..handles.tir.buffers import Stmt
from ..handles.tir.place import place
from ..handles.tir.placeholders import is_free, placeholder_value
from ..handles.tir.prim_expr import ExprLike, PrimExpr, cast, const, convert, load
from ..handles.tir.stmt import add_to, operations_of
from .tensor import ExternOp, Tensor

Indices = tuple[PrimExpr, ...]
_DEFINITIONS = (tir.ConstOp, tir.ReadsOp, tir.WritesOp, tir.AllocBufferOp)


def filled(
    specs: Sequence[tuple[str, Sequence[SymExpr], Attribute]],
    inputs: Sequence[Tensor],
    body: Callable[..., None],
    name: str,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> tuple[Tensor, ...]:
    """Return tensors with the names, shapes and dtypes `specs`, filled by `body(statements, *tensors)`.

    `body` must write every element that is read later. It reads no tensors other than `inputs` and its own.
    """
    op = ExternOp(name, tuple(inputs), lambda b: body(b, *op.outputs), tag=tag, attrs=dict(attrs or {}))
    op.outputs = tuple(Tensor(n, dims, dtype, op, i) for i, (n, dims, dtype) in enumerate(specs))
    return op.outputs


class Cell:
    """A mutable variable; `value` is its value at the current statement."""

    def __init__(self, statements: Statements, buffer: SSAValue, dtype: Attribute):
        self._statements, self._buffer, self._dtype = statements, buffer, dtype

    @property
    def value(self) -> PrimExpr:
        return load(self._buffer, [const(0, i64)])

    def set(self, value: ExprLike) -> None:
        """Assign; the value is converted to the variable's dtype."""
        self._statements.assign(self._buffer, [const(0, i64)], cast(self._dtype, convert(value)))


class Array:
    """A small array of mutable variables in local memory: `array(i)` is the current value of element `i`."""

    def __init__(self, statements: Statements, buffer: SSAValue, dtype: Attribute):
        self._statements, self._buffer, self._dtype = statements, buffer, dtype

    def __call__(self, i: PrimExpr) -> PrimExpr:
        return load(self._buffer, [i])

    def set(self, i: PrimExpr, value: ExprLike) -> None:
        """Assign; the value is converted to the dtype of the variables."""
        self._statements.assign(self._buffer, [i], cast(self._dtype, convert(value)))


class Statements:
    """Builder of a statement list; `with` opens the body of a loop or branch."""

    def __init__(self, block: Block, buffers: Mapping[SSAValue, SSAValue]):
        # Expressions refer to stand-ins of loop variables and cells, as they do to those of tensors: what is left of
        # expressions when they are placed must not stay among the uses of the values of the function.
        self._block, self._buffers = block, dict(buffers)

    def _place(self, value: PrimExpr) -> SSAValue:
        return place(value, self._block, dict(self._buffers))

    def _placeholder(self, value: SSAValue, name: str) -> SSAValue:
        """Return the placeholder that expressions use for a value of the function."""
        out = placeholder_value(value.type, None)
        set_name(out, name)
        self._buffers[out] = value
        return out

    def _add(self, op: Operation) -> None:
        self._block.add_op(op)

    def _add_first(self, op: Operation) -> None:
        """Add a definition before the statements of the current block."""
        before = next((o for o in self._block.ops if not isinstance(o, _DEFINITIONS)), None)
        if before is None:
            self._block.add_op(op)
        else:
            self._block.insert_op_before(op, before)

    def assign(self, buffer: SSAValue, indices: Sequence[PrimExpr], value: PrimExpr) -> None:
        """Store into a buffer."""
        target = self._buffers.get(buffer, buffer)
        self._add(tir.StoreOp(self._place(value), target, [self._place(i) for i in indices]))

    def store(self, tensor: Tensor, indices: Sequence[PrimExpr], value: ExprLike) -> None:
        """tensor[indices] = value"""
        self.assign(self._buffers[tensor.buffer], indices, cast(tensor.type, convert(value)))

    def evaluate(self, call: PrimExpr) -> None:
        """Add a call for its side effect."""
        self._add(tir.EvaluateOp(self._place(call)))

    def add(self, stmt: Stmt) -> None:
        """Add a statement built by TVM's classes or `tir.ir_builder` over the buffers of the tensors."""
        known = dict(self._buffers)
        for value in [v for top in operations_of(stmt) for op in top.walk() for v in op.operands if is_free(v)]:
            known[value] = self._place(PrimExpr(value))
        add_to(self._block, stmt, known)

    def inline(self, func: tir.FuncOp, tensors: Sequence[Tensor]) -> None:
        """Move the body of `func` here, consuming it; its parameters become the buffers of `tensors`."""
        block = func.body.block
        for param, tensor in zip(list(block.args), tensors, strict=True):
            param.replace_all_uses_with(self._buffers[tensor.buffer])
        for op in list(block.ops):
            op.detach()
            self._add(op)

    def cell(self, name: str, dtype: str | Attribute, value: ExprLike) -> Cell:
        """Define a mutable variable that is local to the current block."""
        element = dtype_of(dtype) if isinstance(dtype, str) else dtype
        cell = Cell(self, self._allocated(name, element, 1), element)
        cell.set(value)
        return cell

    def let(self, name: str, value: PrimExpr) -> PrimExpr:
        """Bind the current value of `value` to a name."""
        self._add(op := tir.LetOp(self._place(value)))
        set_name(op.result, name)
        return PrimExpr(self._placeholder(op.result, name))

    def array(self, name: str, dtype: Attribute, extent: int) -> Array:
        """Define `extent` mutable variables local to the current block; each must be set before it is read."""
        return Array(self, self._allocated(name, dtype, extent), dtype)

    def _allocated(self, name: str, dtype: Attribute, extent: int) -> SSAValue:
        alloc = tir.AllocBufferOp(tir.BufferType.of([Const(extent)], dtype))
        set_name(alloc.result, name)
        self._add_first(alloc)
        return self._placeholder(alloc.result, name)

    @contextmanager
    def _inside(self, block: Block) -> Iterator[None]:
        outside, self._block = self._block, block
        yield
        self._block = outside

    @contextmanager
    def loop(
        self,
        name: str,
        extent: SymExpr | PrimExpr,
        parallel: bool = False,
        written_out: bool = False,
        vectorized: bool = False,
        separate: bool = False,
    ) -> Iterator[PrimExpr]:
        """Add `for name in range(extent)`, with an int64 variable if the extent is computed.

        The iterations of a `parallel` loop are independent, those of a `vectorized` one are lanes of vectors. A
        `written_out` loop has a constant extent and is unrolled before it reaches LLVM; so is a `separate` one, whose
        iterations follow chains of loads side by side and must not become vectors.
        """
        bound = extent if isinstance(extent, SymExpr) else self._place(extent)
        dtype = bound.dtype if isinstance(bound, SymExpr) else i64
        body = Block(arg_types=[dtype])
        set_name(body.args[0], name)
        kind = tir.ForKind.VECTORIZED if vectorized else tir.ForKind.PARALLEL if parallel else tir.ForKind.SERIAL
        names = [tir.WRITTEN_OUT_LATE] * (written_out or separate) + [tir.SEPARATE_LANES] * separate
        annotations: dict[str, Any] | None = dict.fromkeys(names, True) or None
        self._add(tir.ForOp(Const(0, dtype), bound, Region(body), kind, annotations=annotations))
        with self._inside(body):
            yield PrimExpr(self._placeholder(body.args[0], name))

    @contextmanager
    def loops(self, name: str, dims: Sequence[SymExpr], parallel: bool = False, first: int = 0) -> Iterator[Indices]:
        """Add nested loops `name0`, `name1`, … over `dims`, the outermost of them `parallel`."""
        if not dims:
            yield ()
            return
        with (
            self.loop(f"{name}{first}", dims[0], parallel) as i,
            self.loops(name, dims[1:], first=first + 1) as rest,
        ):
            yield (i, *rest)

    @contextmanager
    def when(self, condition: PrimExpr) -> Iterator[None]:
        """`if condition:`"""
        body = Block()
        self._add(tir.IfOp(self._place(condition), Region(body)))
        with self._inside(body):
            yield

    @contextmanager
    def repeat_while(self, condition: PrimExpr) -> Iterator[None]:
        """`while condition:`"""
        test, body = Block(), Block()
        test.add_op(tir.YieldOp(place(condition, test, dict(self._buffers))))
        self._add(tir.WhileOp(Region(test), Region(body)))
        with self._inside(body):
            yield
