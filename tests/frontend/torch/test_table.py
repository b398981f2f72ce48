"""The table of converters: every row fits the schemas of the overloads that it is for."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tirax.frontend.torch.arguments import operator_name
from tirax.frontend.torch.table import CONVERTERS, IGNORED, lookup

torch = pytest.importorskip("torch", reason="the schemas of operators are PyTorch's")
pytest.importorskip("torch.ao.quantization.fx._decomposed", reason="it registers `quantized_decomposed`")


def overloads_of(name: str) -> list[Any]:
    """The overloads that a row is for: not such as have rows of their own, write to `out`, or take no tensor."""
    namespace, _, operator = name.rpartition("::")
    operator, _, overload = operator.partition(".")
    packet = getattr(getattr(torch.ops, namespace or "aten"), operator)
    overloads = [getattr(packet, n) for n in ([overload] if overload else packet.overloads())]
    return [o for o in overloads if lookup(*operator_name(o)) is CONVERTERS[name] and _is_of_tensors(o._schema)]


def _is_of_tensors(schema: Any) -> bool:
    types = {str(a.type) for a in (*schema.arguments, *schema.returns)}
    return any("Tensor" in t for t in types) and not any(a.is_out for a in schema.arguments)


@pytest.mark.parametrize("name", sorted(CONVERTERS))
def test_rows_take_the_arguments_of_the_schema(name: str) -> None:
    parameters = list(inspect.signature(CONVERTERS[name]).parameters.values())[1:]
    library = name.partition("::")[0] if "::" in name else "aten"
    if not hasattr(getattr(torch.ops, library), name.rpartition("::")[2].partition(".")[0]):
        pytest.skip(f"{library} registers the operator, and is not imported")
    anything = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    overloads = overloads_of(name)
    assert overloads, f"no overload of {name} is converted by its row"
    for overload in overloads:
        arguments = [a for a in overload._schema.arguments if a.name not in IGNORED]
        positional = [a for a in arguments if not a.kwarg_only]
        assert anything or len(positional) <= len(parameters), overload
        names = {p.name for p in parameters}
        assert all(a.name in names for a in arguments if a.kwarg_only), overload
