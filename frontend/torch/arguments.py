"""Arguments of a node, normalized by the operator's schema to the form that converters take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .table import IGNORED


def operator_name(target: Any) -> tuple[str, str]:
    """Return the name of an operator in the table and the name of its overload: `("add", "Tensor")`."""
    schema = target._schema
    return schema.name.removeprefix("aten::"), schema.overload_name or "default"


def changes_operand(target: Any) -> bool:
    """Return whether an overload writes to a tensor argument or replaces its storage."""
    return (
        target._schema.is_mutable and operator_name(target)[0] != "detach_"
    )  # of gradients, which are not needed here


def takes_tensor(target: Any) -> bool:
    """Return whether the first argument of an overload is a tensor."""
    arguments = target._schema.arguments
    return bool(arguments) and str(arguments[0].type) == "Tensor"


def normalized(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of an overload's call: positional if possible, the rest by keyword, without `IGNORED`."""
    positional: list[Any] = []
    by_keyword: dict[str, Any] = {}
    last = _last_passed(target._schema.arguments, args, kwargs)
    for i, argument in enumerate(target._schema.arguments):
        if argument.name in IGNORED or (i > last and not argument.kwarg_only):
            continue
        value = args[i] if i < len(args) else kwargs.get(argument.name, argument.default_value)
        if not argument.kwarg_only:
            positional.append(value)
        elif argument.name in kwargs:
            by_keyword[argument.name] = value
    return positional, by_keyword


def _last_passed(arguments: Sequence[Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    by_name = [i for i, argument in enumerate(arguments) if argument.name in kwargs and not argument.kwarg_only]
    return max([len(args) - 1, *by_name])


def mapped(value: Any, convert: Callable[[Any], Any]) -> Any:
    """Convert the leaves of a value, recursively in lists, tuples and slices."""
    if isinstance(value, list | tuple):
        return [mapped(v, convert) for v in value]
    if isinstance(value, slice):
        return slice(*(mapped(v, convert) for v in (value.start, value.stop, value.step)))
    return convert(value)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the leaves of nested lists and tuples."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def plain_argument(value: Any) -> Any:
    """Return a leaf other than a node: the name of a dtype, or the value itself."""
    import torch

    if isinstance(value, torch.dtype):
        return dtype_name(value)
    return value


def dtype_name(dtype: Any) -> str:
    """Return the name of a PyTorch dtype."""
    return str(dtype).removeprefix("torch.")
