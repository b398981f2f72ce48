"""Empty reductions: initialize points that no iteration of the surrounding loops reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product

from xdsl.interpreter import Interpreter
from xdsl.ir import Operation, SSAValue

from ..dialects import tir
from ..dialects.sym.expr import SymExpr
from ..ir.affine.init_nest import InitNest, sources
from . import scalars
from .environment import Environment

Values = Callable[[Interpreter, tir.ForOp], range]
"""A function that returns the values of a loop's variable."""


def has_nothing(interpreter: Interpreter, nest: InitNest, env: Environment) -> bool:
    """Return whether the reduction has no iterations."""
    return any(
        (env.evaluate(c) if isinstance(c, SymExpr) else int(interpreter.get_values((c,))[0])) <= 0 for c in nest.counts
    )


class InitRun:
    """Execution of a nest's init at each of its points."""

    def __init__(self, interpreter: Interpreter, nest: InitNest, env: Environment, values_of: Values):
        self.interpreter = interpreter
        self.nest = nest
        self.values_of = values_of
        self.needed = sources(nest.needed)
        block = nest.block
        firsts, extents = env.shape(block.mins), env.shape(block.extents)
        self.domains = [range(first, first + extent) for first, extent in zip(firsts, extents, strict=True)]

    def run(self) -> None:
        """Run the init at all points, in scopes of their own: required values of the loop bodies are recomputed."""
        for _ in self.points(self.nest.path):
            for free in product(*(self.domains[i] for i in self.nest.free)):
                self.initialize(dict(zip(self.nest.free, free, strict=True)))

    def points(self, path: tuple[tir.ForOp, ...]) -> Iterator[None]:
        """Yield once for each point; the variables of loops that do not surround the init have the value 0."""
        if not path:
            yield
            return
        loop, *inner = path
        kept = loop in self.nest.kept
        for value in self.values_of(self.interpreter, loop) if kept else (0,):
            self.interpreter.push_scope("nothing")
            self.define({loop.loop_var: value})
            self.evaluate(loop.body.block.ops)
            yield from self.points(tuple(inner))
            self.interpreter.pop_scope()

    def define(self, values: Mapping[SSAValue, int]) -> None:
        self.interpreter.set_values((v, scalars.of_type(value, v.type)) for v, value in values.items())

    def evaluate(self, ops: Iterable[Operation]) -> None:
        """Evaluate the operations that the init needs; others, such as loads from empty buffers, may be undefined."""
        for op in ops:
            if not self.needed.isdisjoint(op.results):
                results = self.interpreter.run_op(op, self.interpreter.get_values(op.operands))
                self.interpreter.set_values(zip(op.results, results, strict=True))

    def initialize(self, free: Mapping[int, int]) -> None:
        """Run the init with block iterators set by the loop variables, and `free` for the others."""
        nest, block = self.nest, self.nest.block
        if not all(self.interpreter.get_values(nest.conditions)):
            return
        driven = {i: int(self.interpreter.get_values((block.bindings[i],))[0]) for i in nest.bound_iterators}
        if nest.bounded and not all(value in self.domains[i] for i, value in driven.items()):
            return
        known = {**free, **driven}
        self.interpreter.push_scope("init")
        self.define({var: known.get(i, self.domains[i].start) for i, var in enumerate(block.iter_vars)})
        self.evaluate(block.body.block.ops)
        self.interpreter.run_ssacfg_region(nest.init.body, (), "init")
        self.interpreter.pop_scope()
