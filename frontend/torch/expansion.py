"""Expansion of operators without a converter by PyTorch's decompositions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...diagnostics import UnsupportedError
from ..importing.errors import ModelError
from .arguments import changes_operand, operator_name
from .complex_operators import ALWAYS_COMPLEX
from .control_flow import CONTROL_FLOW
from .graph import DROPPED
from .table import lookup


def expanded(
    program: Any,
    custom: frozenset[str] = frozenset(),
    fallback: bool = False,
    refused: frozenset[str] = frozenset(),
) -> Any:
    """Decompose the operators of an exported program, except those with a converter in the table or in `custom`.

    `refused` are operators whose converter does not take their arguments. In-place operators are replaced by functional
    ones, if there are any such nodes.
    """
    rows = _Rows(custom, refused)
    if not any(_needs_expansion(node, rows) for node in _nodes(program.graph_module)):
        return program
    _require_inputs_of_their_own(program)
    training = {
        node.target for node in _nodes(program.graph_module) if hasattr(node.target, "_schema") and _trains(node)
    }
    decomposed = _decomposed(program, rows, training, fallback)
    if hasattr(program, "_guards_code"):  # the conditions on sizes, which decomposing drops
        decomposed._guards_code = program._guards_code
    return decomposed


def _decomposed(program: Any, rows: _Rows, training: set[Any], fallback: bool) -> Any:
    """Decompose a program as far as PyTorch can: some of its decompositions cannot be traced.

    Raises `ModelError` if it cannot trace the program at all.
    """
    every = _all_decompositions(rows, training)
    required = {op: how for op, how in every.items() if op in training}
    failed: Exception | None = None
    for table in (_kept_whole(every) if fallback else every, {**_defaults(rows), **required}, required):
        try:
            return program.run_decompositions(table)
        except Exception as error:  # noqa: BLE001 - torch raises what comes to it where a decomposition does not fit
            failed = failed or error
    raise ModelError(f"PyTorch cannot write out operators of the program: {failed}") from failed


def _require_inputs_of_their_own(program: Any) -> None:
    """Raise `UnsupportedError` if traced inputs share memory and something is changed in place."""
    if not any(
        changes_operand(node.target) for node in _nodes(program.graph_module) if hasattr(node.target, "_schema")
    ):
        return
    owners: dict[int, str] = {}
    taken = set(program.graph_signature.user_inputs)
    for node in (n for n in program.graph.nodes if n.op == "placeholder" and n.name in taken):
        value, name = node.meta.get("val"), node.name
        if not hasattr(value, "untyped_storage"):
            continue
        owner = owners.setdefault(value.untyped_storage()._cdata, name)
        if owner != name:
            raise UnsupportedError(
                f"the inputs {owner} and {name} share memory, and the program changes tensors",
                hint="trace it with inputs of their own: a call changes none of what it takes",
            )


def _nodes(module: Any) -> Iterator[Any]:
    """Yield the nodes that call functions, in a graph and its subgraphs."""
    for inner in module.modules():
        if hasattr(inner, "graph"):
            yield from (n for n in inner.graph.nodes if n.op == "call_function")


@dataclass(frozen=True)
class _Rows:
    """The operators that are converted."""

    custom: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()

    def __contains__(self, overload: Any) -> bool:
        if overload.__name__ in self.custom:
            return True
        operator, name = operator_name(overload)
        known = operator in ALWAYS_COMPLEX or lookup(operator, name) is not None
        return known and str(overload) not in self.refused


def _needs_expansion(node: Any, rows: _Rows) -> bool:
    if not hasattr(node.target, "_schema"):
        return _is_traced_away(node.target, rows.custom)
    if operator_name(node.target)[0] in DROPPED:
        return False
    return changes_operand(node.target) or node.target not in rows or _trains(node)


def _is_traced_away(target: Any, custom: frozenset[str]) -> bool:
    """Return whether retracing may eliminate a function: a region (autocast) or a function transform (vmap)."""
    name = getattr(target, "__name__", str(target))
    return name not in CONTROL_FLOW and name not in custom and target.__module__ not in _OF_NUMBERS


_OF_NUMBERS = ("_operator", "builtins", "math", "torch")
"""The modules of functions that a graph calls for tuple items and size arithmetic."""


def _trains(node: Any) -> bool:
    """Return whether a normalization updates its running statistics, which PyTorch's schema does not declare."""
    name, args = operator_name(node.target)[0], node.args
    return name in ("batch_norm", "instance_norm") and args[5] is True and (name == "batch_norm" or args[3] is not None)


def decompositions(custom: frozenset[str] = frozenset()) -> dict[Any, Any]:
    """Return PyTorch's decompositions to core ATen of the operators without a converter."""
    return _defaults(_Rows(custom))


def _defaults(rows: _Rows) -> dict[Any, Any]:
    from torch.export import default_decompositions

    return _without_rows(default_decompositions(), rows)


def _all_decompositions(rows: _Rows, training: Collection[Any]) -> dict[Any, Any]:
    """Like `decompositions`, with all further decompositions that PyTorch has, and those of operators in training."""
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    defaults = default_decompositions()
    of_training = {op: defaults[op] for op in training if op in defaults}
    return {**_without_rows(decomposition_table, rows), **_defaults(rows), **of_training}


_WHOLE = ("linalg_eig", "linalg_ldl", "linalg_lstsq", "unique_dim")
"""Names of operators, by their beginnings, that PyTorch computes whole if it computes them: in parts they would be
several calls.
"""


def _kept_whole(table: Mapping[Any, Any]) -> dict[Any, Any]:
    return {op: how for op, how in table.items() if not op.__name__.startswith(_WHOLE)}


def _without_rows(table: Mapping[Any, Any], rows: _Rows) -> dict[Any, Any]:
    return {op: how for op, how in table.items() if hasattr(op, "_schema") and op not in rows}
