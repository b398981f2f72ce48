"""`tir-inline-private-functions`: inline private tensor functions into their callers.

tir.func private @g(%h: !tir.handle<f32>, %i: i32) {           %B = tir.decl_buffer %data : …
  %B = tir.decl_buffer %h : …                           ->     tir.store %x, %B[%k]
  tir.store %x, %B[%i]
}
%r = tir.call @g(%data, %k); tir.evaluate %r
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from ....dialects import tir
from ....dialects.dtypes import is_float
from ....dialects.names import name_of, set_name
from ....dialects.sym import SymAttr
from ....dialects.sym.expr import Const, SymExpr, Var
from ....ir.affine.values import sym_expr_of
from ....ir.functions.lookup import callee_names, callees_first
from ....ir.functions.tir_calls import extents_of_call
from ....ir.passes.transform import Pass
from ....ir.rewriting.edit import inserter, is_expression
from ....ir.rewriting.substitute import SymbolSubstitution
from ....transforms.tir.walk import erase_with_tree, functions, integer_type, values_of


@dataclass(frozen=True)
class InlinePrivateFunctions(Pass):
    """Inline private tensor functions at their calls in tensor functions.

    Buffers of the callee become those of the caller, or views of them; symbolic sizes are replaced by those of
    the call. A function that returns a scalar is inlined if its body is a single expression. Functions remain
    if they are recursive, have a target of their own, or have sizes that are computed at the call; unused ones
    are removed.
    """

    name = "tir-inline-private-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        table = {f.sym_name.data: f for f in functions(op)}
        order = callees_first(table)
        inlined = set[str]()
        for name in order:
            for call in [c for c in table[name].walk() if isinstance(c, tir.CallOp)]:
                callee = table.get(call.func.data)
                if callee is not None and call.func.data in order and _inline(table[name], callee, call):
                    inlined.add(call.func.data)
        mentioned = {name for inner in op.walk() for name in callee_names(inner)}
        for name in inlined - mentioned:
            erase_with_tree(table[name])


def _inline(caller: tir.FuncOp, callee: tir.FuncOp, call: tir.CallOp) -> bool:
    """Replace a call by a copy of the callee's body if possible, and return whether it was."""
    place = _place(callee, call)
    if place is None or not callee.private or _target(callee) not in (None, _target(caller)):
        return False
    sizes = _sizes(caller, callee, call)
    if sizes is None:
        return False
    copy = callee.clone()
    SymbolSubstitution(sizes).operation(copy)
    insert = inserter(place)
    for param, arg in zip(copy.params, call.call_args, strict=True):
        if isinstance(param.type, tir.HandleType) and _is_computed(arg):
            _name_addresses(param)
        param.replace_all_uses_with(_argument(param, arg, insert))
    end = copy.body.block.last_op
    if isinstance(end, tir.ReturnOp):
        call.result.replace_all_uses_with(end.value)
        erase_with_tree(end)
    for op in list(copy.body.block.ops):
        op.detach()
        insert(op)
    if place is not call:
        erase_with_tree(place)
    erase_with_tree(call)
    return True


def _place(callee: tir.FuncOp, call: tir.CallOp) -> Operation | None:
    """Return the op at which to insert the body: the statement that evaluates the call, or the call itself; None
    if neither.

    The body of a function that returns a scalar must be an expression, since the call may be part of one.
    """
    returns = [op for op in callee.walk() if isinstance(op, tir.ReturnOp)]
    if callee.ret_type is not None:
        *before, last = callee.body.block.ops
        is_expression = all(isinstance(op, tir.LoadOp) or is_side_effect_free(op) for op in before)
        return call if is_expression and returns == [last] else None
    users = [use.operation for use in call.result.uses]
    return users[0] if len(users) == 1 and isinstance(users[0], tir.EvaluateOp) else None


def _target(func: tir.FuncOp) -> object:
    return None if func.func_attrs is None else func.func_attrs.data.get("target")


def _argument(param: SSAValue, arg: SSAValue, insert: Callable[[Operation], None]) -> SSAValue:
    """Return the replacement of a parameter: the argument, the buffer with this address, or a view at it."""
    if not isinstance(param.type, tir.BufferType):
        return arg
    if isinstance(arg.owner, tir.BufferDataOp) and arg.owner.buffer.type == param.type:
        return arg.owner.buffer
    insert(view := tir.DeclBufferOp(arg, param.type))
    set_name(view.result, name_of(param))
    return view.result


def _is_computed(address: SSAValue) -> bool:
    """Return whether an address is computed: neither a variable, nor memory, nor a buffer's address."""
    owner = address.owner
    return isinstance(owner, Operation) and is_expression(owner) and not isinstance(owner, tir.BufferDataOp)


def _name_addresses(param: SSAValue) -> None:
    """Bind computed buffer addresses to names: in TVM a buffer's address is a variable."""
    for buffer in [use.operation for use in param.uses if isinstance(use.operation, tir.DeclBufferOp)]:
        inserter(buffer)(let := tir.LetOp(param))
        set_name(let.result, f"{name_of(buffer.result) or name_of(param)}_view_data")
        buffer.operands[0] = let.result


def _sizes(caller: tir.FuncOp, callee: tir.FuncOp, call: tir.CallOp) -> dict[Var, SymExpr] | None:
    """Return the callee's symbolic variables in terms of the caller's, or None if one is computed at the call."""
    noted = call.attributes.get(tir.CallOp.SIZES)
    if isinstance(noted, DictionaryAttr):
        sizes: dict[str, SymExpr | SSAValue] = {n: cast(SymAttr, e).data for n, e in noted.data.items()}
    else:
        sizes = extents_of_call(call, callee)
    for param, arg in zip(callee.params, call.call_args, strict=True):
        if not isinstance(param.type, tir.BufferType | tir.HandleType) and not is_float(param.type):
            sizes.setdefault(str(name_of(param)), arg)
    own = {v.name for v in _symbols(caller)}
    bindings: dict[Var, SymExpr] = {}
    for var in _symbols(callee):
        if var.name not in sizes:
            if var.name in own:  # a region of a buffer determines it, here and in the caller
                return None
            continue
        known = _named(sizes[str(var.name)], var, caller)
        if known is None:
            return None
        bindings[var] = known
    return bindings


def _named(value: SymExpr | SSAValue, var: Var, caller: tir.FuncOp) -> SymExpr | None:
    """Return an expression over the caller's symbolic variables, or None if it needs other values."""
    expr = sym_expr_of(value) if isinstance(value, SSAValue) else value
    integers = [(p, integer_type(p)) for p in caller.params]
    expr = expr.substitute({Var(p, t): Var(str(name_of(p)), t) for p, t in integers if t is not None})
    if expr.constant is not None:
        return Const(expr.constant, var.dtype)
    return expr if expr.dtype == var.dtype and all(v.value is None for v in expr.free_vars()) else None


def _symbols(func: tir.FuncOp) -> list[Var]:
    """Return the symbolic variables in a function."""
    symbols: dict[Var, None] = {}
    for op in func.walk():
        for value in values_of(op):
            if isinstance(value.type, tir.BufferType):
                symbols |= {v: None for e in value.type.exprs() for v in e.free_vars()}
        for attr in op.properties.values():
            for each in cast("ArrayAttr[Attribute]", attr) if isinstance(attr, ArrayAttr) else (attr,):
                if isinstance(each, SymAttr):
                    symbols |= dict.fromkeys(each.data.free_vars())
    return list(symbols)
