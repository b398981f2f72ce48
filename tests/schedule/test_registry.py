"""Primitives that are declared from outside: by their signature, once, and under a name of their own."""

from collections.abc import Sequence

import pytest

from tirax.diagnostics import TiraxError
from tirax.dialects import tir
from tirax.dialects.sched import INSTRUCTIONS, OPS, Result
from tirax.schedule import Schedule
from tirax.schedule.registry import PRIMITIVES, new_primitive
from tirax.schedule.state import State


@pytest.fixture(autouse=True)
def _tables():
    tables = (INSTRUCTIONS, OPS, PRIMITIVES._entries)
    before = [dict(table) for table in tables]
    yield
    for table, rows in zip(tables, before, strict=True):
        table.clear()
        table.update(rows)


def test_the_signature_says_what_is_a_handle_and_what_a_constant():
    @new_primitive
    def probe_tile(
        state: State, loop: tir.ForOp, name: str, sizes: Sequence[int], back: bool = False
    ) -> list[tir.ForOp]:
        return []

    spec = INSTRUCTIONS["probe_tile"]
    assert (spec.kind, spec.inputs, spec.attrs, spec.result) == (
        "ProbeTile", ("loop", "sizes"), ("name", "back"), Result.LOOPS
    )  # fmt: skip
    assert spec.params == ("loop", "name", "sizes", "back")
    assert OPS["probe_tile"].name == "sched.probe_tile"


def test_a_name_of_the_dialect_is_refused():
    def split(state: State, loop: tir.ForOp) -> None:
        raise AssertionError

    before = PRIMITIVES["split"]
    with pytest.raises(TiraxError, match="has an instruction split already"):
        new_primitive(split)
    assert PRIMITIVES["split"] is before


def test_a_result_that_is_no_handle_is_refused():
    def probe_text(state: State, loop: tir.ForOp) -> str:
        return ""

    with pytest.raises(TiraxError, match="probe_text: what does it give"):
        new_primitive(probe_text)
    assert "probe_text" not in INSTRUCTIONS


def test_what_no_plug_in_brings_is_no_attribute():
    with pytest.raises(AttributeError, match="a schedule has no 'no_such_step'"):
        Schedule.on(None).no_such_step()  # pyright: ignore[reportArgumentType]
    with pytest.raises(TiraxError, match="unknown primitive"):
        Schedule.on(None).step("no_such_step", {})  # pyright: ignore[reportArgumentType]
