"""From modules of MLIR's dialects to modules of relax and tir."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    MemRefType,
    ModuleOp,
    StringAttr,
    TensorType,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, OptSingleBlockRegionDef, SingleBlockRegionDef, VarSingleBlockRegionDef

from ...diagnostics import VerifyError
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.sym.expr import Const, SymExpr, Var
from ...ir.locations import location_of
from ...ir.names import NameSupply, identifier
from ...ir.passes.transform import new_context
from ...transforms.bindings.convert_to_dataflow import ConvertToDataflow
from .graph import Graph
from .kernels import inplace_function_of, kernel_of
from .loops import BY_KERNEL, import_region
from .scalars import scalar_type
from .structured import integers
from .tensors import rules
from .tosa import TOSA
from .tosa_sampling import TOSA_SAMPLING

rules |= TOSA | TOSA_SAMPLING | BY_KERNEL


def is_of_mlir(module: ModuleOp) -> bool:
    """Return whether a module has functions of `func` and none of relax or tir: one that `from_mlir` reads."""
    kinds = {op.name for op in module.body.block.ops}
    return "func.func" in kinds and not any(kind.startswith(("relax.", "tir.", "llvm.")) for kind in kinds)


def from_mlir(module: ModuleOp) -> ModuleOp:
    """Return a module with a function for each public function of `module`, which is not changed.

    A function on tensors becomes a Relax function, and each of its structured operations a tensor function; one on
    memrefs becomes a tensor function. A size `?` is a symbolic variable. Raises `UnsupportedError` for an operation
    that has no translation, `ShapeError` for sizes that contradict each other, `VerifyError` for regions of more blocks
    than an operation has. Sequences of `transform` stay: `apply-transform` runs them.
    """
    for op in module.walk():
        _check_structure(op)
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, func.FuncOp)}
    globals_ = {name.data: op for op in module.body.block.ops if op.name == "memref.global" and (name := _symbol(op))}
    names = NameSupply(functions)
    result = ModuleOp([])
    for function in functions.values():
        if function.is_declaration or function.sym_visibility is not None:
            continue
        types = (*function.function_type.inputs.data, *function.function_type.outputs.data)
        labels = parameter_names(function)
        if not any(isinstance(t, MemRefType) for t in types):
            result.body.block.add_ops(graph_of(function, functions, globals_, names))
        elif function.function_type.outputs.data:
            result.body.block.add_ops(inplace_function_of(function, functions, globals_, labels, names))
        else:
            result.body.block.add_op(kernel_of(function, functions, globals_, labels))
    result.body.block.add_ops(op.clone() for op in module.body.block.ops if op.name == "transform.named_sequence")
    ConvertToDataflow(min_size=1).apply(new_context(), result)
    return result


_SINGLE_BLOCK = (SingleBlockRegionDef, OptSingleBlockRegionDef, VarSingleBlockRegionDef)


def _check_structure(op: Operation) -> None:
    """Raise `VerifyError` for what the rules rely on, as a module that was parsed is not verified.

    A region has one block where the operation says so, and a size that is not static has an operand.
    """
    if not isinstance(op, IRDLOperation):
        return
    definitions = [definition for _, definition in op.get_irdl_definition().regions]
    definitions += definitions[-1:] * (len(op.regions) - len(definitions))
    for definition, region in zip(definitions, op.regions, strict=False):
        if isinstance(definition, _SINGLE_BLOCK) and len(region.blocks) > 1:
            found = f"'{op.name}' has a region of {len(region.blocks)} blocks"
            raise VerifyError(found, location=location_of(op), expected="one block")
    for name, static in op.properties.items():
        given = getattr(op, name.removeprefix("static_"), None) if name.startswith("static_") else None
        if isinstance(given, Sequence) and integers(static).count(DYNAMIC_INDEX) != len(cast("Sequence[Any]", given)):
            raise VerifyError(f"'{op.name}' has other operands than '{name}' says", location=location_of(op))


def _symbol(op: Operation) -> StringAttr | None:
    name = op.properties.get("sym_name")
    return name if isinstance(name, StringAttr) else None


def parameter_names(function: func.FuncOp) -> list[str]:
    """Return a name for each parameter: its own, or `arg0`, …"""
    supply = NameSupply()
    return [supply.fresh(identifier(name_of(arg) or "") or f"arg{number}") for number, arg in enumerate(function.args)]


class Sizes:
    """Supplies the variables for unknown sizes: `n`, `n1`, …"""

    def __init__(self, taken: list[str]):
        self.names = NameSupply(taken)

    def of(self, type: MemRefType[Attribute] | TensorType[Attribute] | VectorType[Attribute]) -> list[SymExpr]:
        """Return the sizes of a type."""
        return [Var(self.names.fresh("n")) if d == DYNAMIC_INDEX else Const(d) for d in type.get_shape()]


def graph_of(
    function: func.FuncOp, functions: dict[str, func.FuncOp], globals_: dict[str, Operation], names: NameSupply
) -> list[Operation]:
    """Return the Relax function of a function on tensors and scalars, and the kernels that it calls."""
    graph = Graph(names, functions, globals_)
    labels = parameter_names(function)
    sizes = Sizes(labels)
    for arg, label in zip(function.args, labels, strict=True):
        kind = arg.type
        if isinstance(kind, IndexType):
            graph.block.insert_arg(relax.PrimType.of(i64, Var(label)), len(graph.block.args))
            graph.values[arg] = Var(label)
        else:
            shaped = isinstance(kind, TensorType | VectorType)
            dims = sizes.of(cast("TensorType[Attribute] | VectorType[Attribute]", kind)) if shaped else []
            type = relax.TensorType.of(dims, scalar_type(getattr(kind, "element_type", kind), function))
            graph.values[arg] = graph.block.insert_arg(type, len(graph.block.args))
        set_name(graph.block.args[-1], label)
    results = [_result(graph, v) for v in import_region(graph, function.body)]
    value = results[0] if len(results) == 1 else graph.add(relax.TupleOp(results))
    graph.block.add_op(relax.ReturnOp(value))
    result = relax.FuncOp(function.sym_name.data, Region(graph.block), value.type)
    return [*graph.kernels, result]


def _result(graph: Graph, value: SSAValue) -> SSAValue:
    known = graph.values[value]
    return graph.add(relax.PrimValueOp(known)) if isinstance(known, SymExpr) else graph.tensor(value)
