"""The rows of the harness: a pass, the branch of it that a program takes, and the program."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

HEAD = "from tvm.script import ir as I\nfrom tvm.script import tir as T\nfrom tvm.script import relax as R\n\n"
FILES = (
    "threads",
    "copies",
    "loops",
    "unrolling",
    "narrowing",
    "branches",
    "reductions",
    "matrix",
    "pipelines",
    "legalization",
    "relax_operators",
    "relax_passes",
)
"""The files of programs, by subject."""


@dataclass(frozen=True)
class Row:
    """A program for one branch of a pass. `reason` tells why the results differ."""

    passes: str
    """The calls of passes in order, by TVM 0.20's names: `tir.UnifyThreadBinding()`."""
    branch: str
    program: str
    """The functions of a module."""
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    reason: str = ""

    @property
    def name(self) -> str:
        return f"{self.passes}: {self.branch}"

    @property
    def source(self) -> str:
        """The program as a file of TVMScript in TVM 0.20's words."""
        body = textwrap.indent(textwrap.dedent(self.program).strip("\n"), "    ")
        return f"{HEAD}@I.ir_module(check_well_formed=False)\nclass Module:\n{body}\n"


def rows(words: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the rows whose names contain all `words`."""
    for name in FILES:
        for row in import_module(f".programs.{name}", __package__).ROWS:
            if all(word in row.name for word in words):
                yield row
