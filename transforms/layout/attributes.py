"""Function attributes that layout passes read and write."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from ...dialects import relax, tir
from ...dialects.attributes import from_attr

OPERATOR_NAME = "operator_name"
"""The operator that a tensor function computes."""
LAYOUT_FREE = "layout_free_buffers"
"""The positions of parameters whose layout may be chosen: weights and constants."""


def operator_name(func: tir.FuncOp | relax.FuncOp | None) -> str | None:
    """Return the operator that a tensor function declares to compute."""
    if not isinstance(func, tir.FuncOp) or func.func_attrs is None:
        return None
    attr = func.func_attrs.data.get(OPERATOR_NAME)
    return attr.data if isinstance(attr, StringAttr) else None


def layout_free(func: tir.FuncOp) -> list[int]:
    """Return the positions of parameters whose layout may be chosen; empty without the attribute."""
    attr = None if func.func_attrs is None else from_attr(func.func_attrs.data.get(LAYOUT_FREE))
    return [i for i in attr if isinstance(i, int)] if isinstance(attr, list) else []


def with_attrs(func: tir.FuncOp, changes: Mapping[str, Attribute | None]) -> None:
    """Set attributes of a function, and remove those that are None."""
    entries = {**(func.func_attrs.data if func.func_attrs is not None else {}), **changes}
    kept = {k: v for k, v in entries.items() if v is not None}
    func.func_attrs = DictionaryAttr(kept) if kept else None
