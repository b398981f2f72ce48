"""Functions as text, with the operations that each line comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import StringIO

from xdsl.ir import Operation
from xdsl.printer import Printer

from ...diagnostics import TiraxError
from ...dialects import relax, tir
from ...dialects.relax.data import elided_contents

_ELIDED = 256
"""Bytes above which the contents of constants are elided."""
_MARK = "# \0"


@dataclass(frozen=True)
class Text:
    """The text of a function; `lines` maps each operation that begins a line to that line (from 0)."""

    text: str
    lines: Mapping[Operation, int]

    @cached_property
    def lines_of_all(self) -> dict[Operation, int]:
        """Return the line of every operation; a part of an expression has the line of its statement."""
        lines = dict(self.lines)
        root = next(iter(lines), None)
        ops = [] if root is None else list(root.walk())
        for op in reversed(ops):
            if op not in lines:
                users = (use.operation for result in op.results for use in result.uses)
                line = next((lines[user] for user in users if user in lines), None)
                lines |= {} if line is None else {op: line}
        for op in ops:
            if op not in lines and op.parent_op() in lines:
                lines[op] = lines[op.parent_op()]  # type: ignore[index]
        return lines


def text_of(function: Operation) -> Text:
    """Return TVMScript if a relax or tir function can be printed that way, else MLIR."""
    if isinstance(function, relax.FuncOp | tir.FuncOp):
        try:
            return _script(function)
        except TiraxError:  # lowered code, or its name, may have no form in TVMScript
            return _mlir(function)
    return _mlir(function)


class _Remarks(Mapping[Operation, str]):
    """Prints a remark before each line, with the number of the operation that the line comes from."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []

    def __getitem__(self, op: Operation) -> str:
        self.ops.append(op)
        return f"\0{len(self.ops) - 1}"

    def __contains__(self, op: object) -> bool:
        return True

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Operation]:
        return iter(self.ops)


def _script(function: relax.FuncOp | tir.FuncOp) -> Text:
    from ...script.printer import print_script

    remarks = _Remarks()
    with elided_contents(_ELIDED):
        text = print_script(function, obj_to_annotate=remarks, show_meta=False)
    name = f"def {function.sym_name.data}("  # a private function on its own prints without its name
    kept: list[str] = []
    lines: dict[Operation, int] = {}
    for line in text.split("\n"):
        stripped = line.lstrip()
        if stripped.startswith(_MARK):
            lines.setdefault(remarks.ops[int(stripped.removeprefix(_MARK))], len(kept))
        elif kept or stripped.startswith("@"):  # after the imports
            kept.append(line.replace("def main(", name, 1) if line.startswith("def main(") else line)
    return Text("\n".join(kept), _from(function, lines))


class _Lines(StringIO):
    line = 0

    def write(self, text: str, /) -> int:
        self.line += text.count("\n")
        return super().write(text)


class _Printer(Printer):
    def __init__(self, stream: _Lines):
        super().__init__(stream)
        self.counted = stream
        self.lines: dict[Operation, int] = {}

    def print_op(self, op: Operation) -> None:
        self.lines[op] = self.counted.line
        super().print_op(op)


def _mlir(function: Operation) -> Text:
    printer = _Printer(_Lines())
    with elided_contents(_ELIDED):
        printer.print_op(function)
    return Text(printer.counted.getvalue(), _from(function, printer.lines))


def _from(function: Operation, lines: Mapping[Operation, int]) -> dict[Operation, int]:
    """Return the lines, with that of the function itself first."""
    return {function: lines.get(function, 0), **lines}
