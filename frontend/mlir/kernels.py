"""Functions on memrefs become tensor functions, loop by loop; linalg's operations become blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects import affine, cf, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, MemRefType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from ...diagnostics import UnsupportedError
from ...dialects import tir
from ...dialects.names import set_name
from ...dialects.sym import ValueOp
from ...dialects.sym.expr import Const, SymExpr, Var
from ...ir.locations import location_of
from ...ir.names import NameSupply
from ..importing.callee import callee_of
from .blocks import Place, Storage, append_block, append_loops, direct, extents_of
from .payload import affine_index
from .scalars import RULES, Expressions, expression, scalar_type
from .sizes import size_of
from .structured import attribute, element_of, integers, rank, structured


class Kernel:
    """A tensor function in the making, of a function on memrefs."""

    def __init__(self, functions: dict[str, func.FuncOp]):
        self.functions = functions
        self.e = Expressions(Block())
        self.known: dict[SSAValue, SSAValue] = {}
        self.sizes: dict[SSAValue, SymExpr] = {}
        self.places: dict[SSAValue, Place] = {}
        self.whole: set[SSAValue] = set()
        """Memrefs that are buffers, not parts of one."""
        self.dims: dict[SSAValue, Sequence[SymExpr]] = {}
        self._open: list[func.FuncOp] = []

    # -- values ------------------------------------------------------------------------------------------------------

    def value(self, value: SSAValue) -> SSAValue:
        """Return the expression of a scalar."""
        known = self.known.get(value)
        if known is not None:
            return known
        size = self.sizes.get(value)
        if size is None:
            raise UnsupportedError("a value from outside of the function", location=_place_of(value))
        if size.constant is not None:
            return self.e.const(size.constant, scalar_type(value.type))
        return self.e.cast(self.e.add(ValueOp(size)), scalar_type(value.type))

    def values(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        return [self.value(v) for v in values]

    def new_buffer(self, value: SSAValue, buffer: SSAValue) -> None:
        """Remember that a memref is a buffer."""
        self.places[value] = direct(buffer)
        self.whole.add(value)
        self.dims[value] = cast(tir.BufferType, buffer.type).dims

    def cell(self, dtype: Attribute) -> SSAValue:
        """Return a new variable: a buffer with one element."""
        return self.e.add(tir.AllocBufferOp(tir.BufferType.of([Const(1)], dtype)))

    def cells(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        """Return new variables with these values."""
        cells = [self.cell(v.type) for v in values]
        self.set(cells, values)
        return cells

    def get(self, cell: SSAValue) -> SSAValue:
        """Return the value of a variable at this point."""
        return self.e.add(tir.LetOp(self.e.add(tir.LoadOp(cell, [self.e.const(0, i64)]))))

    def set(self, cells: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        """Assign variables."""
        for cell, value in zip(cells, values, strict=True):
            self.e.block.add_op(tir.StoreOp(value, cell, [self.e.const(0, i64)]))

    # -- statements --------------------------------------------------------------------------------------------------

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Append to a block."""
        outer, self.e = self.e, Expressions(block)
        yield
        self.e = outer

    def run(self, block: Block) -> list[SSAValue]:
        """Translate the operations of a block; return what its terminator takes."""
        for op in block.ops:
            if op.name in _ENDS:
                return list(op.operands)
            self.statement(op)
        return []

    def statement(self, op: Operation) -> None:
        """Translate an operation. Raises `UnsupportedError` for one without a rule."""
        rule = _STATEMENTS.get(op.name)
        if rule is not None:
            rule(self, op)
        elif self._size(op):
            return
        elif op.name in RULES and not any(rank(r) for r in op.results):
            self.known[op.results[0]] = expression(self.e, op, self.values(op.operands))
        else:
            self._structured(op)

    def _size(self, op: Operation) -> bool:
        value = op.properties.get("value")
        if op.name == "arith.constant" and isinstance(value, IntegerAttr) and isinstance(value.type, IndexType):
            self.sizes[op.results[0]] = Const(value.value.data)
            return True
        if not op.operands or not isinstance(op.operands[0].type, IndexType):
            return False
        known = [self.sizes[v] for v in op.operands if v in self.sizes]
        result = size_of(op, known) if len(known) == len(op.operands) else None
        if not isinstance(result, SymExpr):
            return False
        self.sizes[op.results[0]] = result
        return True

    def _structured(self, op: Operation) -> None:
        s = structured(op)
        if s is None or op.results:
            raise UnsupportedError(
                f"'{op.name}' in a function on memrefs",
                location=location_of(op),
                hint="docs/mlir.md lists what is read",
            )
        memrefs = [v for v in (*s.inputs, *s.outputs) if rank(v)]
        extents = extents_of(s, {v: self.dims[v] for v in memrefs}, op)

        def outer(e: Expressions, value: SSAValue) -> SSAValue:
            with self.inside(e.block):
                return self.value(value)

        inputs = {v: self.places[v] for v in s.inputs if v in self.places}
        storage = Storage(inputs, [self.places[v] for v in s.outputs], [None] * len(s.outputs), outer)
        append = append_block if all(v in self.whole for v in memrefs) else append_loops
        append(self.e.block, s, extents, storage)

    # -- loops -------------------------------------------------------------------------------------------------------

    def loop(
        self,
        low: SymExpr | SSAValue,
        high: SymExpr | SSAValue,
        step: SymExpr | SSAValue,
        body: Callable[[SSAValue], None],
        kind: tir.ForKind = tir.ForKind.SERIAL,
        type: Attribute = i64,
    ) -> None:
        """Append a loop from `low` to `high`; `body` takes the index."""
        simple = isinstance(step, SymExpr) and step.constant == 1
        if simple and isinstance(low, SymExpr) and isinstance(high, SymExpr):
            first: SymExpr | SSAValue = low
            extent: SymExpr | SSAValue = high - low
        else:
            start, end, by = (self.number(v, type) for v in (low, high, step))
            count = self.e.binary("sub", end, start)
            first = Const(0, type) if not simple else start  # type: ignore[arg-type]
            extent = count if simple else self._rounded_up(count, by)
        block = Block(arg_types=[type])
        set_name(block.args[0], "i")
        self.e.block.add_op(tir.ForOp(first, extent, Region(block), kind))
        with self.inside(block):
            index = block.args[0]
            if not simple:
                index = self.e.binary(
                    "add", self.number(low, type), self.e.binary("mul", index, self.number(step, type))
                )
            body(index)

    def number(self, value: SymExpr | SSAValue, type: Attribute) -> SSAValue:
        """Return a size or a value as an expression."""
        if isinstance(value, SSAValue):
            return value
        return self.e.const(value.constant, type) if value.constant is not None else self.e.add(ValueOp(value))

    def _rounded_up(self, count: SSAValue, step: SSAValue) -> SSAValue:
        zero = self.e.const(0, count.type)
        return self.e.binary("sub", zero, self.e.binary("floordiv", self.e.binary("sub", zero, count), step))

    def carried(self, values: Sequence[SSAValue], block_args: Sequence[SSAValue]) -> list[SSAValue]:
        """Return variables for what a loop carries."""
        return self.cells(self.values(values)) if block_args else []

    def enter(self, cells: Sequence[SSAValue], args: Sequence[SSAValue]) -> None:
        """Give the arguments of a body the values of variables."""
        for cell, arg in zip(cells, args, strict=True):
            self.known[arg] = self.get(cell)

    def leave(self, cells: Sequence[SSAValue], values: Sequence[SSAValue]) -> None:
        """Assign the yielded values of a body, all of which are computed first."""
        self.set(cells, [self.e.add(tir.LetOp(v)) for v in self.values(values)])

    def bound(self, value: SSAValue) -> SymExpr | SSAValue:
        """Return a bound of a loop as a size if it is one."""
        return self.sizes.get(value) or self.value(value)


