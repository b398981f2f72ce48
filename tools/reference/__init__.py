"""Writes docs/reference: operators, passes, the public Python API and what of TVM is left out, from the code itself.

`python -m tirax.tools.reference` writes the files; a test compares them with what this gives.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = (
    "diagnostics",
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
    "handles.tir.prim_expr",
    "handles.module",
    "script",
    "te",
    *(
        f"topi.{name}"
        for name in ("broadcast", "creation", "elementwise", "indexing", "linear_algebra", "manipulation")
    ),
    *(f"topi.{name}" for name in ("nn", "reduction", "sequences")),
    "transforms.dpl",
    "frontend.block_builder",
    "frontend.nn",
    "frontend.training",
    "ir.passes.instrument",
    "schedule",
    "schedule.cpu.rules",
    "schedule.cpu.primitive_rules",
    "tuning.tir_integration",
    "tuning.relax_integration",
    "tuning.database",
    "interpreter",
    "lowering.build",
    "lowering.pipelines",
    "target",
    "lowering.machine",
    "lowering.llvm_text",
    "runtime",
)
"""The modules whose public names docs/reference/api.md lists."""

_NOTE = "<!-- Written by `python -m tirax.tools.reference`. Do not edit. -->\n"


def _first_paragraph(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    return " ".join(text.split("\n\n")[0].split())


def _row(*cells: str) -> str:
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"


def _shown(default: Any) -> str:
    """An attribute's default: a data type by its name."""
    from xdsl.ir import Attribute

    from ..dialects.dtypes import dtype_name

    return repr(dtype_name(default) if isinstance(default, Attribute) else default)


def operators() -> str:
    """A table of the Relax operators."""
    from ..dialects.relax import OPERATORS

    lines = [_NOTE, "# Relax operators\n", _row("operator", "operands", "attributes", "meaning"), _row(*["---"] * 4)]
    for name, cls in sorted(OPERATORS.items()):
        attrs = ", ".join(f"`{n}={_shown(s.default)}`" for n, s in cls.ATTR_SPECS.items())
        lines.append(_row(f"`{name}`", ", ".join(f"`{a}`" for a in cls.ARG_NAMES), attrs, _first_paragraph(cls)))
    return "\n".join(lines) + "\n"


def passes() -> str:
    """A table of the passes with their options."""
    from ..lowering.pipelines import pipelines_of
    from ..universe import TIRAX_UNIVERSE

    lines = [_NOTE, "# Passes\n"]
    classes = {name: factory() for name, factory in sorted(TIRAX_UNIVERSE.all_passes.items())}
    passes_of = Counter(cls.__module__ for cls in classes.values())
    for name, cls in classes.items():
        lines.append(f"## `{name}`\n\n{_first_paragraph(cls)}\n")
        if passes_of[cls.__module__] == 1:  # what the file says is about this pass
            lines.append(f"{_first_paragraph(sys.modules[cls.__module__])}\n")
        pipelines = pipelines_of(name)
        lines.append(f"Pipelines: {', '.join(f'`{p}`' for p in pipelines) or 'none; for those who ask for it'}.\n")
        options = [f for f in dataclasses.fields(cls) if f.name != "name"]
        lines += [f"- `{f.name}: {f.type}`{_default(f)}" for f in options]
        lines += [""] if options else []
    return "\n".join(lines)


def dialects() -> str:
    """Tables of the operations of all dialects, but for the Relax operators, which have a page of their own."""
    from xdsl.irdl import OpDef

    from ..dialects.relax import OPERATORS
    from ..universe import TIRAX_UNIVERSE

    lines = [
        _NOTE,
        "# Dialects\n",
        "Relax's operators are in [operators.md](operators.md); `?` may be absent, `*` is any number.\n",
    ]
    for name, factory in TIRAX_UNIVERSE.all_dialects.items():
        ops: list[Any] = sorted((op for op in factory().operations if op.name not in OPERATORS), key=lambda op: op.name)
        if ops:
            lines += [
                f"## {name}\n",
                _row("operation", "operands", "attributes", "results", "meaning"),
                _row(*["---"] * 5),
            ]
        for op in ops:
            definition: OpDef = op.get_irdl_definition()
            parts = (
                definition.operands,
                _attributes(definition),
                definition.results,
            )
            cells = (", ".join(f"`{part}{_mark(kind)}`" for part, kind in described) for described in parts)
            lines.append(_row(f"`{op.name}`", *cells, _first_paragraph(op)))
        lines += [""] if ops else []
    return "\n".join(lines)


