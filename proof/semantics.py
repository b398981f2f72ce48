"""Symbolic execution of relax and tir: the interpreter's implementations, on arrays of terms.

Sizes and control are concrete, data are terms. What differs from the interpreter: memory is made of terms, and a
condition or an index that depends on data selects among terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.interpreter import PythonValues
from xdsl.ir import Operation, Region, SSAValue

from ..dialects import relax, tir
from ..dialects.dtypes import numpy_dtype, scalar_of
from ..dialects.relax import OPERATORS
from ..interpreter import scalars
from ..interpreter.environment import Environment, Implementation, TableFunctions
from ..interpreter.machine import Machine, Steps
from ..interpreter.relax import operators
from ..interpreter.relax.run import RelaxSemantics
from ..interpreter.relax.run import group as group_operands
from ..interpreter.tir import TirSemantics
from . import fingerprints as fp
from .algebra import Algebra
from .elementwise import CONCRETE, compute
from .functions import FUNCTIONS, load, words_of
from .history import History
from .host import SymbolicHost
from .terms import NotCoveredError, Terms, is_unknown

CONCRETE.update(
    {
        "erf": scalars.FLOAT_INTRINSICS["erf"],
        "rsqrt": scalars.FLOAT_INTRINSICS["rsqrt"],
        "sigmoid": scalars.sigmoid,
        "fma": scalars.FLOAT_INTRINSICS["fma"],
        "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    }
)


FIRST = "before"
"""The side of the program whose results are right by definition."""


class SymbolicEnvironment(Environment):
    """Memory whose elements are terms; a new buffer's are unknown numbers of its own."""

    def __init__(self, algebra: Algebra, side: str, packed: Mapping[str, Callable[..., Any]] | None = None):
        super().__init__(packed)
        self.algebra = algebra
        self.side = side
        self.branches = 0
        """The branches that run though data choose them."""
        self._buffers = count()
        self.assertions = set[int]()

    def new_array(self, buffer: tir.BufferType) -> Terms:
        return self.unwritten(numpy_dtype(scalar_of(buffer.dtype)), self.array_shape(buffer))

    def unwritten(self, dtype: np.dtype[Any], shape: Sequence[int]) -> Terms:
        """Return memory that nobody has written: a result that depends on it equals no other."""
        memory = Terms.atoms(self.algebra, dtype, f"unwritten {self.side} {next(self._buffers)}", shape)
        memory.data["unwritten"] = True
        return memory


