"""Private functions and their calls, and rewriting of both together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, TupleType
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import relax
from ...dialects.relax.types import PrimType, ShapeType, TensorType
from ...dialects.sym.expr import SymExpr, Var
from ...ir.functions.lookup import callee_names, functions
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import insert_before
from ..bindings.canonicalize_bindings import canonicalize_function


@dataclass
class PrivateFunction:
    """A private Relax function that is only called by name, with its calls in order."""

    func: relax.FuncOp
    calls: list[relax.CallOp]

    @property
    def name(self) -> str:
        return self.func.sym_name.data


def private_functions(module: ModuleOp) -> list[PrivateFunction]:
    """Return the private Relax functions of a module that are called, and used in no other way."""
    table = functions(module)
    calls: dict[str, list[relax.CallOp]] = {n: [] for n, f in table.items() if isinstance(f, relax.FuncOp)}
    otherwise = set[str]()
    for op in module.walk():
        if isinstance(op, relax.CallOp):
            if op.callee_name in calls:
                calls[op.callee_name].append(op)
        else:
            otherwise.update(callee_names(op))
    candidates = [(f, calls[n]) for n, f in table.items() if isinstance(f, relax.FuncOp) and f.private]
    return [PrivateFunction(f, c) for f, c in candidates if c and f.sym_name.data not in otherwise]


_SHAPED = (TensorType, ShapeType)


def _pairs(declared: Attribute, actual: Attribute) -> Iterator[tuple[SymExpr, SymExpr]]:
    """Yield the dimensions of a parameter's type with those of an argument's type at the same position."""
    if isinstance(declared, _SHAPED) and isinstance(actual, _SHAPED):
        yield from zip(declared.dims or (), actual.dims or (), strict=False)
    elif isinstance(declared, PrimType) and isinstance(actual, PrimType):
        if declared.expr is not None and actual.expr is not None:
            yield declared.expr, actual.expr
    elif isinstance(declared, TupleType) and isinstance(actual, TupleType):
        for d, g in zip(declared.types, actual.types, strict=False):
            yield from _pairs(d, g)


def bind_variables(declared: Iterable[Attribute], actual: Iterable[Attribute]) -> dict[Var, SymExpr]:
    """Return the values of symbolic variables in the parameter types `declared` for arguments of the types `actual`.

    A variable that never occurs by itself, or only where an argument's type is unknown, is missing.
    """
    bindings: dict[Var, SymExpr] = {}
    for d, g in zip(declared, actual, strict=True):
        for var, expr in _pairs(d, g):
            if isinstance(var, Var) and var.dtype == expr.dtype:
                bindings.setdefault(var, expr)
    return bindings


def replace_call(call: relax.CallOp, args: Sequence[SSAValue], result: Attribute) -> relax.CallOp:
    """Insert a call of the same function with other arguments, or another result type, before `call`, which stays."""
    new = relax.CallOp(call.callee_name, args, result)
    return insert_before(call, new)


def clean_up(changed: Iterable[relax.FuncOp]) -> None:
    """Simplify bindings and remove unused ones in the functions that were changed."""
    for func in dict.fromkeys(changed):
        canonicalize_function(func)
        remove_dead_bindings(func)


def caller_of(op: Operation) -> relax.FuncOp:
    """Return the function that contains an op."""
    around = op.parent_op()
    while not isinstance(around, relax.FuncOp):
        assert around is not None
        around = around.parent_op()
    return around
