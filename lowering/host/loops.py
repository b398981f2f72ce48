"""Loops of functions: `relax.while_loop` as a loop that calls two entry points.

head:   the condition's entry point, on the current carried values
        false: exit
        the body's entry point, which returns a tuple: its fields become the carried values, or are appended to the
        collected results; signals are checked, then: head
exit:   return the carried values and the arrays of collected results
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import byte_size, dtype_name
from ...dialects.names import name_of
from ...dialects.sym.expr import product
from ...runtime import abi
from .function import HostFunction
from .native import I8, I32, I64
from .symbols import ENTRY_PREFIX
from .values import Fields, Value, as_object, as_result, load_tensor

Checked = Callable[[str, SSAValue, Attribute], Value]
"""Returns the value of an object, given a name for messages and its struct info."""


def write_while(
    f: HostFunction, op: relax.WhileLoop, init: Sequence[Value], invariants: Sequence[Value], checked: Checked
) -> Value:
    """Emit a loop; return its results. Raises `UnsupportedError` if its functions do not belong to the module."""
    cond, body = _entry(op, "cond"), _entry(op, "body")
    places = [f.holder(as_result(f, v)) for v in init]
    taken = [_Collected.begin(f, t) for t in op.elements()]
    rest = [as_object(f, v) for v in invariants]
    number, results = f.alloca(1, I64), f.holder()
    f.store(f.integer(0), number)
    head, leave = f.new_block(), f.new_block()
    f.jump(head)
    f.block, outer = head, f.scope
    f.scope = outer.child()
    arguments = f.array([*map(f.read, places), *rest])
    count = f.integer(len(places) + len(rest))
    condition = f.call(cond, [f.null, arguments, count])
    f.check(condition)
    holds = _truth(f, op, condition)
    f.call("Py_DecRef", [condition], None)
    f.unless(holds, lambda: f.jump(leave))
    results_tuple = f.call(body, [f.null, arguments, count])
    f.check(results_tuple)
    f.store(results_tuple, results)
    _take_over(f, results_tuple, places)
    done = f.read(number, I64)
    for i, collected in enumerate(taken, len(places)):
        collected.add(f, f.field(results_tuple, abi.TUPLE_ITEMS + 8 * i), done)
    f.store(f.binary(arith.AddiOp, done, f.integer(1)), number)
    f.release([results])
    f.unless(f.compare("eq", f.call("PyErr_CheckSignals", [], I32), f.integer(0, I32)), f.leave)
    f.jump(head)
    f.block, f.scope = leave, outer
    objects = [*map(f.read, places), *(collected.stacked(f, f.read(number, I64)) for collected in taken)]
    assert isinstance(op.result_type, TupleType)
    pairs = zip(objects, op.result_type.types, strict=True)
    name = name_of(op.results[0]) or op.name
    return Fields(tuple(checked(name, obj, t) for obj, t in pairs))


@dataclass(frozen=True)
class _Collected:
    """The stacked results of all iterations: a `bytearray` with the elements, and the extents of one iteration's
    result.
    """

    bytes: SSAValue
    extents: SSAValue
    type: relax.TensorType

    @staticmethod
    def begin(f: HostFunction, t: relax.TensorType) -> _Collected:
        """Return an empty collection; its extents are those known before the loop."""
        if t.element is None or t.dims is None:
            raise UnsupportedError("a loop collects tensors of unknown rank or dtype", found=t)
        extents = f.alloca(max(len(t.dims), 1), I64)
        for i, d in enumerate(t.dims):
            f.store(f.scope.of(d), f.address(extents, 8 * i))
        empty = f.own(f.call("PyByteArray_FromStringAndSize", [f.null, f.integer(0)]))
        return _Collected(empty, extents, t)

    def add(self, f: HostFunction, obj: SSAValue, done: SSAValue) -> None:
        """Append the result of an iteration, after `done` others; it must be as large as the first one."""
        tensor = load_tensor(f, obj, relax.TensorType.of(None, self.type.element, self.type.rank))
        values = [f.scope.of(d) for d in tensor.dims]
        places = [f.address(self.extents, 8 * i) for i in range(len(values))]

        def remember() -> SSAValue:
            for value, place in zip(values, places, strict=True):
                f.store(value, place)
            return f.null

        f.choose(f.compare("eq", done, f.integer(0)), remember)
        for value, place in zip(values, places, strict=True):
            first = f.read(place, I64)
            message = f"'{f.name}': what the iterations of a loop give cannot be stacked"
            f.require(f.compare("eq", first, value), "shape", message, [first, value], expected="{0}", found="{1}")
        assert self.type.element is not None
        size = f.scope.unchecked(product(tensor.dims) * byte_size(self.type.element))
        offset = f.binary(arith.MuliOp, done, size)
        resized = f.call("PyByteArray_Resize", [self.bytes, f.binary(arith.AddiOp, offset, size)], I32)
        f.unless(f.compare("eq", resized, f.integer(0, I32)), f.leave)
        target = f.address(f.call("PyByteArray_AsString", [self.bytes]), offset)
        f.call("memcpy", [target, tensor.data, size])

    def stacked(self, f: HostFunction, count: SSAValue) -> SSAValue:
        """Return the array of all iterations."""
        assert self.type.element is not None
        extents = [f.read(f.address(self.extents, 8 * i), I64) for i in range(self.type.rank or 0)]
        shape = [f.own(f.call("PyLong_FromLongLong", [n])) for n in (count, *extents)]
        return f.own(f.vectorcall(f.slot_of("stack", dtype_name(self.type.element)), [self.bytes, *shape]))


def _entry(op: relax.WhileLoop, arg: str) -> str:
    callee = op.callee(arg)
    if callee is None:
        hint = "functions of the module can be called by a loop, and local ones that use nothing of outside"
        raise UnsupportedError(f"{op.name} of a function that is no function of the module", hint=hint)
    return ENTRY_PREFIX + callee


def _truth(f: HostFunction, op: relax.WhileLoop, condition: SSAValue) -> SSAValue:
    """Return the truth value of a condition by its struct info: a bool tensor or a Python bool."""
    t = op.function("cond")
    if t is not None and isinstance(t.ret, relax.TensorType):
        return f.compare("ne", f.read(f.field(condition, abi.ArrayLayout.DATA), I8), f.integer(0, I8))
    return f.compare("eq", condition, f.slot(abi.Slot.TRUE))


def _take_over(f: HostFunction, results: SSAValue, places: Sequence[SSAValue]) -> None:
    """Store the results of an iteration where the next one reads them."""
    for i, place in enumerate(places):
        item, old = f.field(results, abi.TUPLE_ITEMS + 8 * i), f.read(place)
        f.call("Py_IncRef", [item], None)
        f.store(item, place)
        f.call("Py_DecRef", [old], None)
