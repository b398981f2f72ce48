"""Code actions that run a pass on the program at the cursor, as edits of its text, function by function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.universe import XDSL_UNIVERSE

from ...diagnostics import TiraxError
from ...dialects import tir
from ...ir.functions.lookup import symbol_of
from ...ir.passes.transform import naming_pass, no_gc
from ...ir.verification.verify import verify_module
from ...script import print_script
from ...script.mlir_text import reading_context
from ...universe import TIRAX_UNIVERSE, full_universe, pass_names
from ..specs import make_pass, parse_specs
from .queries import SCRIPT, Text
from .reading import Piece

KIND = "refactor.rewrite.tirax"
"""The prefix of the kind of these actions, followed by the name of the pass: editors bind keys to kinds."""


@dataclass(frozen=True)
class Edit:
    """A replacement of the lines from `first` to before `end`."""

    first: int
    end: int
    lines: tuple[str, ...]


def passes_at(text: Text, line: int) -> list[str]:
    """Return the passes for the function at a line: those on tensor functions or on Relax, and all of plug-ins."""
    piece = text.reading.piece_at(line)
    if piece is None or piece.program not in text.reading.modules:
        return []
    known = full_universe().all_passes
    plugins = sorted(known.keys() - TIRAX_UNIVERSE.all_passes.keys() - XDSL_UNIVERSE.all_passes.keys())
    return [*plugins, *pass_names(of_tir=isinstance(piece.op, tir.FuncOp))]


def run_pass(text: Text, line: int, spec: str) -> list[Edit]:
    """Run a pass (`name` or `name{option=value}`) on the program at a line; return the edits. Raises `TiraxError`."""
    piece = text.reading.piece_at(line)
    module = None if piece is None else text.reading.modules.get(piece.program)
    if piece is None or module is None:
        raise TiraxError("no pass can run here", expected="a function of a program without errors")
    after = module.clone()
    with no_gc():
        for p in (make_pass(s, full_universe().all_passes) for s in parse_specs(spec, "pass")):
            with naming_pass(p):
                p.apply(reading_context(), after)
            verify_module(after, after=p.name)
    pieces = [p for p in text.reading.pieces if p.program == piece.program]
    return _edits(text, pieces, module, after)


def _edits(text: Text, pieces: Sequence[Piece], before: ModuleOp, after: ModuleOp) -> list[Edit]:
    """Return an edit for each changed function; new functions are added after the last one."""
    if not pieces[0].name:
        return [Edit(pieces[0].first, pieces[0].last + 1, tuple(str(after).split("\n")))]
    old, new = _functions(before), _functions(after)
    same = {name for name, op in new.items() if name in old and str(op) == str(old[name])}
    edits = [
        Edit(p.first, p.last + 1, _printed(text, p, after, new[p.name]) if p.name in new else ())
        for p in pieces
        if p.name not in same
    ]
    last = pieces[-1]
    more = [line for name, op in new.items() if name not in old for line in ("", *_printed(text, last, after, op))]
    return [*edits, Edit(last.last + 1, last.last + 1, tuple(more))] if more else edits


def _functions(module: ModuleOp) -> dict[str, Operation]:
    return {name: op for op in module.body.block.ops if (name := symbol_of(op)) is not None}


def _printed(text: Text, piece: Piece, module: ModuleOp, op: Operation) -> tuple[str, ...]:
    """Return the lines of a function, indented like `piece`. Raises `TiraxError`."""
    first = piece.lines[0]
    indent = first[: len(first) - len(first.lstrip())]
    if text.language == SCRIPT:
        lines = _script_lines(piece, module, op)
    else:
        lines = str(op).split("\n")
    return tuple(indent + line if line else line for line in lines)


def _script_lines(piece: Piece, module: ModuleOp, op: Operation) -> list[str]:
    if piece.program:
        lines = print_script(module, name=piece.program, only=[op]).split("\n")
    elif len(_functions(module)) == 1:
        lines = print_script(op).split("\n")
    else:
        message = "the pass works on a module of several functions"
        raise TiraxError(message, hint="put the functions into a class with @I.ir_module")
    if any("metadata[" in line for line in lines):
        raise TiraxError("a function has a constant that is not a TVMScript literal", hint="tirax-opt writes MLIR")
    start = next(i for i, line in enumerate(lines) if line.lstrip().startswith(("@R.", "@T.")))
    width = len(lines[start]) - len(lines[start].lstrip())
    return [line[width:] for line in lines[start:]]
