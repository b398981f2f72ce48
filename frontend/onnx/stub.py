"""Templates of converters for unsupported operators."""

from __future__ import annotations

from ...ir.names import identifier
from ..importing.extras import require_onnx
from .functions import schema_of

_STUB = '''\
from tirax.frontend.onnx import Node, Value, from_onnx, op


def convert_{function}(node: Node{parameters}):
    """{operator}{attributes}"""
    return op("…"{arguments})  # an operator of Relax, or several


mod = from_onnx(model, custom_convert_map={{"{operator}": convert_{function}}})
'''


def converter_stub(operator: str) -> str:
    """Return the source text of a converter for `custom_convert_map`, for the operator `Foo` or `domain.Foo`.

    Inputs and attributes are named if ONNX knows the operator; otherwise there is one input.
    """
    require_onnx()
    from onnx import defs

    domain, _, name = operator.rpartition(".")
    schema = schema_of(domain, name, defs.onnx_opset_version() if not domain else 1)
    inputs = [_parameter(i) for i in schema.inputs] if schema is not None else ["x: Value"]
    names = [p.partition(":")[0] for p in inputs]
    attributes = ", ".join(f'node.attr("{key}")' for key in schema.attributes) if schema is not None else ""
    return _STUB.format(
        function=identifier(operator).lower(),
        operator=operator,
        parameters="".join(f", {p}" for p in inputs),
        attributes=f": {attributes}" if attributes else "",
        arguments="".join(f", {n}" for n in names),
    )


def _parameter(parameter: object) -> str:
    """Format an input of a schema as a function parameter."""
    from onnx.defs import OpSchema

    name = identifier(getattr(parameter, "name", "x")).lower()
    option = getattr(parameter, "option", None)
    if option == OpSchema.FormalParameterOption.Variadic:
        return f"*{name}: Value"
    optional = option == OpSchema.FormalParameterOption.Optional
    return f"{name}: Value | None = None" if optional else f"{name}: Value"
