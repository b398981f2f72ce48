"""The symbolic variables that bindings of Relax mention.

`ir/functions/symbolic_vars.py` knows those that values determine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Attribute, Operation

from ...dialects import relax
from ...dialects.relax.types import free_symbolic_vars
from ...dialects.sym import IndexMapAttr, SymAttr
from ...dialects.sym.expr import Var


def mentioned_variables(func: relax.FuncOp) -> list[Var]:
    """The variables that a function's result and bindings mention, in types and attributes, in order."""
    return list(dict.fromkeys([*_of_attributes(func), *mentioned_in(func.body.block.ops)]))


def mentioned_in(ops: Iterable[Operation]) -> list[Var]:
    """The variables that bindings, and what is in them, mention in types of results and in attributes, in order."""
    found: dict[Var, None] = {}
    for op in (inner for outer in ops for inner in outer.walk()):
        types = [r.type for r in op.results]
        types += [a.type for r in op.regions for b in r.blocks for a in b.args]
        found |= dict.fromkeys([*free_symbolic_vars(types), *_of_attributes(op)])
    return list(found)


def _of_attributes(op: Operation) -> Iterator[Var]:
    yield from free_symbolic_vars(op.properties.values())
    for attr in op.properties.values():
        yield from _attribute_variables(attr)


def _attribute_variables(attr: Attribute) -> Iterator[Var]:
    if isinstance(attr, SymAttr | IndexMapAttr):
        yield from attr.data.free_vars()
    elif isinstance(attr, ArrayAttr):
        for each in cast(Iterable[Attribute], attr):
            yield from _attribute_variables(each)