class SymbolicTir(TirSemantics):
    """Tensor functions on terms."""

    env: SymbolicEnvironment

    def table(self) -> dict[type[Operation], Implementation]:
        return {
            **super().table(),
            tir.LoadOp: self._load,
            tir.StoreOp: self._store,
            tir.IfThenElseOp: self._if_then_else,
            tir.IfOp: self._if,
            tir.AssertOp: self._assert,
            tir.BroadcastOp: _broadcast,
            tir.MaskedLoadOp: self._masked_load,
            tir.AllocConstOp: lambda _i, op, _args: (Terms.lift(self.env.algebra, op.value.numpy()),),
            tir.BINARY["max"]: _extremum("maximum"),
            tir.BINARY["min"]: _extremum("minimum"),
            tir.CallIntrinOp: self._intrinsic,
            tir.ReinterpretOp: self._reinterpret,
            **dict.fromkeys(
                (tir.CallExternOp, tir.CallPureExternOp, tir.CallPackedOp), _not_covered("a foreign function")
            ),
        }

    def _load(self, i: Machine, op: tir.LoadOp, args: PythonValues) -> PythonValues:
        buffer, *indices = args
        if any(map(is_unknown, indices)):
            self._note_inside(indices, buffer.shape)
            return (load(buffer, indices),)
        return _known_if_possible(self._implementation(tir.LoadOp)(i, op, (buffer, *map(_number, indices))))

    def _store(self, i: Machine, op: tir.StoreOp, args: PythonValues) -> PythonValues:
        value, buffer, *indices = args
        if any(map(is_unknown, indices)):
            raise NotCoveredError("data decide which element is written")
        if not isinstance(buffer, Terms):
            raise NotCoveredError("a function writes into an array of numbers")
        return self._implementation(tir.StoreOp)(i, op, (value, buffer, *map(_number, indices)))

    def _note_inside(self, indices: Sequence[Any], extents: Sequence[int]) -> None:
        """Note that the first program uses these indices, whatever data are: it is undefined if one is outside."""
        if self.env.side != FIRST or self.env.branches:
            return
        for index, extent in zip(indices, extents, strict=True):
            if not is_unknown(index):
                continue
            bounds: list[tuple[str, Any, Any, bool]] = [("less", index, 0, False), ("less_equal", 0, index, True)]
            bounds += [("less_equal", index, -1, False), ("less", -1, index, True)]
            for beyond in (extent, extent + 1):
                bounds += [("less_equal", beyond, index, False), ("less", index, beyond, True)]
                bounds += [("less", beyond - 1, index, False), ("less_equal", index, beyond - 1, True)]
            for name, low, high, holds in bounds:
                condition = compute(name, low, high)
                if is_unknown(condition):
                    self.env.algebra.decided.update(dict.fromkeys(words_of(condition), holds))

    def _assert(self, i: Machine, op: tir.AssertOp, args: PythonValues) -> PythonValues:
        """Record an assertion on data, which is assumed to hold."""
        if not is_unknown(args[0]):
            return self._implementation(tir.AssertOp)(i, op, args)
        self.env.assertions.add(_word(args[0]))
        self.env.algebra.assumed.add(_word(args[0]))
        return ()

    def _decided(self, condition: Any) -> Any:
        """Return a condition, which is known where it, or its negation, has been asserted."""
        if is_unknown(condition):
            for word, value in ((_word(condition), True), (_word(compute("logical_not", condition)), False)):
                if word in self.env.algebra.assumed:
                    self.env.assertions.add(word)
                    return value
        return condition

    def _if(self, interpreter: Machine, op: tir.IfOp, args: PythonValues) -> Steps:
        """Run a branch; where data choose it, run both, and select between what they wrote."""
        condition = self._decided(args[0])
        if not is_unknown(condition):
            yield from self._branch(interpreter, op.then_region if condition else op.else_region)
            return ()
        buffers = [interpreter.get_values((b,))[0] for b in _written(op)]
        before = [b.copy() for b in buffers]
        self.env.branches += 1
        yield from self._branch(interpreter, op.then_region)
        chosen = [b.copy() for b in buffers]
        for buffer, old in zip(buffers, before, strict=True):
            buffer[...] = old
        yield from self._branch(interpreter, op.else_region)
        self.env.branches -= 1
        for buffer, other in zip(buffers, chosen, strict=True):
            buffer[...] = np.where(condition, other, buffer)
        return ()

    def _branch(self, interpreter: Machine, region: Region) -> Steps:
        if region.first_block is not None:
            yield interpreter.region(region)

    def _if_then_else(self, interpreter: Machine, op: tir.IfThenElseOp, args: PythonValues) -> Steps:
        if not is_unknown(args[0]):
            return (yield interpreter.region(op.then_region if args[0] else op.else_region))
        sides = []
        self.env.branches += 1
        for region in (op.then_region, op.else_region):
            sides += yield interpreter.region(region)
        self.env.branches -= 1
        return (np.where(args[0], *sides),)

    def _masked_load(self, i: Machine, op: tir.MaskedLoadOp, args: PythonValues) -> PythonValues:
        buffer, index, mask = args
        if is_unknown(mask):
            raise NotCoveredError("data decide which elements a vector has")
        mask = np.asarray(_number(mask))
        places = index if is_unknown(index) else np.asarray(_number(index))
        lanes = Terms.lift(self.env.algebra, np.zeros(len(mask), buffer.dtype))
        if mask.any():
            lanes[mask] = self._load(i, op, (buffer, places[mask]))[0]  # pyright: ignore[reportArgumentType]
        return (lanes,)

    def _reinterpret(self, i: Machine, op: tir.ReinterpretOp, args: PythonValues) -> PythonValues:
        """Read bits as another dtype: of integers, a function of which nothing is known."""
        (value,) = args
        dtype = numpy_dtype(scalar_of(op.result.type))
        if not is_unknown(value):
            return self._implementation(tir.ReinterpretOp)(i, op, (_number(value),))
        if value.dtype.kind not in "iu" or dtype.kind not in "iu" or value.dtype.itemsize != dtype.itemsize:
            raise NotCoveredError("bits of numbers are read as another dtype (tir.reinterpret)")
        return (value.call(f"bits as {dtype}").as_dtype(dtype),)

    def _intrinsic(self, i: Machine, op: tir.CallIntrinOp, args: PythonValues) -> PythonValues:
        if not any(map(is_unknown, args)):
            return self._implementation(tir.CallIntrinOp)(i, op, tuple(map(_number, args)))
        function = INTRINSICS.get(op.func.data)
        if function is None:
            raise NotCoveredError(f"the intrinsic '{op.func.data}' on data")
        return (function(*args),)

    def _implementation(self, cls: type[Operation]) -> Implementation:
        return self._plain[cls]

    @property
    def _plain(self) -> dict[type[Operation], Implementation]:
        if not hasattr(self, "_plain_table"):
            self._plain_table = super().table()
        return self._plain_table

    def allocate(self, _i: Any, op: tir.AllocateOp, _args: PythonValues) -> PythonValues:
        return (self.env.new_array(tir.BufferType.of(op.extents, op.dtype)).reshape(-1),)


