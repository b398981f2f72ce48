"""Stages of a tile that are emitted by the rules for other stages: their elements are defined by functions, not by tir.

writer.write([(rows, False), (keys, True)], larger, at(top, 1), begin)
    ->
the loops of the first rule that fits   for i in rows: for j in keys: top[i] = larger(i, j)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Block, Region, SSAValue

from ....diagnostics import TiraxError
from ....dialects import tir
from ....dialects.names import set_name
from ....dialects.sym.expr import SymExpr
from ....dialects.tir import BufferType
from ...loop_builder import LoopBuilder
from ..analysis.plan import Machine
from ..analysis.stages import Iter, Stage, element_type
from ..library.epilogue import Epilogue
from ..policy.choices import first_fit
from ..policy.rules import rules

Write = Callable[[LoopBuilder, list[SSAValue]], SSAValue]
"""Builds the value of an element, from its position along each iterator."""
Place = Callable[[LoopBuilder, list[SSAValue]], tuple[SSAValue, list[SSAValue]]]
"""Returns the buffer in which an element is stored, and its indices."""
Extents = Sequence[tuple[SymExpr, bool]]
"""The iterators of a stage: the number of values, and whether they are reduced."""


def at(buffer: SSAValue, rank: int) -> Place:
    """Return the element of a buffer whose indices are the first iterators."""
    return lambda inner, v: (buffer, v[:rank])


def in_row(buffer: SSAValue, i: SSAValue) -> Place:
    """Return the element of row i of a buffer with one or two dimensions."""
    rank = len(cast(BufferType, buffer.type).dims) - 1
    return lambda inner, v: (buffer, [i, *v[:rank]])


def previous_value(buffer: SSAValue) -> Write:
    """Return the current value of a buffer, to continue a sum."""
    return lambda inner, v: inner.load(buffer, v[: len(cast(BufferType, buffer.type).dims)])


def begin_of(stage: Stage) -> Write:
    """Return the initial value of a reduction."""
    init = stage.init
    assert init is not None
    return lambda inner, _: inner.cloner()(init.value)


@dataclass(frozen=True)
class StageWriter:
    """Emits stages for a machine; their iterators are of `dtype`."""

    loops: LoopBuilder
    machine: Machine
    dtype: IntegerType

    def buffer(self, shape: Sequence[SymExpr | int], like: SSAValue, name: str) -> SSAValue:
        """Return a buffer with the element type of another one."""
        buffer = self.loops.scratch(shape, element_type(like))
        set_name(buffer, name)
        return buffer

    def write(
        self,
        extents: Extents,
        value: Write,
        to: Place,
        begin: Write | None = None,
        epilogue: tuple[Write, Place] | None = None,
    ) -> None:
        """Emit loops over `extents` that store `value` in `to`, or the result of `epilogue` where that specifies."""
        stage = self._stage(extents, value, to, begin)
        finished = Epilogue(stage)
        if epilogue is not None:
            last = self._stage([it for it in extents if not it[1]], *epilogue)
            finished = Epilogue(stage, last, tuple(zip(stage.spatial, last.iters, strict=True)))
        decision = first_fit(rules(), finished, self.machine)
        if decision is None:
            raise TiraxError("no rule fits a stage of a tile")
        decision.emit(self.loops)
        for part in dict.fromkeys((finished.stage.root, finished.last.root)):
            part.erase(safe_erase=False)

    def _stage(self, extents: Extents, value: Write, to: Place, begin: Write | None = None) -> Stage:
        """Return a stage that is not in a function, as input for rules."""
        block = Block(arg_types=[self.dtype] * len(extents))
        inner = LoopBuilder(block)
        v: list[SSAValue] = list(block.args)
        init = None
        if begin is not None:
            first = Block()
            with inner.inside(first):
                init = _store(inner, v, begin, to)
            inner.insert(tir.InitOp(Region(first)))
        store = _store(inner, v, value, to)
        root = tir.BlockOp("tile", [], Region(block))
        iters = [Iter(var, extent, reduce) for var, (extent, reduce) in zip(v, extents, strict=True)]
        return Stage(root, root, iters, store, init)


def _store(inner: LoopBuilder, v: list[SSAValue], value: Write, to: Place) -> tir.StoreOp:
    buffer, place = to(inner, v)
    store = tir.StoreOp(value(inner, v), buffer, place)
    inner.insert(store)
    return store
