"""Extents that inference can only assume to be equal are compared when the program runs, before any kernel."""

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.ir import Block

from tirax.diagnostics import ShapeError
from tirax.dialects.relax import OPERATORS, TensorType
from tirax.dialects.sym.expr import Var
from tirax.driver.build import build
from tirax.transforms.legalize import LegalizeOps
from tirax.transforms.legalize.legalize_rules import RULES, Emit
from tirax.tvm_api import topi


def tensor(*shape):
    return TensorType.of(shape, f32)


CASES = [
    ("matmul", "relax.matmul %x, %y", ["n", "k"], ["l", 4], ["n", 4], (2, 3), (5, 4)),
    ("conv1d", "relax.nn.conv1d %x, %y", [1, "c", 8], [4, "k", 3], [1, 4, 6], (1, 2, 8), (4, 3, 3)),
    ("stack", "relax.stack (%x, %y)", ["n", 2], ["m", 2], [2, "n", 2], (3, 2), (9, 2)),
    ("concat", "relax.concat (%x, %y)", [2, "n"], [3, "m"], [5, "n"], (2, 3), (3, 9)),
    (
        "cross_entropy",
        "relax.nn.cross_entropy_with_logits %x, %y",
        ["n", 3],
        ["m", 3],
        [],
        (4, 3),
        (1, 3),
    ),
    ("ewise_fma", "relax.ewise_fma %x, %y, %y", ["n"], ["m"], ["n"], (8,), (2,)),
]


def text(shape):
    return f"!relax.tensor<[{', '.join(map(str, shape))}], f32>"


@pytest.mark.parametrize(("name", "call", "x", "y", "out", "first", "second"), CASES, ids=[c[0] for c in CASES])
def test_extents_that_differ_are_refused_at_run_time(parse, name, call, x, y, out, first, second):
    program = f"""relax.func @main(%x: {text(x)}, %y: {text(y)}) -> {text(out)} {{
      %r = {call} : {text(out)}
      relax.return %r : {text(out)} }}"""
    executable = build(parse(program))
    with pytest.raises(ShapeError):
        executable["main"](np.ones(first, "float32"), np.ones(second, "float32"))


def test_what_an_operator_assumes():
    x, y = Block(arg_types=[tensor("n", "k"), tensor("l", 4)]).args
    assert OPERATORS["relax.matmul"].make(x, y).assumptions() == [(Var("k"), Var("l"))]
    same = Block(arg_types=[tensor("n", "k"), tensor("k", 4)]).args
    assert OPERATORS["relax.matmul"].make(*same).assumptions() == []


EXP = """relax.func @main(%x: !relax.tensor<[n, m, 4], f32>) -> !relax.tensor<[n, m, 4], f32> {
  %r = relax.exp %x : !relax.tensor<[n, m, 4], f32>
  relax.return %r : !relax.tensor<[n, m, 4], f32> }"""


@pytest.mark.parametrize(
    "compute", [lambda x: topi.transpose(x, [1, 0, 2]), lambda x: [topi.exp(x), topi.exp(x)]], ids=["swapped", "two"]
)
def test_a_rule_computes_symbolic_extents_and_tensors_as_inferred(parse, monkeypatch, compute):
    monkeypatch.setitem(RULES._entries, "relax.exp", lambda op: Emit(compute, tuple(op.args), "exp"))
    with pytest.raises(ShapeError, match="relax.exp does not give what the operator infers"):
        LegalizeOps()(parse(EXP))
