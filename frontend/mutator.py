"""Relax mutators with TVM's names: override `visit_call_` etc. of `PyExprMutator`.

A mutator builds a new function with `self.builder_`, binding by binding: `visit_call_` and the other
methods receive an expression of the old function and return its replacement. The replacement may use
variables of the old function: the builder maps them to the new ones.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import SymbolRefAttr, UnknownLoc
from xdsl.ir import Operation, Region, SSAValue

from ..diagnostics import TiraxError
from ..dialects import relax
from ..handles.module import IRModule
from ..handles.relax.call import Call
from ..handles.relax.expr import DataflowVar, Expr, GlobalVar, Id, Tuple, TupleGetItem, Var, expr_of
from ..handles.relax.function import Binding, BindingBlock, DataflowBlock, Function, If, MatchCast, SeqExpr, VarBinding
from ..handles.relax.functor import dispatch, method_of
from ..handles.relax.op import Op
from ..handles.struct_info import StructInfo, TensorStructInfo, type_of
from ..ir.rewriting.edit import set_type
from ..ir.rewriting.infer import infer_again
from .block_builder import BlockBuilder

_T = TypeVar("_T")


def _same(self: Any, expr: Any) -> Any:
    """Return the expression, which has no parts to visit."""
    return expr


class PyExprMutator:
    """Rebuilds a function; each method returns the replacement of its argument, by default with its parts visited.

    `mod` is the module that `builder_` starts from; it is not changed: `self.builder_.get()` returns the new
    one. `visit_struct_info` rewrites declared struct info: of parameters and results of functions, of calls
    that declare it, and of match_casts. All other struct info is inferred.
    """

    def __init__(self, mod: IRModule | None = None):
        self.builder_ = BlockBuilder(mod)

    def visit_expr(self, expr: Any) -> Any:
        """Rewrite an expression or a function by its class. Raises `TiraxError` if the method returns nothing."""
        new = dispatch(self, expr)
        if new is None:
            method = method_of(expr)
            raise TiraxError(
                f"{type(self).__name__}.{method} returned None",
                expected="the expression that takes the place of its argument",
                hint=f"to leave the argument as it is: return super().{method}(expr)",
            )
        return new

    visit_constant_ = visit_data_type_imm_ = visit_extern_func_ = visit_global_var_ = _same
    visit_op_ = visit_prim_value_ = visit_shape_expr_ = visit_string_imm_ = visit_null_value_ = visit_span = _same

    def visit_struct_info(self, struct_info: StructInfo) -> StructInfo:
        """Return the replacement of declared struct info, by default unchanged."""
        return struct_info

    def visit_var_(self, var: Var) -> Expr:
        """Return the variable that currently replaces `var`."""
        return self.get_var_remap(var.vid)

    def visit_dataflow_var_(self, var: DataflowVar) -> Expr:
        """Same as `visit_var_` by default."""
        return self.visit_var_(var)

    def visit_expr_post_order(self, expr: Any) -> Any:
        """Return the expression with its parts rewritten, without calling its own visit method."""
        if isinstance(expr, Call | Tuple | TupleGetItem) and not isinstance(expr, If):
            return self._rebuild(expr)
        name = "visit_var_" if isinstance(expr, Var) else method_of(expr)
        if name is None:
            raise TiraxError("nothing to visit", expected="a Relax expression", found=type(expr).__name__)
        return getattr(PyExprMutator, name)(self, expr)

    def visit_call_(self, call: Call) -> Expr:
        return self._rebuild(call)

    def visit_tuple_(self, tup: Tuple) -> Expr:
        return self._rebuild(tup)

    def visit_tuple_getitem_(self, item: TupleGetItem) -> Expr:
        return self._rebuild(item)

    def visit_if_(self, branch: If) -> Expr:
        cond = self.builder_.place(self.visit_expr(branch.cond))
        regions = [self.visit_with_new_scope(b) for b in (branch.true_branch, branch.false_branch)]
        return If(Var.on(cond), *regions)

    def visit_function_(self, func: Function) -> Function:
        new_params = [self.visit_var_def(p) for p in func.params]
        params = [Var(p.name_hint, self.visit_struct_info(p.struct_info)) for p in new_params]
        for old, new in zip(func.params, params, strict=True):
            self.builder_.set_remap(old.ssa, new)
        body = self.visit_with_new_scope(func.body, params)
        ret = self.visit_struct_info(func.ret_struct_info)
        result_type = body.ssa.type
        keeps = result_type == func.body.ssa.type or relax.is_base_of(ret.type, result_type)
        if func.is_local:
            return Function.on(_closure(func, body, ret.type if keeps else result_type))
        new = Function(params, body, ret if keeps else None, func.is_pure, dict(func.attrs))
        new.op.sym_name = func.op.sym_name
        new.op.location = func.op.location
        return new

    def visit_with_new_scope(self, expr: Any, params: list[Var] | None = None) -> SeqExpr:
        """Rewrite an expression into a new block with `params` as its arguments."""
        is_function = params is not None or (
            isinstance(expr, SeqExpr) and isinstance(expr.block.last_op, relax.ReturnOp)
        )
        with self.builder_.begin_scope(params) as block:
            value = self.builder_.place(self._inlined(self.visit_expr(expr)))
            block.add_op(relax.ReturnOp(value) if is_function else relax.YieldOp(value))
        return SeqExpr(block)

    def visit_seq_expr_(self, seq: SeqExpr) -> Expr:
        """Rewrite the blocks and the result into a detached block."""
        with self.builder_.begin_scope() as block:
            for each in seq.blocks:
                self._emit_rewritten(each)
            block.add_op(relax.YieldOp(self.builder_.place(self.visit_expr(seq.body))))
        return SeqExpr(block)

    def _emit_rewritten(self, block: BindingBlock) -> None:
        new = self.visit_binding_block(block)
        if new is block:
            self._reemit_block(block)
        elif new.detached:
            self.builder_.emit_block(new)

    def visit_binding_block(self, block: BindingBlock) -> BindingBlock:
        """Rewrite a block by its class."""
        return (
            self.visit_dataflow_block_(block) if isinstance(block, DataflowBlock) else self.visit_binding_block_(block)
        )

    def visit_binding_block_(self, block: BindingBlock) -> BindingBlock:
        self.builder_._begin_binding_block()  # pyright: ignore[reportPrivateUsage] (TVM's name of it)
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_._end_block()  # pyright: ignore[reportPrivateUsage]

    def visit_dataflow_block_(self, block: DataflowBlock) -> BindingBlock:
        self.builder_._begin_dataflow_block()  # pyright: ignore[reportPrivateUsage]
        for binding in block.bindings:
            self.visit_binding(binding)
        self.builder_.order_outputs([self.builder_.get_remap(outer) for outer in block.op.outputs])
        return self.builder_._end_block()  # pyright: ignore[reportPrivateUsage]

    def _reemit_block(self, block: BindingBlock) -> None:
        """Emit a block that a visit method returned unchanged."""
        visit = PyExprMutator.visit_binding_block
        copier = PyExprMutator.__new__(PyExprMutator)
        copier.builder_ = self.builder_
        visit(copier, block)

    def visit_binding(self, binding: Binding) -> None:
        """Rewrite a binding by its class."""
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(cast(VarBinding, binding))

    def visit_var_binding_(self, binding: VarBinding) -> None:
        self.reemit_binding(binding, self.visit_expr(binding.value))

    def visit_match_cast_(self, binding: MatchCast) -> None:
        new_var = self.visit_var_def(binding.var)
        value = self.visit_expr(binding.value)
        cast_to = MatchCast(new_var, value, self.visit_struct_info(new_var.struct_info))
        self.set_var_remap(binding.var.vid, self.builder_.emit_binding(cast_to, value))

    def reemit_binding(self, binding: VarBinding, new_value: Expr) -> None:
        """Emit a binding with a new value; the new variable keeps the name and replaces the old variable."""
        var = self.visit_var_def(binding.var)
        target = binding if var is binding.var else VarBinding(var, binding.value)
        new = self.builder_.emit_binding(target, self._inlined(new_value))
        _keep_location(binding.var.ssa, new.ssa)
        self.set_var_remap(binding.var.vid, new)

    def _inlined(self, expr: Expr) -> Expr:
        """Return an expression; for blocks with a result, move the blocks into the current scope and return the
        result.
        """
        if not isinstance(expr, SeqExpr):
            return expr
        *bindings, end = expr.block.ops
        if not isinstance(end, relax.YieldOp) or expr.block.parent is not None:  # those of another function
            return self._inlined(PyExprMutator.visit_seq_expr_(self, expr))
        value = expr.body
        end.detach()
        end.drop_all_references()
        for op in bindings:
            op.detach()
            if op.results[0].uses or not relax.is_inline(op):  # a leaf that is only the result is placed with it
                self.builder_.scope.block.add_op(op)
        return value

    def visit_var_def(self, var: Var) -> Var:
        """Rewrite the variable of a binding, or a parameter, by its class."""
        return self.visit_dataflow_var_def_(var) if isinstance(var, DataflowVar) else self.visit_var_def_(var)

    visit_var_def_ = visit_dataflow_var_def_ = _same

    def set_var_remap(self, vid: Id, var: Var) -> None:
        """Map the variable with the identity `vid` to `var`."""
        self.builder_.set_remap(vid.key, var)

    def get_var_remap(self, vid: Id) -> Expr:
        """Return the variable that `vid` is mapped to, by default itself."""
        replacement = self.builder_.get_remap(vid.key)
        return Var.on(vid.key) if replacement is None else replacement

    def lookup_binding(self, var: Var) -> Expr | None:
        """Return the value bound to a variable, or None for a parameter."""
        return self.builder_.lookup_binding(var)

    def with_struct_info(self, var: Var, struct_info: StructInfo) -> Var:
        """Return a variable of the same name with other struct info."""
        if var.struct_info.type == struct_info.type:
            return var
        return type(var)(var.name_hint, struct_info)

    def _rebuild(self, expr: Any) -> Any:
        """Return `expr` with its operands rewritten: the same object if none changed, else a detached copy."""
        if isinstance(expr, Tuple):
            return Tuple([self.visit_expr(f) for f in expr.fields])
        expr = self._of_new_callee(expr) if isinstance(expr, Call) else expr
        op = expr.op_handle
        replaced = {v: new for v in op.operands if (new := self._operand(v)) is not v}
        declared = op.results[0].type
        if isinstance(op, relax.CallBase):
            declared = self.visit_struct_info(StructInfo.of(declared)).type
        if not replaced and declared == op.results[0].type:
            self._visit_shape(expr)
            return expr
        new = _with_operands(op, replaced)
        if isinstance(op, relax.CallBase):
            set_type(new, declared)
        return type(expr).on(new)

    def _visit_shape(self, expr: Expr) -> None:
        """Visit the shape of an unchanged call, as TVM's mutators do."""
        info = expr.struct_info if isinstance(expr, Call) and _sees_shapes(type(self)) else None
        if isinstance(info, TensorStructInfo) and info.shape is not None:
            self.visit_expr(info.shape)

    def _of_new_callee(self, call: Call) -> Call:
        """Return `call` with its operator and callee rewritten, or `call` itself if both are unchanged."""
        callee = call.op
        if isinstance(callee, Op):
            new = self.visit_expr(callee)
            if new != callee:
                return Call(new, call.args, call.attrs, call.sinfo_args)
        op = call.op_handle
        if not isinstance(op, relax.CallOp | relax.CallTIROp | relax.CallTIRInplaceOp):
            return call
        function = GlobalVar(op.callee_name)
        new = self.visit_expr(function)
        if new == function:
            return call
        if not isinstance(new, GlobalVar):
            return Call(new, call.args)
        copy = op.clone(clone_name_hints=False)
        copy.properties["callee"] = SymbolRefAttr(new.name_hint)
        return Call.on(copy.results[0])

    def _operand(self, value: SSAValue) -> SSAValue:
        """Return the replacement of an operand. An operand that is only remapped is kept: the builder replaces it."""
        old = expr_of(value)
        new = self.visit_expr(old)
        if new is old or (new is self.builder_.get_remap(value) and new.ssa.type == value.type):
            return value
        return value if type(new) is type(old) and new == old else new.ssa


def _sees_shapes(kind: type[PyExprMutator]) -> bool:
    return kind.visit_shape_expr_ is not PyExprMutator.visit_shape_expr_


def _with_operands(op: Operation, replaced: dict[SSAValue, SSAValue]) -> SSAValue:
    retyped = any(old.type != new.type for old, new in replaced.items())
    copy = op.clone(dict(replaced), clone_name_hints=False)
    if retyped:
        infer_again(copy)
    return copy.results[0]


def _keep_location(old: SSAValue, new: SSAValue) -> None:
    """Give a replacement the location of the original binding, unless it has one."""
    source, target = old.owner, new.owner
    if isinstance(source, Operation) and isinstance(target, Operation) and isinstance(target.location, UnknownLoc):
        target.location = source.location


def _closure(func: Function, body: SeqExpr, ret: Any) -> relax.ClosureOp:
    return relax.ClosureOp(Region(body.block), type_of(ret), attrs=func.op.func_attrs, pure=func.is_pure)


def mutator(cls: type[_T]) -> type[_T]:
    """TVM's decorator of subclasses of `PyExprMutator`; subclasses may derive from `cls` or from `cls._cls`."""
    undecorated: Any = cls
    undecorated._cls = cls
    return cls
