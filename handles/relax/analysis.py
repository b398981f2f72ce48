"""Analyses of Relax programs, with TVM's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from xdsl.ir import Block, Operation, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.relax.signatures import BaseCheckResult
from ...dialects.sym.expr import Var as SymVar
from ...ir.functions import symbolic_vars
from ...ir.functions.lookup import callee_names, first_impure_call, is_impure_call, outside_of_closures
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.verification.well_formed import check_well_formed, well_formed, well_formed_problems
from ..module import IRModule
from ..struct_info import (
    can_prove_shape_equal,
    collect_non_negative_expressions,
    definable_tir_vars_in_struct_info,
    derive_call_ret_struct_info,
    erase_to_well_defined,
    get_static_type,
    struct_info_base_check,
    struct_info_lca,
    tir_vars_in_struct_info,
)
from ..tir.dims import dim_value
from .call import Call
from .expr import Expr, GlobalVar, Var
from .function import Binding, DataflowBlock, Function, SeqExpr, binding_of
from .functor import post_order_visit

_T = TypeVar("_T")


def _bindings(root: Operation) -> Iterator[Binding]:
    """Yield the distinct bindings inside `root`."""
    for op in root.walk():
        if isinstance(op, relax.DataflowOp):
            yield from (b for b in DataflowBlock(op).bindings if b.var.ssa.owner is op)
        elif op is not root and len(op.results) == 1 and not relax.is_inline(op):
            yield binding_of(op)


def get_var2val(func: Function) -> dict[Var, Expr]:
    """Return the value that each variable of a function is bound to."""
    return {b.var: b.value for b in _bindings(func.op)}


def name_to_binding(func: Function) -> dict[str, list[Binding]]:
    """Return the bindings, grouped by the names of their variables."""
    bindings: dict[str, list[Binding]] = {}
    for b in _bindings(func.op):
        bindings.setdefault(b.var.name_hint, []).append(b)
    return bindings


def bound_vars(expr: Function | SeqExpr) -> list[Var]:
    """Return the parameters and variables that a function or a sequence binds."""
    if isinstance(expr, SeqExpr):
        return [b.var for block in expr.blocks for b in block.bindings]
    blocks = (block for op in expr.op.walk() for region in op.regions for block in region.blocks)
    return [*(Var.on(a) for block in blocks for a in block.args), *(b.var for b in _bindings(expr.op))]


def _collect(expr: Any, kind: type[_T]) -> list[_T]:
    """Return the distinct expressions of a class inside `expr`, in order."""
    distinct: dict[_T, None] = {}

    def visit(e: object) -> None:
        if isinstance(e, kind):
            distinct[e] = None

    post_order_visit(expr, visit)
    return list(distinct)


def all_vars(expr: Any) -> list[Var]:
    """Return the distinct variables in an expression, in order: those that it binds, and those that it uses."""
    if not isinstance(expr, Function):
        return used_vars(expr)
    return list(dict.fromkeys([*bound_vars(expr), *free_vars(expr)]))


def used_vars(expr: Any) -> list[Var]:
    """Return the distinct variables that an expression uses, in order."""
    return _collect(expr, Var)


def all_global_vars(expr: Any) -> list[GlobalVar]:
    """Return the distinct functions that an expression refers to."""
    return _collect(expr, GlobalVar)


def free_vars(expr: Any) -> list[Var]:
    """Return the variables that an expression uses and does not bind."""
    if isinstance(expr, SeqExpr):
        bound = set(bound_vars(expr))
        return [v for v in used_vars(expr) if v not in bound]
    if not isinstance(expr, Function):
        return all_vars(expr)
    inside = set(expr.op.walk())
    used = dict.fromkeys(v for op in inside for v in op.operands)
    return [Var.on(v) for v in used if _owner(v) not in inside]


def _owner(value: SSAValue) -> Operation | None:
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def udchain(dfb: DataflowBlock | Function) -> dict[Var, list[Var]]:
    """Return the users of each variable of a dataflow block or function, in order."""
    chain: dict[Var, list[Var]] = {}
    for binding in _bindings(dfb.op):
        chain.setdefault(binding.var, [])
        for used in used_vars(binding.value):
            chain.setdefault(used, []).append(binding.var)
    return chain


def contains_impure_call(expr: Function | SeqExpr, own_name: Var | GlobalVar | None = None) -> bool:
    """Return whether a function, or a function body, calls something that may have effects.

    Calls of `own_name`, the function itself, are ignored.

    A call in a local function counts where that function is called, not where it is defined; a function that is not
    known may have any effect.
    """

    def is_own(op: Operation) -> bool:
        if isinstance(op, relax.CallOp):
            return isinstance(own_name, GlobalVar) and op.callee_name == own_name.name_hint
        return isinstance(op, relax.CallValueOp) and isinstance(own_name, Var) and Var.on(op.func) == own_name

    if isinstance(expr, Function):
        return first_impure_call(expr.op, is_own) is not None
    calls = () if expr.block.parent is not None else outside_of_closures(expr.block)
    unknown = any(isinstance(op, relax.CallOp) and not is_own(op) for op in calls)
    return unknown or first_impure_call(expr.block, is_own) is not None


# Symbolic variables.


def free_symbolic_vars(func: Function) -> list[Any]:
    """Return the distinct symbolic variables that a function uses but does not define, in order."""
    return list(map(dim_value, symbolic_vars.undefined_vars(func.op)))


def defined_symbolic_vars(func: Function) -> list[Any]:
    """Return the distinct symbolic variables that the parameters and match_casts of a function define, in order."""
    return list(map(dim_value, symbolic_vars.defined_vars(func.op)))


# Modules.


def called_global_vars(expr: Any) -> list[GlobalVar]:
    """Return the distinct functions that an expression calls (`all_global_vars` also includes other references)."""
    callees: dict[GlobalVar, None] = {}

    def visit(e: object) -> None:
        if isinstance(e, Call):
            tir = e.args[0] if isinstance(e.op_handle, relax.CallTIROp | relax.CallTIRInplaceOp) else e.op
            callees.update({tir: None} if isinstance(tir, GlobalVar) else {})

    post_order_visit(expr, visit)
    return list(callees)


def detect_recursion(mod: IRModule) -> list[list[GlobalVar]]:
    """Return the sets of functions that refer to themselves or to each other in a cycle, each sorted by name.

    A reference counts even if it is not a call. Linear time: the strongly connected components of the references.
    """
    edges = {gv.name_hint: list(_references(f.op)) for gv, f in mod.functions.items()}
    recursive = [group for group in components(edges) if len(group) > 1 or group[0] in edges[group[0]]]
    return [[mod.get_global_var(name) for name in sorted(group)] for group in sorted(recursive, key=min)]


def _references(func: Operation) -> Iterator[str]:
    return (name for op in func.walk() for name in callee_names(op))


def components(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the strongly connected components of a graph given by its edges."""
    search = _Components(edges)
    for root in edges:
        search.run(root)
    return search.groups


