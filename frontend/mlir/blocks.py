"""Structured operations as loops around a block of tir."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ...diagnostics import ShapeError, UnsupportedError
from ...dialects import tir
from ...dialects.names import set_name
from ...dialects.sym.expr import Const, SymExpr
from ...ir.buffers.regions import infer_regions
from ...ir.locations import location_of
from .payload import Outer, Payload, affine_index
from .scalars import Expressions
from .structured import Structured

Dims = Sequence[SymExpr]
Place = Callable[[Expressions, Sequence[SSAValue]], "tuple[SSAValue, Sequence[SSAValue]]"]
"""Where the element at some indices of a value is: a buffer, and the indices there."""


def direct(buffer: SSAValue) -> Place:
    """Return the places of a value that has a buffer of its own."""
    return lambda e, indices: (buffer, indices)


def extents_of(s: Structured, dims: Mapping[SSAValue, Dims], at: Operation) -> list[SymExpr]:
    """Return the extent of each iterator, of the dimensions that it indexes by itself.

    Raises `UnsupportedError` if there is none, `ShapeError` for dimensions of different sizes.
    """
    extents: list[SymExpr | None] = [None] * len(s.reductions)
    for value, indices in zip((*s.inputs, *s.outputs), s.maps, strict=True):
        for size, index in zip(dims.get(value, ()), indices, strict=False):
            if not isinstance(index, AffineDimExpr):
                continue
            known = extents[index.position]
            if known is None or (known.constant is None and size.constant is not None):
                extents[index.position] = size
            elif None not in (known.constant, size.constant) and known != size:
                raise ShapeError(
                    f"the operands of '{at.name}' do not fit together",
                    location=location_of(at),
                    expected=f"{known} elements along iterator {index.position}",
                    found=str(size),
                )
    if None in extents:
        raise UnsupportedError(f"'{at.name}' has an iterator of unknown extent", location=location_of(at))
    return [e for e in extents if e is not None]


@dataclass(frozen=True)
class Storage:
    """Where the elements of a structured operation are.

    `starts` are the initial values of the outputs: their places, a constant, or None if the outputs have them already.
    """

    inputs: Mapping[SSAValue, Place]
    outputs: Sequence[Place]
    starts: list[Place | tir.ConstOp | None]
    outer: Outer


def append_loops(target: Block, s: Structured, extents: Sequence[SymExpr | SSAValue], storage: Storage) -> None:
    """Append loops around the body of `s`, in place: without a block, for indices that depend on loops around."""
    inner, loop_vars = _nest(target, extents)
    _fill(inner, s, storage, loop_vars)


def _nest(target: Block, extents: Sequence[SymExpr | SSAValue]) -> tuple[Block, list[SSAValue]]:
    block, loop_vars = target, list[SSAValue]()
    for number, extent in enumerate(extents):
        body = Block(arg_types=[i64])
        set_name(body.args[0], f"i{number}")
        block.add_op(tir.ForOp(Const(0), extent, Region(body)))
        block, loop_vars = body, [*loop_vars, body.args[0]]
    return block, loop_vars


def append_copy(target: Block, dims: Dims, start: Place | tir.ConstOp, output: Place, outer: Outer) -> None:
    """Append a block that gives an output its initial values."""

    def compute(p: Payload, ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if isinstance(start, tir.ConstOp):
            return [p.add(start.clone())]
        return [p.add(tir.LoadOp(*start(p, p.iters[: len(dims)])))]

    every = tuple(AffineExpr.dimension(d) for d in range(len(dims)))
    s = Structured("copy", (), (), [False] * len(dims), [every], compute, updates=False)
    append_block(target, s, dims, Storage({}, [output], [None], outer))


def append_block(target: Block, s: Structured, extents: Dims, storage: Storage) -> None:
    """Append the loops and the block of `s`."""
    block, loop_vars = _nest(target, extents)
    kinds = [tir.IterKind.REDUCE if reduction else tir.IterKind.SPATIAL for reduction in s.reductions]
    iters = list(zip(kinds, loop_vars, extents, strict=True))
    if not iters:
        zero = tir.ConstOp(0, i64)
        block.add_op(zero)
        iters = [(tir.IterKind.SPATIAL, zero.result, Const(1))]
    inner = Block(arg_types=[i64] * len(iters))
    for number, arg in enumerate(inner.args):
        set_name(arg, f"v{number}")
    _fill(inner, s, storage, inner.args)
    result = tir.BlockOp(s.name, iters, Region(inner))
    infer_regions(result)
    block.add_op(result)


def _fill(inner: Block, s: Structured, storage: Storage, iters: Sequence[SSAValue]) -> None:
    p = Payload(inner, iters, storage.outer, {})
    maps = [[affine_index(p, index, iters) for index in indices] for indices in s.maps]
    ins = [
        p.add(tir.LoadOp(*storage.inputs[value](p, indices))) if value in storage.inputs else p.value(value)
        for value, indices in zip(s.inputs, maps, strict=False)
    ]
    places = maps[len(s.inputs) :]
    outs: list[SSAValue] = []
    if s.updates:
        if any(s.reductions):
            _initialise(inner, s, storage, iters)
        outs = [_start(p, storage, k, place, any(s.reductions)) for k, place in enumerate(places)]
    values = list(s.compute(p, ins, outs))
    if len(values) > 1:  # none is stored before all are computed
        values = [p.add(tir.LetOp(value)) for value in values]
    for value, output, place in zip(values, storage.outputs, places, strict=True):
        inner.add_op(tir.StoreOp(value, *output(p, place)))
    _drop_unused(inner)


def _start(p: Payload, storage: Storage, number: int, place: Sequence[SSAValue], reduced: bool) -> SSAValue:
    """Return the previous element of an output: in a reduction what it has by then, else the initial one."""
    start = None if reduced else storage.starts[number]
    if isinstance(start, tir.ConstOp):
        return p.add(start.clone())
    return p.add(tir.LoadOp(*(start or storage.outputs[number])(p, place)))


def _initialise(inner: Block, s: Structured, storage: Storage, iters: Sequence[SSAValue]) -> None:
    if all(start is None for start in storage.starts):
        return
    init = Block()
    p = Payload(init, iters, storage.outer, {})
    for output, start, indices in zip(storage.outputs, storage.starts, s.maps[len(s.inputs) :], strict=True):
        place = [affine_index(p, index, iters) for index in indices]
        if start is not None:
            value = start.clone() if isinstance(start, tir.ConstOp) else tir.LoadOp(*start(p, place))
            init.add_op(tir.StoreOp(p.add(value), *output(p, place)))
    inner.add_op(tir.InitOp(Region(init)))


def _drop_unused(block: Block) -> None:
    """Remove expressions that nothing uses: of the elements that only give an operation its window, for instance."""
    for op in reversed(list(block.ops)):
        if op.results and not any(r.uses for r in op.results):
            block.erase_op(op)
