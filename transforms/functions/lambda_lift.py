"""Lift local functions to functions of the module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import TopologicalSorter

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym.expr import Var
from ...ir.functions.lookup import ops_of_type, relax_functions
from ...ir.functions.symbolic_vars import definable_vars, mentioned_by
from ...ir.names import NameSupply, function_names
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import erase, insert_before, replace_op, replace_value
from ..bindings.to_non_dataflow import dissolve
from .private import caller_of


@dataclass(frozen=True)
class LambdaLift(Pass):
    """Lift local functions to private functions of the module, named after the enclosing function and themselves.

    main(x, y) {def f(a) {… x …}; r = f(y)}  ->  main(x, y) {r = main_f(y, x)}; main_f(a, x) {… x …}

    Captured values become parameters, and so do the symbolic variables that no parameter determines (as one shape).
    A local function without captures may be used as a value: it becomes a reference to the function. One with captures
    that is not only called stays, and so does one that calls such a function.
    """

    name = "lambda-lift"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lift_local_functions(op)


@dataclass(frozen=True)
class LiftClosures(Pass):
    """Lift closures that are only called to private functions of the module, as required by code generation.

    %f = relax.closure(%a: T) -> T {… %x …}       relax.func private @main_f(%a: T, %x: U, %s: !relax.shape<[n]>)
    %r = relax.call_value %f(%y) : T         ->   %r = relax.call @main_f(%y, %x, %s) : T

    Calls by aliases count, too: bindings, and outputs of a dataflow block, which is then dissolved. A closure that is
    used in another way stays; code generation reports it.
    """

    name = "lift-closures"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in relax_functions(op):
            _call_by_own_names(function)
        lift_local_functions(op, values=False)


def _call_by_own_names(function: relax.FuncOp) -> None:
    """Replace aliases of a local function by the operation that defines it."""
    for op in list(function.walk()):
        if isinstance(op, relax.DataflowOp) and any(map(_is_local_function, op.output_op.values_)):
            dissolve(op)
    for op in list(ops_of_type(function, relax.BindOp)):
        if isinstance(op.value.owner, relax.ClosureOp):
            replace_op(op, op.value, renamed=False)


def _is_local_function(value: SSAValue) -> bool:
    while isinstance(value.owner, relax.BindOp):
        value = value.owner.value
    return isinstance(value.owner, relax.ClosureOp)


def lift_local_functions(module: ModuleOp, values: bool = True) -> None:
    """Lift local functions to functions of the module, inner ones first, in place.

    With `values` also those used as values that capture nothing; without it only those of loops.
    """
    names = NameSupply(function_names(module))
    for function in relax_functions(module):
        for closure in _callees_first(function):
            captured, variables = _captured(closure), _undetermined(closure)
            is_free = not captured and not variables
            if any(map(_is_local_function, captured)):
                continue  # not lifted, so not an argument
            if _is_only_called(closure) or (is_free and (values or _is_called_by_loops(closure))):
                name = names.fresh(f"{function.sym_name.data}_{name_of(closure.result) or 'closure'}")
                lifted = _lift(closure, name, captured)
                module.body.block.insert_op_after(lifted, function)


def _callees_first(function: relax.FuncOp) -> Iterable[relax.ClosureOp]:
    """Return the local functions after those nested in them and those of outside that they call: these capture less."""
    order = TopologicalSorter[relax.ClosureOp]()
    for closure in reversed(list(ops_of_type(function, relax.ClosureOp))):
        called = [v.owner for v in _captured(closure) if isinstance(v.owner, relax.ClosureOp)]
        order.add(closure, *called, *(inner for inner in ops_of_type(closure, relax.ClosureOp) if inner is not closure))
    return order.static_order()


def _captured(op: relax.ClosureOp) -> list[SSAValue]:
    """Return the outside values that the body uses, in order of first use."""
    inside: set[SSAValue] = {op.result, *op.body.block.args}
    captured: dict[SSAValue, None] = {}
    for inner in op.walk():
        if inner is not op:
            captured |= {v: None for v in inner.operands if v not in inside}
        inside.update(inner.results)
        inside.update(a for r in inner.regions for b in r.blocks for a in b.args)
    return list(captured)


def _undetermined(op: relax.ClosureOp) -> list[Var]:
    """Return the symbolic variables in the body that neither parameters nor captured values determine."""
    determined = definable_vars([*(a.type for a in op.body.block.args), *(v.type for v in _captured(op))])
    bound = definable_vars(cast.result.type for cast in ops_of_type(op, relax.MatchCastOp))
    if bound:
        determined += set(bound) - _outside(op)
    return [v for v in mentioned_by([op]) if v not in determined]


def _outside(op: relax.ClosureOp) -> set[Var]:
    """Return the symbolic variables mentioned outside a local function, which a cast inside it does not bind."""
    inside = set(op.walk())
    around = caller_of(op)
    types = [p.type for p in around.params]
    types += [r.type for other in around.body.walk() if other not in inside for r in other.results]
    return set(free_symbolic_vars(types))


def _is_only_called(op: relax.ClosureOp) -> bool:
    return all(isinstance(use.operation, relax.CallValueOp) and use.index == 0 for use in op.result.uses)


def _is_called_by_loops(op: relax.ClosureOp) -> bool:
    return all(isinstance(use.operation, relax.WhileLoop | relax.CallValueOp) for use in op.result.uses)


def _lift(op: relax.ClosureOp, name: str, captured: list[SSAValue]) -> relax.FuncOp:
    """Return the lifted function; calls are redirected to it, and other uses become references."""
    variables = _undetermined(op)
    block = op.body.block
    inside: set[Operation] = set(op.walk()) - {op}
    params: list[SSAValue] = []
    for value in captured:
        param = block.insert_arg(value.type, len(block.args))
        set_name(param, name_of(value))
        value.replace_uses_with_if(param, lambda use: use.operation in inside)
        params.append(param)
    if variables:
        set_name(block.insert_arg(relax.ShapeType.of(variables), len(block.args)), "shape_vars")
    for use in list(op.result.uses):
        if isinstance(use.operation, relax.CallValueOp) and use.index == 0:
            _replace_call(use.operation, name, params if use.operation in inside else captured, variables)
    _refer_to(op, name, inside)
    function = relax.FuncOp(
        name, op.detach_region(op.body), op.ret_type, private=True, attrs=op.func_attrs, pure=op.impure is None
    )
    function.location = op.location
    erase(op)
    return function


def _refer_to(op: relax.ClosureOp, name: str, inside: set[Operation]) -> None:
    """Replace uses of a local function other than calls, also those inside it, by references to the lifted function."""
    if any(use.operation in inside for use in op.result.uses):
        itself = relax.FunctionRefOp(name, op.result.type)
        set_name(itself.result, name_of(op.result))
        first = op.body.block.first_op
        assert first is not None
        insert_before(first, itself)
        op.result.replace_uses_with_if(itself.result, lambda use: use.operation in inside)
    if op.result.first_use is not None:
        reference = relax.FunctionRefOp(name, op.result.type)
        insert_before(op, reference)
        replace_value(op.result, reference.result)


def _replace_call(call: relax.CallValueOp, name: str, captured: list[SSAValue], variables: list[Var]) -> None:
    extra: list[SSAValue] = list(captured)
    if variables:
        shape = relax.ShapeOp(variables)
        insert_before(call, shape)
        extra.append(shape.result)
    new = relax.CallOp(name, [*call.args, *extra], call.result.type)
    replace_op(call, new)
