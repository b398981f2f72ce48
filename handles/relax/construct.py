"""Functions, blocks of bindings and branches built from parts on their own: TVM's constructors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Block, SSAValue

from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import is_base_of
from ...ir.verification.as_written import remember
from ...ir.verification.ill_formed import MissingResult
from .builder import Builder
from .calls import to_expr
from .expr import Expr, Var
from .function import BindingBlock, Function, If, SeqExpr
from .function_parts import finish_function, take_params


def build_function(
    name: str,
    params: Sequence[Var],
    body: Expr,
    ret: Attribute | None,
    pure: bool,
    attrs: Mapping[str, Any],
    private: bool,
) -> relax.FuncOp:
    """Return a function that belongs to no module, from `params` and a body: an expression, or a finished block."""
    if isinstance(body, SeqExpr) and body.block.parent is None:
        if not body.block.args:
            take_params(body.block, params)
        last = body.block.last_op
        value = body.ssa
        if isinstance(last, relax.YieldOp | relax.ReturnOp):
            last.detach()
            last.drop_all_references()
        return finish_function(name, body.block, value, ret, pure, attrs, private)
    if isinstance(body, SeqExpr):
        block, value = _copy_sequence(body, params)
        return finish_function(name, block, value, ret, pure, attrs, private)
    builder = Builder()
    with builder.begin_scope(params) as block:
        value = builder.place(body)
    return finish_function(name, block, value, ret, pure, attrs, private)


def _copy_sequence(seq: SeqExpr, params: Sequence[Var]) -> tuple[Block, SSAValue]:
    """Return a block with a copy of the bindings of a body, whose arguments replace `params`, and the copied result."""
    block = Block(arg_types=[p.ssa.type for p in params])
    copies: dict[SSAValue, SSAValue] = {}
    for var, arg in zip(params, block.args, strict=True):
        set_name(arg, name_of(var.ssa))
        copies[var.ssa] = arg
    for op in seq.block.ops:
        if op is not seq.block.last_op:
            block.add_op(op.clone(copies))
    return block, copies.get(seq.ssa, seq.ssa)


def build_sequence(blocks: Sequence[BindingBlock], body: Any) -> Block:
    """Return a block of bindings that belongs to no function yet and ends with the value of `body`."""
    builder = Builder()
    builder.remembers = True
    with builder.begin_scope() as block:
        for each in blocks:
            builder.emit_block(each)
        block.add_op(relax.YieldOp(builder.place(to_expr(body))))
    for var in (b.var for each in blocks if each.detached for b in each.bindings):
        emitted = builder.get_remap(var.ssa)
        if emitted is not None and _may_be(var.ssa.type, emitted.ssa.type):
            var.point_at(emitted.ssa)  # a variable declared with another type stays as it is outside of the block
    return block


def _may_be(declared: Attribute, inferred: Attribute) -> bool:
    """Return whether one of both types refines the other."""
    return is_base_of(declared, inferred) or is_base_of(inferred, declared)


def build_branch(body: Expr) -> Block:
    """Return the block of a branch: a finished block, or a new one for a single expression."""
    if isinstance(body, SeqExpr):
        if body.block.parent is None:
            return body.block
        block, value = _copy_sequence(body, ())
        block.add_op(relax.YieldOp(value))
        return block
    builder = Builder()
    with builder.begin_scope() as block:
        end = relax.YieldOp(builder.place(body))
        block.add_op(end)
    remember(end).broken.append((MissingResult, "the body of a branch is no SeqExpr"))
    return block


Function.build = staticmethod(build_function)

SeqExpr.build = staticmethod(build_sequence)

If.build = staticmethod(build_branch)
