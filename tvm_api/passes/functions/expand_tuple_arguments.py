"""Pass the fields of tuples to private functions as separate arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, SSAValue

from ....dialects import relax
from ....dialects.names import name_of, set_name
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import erase, insert_before, replace_value
from ....transforms.functions.private import PrivateFunction, caller_of, clean_up, private_functions, replace_call


@dataclass(frozen=True)
class ExpandTupleArguments(Pass):
    """Replaces a tuple parameter of a private function by a parameter for each field, recursively.

    f(t: tuple<A, B>) {… t[0] …}; f((a, b))  ->  f(t_0: A, t_1: B) {… t_0 …}; f(a, b)
    """

    name = "expand-tuple-arguments"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed: list[relax.FuncOp] = []
        for private in private_functions(op):
            if any(isinstance(p.type, TupleType) for p in private.func.params) and _tuples_agree(private):
                changed += [private.func, *map(caller_of, private.calls)]
                _expand(private)
        clean_up(changed)


def _nesting(t: Attribute) -> object:
    return tuple(map(_nesting, t.types)) if isinstance(t, TupleType) else None


def _tuples_agree(private: PrivateFunction) -> bool:
    """Return whether the arguments of every call have tuple types where the parameters do."""
    expected = [_nesting(p.type) for p in private.func.params]
    return all([_nesting(a.type) for a in call.args] == expected for call in private.calls)


def _expand(private: PrivateFunction) -> None:
    for call in private.calls:
        args = [field for arg in call.args for field in _fields(call, arg)]
        new = replace_call(call, args, call.result.type)
        replace_value(call.result, new.result)
        erase(call)
    for param in list(private.func.params):
        if isinstance(param.type, TupleType):
            _expand_param(private.func, param)


def _fields(call: relax.CallOp, value: SSAValue) -> Iterator[SSAValue]:
    """Yield the fields of a tuple argument, extracted before the call, or any other value itself."""
    if not isinstance(value.type, TupleType):
        yield value
        return
    for i in range(len(value.type.types)):
        item = relax.TupleGetItemOp(value, i)
        insert_before(call, item)
        yield from _fields(call, item.result)


def _expand_param(func: relax.FuncOp, param: SSAValue) -> None:
    """Add parameters for the fields, and rebuild the tuple at the start of the body."""
    block = func.body.block
    assert isinstance(param.type, TupleType)
    at = list(block.args).index(param)  # pyright: ignore[reportArgumentType]
    fields: list[SSAValue] = []
    for i, t in enumerate(param.type.types):
        field = block.insert_arg(t, at + 1 + i)
        set_name(field, f"{name_of(param) or 'param'}_{i}")
        fields.append(field)
    rebuilt = relax.TupleOp(fields)
    first = block.first_op
    assert first is not None
    block.insert_op_before(rebuilt, first)
    replace_value(param, rebuilt.result)
    block.erase_arg(param)  # pyright: ignore[reportArgumentType]
    for field in fields:
        if isinstance(field.type, TupleType):
            _expand_param(func, field)
