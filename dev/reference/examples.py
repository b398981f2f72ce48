"""An example of each operation: the shortest one in docs/reference/examples."""

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
    """An operation as it is printed; the types of its operands above it, where nothing around it says them."""
    stream = StringIO()
    Printer(stream).print_op(op)
    names = [f"%{v.name_hint}: {v.type}" for v in dict.fromkeys(op.operands) if v.name_hint]
    typed = names and not op.regions and not op.name.startswith("sched.")
    return (f"// {', '.join(names)}\n" if typed else "") + stream.getvalue().strip()


def example(name: str) -> str | None:
    """The text of the operation `name`, None where no file has one."""
    return _texts().get(name)
