"""Examples of operations: for each, the shortest one in docs/reference/examples."""

from __future__ import annotations

from functools import cache
from io import StringIO
from pathlib import Path

from xdsl.ir import Operation
from xdsl.printer import Printer

from ...script import parse_mlir

FILES = Path(__file__).resolve().parents[2] / "docs" / "reference" / "examples"


@cache
def _texts() -> dict[str, str]:
    shortest: dict[str, str] = {}
    for path in sorted(FILES.glob("*.mlir")):
        for op in parse_mlir(path.read_text(encoding="utf-8"), str(path)).walk():
            text = _text(op)
            if len(text) < len(shortest.get(op.name, text + " ")):
                shortest[op.name] = text
    return shortest


def _text(op: Operation) -> str:
    """Return an operation as printed, with the types of its operands above it if its own text lacks them."""
    stream = StringIO()
    Printer(stream).print_op(op)
    names = [f"%{v.name_hint}: {v.type}" for v in dict.fromkeys(op.operands) if v.name_hint]
    typed = names and not op.regions and not op.name.startswith("sched.")
    return (f"// {', '.join(names)}\n" if typed else "") + stream.getvalue().strip()


def example(name: str) -> str | None:
    """Return an example of the operation `name`, None if no file has one."""
    return _texts().get(name)
