"""Pass workspaces to external functions that need temporary memory."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ....diagnostics import TiraxError, UnsupportedError
from ....dialects import relax
from ....dialects.attributes import from_attr
from ....dialects.dtypes import dtype_of
from ....dialects.names import set_name
from ....dialects.relax.memory import AllocTensor
from ....ir.functions.lookup import ops_of_type, relax_functions
from ....ir.locations import location_of
from ....ir.names import NameSupply, function_names, variable_names
from ....ir.passes.transform import Pass
from ....ir.rewriting.driver import Emit
from ....ir.rewriting.edit import set_type
from .tokens import attributes_of

CODEGEN, WORKSPACE_SIZE = "Codegen", "WorkspaceSize"
_BYTE = dtype_of("uint8")


@dataclass(frozen=True)
class AllocateWorkspace(Pass):
    """Adds a workspace parameter to functions with the attributes `Codegen` and `WorkspaceSize`, and to their
    local functions.

    y = ext(x)  ->  w = builtin.alloc_tensor(shape([65536]), "uint8", 0, "global"); y = ext1(x, w)

    The workspace is a tensor of bytes, of the largest size that one of these functions needs. The calls of a
    block share one. The functions get new names, since their signature changes. Raises `TiraxError` for a size
    that is not a number, and `UnsupportedError` if such a function is used as a value.
    """

    name = "allocate-workspace"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        external = [
            f for f in relax_functions(op) if CODEGEN in attributes_of(f) and WORKSPACE_SIZE in attributes_of(f)
        ]
        if not external:
            return
        workspace = relax.TensorType.of([max(_size(f) for f in external)], _BYTE)
        names = NameSupply(function_names(op))
        renamed = {f.sym_name.data: names.fresh(f.sym_name.data) for f in external}
        for func in external:
            func.sym_name = StringAttr(renamed[func.sym_name.data])
            _extend(func, workspace)
        variables = NameSupply(variable_names(op))
        for func in relax_functions(op):
            _check_references(func, renamed)
            _pass_workspaces(func, renamed, workspace, variables)


def _size(func: relax.FuncOp) -> int:
    size: Attribute = attributes_of(func)[WORKSPACE_SIZE]
    number = from_attr(size)
    if not isinstance(number, int) or number < 0:
        raise TiraxError(
            f"the {WORKSPACE_SIZE} of '{func.sym_name.data}' is no size",
            location=location_of(func),
            expected="a number of bytes",
            found=size,
        )
    return number


def _extend(func: relax.FuncOp | relax.ClosureOp, workspace: Attribute) -> SSAValue:
    """Add the parameter to a function and to local ones that need it, and pass it on to these."""
    attributes = attributes_of(func)
    del attributes[WORKSPACE_SIZE]
    func.func_attrs = DictionaryAttr(attributes) if attributes else None
    block = func.body.block
    parameter = block.insert_arg(workspace, len(block.args))
    set_name(parameter, "workspace")
    for local in [op for op in block.ops if isinstance(op, relax.ClosureOp) and WORKSPACE_SIZE in attributes_of(op)]:
        _extend(local, workspace)
        params = [a.type for a in local.body.block.args]
        set_type(local.result, relax.CallableType.of(params, local.ret_type, local.impure is None))
        for call in [use.operation for use in local.result.uses]:
            _add_operand(call, parameter)
    return parameter


def _add_operand(call: Operation, workspace: SSAValue) -> None:
    if not isinstance(call, relax.CallOp | relax.CallValueOp):
        raise UnsupportedError(
            "a function that gets a workspace is used as a value", location=location_of(call), expected="calls of it"
        )
    call.operands = [*call.operands, workspace]


def _check_references(func: relax.FuncOp, renamed: dict[str, str]) -> None:
    for reference in ops_of_type(func, relax.FunctionRefOp):
        if reference.callee.root_reference.data in renamed:
            _add_operand(reference, reference.result)


def _pass_workspaces(func: relax.FuncOp, renamed: dict[str, str], t: relax.TensorType, names: NameSupply) -> None:
    """Rename the called functions, and allocate a workspace for the calls of each block."""
    workspaces: dict[Block, SSAValue] = {}
    for call in list(ops_of_type(func, relax.CallOp)):
        name = renamed.get(call.callee_name)
        block = call.parent
        if name is None or block is None:
            continue
        if block not in workspaces:
            workspaces[block] = _allocate(block, t, names)
        call.properties["callee"] = SymbolRefAttr(name)
        _add_operand(call, workspaces[block])


def _allocate(block: Block, t: relax.TensorType, names: NameSupply) -> SSAValue:
    first = block.first_op
    assert first is not None and t.dims is not None
    emit = Emit(first, names)
    args = [emit.shape(t.dims), emit.dtype(_BYTE), emit.integer(0), emit.string("global")]
    return emit.named("workspace_main", AllocTensor.make(*args))
