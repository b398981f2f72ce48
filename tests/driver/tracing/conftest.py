"""One small program, traced."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from tirax.driver.build import build
from tirax.driver.tracing import trace
from tirax.driver.tracing.file import records, unpacked
from tirax.script import parse_source

SOURCE = """from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 24), "float32"), w: R.Tensor((24, 16), "float32")):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z
"""
MATMUL, RELU = 10, 11
"""The lines of the operators, from 1."""
TARGET = "llvm -mcpu=x86-64-v3 -num-cores=1"


@dataclass
class Trace:
    """The records of a trace's file."""

    html: str
    path: Path
    states: dict[str, int] = field(default_factory=dict)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        return records(self.html)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [r for r in self.records if r["t"] == kind]

    @cached_property
    def texts(self) -> dict[int, dict[str, Any]]:
        return {r["i"]: unpacked(r["z"]) for r in self.of("text")}

    def level(self, name: str) -> dict[str, dict[str, Any]]:
        """The texts of a level by function."""
        return {f: self.texts[i] for r in self.of("level") if r["name"] == name for f, i in r["texts"].items()}

    def lines_from(self, place: int | list[int] | None) -> set[int]:
        """The lines of the source that a line with these places comes from."""
        places, calls = {r["i"]: r for r in self.of("place")}, {f"<@{r['of']}>": r["places"] for r in self.of("calls")}
        values: set[int] = set()
        for number in [] if place is None else place if isinstance(place, list) else [place]:
            file, line = places[number]["file"], places[number]["line"]
            values |= {line} if file == "model.py" else self.lines_from(calls.get(file, []))
        return values


def traced(path: Path, source: str = SOURCE, name: str = "model.py", **options: Any) -> Trace:
    """The trace of a program that is built."""
    with trace(str(path), name):
        build(parse_source(source, name), TARGET, **options)
    return Trace(path.read_text(), path)


@pytest.fixture(scope="package")
def small(tmp_path_factory) -> Trace:
    """The trace of `SOURCE`."""
    return traced(tmp_path_factory.mktemp("trace") / "small.html")
