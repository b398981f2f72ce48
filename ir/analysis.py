"""Questions about Relax programs, by TVM's names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ..dialects import relax
from .expr import Expr, GlobalVar, Var, is_inline
from .functor import post_order_visit
from .module import IRModule
from .relax_function import Binding, DataflowBlock, Function, binding_of
from .verify import check_dominance, verify_module

_T = TypeVar("_T")


def _bindings(root: Operation) -> Iterator[Binding]:
    """The bindings inside of `root`, each once."""
    for op in root.walk():
        if isinstance(op, relax.DataflowOp):
            yield from (b for b in DataflowBlock(op).bindings if b.var.ssa.owner is op)
        elif op is not root and len(op.results) == 1 and not is_inline(op):
            yield binding_of(op)


def get_var2val(func: Function) -> dict[Var, Expr]:
    """What each variable of a function is bound to."""
    return {b.var: b.value for b in _bindings(func.op)}


def name_to_binding(func: Function) -> dict[str, list[Binding]]:
    """The bindings by the names of their variables."""
    found: dict[str, list[Binding]] = {}
    for b in _bindings(func.op):
        found.setdefault(b.var.name_hint, []).append(b)
    return found


def bound_vars(func: Function) -> list[Var]:
    """The parameters and variables that a function binds."""
    blocks = (block for op in func.op.walk() for region in op.regions for block in region.blocks)
    return [*(Var.on(a) for block in blocks for a in block.args), *(b.var for b in _bindings(func.op))]


def _collect(expr: Any, kind: type[_T]) -> list[_T]:
    """The expressions of a class inside of `expr`, in order, each once."""
    found: dict[_T, None] = {}

    def visit(e: object) -> None:
        if isinstance(e, kind):
            found[e] = None

    post_order_visit(expr, visit)
    return list(found)


def all_vars(expr: Any) -> list[Var]:
    """The variables in an expression, in order, each once."""
    return _collect(expr, Var)


def all_global_vars(expr: Any) -> list[GlobalVar]:
    """The functions that an expression names, each once."""
    return _collect(expr, GlobalVar)


def free_vars(expr: Any) -> list[Var]:
    """The variables that an expression uses and does not bind."""
    if not isinstance(expr, Function):
        return all_vars(expr)
    inside = set(expr.op.walk())
    used = dict.fromkeys(v for op in inside for v in op.operands)
    return [Var.on(v) for v in used if _owner(v) not in inside]


def _owner(value: SSAValue) -> Operation | None:
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def udchain(block: DataflowBlock | Function) -> dict[Var, list[Var]]:
    """The variables that use each variable of a dataflow block or function, in order."""
    found: dict[Var, list[Var]] = {}
    for binding in _bindings(block.op):
        found.setdefault(binding.var, [])
        for used in all_vars(binding.value):
            found.setdefault(used, []).append(binding.var)
    return found


def contains_impure_call(expr: Function) -> bool:
    """Whether a function calls what may have effects."""
    return any(_is_impure(op) for op in expr.op.walk())


def _is_impure(op: Operation) -> bool:
    if isinstance(op, relax.CallValueOp):
        t = op.func.type
        return isinstance(t, relax.CallableType) and not t.pure
    return isinstance(op, relax.Operator | relax.CallBase) and not op.PURE


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
