"""Gradients of tensor functions, registered as tensor expressions for `call_tir_with_grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr, TupleType
from xdsl.ir import Operation

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.attributes import from_attr
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr
from ...ir.functions.lookup import functions
from ...ir.rewriting.edit import insert_before
from ...tables import Table
from ...te.emit import call_te
from .expressions import Tape

TEGradient = Callable[..., Any]
"""`(output_grad, *inputs, **te_grad_kwargs) -> gradients`: tensors, one for each input."""

_FUNCTIONS: Table[TEGradient] = Table("gradient of a tensor function")


def register_te_gradient(te_grad_name: str, te_grad_func: TEGradient | None = None) -> Any:
    """Register a function as the gradient that `call_tir_with_grad(…, te_grad_name)` names; a decorator without it.

    The function takes the gradient of the result (a list of tensors for several results), the arguments of the tensor
    function and `te_grad_kwargs`, and returns a tensor for each argument.
    """

    define = _FUNCTIONS.row(te_grad_name, override=True)
    return define if te_grad_func is None else define(te_grad_func)


def te_gradient(op: relax.CallTIROp, grad: Expr, args: Sequence[Expr], tape: Tape) -> list[Expr]:
    """Return the gradients of the arguments of a call, computed by the function registered as its `te_grad_name`.

    The tensor function is added to the module. Raises `NameLookupError` for a name that is not registered.
    """
    assert op.te_grad_name is not None
    name = op.te_grad_name.data
    function = _FUNCTIONS.find(name)
    kwargs: dict[str, Any] = {}
    if op.te_grad_kwargs is not None:
        kwargs = {k: from_attr(v) for k, v in op.te_grad_kwargs.data.items()}
    te_call = call_te(function, grad.ssa, *(a.ssa for a in args), primfunc_name_hint=name, **kwargs)
    out = te_call.out_type
    if isinstance(out, TupleType) and len(out.types) == 1:
        te_call = replace(te_call, out_type=out.types.data[0])  # a list of one tensor is this tensor, as in TVM
    new = te_call.call_op(_add(op, te_call.func))
    count = len(new.output_types)
    if count != len(args):
        raise TiraxError(
            f"the gradient '{name}' gives too few or too many", expected=f"{len(args)} tensors", found=count
        )
    gradient = to_expr(tape.bind(to_expr(new.result), "lv"))
    return [gradient[i] for i in range(count)] if isinstance(new.result.type, TupleType) else [gradient]


def _add(inside: Operation, func: Any) -> str:
    """Add a tensor function to the module that contains `inside`, and return its name."""
    module: Any = inside
    while not isinstance(module, ModuleOp):
        module = module.parent_op()
    taken, hint = functions(module), func.sym_name.data
    name, number = hint, 0
    while name in taken:
        number += 1
        name = f"{hint}{number}"
    func.sym_name = StringAttr(name)
    top: Any = inside
    while top.parent_op() is not module:
        top = top.parent_op()
    insert_before(top, func)
    return name
