"""Symbolic semantics of the host dialect: tensors at offsets of one arena, which clobber each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.interpreter import PythonValues
from xdsl.ir import Operation

from ..dialects import tir
from ..dialects.dtypes import numpy_dtype
from ..dialects.host import ArenaOp, CallDPSOp, KernelOp, TensorOp, ViewOp
from ..interpreter.environment import Implementation
from ..interpreter.machine import Machine, Steps
from .terms import NotCoveredError, Terms


@dataclass
class _Placed:
    """A tensor of the arena: its elements, flat, and the bytes that they take."""

    elements: Terms
    first: int

    @property
    def width(self) -> int:
        return self.elements.dtype.itemsize

    @property
    def last(self) -> int:
        return self.first + self.elements.size * self.width

    def meets(self, other: _Placed) -> bool:
        return self.first < other.last and other.first < self.last


class SymbolicHost:
    """Memory of the running function: what a kernel writes into one tensor is lost in others at the same bytes."""

    def __init__(self, relax: Any):
        self.relax = relax
        self.env = relax.env
        self._size = 0
        self._placed: list[_Placed] = []

    def table(self) -> dict[type[Operation], Implementation]:
        return {
            ArenaOp: self._arena,
            TensorOp: self._tensor,
            ViewOp: self._view,
            KernelOp: self._kernel,
            CallDPSOp: _foreign,
        }

    def _arena(self, _i: Machine, op: ArenaOp, _args: PythonValues) -> PythonValues:
        self._size, self._placed = self.env.evaluate(op.size.data), []
        return ()

    def _tensor(self, _i: Machine, op: TensorOp, _args: PythonValues) -> PythonValues:
        t = op.tensor_type
        tensor = self.env.unwritten(numpy_dtype(t.element), self.env.shape(t.dims or ()))  # pyright: ignore[reportArgumentType]
        if op.offset is not None:
            placed = _Placed(tensor.reshape(-1), self.env.evaluate(op.offset.data))
            if placed.first < 0 or placed.last > self._size:
                raise NotCoveredError("a tensor leaves the arena")
            self._placed.append(placed)
        return (tensor,)

    def _view(self, _i: Machine, op: ViewOp, args: PythonValues) -> PythonValues:
        t = op.tensor_type
        shape, dtype = self.env.shape(t.dims or ()), numpy_dtype(t.element)  # pyright: ignore[reportArgumentType]
        source = args[0]
        if source.dtype != dtype:
            raise NotCoveredError("a tensor is viewed as another dtype")
        first = 0 if op.offset is None else self.env.evaluate(op.offset.data)
        if first % dtype.itemsize:
            raise NotCoveredError("a view begins inside an element")
        start = first // dtype.itemsize
        return (source.reshape(-1)[start : start + int(np.prod(shape))].reshape(shape),)

    def _kernel(self, interpreter: Machine, op: KernelOp, args: PythonValues) -> Steps:
        func = interpreter.get_op_for_symbol(op.callee)
        if not isinstance(func, tir.FuncOp):
            raise NotCoveredError(f"the kernel @{op.callee_name} is lowered")
        scalars = [np.int64(self.env.evaluate(e)) for e in op.scalars]
        before = [p.elements.copy() for p in self._placed]
        yield self.relax.tir.call(interpreter, func, (*args, *scalars))
        self._clobber(before, args)
        return ()

    def _clobber(self, before: Sequence[Terms], args: Sequence[Any]) -> None:
        """Make elements unknown whose bytes a call wrote as those of another tensor."""
        for tensor, old in zip(list(self._placed), before, strict=True):
            changed = np.flatnonzero(tensor.elements.data != old.data)
            if not changed.size:
                continue
            for other in self._placed:
                if other is tensor or not tensor.meets(other):
                    continue
                if _is_argument(other, args):
                    raise NotCoveredError("a kernel reads and writes the same bytes")
                starts = tensor.first + changed * tensor.width - other.first
                lost = {int(b) // other.width for s in starts for b in range(int(s), int(s) + tensor.width)}
                for at in (e for e in lost if 0 <= e < other.elements.size):
                    other.elements[at : at + 1] = self.env.unwritten(other.elements.dtype, (1,))


def _is_argument(tensor: _Placed, args: Sequence[Any]) -> bool:
    return any(isinstance(a, Terms) and np.may_share_memory(a.data, tensor.elements.data) for a in args)


def _foreign(_i: Machine, op: CallDPSOp, _args: PythonValues) -> PythonValues:
    raise NotCoveredError(f"a foreign function ({op.func.data})")