def _attributes(definition: Any) -> list[tuple[str, Any]]:
    named = {**definition.properties, **definition.attributes}
    return [(name, kind) for name, kind in named.items() if not name.endswith("SegmentSizes")]


def _mark(kind: Any) -> str:
    return "?" if "Opt" in type(kind).__name__ else "*" if "Var" in type(kind).__name__ else ""


def _default(option: dataclasses.Field[Any]) -> str:
    return "" if option.default is dataclasses.MISSING else f", default `{option.default!r}`"


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """What a module exports: `__all__`, or the public classes and functions that it defines."""
    names = getattr(module, "__all__", None)
    for name in sorted(names if names is not None else vars(module)):
        thing = getattr(module, name)
        where = str(getattr(thing, "__module__", ""))
        defined_here = where == module.__name__ or (hasattr(module, "__path__") and where.startswith(module.__name__))
        documented = inspect.isclass(thing) or inspect.isfunction(thing)
        if not name.startswith("_") and documented and (names is not None or defined_here):
            yield name, thing


def _signature(thing: Any) -> str:
    if not inspect.isfunction(thing):
        return ""
    return "(" + ", ".join(p.name for p in inspect.signature(thing).parameters.values()) + ")"


def api() -> str:
    """The public classes and functions, module by module."""
    lines = [_NOTE, "# Public Python API\n"]
    for path in MODULES:
        module = import_module(f"..{path}", __package__)
        lines.append(f"## `tirax.{path}`\n\n{_first_paragraph(module)}\n")
        for name, thing in _public(module):
            lines.append(f"- `{name}{_signature(thing)}`: {_first_paragraph(thing)}")
            methods = vars(thing).items() if inspect.isclass(thing) else ()
            found = [
                (n, m) for n, m in methods if not n.startswith("_") and inspect.isfunction(m) and inspect.getdoc(m)
            ]
            lines += [f"  - `{n}{_signature(m)}`: {_first_paragraph(m)}" for n, m in found]
        lines.append("")
    return "\n".join(lines)


def left_out() -> str:
    """TVM's modules and passes that are not here, with the reasons that their errors give."""
    modules: dict[str, tuple[str, str]] = import_module("..tvm_api._refused", __package__).REFUSED
    passes_left_out: dict[str, str] = import_module("..tvm_api.tir.transform", __package__).LEFT_OUT
    lines = [_NOTE, "# What of TVM is left out\n", "Programs for TVM: [from_tvm.md](../from_tvm.md).\n", "## Modules\n"]
    lines += [_row("TVM", "why", "instead"), _row("---", "---", "---")]
    lines += [_row(f"`tvm.{path}`", why, f"`{instead}`") for path, (why, instead) in sorted(modules.items())]
    lines += ["\n## Passes on tensor functions\n", _row("`tvm.tir.transform`", "why"), _row("---", "---")]
    lines += [_row(f"`{name}`", why) for name, why in sorted(passes_left_out.items())]
    return "\n".join([*lines, ""])


PAGES = {
    "operators.md": operators,
    "dialects.md": dialects,
    "passes.md": passes,
    "api.md": api,
    "left_out.md": left_out,
}


def main() -> None:
    """Write the pages below docs/reference of the repository."""
    folder = Path(__file__).resolve().parents[1] / "docs" / "reference"
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (folder / name).write_text(page())


if __name__ == "__main__":
    main()
