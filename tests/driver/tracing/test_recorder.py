"""A trace: its records, what a crash leaves, from lines of the source to assembly, several programs."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.driver import tracing
from tirax.driver.build import build
from tirax.driver.pipelines import PIPELINES
from tirax.driver.tracing.file import records
from tirax.ir.passes.transform import Pass, PassContext
from tirax.script import parse_source

from .conftest import MATMUL, RELU, SOURCE, TARGET, traced

KERNEL = "kernel.fused_matmul_relu"
ENTRY = "entry_main"
"""LLVM puts the kernel into it."""


def test_every_pass_is_a_record_in_order(small):
    passes = small.of("pass")
    assert [r["name"] for r in passes] == list(PIPELINES["default-cpu"])
    assert [r["n"] for r in passes] == list(range(len(passes)))
    assert all(r["ms"] >= 0 for r in passes)
    assert small.records[-1]["t"] == "end"


def test_a_text_is_written_once_and_before_it_is_named(small):
    seen: set[int] = set()
    for record in small.records:
        if record["t"] == "text":
            assert record["i"] not in seen
            seen.add(record["i"])
        elif record["t"] in ("pass", "level"):
            assert {i for i in record["texts"].values() if i is not None} <= seen
    contents = [(t["s"], str(t["p"]), str(t.get("l"))) for t in small.texts.values()]
    assert len(set(contents)) == len(contents)


def test_what_passes_changed_is_the_full_program(small):
    """Replayed, the changes are the functions of the end: nothing is forgotten, and what went is gone."""
    state: dict[str, int] = {}
    for record in [*small.of("texts"), *small.of("pass")]:
        for name, text in record["texts"].items():
            state.pop(name, None) if text is None else state.update({name: text})
    assert set(state) == {"entry_main", KERNEL}
    assert all("llvm." in small.texts[i]["s"] for i in state.values())


def test_levels(small):
    assert "R.call_tir(fused_matmul_relu, (x, w)" in small.level("relax")["main"]["s"]
    assert "T.max(" in small.level("tir")[KERNEL]["s"]
    assert "T.vectorized(" in small.level("scheduled")[KERNEL]["s"]
    assert "vector.load" in small.level("scf")[KERNEL]["s"]
    assert small.level("llvm")[KERNEL]["s"].startswith("define internal i32 @kernel.fused_matmul_relu(")
    assert "vfmadd" in small.level("assembly")[ENTRY]["s"]


@pytest.mark.parametrize("level", ["tir", "scheduled", "scf", "llvm"])
def test_lines_of_a_kernel_come_from_the_lines_of_the_source(small, level):
    text = small.level(level)[KERNEL]
    lines = text["s"].split("\n")
    assert len(text["p"]) == len(lines)
    origins = [small.lines_from(place) for place in text["p"]]
    assert {line for origin in origins for line in origin} == {MATMUL, RELU}
    known = [origin for origin, line in zip(origins, lines, strict=True) if line.strip()]
    assert sum(map(bool, known)) > 0.4 * len(known)


def test_statements_are_distinguished_down_to_instructions(small):
    """Products are of the line of the matmul, the maximum with zero of that of the relu."""
    text = small.level("assembly")[ENTRY]
    of = [(line.split()[0], small.lines_from(p)) for line, p in zip(text["s"].split("\n"), text["p"], strict=True)]
    products = [origin for name, origin in of if name.startswith("vfmadd")]
    assert products and all(origin == {MATMUL} for origin in products)
    stored = [
        o
        for (name, o), line in zip(of, text["s"].split("\n"), strict=True)
        if name == "vmovups" and "ymm" in line.split(",")[0]
    ]
    assert {RELU} in stored


def test_assembly_names_lines_of_the_llvm_text(small):
    assembly = small.level("assembly")[ENTRY]
    llvm = {name: text["s"].split("\n") for name, text in small.level("llvm").items()}
    lines = [
        (line, at if isinstance(at, list) else [ENTRY, at])
        for line, at in zip(assembly["s"].split("\n"), assembly["l"], strict=True)
        if at is not None
    ]
    assert {name for _, (name, _) in lines} == {KERNEL, ENTRY}
    pairs = [(line, llvm[name][at]) for line, (name, at) in lines]
    assert all("fma" in text or "fmul" in text or "fadd" in text for line, text in pairs if "vfmadd" in line)
    assert any(text.lstrip().startswith("ret") for line, text in pairs if line.split()[0] == "retq")


def test_schedule_decisions(small):
    (decision,) = small.of("schedule")
    assert decision["f"] == KERNEL and not decision["given"]
    assert 'sched.rule "register_tiles" on "matmul" then "compute"' in decision["rules"][0]
    assert any("'dot_products' does not fit the block 'matmul'" in why for why in decision["why"])


@dataclass(frozen=True)
class Crash(Pass):
    name = "crash"

    def apply(self, ctx, op):
        raise ValueError("</script><script>alert(1)</script>")


def test_a_crash_leaves_the_trace_up_to_it(tmp_path):
    with pytest.raises(ValueError, match="alert"):
        traced(tmp_path / "t.html", pipeline=["legalize-ops", Crash()])
    text = (tmp_path / "t.html").read_text()
    *_, last = events = records(text)
    assert [r["name"] for r in events if r["t"] == "pass"] == ["legalize-ops"]
    assert [r["name"] for r in events if r["t"] == "begin"][-1] == "crash"
    assert (
        last["t"] == "error" and "ValueError: </script>" in last["message"] and "in the pass crash" in last["message"]
    )
    assert "<script>alert" not in text


def test_any_program_by_the_environment(tmp_path):
    """Two programs in one file; the process ends in a pass of the second one as it does by a fault in native code."""
    program = f"""
