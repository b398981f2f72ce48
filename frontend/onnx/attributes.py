"""Attributes of nodes as Python values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..importing.errors import ModelError
from .tensors import TensorReader

if TYPE_CHECKING:
    from onnx import AttributeProto, NodeProto


def with_references(node: NodeProto, around: Mapping[str, AttributeProto]) -> NodeProto:
    """Return a node with references to attributes of the enclosing function resolved; the node itself if it has
    none.
    """
    if not any(a.ref_attr_name for a in node.attribute):
        return node
    result = type(node)()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        actual = around.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if actual is not None:
            result.attribute.add().CopyFrom(actual)
            result.attribute[-1].name = attribute.name
    return result


def default_attributes(schema: Any | None) -> dict[str, AttributeProto]:
    """Return the attributes with a default in a schema, by name."""
    if schema is None:
        return {}
    return {name: a.default_value for name, a in schema.attributes.items() if a.default_value.name}


def attributes_of(node: NodeProto, schema: Any | None, reader: TensorReader) -> dict[str, Any]:
    """Return the attributes of a node by name, including the defaults of its schema.

    Raises `ModelError` for attributes that the operator does not have, wrong types, and missing required
    attributes.
    """
    values = {name: attribute_value(a, reader) for name, a in default_attributes(schema).items()}
    for attribute in node.attribute:
        _check(attribute, schema)
        values[attribute.name] = attribute_value(attribute, reader)
    required = [] if schema is None else [name for name, a in schema.attributes.items() if a.required]
    if absent := [name for name in required if name not in values]:
        raise ModelError("the operator lacks attributes", expected=", ".join(sorted(absent)))
    return values


def _check(attribute: AttributeProto, schema: Any | None) -> None:
    name = attribute.name
    if schema is None:
        return
    if name not in schema.attributes:
        raise ModelError(f"the operator has no attribute '{name}'", expected=f"one of {sorted(schema.attributes)}")
    expected = int(schema.attributes[name].type.value)
    if attribute.type != expected:
        raise ModelError(f"the attribute '{name}' has another type", expected=expected, found=attribute.type)


def attribute_value(attribute: AttributeProto, reader: TensorReader) -> Any:
    """Return an attribute as a Python value: tensors become arrays, subgraphs are unchanged. Raises `ModelError`."""
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