def _place_of(value: SSAValue) -> Any:
    return location_of(value.owner if isinstance(value.owner, Operation) else None)


def _for(k: Kernel, op: scf.ForOp) -> None:
    bounds = k.bound(op.lb), k.bound(op.ub), k.bound(op.step)
    _carrying_loop(k, op.body.block, op.iter_args, op.results, bounds, scalar_type(op.lb.type))


def _carrying_loop(
    k: Kernel,
    block: Block,
    inits: Sequence[SSAValue],
    results: Sequence[SSAValue],
    bounds: tuple[SymExpr | SSAValue, SymExpr | SSAValue, SymExpr | SSAValue],
    index_type: Attribute = i64,
) -> None:
    """Add a loop over `bounds` (first, end, step) whose body takes the index and the values that it carries."""
    cells = k.carried(inits, block.args[1:])

    def body(index: SSAValue) -> None:
        k.known[block.args[0]] = index
        k.enter(cells, block.args[1:])
        k.leave(cells, k.run(block))

    k.loop(*bounds, body, type=index_type)
    k.enter(cells, results)


def _parallel(k: Kernel, op: scf.ParallelOp) -> None:
    if op.results:
        raise UnsupportedError("'scf.parallel' with a reduction", location=location_of(op))
    block = op.body.block
    bounds = list(zip(op.lowerBound, op.upperBound, op.step, block.args, strict=True))

    def nest(rest: Sequence[tuple[SSAValue, ...]], kind: tir.ForKind) -> None:
        if not rest:
            k.run(block)
            return
        low, high, step, arg = rest[0]

        def body(index: SSAValue) -> None:
            k.known[arg] = index
            nest(rest[1:], tir.ForKind.SERIAL)

        k.loop(k.bound(low), k.bound(high), k.bound(step), body, kind)

    nest(bounds, tir.ForKind.PARALLEL)


