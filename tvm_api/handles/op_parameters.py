"""Functions of scalar expressions with TVM's names of parameters, for calls by keyword."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any

_PARAMETERS = {
    "abs": "x",
    "add": "lhs rhs",
    "address_of": "buffer_load",
    "atan2": "x1 x2",
    "bitwise_and": "x y",
    "bitwise_not": "x",
    "bitwise_or": "x y",
    "bitwise_xor": "x y",
    "if_then_else": "cond t f",
    "isfinite": "x",
    "isinf": "x",
    "isnan": "x",
    "multiply": "lhs rhs",
    "pow": "x y",
    "power": "x y",
    "shift_left": "x y",
    "shift_right": "x y",
    "subtract": "lhs rhs",
}
"""The parameters of each function, after which TVM's have `span`, a place in a source, which nothing reads."""
NAMES = frozenset(_PARAMETERS)
_IN_TENSOR_EXPRESSIONS = ("abs", "atan2", "if_then_else", "isfinite", "isinf", "isnan", "power")


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function that can be called by TVM's names."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    parameters = [Parameter(n, kind) for n in _PARAMETERS[name].split()]
    signature = Signature([*parameters, Parameter("span", kind, default=None)])

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == len(parameters) and not kwargs:
            return function(*args)
        bound = signature.bind(*args, **kwargs).arguments
        return function(*(bound[p.name] for p in parameters))

    call.__name__, call.__doc__ = name, function.__doc__
    call.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess]
    return call


@cache
def function_of(name: str) -> Callable[..., Any]:
    """Return the function of `tvm.tir` called `name`, one of `NAMES`."""
    source = "...te" if name in _IN_TENSOR_EXPRESSIONS else "...handles.tir.intrinsics"
    return _named(getattr(import_module(source, __package__), name), name)


__all__ = ["NAMES", "function_of"]
