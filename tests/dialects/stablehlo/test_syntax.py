"""The custom text of StableHLO: what JAX prints is read, printed generically, and read again as the same."""

from __future__ import annotations

import pytest

from tirax.script import parse_mlir

# custom text of an operation -> what its generic text has
OPERATIONS = {
    "%r = stablehlo.add %a, %a : tensor<4x4xf32>": '"stablehlo.add"(%0, %0)',
    "%r = stablehlo.abs %a {x = 1 : i32} : tensor<4x4xf32>": "{x = 1 : i32}",
    "%r = stablehlo.exponential %a {result_accuracy = #stablehlo.result_accuracy<atol = 1.0, rtol = 0.0, ulps = 0, "
    "mode = #stablehlo.result_accuracy_mode<DEFAULT>>} : tensor<4x4xf32>": "mode = #stablehlo.result_accuracy_mode",
    "%r = stablehlo.convert %a : (tensor<4x4xf32>) -> tensor<4x4xi32>": "(tensor<4x4xf32>) -> tensor<4x4xi32>",
    "%r = stablehlo.compare GE, %a, %a, TOTALORDER : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>": (
        "compare_type = #stablehlo.comparison_type<TOTALORDER>"
    ),
    "%r = stablehlo.complex %a, %a : tensor<4x4xcomplex<f32>>": "(tensor<4x4xf32>, tensor<4x4xf32>)",
    "%r = stablehlo.select %p, %a, %a : tensor<4x4xi1>, tensor<4x4xf32>": "(tensor<4x4xi1>, tensor<4x4xf32>, ",
    "%r = stablehlo.iota dim = 1 : tensor<4xi32>": "iota_dimension = 1",
    "%r = stablehlo.slice %a [0:4:2, 1:3] : (tensor<4x4xf32>) -> tensor<2x2xf32>": "strides = array<i64: 2, 1>",
    "%r = stablehlo.pad %a, %s, low = [1, -1], high = [0, 0], interior = [0, 2] : (tensor<4x4xf32>, tensor<f32>) -> "
    "tensor<5x9xf32>": "edge_padding_low = array<i64: 1, -1>",
    "%r = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>": "permutation = array<i64: 1",
    "%r = stablehlo.reverse %a, dims = [0] : tensor<4x4xf32>": "dimensions = array<i64: 0>",
    "%r = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, "
    "HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>": "lhs_batching_dimensions = array<i64: 0>",
    "%r = stablehlo.convolution(%i, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2"
    "], pad = [[1, 1], [0, 0]], lhs_dilate = [1, 2], reverse = [true, false]} {batch_group_count = 1 : i64, "
    "feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x4xf32>) -> tensor<1x4x7x4xf32>": (
        "#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>"
    ),
    "%r = stablehlo.reduce_precision %a, format = e8m7 : tensor<4x4xf32>": "mantissa_bits = 7",
    "%r = stablehlo.fft %a, type = RFFT, length = [4] : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>": "fft_type",
    "%q, %r = stablehlo.rng_bit_generator %u, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, "
    "tensor<4xui32>)": "#stablehlo.rng_algorithm<THREE_FRY>",
    "%r = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>": "lower = true",
    '%r = stablehlo.custom_call @f(%a) {backend_config = ""} : (tensor<4x4xf32>) -> tensor<4x4xf32>': (
        'call_target_name = "f"'
    ),
    "%q, %r = chlo.top_k(%a, k = 2) : tensor<4x4xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)": "k = 2",
    "%r = chlo.erf %a : tensor<4x4xf32> -> tensor<4x4xf32>": '"chlo.erf"',
    "%r = stablehlo.reduce(%a init: %s) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>)"
    " -> tensor<4xf32>": '"stablehlo.return"',
    "%r:2 = stablehlo.reduce(%a init: %s), (%a init: %s) across dimensions = [1] : (tensor<4x4xf32>, tensor<4x4xf32>, "
    "tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)\n reducer(%x: tensor<f32>, %y: tensor<f32>) "
    "(%z: tensor<f32>, %w: tensor<f32>) {\n stablehlo.return %y, %z : tensor<f32>, tensor<f32>\n}": "^bb0",
    "%r = stablehlo.while(%x = %s) : tensor<f32> cond {\n %c = stablehlo.constant dense<true> : tensor<i1>\n "
    "stablehlo.return %c : tensor<i1>\n} do {\n stablehlo.return %x : tensor<f32>\n}": '"stablehlo.while"',
    "%r = stablehlo.constant dense<0xFF800000> : tensor<f32>": "dense<0xff800000>",
    "%r = stablehlo.constant dense<(0x7FC00000, 1.5)> : tensor<2xcomplex<f32>>": "1.5",
    "%r = stablehlo.uniform_quantize %a : (tensor<4x4xf32>) -> tensor<4x4x!quant.uniform<i8:f32, 0.5:-3>>": "0.5:-3",
    "%r = stablehlo.optimization_barrier %a, %s : tensor<4x4xf32>, tensor<f32>": "tensor<4x4xf32>, tensor<f32>)",
}
ARGUMENTS = (
    "%a: tensor<4x4xf32>, %s: tensor<f32>, %p: tensor<4x4xi1>, %u: tensor<2xui64>, %i: tensor<1x8x8x3xf32>, "
    "%k: tensor<3x3x3x4xf32>"
)


@pytest.mark.parametrize("text", OPERATIONS, ids=lambda text: text.split("= ")[1].split(" ")[0])
def test_the_text_is_read_and_printed(text: str) -> None:
    if text.startswith("%r = stablehlo.optimization"):
        text = text.replace("%r", "%r:2", 1)
    printed = str(parse_mlir(f"func.func @f({ARGUMENTS}) {{\n{text}\nreturn\n}}"))
    key = text.replace("%r:2 = stablehlo.opt", "%r = stablehlo.opt", 1)
    assert OPERATIONS[key].replace("(%0, %0)", "(%a, %a)") in printed
    assert str(parse_mlir(printed)) == printed


def test_locations_may_be_used_before_they_are_defined() -> None:
    text = """#loc = loc(unknown)
func.func @f(%a: tensor<4xf32> loc("x")) -> tensor<4xf32> {
  %r = stablehlo.negate %a : tensor<4xf32> loc(#loc3)
  return %r : tensor<4xf32> loc(callsite(#loc3 at "f (x)":1:2))
} loc(#loc)
#loc3 = loc("a.py":1:2 to :4)
"""
    assert "stablehlo.negate" in str(parse_mlir(text))
