"""Texts read again and again: what is read is what the parsers read, and only what changed is read again."""

from __future__ import annotations

import textwrap

import pytest

from tirax.ir.equality import structural_equal
from tirax.script import parse_mlir, parse_source
from tirax.tools.lsp.mlir_reader import MlirReader
from tirax.tools.lsp.script_reader import ScriptReader

SCRIPT = """\
from tvm.script import ir as I, relax as R, tir as T
SIZE = 4
@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(SIZE):
            with T.block("Y"):
                vi = T.axis.spatial(SIZE, i)
                Y[vi] = X[vi] * T.float32(2)
    @R.function
    def twice(x: R.Tensor((4,), "float32")):
        y = R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = Module.twice(x)
        z = R.add(y, y)
        return z
"""
MLIR = """\
// a comment with a { brace
builtin.module attributes {a = 1 : i64} {
  relax.func @f(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> attributes {b = {c = 1 : i64}} {
    %y = relax.exp %x : !relax.tensor<[n, 4], f32>
    relax.return %y : !relax.tensor<[n, 4], f32>
  }

  relax.func @g(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
    %y = relax.call @f(%x) : !relax.tensor<[n, 4], f32>
    relax.return %y : !relax.tensor<[n, 4], f32>
  }
}
"""


def ops(reading):
    return {p.name: p.op for p in reading.pieces}


def texts(reading):
    return [(p.place.line, p.text.split("\n")[0]) for p in reading.problems()]


@pytest.fixture
def script():
    return ScriptReader("typed.py")


@pytest.fixture
def mlir():
    return MlirReader("typed.mlir")


def test_a_program_is_what_the_parser_reads(script, mlir):
    assert structural_equal(script.read(SCRIPT).modules["Module"], parse_source(SCRIPT))
    assert structural_equal(mlir.read(MLIR).modules["0"], parse_mlir(MLIR))
    assert mlir.read(MLIR).modules["0"].attributes == parse_mlir(MLIR).attributes


def test_only_what_changed_is_read_again(script, mlir):
    before = ops(script.read(SCRIPT))
    after = ops(script.read(SCRIPT.replace("R.add(y, y)", "R.exp(y)")))
    assert {name for name in before if before[name] is not after[name]} == {"main"}
    before = ops(mlir.read(MLIR))
    after = ops(mlir.read(MLIR.replace("relax.exp", "relax.log")))
    assert {name for name in before if before[name] is not after[name]} == {"f"}


def test_callers_are_read_again_where_a_signature_changes(script):
    script.read(SCRIPT)
    text = SCRIPT.replace("out_sinfo=R.Tensor((4,)", "out_sinfo=R.Tensor((5,)")
    reading = script.read(text)
    binding = reading.binding("z", 17, 8)
    assert binding is not None and binding.type == 'R.Tensor((5,), dtype="float32")'


def test_constants_of_the_file_are_looked_at(script):
    script.read(SCRIPT)
    reading = script.read(SCRIPT.replace("SIZE = 4", "SIZE = 3"))
    assert "extent" not in texts(reading) and "3" in str(reading.pieces[0].op)


def test_errors_move_with_their_functions(script, mlir):
    wrong = SCRIPT.replace("R.add(y, y)", "R.ad(y, y)")
    ((line, text),) = texts(script.read(wrong))
    assert (line, text) == (17, "R has no 'ad'")
    ((moved, _),) = texts(script.read(wrong.replace("@I.ir", "\n\n@I.ir")))
    assert moved == 19
    wrong = MLIR.replace("%y = relax.exp %x", "%y = relax.exp %z")
    ((line, _),) = texts(mlir.read(wrong))
    ((moved, _),) = texts(mlir.read("\n" + wrong))
    assert (line, moved) == (3, 4)


def test_all_problems_are_reported_and_no_consequences(script):
    text = SCRIPT.replace("X[vi] *", "W[vi] *").replace(
        '"float32")):\n        y = Module', '"float32"), m: int):\n        y = Module'
    )
    reading = script.read(text)
    assert [text for _, text in texts(reading)] == ["undefined name 'W'", "struct info is expected"]
    assert not reading.modules and reading.function("twice").op is not None


@pytest.mark.parametrize("text", ["", "\n", "// a comment", "  // one\n\n// two {"])
def test_there_may_be_nothing_but_comments(mlir, text):
    assert not texts(mlir.read(text))
    function = "relax.func @f(%x: !relax.object) -> !relax.object {\n  relax.return %x : !relax.object\n}\n"
    reading = mlir.read(f"{text}\n{function}{text}\n")
    assert not texts(reading) and [p.name for p in reading.pieces] == ["f"]


def test_what_is_no_function_is_read_with_those_around_it(mlir):
    text = MLIR.replace("\n  relax.func @g", "\n  func.func private @far(i32) -> i32\n  relax.func @g")
    assert [p.name for p in mlir.read(text).pieces] == ["f", "far", "g"] and not texts(mlir.read(text))
    text = f"%one = arith.constant 1 : i32\n{text.replace('%y = relax.exp %x', '%y = relax.exp %z')}"
    reading = mlir.read(text)
    assert [p.name for p in reading.pieces] == [""] and [line for line, _ in texts(reading)] == [4]


def test_each_ill_formed_function_is_reported(mlir):
    text = MLIR.replace("-> !relax.tensor<[n, 4], f32>", "-> !relax.tensor<[n, 5], f32>")
    assert [line for line, _ in texts(mlir.read(text))] == [2, 7]


def test_programs_of_a_file(script, mlir):
    text = SCRIPT + textwrap.dedent("""
        @I.ir_module
        class Other:
            @R.function
            def main(x: R.Tensor((4,), "float32")):
                return alone(x)
        @R.function
        def alone(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x
        """)
    reading = script.read(text)
    assert not texts(reading) and sorted(reading.modules) == ["", "Module", "Other"]
    assert [p.name for p in reading.pieces] == ["double", "twice", "main", "main", "alone"]
    assert structural_equal(reading.modules["Other"], parse_source(text, program="Other"))
    reading = mlir.read(f"{MLIR}// -----\n{MLIR}// -----\n%x = arith.constant 1 : i32")
    assert sorted(reading.modules) == ["0", "1", "2"] and len(reading.pieces) == 5


@pytest.mark.parametrize(
    "statement, message",
    [
        ("y = R.exp(x", "this is not Python"),
        ("y = = x", "this is not Python"),
        ("with R.dataflow(", "this is not Python"),
        ("if c:", "this is not Python"),
        ("y = R.foo(x)", "R has no 'foo'"),
        ("y = R.matmul(x, q)", "undefined name 'q'"),
    ],
)
def test_a_wrong_statement_hides_no_other_function(script, statement, message):
    text = SCRIPT.replace("z = R.add(y, y)", statement)
    reading = script.read(text)
    assert {text.split("\n")[17].strip() for line, text in [(17, text)]} == {statement}
    assert any(message in reported for _, reported in texts(reading))
    assert {"double", "twice"} <= {p.name for p in reading.pieces if p.op is not None}