class _Components:
    """Tarjan's algorithm (1972), without recursion."""

    def __init__(self, edges: Mapping[str, Sequence[str]]):
        self.groups: list[list[str]] = []
        self._edges = edges
        self._index: dict[str, int] = {}
        self._low: dict[str, int] = {}
        self._open: dict[str, None] = {}

    def run(self, root: str) -> None:
        """Visit everything reachable from `root` that was not visited yet."""
        if root in self._index:
            return
        stack = [self._enter(root)]
        while stack:
            node, rest = stack[-1]
            following = next((n for n in rest if n in self._edges and (n not in self._index or n in self._open)), None)
            if following is None:
                stack.pop()
                self._leave(node, stack[-1][0] if stack else None)
            elif following in self._index:
                self._low[node] = min(self._low[node], self._index[following])
            else:
                stack.append(self._enter(following))

    def _enter(self, node: str) -> tuple[str, Iterator[str]]:
        self._index[node] = self._low[node] = len(self._index)
        self._open[node] = None
        return node, iter(self._edges[node])

    def _leave(self, node: str, parent: str | None) -> None:
        if parent is not None:
            self._low[parent] = min(self._low[parent], self._low[node])
        if self._low[node] != self._index[node]:
            return
        group: list[str] = []
        while node in self._open:
            group.append(self._open.popitem()[0])
        self.groups.append(group)


# Functions.


def computable_at_compile_time(func: Function) -> list[Var]:
    """Return the parameters and variables that do not depend on the first `num_input` parameters, in order.

    Returns an empty list without the attribute `num_input`.
    """
    count = func.attrs.get("num_input")
    if count is None:
        return []
    variables = func.params[int(count) :]
    known = {v.ssa for v in variables}
    symbols = set(symbolic_vars.definable_vars(v.type for v in known))
    for op in _straight_line(func.op.body.block):
        if isinstance(op, relax.DataflowOp):
            pairs = zip(op.output_op.values_, op.outputs, strict=True)
            known.update(outer for inner, outer in pairs if inner in known)
        elif known.issuperset(_outer_operands(op)) and symbols.issuperset(_outer_symbols(op)) and not _may_act(op):
            known.update(op.results)
            variables += [] if relax.is_inline(op) else [Var.on(r) for r in op.results]
            symbols.update(symbolic_vars.defined_in(op) if isinstance(op, relax.MatchCastOp) else ())
    return variables


def _straight_line(block: Block) -> Iterator[Operation]:
    """Yield the bindings of a block in order; a dataflow block comes after its own bindings."""
    for op in block.ops:
        if isinstance(op, relax.DataflowOp):
            yield from _straight_line(op.body.block)
        if op.results:
            yield op


def _outer_operands(op: Operation) -> set[SSAValue]:
    """Return the values that an op, or the ops in its regions, use from outside."""
    inside = set(op.walk())
    return {v for inner in inside for v in inner.operands if _owner(v) not in inside}


def _outer_symbols(op: Operation) -> set[SymVar]:
    if isinstance(op, relax.MatchCastOp):
        return set()
    return set(symbolic_vars.undefined_vars(op))


def _may_act(op: Operation) -> bool:
    return any(is_impure_call(inner, {}) for inner in op.walk())


def remove_all_unused(func: Function | SeqExpr) -> Any:
    """Return a copy of the function without unused bindings of pure values, and without empty dataflow blocks.

    For the body of a function, return the body of such a copy.
    """
    if isinstance(func, SeqExpr):
        around = func.block.parent_op()
        if not isinstance(around, relax.FuncOp):
            raise TiraxError("only the body of a function is cleaned by itself", found="a sequence without a function")
        return remove_all_unused(Function.on(around)).body
    new = func.copy()
    remove_dead_bindings(new.op)
    return new


__all__ = [
    "BaseCheckResult", "all_global_vars", "all_vars", "bound_vars", "called_global_vars",
    "can_prove_shape_equal", "check_well_formed", "collect_non_negative_expressions", "components",
    "computable_at_compile_time", "contains_impure_call", "definable_tir_vars_in_struct_info",
    "defined_symbolic_vars", "derive_call_ret_struct_info", "detect_recursion", "erase_to_well_defined",
    "free_symbolic_vars", "free_vars", "get_static_type", "get_var2val", "name_to_binding", "post_order_visit",
    "remove_all_unused", "struct_info_base_check", "struct_info_lca", "tir_vars_in_struct_info", "udchain",
    "used_vars", "well_formed", "well_formed_problems",
]  # fmt: skip
