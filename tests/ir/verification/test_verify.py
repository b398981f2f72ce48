"""Verification of modules: dominance, calls, locations."""

import pytest

from tirax.diagnostics import VerifyError
from tirax.dialects import relax
from tirax.ir.verification.verify import check_dominance, verify_module

T = "!relax.tensor<[4], f32>"
GOOD = f"""
tir.func private @k(%a: !tir.buffer<[4], f32>, %b: !tir.buffer<[4], f32>) {{ }}
relax.func @g(%x: {T}) -> {T} {{ relax.return %x : {T} }}
relax.func @f(%x: {T}) -> {T} {{
  %y = relax.call_tir @k(%x) : {T}
  %z = relax.call @g(%y) : {T}
  relax.return %z : {T}
}}
"""


def test_a_good_module(parse):
    verify_module(parse(GOOD))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("call_tir @k(%x)", "call_tir @kk(%x)", "@kk, which is not in the module.*\n.*did you mean 'k'"),
        ("call_tir @k(%x)", "call_tir @k(%x, %x)", "wrong number of arguments"),
        ("call_tir @k(%x)", "call_tir @g(%x)", "expected: a tir.func"),
        ("call @g(%y)", "call @g(%y, %y)", "wrong number of arguments"),
        ("call @g(%y)", "call @k(%y)", "gives something else\n.*expected: tuple<>"),
        ("relax.func @g", "relax.func @k", "Redefinition of symbol"),
    ],
)
def test_calls(parse, old, new, message):
    with pytest.raises(VerifyError, match=message):
        verify_module(parse(GOOD.replace(old, new)))


def test_a_use_before_its_definition(parse):
    module = parse(GOOD)
    ops = [op for op in module.walk() if isinstance(op, relax.CallOp | relax.CallTIROp)]
    first, second = ops
    second.detach()
    first.parent.insert_op_before(second, first)
    with pytest.raises(VerifyError, match="relax.call uses y where it is not defined"):
        verify_module(module)


def test_a_value_of_another_function(parse):
    module = parse(GOOD)
    calls = [op for op in module.walk() if isinstance(op, relax.CallTIROp)]
    g = next(f for f in module.ops if isinstance(f, relax.FuncOp) and f.sym_name.data == "g")
    calls[0].operands[0] = g.params[0]
    with pytest.raises(VerifyError, match="defined out of its IsolatedFromAbove parent"):
        verify_module(module)


CFG = """
func.func @f(%c: i1, %x: i32) -> i32 {
  cf.cond_br %c, ^a, ^b
^b:
  %z = "test.op"() : () -> i32
  cf.br ^c(%z : i32)
^a:
  %y = "test.op"() : () -> i32
  cf.br ^c(%y : i32)
^c(%r: i32):
  "test.op"(%x, %r) : (i32, i32) -> ()
  func.return %r : i32
}
"""


def parse_cfg(text):
    from xdsl.dialects import cf, func, test
    from xdsl.parser import Parser

    from tirax.ir.passes.transform import new_context

    ctx = new_context()
    for dialect in (cf.Cf, func.Func, test.Test):
        ctx.load_dialect(dialect)
    return Parser(ctx, text).parse_module()


def test_dominance_between_blocks():
    check_dominance(parse_cfg(CFG))
    with pytest.raises(VerifyError, match="uses y"):
        check_dominance(parse_cfg(CFG.replace('"test.op"(%x, %r)', '"test.op"(%y, %r)')))


def test_a_loop_of_blocks():
    text = """
    func.func @f(%c: i1) {
      cf.br ^head
    ^head:
      cf.cond_br %c, ^body, ^exit
    ^body:
      %v = "test.op"() : () -> i32
      cf.br ^head
    ^exit:
      func.return
    }
    """
    check_dominance(parse_cfg(text))
    with pytest.raises(VerifyError, match="uses v"):
        check_dominance(parse_cfg(text.replace("func.return", '"test.op"(%v) : (i32) -> ()\n func.return')))
