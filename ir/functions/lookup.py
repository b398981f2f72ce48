"""The functions of a module: lookup, walks over bindings, resolution of users' names, effects of calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any, TypeVar

from xdsl.dialects.builtin import ModuleOp, StringAttr, TupleType
from xdsl.ir import Block, Operation

from ...diagnostics import unknown_name
from ...dialects import relax, tir
from ...dialects.quick import operations
from .effects import first_effect

FunctionOp = relax.FuncOp | tir.FuncOp


def functions(module: ModuleOp) -> dict[str, FunctionOp]:
    """Return Relax and tensor functions by name, in order."""
    return {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, relax.FuncOp | tir.FuncOp)}


def relax_functions(module: ModuleOp, name: str | None = None) -> list[relax.FuncOp]:
    """Return all Relax functions, or the one of this name. Raises `NameLookupError` if there is no such function."""
    by_name = {n: f for n, f in functions(module).items() if isinstance(f, relax.FuncOp)}
    if name is None:
        return list(by_name.values())
    if name not in by_name:
        raise unknown_name("Relax function", name, by_name)
    return [by_name[name]]


def binding_blocks(func: Operation) -> Iterator[Block]:
    """Yield every block of bindings in a function (body, dataflow blocks, branches, closures), outer before inner."""
    for region in func.regions:
        for block in region.blocks:
            yield block
            for op in block.ops:
                yield from binding_blocks(op)


_OpT = TypeVar("_OpT", bound=Operation)


def ops_of_type(root: Operation, kind: type[_OpT]) -> Iterator[_OpT]:
    """Yield all ops of a class below `root`."""
    return (op for op in operations(root) if isinstance(op, kind))


_BY_NAME = (
    relax.CallDPSPackedOp,
    relax.CallPackedOp,
    relax.CallBuiltinWithCtxOp,
    relax.CallPurePackedOp,
    relax.CallInplacePackedOp,
    tir.CallExternOp,
    tir.CallPackedOp,
    tir.CallPureExternOp,
    tir.CallOp,
)
"""Calls whose callee is only a name: a packed function, or a tensor function of the module."""


_CALLEES: dict[type[Operation], Callable[[Any], str]] = {
    **dict.fromkeys((relax.CallTIROp, relax.CallTIRInplaceOp, relax.CallOp), lambda op: op.callee_name),
    relax.FunctionRefOp: lambda op: op.callee.root_reference.data,
    **dict.fromkeys(_BY_NAME, lambda op: op.func.data),
}


def callee_names(op: Operation) -> Iterator[str]:
    """Yield the names of the module's functions that an op mentions."""
    callee = _CALLEES.get(type(op))
    if callee is not None:
        yield callee(op)


def symbol_of(op: Operation) -> str | None:
    """Return the name of a function of a module, or None for other ops."""
    name = op.properties.get("sym_name")
    return name.data if isinstance(name, StringAttr) else None


def callees_first(table: Mapping[str, Operation]) -> list[str]:
    """Return the names in `table`, callees before callers. A function of each call cycle is left out."""
    callees = {n: {c: None for op in f.walk() for c in callee_names(op) if c in table} for n, f in table.items()}
    while True:
        try:
            return list(TopologicalSorter(callees).static_order())
        except CycleError as error:
            recursive = error.args[1][0]
            callees = {
                n: {c: None for c in called if c != recursive} for n, called in callees.items() if n != recursive
            }


def module_of(op: Operation) -> ModuleOp | None:
    """Return the module that contains an op, or None."""
    at: Operation | None = op
    while at is not None and not isinstance(at, ModuleOp):
        at = at.parent_op()
    return at


def is_impure_call(op: Operation, symbols: Mapping[str, Operation]) -> bool:
    """Return whether an op makes a call that may have side effects; `symbols` are the functions of the module."""
    if isinstance(op, relax.CallOp):
        callee = symbols.get(op.callee_name)
        if isinstance(callee, tir.FuncOp):  # one without a scalar result writes its arguments
            return isinstance(op.result.type, TupleType) or first_effect(callee) is not None
        return isinstance(callee, relax.FuncOp) and not callee.pure
    if isinstance(op, relax.CallValueOp):
        return isinstance(op.func.type, relax.CallableType) and not op.func.type.pure
    return isinstance(op, relax.Operator | relax.CallBase) and not op.PURE


def outside_of_closures(func: Operation | Block) -> Iterator[Operation]:
    """Yield the ops of a function or block, except those of its local functions."""
    blocks = [func] if isinstance(func, Block) else [block for region in func.regions for block in region.blocks]
    for block in blocks:
        for op in block.ops:
            yield op
            if not isinstance(op, relax.ClosureOp):
                yield from outside_of_closures(op)


def first_impure_call(
    func: Operation | Block, ignored: Callable[[Operation], bool] = lambda _: False
) -> Operation | None:
    """Return the first call in a function or block with possible effects that is not ignored, or None.

    Local functions are skipped.
    """
    around = func.parent_op() if isinstance(func, Block) else func
    module = None if around is None else module_of(around)
    symbols = {} if module is None else functions(module)
    calls = (op for op in outside_of_closures(func) if is_impure_call(op, symbols) and not ignored(op))
    return next(calls, None)
