"""Generate docs/reference/api.md."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

from .markdown import NOTE, first_paragraph, summary

SECTIONS: dict[str, tuple[str, ...]] = {
    "The IR": (
        "dialects.sym.expr",
        "dialects.sym.analyzer",
        "dialects.relax.types",
        "dialects.relax.operator",
        "dialects.dtypes",
        "dialects.names",
        "ir.passes.transform",
        "ir.verification.verify",
        "ir.equality",
        "ir.affine.values",
        "ir.names",
        "ir.rewriting.edit",
        "ir.rewriting.substitute",
        "ir.functions.lookup",
        "ir.buffers.regions",
        "diagnostics",
    ),
    "Programs": (
        "handles.module",
        "handles.tir.prim_expr",
        "handles.tir.variables",
        "handles.tir.math_functions",
        "handles.tir.limits",
        "script",
        "interpreter",
        "te",
        *(f"topi.{name}" for name in ("broadcast", "creation", "elementwise", "indexing", "linear_algebra")),
        *(f"topi.{name}" for name in ("manipulation", "nn", "reduction", "sequences")),
    ),
    "Ways in": (
        "frontend.block_builder",
        "frontend.nn",
        "frontend.training",
        "frontend.onnx",
        "frontend.stablehlo",
        *(f"frontend.torch.{name}" for name in ("exported_program", "fx", "dynamo", "compile")),
    ),
    "Patterns and instruments": ("transforms.dpl", "ir.passes.instrument"),
    "Schedules and tuning": (
        "schedule",
        "schedule.cpu.policy.rules",
        "schedule.cpu.policy.primitive_rules",
        "schedule.trace",
        "schedule.tensor_intrin",
        "tuning.tir_integration",
        "tuning.relax_integration",
        *(f"tuning.{name}" for name in ("builder", "context", "cost_model", "database", "feature_extractors")),
        *(f"tuning.{name}" for name in ("mutators", "postprocessors", "profiler", "runner", "schedule_rules")),
        *(f"tuning.{name}" for name in ("search", "space", "task_scheduler", "tune")),
    ),
    "Compiling a model": ("api",),
    "Building and running": (
        "driver.build",
        "driver.pipelines",
        "target",
        "lowering.machine",
        "lowering.llvm_text",
        "runtime",
        "runtime.profiling",
    ),
}
"""The modules whose public names the page lists, by topic."""


def api() -> str:
    """Return the page of public classes with their methods and of public functions, module by module."""
    head = "Of classes: the methods and properties that have a docstring. TVM's modules: [tvm_api.md](tvm_api.md).\n"
    lines = [NOTE, "# Public Python API\n", head]
    for title, paths in SECTIONS.items():
        lines += [f"## {title}\n"]
        for path in paths:
            module = import_module(f"...{path}", __package__)
            lines += [f"### `tirax.{path}`\n", f"{first_paragraph(module)}\n", *members(module), ""]
    return "\n".join(lines)


def members(module: ModuleType) -> list[str]:
    """Return a row for each public name of a module, with the methods of classes below it."""
    lines: list[str] = []
    for name, thing in public(module):
        lines.append(f"- `{name}{signature(thing)}`: {summary(thing)}")
        if inspect.isclass(thing):
            lines += [f"  - `{n}{signature(m)}`: {text}" for n, m in methods(thing) if (text := _summary_of(thing, n))]
    return lines


def public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield what a module exports: `__all__`, or the public classes and functions that it defines."""
    names = getattr(module, "__all__", None)
    for name in sorted(names if names is not None else vars(module)):
        thing = getattr(module, name)
        where = str(getattr(thing, "__module__", ""))
        defined_here = where == module.__name__ or (hasattr(module, "__path__") and where.startswith(module.__name__))
        documented = inspect.isclass(thing) or inspect.isfunction(thing)
        if not name.startswith("_") and documented and (names is not None or defined_here):
            yield name, thing


def methods(cls: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class defines, without those that `tvm_api` gives to it."""
    for name, thing in vars(cls).items():
        called = getattr(thing, "__func__", getattr(thing, "fget", thing))
        is_method = isinstance(thing, property | functools.cached_property) or inspect.isfunction(called)
        if is_method and not name.startswith("_") and (_is_of_tvm(cls) or not _is_of_tvm(called)):
            yield name, thing


def _is_of_tvm(thing: Any) -> bool:
    return str(getattr(thing, "__module__", "")).startswith("tirax.tvm_api")


def _summary_of(cls: type[Any], name: str) -> str:
    """Return the summary of a method, from its class or the base class whose method it overrides."""
    owners = (vars(c)[name] for c in cls.__mro__ if name in vars(c))
    return next((text for m in owners if (text := first_paragraph(getattr(m, "__func__", m)))), "")


def signature(thing: Any) -> str:
    """Return the parameters of a function or class with types and defaults, and the result type."""
    if isinstance(thing, property | functools.cached_property):
        return ""
    bound = thing.__func__ if isinstance(thing, classmethod | staticmethod) else thing
    if inspect.isclass(bound):
        return _of_class(bound)
    text = _text(inspect.signature(bound))
    is_method = isinstance(thing, classmethod) or text.startswith(("(self", "(cls"))
    return re.sub(r"^\((self|cls)(, )?", "(", text) if is_method else text


def _of_class(cls: type[Any]) -> str:
    """Return the signature of a class's own constructor; empty if it is inherited."""
    own = vars(cls).get("__init__")
    if not inspect.isfunction(own) or issubclass(cls, BaseException):
        return ""
    parameters = list(inspect.signature(own).parameters.values())[1:]
    return _text(inspect.Signature(parameters))


def _text(signature: inspect.Signature) -> str:
    parameters = [
        p.replace(annotation=_plain(p.annotation), default=_default(p.default)) for p in signature.parameters.values()
    ]
    shown = signature.replace(parameters=parameters, return_annotation=_plain(signature.return_annotation))
    return str(shown)


class _Verbatim:
    """A placeholder in a signature that is shown as `text`."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _plain(annotation: Any) -> Any:
    """Return an annotation as it is written: annotations of this package are strings."""
    if annotation is inspect.Parameter.empty:
        return annotation
    return _Verbatim(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def _default(value: Any) -> Any:
    """Return a default value, or `…` if its text is not the same each time."""
    if value is inspect.Parameter.empty or isinstance(value, str | int | float | bool | tuple | None):
        return value
    text = repr(value)
    return _Verbatim("…" if " at 0x" in text or len(text) > 40 else text)


__all__ = ["SECTIONS", "api", "members", "methods", "public", "signature"]
