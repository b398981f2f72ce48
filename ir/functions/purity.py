"""Which calls may have effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects import relax, tir
from .lookup import functions


def module_of(op: Operation) -> ModuleOp | None:
    """The module that an op is in, None where it is in none."""
    at: Operation | None = op
    while at is not None and not isinstance(at, ModuleOp):
        at = at.parent_op()
    return at


def is_impure_call(op: Operation, symbols: Mapping[str, Operation]) -> bool:
    """Whether an op calls what may have effects; `symbols` are the functions of the module."""
    if isinstance(op, relax.CallOp):
        callee = symbols.get(op.callee_name)
        # A tensor function writes into its arguments.
        return isinstance(callee, tir.FuncOp) or (isinstance(callee, relax.FuncOp) and not callee.pure)
    if isinstance(op, relax.CallValueOp):
        return isinstance(op.func.type, relax.CallableType) and not op.func.type.pure
    return isinstance(op, relax.Operator | relax.CallBase) and not op.PURE


def outside_of_closures(func: Operation) -> Iterator[Operation]:
    """The ops of a function, without those of the local functions inside of it."""
    for region in func.regions:
        for block in region.blocks:
            for op in block.ops:
                yield op
                if not isinstance(op, relax.ClosureOp):
                    yield from outside_of_closures(op)


def first_impure_call(func: Operation, ignored: Callable[[Operation], bool] = lambda _: False) -> Operation | None:
    """The first call in a function (not in its local functions) that may have effects and is not ignored."""
    module = module_of(func)
    symbols = {} if module is None else functions(module)
    calls = (op for op in outside_of_closures(func) if is_impure_call(op, symbols) and not ignored(op))
    return next(calls, None)