def _written(op: tir.IfOp) -> list[SSAValue]:
    """Return the buffers from outside that the branches write. Raises `NotCoveredError` for other effects."""
    written = dict[SSAValue, None]()
    for inner in op.walk():
        if isinstance(inner, tir.StoreOp | tir.MaskedStoreOp):
            written[inner.buffer] = None
        elif isinstance(inner, tir.ReturnOp | tir.WhileOp | tir.CallOp | tir.CallPackedOp):
            raise NotCoveredError(f"data decide whether {inner.name} runs")
        elif isinstance(inner, tir.MatchBufferOp | tir.DeclBufferOp):
            raise NotCoveredError(f"data decide whether a buffer of {inner.name} is written")
    return [b for b in written if not op.is_ancestor(b.owner)]


def _word(condition: Terms) -> int:
    return int(fp.packed(condition.data["term"][..., 0, :]))


def _number(x: Any) -> Any:
    return x.numbers()[()] if isinstance(x, Terms) else x


def _known_if_possible(results: PythonValues) -> PythonValues:
    return tuple(r if is_unknown(r) else _number(r) for r in results)


def _not_covered(what: str) -> Implementation:
    def run(_i: Machine, op: Operation, _args: PythonValues) -> PythonValues:
        raise NotCoveredError(f"{what} ({op.name})")

    return run


def _extremum(name: str) -> Implementation:
    plain = {"maximum": scalars.maximum, "minimum": scalars.minimum}[name]

    def run(_i: Machine, _op: Operation, args: PythonValues) -> PythonValues:
        return (compute(name, *args) if any(map(is_unknown, args)) else plain(*map(np.asarray, map(_number, args))),)

    return run


def _broadcast(_i: Machine, op: tir.BroadcastOp, args: PythonValues) -> PythonValues:
    shape = op.result.type.get_shape()
    return (np.broadcast_to(args[0], shape) if isinstance(args[0], Terms) else np.full(shape, args[0]),)


def _function(name: str) -> Callable[..., Any]:
    return lambda *args: compute(name, *args)


_FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh "
    "arctanh arctan2 hypot erf sigmoid fmod copysign ceil floor trunc rint power fma isnan isinf isfinite absolute "
    "left_shift right_shift bitwise_and bitwise_or bitwise_xor invert"
)
_TIR_NAMES = {
    "rint": ("nearbyint",),
    "left_shift": ("left_shift", "shift_left"),
    "right_shift": ("right_shift", "shift_right"),
    "power": ("pow",),
    "absolute": ("fabs", "abs"),
    "invert": ("bitwise_not",),
    **{f"arc{name}": (f"a{name}",) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "tan2")},
}
INTRINSICS: dict[str, Callable[..., Any]] = {
    **{own: _function(name) for name in _FUNCTIONS.split() for own in _TIR_NAMES.get(name, (name,))},
    "round": lambda x: x.call("round"),
    "exp10": lambda x: x.call("exp10"),
    "strict_multiply": _function("multiply"),
    **dict.fromkeys(
        ("likely", "ignore_loop_partition", "tvm_thread_invariant", "tirax_streamed", "assume"), lambda x: x
    ),
}
"""Intrinsics of tensor functions on terms."""


class SymbolicRelax(RelaxSemantics):
    """Graphs on terms: the interpreter's operators, whose functions of numpy take terms."""

    env: SymbolicEnvironment

    def table(self) -> dict[type[Operation], Implementation]:
        return {**super().table(), relax.IfOp: self._if}

    def _if(self, interpreter: Machine, op: relax.IfOp, args: PythonValues) -> Steps:
        """Run a branch; where data choose it, run both, and select between their results."""
        if not is_unknown(args[0]):
            return (yield interpreter.region(op.then_region if bool(args[0]) else op.else_region, (), "if"))
        sides = []
        self.env.branches += 1
        for region in (op.then_region, op.else_region):
            sides.append((yield interpreter.region(region, (), "if")))
        self.env.branches -= 1
        return tuple(self._chosen(args[0], a, b) for a, b in zip(*sides, strict=True))

    def _chosen(self, condition: Terms, a: Any, b: Any) -> Any:
        if isinstance(a, tuple):
            return tuple(self._chosen(condition, x, y) for x, y in zip(a, b, strict=True))
        if not isinstance(a, Terms | np.ndarray | np.generic) or np.shape(a) != np.shape(b):
            raise NotCoveredError("data decide the shape of a result, or which object it is")
        return FUNCTIONS[np.where](self.env.algebra, condition, a, b)

    def operator(self, _i: Any, op: Any, args: PythonValues) -> PythonValues:
        name = op.name.removeprefix("relax.")
        own = RELAX.get(name) if any(map(_has_terms, args)) else None
        function = own or operators.OPERATORS.get(name)
        if function is None:
            raise NotCoveredError(f"{op.name} has no symbolic semantics")
        with np.errstate(all="ignore"):
            try:
                value = function(op, *group_operands(op, args))
            except (ValueError, IndexError, TypeError, AttributeError) as error:
                raise NotCoveredError(f"{op.name}: {error}") from error
        return (_result(self.env.algebra, value, op.result_type),)

    def outputs(self, op: Any) -> list[Any]:
        arrays = super().outputs(op)
        return [self.env.unwritten(a.dtype, a.shape) for a in arrays]


def _has_terms(value: Any) -> bool:
    return any(map(_has_terms, value)) if isinstance(value, tuple) else isinstance(value, Terms)


def _result(algebra: Algebra, value: Any, t: Any) -> Any:
    """Return an operator's result with the dtype of its type, in memory of its own."""
    if isinstance(t, relax.ShapeType):
        return value
    if isinstance(value, tuple):
        return tuple(_result(algebra, v, field) for v, field in zip(value, t.types, strict=True))
    if not isinstance(value, Terms):
        return operators.to_result(value, t)
    if t.element is None:
        return value
    dtype = numpy_dtype(t.element)
    narrow = dtype.kind not in "iub" and dtype.itemsize < 4
    return (value.astype(dtype) if narrow else value.as_dtype(dtype)).copy()


def _clip(_op: Any, x: Any, low: Any, high: Any) -> Any:
    """Return clamped numbers, in the order of the operator's loops; of limits in order, the order does not matter."""
    if not is_unknown(low) and not is_unknown(high) and np.all(_number(low) <= _number(high)):
        return compute("maximum", compute("minimum", x, high), low)
    return compute("minimum", compute("maximum", x, low), high)