import os
import numpy as np
from tirax.driver.build import build
from tirax.script import parse_source
module = parse_source({SOURCE!r}, "model.py")
main = build(module, {TARGET!r})["main"]
x, w = np.ones((4, 24), "float32"), np.ones((24, 16), "float32")
assert all((main(x, w) == 24).all() for _ in range(8))
build(module, {TARGET!r}, pipeline=["legalize-ops", lambda module: os._exit(9)])
"""
    variables = os.environ | {"TIRAX_TRACE": str(tmp_path / "trace-%p.html")}
    assert subprocess.run([sys.executable, "-c", program], env=variables).returncode == 9
    (path,) = tmp_path.iterdir()
    events = records(path.read_text())
    assert [r["title"] for r in events if r["t"] == "program"] == ["program 1", "program 2"]
    assert [r["p"] for r in events if r["t"] == "end"] == [0]
    times = [r for r in events if r["t"] == "profile"]
    assert 1 <= len(times) <= 5 and {(r["p"], r["function"], r["sizes"]) for r in times} == {
        (0, "main", "[4, 24], [24, 16]")
    }
    assert [r["seconds"] for r in times] == sorted((r["seconds"] for r in times), reverse=True)
    assert (events[-1]["p"], events[-1]["t"], events[-1]["name"]) == (1, "pass", "legalize-ops")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(TiraxError, match="cannot write"):
        traced(tmp_path / "nowhere" / "t.html")


def test_the_program_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    module = parse_source(SOURCE, "model.py")
    plain = build(module, TARGET)
    with tracing.trace(str(tmp_path / "t.html")):
        assert build(module, TARGET).code == plain.code
    x, w = np.ones((4, 24), np.float32), np.eye(24, 16, dtype=np.float32)
    np.testing.assert_array_equal(plain["main"](x, w), x @ w)


def test_nothing_is_there_where_it_is_off(monkeypatch):
    """No recorder and no instrument: passes run as they do anyway, and kernels are looked up by the module itself."""
    monkeypatch.delenv(tracing.VARIABLE, raising=False)
    monkeypatch.setattr(tracing, "_traced", lambda path: pytest.fail("a trace was begun"))
    seen: list[object] = []

    def look(module):
        seen.append(PassContext.current().instruments)
        return module

    build(parse_source(SOURCE, "model.py"), TARGET, pipeline=["legalize-ops", look])
    assert seen == [[]]
