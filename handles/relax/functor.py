"""Functors and visitors of Relax with TVM's names: override `visit_call_` etc. of `PyExprVisitor`, which walks a
function. `frontend.mutator` has the mutator, which rebuilds functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from ...diagnostics import TiraxError, UnsupportedError
from .call import Call
from .expr import (
    Constant,
    DataflowVar,
    DataTypeImm,
    Expr,
    ExternFunc,
    GlobalVar,
    NullValue,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from .function import Binding, BindingBlock, DataflowBlock, Function, If, MatchCast, SeqExpr, VarBinding
from .op import Op

_T = TypeVar("_T")

_METHODS: dict[type[Expr] | type[Op], str] = {
    Call: "visit_call_",
    Constant: "visit_constant_",
    DataTypeImm: "visit_data_type_imm_",
    DataflowVar: "visit_dataflow_var_",
    ExternFunc: "visit_extern_func_",
    Function: "visit_function_",
    GlobalVar: "visit_global_var_",
    If: "visit_if_",
    NullValue: "visit_null_value_",
    Op: "visit_op_",
    PrimValue: "visit_prim_value_",
    SeqExpr: "visit_seq_expr_",
    ShapeExpr: "visit_shape_expr_",
    StringImm: "visit_string_imm_",
    Tuple: "visit_tuple_",
    TupleGetItem: "visit_tuple_getitem_",
    Var: "visit_var_",
}


def method_of(expr: Any) -> str | None:
    """Return the name of the method for the class of `expr`, or for its nearest base."""
    return next((_METHODS[cls] for cls in type(expr).__mro__ if cls in _METHODS), None)


def dispatch(visitor: Any, expr: Any, *args: Any) -> Any:
    """Call the method for the class of `expr` (or for its nearest base). Raises `TiraxError` if there is none."""
    name = method_of(expr)
    if name is None:
        raise TiraxError("nothing to visit", expected="a Relax expression", found=type(expr).__name__)
    return getattr(visitor, name)(expr, *args)


def _ignore(self: Any, expr: Any) -> None:
    """Visit a leaf, which has no parts."""


def _refuse(self: Any, expr: Any, *args: Any) -> Any:
    """Raise `UnsupportedError`: a subclass must define this method."""
    raise UnsupportedError(
        f"{type(self).__name__} says nothing about a {type(expr).__name__}",
        hint=f"define {next(n for c in type(expr).__mro__ if (n := _METHODS.get(c)) is not None)}",
    )


class ExprFunctor:
    """Dispatches on the class of an expression: `visit_expr(expr, …)` calls `visit_call_(expr, …)` and so on.

    A subclass defines the methods that it needs; other expressions raise `UnsupportedError`.
    """

    def visit_expr(self, expr: Any, *args: Any) -> Any:
        """Return the result of the method for the class of `expr`. Raises `TiraxError` if it is not a Relax
        expression.
        """
        return dispatch(self, expr, *args)

    visit_call_ = visit_constant_ = visit_data_type_imm_ = visit_dataflow_var_ = visit_extern_func_ = _refuse
    visit_function_ = visit_global_var_ = visit_if_ = visit_null_value_ = visit_op_ = visit_prim_value_ = _refuse
    visit_seq_expr_ = visit_shape_expr_ = visit_string_imm_ = visit_tuple_ = visit_tuple_getitem_ = _refuse
    visit_var_ = _refuse


class PyExprVisitor:
    """Visits Relax expressions; each method visits the parts of its argument.

    `visit_struct_info` is called with declared struct info: of parameters and results of functions, of calls that
    declare it, and of match_casts.
    """

    def visit_expr(self, expr: Any) -> None:
        """Visit an expression or a function by its class."""
        dispatch(self, expr)

    visit_constant_ = visit_data_type_imm_ = visit_extern_func_ = visit_global_var_ = visit_null_value_ = _ignore
    visit_op_ = visit_prim_value_ = visit_shape_expr_ = visit_string_imm_ = visit_var_ = visit_span = _ignore
    visit_struct_info = _ignore

    def visit_dataflow_var_(self, var: DataflowVar) -> None:
        """Visit a dataflow variable, by default like other variables."""
        self.visit_var_(var)

    def visit_tuple_(self, tup: Tuple) -> None:
        for f in tup.fields:
            self.visit_expr(f)

    def visit_tuple_getitem_(self, item: TupleGetItem) -> None:
        self.visit_expr(item.tuple_value)

    def visit_call_(self, call: Call) -> None:
        self.visit_expr(call.op)
        for arg in call.args:
            self.visit_expr(arg)
        for sinfo in call.sinfo_args:
            self.visit_struct_info(sinfo)

    def visit_if_(self, branch: If) -> None:
        self.visit_expr(branch.cond)
        self.visit_expr(branch.true_branch)
        self.visit_expr(branch.false_branch)

    def visit_function_(self, func: Function) -> None:
        for p in func.params:
            self.visit_var_def(p)
            self.visit_struct_info(p.struct_info)
        self.visit_expr(func.body)
        self.visit_struct_info(func.ret_struct_info)

    def visit_seq_expr_(self, seq: SeqExpr) -> None:
        for block in seq.blocks:
            self.visit_binding_block(block)
        self.visit_expr(seq.body)

    def visit_binding_block(self, block: BindingBlock) -> None:
        """Visit a block by its class."""
        if isinstance(block, DataflowBlock):
            self.visit_dataflow_block_(block)
        else:
            self.visit_binding_block_(block)

    def visit_binding_block_(self, block: BindingBlock) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_binding(self, binding: Binding) -> None:
        """Visit a binding by its class."""
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(cast(VarBinding, binding))

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        self.visit_expr(binding.value)
        self.visit_struct_info(binding.struct_info)
        self.visit_var_def(binding.var)

    def visit_var_def(self, var: Var) -> None:
        """Visit the variable of a binding, or a parameter, by its class."""
        if isinstance(var, DataflowVar):
            self.visit_dataflow_var_def_(var)
        else:
            self.visit_var_def_(var)

    visit_var_def_ = visit_dataflow_var_def_ = _ignore


def visitor(cls: type[_T]) -> type[_T]:
    """TVM's decorator of subclasses of `PyExprVisitor`; both `cls._cls` and `cls` can be subclassed."""
    undecorated: Any = cls
    undecorated._cls = cls
    return cls


def post_order_visit(expr: Any, fvisit: Callable[[Expr], None]) -> None:
    """Call `fvisit` once for every expression inside `expr`, in post-order."""
    seen: set[tuple[type[Expr], Any]] = set()

    class Post(PyExprVisitor):
        def visit_expr(self, expr: Any) -> None:
            super().visit_expr(expr)
            if isinstance(expr, Expr):
                key = (type(expr), expr if isinstance(expr, SeqExpr | Function | GlobalVar) else expr.ssa)
                if key in seen:
                    return
                seen.add(key)
            fvisit(expr)

    Post().visit_expr(expr)
