"""Seeds and offsets for the random operators of imported functions."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...diagnostics import UnsupportedError
from ...handles.relax.calls import call_packed
from ...handles.relax.expr import Expr, TupleGetItem, Var, const
from ...handles.struct_info import TensorStructInfo, TupleStructInfo
from ...runtime.random_state import OFFSETS
from ..block_builder import BlockBuilder
from .errors import InputError
from .relax_operators import R

Seed = int | Literal["input"] | None
"""The importer option for the seed of a function's random numbers.

None uses the state of the runtime: each call draws different numbers, reproducible with
`runtime.manual_seed`. With an integer all calls draw the same numbers. `"input"` adds two parameters to the
function, `seed` and `offset`, int64 of rank 0.
"""


class RandomNumbers:
    """Assigns a seed and an offset to each random operator of a function.

    Raises `InputError` for an invalid `seed`.
    """

    def __init__(self, builder: BlockBuilder, seed: Seed = None):
        self._builder = builder
        self._is_state = seed is None
        self._drawn = 0
        self._first: tuple[Expr, Expr] | None = None
        self.params: list[Var] = []
        """Parameters of the function, where the seed is one."""
        if seed == "input":
            scalar = TensorStructInfo((), "int64")
            self.params = [Var("seed", scalar), Var("offset", scalar)]
            self._first = self.params[0], self.params[1]
        elif isinstance(seed, int) and not isinstance(seed, bool) and -(1 << 63) <= seed < 1 << 63:
            self._first = const(np.int64(seed), "int64"), const(np.int64(0), "int64")
        elif not self._is_state:
            raise InputError("a seed is an integer of 64 bits", expected="an int, 'input' or None", found=repr(seed))

    def draw(self, seed: int | None = None) -> tuple[Expr, Expr]:
        """Return the seed and the offset of the next operator; the offset is 0 if the operator has its own `seed`.

        Raises `UnsupportedError` in the body of a loop, whose iterations would draw the same numbers, and if there
        are more operators than offsets per call.
        """
        if self._builder.loop_depth:
            raise UnsupportedError("random numbers in a loop, whose iterations would draw the same ones")
        if seed is not None:
            return const(np.int64(seed), "int64"), const(np.int64(0), "int64")
        if self._drawn == OFFSETS:
            raise UnsupportedError("more operators that draw random numbers than a call has offsets", found=OFFSETS + 1)
        key, offset = self._first = self._first or self._of_runtime()
        self._drawn += 1
        if self._drawn > 1:
            offset = self._builder.emit(R.add(offset, const(np.int64(self._drawn - 1), "int64")))
        return key, offset

    def _of_runtime(self) -> tuple[Expr, Expr]:
        scalar = TensorStructInfo((), "int64")
        self._builder.mark_impure()
        with self._builder.at_head():
            call = call_packed("relax.run.random_state", sinfo_args=TupleStructInfo([scalar, scalar]))
            state = self._builder.emit(call, "random_state")
            seed = self._builder.emit(TupleGetItem(state, 0), "seed")
            return seed, self._builder.emit(TupleGetItem(state, 1), "offset")
