"""`lift-closures`: local functions that are only called become functions of the module.

    %f = relax.closure(%a: T) -> T {… %x …}            relax.func private @main_f(%a: T, %x: U, %s: !relax.shape<[n]>)
    %r = relax.call_value %f(%y) : T            ->     %r = relax.call @main_f(%y, %x, %s) : T

Values of outside become parameters, and so do the symbolic variables that no parameter determines (as one shape).
A closure that is used in another way stays; code generation names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.traits import SymbolOpInterface

from ...dialects import relax
from ...dialects.names import name_of
from ...dialects.relax.types import Dims, free_symbolic_vars
from ...dialects.sym import SymAttr
from ...dialects.sym.expr import Var
from ...ir.transform import Pass
from ..memory.variables import bound_vars


def mentioned_vars(op: Operation) -> list[Var]:
    """The symbolic variables that an op or what is in it mentions, in order."""
    found: dict[Var, None] = {}
    for inner in op.walk():
        types = [v.type for v in (*inner.operands, *inner.results)]
        types += [a.type for r in inner.regions for b in r.blocks for a in b.args]
        found |= dict.fromkeys(free_symbolic_vars(types))
        for attr in inner.properties.values():
            exprs = cast(Dims, attr) if isinstance(attr, ArrayAttr) else [attr]
            for each in exprs:
                if isinstance(each, SymAttr):
                    found |= dict.fromkeys(each.data.free_vars())
    return list(found)


def _captured(op: relax.ClosureOp) -> list[SSAValue]:
    """The values of outside that the body uses, in order of first use."""
    inside: set[SSAValue] = set(op.body.block.args)
    found: dict[SSAValue, None] = {}
    for inner in op.walk():
        found |= {v: None for v in inner.operands if inner is not op and v not in inside}
        inside.update(inner.results)
        inside.update(a for r in inner.regions for b in r.blocks for a in b.args)
    return list(found)


def _calls(op: relax.ClosureOp) -> list[relax.CallValueOp] | None:
    """The calls of a closure, None where it is used in another way."""
    calls: list[relax.CallValueOp] = []
    for use in op.result.uses:
        if not isinstance(use.operation, relax.CallValueOp) or use.index != 0:
            return None
        calls.append(use.operation)
    return calls


def _lift(op: relax.ClosureOp, name: str) -> relax.FuncOp | None:
    calls = _calls(op)
    if calls is None:
        return None
    captured = _captured(op)
    block = op.body.block
    types = [*(a.type for a in block.args), *(v.type for v in captured)]
    determined = bound_vars(types)
    missing = [v for v in mentioned_vars(op) if v not in determined]
    for value in captured:
        argument = block.insert_arg(value.type, len(block.args))
        argument.name_hint = value.name_hint
        inside = set(op.walk())
        value.replace_uses_with_if(argument, lambda use, inside=inside: use.operation in inside)
    if missing:
        block.insert_arg(relax.ShapeType.of(missing), len(block.args)).name_hint = "shape_vars"
    for call in calls:
        _replace_call(call, name, captured, missing)
    function = relax.FuncOp(
        name, op.detach_region(op.body), op.ret_type, private=True, attrs=op.func_attrs, pure=op.impure is None
    )
    op.detach()
    op.erase()
    return function


def _replace_call(call: relax.CallValueOp, name: str, captured: list[SSAValue], missing: list[Var]) -> None:
    block = call.parent
    assert block is not None
    extra: list[SSAValue] = list(captured)
    if missing:
        shape = relax.ShapeOp(missing)
        block.insert_op_before(shape, call)
        extra.append(shape.result)
    new = relax.CallOp(name, [*call.args, *extra], call.result.type)
    new.location = call.location
    block.insert_op_before(new, call)
    new.result.name_hint = call.result.name_hint
    call.result.replace_all_uses_with(new.result)
    block.erase_op(call)


@dataclass(frozen=True)
class LiftClosures(Pass):
    """Turn closures that are only called into private functions of the module."""

    name = "lift-closures"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        taken = {a.data for f in op.ops if (t := f.get_trait(SymbolOpInterface)) and (a := t.get_sym_attr_name(f))}
        for function in [f for f in op.ops if isinstance(f, relax.FuncOp)]:
            closures = [c for c in function.walk() if isinstance(c, relax.ClosureOp)]
            for closure in reversed(closures):  # inner ones first
                name = _fresh(f"{function.sym_name.data}_{name_of(closure.result) or 'closure'}", taken)
                lifted = _lift(closure, name)
                if lifted is not None:
                    taken.add(name)
                    op.body.block.insert_op_after(lifted, function)


def _fresh(name: str, taken: set[str]) -> str:
    number = 1
    candidate = name
    while candidate in taken:
        candidate = f"{name}{number}"
        number += 1
    return candidate
