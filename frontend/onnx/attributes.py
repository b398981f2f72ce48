"""Attributes of nodes as Python's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..importing.errors import ModelError
from .tensors import TensorReader

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto


def attributes_of(
    node: NodeProto, schema: Any | None, around: Mapping[str, AttributeProto | None], reader: TensorReader
) -> dict[str, Any]:
    """The attributes of a node by name, those that have a default in its schema among them.

    `around` are the attributes of the function in which the node stands, to which its own may refer. Raises
    `ModelError` for attributes that the operator does not have and for those of another type.
    """
    values: dict[str, Any] = {}
    if schema is not None:
        for name, declared in schema.attributes.items():
            if declared.default_value.name:
                values[name] = attribute_value(declared.default_value, reader)
    for attribute in node.attribute:
        actual = around.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if actual is not None:
            _check(attribute.name, actual, schema)
            values[attribute.name] = attribute_value(actual, reader)
    return values


def _check(name: str, attribute: AttributeProto, schema: Any | None) -> None:
    if schema is None:
        return
    if name not in schema.attributes:
        raise ModelError(f"the operator has no attribute '{name}'", expected=f"one of {sorted(schema.attributes)}")
    expected = int(schema.attributes[name].type.value)
    if attribute.type != expected:
        raise ModelError(f"the attribute '{name}' has another type", expected=expected, found=attribute.type)


def attribute_value(attribute: AttributeProto, reader: TensorReader) -> Any:
    """An attribute as a Python value: tensors are arrays, bodies stay what they are. Raises `ModelError`."""
    from onnx import AttributeProto

    read = _readers(AttributeProto).get(attribute.type)
    if read is None:
        raise ModelError(f"the attribute '{attribute.name}' is of a type that is not read", found=attribute.type)
    return read(attribute, reader)


def _readers(kind: Any) -> dict[int, Callable[[AttributeProto, TensorReader], Any]]:
    return {
        kind.FLOAT: lambda a, _: a.f,
        kind.INT: lambda a, _: a.i,
        kind.STRING: lambda a, _: _text(a.s),
        kind.TENSOR: lambda a, reader: reader.read(a.t),
        kind.GRAPH: lambda a, _: a.g,
        kind.FLOATS: lambda a, _: list(a.floats),
        kind.INTS: lambda a, _: list(a.ints),
        kind.STRINGS: lambda a, _: [_text(s) for s in a.strings],
        kind.TENSORS: lambda a, reader: [reader.read(t) for t in a.tensors],
        kind.TYPE_PROTO: lambda a, _: a.tp,
    }


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise ModelError("a text among the attributes is no UTF-8", found=raw) from error
