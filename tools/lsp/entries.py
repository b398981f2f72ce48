"""The names to complete and document: `R`, `T` and `I` in TVMScript; operations, types and attributes in MLIR."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation

from ...dialects.dtypes import DTYPES
from ...dialects.relax import OPERATORS
from ...dialects.relax.composite import COMPOSITES, composite_parameters
from ...dialects.relax.operator import Operator
from ...script.parser import relax_parser, tir_parser, tir_unsupported
from ...universe import full_universe


@dataclass(frozen=True)
class Entry:
    """A name of the language: its usage (one line), its documentation, the names of its attributes."""

    name: str
    usage: str
    text: str = ""
    attributes: tuple[str, ...] = ()

    def markdown(self, language: str) -> str:
        """Return the entry as hover text."""
        return f"```{language}\n{self.usage}\n```" + (f"\n\n{self.text}" if self.text else "")


def _doc(thing: Any) -> str:
    """Return a docstring, unless `dataclass` or a builtin base class generated it."""
    text = inspect.getdoc(thing) or ""
    name = getattr(thing, "__name__", "")
    return "" if text.startswith(f"{name}(") or thing is None or text == inspect.getdoc(type(thing)) else text


def _operator(cls: type[Operator]) -> Entry:
    parts: list[str] = []
    for parameter, field in cls.parameters().items():
        spec = cls.ATTR_SPECS.get(field)
        required = cls.is_required(parameter)
        parts.append(
            parameter if spec is None and required else f"{parameter}={None if spec is None else spec.default}"
        )
    name = cls.name.removeprefix("relax.")
    attributes = tuple(p for p, field in cls.parameters().items() if field in cls.ATTR_SPECS)
    return Entry(name, f"R.{name}({', '.join(parts)})", _doc(cls), attributes)


def _function(letter: str, name: str, function: Any) -> Entry:
    text = _doc(function) if inspect.isfunction(function) else ""
    return Entry(name, f"{letter}.{name}(…)", text)


_OF_R = {
    "function": "A function of Relax: `@R.function`, `@R.function(private=True, pure=False)`.",
    "dataflow": "A block of bindings without side effects: `with R.dataflow():`, which ends with `R.output(…)`.",
    "output": "The values of a dataflow block that are seen behind it; its last statement.",
    "func_attr": "The attributes of a function, as a dictionary.",
}
_OF_T = {
    "prim_func": "A tensor function: `@T.prim_func`, `@T.prim_func(private=True)`.",
    "macro": "A function of statements that are written where it is called: `@T.macro`.",
    "grid": "Nested loops: `for i, j in T.grid(m, n):`.",
    "serial": "A loop whose iterations run one after the other: `for i in T.serial(n):`, or `range(n)`.",
    "parallel": "A loop whose iterations run on several threads.",
    "vectorized": "A loop whose iterations become the lanes of a vector.",
    "unroll": "A loop that is written out.",
    "thread_binding": "A loop that is bound to threads.",
    "block": 'A block, which schedules work on: `with T.block("name"):`.',
    "axis.spatial": "An iterator of a block along the result: `vi = T.axis.spatial(n, i)`.",
    "axis.reduce": "An iterator of a block along what is summed up: `vk = T.axis.reduce(n, k)`.",
    "axis.remap": 'Iterators of a block from loops: `vi, vk = T.axis.remap("SR", [i, k])`.',
    "init": "What a reduction begins with: `with T.init():`.",
    "where": "The condition under which a block runs.",
    "reads": "What a block reads: regions of buffers.",
    "writes": "What a block writes: regions of buffers.",
    "match_buffer": "A buffer in a parameter of type `T.handle`, or a part of another: `A = T.match_buffer(a, (n,))`.",
    "alloc_buffer": "A buffer of the function's own.",
    "if_then_else": "The one value or the other; only that one is computed.",
    "attr": "An annotation of statements: `with T.attr(node, key, value):`.",
    "launch_thread": "Statements that run on threads of a kind.",
    "ret": "The result of the function, a number.",
}
_OF_I = {
    "ir_module": "A class of functions, which is a module: `@I.ir_module`.",
    "module_attrs": "The attributes of a module, as a dictionary.",
    "module_global_infos": "What a module says of devices.",
}


@cache
def script_entries() -> Mapping[str, Mapping[str, Entry]]:
    """Return the names of TVMScript by dialect (`relax`, `tir`, `ir`), including operators of plug-ins."""
    relax = {name: _function("R", name, f) for name, f in relax_parser.FUNCTIONS.items()}
    relax |= {e.name: e for e in map(_operator, OPERATORS.values())}
    for full_name, function in COMPOSITES.items():
        name, parameters = full_name.removeprefix("relax."), composite_parameters(full_name)
        relax[name] = Entry(name, f"R.{name}({', '.join(parameters)})", _doc(function))
    calls = {**tir_parser.FUNCTIONS, **tir_parser.SPECIAL}
    tir = {name: _function("T", name, f) for name, f in calls.items() if name not in tir_unsupported.UNSUPPORTED}
    tir |= {name: Entry(name, f"T.{name}", "A data type; called, a constant of it or a variable.") for name in DTYPES}
    return {"relax": relax | _described("R", _OF_R), "tir": tir | _described("T", _OF_T), "ir": _described("I", _OF_I)}


def _described(letter: str, texts: Mapping[str, str]) -> dict[str, Entry]:
    return {name: Entry(name, f"{letter}.{name}", text) for name, text in texts.items()}


@cache
def dialect_of(name: str) -> Dialect | None:
    """Return the dialect of this name: tirax's, xDSL's or a plug-in's."""
    factory = full_universe().all_dialects.get(name)
    return None if factory is None else factory()


