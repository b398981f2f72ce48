"""The common base of handles on Relax and tensor functions: operation, name, attributes, text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation

from ..diagnostics import TiraxError, unknown_name
from ..dialects import relax
from ..dialects.attributes import require_names
from ..dialects.relax.function import PRIVATE
from ..ir.origins import cloned
from ..ir.verification.as_written import remember_in_copy
from .tir.attributes import attr_of, value_of


class StaleHandleError(TiraxError, RuntimeError):
    """A handle is no longer valid: a rewrite removed the operation or value it refers to."""


class DictAttrs(Mapping[str, Any]):
    """Attributes of a function or module as Python values; read-only (`with_attr` returns a changed copy)."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]):
        self._values = dict(values)

    def __getitem__(self, k: str) -> Any:
        if k not in self._values:
            raise unknown_name("attribute", k, self._values)
        return self._values[k]

    def __contains__(self, k: object) -> bool:
        return k in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._values:
            raise AttributeError(name)
        return self._values[name]

    def __repr__(self) -> str:
        return f"DictAttrs({self._values})"


class BaseFunc:
    """Base of handles on Relax and tensor functions. Changes return a copy, which belongs to no module yet."""

    _op: Operation

    @property
    def op(self) -> Any:
        """The xDSL operation. Raises `StaleHandleError` if a rewrite has removed the function."""
        if self._op.regions[0].parent is None:
            raise StaleHandleError(
                "the handle on a function no longer points at anything",
                hint="a rewrite removed it: get the function again from the module",
            )
        return self._op

    @classmethod
    def on(cls, op: Operation) -> Self:
        """Return a handle of this class on an operation."""
        view = cls.__new__(cls)
        view._op = op
        return view

    @property
    def name(self) -> str:
        """The name in the module; `main` for a local function."""
        name = self.op.properties.get("sym_name")
        return name.data if isinstance(name, StringAttr) else "main"

    @property
    def private(self) -> bool:
        return self.op.properties.get("sym_visibility") == PRIVATE

    @property
    def attrs(self) -> DictAttrs:
        """The attributes; they include `global_symbol` if the function is not private."""
        attrs = self.op.func_attrs
        own = {} if attrs is None else {k: value_of(v) for k, v in attrs.data.items()}
        return DictAttrs(own if self.private or self.is_local else {"global_symbol": self.name, **own})

    @property
    def is_local(self) -> bool:
        return isinstance(self.op, relax.ClosureOp)

    def copy(self) -> Self:
        """Return a copy that belongs to no module."""
        new = cloned(self.op)
        remember_in_copy(self.op, new)
        return self.on(new)

    def with_attr(self, attr_key_or_dict: str | Mapping[str, Any], attr_value: Any = None) -> Self:
        """Return a copy with an attribute (or several) set; `global_symbol` names the function and makes it public."""
        new = self.copy()
        updates = {attr_key_or_dict: attr_value} if isinstance(attr_key_or_dict, str) else dict(attr_key_or_dict)
        require_names(updates)
        symbol = updates.pop("global_symbol", None)
        if symbol is not None and not new.is_local:
            new.op.properties["sym_name"] = StringAttr(str(symbol))
            new.op.properties.pop("sym_visibility", None)
            new._set_attrs({"global_symbol": None})
        new._set_attrs({k: attr_of(v) for k, v in updates.items()})
        return new

    def with_attrs(self, attr_map: Mapping[str, Any]) -> Self:
        """Return a copy with attributes set."""
        return self.with_attr(attr_map)

    def without_attr(self, attr_key: str) -> Self:
        """Return a copy without an attribute; without `global_symbol` it is private."""
        new = self.copy()
        if attr_key == "global_symbol":
            new.op.properties["sym_visibility"] = PRIVATE
        new._set_attrs({attr_key: None})
        return new

    def _set_attrs(self, changes: Mapping[str, Attribute | None]) -> None:
        old = self.op.func_attrs
        merged = {**({} if old is None else old.data), **changes}
        kept = {k: v for k, v in merged.items() if v is not None}
        self.op.func_attrs = DictionaryAttr(kept) if kept else None

    def script(self, **options: Any) -> str:
        """Return the function as TVMScript; the options are those of the printer."""
        from ..script.printer import print_script

        return print_script(self.op, **options)

    def show(self, style: str | None = None, black_format: bool = False, **options: Any) -> None:
        """Print the function as TVMScript, highlighted on a terminal."""
        from ..script.printer import show as show_script

        show_script(self.op, style=style, black_format=black_format, **options)

    def _repr_html_(self) -> str:
        """Return the HTML shown by notebooks."""
        from ..script.printer.views import html_text

        return html_text(self.op)

    def __rich__(self) -> Any:
        """Return the object printed by `rich`."""
        from ..script.printer.views import highlighted

        return highlighted(self.op)

    def __str__(self) -> str:
        return self.script()

    def same_as(self, other: object) -> bool:
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseFunc) and self._op is other._op

    def __hash__(self) -> int:
        return hash(self._op)
