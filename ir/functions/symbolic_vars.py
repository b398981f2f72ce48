"""The symbolic variables of Relax functions: which are defined, used, or free.

A variable is defined if it is an extent by itself: of a parameter, or of the type of a match_cast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, TupleType
from xdsl.ir import Attribute, Operation

from ...dialects import relax
from ...dialects.sym import IndexMapAttr, SymAttr
from ...dialects.sym.expr import Var

_SIGNATURES = (relax.FuncOp, relax.ClosureOp)


def definable_vars(types: Iterable[Attribute]) -> list[Var]:
    """Return the variables that values of these types define, in order, each once; callables have their own."""
    variables: dict[Var, None] = {}
    for t in types:
        if isinstance(t, relax.TensorType | relax.ShapeType):
            variables |= {d: None for d in t.dims or () if isinstance(d, Var)}
        elif isinstance(t, relax.PrimType) and isinstance(t.expr, Var):
            variables[t.expr] = None
        elif isinstance(t, TupleType):
            variables |= dict.fromkeys(definable_vars(t.types))
    return list(variables)


def mentioned_in(op: Operation) -> list[Var]:
    """Return the variables in an op's result types and properties, but not in its regions."""
    variables = dict.fromkeys(relax.free_symbolic_vars(r.type for r in op.results))
    for attr in op.properties.values():
        variables |= dict.fromkeys(_attribute_variables(attr))
    return list(variables)


def defined_in(op: Operation) -> list[Var]:
    """Return the variables that an op defines: a function in its parameters' types, a match_cast in its type."""
    if isinstance(op, _SIGNATURES):
        return definable_vars(p.type for p in op.body.block.args)
    return definable_vars([op.result.type]) if isinstance(op, relax.MatchCastOp) else []


def defined_vars(func: Operation) -> list[Var]:
    """Return the variables that a function defines, in order, each once."""
    return list(dict.fromkeys(v for op in func.walk() for v in defined_in(op)))


def used_vars(func: Operation) -> list[Var]:
    """Return the variables that a function mentions, in order, each once."""
    variables: dict[Var, None] = {}
    for op in func.walk():
        if isinstance(op, _SIGNATURES):
            variables |= dict.fromkeys(relax.free_symbolic_vars([*(p.type for p in op.body.block.args), op.ret_type]))
        variables |= dict.fromkeys(mentioned_in(op))
    return list(variables)


def undefined_vars(func: Operation) -> list[Var]:
    """Return the variables that a function mentions but does not define, in order, each once."""
    defined = set(defined_vars(func))
    return [v for v in used_vars(func) if v not in defined]


def mentioned_by_body(func: relax.FuncOp) -> list[Var]:
    """Return the variables in a function's result and bindings, in types and attributes, in order, each once."""
    return list(dict.fromkeys([*_of_attributes(func), *mentioned_by(func.body.block.ops)]))


def mentioned_by(ops: Iterable[Operation]) -> list[Var]:
    """Return the variables in bindings and the ops inside them, in result types and attributes, in order."""
    variables: dict[Var, None] = {}
    for op in (inner for outer in ops for inner in outer.walk()):
        types = [r.type for r in op.results]
        types += [a.type for r in op.regions for b in r.blocks for a in b.args]
        variables |= dict.fromkeys([*relax.free_symbolic_vars(types), *_of_attributes(op)])
    return list(variables)


def _of_attributes(op: Operation) -> Iterator[Var]:
    yield from relax.free_symbolic_vars(op.properties.values())
    for attr in op.properties.values():
        yield from _attribute_variables(attr)


def _attribute_variables(attr: Attribute) -> Iterator[Var]:
    if isinstance(attr, SymAttr | IndexMapAttr):
        yield from attr.data.free_vars()
    elif isinstance(attr, ArrayAttr):
        for each in cast(Iterable[Attribute], attr):
            yield from _attribute_variables(each)
