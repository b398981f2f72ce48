"""The number of nodes that calls of model functions expand to, counted before the expansion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...ir.passes.limits import check_limit
from ...untrusted import brief
from ..importing.errors import ModelError
from .functions import function_key
from .model import FunctionKey, all_nodes

if TYPE_CHECKING:
    from onnx import FunctionProto, GraphProto, NodeProto

MOST_NESTED = 64
"""The maximal nesting of functions; deeper ones are recursive."""


def require_finite(graph: GraphProto, functions: Mapping[FunctionKey, FunctionProto]) -> None:
    """Raise `ModelError` for recursive functions, and `LimitError` if they expand to too many nodes or bytes."""
    if functions:
        _Counter(functions).calls(all_nodes(graph), 0).check("the functions of the model")


@dataclass(frozen=True)
class _Expansion:
    """The size of expanded calls: nodes, and the bytes of their contents."""

    nodes: int = 0
    bytes: int = 0

    def __add__(self, other: _Expansion) -> _Expansion:
        return _Expansion(self.nodes + other.nodes, self.bytes + other.bytes)

    def check(self, what: str) -> None:
        """Raise `LimitError` if a limit is exceeded; `what` names the expanded object."""
        check_limit("import.nodes", self.nodes, f"{what} are expanded to too many nodes")
        check_limit("import.bytes", self.bytes, f"{what} are expanded to too many bytes")


class _Counter:
    def __init__(self, functions: Mapping[FunctionKey, FunctionProto]):
        self._functions = functions
        self._known: dict[FunctionKey, _Expansion] = {}

    def calls(self, nodes: Iterable[NodeProto], depth: int) -> _Expansion:
        """Return the size of the expanded calls of nodes."""
        keys = (key for key in map(function_key, nodes) if key in self._functions)
        return sum((self._function(key, depth) for key in keys), _Expansion())

    def _function(self, key: FunctionKey, depth: int) -> _Expansion:
        if depth == MOST_NESTED:
            raise ModelError(f"the function '{brief(key[1])}' calls itself")
        if key not in self._known:
            function = self._functions[key]
            nodes = list(all_nodes(function))
            self._known[key] = _Expansion(len(nodes), function.ByteSize()) + self.calls(nodes, depth + 1)
        return self._known[key]