def _affine_bound(k: Kernel, data: AffineMap, operands: Sequence[SSAValue], name: str) -> SymExpr | SSAValue:
    (first, *rest) = data.results
    if not rest and not operands:
        return Const(data.eval([], [])[0])
    numbers = k.values(operands)
    dims, symbols = numbers[: data.num_dims], numbers[data.num_dims :]
    value = affine_index(k.e, first, dims, symbols)
    for other in rest:
        value = k.e.binary(name, value, affine_index(k.e, other, dims, symbols))
    return value


def _affine_for(k: Kernel, op: affine.ForOp) -> None:
    low = _affine_bound(k, op.lowerBoundMap.data, op.lowerBoundOperands, "max")
    high = _affine_bound(k, op.upperBoundMap.data, op.upperBoundOperands, "min")
    _carrying_loop(k, op.body.block, op.inits, op.results, (low, high, Const(op.step.value.data)))


def _if(k: Kernel, op: scf.IfOp) -> None:
    cells = [k.cell(scalar_type(r.type, op)) for r in op.results]
    regions: list[Region] = []
    cond = k.value(op.cond)
    for region in op.regions:
        block = Block()
        with k.inside(block):
            if region.blocks:
                k.leave(cells, k.run(region.block))
        regions.append(Region(block))
    otherwise = regions[1] if regions[1].block.first_op is not None else None
    k.e.block.add_op(tir.IfOp(cond, regions[0], otherwise))
    k.enter(cells, op.results)


def _while(k: Kernel, op: scf.WhileOp) -> None:
    """`before` runs once ahead of the loop, and again at the end of each iteration."""
    before, after = op.before_region.block, op.after_region.block
    cells = k.carried(op.arguments, before.args)
    flag = k.cell(i1)
    passed = [k.cell(scalar_type(r.type, op)) for r in op.results]

    def check() -> None:
        k.enter(cells, before.args)
        cond, *rest = k.run(before)
        k.leave([flag, *passed], [cond, *rest])

    check()
    condition, body = Block(), Block()
    with k.inside(condition):
        condition.add_op(tir.YieldOp(k.e.add(tir.LoadOp(flag, [k.e.const(0, i64)]))))
    with k.inside(body):
        k.enter(passed, after.args)
        k.leave(cells, k.run(after))
        check()
    k.e.block.add_op(tir.WhileOp(Region(condition), Region(body)))
    k.enter(passed, op.results)


