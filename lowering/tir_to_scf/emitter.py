"""Creating operations: equal pure operations are shared, integer constants are folded, constants go to the function's
entry.

A `Scope` corresponds to a region: operations created in a region are not visible after it. xDSL's `cse` and
`canonicalize` do the same afterwards, but then twice as many operations are created first, which dominates the cost
of a conversion, and `promote-tiles` needs the constant indices of tiles.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    UnknownLoc,
    VectorType,
    i1,
    i64,
)
from xdsl.dialects.utils.fast_math import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.dtypes import float_attr
from ...dialects.quick import make
from ...dialects.xdsl_extras import arith_extras as extras
from ...dialects.xdsl_extras.arith_extras import FLOAT_PREDICATES, INTEGER_PREDICATES, element_type
from ...dialects.xdsl_extras.type_guards import is_integer

INDEX = IndexType()
CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
REASSOC = arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT])
NO_FLAGS = arith.FastMathFlagsAttr("none")
NO_OVERFLOW = arith.IntegerOverflowAttr("none")
NSW = arith.IntegerOverflowAttr((arith.IntegerOverflowFlag.NSW,))
_FLOAT_ARITH = (arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp)
_INTEGER_ARITH = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
Key = tuple[object, ...]


@lru_cache(maxsize=1024)
def vector_type(element: Attribute, lanes: int) -> VectorType[Attribute]:
    """Return the type of a vector of `lanes` elements."""
    return VectorType(element, [lanes])


def is_vector(value: SSAValue) -> bool:
    """Return whether a value is a vector."""
    return isinstance(value.type, VectorType)


def lane_count(type: Attribute) -> int:
    """Return the number of lanes of a vector type."""
    return cast("VectorType[Attribute]", type).get_shape()[0]


def like(type: Attribute, element: Attribute) -> Attribute:
    """Return `element`, or a vector of it with as many lanes as `type`."""
    return vector_type(element, lane_count(cast(Attribute, type))) if isinstance(type, VectorType) else element


@dataclass
class Scope:
    """The available expressions of one region: the keys of its pure operations, and loads by address."""

    pure: list[Key] = field(default_factory=lambda: list[Key]())
    loads: dict[tuple[SSAValue, Key], SSAValue] = field(default_factory=lambda: dict[tuple[SSAValue, Key], SSAValue]())


class Emitter:
    """Appends operations to `block`, the current one; `place` is their source location."""

    def __init__(self, entry: Block):
        self.entry = entry
        self.block = entry
        self.place: LocationAttr = UnknownLoc()
        self.scopes = [Scope()]
        self._pure: dict[Key, tuple[SSAValue, Sequence[SSAValue]]] = {}
        self._attributes: dict[Attribute, Attribute] = {}
        self._numbers: dict[int, tuple[Attribute, int]] = {}
        self._constants: dict[Key, SSAValue] = {}
        self._last_constant: Operation | None = None
        self.known: dict[SSAValue, int] = {}
        self.parallel_body: Block | None = None

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Append to `block`, which belongs to a region inside the current one."""
        outer = self.block
        self.block = block
        self.scopes.append(Scope())
        try:
            yield
        finally:
            for key in self.scopes.pop().pure:
                del self._pure[key]
            self.block = outer

    def append(self, op: Operation) -> Operation:
        """Append an operation that has effects."""
        op.location = self.place
        self.block.add_op(op)
        return op

    def pure(
        self,
        cls: type[Operation],
        operands: Sequence[SSAValue],
        result: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Return the result of a pure operation; an equal earlier operation is reused."""
        numbers = [*map(id, operands), self._number(result)]
        if properties:
            numbers += map(self._number, properties.values())
        key = (cls, *numbers)
        earlier = self._pure.get(key)
        if earlier is not None:
            return earlier[0]
        op = make(cls, operands, result_types=(result,), properties=properties or {}, location=self.place)
        self.block.add_op(op)
        self._pure[key] = op.results[0], operands  # kept alive as long as their numbers are in a key
        self.scopes[-1].pure.append(key)
        return op.results[0]

    def _number(self, attribute: Attribute) -> int:
        """Return a number that is the same for equal attributes: hashing these takes longer than creating an
        operation.
        """
        numbered = self._numbers.get(id(attribute))
        if numbered is None:
            number = id(self._attributes.setdefault(attribute, attribute))
            numbered = self._numbers[id(attribute)] = attribute, number
        return numbered[1]

    def constant(self, value: int | float, type: Attribute) -> SSAValue:
        """Return a constant; for a vector type the same value in each lane."""
        key = (type, repr(value))
        result = self._constants.get(key)
        if result is None:
            result = self._constants[key] = self._head(_constant_attr(value, type), type)
            if is_integer(type) or isinstance(type, IndexType):
                self.known[result] = _signed(int(value), type)
        return result

    def dense(self, values: Sequence[int], type: VectorType[Any]) -> SSAValue:
        """Return a constant vector."""
        key = (type, tuple(values))
        result = self._constants.get(key)
        if result is None:
            result = self._constants[key] = self._head(DenseIntOrFPElementsAttr.from_list(type, values), type)
        return result

    def _head(self, value: Attribute, type: Attribute) -> SSAValue:
        op = make(arith.ConstantOp, result_types=(type,), properties={"value": value})
        self.at_head(op)
        return op.results[0]

    def at_head(self, op: Operation) -> None:
        """Insert an operation at the head of the function."""
        if self._last_constant is not None:
            self.entry.insert_op_after(op, self._last_constant)
        elif self.entry.first_op is not None:
            self.entry.insert_op_before(op, self.entry.first_op)
        else:
            self.entry.add_op(op)
        self._last_constant = op

    def local(self, op: Operation) -> None:
        """Insert an allocation at the head of the function, or of the body of the enclosing parallel loop."""
        if self.parallel_body is None:
            self.at_head(op)
        elif self.parallel_body.first_op is None:
            self.parallel_body.add_op(op)
        else:
            self.parallel_body.insert_op_before(op, self.parallel_body.first_op)

    def index(self, value: int) -> SSAValue:
        return self.constant(value, INDEX)

    # arithmetic on scalars and vectors alike; operands are of one type

    def binary(self, cls: type[Operation], a: SSAValue, b: SSAValue, flags: Attribute | None = None) -> SSAValue:
        """Return the result of an arith operation on two values of one type; float operations may be contracted
        unless `flags` forbid it.
        """
        if cls in _FLOAT_ARITH:
            return self.pure(cls, (a, b), a.type, {"fastmath": flags or CONTRACT})
        if cls in (arith.MinimumfOp, arith.MaximumfOp, arith.MinnumfOp, arith.MaxnumfOp):
            return self.pure(cls, (a, b), a.type, {"fastmath": NO_FLAGS})
        properties: dict[str, Attribute] = {"overflowFlags": flags or NO_OVERFLOW} if cls in _INTEGER_ARITH else {}
        return self.pure(cls, (a, b), a.type, properties)

    def add(self, a: SSAValue, b: SSAValue, flags: Attribute = NSW) -> SSAValue:
        """Add integers, by default without overflow (index arithmetic); constants are folded."""
        x, y = self.known.get(a), self.known.get(b)
        if x is not None and y is not None:
            return self.constant(x + y, a.type)
        if x == 0 or y == 0:
            return b if x == 0 else a
        return self.binary(arith.AddiOp, a, b, flags)

    def sub(self, a: SSAValue, b: SSAValue, flags: Attribute = NSW) -> SSAValue:
        """Subtract integers, by default without overflow; constants are folded."""
        x, y = self.known.get(a), self.known.get(b)
        if x is not None and y is not None:
            return self.constant(x - y, a.type)
        return a if y == 0 else self.binary(arith.SubiOp, a, b, flags)

    def mul(self, a: SSAValue, b: SSAValue, flags: Attribute = NSW) -> SSAValue:
        """Multiply integers, by default without overflow; constants are folded."""
        x, y = self.known.get(a), self.known.get(b)
        if x is not None and y is not None:
            return self.constant(x * y, a.type)
        if x == 0 or y == 0:
            return self.constant(0, a.type)
        if x == 1 or y == 1:
            return b if x == 1 else a
        return self.binary(arith.MuliOp, a, b, flags)

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """Compare two values; the predicates are those of arith (`olt` for floats, `slt`, `ult` for integers)."""
        flag = like(a.type, i1)
        is_integer = isinstance(element_type(a.type), IntegerType | IndexType)
        names = INTEGER_PREDICATES if is_integer else FLOAT_PREDICATES
        properties: dict[str, Attribute] = {"predicate": IntegerAttr(names.index(predicate), 64)}
        if not is_integer:
            properties["fastmath"] = NO_FLAGS
        if isinstance(a.type, VectorType):
            return self.pure(extras.CmpIOp if is_integer else extras.CmpFOp, (a, b), flag, properties)
        return self.pure(arith.CmpiOp if is_integer else arith.CmpfOp, (a, b), flag, properties)

    def select(self, cond: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        if a is b:
            return a
        cls = extras.SelectOp if is_vector(a) else arith.SelectOp
        return self.pure(cls, (cond, a, b), a.type)

    def convert(self, scalar: type[Operation], many: type[Operation], value: SSAValue, target: Attribute) -> SSAValue:
        """Convert to elements of `target`: by `scalar` for scalars, by `many` for vectors."""
        return self.pure(many if is_vector(value) else scalar, (value,), like(value.type, target))

    def to_index(self, value: SSAValue) -> SSAValue:
        """Convert an integer to an index."""
        if isinstance(value.type, IndexType):
            return value
        known = self.known.get(value)
        return self.index(known) if known is not None else self.pure(arith.IndexCastOp, (value,), INDEX)

    def from_index(self, value: SSAValue, type: Attribute) -> SSAValue:
        """Convert an index to an integer of `type`."""
        known = self.known.get(value)
        return self.constant(known, type) if known is not None else self.pure(arith.IndexCastOp, (value,), type)

    def from_bool(self, value: SSAValue) -> SSAValue:
        """Convert an i1 to an index: 0 or 1."""
        return self.select(value, self.index(1), self.index(0))

    def broadcast(self, value: SSAValue, lanes: int) -> SSAValue:
        """Broadcast `value` to a vector."""
        return self.pure(vector.BroadcastOp, (value,), vector_type(value.type, lanes))

    def shuffle(self, a: SSAValue, b: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """Return a vector of the given lanes of `a` followed by `b`."""
        mask = DenseArrayBase.from_list(i64, lanes)
        return self.pure(vector.ShuffleOp, (a, b), vector_type(element_type(a.type), len(lanes)), {"mask": mask})

    # memory: one index, of type index

    def load(self, cls: type[Operation], operands: Sequence[SSAValue], result: Attribute) -> SSAValue:
        """Return a load, or the result of an equal earlier one of this block; operands[0] is the memref."""
        loads = self.scopes[-1].loads
        key = (operands[0], (cls, tuple(operands[1:]), result))
        loaded = loads.get(key)
        if loaded is None:
            op = make(cls, operands, result_types=(result,))
            self.block.add_op(op)
            loaded = loads[key] = op.results[0]
        return loaded

    def forget_loads(self, buffer: SSAValue | None) -> None:
        """Invalidate earlier loads from `buffer` (None: from all buffers) after a store to it."""
        loads = self.scopes[-1].loads
        for key in [k for k in loads if buffer is None or k[0] is buffer]:
            del loads[key]


def element_of(memref: SSAValue) -> Attribute:
    """Return the element type of a memref value."""
    return cast("MemRefType[Attribute]", memref.type).element_type


def _signed(value: int, type: Attribute) -> int:
    """Return the number that the bits of an integer are if it has a sign; a truth value stays 0 or 1."""
    if not is_integer(type) or type.width.data == 1:
        return value
    half = 1 << (type.width.data - 1)
    return (value + half) % (2 * half) - half


def _constant_attr(value: int | float, type: Attribute) -> Attribute:
    if isinstance(type, VectorType):
        return DenseIntOrFPElementsAttr.from_list(cast("VectorType[Any]", type), [value])
    if isinstance(type, IntegerType | IndexType):
        if isinstance(type, IndexType):
            return IntegerAttr(int(value), type)
        return IntegerAttr(int(value), cast(IntegerType, type), truncate_bits=True)
    return float_attr(float(value), type)


def pick_lanes(emit: Emitter, vectors: Sequence[SSAValue], lanes: Sequence[int], element: Attribute) -> SSAValue:
    """Return the given lanes of the concatenation of `vectors`; a scalar for a single lane."""
    places = [(v, i) for v in vectors for i in range(lane_count(v.type) if is_vector(v) else 1)]
    picked = [_lane(emit, *places[i], element) for i in lanes]
    if len(picked) == 1:
        return picked[0]
    out = emit.constant(0, vector_type(element, len(picked)))
    for i, value in enumerate(picked):
        out = emit.append(vector.InsertOp(value, out, [i])).results[0]
    return out


def _lane(emit: Emitter, value: SSAValue, lane: int, element: Attribute) -> SSAValue:
    if not is_vector(value):
        return value
    return emit.append(vector.ExtractOp(value, [lane], element)).results[0]
