"""The recorder of one program: a pass instrument that also sees the steps after the passes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Operation

from ...diagnostics import TiraxError, shown_name, source_text
from ...dialects import relax, tir
from ...dialects.sched import SequenceOp
from ...ir.passes.transform import PassInfo, module_op
from ...ir.verification.snapshot import Snapshot
from ...lowering.llvm_text import print_llvm
from ...lowering.machine import LLVMError
from ...runtime.profiling.report import Report
from ...schedule.cpu.analysis.plan import Machine
from ...schedule.cpu.policy.default_schedule import planned
from ...target import Target
from ...transforms.tir.walk import functions, is_scheduled
from .assembly import assembly_of, function_lines
from .file import TraceFile, packed
from .graph import graph_of
from .places import Accesses, accesses, is_placed, settle, stamp
from .texts import text_of

_logger = logging.getLogger("tirax.schedule")


def decisions_of(module: ModuleOp, target: Target) -> Iterator[dict[str, Any]]:
    """Yield for each function `f` its `rules`, as `plan-schedule` writes them, and `why`, the remarks of the rules
    tried.

    `given` is true if the schedule is the user's: then nothing is decided.
    """
    machine = Machine.of(target)
    there = {op.function_name: op for op in module.body.block.ops if isinstance(op, SequenceOp)}
    for function in functions(module):
        name = function.sym_name.data
        if is_scheduled(function) or name in there:
            rules = [str(rule) for rule in there[name].rules] if name in there else []
            yield {"f": name, "rules": rules, "why": [], "given": True}
        else:
            with _captured_remarks() as why:
                rules = [str(rule) for rule in planned(function, machine).rules]
            yield {"f": name, "rules": rules, "why": why, "given": False}


class _List(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def _captured_remarks() -> Generator[list[str]]:
    """Capture the remarks of schedule rules, without passing them to other log handlers."""
    handler, others = _List(), list(_logger.handlers)
    level, propagate = _logger.level, _logger.propagate
    _logger.handlers, _logger.propagate = [handler], False
    _logger.setLevel(logging.DEBUG)
    try:
        yield handler.messages
    finally:
        _logger.handlers, _logger.propagate = others, propagate
        _logger.setLevel(level)


LEVELS: dict[str, tuple[str, tuple[type[Operation], ...]]] = {
    "lift-closures": ("relax", (relax.FuncOp,)),
    "default-schedule": ("tir", (tir.FuncOp,)),
    "lower-init-block": ("scheduled", (tir.FuncOp,)),
    "expand-math": ("scf", (func.FuncOp,)),
}
"""The passes before which a level is complete, and the kinds of functions that belong to it."""
_PREFIX = "kernel."


class Recorder:
    """Writes the records of one program into a trace; the program's errors are passed on unchanged."""

    def __init__(self, file: TraceFile, number: int = 0, title: str = ""):
        self._file = file
        self._number = number
        self._target: Target = Target.host()
        self._opt_level = 3
        self._depth = 0
        self._ended = False
        self._begun = False
        self._thread = threading.get_ident()
        self._passes = 0
        self._part = 0
        self._before_parts: int | None = None
        self._began = 0.0
        self._state: dict[str, int] = {}
        self._in_module: set[str] = set()
        self._snapshots: dict[int, Snapshot] = {}
        self._accesses: dict[str, Accesses] = {}
        self._places: dict[tuple[str, int], int] = {}
        self._texts: dict[str, int] = {}
        self._sources: set[str] = set()
        self._add("program", title=title)

    def check(self, number: int, status: str, text: str) -> None:
        """Record the comparison before and after pass `number` (from 0): `same`, `changed`, or `unknown`."""
        self._add("check", n=number, status=status, text=text)

    def profile(self, report: Report, sizes: str = "") -> None:
        """Record the profile of a call of the executable; `sizes` describes its inputs."""
        rows, calls = ([asdict(row) for row in rows] for rows in (report.rows, report.by_call))
        self._add("profile", function=report.function, seconds=report.seconds, sizes=sizes, rows=rows, calls=calls)

    # -- what a build tells --------------------------------------------------------------------------------------------

    def begin(self, module: ModuleOp) -> None:
        """Record the program as it was passed in."""
        self._begun = True
        for function in _functions(module).values():
            ops = list(function.walk())
            if not any(is_placed(op) for op in ops if op is not function):
                stamp(_name(function), text_of(function))
        self._add("texts", n=-1, texts=self._changes(module))
        self._graph("imported", module)

    def begin_build(self, module: ModuleOp, target: Target, opt_level: int) -> None:
        """Record the program as passes begin, unless some have run already."""
        if not self._watches():
            return
        self._target, self._opt_level = target, opt_level
        self._add("target", text=target.text, cpu=target.cpu)
        if not self._begun:
            self.begin(module)

    def run_before_pass(self, mod: Any, info: PassInfo) -> None:
        """Record the begin of a pass."""
        self._depth += 1
        if not self._watches(1):
            return
        module = module_op(mod)
        if not self._begun:
            self.begin(module)
        level = LEVELS.get(info.name)
        if level is not None:
            self._level(*level, module)
        if info.name == "default-schedule":
            for decision in decisions_of(module, self._target):
                self._add("schedule", n=self._passes, **decision)
        self._add("begin", n=self._passes, part=self._part, name=info.name)
        self._began = time.perf_counter()

    def _level(self, level: str, kinds: tuple[type[Operation], ...], module: ModuleOp) -> None:
        functions = {n: f for n, f in _functions(module).items() if isinstance(f, kinds)}
        self._add("level", name=level, texts={n: self._state[n] for n in functions if n in self._state})
        if level == "relax":
            self._graph("compiled", module)

    def run_after_pass(self, mod: Any, info: PassInfo) -> None:
        """Record the end of a pass."""
        if self._watches(1):
            milliseconds = (time.perf_counter() - self._began) * 1e3
            module = module_op(mod)
            texts = self._changes(module)
            fields = {"ms": round(milliseconds, 3), "texts": texts}
            self._add("pass", n=self._passes, part=self._part, name=info.name, **fields)
            self._passes += 1
        self._depth -= 1

    def begin_part(self, module: ModuleOp) -> None:
        """Begin a part: further passes run on a part of the module, after those that ran on all of it."""
        if not self._watches():
            return
        if self._before_parts is None:
            self._before_parts = self._passes
        else:
            self._part += 1
        self._passes = self._before_parts
        self._in_module = set(_functions(module))

    def lowered(self, module: ModuleOp) -> None:
        """Record a module in the llvm dialect, as passed to LLVM."""
        if not self._watches():
            return
        placed: dict[int, Operation] = {}
        text = print_llvm(module, placed)
        lines = text.split("\n")
        places = [self._place(placed[at]) if at in placed else None for at in range(len(lines))]
        functions = function_lines(text)
        self._add("level", name="llvm", texts=dict(self._sliced(lines, places, functions)))
        self._add("begin", n=self._passes, part=self._part, name="assembly")
        try:
            self._add("level", name="assembly", texts=dict(self._assembly(text, places, functions)))
        except LLVMError as error:
            self._add("error", message=str(error))

    def _sliced(
        self, lines: list[str], places: list[int | None], functions: Mapping[str, range]
    ) -> Iterator[tuple[str, int]]:
        for name, span in functions.items():
            cut = slice(span.start, span.stop)
            yield name, self._text("\n".join(lines[cut]), places[cut])

    def _assembly(
        self, text: str, places: list[int | None], functions: Mapping[str, range]
    ) -> Iterator[tuple[str, int]]:
        owners = {line: (name, line - span.start) for name, span in functions.items() for line in span}
        for name, lines in assembly_of(text, self._target, self._opt_level).items():
            at = [owners.get(line) if line is not None else None for _, line in lines]
            where = [None if line is None else places[line] for _, line in lines]
            text_lines = [None if owner is None else owner[1] if owner[0] == name else owner for owner in at]
            yield name, self._text("\n".join(text for text, _ in lines), where, text_lines)

    def failed(self, error: BaseException) -> None:
        """Record that the program does not compile."""
        if not self._ended:
            message = str(error) if isinstance(error, TiraxError) else f"{type(error).__name__}: {error}"
            notes = [] if isinstance(error, TiraxError) else list(getattr(error, "__notes__", ()))
            self._add("error", message="\n".join([message, *notes]))
            self._ended = True

    def end_build(self) -> None:
        """Record the end of the build: passes that run later in the same context are not part of it."""
        if not self._ended:
            self._add("end")
            self._ended = True
            self._snapshots.clear()

    # -- records -------------------------------------------------------------------------------------------------------

    def _watches(self, depth: int = 0) -> bool:
        """Return whether the program is compiling, and this is neither nested in one of its passes nor on
        another thread.
        """
        return not self._ended and self._depth == depth and threading.get_ident() == self._thread

    def _add(self, kind: str, **fields: Any) -> None:
        self._file.add(kind, p=self._number, **fields)

    def _changes(self, module: ModuleOp) -> dict[str, int | None]:
        """Return the texts of the functions that changed; None for those that were removed."""
        functions = _functions(module)
        kept = {id(f): snapshot for f in functions.values() if (snapshot := self._snapshots.get(id(f))) is not None}
        changed: dict[str, int | None] = dict.fromkeys(self._in_module - functions.keys())
        for name, function in functions.items():
            snapshot = kept.get(id(function))
            if snapshot is None or name not in self._state or not snapshot.holds():
                kept[id(function)] = Snapshot(function)
                changed[name] = self._function(name, function)
        self._snapshots, self._in_module = kept, set(functions)
        for name, text in list(changed.items()):
            if text is not None and self._state.get(name) == text:
                del changed[name]
            elif text is not None:
                self._state[name] = text
            else:
                self._state.pop(name, None)
        return changed

    def _function(self, name: str, function: Operation) -> int:
        ops, key = list(function.walk()), name.removeprefix(_PREFIX)
        if isinstance(function, tir.FuncOp) and not any(map(is_placed, ops)):
            stamp(name, text_of(function))
            self._calls(name, function)
        known = self._accesses.get(key, {})
        settle(ops, known)
        self._accesses[key] = accesses(ops, known)
        text = text_of(function)
        places: list[set[int]] = [set() for _ in range(text.text.count("\n") + 1)]
        for op, line in text.lines_of_all.items():
            place = self._place(op)
            if place is not None and op is not function:
                places[line].add(place)
        return self._text(text.text, [_short(p) for p in places])

    def _calls(self, name: str, function: Operation) -> None:
        """Record the locations of the calls of a function that the compiler created: its lines come from there."""
        module = function.parent_op()
        calls = [] if module is None else [op for op in module.walk() if _callee(op) == name]
        places = {place for op in calls if (place := self._place(op)) is not None}
        self._add("calls", of=name, places=sorted(places))

    def _place(self, op: Operation) -> int | None:
        """Return the number of an operation's location, which is written when it occurs first."""
        where = op.location
        if not isinstance(where, FileLineColLoc):
            return None
        key = where.filename.data, where.line.data
        number = self._places.get(key)
        if number is None:
            number = self._places[key] = len(self._places)
            self._source(key[0])
            self._add("place", i=number, file=shown_name(key[0]), line=key[1])
        return number

    def _source(self, file: str) -> None:
        if file not in self._sources:
            self._sources.add(file)
            text = source_text(file)
            if text is not None:
                self._add("source", file=shown_name(file), z=packed({"s": text}))

    def _text(self, text: str, places: Sequence[Any], lines: Sequence[Any] | None = None) -> int:
        """Return the number of a text, which is written when it is new.

        `places` has the locations of each line; `lines` the lines of LLVM text that those of assembly come from: lines
        of the same function, or (function, line) if LLVM has inlined another one.
        """
        content = packed({"s": text, "p": list(places)} | ({} if lines is None else {"l": list(lines)}))
        number = self._texts.get(content)
        if number is None:
            number = self._texts[content] = len(self._texts)
            self._add("text", i=number, z=content)
        return number

    def _graph(self, name: str, module: ModuleOp) -> None:
        for function in _functions(module).values():
            if isinstance(function, relax.FuncOp):
                nodes = graph_of(function, self._place)
                self._add("graph", name=name, f=_name(function), z=packed(nodes))


def _short(places: set[int]) -> int | list[int] | None:
    """Return a single number instead of a list of one; None for none."""
    return (sorted(places) if len(places) > 1 else next(iter(places))) if places else None


def _functions(module: ModuleOp) -> dict[str, Operation]:
    """Return the functions that a module defines, with a body and a name."""
    ops = [op for op in module.body.block.ops if op.regions and op.regions[0].first_block is not None]
    return {_name(op): op for op in ops if "sym_name" in op.properties}


def _name(function: Operation) -> str:
    return getattr(function.properties["sym_name"], "data", "")


def _callee(op: Operation) -> str | None:
    callee = op.properties.get("callee")
    return getattr(getattr(callee, "root_reference", None), "data", None)