def _load(k: Kernel, op: memref.LoadOp) -> None:
    element = k.e.add(tir.LoadOp(*k.places[op.memref](k.e, k.values(op.indices))))
    k.known[op.res] = k.e.add(tir.LetOp(element))


def _store(k: Kernel, op: memref.StoreOp) -> None:
    buffer, indices = k.places[op.memref](k.e, k.values(op.indices))
    k.e.block.add_op(tir.StoreOp(k.value(op.value), buffer, indices))


def _affine_place(k: Kernel, op: affine.LoadOp | affine.StoreOp) -> tuple[SSAValue, Sequence[SSAValue]]:
    numbers = k.values(op.indices)
    data = cast(Any, op).map
    if data is not None:
        numbers = [
            affine_index(k.e, r, numbers[: data.data.num_dims], numbers[data.data.num_dims :])
            for r in data.data.results
        ]
    return k.places[op.memref](k.e, numbers)


def _affine_load(k: Kernel, op: affine.LoadOp) -> None:
    k.known[op.result] = k.e.add(tir.LetOp(k.e.add(tir.LoadOp(*_affine_place(k, op)))))


def _affine_store(k: Kernel, op: affine.StoreOp) -> None:
    buffer, indices = _affine_place(k, op)
    k.e.block.add_op(tir.StoreOp(k.value(op.value), buffer, indices))


def _affine_apply(k: Kernel, op: affine.ApplyOp) -> None:
    data = op.map.data
    numbers = k.values(op.mapOperands)
    k.known[op.result] = affine_index(k.e, data.results[0], numbers[: data.num_dims], numbers[data.num_dims :])


def _alloc(k: Kernel, op: memref.AllocOp | memref.AllocaOp) -> None:
    rest = iter(op.dynamic_sizes)
    kind = op.memref.type
    dims: list[SymExpr] = []
    for extent in cast("MemRefType[Attribute]", kind).get_shape():
        size = Const(extent) if extent != DYNAMIC_INDEX else k.sizes.get(next(rest))
        if size is None:
            raise UnsupportedError("an allocation whose size is computed from data", location=location_of(op))
        dims.append(size)
    k.new_buffer(op.memref, k.e.add(tir.AllocBufferOp(tir.BufferType.of(dims, element_of(op.memref)))))


def _dim(k: Kernel, op: memref.DimOp) -> None:
    axis = k.sizes[op.index].constant
    if axis is None:
        raise UnsupportedError("a dimension by a computed number", location=location_of(op))
    k.sizes[op.result] = k.dims[op.source][axis]


def _copy(k: Kernel, op: memref.CopyOp) -> None:
    source, target = k.places[op.source], k.places[op.destination]

    def nest(rest: Sequence[SymExpr], indices: list[SSAValue]) -> None:
        if rest:
            k.loop(Const(0), rest[0], Const(1), lambda index: nest(rest[1:], [*indices, index]))
            return
        element = k.e.add(tir.LoadOp(*source(k.e, indices)))
        k.e.block.add_op(tir.StoreOp(element, *target(k.e, indices)))

    nest(list(k.dims[op.source]), [])


