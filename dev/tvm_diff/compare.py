"""Comparison of the two implementations, row by row."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ... import tvm_api as tvm
from ...diagnostics import TiraxError
from ...tvm_api.script import from_source
from .rows import HEAD, Row
from .words import nameless, newer, older

AGREED = Path(__file__).with_name("agreed.txt")
"""A line for each row that is the same in both: the digest of its text, and its name."""


@dataclass(frozen=True)
class Outcome:
    """What both give for a row: texts without local names, or errors."""

    row: Row
    ours: str
    theirs: str

    @property
    def digest(self) -> str:
        """What is kept of a row that is the same in both."""
        return digest(self.ours)

    @property
    def same(self) -> bool:
        """True if the texts are equal, or both refuse the program."""
        errors = [text.startswith("error: ") for text in (self.ours, self.theirs)]
        return all(errors) or self.ours == self.theirs


def digest(text: str) -> str:
    """Return twelve digits for a text; all errors are one."""
    return "error" if text.startswith("error: ") else hashlib.sha256(text.encode()).hexdigest()[:12]


def agreed() -> dict[str, str]:
    """Return the digests of the rows that were the same when they were last compared."""
    lines = AGREED.read_text(encoding="utf-8").splitlines()
    return {name: number for number, name in (line.split(" ", 1) for line in lines)}


@dataclass(frozen=True)
class Call:
    """The call of a pass, `tir.Name(…)`, with constants as arguments."""

    room: str
    name: str
    args: list[Any]
    kwargs: dict[str, Any]


def calls(passes: str) -> list[Call]:
    """Return the calls of passes of a row."""
    return [_call(statement) for statement in ast.parse(passes).body]


def _call(statement: ast.stmt) -> Call:
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(room), name), args, keywords)):
            options = {str(k.arg): ast.literal_eval(k.value) for k in keywords}
            return Call(room, name, [ast.literal_eval(a) for a in args], options)
        case _:
            raise TiraxError("a row names passes", expected="tir.Name(…)", found=ast.unparse(statement))


def ours(row: Row) -> str:
    """Return what tirax gives for a row: the text in TVM 0.20's words, or the error."""
    try:
        module = from_source(row.source)
        with tvm.transform.PassContext(opt_level=3, config=row.config):
            for call in calls(row.passes):
                applied = getattr(getattr(tvm, call.room).transform, call.name)
                module = applied(*call.args, **call.kwargs)(module)
        return module.script()
    except (TiraxError, ValueError, TypeError, AttributeError) as error:
        return f"error: {type(error).__name__}: {error}"


def theirs(table: Sequence[Row], python: str = sys.executable) -> Iterator[str]:
    """Yield what TVM gives for each row, in TVM 0.20's words; `python` has Apache TVM."""
    lines = [
        json.dumps(
            {"source": newer(row.source), "passes": [asdict(c) for c in calls(row.passes)], "config": row.config}
        )
        for row in table
    ]
    command = [python, str(Path(__file__).with_name("theirs.py"))]
    while lines:
        ran = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
        answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
        for answer in answers:
            yield older(answer["text"]) if "text" in answer else f"error: {answer['error']}"
        del lines[: len(answers)]
        if lines:  # a crash of TVM is its answer to one row
            yield "error: TVM's process ended"
            del lines[0]


def plain(text: str) -> str:
    """Return a text without the names of local variables."""
    return text if text.startswith("error: ") else nameless(text)


def _reprinted(text: str) -> str:
    """Return a text of TVM as tirax prints it, where it reads it: what versions of TVM write differently is equal."""
    try:
        return from_source(HEAD + text).script()
    except (TiraxError, ValueError, TypeError, AttributeError, SyntaxError):
        return text


def outcomes(table: Sequence[Row], python: str = sys.executable) -> Iterator[Outcome]:
    """Yield both results of each row."""
    for row, text in zip(table, theirs(table, python), strict=True):
        yield Outcome(row, plain(ours(row)), plain(_reprinted(text)))
