"""Statements of a Relax function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TupleType, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ...diagnostics import TiraxError
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax import OBJECT, PrimType, TensorDataAttr, TensorType, is_base_of, least_common_ancestor
from ...dialects.relax.signatures import BaseCheckResult, base_check
from ...dialects.sym.expr import Var
from ...ir.verification.as_written import remember
from .attributes import attribute_dict
from .relax_state import Builder, DataflowFrame, RelaxParser
from .relax_types import as_struct_info
from .relax_values import as_value
from .source import Source
from .values import CallSite, FreshVar, Ref, Unusable, describe

_KEEP_THEIR_TYPES = frozenset(
    (*relax.INLINE_OPS, relax.DataflowOp, relax.CallTIROp, relax.CallTIRInplaceOp, relax.CallDPSPackedOp)
)
"""Kinds of ops whose result type does not depend on annotations."""


class _Hidden(Unusable):
    """A name of a dataflow block that is not an output, as seen after the block."""

    def error(self, source: Source, node: ast.Name) -> TiraxError:
        hint = f"make it an output: R.output({node.id})"
        return source.error(node, f"'{node.id}' is local to its dataflow block", hint=hint)


_HIDDEN = _Hidden()


def read_body(p: RelaxParser, statements: Sequence[ast.stmt]) -> str | None:
    """Read statements into the current block and return the name that the last one binds."""
    bound: str | None = None
    for statement in statements:
        if isinstance(p.block.last_op, relax.ReturnOp):
            raise p.error(statement, "nothing may follow a return")
        bound = p.statement(statement)
    return bound


def _assign(p: RelaxParser, node: ast.Assign) -> str | None:
    if len(node.targets) != 1:
        raise p.error(node, "only one target may be assigned")
    return _bind_target(p, node.targets[0], p.visit(node.value), node)


def _bind_target(p: RelaxParser, target: ast.expr, value: Any, node: ast.AST) -> str | None:
    if isinstance(target, ast.Name):
        _bind(p, target.id, value, node)
        return target.id
    if not isinstance(target, ast.Tuple | ast.List):
        raise p.error(target, "this cannot be assigned", expected="a name")
    items = _unpacked(p, value, len(target.elts), node)
    if len(items) != len(target.elts):
        raise p.error(node, "the numbers of names and values differ", expected=len(target.elts), found=len(items))
    bound = None
    for name, item in zip(target.elts, items, strict=True):
        bound = _bind_target(p, name, item, node)
    return bound


def _unpacked(p: RelaxParser, value: Any, count: int, node: ast.AST) -> list[Any]:
    if isinstance(value, tuple | list):
        return cast("list[Any]", list(value))
    if isinstance(value, SSAValue) and isinstance(value.type, TupleType):
        if name_of(value) is None:
            _bind(p, "lv" if p.state.function.dataflow is not None else "gv", value, node)
        return [p.emit(relax.TupleGetItemOp(value, i), node) for i in range(len(value.type.types))]
    raise p.error(node, f"this cannot be unpacked into {count} names", found=describe(value))


def _bind(p: RelaxParser, name: str, value: Any, node: ast.AST, annotation: Attribute | None = None) -> None:
    """Bind `name` to `value`."""
    if isinstance(value, FreshVar):
        p.scope.define(name, Var(name))
        return
    if annotation is None and not isinstance(value, SSAValue | tuple | list | TensorDataAttr):
        p.scope.define(name, value)  # a constant, a symbolic expression, the module, a function: an alias
        return
    ssa = as_value(p, value, node)
    named = name_of(ssa) is not None or isinstance(ssa, BlockArgument)
    if named and (annotation is None or is_base_of(annotation, ssa.type)):
        ssa = p.emit(relax.BindOp(ssa), node)
    if annotation is not None:
        ssa = _annotate(p, ssa, annotation, node)
    set_name(ssa, name)
    p.scope.define(name, ssa)
    if p.policy.bound is not None:
        p.policy.bound(node, name, ssa, annotation is not None)


def _annotate(p: RelaxParser, value: SSAValue, annotation: Attribute, node: ast.AST) -> SSAValue:
    """Apply the annotation of a binding.

    It may be less precise than the inferred type, or more precise if consistent with it.

    As in TVM it cannot be less precise for a call with nested calls, whose type is inferred once those are bound.
    """
    inferred = value.type
    if is_base_of(annotation, inferred):
        if type(value.owner) not in _KEEP_THEIR_TYPES and not _has_nested_operand(value):
            value._type = annotation  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        elif isinstance(value.owner, relax.CallDPSPackedOp) and annotation not in (inferred, OBJECT):
            remember(value.owner).declared = annotation
        return value
    if base_check(annotation, inferred) is BaseCheckResult.FAIL_L0:
        if p.state.checked:
            raise p.error(node, "the annotation does not hold", expected=annotation, found=inferred)
        return _declared_only(p, value, annotation, node)
    if isinstance(value.owner, relax.CallBase | relax.MatchCastOp):
        value._type = annotation  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        return value
    return p.emit(relax.MatchCastOp(value, annotation), node)


def _declared_only(p: RelaxParser, value: SSAValue, annotation: Attribute, node: ast.AST) -> SSAValue:
    """Record an annotation that does not hold as the declared one."""
    if name_of(value) is not None or not isinstance(value, OpResult):
        value = p.emit(relax.BindOp(value), node)
    remember(cast(OpResult, value).op).declared = annotation
    return value


def _annotated(p: RelaxParser, node: ast.AnnAssign) -> str | None:
    if not isinstance(node.target, ast.Name):
        raise p.error(node.target, "only a name can be annotated")
    annotation = p.visit(node.annotation)
    if isinstance(annotation, Ref) and annotation.dialect == "tir" or isinstance(annotation, FreshVar):
        _bind(p, node.target.id, FreshVar(PrimType.of(i1)), node)
        return None
    if node.value is None:
        raise p.error(node, "a binding needs a value", expected=f"{node.target.id}: … = …")
    sinfo = as_struct_info(p, annotation, node.annotation)
    _bind(p, node.target.id, p.visit(node.value), node, sinfo)
    return node.target.id


def _expression(p: RelaxParser, node: ast.Expr) -> None:
    if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return
    value = p.visit(node.value)
    if value is not None:
        ssa = as_value(p, value, node)
        if not isinstance(ssa.owner, relax.LEAVES):
            set_name(ssa, "_")


def _return(p: RelaxParser, node: ast.Return) -> None:
    if p.state.function.dataflow is not None:
        raise p.error(node, "return may not stand in a dataflow block", hint="write it after the block")
    if p.state.function.branch_depth:
        raise p.error(node, "return may not stand in a branch", hint="bind the result and return it at the end")
    if node.value is None:
        raise p.error(node, "return needs a value")
    p.emit(relax.ReturnOp(as_value(p, p.visit(node.value), node)), node)


def _with(p: RelaxParser, node: ast.With) -> str | None:
    """Read a dataflow block and return the name of its last binding if that is an output."""
    target = p.target_of(node.items[0].context_expr)
    if target != Ref("relax", "dataflow") or len(node.items) != 1:
        raise p.error(node, "'with' cannot be used so", expected="with R.dataflow():", found=describe(target))
    if p.state.function.dataflow is not None:
        raise p.error(node, "a dataflow block may not stand in another")
    frame = p.state.function.dataflow = DataflowFrame(Block())
    end = [s for s in node.body[-1:] if isinstance(s, ast.Return)]  # it may end the block, but belongs after it
    try:
        with p.into(frame.block) as names:
            read_body(p, node.body[: len(node.body) - len(end)])
            if end and frame.outputs is None:
                _output_result(p, frame, end[0])
            frame.names = dict(names)
    finally:
        p.state.function.dataflow = None
    last = _close_dataflow(p, frame, node)
    read_body(p, end)
    return last


def _output_result(p: RelaxParser, frame: DataflowFrame, node: ast.Return) -> None:
    """Make the returned names the outputs of a block that ends with a return and has no `R.output`."""
    names = dict.fromkeys(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
    values = [(name, p.scope.innermost(name)) for name in names]
    frame.outputs = [(name, value) for name, value in values if isinstance(value, SSAValue)]


def _close_dataflow(p: RelaxParser, frame: DataflowFrame, node: ast.With) -> str | None:
    place = {op: n for n, op in enumerate(frame.block.ops)}
    ordered = sorted(frame.outputs or [], key=lambda output: place.get(output[1].owner, -1))  # pyright: ignore[reportArgumentType, reportCallIssue]
    outputs = _without_trailing_binds(frame.block, ordered)
    end = relax.OutputOp([value for _, value in outputs])
    end.location = p.source.attr(node)
    frame.block.add_op(end)
    op = relax.DataflowOp(Region(frame.block))
    p.emit(op, node)
    visible: dict[SSAValue, SSAValue] = {}
    for (name, value), result in zip(outputs, op.outputs, strict=True):
        set_name(result, name)
        p.scope.define(name, result)
        visible.setdefault(value, result)
    exported = {name for name, _ in outputs}
    for name, value in frame.names.items():
        if name in exported:
            continue
        if isinstance(value, SSAValue):
            p.scope.define(name, visible.get(value, _HIDDEN))
        else:
            p.scope.define(name, value)
    bound = [name for name, value in frame.names.items() if isinstance(value, SSAValue)]
    return bound[-1] if bound and bound[-1] in exported else None


def output(p: RelaxParser, node: ast.Call) -> None:
    """Read `R.output(a, b)`."""
    frame = p.state.function.dataflow
    if frame is None or p.block is not frame.block:
        raise p.error(node, "R.output is allowed in a dataflow block only")
    if frame.outputs is not None:
        raise p.error(node, "R.output stands once in a dataflow block")
    frame.outputs = []
    for arg in node.args:
        value = p.visit(arg)
        if not isinstance(arg, ast.Name) or not isinstance(value, SSAValue):
            raise p.error(arg, "an output is the name of a value", found=describe(value))
        frame.outputs.append((arg.id, value))


def _func_attr(p: RelaxParser, site: CallSite) -> None:
    if p.state.function.attrs is not None:
        raise site.error("the attributes of a function are given once")
    p.state.function.attrs = attribute_dict(p.source, site.node, site.bind("attrs")[0])


def _if(p: RelaxParser, node: ast.If) -> str | None:
    if p.state.function.dataflow is not None:
        raise p.error(node, "a branch may not stand in a dataflow block")
    cond = as_value(p, p.visit(node.test), node.test)
    _check_condition(p, cond, node.test)
    if not node.orelse:
        raise p.error(node, "an if needs an else in Relax", hint="both branches bind the same name")
    (first, name), (second, other) = (_branch(p, b) for b in (node.body, node.orelse))
    if name != other:
        raise p.error(
            node, "the branches must end with a binding of one name", expected=f"'{name}'", found=f"'{other}'"
        )
    result_type = least_common_ancestor(*(_yield(b, name) for b in (first, second)))
    result = p.emit(relax.IfOp(cond, result_type, Region(first), Region(second)), node)
    set_name(result, name)
    p.scope.define(name, result)
    return name


def _branch(p: RelaxParser, statements: list[ast.stmt]) -> tuple[Block, str]:
    block = Block()
    p.state.function.branch_depth += 1
    try:
        with p.into(block):
            name = read_body(p, statements)
            value = None if name is None else p.scope.lookup(name)
            if name is None or not isinstance(value, SSAValue):
                raise p.error(statements[-1], "a branch must end with a binding", expected="y = …")
            p.emit(relax.YieldOp(value), statements[-1])
    finally:
        p.state.function.branch_depth -= 1
    return block, name


def _yield(branch: Block, name: str) -> Attribute:
    """Return the type that a branch declares for its value.

    A trailing `y = x` or `y = 0` denotes the value and is not a binding. For a trailing `y = f(x)` the value is
    `f(x)`, with a name of its own, because `y` is the result of the branches.
    """
    last = cast(relax.YieldOp, branch.last_op)
    declared, copy = last.value.type, last.value.owner
    if isinstance(copy, relax.BindOp) and copy.next_op is last:
        copy.result.replace_all_uses_with(copy.value)
        copy.detach()
        copy.erase()
    elif copy is last.prev_op and not isinstance(copy, relax.DataflowOp) and name_of(last.value) == name:
        set_name(last.value, None)
    return declared


def _check_condition(p: RelaxParser, cond: SSAValue, node: ast.AST) -> None:
    t = cond.type
    tensor = isinstance(t, TensorType) and t.rank in (None, 0) and t.element in (None, i1)
    if not (tensor or (isinstance(t, PrimType) and t.dtype == i1) or t == OBJECT):
        raise p.error(node, "a condition must be a bool scalar", expected='R.Tensor((), "bool")', found=t)


def _has_nested_operand(value: SSAValue) -> bool:
    """Return whether an argument of a call is itself a call, which has no name yet."""
    owner = value.owner
    return isinstance(owner, Operation) and any(
        _has_nested_operand(v) if relax.is_inline(v.owner) else name_of(v) is None
        for v in owner.operands
        if isinstance(v, OpResult) and not isinstance(v.owner, relax.LEAVES)
    )


def _without_trailing_binds(block: Block, outputs: list[tuple[str, SSAValue]]) -> list[tuple[str, SSAValue]]:
    """Drop bindings such as `gv = add1` at the end of a dataflow block that only rename an output.

    `add1 = add1` is kept.
    """
    positions = {value: i for i, (_, value) in enumerate(outputs)}
    inner = [value for _, value in outputs]
    while (op := block.last_op) is not None:
        if not isinstance(op, relax.BindOp) or op.result not in positions or op.result.uses:
            break
        if op.result.type != op.value.type or inner.count(op.result) != 1:
            break
        if isinstance(op.value, OpResult) and name_of(op.value) == outputs[positions[op.result]][0]:
            break
        inner[positions[op.result]] = op.value
        op.detach()
        op.erase()
    return [(name, value) for (name, _), value in zip(outputs, inner, strict=True)]


STATEMENTS: dict[type[ast.stmt], Callable[[RelaxParser, Any], str | None]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.With: _with,
    ast.If: _if,
}
"""Readers of statements by Python node type; each returns the name that it binds."""
CALLED: dict[str, Builder] = {"func_attr": _func_attr}
"""Functions of `R` that are statements, by name."""
