"""Tensor functions of functions on memrefs, and of statements in functions on tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IndexType, IntegerAttr, MemRefType, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....diagnostics import UnsupportedError
from ....dialects import relax, tir
from ....dialects.names import name_of, set_name
from ....dialects.relax.types import tuple_type
from ....dialects.sym.expr import Const, SymExpr, Var
from ....ir.locations import location_of
from ....ir.names import NameSupply
from ....te.create import add_scalar_params, undetermined_vars
from ..graph import Filled, Graph
from ..scalars import number, scalar_type
from ..structured import element_of
from .branches import run_region
from .core import Kernel
from .equal_sizes import Axis, equal_sizes
from .values import is_array, place_of


def _parameters(k: Kernel, function: func.FuncOp, labels: Sequence[str]) -> None:
    body, sizes = k.e.block, NameSupply(labels)
    equal, variables = equal_sizes(function), dict[Axis, SymExpr]()

    def size(axis: Axis) -> SymExpr:
        value, number = equal[axis]
        extent = cast("MemRefType[Attribute]", value.type).get_shape()[number]
        if extent != DYNAMIC_INDEX:
            return Const(extent)
        if equal[axis] not in variables:
            variables[equal[axis]] = Var(sizes.fresh("n"))
        return variables[equal[axis]]

    for arg, label in zip(function.args, labels, strict=True):
        kind = arg.type
        if isinstance(kind, MemRefType | TensorType):
            dims = [size((arg, axis)) for axis in range(len(cast("MemRefType[Attribute]", kind).get_shape()))]
            param = body.insert_arg(tir.BufferType.of(dims, element_of(arg)), len(body.args))
            k.new_memref(arg, param)
        else:
            param = body.insert_arg(scalar_type(kind, function), len(body.args))
            k.known[arg] = param
            if isinstance(kind, IndexType):
                k.sizes[arg] = Var(label)
        set_name(param, label)


def kernel_of(
    function: func.FuncOp,
    functions: dict[str, func.FuncOp],
    globals_: dict[str, Operation],
    labels: Sequence[str],
) -> tir.FuncOp:
    """Return the tensor function of a function on memrefs and scalars, without results."""
    k = Kernel(functions, globals_)
    body = k.e.block
    k.open.append(function)
    _parameters(k, function, labels)
    run_region(k, function.body)
    return tir.FuncOp(function.sym_name.data, Region(body), attrs={"global_symbol": function.sym_name.data})


def inplace_function_of(
    function: func.FuncOp,
    functions: dict[str, func.FuncOp],
    globals_: dict[str, Operation],
    labels: Sequence[str],
    names: NameSupply,
) -> list[Operation]:
    """Return the Relax function of a function that returns values, and the kernel that it calls.

    The kernel writes into the memrefs that are arguments. A memref that is returned is a new tensor.
    """
    k = Kernel(functions, globals_)
    body = k.e.block
    k.open.append(function)
    _parameters(k, function, labels)
    results = run_region(k, function.body)
    outputs = add_outputs(k, results)
    kernel = tir.FuncOp(names.fresh(f"{function.sym_name.data}_kernel"), Region(body), private=True)
    block = Block()
    buffers: list[SSAValue] = []
    scalars: list[SymExpr] = []
    changed: list[int] = []
    for arg, param, label in zip(function.args, body.args, labels, strict=False):
        kind = param.type
        if isinstance(kind, tir.BufferType):
            value = block.insert_arg(relax.TensorType.of(kind.dims, kind.dtype), len(block.args))
            changed += [len(buffers)] if isinstance(arg.type, MemRefType) else []
            buffers.append(value)
        elif isinstance(arg.type, IndexType):
            value = block.insert_arg(relax.PrimType.of(i64, Var(label)), len(block.args))
            scalars.append(Var(label))
        else:
            raise UnsupportedError(
                f"@{function.sym_name.data} takes memrefs and a scalar, and returns values",
                location=location_of(function),
                expected="scalars of type index, tensors and memrefs",
            )
        set_name(value, label)
    _scalars_last(body)
    add_scalar_params(kernel, [v for v in undetermined_vars(kernel) if str(v) not in map(str, scalars)])
    types = [_tensor(buffers[i].type) for i in changed] + [_tensor(o.type) for o in outputs]
    indices = [*changed, *(-1 for _ in outputs)]
    whole = types[0] if len(types) == 1 else tuple_type(types)
    call = relax.CallTIRInplaceOp(kernel.sym_name.data, buffers, indices, whole, scalars or None)
    block.add_op(call)
    set_name(call.results[0], "lv")
    values = [call.results[0]]
    if len(types) > 1:
        values = []
        for position in range(len(changed), len(types)):
            item = relax.TupleGetItemOp(call.results[0], position)
            block.add_op(item)
            set_name(item.results[0], "lv")
            values.append(item.results[0])
    value = values[0]
    if len(values) > 1:
        together = relax.TupleOp(values)
        block.add_op(together)
        value = together.results[0]
    block.add_op(relax.ReturnOp(value))
    return [kernel, relax.FuncOp(function.sym_name.data, Region(block), value.type)]


def _scalars_last(body: Block) -> None:
    """Move scalar parameters after the buffers, as calls from Relax pass them."""
    scalars = [a for a in body.args if not isinstance(a.type, tir.BufferType)]
    for old in scalars:
        new = body.insert_arg(old.type, len(body.args))
        set_name(new, name_of(old))
        old.replace_all_uses_with(new)
        body.erase_arg(old)


def _tensor(type: Attribute) -> relax.TensorType:
    if isinstance(type, relax.TensorType):
        return type
    buffer = cast(tir.BufferType, type)
    return relax.TensorType.of(buffer.dims, buffer.dtype)


def add_outputs(k: Kernel, results: Sequence[SSAValue]) -> list[SSAValue]:
    """Add parameters for results, and store them there."""
    body = k.e.block
    outputs: list[SSAValue] = []
    for position, result in enumerate(results):
        shaped = is_array(result) or isinstance(result.type, MemRefType)
        dims = k.dims[result] if shaped else ()
        output = body.insert_arg(tir.BufferType.of(dims, element_of(result)), len(body.args))
        set_name(output, f"out{position}")
        outputs.append(output)
        if not shaped:
            body.add_op(tir.StoreOp(k.value(result), output, ()))
            continue
        value = k.buffers.get(result)
        if value is not None and _is_local(value, body) and results.count(result) == 1:
            alloc = cast(Operation, value.owner)
            value.replace_all_uses_with(output)
            body.erase_op(alloc)
            _renamed(k, value, output)
        else:
            place = k.places[result]
            k.copy(dims, place, lambda e, indices, output=output: (output, indices))
    return outputs


def _is_local(buffer: SSAValue, body: Block) -> bool:
    return isinstance(buffer.owner, tir.AllocBufferOp) and buffer.owner.parent_block() is body


def _renamed(k: Kernel, old: SSAValue, new: SSAValue) -> None:
    for value, buffer in list(k.buffers.items()):
        if buffer is old:
            k.new_buffer(value, new)


def statements_of(graph: Graph, ops: Sequence[Operation], results: Sequence[SSAValue], name: str) -> None:
    """Call a kernel that runs operations of a function on tensors, and let `results` be what it computes."""
    k = Kernel(graph.functions, graph.globals)
    body = k.e.block
    args: list[SSAValue] = []
    for value in _captured(ops):
        _capture(graph, k, body, value, args)
    for op in ops:
        k.statement(op)
    outputs = add_outputs(k, results)
    result = graph.called(body, args, outputs, name)
    graph.values |= dict(zip(results, result, strict=True))


def region_of(graph: Graph, region: Region) -> list[SSAValue]:
    """Call a kernel that runs the blocks of a function on tensors; return the values that it returns."""
    k = Kernel(graph.functions, graph.globals)
    body = k.e.block
    args: list[SSAValue] = []
    for value in region.blocks[0].args:
        if value in graph.values:
            _capture(graph, k, body, value, args)
    results = run_region(k, region)
    if not results:  # what it writes is its own
        return []
    outputs = add_outputs(k, results)
    result = graph.called(body, args, outputs, "blocks")
    graph.values |= dict(zip(results, result, strict=True))
    return results


def _captured(ops: Sequence[Operation]) -> list[SSAValue]:
    """Return the values from outside that operations use."""
    inside = {op for top in ops for op in top.walk()}
    used = (v for top in ops for op in top.walk() for v in op.operands)

    def is_outer(value: SSAValue) -> bool:
        owner = value.owner
        return (owner if isinstance(owner, Operation) else owner.parent_op()) not in inside

    return [v for v in dict.fromkeys(used) if is_outer(v)]


def _capture(graph: Graph, k: Kernel, body: Block, value: SSAValue, args: list[SSAValue]) -> None:
    known = graph.values.get(value)
    if isinstance(known, SymExpr):
        k.sizes[value] = known
        return
    if isinstance(known, IntegerAttr | FloatAttr):
        if isinstance(value.type, IndexType):
            k.sizes[value] = Const(cast(int, known.value.data))
        else:
            k.known[value] = k.e.add(number(known, scalar_type(value.type)))
        return
    if isinstance(known, Filled):
        _filled(k, value, known)
        return
    if known is None:
        raise UnsupportedError("a value from outside of the function", location=place_of(value))
    tensor = cast(relax.TensorType, known.type)
    buffer = body.insert_arg(tir.BufferType.of(tensor.dims or (), tensor.dtype), len(args))
    set_name(buffer, f"a{len(args)}")
    args.append(known)
    if is_array(value):
        k.new_buffer(value, buffer)
    else:
        k.known[value] = k.e.add(tir.LetOp(k.e.add(tir.LoadOp(buffer, ()))))


def _filled(k: Kernel, value: SSAValue, known: Filled) -> None:
    if known.value is None:
        k.new_buffer(value, k.alloc(known.dims, known.dtype), owned=True)
        return
    content = known.value
    k.array(value, known.dims, lambda indices: k.e.add(number(content, known.dtype)))