def _definition(cls: type[Any]) -> Iterator[str]:
    if not issubclass(cls, IRDLOperation):  # builtin's for what is not registered
        return
    definition = cls.get_irdl_definition()
    for title, parts in (("operands", definition.operands), ("results", definition.results)):
        names = [f"`{name}{_mark(kind)}`" for name, kind in parts]
        if names:
            yield f"- {title}: {', '.join(names)}"
    names = [f"`{name}{_mark(kind)}`" for name, kind in _attributes(cls).items()]
    if names:
        yield f"- attributes: {', '.join(names)}"


def _attributes(cls: type[Any]) -> dict[str, Any]:
    if not issubclass(cls, IRDLOperation):
        return {}
    definition = cls.get_irdl_definition()
    named = {**definition.properties, **definition.attributes}
    return {name: kind for name, kind in named.items() if not name.endswith("SegmentSizes")}


def _mark(kind: Any) -> str:
    return "?" if "Opt" in type(kind).__name__ else "*" if "Var" in type(kind).__name__ else ""


@cache
def operation_entries(dialect: str) -> Mapping[str, Entry]:
    """Return the operations of a dialect by full name; empty for an unknown dialect."""
    loaded = dialect_of(dialect)
    entries: dict[str, Entry] = {}
    for cls in () if loaded is None else loaded.operations:
        if issubclass(cls, Operator):
            own = _operator(cls)
            usage, text = f"{cls.name}  // {own.usage}", own.text
            attributes = tuple(cls.ATTR_SPECS)
        else:
            usage, text, attributes = cls.name, _doc(cls), tuple(_attributes(cls))
        documentation = "\n\n".join(filter(None, (text, "\n".join(_definition(cls)))))
        entries[cls.name] = Entry(cls.name, usage, documentation, attributes)
    return entries


@cache
def attribute_entries(dialect: str) -> Mapping[str, Entry]:
    """Return the types and attributes of a dialect by full name."""
    loaded = dialect_of(dialect)
    classes: list[type[Attribute]] = [] if loaded is None else list(loaded.attributes)
    return {cls.name: Entry(cls.name, cls.name, _doc(cls)) for cls in classes}


def dialect_names() -> list[str]:
    """Return the names of the dialects of tirax, xDSL and plug-ins."""
    return sorted(full_universe().all_dialects)
