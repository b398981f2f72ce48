"""Merge kernels that differ only in constants: the merged kernel takes them as parameters.

%y = relax.call_tir @f(%x) : T     // x * 2.5     %y = relax.call_tir @f(%x, %c) : T    // x * number_0
%z = relax.call_tir @g(%y) : T     // x * 3.5  -> %z = relax.call_tir @f(%y, %d) : T

Quantized layers of the same sizes are typical: their scales and zero points differ. Only factors and summands of f32
and f64 are extracted, whose values no later pass inspects: the result is the same from an immediate, a register or a
parameter. Constants that enable simplification (0 and 1, non-finite values, bounds, divisors, exponents) stay, and so
do those that are equal in all functions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import cast

from xdsl.dialects.builtin import Float32Type, Float64Type, FloatAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Operation

from ...dialects import relax, tir
from ...dialects.names import set_name
from ...dialects.quick import operations
from ...dialects.sched import SequenceOp
from ...ir.equality import fingerprint_but_for

_USERS = (tir.AddOp, tir.SubOp, tir.MulOp)
_KEPT = (0.0, 1.0)
"""Magnitudes that simplify sums and products, so they stay constants."""

Numbers = tuple[FloatAttr, ...]


@dataclass(frozen=True)
class Contents:
    """A tensor function without the constants that may become parameters, and these constants."""

    op: tir.FuncOp
    form: Hashable
    constants: Sequence[tir.ConstOp]

    @staticmethod
    def of(op: tir.FuncOp) -> Contents:
        """Return the contents of a function."""
        form, constants = fingerprint_but_for(op, [c for c in operations(op) if _may_be_parameter(c)])
        return Contents(op, form, cast("list[tir.ConstOp]", constants))

    @property
    def name(self) -> str:
        """The function's symbol."""
        return self.op.sym_name.data

    @cached_property
    def numbers(self) -> Numbers:
        """The extracted constants, in order."""
        return tuple(c.value for c in self.constants if isinstance(c.value, FloatAttr))


@dataclass(frozen=True)
class _Function:
    """A function with extractable constants, and its callers."""

    contents: Contents
    calls: Sequence[relax.CallTIROp]

    @cached_property
    def inputs(self) -> int | None:
        """The number of arguments before the results; None if it differs between calls."""
        params = len(self.contents.op.params)
        counts = {
            len(c.args) if len(c.args) + len(c.output_types) + len(c.tir_vars or ()) == params else None
            for c in self.calls
        }
        return counts.pop() if len(counts) == 1 else None


def merge_up_to_constants(op: ModuleOp, schedule_of: Callable[[str], Hashable], contents: Sequence[Contents]) -> None:
    """Merge private functions of a module, described by `contents`, that differ only in constants.

    `schedule_of` returns the key of the schedule of a function, by its name.
    """
    groups: dict[Hashable, list[_Function]] = defaultdict(list)
    for f in _candidates(op, contents):
        groups[f.contents.form, f.inputs, schedule_of(f.contents.name)].append(f)
    gone: set[str] = set()
    for alike in groups.values():
        if len(alike) > 1:
            _share(alike)
            gone.update(f.contents.name for f in alike[1:])
    if gone:
        erase_functions(op, gone)


def erase_functions(op: ModuleOp, names: Container[str | None]) -> None:
    """Erase tensor functions from a module, together with their schedules."""
    for inner in list(op.ops):
        name = inner.function_name if isinstance(inner, SequenceOp) else None
        if (inner.sym_name.data if isinstance(inner, tir.FuncOp) else name) in names:
            op.body.block.erase_op(inner)


def _candidates(op: ModuleOp, contents: Sequence[Contents]) -> list[_Function]:
    """Return the functions with extractable constants that only `call_tir` refers to."""
    numbered = [each for each in contents if each.constants]
    if len(numbered) < 2:
        return []
    calls: dict[str, list[relax.CallTIROp]] = defaultdict(list)
    others: set[str] = set()
    for inner in operations(op):
        if type(inner) is relax.CallTIROp:
            calls[inner.callee_name].append(inner)
        elif not isinstance(inner, SequenceOp):
            others |= _named(inner)
    functions = [_Function(each, calls[each.name]) for each in numbered if each.name not in others]
    return [f for f in functions if f.inputs is not None]


def _named(op: Operation) -> set[str]:
    """Return the symbols that an operation may refer to."""
    names = {a.root_reference.data for a in op.properties.values() if isinstance(a, SymbolRefAttr)}
    return names | {a.data for key, a in op.properties.items() if isinstance(a, StringAttr) and key != "sym_name"}


def _may_be_parameter(op: Operation) -> bool:
    number = op.value if type(op) is tir.ConstOp else None
    if not isinstance(number, FloatAttr) or not isinstance(number.type, Float32Type | Float64Type):
        return False
    value = number.value.data
    known = not isfinite(value) or abs(value) in _KEPT
    return not known and all(isinstance(use.operation, _USERS) for use in op.results[0].uses)


def _share(functions: Sequence[_Function]) -> None:
    """Redirect all callers of these functions to the first one, with the constants that differ as arguments."""
    first, own = functions[0], functions[0].contents
    block = own.op.body.block
    columns = list(zip(*(f.contents.numbers for f in functions), strict=True))
    different = [c for c in dict.fromkeys(columns) if len(set(c)) > 1]
    assert first.inputs is not None
    params = {c: block.insert_arg(c[0].type, first.inputs + i) for i, c in enumerate(different)}
    own.op.properties.pop("handle_names", None)  # they are not read from here on, and would be too few
    for i, param in enumerate(params.values()):
        set_name(param, f"number.{i}")
    for constant, column in zip(own.constants, columns, strict=True):
        if column in params:
            constant.result.replace_all_uses_with(params[column])
            constant.detach()
            constant.erase()
    for f, numbers in zip(functions, zip(*different, strict=True), strict=True):
        for call in f.calls:
            _pass(call, numbers, own.name)


def _pass(call: relax.CallTIROp, numbers: Sequence[FloatAttr], callee: str) -> None:
    """Make a call pass constants to the function `callee`."""
    values = [relax.PrimValueOp(number) for number in numbers]
    block = call.parent
    assert block is not None
    for value in values:
        value.location = call.location
    block.insert_ops_before(values, call)
    call.operands = [*call.operands, *(v.result for v in values)]
    call.properties["callee"] = SymbolRefAttr(callee)
