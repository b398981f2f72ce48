"""`lower-relax-calls`: relax functions in destination passing form.

%y = relax.call_tir @f(%x) : T                 ->  %y = host.tensor : T
                                                   host.kernel @f(%x, %y)
%y = relax.call_dps_packed "f"(%x) : T         ->  %y = host.tensor : T
                                                   host.call_dps "f"(%x, %y)    (host.kernel where f is a tir.func)
%y = relax.call_tir_inplace @f(%x) inplace [0] ->  host.kernel @f(%x), and %x in the place of %y
relax.dataflow {…}                             ->  its contents
%b = relax.bind %a                             ->  %a in the place of %b
relax.tuple_get_item (relax.tuple(%a, %b))[1]  ->  %b
relax.call_value (relax.function_ref @f)(%x)   ->  relax.call @f(%x)
relax.call @f(%x, %y), f a tir.func            ->  host.kernel @f(%x, %y)

Operators on memory are so already, and reshapes become views:

%t = relax.builtin.alloc_tensor …         ->  %t = host.tensor : T
%s = relax.memory.alloc_storage %n, …     ->  %s = host.tensor : !relax.tensor<[n], ui8>
%t = relax.memory.alloc_tensor %s, 64, …  ->  %t = host.view %s at 64 : T; host.tensor, if that is all in %s
%t = relax.reshape %x, %shape             ->  %t = host.view %x : T
relax.memory.kill_tensor %t               ->  nothing: memory planning and the code that follows know last uses

The same for `relax.vm.…`. A view of a constant that somebody may keep is a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import host, relax, tir
from ...dialects.dtypes import dtype_of
from ...dialects.names import name_of, set_name
from ...dialects.relax import memory
from ...dialects.relax.memory import tensor_bytes
from ...ir.functions.outputs import outputs_to_make
from ...ir.locations import location_of
from ...ir.passes.transform import Pass

_BYTE = dtype_of("uint8")


@dataclass(frozen=True)
class LowerRelaxCalls(Pass):
    """Rewrite relax functions into destination passing form. Raises `UnsupportedError` that lists every op without
    native form.
    """

    name = "lower-relax-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {f.sym_name.data for f in op.ops if isinstance(f, tir.FuncOp)}
        functions = [f for f in op.ops if isinstance(f, relax.FuncOp)]
        check_supported(functions)
        for function in functions:
            _lower_block(function.body.block, kernels)
        for member in [f for f in op.ops if isinstance(f, relax.ExternOp)]:
            member.detach()  # calls use its own name now instead of its name in the module


def _lower_block(block: Block, kernels: set[str]) -> None:
    op = block.first_op
    while op is not None:
        following = op.next_op
        if isinstance(op, relax.DataflowOp):
            following = _inline(op, block) or following
        else:
            rule = _RULES.get(type(op))
            if rule is not None:
                rule(op, block, kernels)
            elif op.regions:
                for region in op.regions:
                    _lower_block(region.block, kernels)
        op = following


def _inline(op: relax.DataflowOp, block: Block) -> Operation | None:
    """Move the contents before the op; return the first op moved, which is to be visited next."""
    outputs = op.output_op.values_
    for outer, inner in zip(op.outputs, outputs, strict=True):
        outer.replace_all_uses_with(inner)
    inner_block = op.body.block
    inner_block.erase_op(op.output_op)
    moved = list(inner_block.ops)
    for each in moved:
        each.detach()
    block.insert_ops_before(moved, op)
    following = op.next_op
    block.erase_op(op)
    return moved[0] if moved else following


def _replace(op: Operation, value: SSAValue, block: Block) -> None:
    if name_of(value) is None and op.results:
        set_name(value, name_of(op.results[0]))
    op.results[0].replace_all_uses_with(value)
    block.erase_op(op)


def _add(block: Block, anchor: Operation, op: Operation) -> None:
    op.location = anchor.location
    block.insert_op_before(op, anchor)


def _tuple_args(args: Sequence[SSAValue]) -> list[SSAValue]:
    """Return the arguments, with tuples created in the function replaced by their fields."""
    flat: list[SSAValue] = []
    for arg in args:
        op = arg.op if isinstance(arg, OpResult) else None
        flat += _tuple_args(op.fields_) if isinstance(op, relax.TupleOp) else [arg]
    return flat


def _outputs(op: Any, block: Block, places: Sequence[SSAValue | None]) -> list[SSAValue]:
    """Return the tensors that a call writes: those of `places`, and new ones for None."""
    outputs: list[SSAValue] = []
    name = name_of(op.result)
    for i, (type, value) in enumerate(zip(outputs_to_make(op), places, strict=True)):
        if value is None:
            tensor = host.TensorOp(type)
            _add(block, op, tensor)
            value = tensor.result
            set_name(value, name if name is None or len(places) == 1 else f"{name}_{i}")
        outputs.append(value)
    return outputs


def _finish(op: Any, block: Block, outputs: Sequence[SSAValue]) -> None:
    """Replace the call by its outputs, or by the tuple of them."""
    if not isinstance(op.result.type, TupleType):
        _replace(op, outputs[0], block)
        return
    results = relax.TupleOp(outputs)
    _add(block, op, results)
    _replace(op, results.result, block)


def _call_tir(op: relax.CallTIROp, block: Block, kernels: set[str]) -> None:
    outputs = _outputs(op, block, [None] * len(op.output_types))
    _add(block, op, host.KernelOp(op.callee_name, [*_tuple_args(op.args), *outputs], op.tir_vars))
    _finish(op, block, outputs)


def _call_tir_inplace(op: relax.CallTIRInplaceOp, block: Block, kernels: set[str]) -> None:
    args = _tuple_args(op.args)
    places = [args[i] if i >= 0 else None for i in op.indices]
    outputs = _outputs(op, block, places)
    new = [v for v, g in zip(outputs, places, strict=True) if g is None]
    _add(block, op, host.KernelOp(op.callee_name, [*args, *new], op.tir_vars))
    _finish(op, block, outputs)


def _call_dps(op: relax.CallDPSPackedOp, block: Block, kernels: set[str]) -> None:
    outputs = _outputs(op, block, [None] * len(op.output_types))
    name = op.func.data
    if name in kernels:
        _add(block, op, host.KernelOp(name, [*_tuple_args(op.args), *outputs]))
    else:
        _add(block, op, host.CallDPSOp(name, [*_tuple_args(op.args), *outputs]))
    _finish(op, block, outputs)


def _call_packed(op: Any, block: Block, kernels: set[str]) -> None:
    """Lower a packed call of a tir function: it writes into its arguments and returns nothing. A reshape becomes a
    view.
    """
    if isinstance(op, relax.CallPackedOp) and _reshape_call(op, block):
        return
    if op.func.data in kernels:
        _add(block, op, host.KernelOp(op.func.data, op.args))
        nothing = relax.NullValueOp()
        _add(block, op, nothing)
        _replace(op, nothing.result, block)


def _call_value(op: relax.CallValueOp, block: Block, kernels: set[str]) -> None:
    callee = op.func.op if isinstance(op.func, OpResult) else None
    if isinstance(callee, relax.FunctionRefOp):
        new: Operation = relax.CallOp(callee.callee.root_reference.data, op.args, op.result.type)
    elif isinstance(callee, relax.ExternFuncOp):
        new = relax.CallPackedOp(callee.global_symbol.data, op.args, op.result.type)
    else:
        return
    _add(block, op, new)
    _replace(op, new.results[0], block)
    if isinstance(new, relax.CallPackedOp):
        _call_packed(new, block, kernels)


def _call(op: relax.CallOp, block: Block, kernels: set[str]) -> None:
    """Lower a direct call of a tensor function: it writes into its arguments. A call that returns a scalar is kept."""
    if op.callee_name in kernels and isinstance(op.result.type, TupleType):
        _add(block, op, host.KernelOp(op.callee_name, op.args, op.tir_vars))
        _replace_by_nothing(op, block)


def _get_item(op: relax.TupleGetItemOp, block: Block, kernels: set[str]) -> None:
    source = op.tuple_.op if isinstance(op.tuple_, OpResult) else None
    if isinstance(source, relax.TupleOp):
        _replace(op, source.fields_[op.index.data], block)


def _bind(op: relax.BindOp, block: Block, kernels: set[str]) -> None:
    _replace(op, op.value, block)


def _put(op: Operation, block: Block, new: Any) -> None:
    """Replace `op` by `new`, which has one result."""
    new.location = op.location
    block.insert_op_before(new, op)
    set_name(new.result, name_of(op.results[0]))
    op.results[0].replace_all_uses_with(new.result)
    _erase(op, block)


def _erase(op: Operation, block: Block) -> None:
    """Erase an op and the leaves that only it used: sizes, data types, devices."""
    operands = dict.fromkeys(op.operands)
    block.erase_op(op)
    for value in operands:
        leaf = value.owner
        if isinstance(leaf, relax.LEAVES) and value.first_use is None and leaf.parent is not None:
            leaf.parent.erase_op(leaf)


def _replace_by_nothing(op: Operation, block: Block) -> None:
    """Remove an op that returns `tuple<>`; uses of the result get an empty tuple."""
    if op.results[0].first_use is not None:
        _put(op, block, relax.TupleOp([]))
    else:
        _erase(op, block)


def _known(op: Any) -> relax.TensorType:
    """Return the tensor type of an operator's result. Raises `UnsupportedError` if its extents or its dtype are
    unknown.
    """
    t = op.new_tensor() if isinstance(op, memory.Allocation) else op.infer()
    if not isinstance(t, relax.TensorType) or t.dims is None or t.element is None:
        raise UnsupportedError(
            f"{op.name} of a tensor of unknown extents or dtype",
            location=location_of(op),
            found=t,
            hint="say what they are by a match_cast before",
        )
    return t


def _alloc_tensor(op: memory.AllocTensor, block: Block, kernels: set[str]) -> None:
    _put(op, block, host.TensorOp(_known(op)))


def _alloc_storage(op: memory.Storage, block: Block, kernels: set[str]) -> None:
    size = op.bytes
    if size is None:
        raise UnsupportedError(f"{op.name} of unknown size", location=location_of(op), expected="R.shape([n])")
    _put(op, block, host.TensorOp(relax.TensorType.of([size], _BYTE)))


def _storage_tensor(op: memory.StorageTensor, block: Block, kernels: set[str]) -> None:
    storage, offset, t = op.storage_value, op.offset_expr, _known(op)
    tensor = storage.owner
    if offset is None or not isinstance(tensor, host.TensorOp):
        raise UnsupportedError(
            f"{op.name} of a storage that is not made in the function, or of an unknown offset",
            location=location_of(op),
            expected="a storage of alloc_storage, an integer offset",
        )
    inside = [use.operation for use in storage.uses if not isinstance(use.operation, memory.Kill)]
    if inside == [op] and offset.constant == 0 and tensor.tensor_type.dims == (tensor_bytes(t),):
        _put(op, block, host.TensorOp(t))
        return
    _put(op, block, host.ViewOp(storage, t, offset))


def _reshape(op: Any, block: Block, kernels: set[str]) -> None:
    _put(op, block, host.ViewOp(op.x, _known(op)))


def _reshape_call(op: relax.CallPackedOp, block: Block) -> bool:
    """Lower `call_packed "vm.builtin.reshape"(x, shape)` to a view if the shape is known; return whether it was one."""
    t = op.result.type
    is_reshape = op.func.data == "vm.builtin.reshape" and len(op.args) == 2
    known = isinstance(t, relax.TensorType) and t.dims is not None and t.element is not None
    if not (is_reshape and known and isinstance(op.args[0].type, relax.TensorType)):
        return False
    _put(op, block, host.ViewOp(op.args[0], t))
    return True


def _kill(op: memory.Kill, block: Block, kernels: set[str]) -> None:
    _replace_by_nothing(op, block)


_RULES: dict[type[Operation], Callable[[Any, Block, set[str]], None]] = {
    relax.CallTIROp: _call_tir,
    relax.CallTIRInplaceOp: _call_tir_inplace,
    relax.CallDPSPackedOp: _call_dps,
    relax.CallPackedOp: _call_packed,
    relax.CallBuiltinWithCtxOp: _call_packed,
    relax.CallPurePackedOp: _call_packed,
    relax.CallInplacePackedOp: _call_packed,
    relax.CallOp: _call,
    relax.CallValueOp: _call_value,
    relax.TupleGetItemOp: _get_item,
    relax.BindOp: _bind,
    memory.AllocTensor: _alloc_tensor,
    memory.AllocStorage: _alloc_storage,
    memory.VMAllocStorage: _alloc_storage,
    memory.MemoryAllocTensor: _storage_tensor,
    memory.VMAllocTensor: _storage_tensor,
    relax.OPERATORS["relax.reshape"]: _reshape,
    memory.KillStorage: _kill,
    memory.KillTensor: _kill,
    memory.KillObject: _kill,
}

_NATIVE: frozenset[type[Operation]] = frozenset(
    (
        *_RULES,
        relax.DataflowOp,
        relax.OutputOp,
        relax.IfOp,
        relax.YieldOp,
        relax.ReturnOp,
        relax.TupleOp,
        relax.MatchCastOp,
        relax.WhileLoop,
        *relax.LEAVES,
        host.ArenaOp,
        host.TensorOp,
        host.ViewOp,
        host.KernelOp,
        host.CallDPSOp,
    )
)


def check_supported(functions: Sequence[relax.FuncOp]) -> None:
    """Raise `UnsupportedError` that lists each kind of op without native form, with its first location."""
    unsupported: dict[str, list[Operation]] = {}
    for function in functions:
        for op in function.body.block.walk():
            if type(op) not in _NATIVE:
                unsupported.setdefault(op.name, []).append(op)
    if not unsupported:
        return
    op = next(iter(unsupported.values()))[0]
    unknown = any(isinstance(v.type, relax.TensorType) and v.type.dims is None for v in (*op.operands, *op.results))
    hint = "give the shape by a match_cast before" if unknown else "lower operators with the pass legalize-ops"
    if isinstance(op, relax.ClosureOp):
        hint = "call the local function by its name: one that uses values of outside is no value itself"
    raise UnsupportedError(
        f"no native code for {', '.join(repr(name) for name in unsupported)}" + " of unknown shape" * unknown,
        location=location_of(op),
        hint=hint,
        notes=[_note(name, ops) for name, ops in unsupported.items()],
    )


def _note(name: str, ops: list[Operation]) -> str:
    function = ops[0].parent_op()
    while function is not None and not isinstance(function, relax.FuncOp):
        function = function.parent_op()
    where = f" in @{function.sym_name.data}" if function is not None else ""
    place = location_of(ops[0])
    return f"'{name}'{where}" + (f" at {place}" if place else "") + (f" and {len(ops) - 1} more" if ops[1:] else "")
