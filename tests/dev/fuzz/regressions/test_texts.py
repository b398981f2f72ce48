"""Found by the fuzzers of texts: each case is refused, or comes back from its text."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.utils.exceptions import DiagnosticException

from tirax.dev.fuzz import checks
from tirax.dev.fuzz.kinds import KINDS
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.driver.pipelines import make_passes
from tirax.interpreter import interpret
from tirax.ir.equality import structural_equal
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_source, print_script
from tirax.script.metadata import CONSTANT_KEY, MetadataError, decode_metadata, encode_metadata
from tirax.script.mlir_text import parse_mlir

SCRIPT = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        T.func_attr({"some": 1e400, "less": -1e400})
        A = T.match_buffer(a, (4,))
        MATCH
        B = T.match_buffer(b, (4,))
        C = T.alloc_buffer((2,))
        B[0] = T.float32(1)
        D = T.alloc_buffer((2,))
        with T.block("E"):
            T.writes(B[1])
            B[1] = T.float32(2)
            E = T.alloc_buffer((2,))
            F = T.match_buffer(A[0:2], (2,))
"""
TWICE = """
tir.func @main(%A: !tir.buffer<[4], f32>, %B: !tir.buffer<[4], f32>) attributes {tir.noalias, some} {
  tir.for %i = 0 to 4 {
    %0 = tir.const 1 : i64
    %1 = tir.ge %i, %0 : i64
    %2 = tir.const 0.0 : f32
    %3 = tir.if_then_else %1 {
      %4 = tir.sub %i, %0 : i64
      %5 = tir.load %A[%4] : f32
      tir.yield %5 : f32
    } else {
      tir.yield %2 : f32
    }
    tir.store %3, %B[%i]
    tir.store %3, %B[%i]
  }
}
"""


@pytest.mark.parametrize("match", ["A = T.match_buffer(a, (4,))", "G = T.match_buffer(A[1:3], (2,))"])
def test_buffers_of_a_block_are_the_same_wherever_they_stand(match: str) -> None:
    checks.texts(parse_source(SCRIPT.replace("MATCH", match)))


def test_an_expression_with_regions_that_is_used_twice_comes_back() -> None:
    module = parse_mlir(TWICE)
    checks.texts(module)
    for old, new in (("%A[%4]", "%A[%i]"), ("tir.sub", "tir.add"), ("%i, %0 : i64\n    %2", "%0, %i : i64\n    %2")):
        assert not structural_equal(module, parse_mlir(TWICE.replace(old, new)))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%i = 0 to 4", "%i = -9223372036854775808 to n", "9223372036854775808 does not fit 64 bits"),
        ("0 to 4", "0 to n + 9223372036854775807 + 1", "9223372036854775808 does not fit 64 bits"),
        ("0 to 4", "9223372036854775807 for 4", "a loop ends beyond 64 bits"),
        ("0 to 4", "0 to n * 3  2", "Expected '{'|expected"),
        ("0 to 4", "0 to tir.call_intrin", "'tir.call_intrin' is no name of a variable"),
        ("0 to 4", "0 to lambda", "'lambda' is no name of a variable"),
        ("0 to 4", "0 to true", "'true' is no name of a variable"),
        ("tir.ge %i, %0 : i64", 'tir.call_intrin "sin#"(%i) : i1', "'sin#' is no name of an intrinsic"),
    ],
)
def test_numbers_and_names_that_no_text_can_hold_are_reported(old: str, new: str, message: str) -> None:
    with pytest.raises((TiraxError, DiagnosticException), match=message):
        verify_module(parse_mlir(TWICE.replace(old, new)))


SIZES = """
from tvm.script import tir as T
@T.prim_func
def main(a: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "int64")
    for i in range(n):
        A[i] = STORED
"""


@pytest.mark.parametrize(
    "stored",
    ["T.Add(n, T.int64(0))", "T.Mul(n, T.int64(1))", "T.Mul(n, T.int64(0))", "T.FloorDiv(n, T.int64(1))", "n"],
)
def test_what_the_arithmetic_of_sizes_would_fold_comes_back(stored: str) -> None:
    module = parse_source(SIZES.replace("STORED", stored))
    assert print_script(module).endswith(f"= {stored}")
    checks.texts(module)


def test_a_sum_beyond_64_bits_is_reported_where_it_is_written() -> None:
    with pytest.raises(TiraxError, match="9223372036854775808 does not fit 64 bits") as error:
        parse_source(SIZES.replace("STORED", "n - T.int64(-9223372036854775808)"))
    assert error.value.location is not None


def test_names_of_attributes_that_no_text_can_hold_are_reported() -> None:
    with pytest.raises(TiraxError, match="names of attributes are of ASCII") as error:
        parse_source(SCRIPT.replace("MATCH", "pass").replace('"some"', '"someé"'))
    assert "'someé'" in str(error.value)


def test_a_function_without_a_name_has_no_script() -> None:
    module = parse_mlir(TWICE.replace("@main", '@""'))
    assert not checks.has_script(module) and checks.has_script(parse_mlir(TWICE))
    checks.texts(module, script=False)


@pytest.mark.parametrize("bounds", ["-9223372036854775808 for n", "n - 9223372036854775808 for 4"])
def test_loops_that_begin_at_the_least_number_come_back(bounds: str) -> None:
    checks.texts(parse_mlir(TWICE.replace("0 to 4", bounds)))


@pytest.mark.parametrize("shape", ["[1e400]", "[2.5]", "[-1, -2]", '["2"]'])
def test_shapes_of_metadata_are_integers(shape: str) -> None:
    text = encode_metadata({CONSTANT_KEY: []})[:-2] + '{"dtype": "float32", "shape": SHAPE, "data": "AAAAAAAAAAA="}]}'
    assert decode_metadata(text.replace("SHAPE", "[2]"))
    with pytest.raises(MetadataError, match="must have dtype, shape and data"):
        decode_metadata(text.replace("SHAPE", shape))


T = "!relax.tensor<[n, 4], f32>"
EXP = f"relax.func @main(%x: {T}) -> {T} {{\n  %lv = relax.exp %x : {T}\n  relax.return %lv : {T}\n}}"


def test_what_is_below_the_interpreter_is_reported() -> None:
    module = parse_mlir(EXP)
    for p in make_passes(("legalize-ops", "lower-relax-calls")):
        module = p(module)
    with pytest.raises(UnsupportedError, match=r"(?s)interpreting this program.*host\."):
        interpret(module, "main", [np.ones((2, 4), "f4")])


def test_passes_down_to_the_host_compare_what_can_be() -> None:
    text = f"// legalize-ops,lower-relax-calls,plan-memory,gradient,convert-host-to-func,dead-code-elimination\n{EXP}"
    assert KINDS["passes"].check(text) > 0