def _take(op: Any, x: Any, indices: Any) -> Any:
    mode, axis = op.attr("mode"), op.attr("axis") or 0
    if not is_unknown(indices):
        return operators.OPERATORS["take"](op, x, _number(indices))
    extent = np.shape(x)[axis]
    if mode == "clip":
        indices = compute("minimum", compute("maximum", indices, 0), extent - 1)
    elif mode != "fast":
        raise NotCoveredError(f"take of mode '{mode}' by data")
    return FUNCTIONS[np.take](indices.algebra, x, indices, axis=axis)


def _limits(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)


def _place_of(order: str, worst: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return argmax or argmin, whose loops keep the best number and its first place; `worst` is where they begin."""

    def run(op: Any, x: Any) -> Any:
        axis = op.attr("axis")
        moved = x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1)
        best = Terms.lift(x.algebra, np.full(moved.shape[:-1], worst(_limits(x.dtype)), x.dtype))
        place = Terms.lift(x.algebra, np.full(best.shape, -1, np.int64))
        for k in range(moved.shape[-1]):
            better, equal = compute(order, best, moved[..., k]), compute("equal", best, moved[..., k])
            first = compute("logical_and", equal, compute("less", place, np.int64(k)))
            place = np.where(compute("logical_or", better, first), place, np.int64(k))
            best = np.where(better, best, moved[..., k])
        if not op.attr("keepdims"):
            return place
        return place.reshape([1] * x.ndim) if axis is None else np.expand_dims(place, axis)

    return run


RELAX: dict[str, Callable[..., Any]] = {
    "take": _take,
    "argmax": _place_of("greater", lambda limits: limits.min),
    "argmin": _place_of("less", lambda limits: limits.max),
    "astype": lambda op, x: x.astype(numpy_dtype(op.result_type.element)),
    "maximum": lambda _op, a, b: compute("maximum", a, b),
    "minimum": lambda _op, a, b: compute("minimum", a, b),
    "nn.relu": lambda _op, x: compute("maximum", x, x.dtype.type(0)),
    "clip": _clip,
    "erf": lambda _op, x: compute("erf", x),
    "sigmoid": lambda _op, x: compute("sigmoid", x),
    "nn.silu": lambda _op, x: x * compute("sigmoid", x),
    "rsqrt": lambda _op, x: compute("rsqrt", x),
    "power": lambda _op, x, y: compute("power", x, y),
    "nn.gelu": lambda _op, x: x * 0.5 * (1.0 + compute("erf", x * np.float32(0.5**0.5))),
    "full": lambda _op, shape, value: (
        np.broadcast_to(value, shape) if is_unknown(value) else np.full(shape, _number(value))
    ),
}
"""Operators whose implementation in the interpreter needs numbers."""


def _placed(table: Mapping[type[Operation], Implementation], history: History) -> dict[type[Operation], Implementation]:
    """Return implementations that set the place of what they record."""

    def placed(function: Implementation) -> Implementation:
        def run(i: Machine, op: Operation, args: PythonValues) -> Any:
            history.place = op
            return function(i, op, args)

        return run

    return {cls: placed(function) for cls, function in table.items()}


def make_machine(
    module: Any, algebra: Algebra, side: str, packed: Mapping[str, Callable[..., Any]] | None = None
) -> tuple[Machine, SymbolicRelax]:
    """Return an interpreter of a module on terms; `side` names the memory that it does not share with others."""
    env = SymbolicEnvironment(algebra, side, packed)
    functions = SymbolicRelax(env, SymbolicTir(env))
    machine = Machine(module)
    host = SymbolicHost(functions)
    table = {**functions.tir.table(), **functions.table(), **host.table()}
    table |= dict.fromkeys(OPERATORS.values(), functions.operator)
    machine.register_implementations(
        TableFunctions(table if algebra.history is None else _placed(table, algebra.history))
    )
    return machine, functions


__all__ = ["RELAX", "SymbolicRelax", "SymbolicTir", "make_machine"]
