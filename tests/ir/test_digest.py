"""Programs have one digest where they are the same, also as copies and in another process; all that is said counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import FloatAttr, IntAttr, IntegerAttr, StringAttr, UnitAttr, f32, f64, i32, i64

from tirax.dialects import tir
from tirax.dialects.names import set_name
from tirax.dialects.sym import SymAttr
from tirax.ir.digest import digest
from tirax.script.mlir_text import parse_mlir

PROGRAM = """
builtin.module {
  tir.func private @scale(%X: !tir.buffer<[n, 4], f32>, %Y: !tir.buffer<[n, 4], f32>, %n: i64) {
    tir.for %i = 0 for n {
      tir.for %j = 0 for 4 {
        %0 = tir.load %X[%i, %j] : f32
        %1 = tir.const 2.0 : f32
        %2 = tir.mul %0, %1 : f32
        tir.store %2, %Y[%i, %j]
      }
    }
  }
  func.func private @other(i64, i64) -> i64
  func.func private @another(i64, i64) -> i64
  func.func @caller(%a: i64, %b: i64) -> i64 {
    %c = arith.cmpi slt, %a, %b : i64
    cf.cond_br %c, ^one(%a : i64), ^two(%b : i64)
  ^one(%x: i64):
    %d = func.call @other(%x, %b) : (i64, i64) -> i64
    func.return %d : i64
  ^two(%y: i64):
    func.return %y : i64
  }
}
"""


def of(text):
    return digest(parse_mlir(text).ops)


def test_the_same_program_has_the_same_digest():
    module = parse_mlir(PROGRAM)
    assert digest(module.ops) == digest(module.clone().ops) == of(PROGRAM) == of(str(module))
    assert of(PROGRAM.replace("\n", "\n\n")) == of(PROGRAM)  # places do not count


def test_it_is_the_same_in_another_process():
    command = [sys.executable, "-c", "import test_digest as t; print(t.of(t.PROGRAM).hex())"]
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout.strip() == of(PROGRAM).hex()


CHANGES = [
    ("2.0", "3.0"),  # a constant
    ("tir.mul", "tir.add"),  # an operation
    ("%2 = tir.mul %0, %1", "%2 = tir.mul %1, %0"),  # operands
    ("%X[%i, %j]", "%X[%j, %i]"),
    ("for 4", "for 3"),  # a symbolic expression
    ("for n", "for n - 1"),
    ("[n, 4], f32>, %n", "[n, 5], f32>, %n"),  # a type
    ("%X", "%Z"),  # what a parameter is called
    ("@scale", "@scaled"),  # the name of a function
    ("call @other", "call @another"),  # a callee
    ("slt", "sle"),  # an attribute
    ("^one(%a : i64), ^two(%b : i64)", "^one(%b : i64), ^two(%b : i64)"),  # what a branch hands over
    ("^one(%a : i64), ^two(%b : i64)", "^two(%a : i64), ^one(%b : i64)"),  # where it goes
    ("tir.func private", "tir.func"),  # visibility
    ("  func.func private @another(i64, i64) -> i64\n", ""),  # a function
]


@pytest.mark.parametrize(("before", "after"), CHANGES, ids=[f"{b} -> {a}" for b, a in CHANGES])
def test_another_program_has_another_digest(before, after):
    assert before in PROGRAM
    assert of(PROGRAM.replace(before, after)) != of(PROGRAM)


ATTRIBUTES = [
    *(FloatAttr(number, f32) for number in (0.0, -0.0, 1.0, 1.0000001, float("inf"), float("nan"))),
    *(FloatAttr(0.0, f64), IntegerAttr(1, i32), IntegerAttr(1, i64), IntegerAttr(2, i64)),
    *(StringAttr("a"), StringAttr("a\n"), StringAttr('"'), StringAttr("1"), UnitAttr()),
    *(SymAttr.of(1), SymAttr.of(1, i32), SymAttr.of("n"), SymAttr.of("m")),
]


def test_every_attribute_is_another():
    """0.0 and -0.0, numbers of different types, text and numbers."""
    by_name = {}
    for value in ATTRIBUTES:
        op = tir.ConstOp(1, i64)
        op.attributes["said"] = value
        assert digest([op]) == digest([op.clone()])
        by_name.setdefault(digest([op]), value)
    assert list(by_name.values()) == ATTRIBUTES


def test_two_attributes_of_one_program_are_not_mixed_up():
    """Equal to Python, of different text, in one program: each is read by itself."""
    one, true = IntAttr(1), IntAttr(True)
    assert one == true

    def program(*values):
        ops = [tir.ConstOp(1, i64) for _ in values]
        for op, value in zip(ops, values, strict=True):
            op.attributes["said"] = value
        return digest(ops)

    assert len({program(a, b) for a in (one, true) for b in (one, true)}) == 4


def test_the_place_of_an_attribute_counts():
    ops = [tir.ConstOp(1, i64) for _ in range(4)]
    ops[1].attributes["said"] = UnitAttr()
    ops[2].properties["said"] = UnitAttr()
    ops[3].attributes["Said"] = UnitAttr()
    assert len({digest([op]) for op in ops}) == 4


def test_names_count_and_so_does_the_order():
    named = tir.ConstOp(1, i64)
    set_name(named.result, "v")
    other = tir.ConstOp(1, i64)
    set_name(other.result, "w")
    plain = tir.ConstOp(1, i64)
    both = [named.clone(), other.clone()]
    digests = {digest([op]) for op in (named, other, plain)} | {digest(both), digest(both[::-1])}
    assert len(digests) == 5


def test_empty_programs():
    text = "builtin.module {\n  func.func @f() {\n    func.return\n  }\n}"
    assert digest([]) == of("builtin.module {\n}") != of(text)
