"""Reading traces from TVM's JSON."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute, SSAValue

from ..diagnostics import TiraxError, unknown_name
from ..dialects.sched import INSTRUCTIONS, Spec
from ..dialects.sym import IndexMapAttr
from .trace import Trace

_KINDS = {spec.kind: spec for spec in INSTRUCTIONS.values()} | {"GetSBlock": INSTRUCTIONS["get_block"]}
_LISTS = frozenset({"loops", "factors", "consumer_blocks", "new_order"})
"""Inputs that are lists: TVM writes their elements one by one at the end, or the list."""


def read(json_obj: Any) -> Trace:
    """The trace that `json_obj` describes. Raises `TiraxError` where it is of another form, naming the instruction."""
    try:
        rows, decisions = json_obj
        decided = {int(k): v for k, v in decisions}
    except (TypeError, ValueError) as error:
        raise TiraxError("not a trace", expected="[[instruction, …], [[index, decision], …]]") from error
    out = Trace()
    values: dict[str, SSAValue] = {}
    for k, row in enumerate(rows):
        try:
            kind, inputs, attrs, outputs = row
        except (TypeError, ValueError) as error:
            raise TiraxError(f"instruction {k} is no [kind, inputs, attributes, outputs]", found=row) from error
        spec = _KINDS.get(kind)
        if spec is None:
            raise unknown_name("instruction", str(kind), _KINDS)
        inst = out.append(spec.name, _arguments(spec, inputs, attrs, values), len(outputs), decided.get(k))
        values.update(zip(outputs, inst.outputs, strict=True))
    return out


def _arguments(spec: Spec, inputs: list[Any], attrs: list[Any], values: dict[str, SSAValue]) -> dict[str, Any]:
    given = [_value(v, values) for v in inputs]
    cut = len(spec.inputs) - 1
    if spec.inputs and spec.inputs[-1] in _LISTS and not (len(given) == cut + 1 and isinstance(given[cut], list)):
        given = [*given[:cut], given[cut:]]
    attrs = _joined(spec, attrs)
    if len(given) > len(spec.inputs) or len(attrs) > len(spec.attrs):
        raise TiraxError(
            f"{spec.kind} has too many arguments", expected=", ".join(spec.params), found=[*inputs, *attrs]
        )
    return dict(zip(spec.inputs, given, strict=False)) | dict(zip(spec.attrs, map(_attribute, attrs), strict=False))


def _value(value: Any, values: dict[str, SSAValue]) -> Any:
    if isinstance(value, str):
        return value[1:-1] if value.startswith('"') else values.get(value, value)
    return [_value(v, values) for v in value] if isinstance(value, list) else value


_SIDES = ("read", "write")


def written(name: str, value: Any) -> list[Any]:
    """The attributes that stand for an argument: TVM writes a buffer as its index and 0 (read) or 1 (write)."""
    return [value[1], _SIDES.index(value[0])] if name == "buffer" else [value]


def _joined(spec: Spec, attrs: list[Any]) -> list[Any]:
    """The inverse of `written`."""
    if "buffer" not in spec.attrs or len(attrs) != len(spec.attrs) + 1:
        return attrs
    at = spec.attrs.index("buffer")
    index, side = attrs[at : at + 2]
    if side not in (0, 1):
        raise TiraxError(f"{spec.kind}: which regions of the block?", expected="0 (read) or 1 (write)", found=side)
    return [*attrs[:at], [_SIDES[side], index], *attrs[at + 2 :]]


def _attribute(value: Any) -> Any:
    """An attribute; an index map is its text in MLIR."""
    if not isinstance(value, str) or not value.startswith(f"#{IndexMapAttr.name}"):
        return value
    return _parsed(value)


def _parsed(text: str) -> Attribute:
    from xdsl.parser import Parser

    from ..ir.passes.transform import new_context

    return Parser(new_context(), text).parse_attribute()
