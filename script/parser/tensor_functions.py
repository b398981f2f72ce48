"""Functions of tensors that `R.emit_te` names: ours are called, simple ones of a script are read in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any, cast

from ...dialects.sym.operations import OPERATIONS
from .evaluator import Evaluator
from .folding import is_constant
from .scope import Environment, Scope, is_own
from .source import Source
from .values import CallSite

_OURS = ("topi", "tvm_api.topi", "te.broadcast")


def is_tensor_function(value: Any) -> bool:
    """Whether a value is one of our functions of tensors: where it is called no text of a user runs."""
    return any(is_own(value, room) for room in _OURS)


class TensorFunctions(Evaluator):
    """The evaluator where values are tensors: `topi.exp(x)`, `x + y`, and simple functions of these."""

    def __init__(self, source: Source):
        super().__init__(source, Scope(Environment({})))
        self._tensors: tuple[type, ...] = ()

    def apply(self, function: FunctionType, node: ast.AST, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What a function of a script gives for tensors. Raises `ScriptError` where only running it could tell."""
        self._tensors = tuple({type(v) for v in _leaves([*args, *kwargs.values()]) if not is_constant(v)})
        site = CallSite(cast(ast.Call, node), f"'{function.__name__}'", list(args), kwargs, self.source)
        return self._inlined(function, site)

    def call_value(self, target: Any, site: CallSite) -> Any:
        return target(*site.args, **site.kwargs) if is_tensor_function(target) else super().call_value(target, site)

    def operate(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        if isinstance(a, self._tensors) or isinstance(b, self._tensors):
            return OPERATIONS[kind].evaluate(a, b)
        return super().operate(kind, a, b, node)


def _leaves(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _leaves(cast("list[Any]", value))
        else:
            yield value
