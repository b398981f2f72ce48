"""Specs on the command line, `name{option=value …}`: passes and targets with validated options."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ArgSpecConvertible, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from ..diagnostics import SourceLocation, TiraxError, register_source, unknown_name
from .guard import UsageError, as_usage

ALIASES = {
    "legalize": "legalize-ops",
    "annotate": "annotate-tir-op-pattern",
}
"""Short names of passes."""

_T = TypeVar("_T", bound=ArgSpecConvertible)
_BASE_TYPES = (int, float, bool, str, type(None), ...)
_COMPOUND = (tuple, Union, UnionType)


def parse_specs(text: str, option: str) -> list[ArgSpec]:
    """Parse the comma-separated specs of a command-line `option`. Raises `UsageError` at the position in `text`."""
    try:
        return list(parse_pipeline(text.strip()))
    except ArgSpecParseError as error:
        raise _syntax_error(error, text.strip(), option) from error


def _syntax_error(error: ArgSpecParseError, text: str, option: str) -> UsageError:
    """Convert xDSL's error, whose last line has the problem."""
    register_source(option, text)
    rendered = str(error).strip()
    place = re.search(r"pass-pipeline:1:(\d+)", rendered)
    column = int(place.group(1)) if place else 1
    message = rendered.rpartition("\n")[2].strip()
    quotes = '; values with other signs than letters, digits, _ and - are quoted: file="a.py"'
    return UsageError(
        message[:1].lower() + message[1:],
        location=SourceLocation(option, 1, column),
        hint="pass{option=value option=value,value},pass" + (quotes if "unknown token" in message.lower() else ""),
    )


def find_pass(name: str, known: Iterable[str], kind: str = "pass") -> str:
    """Return the known name of a pass, from one written with `_` or an alias. Raises `UsageError`."""
    names = set(known)
    for candidate in (name, name.replace("_", "-"), ALIASES.get(name, name)):
        if candidate in names:
            return candidate
    raise as_usage(unknown_name(kind, name, names | ALIASES.keys()))


def make_pass(spec: ArgSpec, passes: Mapping[str, Callable[[], type[ModulePass]]]) -> ModulePass:
    """Return the pass of a spec. Raises `UsageError` for an unknown name or option, or a value of another type."""
    name = find_pass(spec.name, passes)
    return instantiate(passes[name](), spec.parameters, f"pass '{name}'")


def instantiate(cls: type[_T], parameters: Mapping[str, ParameterListType], what: str) -> _T:
    """Return an instance of `cls`, a dataclass whose fields are its options. Raises `UsageError`."""
    options = {field.name: field for field in option_fields(cls)}
    types = get_type_hints(cls)
    values: dict[str, Any] = {}
    for written, value in parameters.items():
        option = written.replace("-", "_")
        if option not in options:
            raise _unknown_option(what, written, options)
        values[option] = _convert(value, types[option], f"option '{written}' of {what}")
    missing = [n for n, field in options.items() if n not in values and not _has_default(field, types[n])]
    if missing:
        expected = ", ".join(f"{n}: {type_text(types[n])}" for n in missing)
        raise UsageError(f"{what} needs option {', '.join(missing)}", expected=expected)
    values |= {n: None for n, field in options.items() if n not in values and _no_default(field)}
    try:
        return cls(**values)
    except TiraxError as error:
        raise as_usage(error) from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"{what} refuses its options: {error}") from error


def _unknown_option(what: str, written: str, options: Mapping[str, Any]) -> UsageError:
    if not options:
        return UsageError(f"{what} has no options", found=written)
    error = unknown_name("option", written, options)
    return UsageError(f"{error.message} of {what}", hint=error.hint)


def option_fields(cls: type[Any]) -> list[dataclasses.Field[Any]]:
    """Return the fields that text can set: those of plain types."""
    types = get_type_hints(cls)
    return [f for f in dataclasses.fields(cls) if f.init and f.name != "name" and _is_plain(types[f.name])]


def _is_plain(hint: Any) -> bool:
    origin = get_origin(hint)
    if origin is not None:
        return origin in _COMPOUND and all(map(_is_plain, get_args(hint)))
    return any(hint is base for base in _BASE_TYPES)


def _no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _has_default(field: dataclasses.Field[Any], hint: Any) -> bool:
    return not _no_default(field) or type(None) in get_args(hint)


def _convert(value: ParameterListType, hint: Any, what: str) -> Any:
    """Convert a value to its field's type; a bare flag is true, and an integer is accepted for a float."""
    if not value:
        value = (True,) if _accepts(True, hint) else ()
    widened = tuple(float(v) if type(v) is int else v for v in value)
    for candidate in (value, widened):
        if len(candidate) == 1 and _accepts(candidate[0], hint):
            return candidate[0]
        if candidate and _accepts(candidate, hint):
            return candidate
    shown = ",".join(str(v).lower() if isinstance(v, bool) else repr(v) for v in value) or "no value"
    raise UsageError(f"{what} has a wrong value", expected=type_text(hint), found=shown)


def _accepts(value: Any, hint: Any) -> bool:
    """As `isa`, but booleans are not integers."""
    if isinstance(value, bool) and bool not in (hint, *get_args(hint)):
        return False
    return isa(value, hint)


def type_text(hint: Any) -> str:
    """Return a type as the help shows it."""
    return type_repr(hint)


def option_texts(cls: type[Any]) -> list[str]:
    """Return `name: type = default` for each option."""
    types = get_type_hints(cls)
    return [_option_text(f, type_text(types[f.name])) for f in option_fields(cls)]


def _option_text(field: dataclasses.Field[Any], kind: str) -> str:
    if field.default is not dataclasses.MISSING:
        return f"{field.name}: {kind} = {_value_text(field.default)}"
    if field.default_factory is not dataclasses.MISSING:
        return f"{field.name}: {kind} = {_value_text(field.default_factory())}"
    return f"{field.name}: {kind}"


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_value_text, value)) or "()"
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
