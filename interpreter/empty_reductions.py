"""Reductions of nothing: points that a loop without iterations would reduce to are initialized all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from xdsl.interpreter import Interpreter
from xdsl.ir import Operation, OpResult, SSAValue

from ..dialects import tir
from . import scalars

Values = Callable[[Interpreter, tir.ForOp], range]
"""The values of a loop's variable."""


def initialize_points(interpreter: Interpreter, empty: tir.ForOp, values_of: Values) -> None:
    """Run the inits of the reductions in a loop without iterations, where the loop is over what is reduced alone.

    A loop over points that has no iterations has no points either.
    """
    for block in [op for op in empty.body.walk() if isinstance(op, tir.BlockOp)]:
        path = _path(block, empty)
        inits = [op for op in block.body.block.ops if isinstance(op, tir.InitOp)]
        spatial = [b for b, kind in zip(block.bindings, block.kinds, strict=True) if kind is not tir.IterKind.REDUCE]
        over_points = _sources(spatial)
        if path and inits and empty.loop_var not in over_points:
            loops = [(loop, loop.loop_var in over_points) for loop in path]
            inside = (v for init in inits for op in init.walk() for v in op.operands)
            point = _Point(block, inits, _sources([*block.operands, *inside]))
            for _ in _points(interpreter, loops, point, values_of):
                point.initialize(interpreter)


@dataclass(frozen=True)
class _Point:
    """A block with its inits; what they do not need (loads of what is empty, perhaps) is not evaluated."""

    block: tir.BlockOp
    inits: list[tir.InitOp]
    needed: set[SSAValue]

    def evaluate(self, interpreter: Interpreter, ops: Iterable[Operation]) -> None:
        for op in ops:
            if not self.needed.isdisjoint(op.results):
                results = interpreter.run_op(op, interpreter.get_values(op.operands))
                interpreter.set_values(zip(op.results, results, strict=True))

    def initialize(self, interpreter: Interpreter) -> None:
        block = self.block
        if block.predicate is not None and not interpreter.get_values((block.predicate,))[0]:
            return
        interpreter.push_scope("nothing")
        body = block.body.block
        interpreter.set_values(zip(body.args, interpreter.get_values(block.bindings), strict=True))
        self.evaluate(interpreter, body.ops)
        for init in self.inits:
            interpreter.run_ssacfg_region(init.body, (), "init")
        interpreter.pop_scope()


def _path(block: tir.BlockOp, outermost: tir.ForOp) -> list[tir.ForOp]:
    """The loops around the block from the outermost one on; none where there is something else between them."""
    loops = list[tir.ForOp]()
    parent = block.parent_op()
    while isinstance(parent, tir.ForOp):
        loops.insert(0, parent)
        if parent is outermost:
            return loops
        parent = parent.parent_op()
    return []


def _sources(values: Iterable[SSAValue]) -> set[SSAValue]:
    """The values that these are computed of, themselves included."""
    known, todo = set[SSAValue](), list(values)
    while todo:
        value = todo.pop()
        if value not in known:
            known.add(value)
            ops = value.op.walk() if isinstance(value, OpResult) else ()
            todo.extend(v for op in ops for v in op.operands)
    return known


def _points(
    interpreter: Interpreter, loops: list[tuple[tir.ForOp, bool]], point: _Point, values_of: Values
) -> Iterator[None]:
    """Once for each point, with what the block's operands need; loops over what is reduced stand at their start."""
    (loop, over_points), *inner = loops
    values = values_of(interpreter, loop)
    for value in values if over_points else (values.start,):
        interpreter.push_scope("nothing")
        interpreter.set_values([(loop.loop_var, scalars.of_type(value, loop.loop_var.type))])
        point.evaluate(interpreter, loop.body.block.ops)
        if inner:
            yield from _points(interpreter, inner, point, values_of)
        else:
            yield
        interpreter.pop_scope()
