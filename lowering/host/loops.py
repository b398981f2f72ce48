"""Loops of functions: `relax.while_loop` as a loop of calls of two entry points.

head:   the condition's entry point, on what the places of carried values hold
        false: exit
        the body's entry point, which gives a tuple: its fields go to these places and to lists
        signals are asked for, then: head
exit:   the values of the places; what lists hold is stacked
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import TupleType
from xdsl.ir import Attribute, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of
from ...runtime import abi
from .function import HostFunction
from .native import I8, I32
from .symbols import ENTRY_PREFIX
from .values import Fields, Value, as_object, as_result

Checked = Callable[[str, SSAValue, Attribute], Value]
"""An object by the name of a value and its struct info."""


def write_while(
    f: HostFunction, op: relax.WhileLoop, init: Sequence[Value], invariants: Sequence[Value], checked: Checked
) -> Value:
    """Write a loop; its results. Raises `UnsupportedError` where its functions are none of the module."""
    cond, body = _entry(op, "cond"), _entry(op, "body")
    places = [f.holder(as_result(f, v)) for v in init]
    lists = [f.own(f.call("PyList_New", [f.integer(0)])) for _ in range(op.collected_count)]
    rest = [as_object(f, v) for v in invariants]
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
    results = f.call(body, [f.null, arguments, count])
    f.check(results)
    _take_over(f, results, places, lists)
    f.unless(f.compare("eq", f.call("PyErr_CheckSignals", [], I32), f.integer(0, I32)), f.leave)
    f.jump(head)
    f.block, f.scope = leave, outer
    return _results(f, op, [f.read(p) for p in places], lists, checked)


def _entry(op: relax.WhileLoop, arg: str) -> str:
    callee = op.callee(arg)
    if callee is None:
        hint = "functions of the module can be called by a loop, and local ones that use nothing of outside"
        raise UnsupportedError(f"{op.name} of a function that is no function of the module", hint=hint)
    return ENTRY_PREFIX + callee


def _truth(f: HostFunction, op: relax.WhileLoop, condition: SSAValue) -> SSAValue:
    """Whether a condition holds, by its struct info: a tensor of bool, or Python's."""
    t = op.function("cond")
    if t is not None and isinstance(t.ret, relax.TensorType):
        return f.compare("ne", f.read(f.field(condition, abi.ArrayLayout.DATA), I8), f.integer(0, I8))
    return f.compare("eq", condition, f.slot(abi.Slot.TRUE))


def _take_over(f: HostFunction, results: SSAValue, places: Sequence[SSAValue], lists: Sequence[SSAValue]) -> None:
    """Put what an iteration gave where the next one finds it, and into lists."""
    for i, place in enumerate(places):
        item, old = f.field(results, abi.TUPLE_ITEMS + 8 * i), f.read(place)
        f.call("Py_IncRef", [item], None)
        f.store(item, place)
        f.call("Py_DecRef", [old], None)
    statuses = [
        f.call("PyList_Append", [items, f.field(results, abi.TUPLE_ITEMS + 8 * (len(places) + i))], I32)
        for i, items in enumerate(lists)
    ]
    f.call("Py_DecRef", [results], None)
    for status in statuses:
        f.unless(f.compare("eq", status, f.integer(0, I32)), f.leave)


def _results(
    f: HostFunction, op: relax.WhileLoop, objects: Sequence[SSAValue], lists: Sequence[SSAValue], checked: Checked
) -> Fields:
    assert isinstance(op.result_type, TupleType)
    stacked: list[SSAValue] = []
    for items, t in zip(lists, op.elements(), strict=True):
        assert t.element is not None
        stack = f.slot_of("stack", {"name": f.name, "dtype": dtype_name(t.element)})
        extents = [f.own(f.call("PyLong_FromLongLong", [f.scope.of(d)])) for d in t.dims or ()]
        stacked.append(f.own(f.vectorcall(stack, [items, *extents])))
    name = name_of(op.results[0]) or op.name
    pairs = zip([*objects, *stacked], op.result_type.types, strict=True)
    return Fields(tuple(checked(name, obj, t) for obj, t in pairs))
