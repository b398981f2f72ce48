"""Questions about Relax programs, by TVM's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import relax
from .expr import Expr, GlobalVar, Var, canonical, expr_of, is_inline
from .functor import post_order_visit
from .module import IRModule
from .relax_function import BindingBlock, DataflowBlock, Function, SeqExpr, VarBinding, binding_of
from .verify import check_dominance, verify_module


def _bindings(root: Operation) -> Iterator[VarBinding]:
    for op in root.walk():
        if isinstance(op, relax.DataflowOp):
            yield from (b for b in DataflowBlock(op).bindings if isinstance(b.var.ssa.owner, relax.DataflowOp))  # pyright: ignore
        elif op is not root and len(op.results) == 1 and not is_inline(op):
            yield binding_of(op)  # pyright: ignore


def get_var2val(func: Function) -> dict[Var, Expr]:
    """What each variable of a function is bound to."""
    return {b.var: b.value for b in _bindings(func.op)}


def name_to_binding(func: Function) -> dict[str, list[VarBinding]]:
    """The bindings by the names of their variables."""
    found: dict[str, list[VarBinding]] = {}
    for b in _bindings(func.op):
        found.setdefault(b.var.name_hint, []).append(b)
    return found


def bound_vars(func: Function) -> list[Var]:
    """The parameters and variables that a function binds."""
    inner = [Var.on(a) for op in func.op.walk() for r in op.regions for block in r.blocks for a in block.args]
    return [*inner, *(b.var for b in _bindings(func.op))]


def all_vars(expr: Expr) -> list[Var]:
    """The variables in an expression, in order, each once."""
    found: dict[Var, None] = {}

    def visit(e: Any) -> None:
        if isinstance(e, Var):
            found[e] = None

    post_order_visit(expr, visit)
    return list(found)


def free_vars(expr: Expr) -> list[Var]:
    """The variables that an expression uses and does not bind."""
    if isinstance(expr, Function):
        inside = set(expr.op.walk())
        values = dict.fromkeys(v for op in inside for v in op.operands if not _is_inside(v, inside))
        return [Var.on(v) for v in values]
    return all_vars(expr)


def _is_inside(value: SSAValue, ops: set[Operation]) -> bool:
    owner = value.owner
    return (owner.parent_op() if isinstance(owner, Block) else owner) in ops


def all_global_vars(expr: Expr) -> list[GlobalVar]:
    """The functions that an expression names, each once."""
    found: dict[GlobalVar, None] = {}

    def visit(e: Any) -> None:
        if isinstance(e, GlobalVar):
            found[e] = None

    post_order_visit(expr, visit)
    return list(found)


def udchain(block: DataflowBlock | Function) -> dict[Var, list[Var]]:
    """The users of each variable of a dataflow block."""
    op = block.op
    found: dict[Var, list[Var]] = {}
    for inner in op.walk():
        for value in inner.results if isinstance(inner, relax.DataflowOp) is False else ():
            if not is_inline(inner):
                users = [u.operation for u in value.uses]
                found[_var(value)] = [_var(u.results[0]) for u in users if u.results and not is_inline(u)]
    return found


def _var(value: SSAValue) -> Var:
    return expr_of(canonical(value))  # pyright: ignore[reportReturnType]


def contains_impure_call(expr: Function) -> bool:
    """Whether a function calls what may have effects."""
    return any(_is_impure(op) for op in expr.op.walk())


def _is_impure(op: Operation) -> bool:
    if isinstance(op, relax.CallPackedOp):
        return True
    if isinstance(op, relax.CallValueOp):
        t = op.func.type
        return isinstance(t, relax.CallableType) and not t.pure
    return isinstance(op, relax.Operator) and not op.PURE


def well_formed(obj: IRModule | Function, check_struct_info: bool = True) -> bool:
    """Whether a module or function is well formed; `verify_module` says what is wrong with one that is not."""
    try:
        if isinstance(obj, IRModule):
            verify_module(obj.op)
        else:
            obj.op.verify()
            check_dominance(ModuleOp([obj.op.clone()]))
    except VerifyException:
        return False
    return True


__all__ = [
    "BindingBlock",
    "BlockArgument",
    "OpResult",
    "SeqExpr",
    "all_global_vars",
    "all_vars",
    "bound_vars",
    "contains_impure_call",
    "free_vars",
    "get_var2val",
    "name_to_binding",
    "post_order_visit",
    "udchain",
    "well_formed",
]
