"""Functions as text with the lines of operations, and places for operations that have none."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, UnknownLoc

from tirax.driver.tracing.places import accesses, is_placed, own_file, settle, stamp
from tirax.driver.tracing.texts import text_of
from tirax.ir.functions.lookup import functions
from tirax.script import parse_source

SOURCE = """from tvm.script import tir as T

@T.prim_func
def twice(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("b"):
            vi = T.axis.spatial(8, i)
            b[vi] = a[vi] * T.float32(2)
"""


def twice():
    return functions(parse_source(SOURCE, "twice.py"))["twice"]


def test_script_lines():
    function = twice()
    text = text_of(function)
    lines = text.text.split("\n")
    assert lines[1].startswith("def twice(")
    by_line = {}
    for op, line in text.lines_of_all.items():
        by_line.setdefault(lines[line].strip(), set()).add(op.name)
    assert by_line["b[vi] = a[vi] * T.float32(2.0)"] >= {"tir.store", "tir.mul", "tir.load", "tir.const"}
    assert set(text.lines_of_all) == set(function.walk())


def test_mlir_lines_of_what_has_no_script():
    function = twice()
    function.properties["sym_name"] = type(function.sym_name)("kernel.class")
    function.sym_visibility = None
    text = text_of(function)
    assert text.text.startswith("tir.func")
    store = next(op for op in function.walk() if op.name == "tir.store")
    assert "tir.store" in text.text.split("\n")[text.lines[store]]


def test_settle_asks_users_operands_and_buffers():
    function = twice()
    ops = list(function.walk())
    known = accesses(ops, {})
    assert set(known) == {("tir.load", "a"), ("tir.store", "b")}
    store = next(op for op in ops if op.name == "tir.store")
    line = store.location.line
    for op in ops[1:]:
        op.location = UnknownLoc()
    settle(ops, known)
    assert all(is_placed(op) for op in ops)
    assert {op.name for op in ops[1:] if op.location.line == line} >= {"tir.store", "tir.mul", "tir.const", "tir.for"}


def test_what_the_compiler_wrote_comes_from_its_own_text():
    function = twice()
    for op in function.walk():
        op.location = UnknownLoc()
    stamp("twice", text_of(function))
    store = next(op for op in function.walk() if op.name == "tir.store")
    assert isinstance(store.location, FileLineColLoc)
    assert store.location.filename.data == own_file("twice")
