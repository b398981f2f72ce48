"""Templates of converters for unsupported operators."""

from __future__ import annotations

from typing import Any

from ...diagnostics import NameLookupError
from ..importing.extras import require_torch
from .arguments import operator_name
from .table import IGNORED

_STUB = '''\
def {function}(node, reader):
    """{schema}"""
    {names} = reader.retrieve_args(node)  # keyword arguments are in node.kwargs
    result = ...  # a Relax expression
    return reader.block_builder.emit(result)


mod = from_exported_program(program, custom_convert_map={{"{overload}": {function}}})
'''


def converter_stub(operator: str) -> str:
    """Return the source text of a converter for `custom_convert_map`, for an operator such as `aten.geqrf.default`.

    Raises `NameLookupError` for an unknown operator, and `MissingPackage` without PyTorch.
    """
    require_torch()
    import torch

    target: Any = torch.ops
    for part in operator.split("."):
        target = getattr(target, part, None)
    if not hasattr(target, "_schema"):
        raise NameLookupError(f"unknown operator '{operator}'", hint="an overload, such as aten.geqrf.default")
    name, _ = operator_name(target)
    schema = target._schema
    names = [a.name for a in schema.arguments if not a.kwarg_only and a.name not in IGNORED]
    return _STUB.format(
        function=f"convert_{name.replace('::', '_')}",
        schema=schema,
        names=", ".join(n if n != "self" else "x" for n in names) + ("," if len(names) == 1 else ""),
        overload=".".join(operator.split(".")[-2:]),
    )
