"""Reductions of nothing: points that a loop without iterations would reduce to are initialized all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

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
            for _ in _points(interpreter, loops, block, values_of):
                _run_inits(interpreter, block, inits)


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
            todo.extend(value.op.operands if isinstance(value, OpResult) else ())
    return known


def _points(
    interpreter: Interpreter, loops: list[tuple[tir.ForOp, bool]], block: tir.BlockOp, values_of: Values
) -> Iterator[None]:
    """Once for each point, with what the block's operands need; loops over what is reduced stand at their start."""
    (loop, over_points), *inner = loops
    values = values_of(interpreter, loop)
    following: Operation = inner[0][0] if inner else block
    for value in values if over_points else (values.start,):
        interpreter.push_scope("nothing")
        interpreter.set_values([(loop.loop_var, scalars.of_type(value, loop.loop_var.type))])
        _run_before(interpreter, following)
        if inner:
            yield from _points(interpreter, inner, block, values_of)
        else:
            yield
        interpreter.pop_scope()


def _run_before(interpreter: Interpreter, last: Operation) -> None:
    """Run the expressions of the block up to `last`."""
    for op in last.parent.ops if last.parent else ():
        if op is last:
            return
        if op.results:
            results = interpreter.run_op(op, interpreter.get_values(op.operands))
            interpreter.set_values(zip(op.results, results, strict=True))


def _run_inits(interpreter: Interpreter, block: tir.BlockOp, inits: list[tir.InitOp]) -> None:
    if block.predicate is not None and not interpreter.get_values((block.predicate,))[0]:
        return
    interpreter.push_scope("nothing")
    interpreter.set_values(zip(block.body.block.args, interpreter.get_values(block.bindings), strict=True))
    for init in inits:
        interpreter.run_ssacfg_region(init.body, (), "init")
    interpreter.pop_scope()
