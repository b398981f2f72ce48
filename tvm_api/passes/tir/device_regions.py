"""`annotate-device-regions` and `split-host-device`: the parts of a function that run on a device, as functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, ModuleOp, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....dialects.sym import ValueOp
from ....dialects.sym.expr import SymExpr, Var
from ....ir.locations import location_of
from ....ir.passes.transform import Pass
from ....ir.rewriting.copy import copied, is_expression
from ....ir.rewriting.edit import insert_before
from ....transforms.tir.walk import erase_with_tree, functions, with_attr

_TARGET = "target"
_DEVICE_SCOPES = ("pipeline_exec_scope", "device_scope")
_RETURNS_STATUS = ("llvm", "c", "ext_dev", "hexagon")
"""The kinds of targets whose kernels return a status."""


def _target(func: tir.FuncOp) -> tir.TargetAttr | None:
    attr = None if func.func_attrs is None else func.func_attrs.data.get(_TARGET)
    return attr if isinstance(attr, tir.TargetAttr) else None


def without_host(target: tir.TargetAttr) -> tir.TargetAttr:
    """Return a target without its host."""
    return tir.TargetAttr.of({k: v for k, v in target.config.items() if k != "host"})


@dataclass(frozen=True)
class AnnotateDeviceRegions(Pass):
    """Put statements that launch threads into a statement with the function's target, if it has a host.

    Raises `UnsupportedError` for a function without a target.
    """

    name = "annotate-device-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            target = _target(func)
            if target is None:
                why = "AnnotateDeviceRegions: Require the target attribute"
                raise UnsupportedError(why, location=location_of(func), hint="run bind-target before")
            if "host" in target.config:
                _annotate(list(func.body.block.ops), without_host(target))


def _annotate(ops: Sequence[Operation], target: tir.TargetAttr) -> None:
    for op in ops:
        if isinstance(op, tir.AttrOp) and op.key.data == _TARGET:
            continue
        device = isinstance(op, tir.LaunchThreadOp) and not op.virtual
        if device or (isinstance(op, tir.AttrOp) and op.key.data in _DEVICE_SCOPES):
            inside = Block()
            zero = tir.ConstOp(0, i32)
            insert_before(op, zero, tir.AttrOp(_TARGET, zero.result, Region(inside), target))
            op.detach()
            inside.add_op(op)
            continue
        for region in op.regions:
            for block in region.blocks:
                _annotate(list(block.ops), target)


@dataclass(frozen=True)
class SplitHostDevice(Pass):
    """Make each statement with a target a function of its own, `<name>_kernel`, and call it.

    Parameters are what the statement uses: addresses first, then numbers, by name. Kernels on CPUs return a status,
    which the caller checks.
    """

    name = "split-host-device"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = {func.sym_name.data for func in functions(op)}
        for func in functions(op):
            regions = [o for o in func.walk() if isinstance(o, tir.AttrOp) and o.key.data == _TARGET]
            for region in regions:
                base = f"{func.sym_name.data}_kernel"
                name = next(n for n in (base, *(f"{base}_{k}" for k in range(1, len(names) + 1))) if n not in names)
                names.add(name)
                op.body.block.add_op(_split(region, name))


def _split(region: tir.AttrOp, name: str) -> tir.FuncOp:
    """Replace a statement by the call of a function, and return the function."""
    target = region.on
    assert isinstance(target, tir.TargetAttr)
    target = without_host(target)
    buffers, scalars = _used(region)
    body = Block()
    mapping: dict[SSAValue, SSAValue] = {}
    arguments: list[SSAValue] = []
    for buffer in sorted(buffers, key=lambda b: name_of(b) or ""):
        insert_before(region, data := tir.BufferDataOp(buffer))
        arguments.append(data.result)
        parameter = body.insert_arg(data.result.type, len(body.args))
        set_name(parameter, name_of(buffer))
    for scalar in sorted(scalars, key=lambda s: name_of(s) or ""):
        arguments.append(scalar)
        parameter = body.insert_arg(scalar.type, len(body.args))
        set_name(parameter, name_of(scalar))
        mapping[scalar] = parameter
    addresses = dict(zip(sorted(buffers, key=lambda b: name_of(b) or ""), body.args, strict=False))
    for buffer in reversed(buffers):
        parameter, buffer_type = addresses[buffer], buffer.type
        assert isinstance(buffer_type, tir.BufferType)
        body.add_op(declared := tir.DeclBufferOp(parameter, buffer_type))
        set_name(declared.result, name_of(buffer))
        mapping[buffer] = declared.result
    copied(region.body.block.ops, body, mapping)
    status = target.config.get("kind") in _RETURNS_STATUS
    if status:
        body.add_op(zero := tir.ConstOp(0, i32))
        body.add_op(tir.ReturnOp(zero.result))
    attrs = DictionaryAttr({_TARGET: target})
    func = tir.FuncOp(name, Region(body), private=True, attrs=attrs, ret_type=i32 if status else None)
    with_attr(func, "tir.noalias", True)
    with_attr(func, "tir.is_global_func", True)
    call = tir.CallOp(name, arguments, i32 if status else tir.VOID)
    insert_before(region, call)
    if status:
        insert_before(region, code := tir.LetOp(call.result))
        set_name(code.result, "kernel_error_code")
        zero = tir.ConstOp(0, i32)
        equal = tir.EqOp(code.result, zero.result)
        insert_before(region, zero, equal, tir.AssertOp(equal.result, "Error executing compute kernel"))
    else:
        insert_before(region, tir.EvaluateOp(call.result))
    erase_with_tree(region)
    return func


def _used(region: tir.AttrOp) -> tuple[list[SSAValue], list[SSAValue]]:
    """Return the buffers and the other values from outside that a statement uses."""
    func = region.parent_op()
    while func is not None and not isinstance(func, tir.FuncOp):
        func = func.parent_op()
    assert func is not None
    named = {Var(name_of(p) or "", p.type): p for p in func.params if isinstance(p.type, IntegerType)}
    values: list[SSAValue] = []
    for op in region.body.walk():
        ordered = _leaves(op) if isinstance(op, tir.StoreOp) else () if is_expression(op) else op.operands
        leaves = [leaf for v in (*ordered, *op.operands) for leaf in _leaves(v)]
        values += [v for v in leaves if not _is_inside(v, region)]
        symbols = [e for e in _expressions(op) for e in e.free_vars()]
        values += [named[v] for v in symbols if v in named]
    unique = list(dict.fromkeys(values))
    return [v for v in unique if isinstance(v.type, tir.BufferType)], [
        v for v in unique if not isinstance(v.type, tir.BufferType)
    ]


def _leaves(value: SSAValue | Operation) -> list[SSAValue]:
    """Return the values that an expression or a store reads, the buffer of an access first."""
    op = value if isinstance(value, Operation) else value.owner
    if not isinstance(op, Operation) or not (value is op or is_expression(op)):
        return [value] if isinstance(value, SSAValue) else []
    operands = [op.buffer, op.value, *op.indices] if isinstance(op, tir.StoreOp) else list(op.operands)
    return [leaf for operand in operands for leaf in _leaves(operand)]


def _expressions(op: Operation) -> list[SymExpr]:
    if isinstance(op, ValueOp):
        return [op.expr.data]
    if isinstance(op, tir.ForOp):
        return [e for e in (op.min, op.extent) if isinstance(e, SymExpr)]
    return []


def _is_inside(value: SSAValue, region: tir.AttrOp) -> bool:
    owner = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
    return owner is not None and region.is_ancestor(owner) and owner is not region
