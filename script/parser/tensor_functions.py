"""Tensor functions in `R.emit_te`: those of this package are called, simple ones of a script are inlined from
source.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any, cast

from ...dialects.sym.operations import OPERATIONS
from .evaluator import Evaluator, Language, inlined, symbolic_binary
from .folding import is_constant
from .scope import Environment, Scope, is_own
from .source import Source
from .values import CallSite

_OURS = ("topi", "tvm_api.topi", "te.broadcast")


def is_tensor_function(value: Any) -> bool:
    """Return whether a value is a tensor function of this package, so that calling it runs no user code."""
    return any(is_own(value, room) for room in _OURS)


def apply(source: Source, node: ast.AST, function: FunctionType, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Apply a function of a script to tensors: `topi.exp(x)`, `x + y`, and simple functions composed of these.

    Raises `ScriptError` if the function is not simple and would have to be executed.
    """
    tensors = tuple({type(v) for v in _leaves([*args, *kwargs.values()]) if not is_constant(v)})

    def binary(p: Evaluator[Any], kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        if isinstance(a, tensors) or isinstance(b, tensors):
            return OPERATIONS[kind].evaluate(a, b)
        return symbolic_binary(p, kind, a, b, node)

    p = Evaluator[None](source, Scope(Environment({})), Language(operands=tensors, binary=binary, call_value=_call))
    return inlined(p, function, CallSite(cast(ast.Call, node), f"'{function.__name__}'", list(args), kwargs, source))


def _call(p: Evaluator[Any], target: Any, site: CallSite) -> Any:
    return target(*site.args, **site.kwargs) if is_tensor_function(target) else inlined(p, target, site)


def _leaves(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _leaves(cast("list[Any]", value))
        else:
            yield value
