"""The tir dialect: text and verification."""

import io

import pytest
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Block, Region
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from tirax.dialects import tir

PROGRAM = """
tir.func private @mm(
    %A: !tir.buffer<[n, 128], f32>, %B: !tir.buffer<[128, 64], f32>, %C: !tir.buffer<[n, 64], f32>, %q: i64
) handles ["var_A", "b", "c", "q"] attributes {tir.noalias = true} {
  %Y = tir.alloc_buffer : !tir.buffer<[n, 64], f32, scope = "local", align = 128>
  tir.for %i = 0 to n {
    tir.for vectorized %j = 0 to 64 annotations {a = 1 : i64} {
      tir.for %k = 0 to 128 {
        %p = tir.lt %i, %j : i64
        tir.block "Y" (
            %vi = spatial(%i, n), %vj = spatial(%j, 64), %vk = reduce(%k, [0 : i32, 128])
        ) where %p annotations {x = "y"} {
          tir.reads %A[%vi, %vk]
          tir.reads %B[%vk, %vj : 4]
          tir.writes %C[%vi, %vj]
          tir.init {
            %z = tir.const 0.0 : f32
            tir.store %z, %C[%vi, %vj]
          }
          %m = tir.match_buffer %B[%vk : 1, %vj : 4] : !tir.buffer<[1, 4], f32, strides = [s, 1], offset = o>
          %0 = tir.load %A[%vi, %vk] : f32
          %c = tir.load %C[%vi, %vj] : f32
          %2 = tir.add %c, %0 : f32
          tir.store %2, %C[%vi, %vj]
        }
      }
    }
  }
  %n = sym.value n
  %one = tir.const 1 : i64
  %e = tir.add %n, %one : i64
  tir.for parallel %i.0 = 1 for %e {
    %c0 = tir.const true
    tir.if %c0 {
      tir.evaluate %e : i64
    } else {
      tir.assert %c0, "never"
    }
    %s = tir.if_then_else %c0 {
      tir.yield %e : i64
    } else {
      tir.yield %n : i64
    }
    %l = tir.let %s : i64 -> i64
    %r = tir.ramp %l, %one : i64, i64 -> vector<4xi64>
    %f = tir.const 1.0 : f32
    %b = tir.broadcast %f : f32 -> vector<4xf32>
    %sel = tir.select %c0, %n, %e : i64
    %not = tir.not %c0 : i1 -> i1
    tir.while {
      %stop = tir.const false
      tir.yield %stop : i1
    } do {
      tir.evaluate %s : i64
    }
    tir.attr "pragma" %e {
      %h = tir.buffer_data %Y
      %d = tir.decl_buffer %h : !tir.buffer<[4], f32>
      %str = tir.string "text"
      %x = tir.call_extern "f"(%h, %str) : i32
      tir.evaluate %x : i32
    }
  }
  tir.for thread_binding("threadIdx.x") %t = 0 to 4 : i32 {
    %x = tir.call_intrin "exp"(%t) : f32
    %y = tir.cast %x : f32 -> bf16
    %w = tir.reinterpret %x : f32 -> i32
    %k = tir.alloc_const <f32 [2] [1.0, 2.0]>
  }
}
"""


def test_custom_and_generic_form_round_trip(parse):
    module = parse(PROGRAM)
    module.verify()
    text = str(module)
    assert str(parse(text)) == text
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    assert str(parse(stream.getvalue())) == text


def test_the_loop_variable_has_the_type_of_the_extent(parse):
    module = parse("tir.func @f() { tir.for %i = 0 to 4 : i32 { tir.evaluate %i : i32 } }")
    loop = next(op for op in module.walk() if isinstance(op, tir.ForOp))
    assert str(loop.loop_var.type) == "i32"


def test_bounds(parse):
    module = parse("tir.func @f() { tir.for %i = 2 to 9 { } tir.for %j = 2 for 7 { } }")
    loops = [op for op in module.walk() if isinstance(op, tir.ForOp)]
    assert [loop.extent.constant for loop in loops] == [7, 7]


HEAD = "tir.func @f(%X: !tir.buffer<[4, 4], f32>, %i: i64, %j: i32, %v: f32)"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%x = tir.load %X[%i] : f32", "1 indices into a buffer of rank 2"),
        ("tir.store %i, %X[%i, %i]", "store of i64 into elements of f32"),
        ("%x = tir.load %X[%i, %v] : f32", "index must be an integer"),
        ("%x = tir.select %i, %i, %i : i64", "condition must be i1"),
        ("%x = tir.not %i : i64 -> i32", "i64 expected .* got i32"),
        ('tir.block "b" (%vi = spatial(%i, 4)) { tir.reads %X[%vi] }', "1 indices"),
        ("tir.while { tir.yield %i : i64 } do { }", "tir.yield of an i1"),
        ("%c = tir.broadcast %v : f32 -> vector<4xf32>\n%d = tir.cast %c : vector<4xf32> -> i32", "changes the lanes"),
    ],
)
def test_verifiers_refuse(parse, body, message):
    with pytest.raises(VerifyException, match=message):
        parse(f"{HEAD} {{ {body} }}").verify()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%x = tir.add %i, %j : i64", None),
        ("%x = tir.add %i, %i : i32", "operands are of i64, not i32"),
        ("%x = tir.load %i[%i] : f32", "expected a buffer"),
        ("%x = tir.load %X[%i, %i] : f64", "of f32, not f64"),
        ('tir.block "b" (%vi = sideways(%i, 4)) { }', "kind of iterator"),
        ("tir.for %k = %i to %i { }", "number of iterations"),
        ("%b = tir.alloc_buffer : !tir.buffer<[4], f32, stride = [1]>", "a buffer has no 'stride'"),
    ],
)
def test_text_that_does_not_parse_or_verify(parse, body, message):
    with pytest.raises((ParseError, VerifyException), match=message):
        parse(f"{HEAD} {{ {body} }}").verify()


def test_layout():
    buffer = tir.BufferType.of(["n", 4, 8], f32)
    assert [str(s) for s in buffer.layout_strides()] == ["32", "8", "1"]
    assert buffer.with_shape([2]).dims[0].constant == 2


@pytest.mark.parametrize("low, fits", [(2**63 - 4, True), (2**63 - 3, False), (2**63 - 1, False)])
def test_domains_end_within_64_bits(low, fits):
    zero = tir.ConstOp(0, i64)
    body = Region(Block(arg_types=[i64]))
    block = tir.BlockOp("b", [(tir.IterKind.SPATIAL, zero.result, (low, 3))], body)
    if fits:
        block.verify_()
    else:
        with pytest.raises(VerifyException, match="beyond 64 bits"):
            block.verify_()