def _cast(k: Kernel, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    k.places[result], k.dims[result] = k.places[source], k.dims[source]
    k.whole |= {result} if source in k.whole else set()


def _subview(k: Kernel, op: memref.SubviewOp) -> None:
    rest = iter(op.operands[1:])

    def numbers(name: str) -> list[SymExpr | SSAValue]:
        static = integers(attribute(op, f"static_{name}"))
        return [k.bound(next(rest)) if n == DYNAMIC_INDEX else Const(n) for n in static]

    offsets, sizes, strides = numbers("offsets"), numbers("sizes"), numbers("strides")
    if not all(isinstance(s, SymExpr) for s in sizes):
        raise UnsupportedError("a subview whose size is computed from data", location=location_of(op))
    shape = cast("MemRefType[Attribute]", op.result.type).get_shape()
    kept = _kept(cast("list[SymExpr]", sizes), shape)
    source = k.places[op.source]

    def place(e: Expressions, indices: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        with k.inside(e.block):
            places: list[SSAValue] = []
            for axis, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
                at = k.number(offset, i64)
                if axis in kept:
                    step = k.e.binary("mul", indices[kept.index(axis)], k.number(stride, i64))
                    at = k.e.binary("add", at, step)
                places.append(at)
            return source(e, places)

    k.places[op.result] = place
    k.dims[op.result] = [cast(SymExpr, sizes[a]) for a in kept]


def _kept(sizes: Sequence[SymExpr], shape: Sequence[int]) -> list[int]:
    """Return the dimensions that a type has of these: it may leave out some of extent 1."""
    drop = len(sizes) - len(shape)
    kept: list[int] = []
    for axis, size in enumerate(sizes):
        if drop and size.constant == 1:
            drop -= 1
        else:
            kept.append(axis)
    return kept


def _call(k: Kernel, op: func.CallOp) -> None:
    """A call of another function becomes its body."""
    callee = callee_of(k.functions, op.callee.string_value(), op, k._open)
    k._open.append(callee)
    for arg, value in zip(callee.args, op.arguments, strict=True):
        for table in (k.places, k.dims, k.sizes, k.known):
            if value in table:
                cast("dict[SSAValue, Any]", table)[arg] = cast("dict[SSAValue, Any]", table)[value]
        k.whole |= {arg} if value in k.whole else set()
    for result, value in zip(op.results, k.run(callee.body.block), strict=True):
        k.known[result] = k.value(value)
    k._open.pop()


def _assert(k: Kernel, op: cf.AssertOp) -> None:
    k.e.block.add_op(tir.AssertOp(k.value(op.arg), op.msg.data))


def _nothing(k: Kernel, op: Operation) -> None:
    """What has no effect here: buffers live as long as the function."""


_ENDS = frozenset(("func.return", "scf.yield", "scf.condition", "affine.yield", "scf.reduce"))
_STATEMENTS: dict[str, Callable[[Kernel, Any], None]] = {
    "scf.for": _for,
    "scf.parallel": _parallel,
    "scf.if": _if,
    "scf.while": _while,
    "affine.for": _affine_for,
    "affine.load": _affine_load,
    "affine.store": _affine_store,
    "affine.apply": _affine_apply,
    "memref.load": _load,
    "memref.store": _store,
    "memref.alloc": _alloc,
    "memref.alloca": _alloc,
    "memref.dealloc": _nothing,
    "memref.assume_alignment": _nothing,
    "memref.dim": _dim,
    "memref.copy": _copy,
    "memref.cast": _cast,
    "memref.subview": _subview,
    "func.call": _call,
    "cf.assert": _assert,
}
"""operation -> its translation."""


def kernel_of(function: func.FuncOp, functions: dict[str, func.FuncOp], labels: Sequence[str]) -> tir.FuncOp:
    """Return the tensor function of a function on memrefs and scalars, without results."""
    if function.function_type.outputs.data:
        raise UnsupportedError(
            f"@{function.sym_name.data} takes memrefs and returns values",
            location=location_of(function),
            expected="a function that writes its results into memrefs",
        )
    k = Kernel(functions)
    body = k.e.block
    sizes = NameSupply(labels)
    for arg, label in zip(function.args, labels, strict=True):
        kind = arg.type
        if isinstance(kind, MemRefType):
            shape = cast("MemRefType[Attribute]", kind).get_shape()
            dims = [Var(sizes.fresh("n")) if d == DYNAMIC_INDEX else Const(d) for d in shape]
            param = body.insert_arg(tir.BufferType.of(dims, element_of(arg)), len(body.args))
            k.new_buffer(arg, param)
        else:
            param = body.insert_arg(scalar_type(kind, function), len(body.args))
            k.known[arg] = param
            if isinstance(kind, IndexType):
                k.sizes[arg] = Var(label)
        set_name(param, label)
    k.run(function.body.block)
    return tir.FuncOp(function.sym_name.data, Region(body), attrs={"global_symbol": function.sym_name.data})
