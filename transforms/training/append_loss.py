"""Append a loss to a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from ...diagnostics import ShapeError, TiraxError
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import TensorType, is_base_of
from ...dialects.sym.expr import Var
from ...ir.functions.lookup import functions, relax_functions
from ...ir.locations import location_of
from ...ir.names import NameSupply
from ...ir.passes.transform import Pass
from ...ir.rewriting.bind import function_symbols
from ...ir.rewriting.edit import erase, insert_before
from ...ir.rewriting.substitute import SymbolSubstitution
from ..functions.private import bind_variables
from .blocks import bind_outputs, dataflow_block, make_unique


@dataclass(frozen=True)
class AppendLoss(Pass):
    """Add a function that computes `func_name` followed by a loss of its first results.

    def f(x): …; return (out, state)  ->  def f_loss(x, targets): …; return (loss, state)

    `loss_function`: a function (predictions…, targets…) -> a scalar; both functions have a single dataflow block.
    `num_backbone_outputs`: the number of results of the backbone that are predictions; the new function also returns
    the others. `new_func_name`: its name, by default `<func_name>_loss`.
    """

    name = "append-loss"
    func_name: str
    loss_function: Any
    num_backbone_outputs: int = 1
    new_func_name: str | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        backbone = relax_functions(op, self.func_name)[0]
        loss = getattr(self.loss_function, "op", self.loss_function)
        if not isinstance(loss, relax.FuncOp):
            raise TiraxError("a loss is a Relax function", expected="a Function", found=type(loss).__name__)
        name = self.new_func_name or f"{self.func_name}_loss"
        taken = functions(op)
        if name in taken:
            raise TiraxError(f"there is a function '{name}' already", location=location_of(taken[name]))
        new = backbone.clone()
        new.sym_name, new.sym_visibility = StringAttr(name), None
        _append(new, loss.clone(), self.num_backbone_outputs)
        op.body.block.insert_op_after(new, backbone)


def _results(func: relax.FuncOp) -> list[SSAValue]:
    """Return the results of a function: the fields of an explicit tuple, or the single result."""
    value = func.return_op.value
    values = list(value.owner.fields_) if isinstance(value.owner, relax.TupleOp) else [value]
    if any(isinstance(v.owner, Operation) and relax.is_inline(v.owner) for v in values):
        raise TiraxError("a function with a loss returns variables", location=location_of(func.return_op))
    return values


def _inner(value: SSAValue, dataflow: relax.DataflowOp) -> SSAValue:
    """Return the value inside a dataflow block for one of its outputs."""
    if value.owner is not dataflow:
        return value
    return dataflow.output_op.values_[list(dataflow.outputs).index(value)]  # pyright: ignore[reportArgumentType]


def _append(func: relax.FuncOp, loss: relax.FuncOp, count: int) -> None:
    dataflow, loss_dataflow = dataflow_block(func), dataflow_block(loss)
    bind_outputs(dataflow)
    bind_outputs(loss_dataflow)
    results = [_inner(v, dataflow) for v in _results(func)]
    _check(func, loss, results, count)
    _rename_symbols(func, loss, results[:count])
    block, end = dataflow.body.block, dataflow.output_op
    for param, value in zip(loss.params[:count], results[:count], strict=True):
        param.replace_all_uses_with(value)
    for param in loss.params[count:]:
        target = func.body.block.insert_arg(param.type, len(func.params))
        set_name(target, name_of(param))
        param.replace_all_uses_with(target)
    new = [op for op in loss_dataflow.body.block.ops if op is not loss_dataflow.output_op]
    scalar = _inner(_results(loss)[0], loss_dataflow)
    for op in new:
        op.detach()
        block.insert_op_before(op, end)
    _return(func, dataflow, [scalar, *results[count:]])
    make_unique(func, set(new))
    block = dataflow_block(func)
    for value, result in zip(block.output_op.values_, block.outputs, strict=True):
        set_name(result, name_of(value))


def _check(func: relax.FuncOp, loss: relax.FuncOp, results: Sequence[SSAValue], count: int) -> None:
    """Raise if the loss cannot be appended to the function."""
    if not 0 < count <= min(len(results), len(loss.params)):
        raise TiraxError(
            "num_backbone_outputs does not fit",
            location=location_of(func),
            expected=f"from 1 to {min(len(results), len(loss.params))}",
            found=count,
        )
    for param, value in zip(loss.params[:count], results[:count], strict=True):
        if not is_base_of(param.type, value.type) and not _symbolically(param, value):
            raise ShapeError(
                f"the loss's parameter '{name_of(param)}' does not take what the function returns",
                location=location_of(func.return_op),
                expected=param.type,
                found=value.type,
            )
    result = loss.return_op.value.type
    if not isinstance(result, TensorType) or result.rank != 0:
        raise ShapeError("a loss is a scalar", location=location_of(loss), expected="a tensor of rank 0", found=result)


def _symbolically(param: SSAValue, value: SSAValue) -> bool:
    """Return whether a parameter accepts a value, with its symbolic variables bound to the value's extents."""
    bindings = bind_variables([param.type], [value.type])
    return is_base_of(SymbolSubstitution(bindings).attribute(param.type), value.type)


def _rename_symbols(func: relax.FuncOp, loss: relax.FuncOp, results: Sequence[SSAValue]) -> None:
    """Bind the loss's symbolic variables to the predictions' extents, and rename the others to new ones."""
    bindings = bind_variables([p.type for p in loss.params[: len(results)]], [v.type for v in results])
    names = NameSupply([str(v.name) for v in function_symbols(func)])
    for v in function_symbols(loss):
        if v not in bindings:
            bindings[v] = Var(names.fresh(str(v.name)), v.dtype)
    SymbolSubstitution(bindings).operation(loss)


def _return(func: relax.FuncOp, dataflow: relax.DataflowOp, values: Sequence[SSAValue]) -> None:
    """Make a function return `values`, which are values of its dataflow block or parameters."""
    block, last = dataflow.body.block, func.return_op
    old_tuple: Operation | None = last.value.owner if isinstance(last.value.owner, relax.TupleOp) else None
    erase(last)
    if old_tuple is not None:
        erase(old_tuple)
    end = dataflow.output_op
    erase(end)
    place = {op: i for i, op in enumerate(block.ops)}
    inside = [v for v in values if isinstance(v.owner, Operation)]
    own = sorted(dict.fromkeys(inside), key=lambda v: place[v.owner])  # pyright: ignore[reportArgumentType]
    block.add_op(relax.OutputOp(own))
    dataflow.body.detach_block(block)
    new = relax.DataflowOp(type(dataflow.body)(block))
    for v, result in zip(own, new.outputs, strict=True):
        set_name(result, name_of(v))
    insert_before(dataflow, new)
    erase(dataflow)
    outputs = dict(zip(own, new.outputs, strict=True))
    results = [outputs.get(v, v) for v in values]
    value = results[0]
    if len(results) > 1:
        fields = relax.TupleOp(results)
        func.body.block.add_op(fields)
        value = fields.result
    func.body.block.add_op(relax.ReturnOp(value))
    bound = set(relax.free_symbolic_vars(p.type for p in func.params))
    func.ret_type = relax.erase_unbound(value.type, bound)
