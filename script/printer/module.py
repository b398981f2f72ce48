"""Programs: the header, the functions of the module in TVM's order, and the metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...diagnostics import TiraxError, UnsupportedError, nesting_checked
from ...dialects import relax, tir
from ...dialects.relax.devices import GLOBAL_INFOS, VDEVICE, global_infos
from .document import Document, PrinterConfig
from .literals import dictionary, has_form, metadata_lines, string
from .relax import INLINE, RelaxPrinter, packed_function, print_relax_function
from .tir import print_tir_function
from .tir_expressions import EXPRESSIONS

_ORDER: tuple[type[Operation], ...] = (tir.FuncOp, relax.ExternOp, relax.FuncOp)


@nesting_checked()
def print_script(
    op: Any,
    *,
    obj_to_underline: Sequence[Operation] = (),
    obj_to_annotate: Mapping[Operation, str] | None = None,
    only: Sequence[Operation] | None = None,
    notes_at_line_ends: bool = False,
    underline_all_lines: bool = False,
    **options: Any,
) -> str:
    """Return the TVMScript text of a module or a function, or of a view of one; `options` are the fields of
    `PrinterConfig`.

    Lines of the ops in `obj_to_underline` get a line of `^` below them, lines of the ops in `obj_to_annotate` a
    comment above, with `notes_at_line_ends` at their ends. With `underline_all_lines`, all lines of a
    function or module in `obj_to_underline` are underlined.

    A module prints its TIR functions, then its Relax functions, each sorted by name with `main` last, or the
    functions in `only`. A standalone function prints its callees without `cls.`. Raises `UnsupportedError` for
    anything that has no form in TVMScript, and `TiraxError` for an unknown option.
    """
    op = op if isinstance(op, Operation) else op.op
    known = PrinterConfig.__dataclass_fields__
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise TiraxError(f"printing has no option {', '.join(unknown)}", hint=f"known: {', '.join(known)}")
    config = PrinterConfig(**options)
    doc = Document(config, _lines_of(obj_to_underline), obj_to_annotate or {}, notes_at_line_ends, underline_all_lines)
    with doc.underlining(op):
        if isinstance(op, ModuleOp):
            _module(doc, op, only)
        else:
            _function(doc, op)
    doc.number_constants()
    before, after = metadata_lines(doc)
    lines = [*doc.imports(), *before, "", *doc.lines, *([""] if after else ()), *after]
    return "\n".join(_near_underlines(lines, config.num_context_lines))


def _global_infos(doc: Document, module: ModuleOp) -> None:
    infos = global_infos(module.attributes)
    doc.vdevices = infos.get(VDEVICE, [])
    entries: list[str] = []
    for kind, listed in infos.items():
        items = [_vdevice(doc, i) if kind == VDEVICE else f"{doc.ir('dummy_global_info')}()" for i in listed]
        entries.append(f"{string(kind)}: [{', '.join(items)}]")
    if entries:
        doc.line(f"{doc.ir('module_global_infos')}({{{', '.join(entries)}}})")


def _vdevice(doc: Document, text: str) -> str:
    kind, number, *scope = text.split(":", 2)
    target = dictionary(doc, tir.TargetAttr.of(kind).described.data, tir=False)
    return f"{doc.ir('vdevice')}({target}, {number}, {string((*scope, 'global')[0])})"


def _module(doc: Document, module: ModuleOp, only: Sequence[Operation] | None) -> None:
    doc.in_module = True
    for inner in module.body.block.ops:
        if isinstance(inner, ModuleOp):
            _function(doc, inner)  # raises: a nested module has no form in TVMScript
    functions = [op for op in module.body.block.ops if _kind(op) is not None and (only is None or op in only)]
    functions.sort(key=_place)
    doc.line(f"@{doc.config.ir_prefix}.ir_module")
    doc.line(f"class {doc.config.module_name}:")
    with doc.indented():
        attrs = {k: v for k, v in module.attributes.items() if has_form(v) and k != GLOBAL_INFOS}
        if attrs:
            doc.line(f"{doc.ir('module_attrs')}({dictionary(doc, attrs, tir=False)})")
        _global_infos(doc, module)
        for i, func in enumerate(functions):
            if i and not isinstance(functions[i - 1], relax.ExternOp):
                doc.line()
            with doc.underlining(func):
                _function(doc, func)
    doc.used.add("ir")  # last: headers of local functions list what was used before them


def _place(func: Operation) -> tuple[bool, int | None, str]:
    """Return the sort key of a function: by kind and name, `main` last."""
    name = cast("tir.FuncOp | relax.FuncOp | relax.ExternOp", func).sym_name.data
    return name == "main", _kind(func), name


def _kind(op: Operation) -> int | None:
    return _ORDER.index(type(op)) if isinstance(op, _ORDER) else None


def _function(doc: Document, op: Operation) -> None:
    if isinstance(op, tir.FuncOp):
        print_tir_function(doc, op)
    elif isinstance(op, relax.FuncOp):
        print_relax_function(RelaxPrinter(doc, (op,)), op)
    elif isinstance(op, relax.ExternOp):
        text = packed_function(RelaxPrinter(doc, ()), op.global_symbol.data, op.callable_type)
        doc.line(f"{op.sym_name.data} = {text}", op)
    else:
        raise UnsupportedError(f"{op.name} has no form in TVMScript", expected="a module, relax.func or tir.func")


def _near_underlines(lines: list[str], context: int) -> list[str]:
    """Return only the lines around underlined ones, unless `context` is negative."""
    marks = [i for i, text in enumerate(lines) if text and not text.strip(" ^")]
    if context < 0 or not marks:
        return lines
    kept = sorted({j for i in marks for j in range(max(0, i - 1 - context), min(len(lines), i + context + 1))})
    out: list[str] = []
    previous = -1
    for i in [*kept, len(lines)]:
        if i - previous > 1:
            out.append(f"(... {i - previous - 1} lines skipped ...)")
        out += lines[i : i + 1]
        previous = i
    return out


def _lines_of(ops: Sequence[Operation]) -> set[Operation]:
    """Return the ops, and for expressions and unnamed leaves also the ops on whose lines they print."""
    printed: set[Operation] = set()
    stack = list(ops)
    while stack:
        op = stack.pop()
        if op not in printed:
            printed.add(op)
            inline = type(op) in EXPRESSIONS or (isinstance(op, INLINE) and op.results[0].name_hint is None)
            stack.extend(use.operation for use in (op.results[0].uses if inline else ()))
    return printed
