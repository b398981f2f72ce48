"""Relax functions as graphs: a node for each parameter and binding, with edges from its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr
from xdsl.ir import Operation, SSAValue

from ...dialects import relax
from ...dialects.names import name_of

_MOST = 20_000
"""Nodes of a function after which the graph is truncated."""
_LEAVES = (relax.ConstantOp, *relax.LEAVES)
_TYPE = 120
"""Characters of a type that are shown."""


def graph_of(function: relax.FuncOp, place: Callable[[Operation], int | None]) -> list[dict[str, Any]]:
    """Return the nodes in order of definition.

    `i` is its number, `k` its kind (parameter, call or operator), `o` the operator or the callee, `v` the variable, `s`
    the struct info, `in` the numbers of its operand nodes, `w` the names of its operands that are parameters and
    constants, `l` its location.
    """
    return _Graph(place).nodes_of(function)


class _Graph:
    def __init__(self, place: Callable[[Operation], int | None]):
        self._place = place
        self._numbers: dict[SSAValue, int] = {}
        self._names: dict[SSAValue, str] = {}
        self._nodes: list[dict[str, Any]] = []

    def nodes_of(self, function: relax.FuncOp) -> list[dict[str, Any]]:
        for argument in function.body.block.args:
            name = name_of(argument) or "?"
            self._names[argument] = name
            self._add("parameter", name, argument, (), None)
        for op in function.body.walk():
            if len(self._nodes) < _MOST:
                self._operation(op)
        return self._nodes

    def _operation(self, op: Operation) -> None:
        if isinstance(op, relax.DataflowOp):
            return
        if isinstance(op, relax.OutputOp):
            around = op.parent_op()
            for inner, outer in zip(op.operands, around.results if around is not None else (), strict=False):
                if inner in self._numbers:
                    self._numbers[outer] = self._numbers[inner]
            return
        if isinstance(op, relax.ConstantOp):
            self._names[op.results[0]] = op.value.data.key or name_of(op.results[0]) or "constant"
        elif isinstance(op, relax.ReturnOp):
            self._add("result", "result", None, tuple(op.operands), op)
        elif op.results and not (isinstance(op, _LEAVES) and not op.operands):
            called = _called(op)
            self._add(
                "call" if called else "operator", called or _plain(op.name), op.results[0], tuple(op.operands), op
            )

    def _add(
        self, kind: str, label: str, value: SSAValue | None, operands: tuple[SSAValue, ...], op: Operation | None
    ) -> None:
        number = len(self._nodes)
        node: dict[str, Any] = {"i": number, "k": kind, "o": label}
        if value is not None:
            self._numbers[value] = number
            node |= {"v": name_of(value) or "", "s": str(value.type)[:_TYPE]}
        node["in"] = list(dict.fromkeys(self._numbers[v] for v in operands if v in self._numbers))
        node["w"] = list(dict.fromkeys(self._names[v] for v in operands if v in self._names))
        place = None if op is None else self._place(op)
        self._nodes.append(node if place is None else node | {"l": place})


def _called(op: Operation) -> str | None:
    """Return the function that an operation calls by name, or None."""
    for key in ("callee", "func"):
        name = op.properties.get(key)
        if isinstance(name, SymbolRefAttr):
            return name.root_reference.data
        if isinstance(name, StringAttr):
            return name.data
    return None


def _plain(name: str) -> str:
    return name.removeprefix("relax.")
