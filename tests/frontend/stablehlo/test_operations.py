"""Operations of StableHLO that move, contract, reduce, sort and index, beside numpy: a row a form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strength import crossed, thinned

from tirax.diagnostics import ShapeError, UnsupportedError
from tirax.driver.build import build
from tirax.frontend.stablehlo import from_stablehlo

DRAW = np.random.default_rng(0)
F = DRAW.normal(size=(3, 4, 5)).astype("float32")
M, W = DRAW.normal(size=(4, 5)).astype("float32"), DRAW.normal(size=(5, 6)).astype("float32")
N = DRAW.integers(-9, 9, (4, 5), dtype="int32")
KINDS = {"float32": "f32", "int32": "i32", "bool": "i1", "int64": "i64", "uint32": "ui32", "uint64": "ui64"}


def kind(array: Any) -> str:
    return f"tensor<{''.join(f'{n}x' for n in array.shape)}{KINDS[str(array.dtype)]}>"


def run(body: str, *args: Any, results: int = 1, functions: str = "") -> list[Any]:
    """Run a function whose parameters are %a, %b, … and whose results are %r, or %r#0, …, of the types at `: … ->`."""
    types = [kind(a) for a in args]
    head = ", ".join(f"%{name}: {t}" for name, t in zip("abcde", types, strict=False))
    out = body.rstrip().rpartition("->")[2].strip().removeprefix("(").removesuffix(")")
    names = "%r" if results == 1 else ", ".join(f"%r#{n}" for n in range(results))
    for name, t in zip("abcde", types, strict=False):
        body = body.replace(f"${name}", t)
    text = f"{functions}\nfunc.func @main({head}) -> ({out}) {{\n{body}\nreturn {names} : {out}\n}}"
    made = build(from_stablehlo(text))["main"](*args)
    return [np.asarray(v) for v in (made if isinstance(made, tuple) else (made,))]


# form -> (text, arguments, result)
ROWS: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "broadcast": (
        "%r = stablehlo.broadcast_in_dim %a, dims = [2, 0] : ($a) -> tensor<5x3x4xf32>",
        (M,),
        np.broadcast_to(M.T[:, None], (5, 3, 4)),
    ),
    "transpose": (
        "%r = stablehlo.transpose %a, dims = [2, 0, 1] : ($a) -> tensor<5x3x4xf32>",
        (F,),
        F.transpose(2, 0, 1),
    ),
    "slice": ("%r = stablehlo.slice %a [1:4:2, 0:5:3] : ($a) -> tensor<2x2xf32>", (M,), M[1:4:2, ::3]),
    "reverse": (
        "%r = stablehlo.reverse %a, dims = [0, 2] : tensor<3x4x5xf32>\n// -> tensor<3x4x5xf32>",
        (F,),
        F[::-1, :, ::-1],
    ),
    "concatenate": (
        "%r = stablehlo.concatenate %a, %b, dim = 0 : ($a, $b) -> tensor<8x5xf32>",
        (M, -M),
        np.concatenate([M, -M]),
    ),
    "pad": (
        "%z = stablehlo.constant dense<7.0> : tensor<f32>\n"
        "%r = stablehlo.pad %a, %z, low = [1, -1], high = [-2, 3], interior = [1, 0] : "
        "($a, tensor<f32>) -> tensor<6x7xf32>",
        (M,),
        np.pad(np.insert(M, [1, 2, 3], 7, axis=0), ((1, 0), (0, 3)), constant_values=7)[:6, 1:],
    ),
    "iota": (
        "%r = stablehlo.iota dim = 1 : tensor<2x3xi32>\n// -> tensor<2x3xi32>",
        (),
        np.array([[0, 1, 2]] * 2, "i4"),
    ),
    "bitcast wider": (
        "%r = stablehlo.bitcast_convert %a : ($a) -> tensor<2xui64>",
        (np.array([[1, 2], [3, 4]], "u4"),),
        np.array([[1, 2], [3, 4]], "u4").view("u8")[:, 0],
    ),
    "dot_general": (
        "%r = stablehlo.dot_general %a, %b, batching_dims = [1] x [0], contracting_dims = [2] x [2] : ($a, $b) -> "
        "tensor<4x3x2xf32>",
        (F, F.transpose(1, 0, 2)[:, :2].copy()),
        np.einsum("bmk,mnk->mbn", F, F.transpose(1, 0, 2)[:, :2]),
    ),
    "dot of integers": (
        "%r = stablehlo.dot %a, %b : ($a, $b) -> tensor<4x4xi32>",
        (N, N.T.copy()),
        N @ N.T,
    ),
    "reduce": (
        "%z = stablehlo.constant dense<1.0> : tensor<f32>\n"
        "%r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 2] : ($a, tensor<f32>) -> "
        "tensor<4xf32>",
        (F,),
        F.sum((0, 2)) + 1,
    ),
    "reduce with any function": (
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%r = stablehlo.reduce(%a init: %z) across dimensions = [1] : ($a, tensor<f32>) -> tensor<4xf32>\n"
        "reducer(%x: tensor<f32>, %y: tensor<f32>) {\n%s = stablehlo.multiply %y, %y : tensor<f32>\n"
        "%t = stablehlo.add %x, %s : tensor<f32>\nstablehlo.return %t : tensor<f32>\n}\n// -> tensor<4xf32>",
        (M,),
        (M * M).sum(1),
    ),
    "reduce_window": (
        "%z = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
        '%r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 3>, '
        "window_strides = array<i64: 2, 1>, "
        "padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "%s = stablehlo.maximum %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : ($a, tensor<f32>) -> "
        "tensor<3x3xf32>",
        (M,),
        np.lib.stride_tricks.sliding_window_view(np.pad(M, ((1, 1), (0, 0)), constant_values=-np.inf), (2, 3))[::2].max(
            (2, 3)
        ),
    ),
    "running sum": (
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        '%r = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 4, 1>, '
        "padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
        "%s = stablehlo.add %x, %y : tensor<f32>\nstablehlo.return %s : tensor<f32>\n}) : ($a, tensor<f32>) -> "
        "tensor<4x5xf32>",
        (M,),
        M.cumsum(0),
    ),
    "gather": (
        '%r = "stablehlo.gather"(%a, %b) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
        "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : "
        "($a, $b) -> tensor<3x5xf32>",
        (M, np.array([[2], [9], [-1]], "i4")),
        M[[2, 3, 0]],
    ),
    "scatter": (
        '%r = "stablehlo.scatter"(%a, %b, %c) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
        "index_vector_dim = 1>}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n%s = stablehlo.add %x, %y : tensor<f32>\n"
        "stablehlo.return %s : tensor<f32>\n}) : ($a, $b, $c) -> tensor<4x5xf32>",
        (M, np.array([[1], [1], [7]], "i4"), np.ones((3, 5), "f4")),
        M + np.array([0, 2, 0, 0], "f4")[:, None],
    ),
    "dynamic_slice": (
        "%r = stablehlo.dynamic_slice %a, %b, %c, sizes = [2, 3] : ($a, $b, $c) -> tensor<2x3xf32>",
        (M, np.array(9, "i4"), np.array(-1, "i4")),
        M[2:4, :3],
    ),
    "dynamic_update_slice": (
        "%r = stablehlo.dynamic_update_slice %a, %b, %c, %c : ($a, $b, $c, $c) -> tensor<4x5xf32>",
        (M, np.zeros((2, 2), "f4"), np.array(1, "i4")),
        np.where(np.pad(np.ones((2, 2)), ((1, 1), (1, 2))) > 0, np.float32(0), M),
    ),
    "sort": (
        '%r = "stablehlo.sort"(%a) <{dimension = 1 : i64}> ({\n^bb0(%x: tensor<f32>, %y: tensor<f32>):\n'
        "%u = stablehlo.abs %x : tensor<f32>\n%v = stablehlo.abs %y : tensor<f32>\n"
        "%s = stablehlo.compare LT, %u, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %s : tensor<i1>\n}) : ($a) -> tensor<4x5xf32>",
        (M,),
        np.take_along_axis(M, np.abs(M).argsort(1), 1),
    ),
    "while": (
        "%z = stablehlo.constant dense<0> : tensor<i32>\n%n = stablehlo.constant dense<3> : tensor<i32>\n"
        "%o = stablehlo.constant dense<1> : tensor<i32>\n"
        "%q, %r = stablehlo.while(%i = %z, %x = %a) : tensor<i32>, $a cond {\n"
        "%s = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %s : tensor<i1>\n} do {\n%j = stablehlo.add %i, %o : tensor<i32>\n"
        "%y = stablehlo.add %x, %x : $a\nstablehlo.return %j, %y : tensor<i32>, $a\n}\n// -> tensor<4x5xf32>",
        (M,),
        M * 8,
    ),
    "case": (
        '%r = "stablehlo.case"(%b) ({\nstablehlo.return %a : $a\n}, {\n%s = stablehlo.negate %a : $a\n'
        "stablehlo.return %s : $a\n}, {\n%s = stablehlo.add %a, %a : $a\nstablehlo.return %s : $a\n}) : ($b) -> "
        "tensor<4x5xf32>",
        (M, np.array(5, "i4")),
        M + M,
    ),
    "composite": (
        '%r = stablehlo.composite "my.twice" %a {decomposition = @twice, version = 1 : i32} : ($a) -> tensor<4x5xf32>',
        (M,),
        M + M,
    ),
    "cholesky": (
        "%r = stablehlo.cholesky %a, lower = true : tensor<4x4xf32>\n// -> tensor<4x4xf32>",
        (M @ M.T + np.eye(4, dtype="f4"),),
        np.linalg.cholesky(M @ M.T + np.eye(4)),
    ),
    "triangular_solve": (
        '%r = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, unit_diagonal = false, '
        "transpose_a = #stablehlo<transpose TRANSPOSE>}> : ($a, $b) -> tensor<3x4xf32>",
        (np.tril(M[:, :4]) + 3 * np.eye(4, dtype="f4"), F[:, :, 0].copy()),
        F[:, :, 0] @ np.linalg.inv((np.tril(M[:, :4]) + 3 * np.eye(4)).T),
    ),
    "quantized": (
        "%q = stablehlo.uniform_quantize %a : ($a) -> tensor<4x5x!quant.uniform<i8:f32, 0.05:3>>\n"
        "%t = stablehlo.transpose %q, dims = [1, 0] : (tensor<4x5x!quant.uniform<i8:f32, 0.05:3>>) -> "
        "tensor<5x4x!quant.uniform<i8:f32, 0.05:3>>\n"
        "%p = stablehlo.dot_general %q, %t, contracting_dims = [1] x [0] : "
        "(tensor<4x5x!quant.uniform<i8:f32, 0.05:3>>, tensor<5x4x!quant.uniform<i8:f32, 0.05:3>>) -> "
        "tensor<4x4x!quant.uniform<i8:f32, 0.1>>\n"
        "%r = stablehlo.uniform_dequantize %p : (tensor<4x4x!quant.uniform<i8:f32, 0.1>>) -> tensor<4x4xf32>",
        (M,),
        (lambda q: np.clip(np.rint(q @ q.T / 0.1), -128, 127) * 0.1)(np.clip(np.rint(M / 0.05), -131, 124) * 0.05),
    ),
}  # fmt: skip
TWICE = """func.func private @twice(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
  %r = stablehlo.add %x, %x : tensor<4x5xf32>
  return %r : tensor<4x5xf32>
}"""


@thinned("name", ROWS, len(ROWS) // 2)
def test_the_result_is_numpys(name: str) -> None:
    text, args, expected = ROWS[name]
    (made,) = run(text, *args, functions=TWICE)
    assert made.dtype == expected.dtype or name in ("cholesky", "triangular_solve", "quantized")
    np.testing.assert_allclose(made, expected, rtol=3e-5, atol=1e-5)


WINDOWS: tuple[dict[str, Any], ...] = (
    {},
    {"stride": [2, 1]},
    {"pad": [[1, 2], [0, 1]]},
    {"lhs_dilate": [2, 1]},
    {"rhs_dilate": [1, 2]},
    {"reverse": [True, False]},
    {"pad": [[-1, 0], [0, -1]], "lhs_dilate": [1, 2]},
)
PLAIN: dict[str, Any] = {
    "stride": [1, 1], "pad": [[0, 0], [0, 0]], "lhs_dilate": [1, 1], "rhs_dilate": [1, 1], "reverse": [False, False],
}  # fmt: skip


@crossed("window, groups", WINDOWS, ((1, 1), (2, 1), (1, 2)))
def test_convolutions(window: dict[str, Any], groups: tuple[int, int]) -> None:
    features, batches = groups
    x = DRAW.normal(size=(2, 7, 6, 4)).astype("float32")
    w = DRAW.normal(size=(3, 2, 4 // features, 6)).astype("float32")
    written = ", ".join(f"{name} = {value}".lower() for name, value in window.items())
    expected = _convolved(x, w, PLAIN | window, features, batches)
    (made,) = run(
        f"%r = stablehlo.convolution(%a, %b) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
        f"window = {{{written}}} {{batch_group_count = {batches} : i64, feature_group_count = {features} : i64}} : "
        f"($a, $b) -> {kind(expected)}",
        x,
        w,
    )
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-4)


def _convolved(x: Any, w: Any, options: dict[str, Any], features: int, batches: int) -> Any:
    """The definition, for images NHWC and kernels HWIO."""
    for axis in (0, 1):
        step = options["lhs_dilate"][axis]
        wide = np.zeros([(n - 1) * step + 1 if a == axis + 1 else n for a, n in enumerate(x.shape)], x.dtype)
        wide[(slice(None),) * (axis + 1) + (slice(None, None, step),)] = x
        low, high = options["pad"][axis]
        x = np.pad(wide, [(max(low, 0), max(high, 0)) if a == axis + 1 else (0, 0) for a in range(4)])
        index = slice(max(-low, 0), x.shape[axis + 1] - max(-high, 0))
        x = x[(slice(None),) * (axis + 1) + (index,)]
        if options["reverse"][axis]:
            w = np.flip(w, axis)
    (dy, dx), (sy, sx) = options["rhs_dilate"], options["stride"]
    height, width = (
        (x.shape[1] - (w.shape[0] - 1) * dy - 1) // sy + 1,
        (x.shape[2] - (w.shape[1] - 1) * dx - 1) // sx + 1,
    )
    out = np.zeros((x.shape[0] // batches, height, width, w.shape[3]), x.dtype)
    groups = features * batches
    for k in range(w.shape[3]):
        group = k // (w.shape[3] // groups)
        image = x[:, :, :, group * w.shape[2] : (group + 1) * w.shape[2]] if batches == 1 else x
        count = x.shape[0] // batches
        image = image[group * count : (group + 1) * count] if batches > 1 else image
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                part = image[:, i * dy : i * dy + height * sy : sy, j * dx : j * dx + width * sx : sx][
                    :, :height, :width
                ]
                out[..., k] += part @ w[i, j, :, k]
    return out


def test_sizes_stay_symbolic() -> None:
    """An expression of sizes is a size; what they must hold is checked when the function is called."""
    text = """func.func @main(%x: tensor<?x4xf32>) -> tensor<?xf32> {
  %two = stablehlo.constant dense<2> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %even = stablehlo.remainder %n, %two : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %holds = stablehlo.compare EQ, %even, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%holds, %n) {error_message = "odd: {0}"} : (tensor<i1>, tensor<i32>) -> ()
  %m = stablehlo.multiply %n, %four : tensor<i32>
  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %y = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<1xi32>) -> tensor<?xf32>
  %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %r = stablehlo.add %y, %i : tensor<?xf32>
  return %r : tensor<?xf32>
}"""
    f = build(from_stablehlo(text))["main"]
    for n in (2, 4):
        x = DRAW.normal(size=(n, 4)).astype("float32")
        np.testing.assert_array_equal(np.asarray(f(x)), x.reshape(-1) + np.arange(4 * n, dtype="f4"))
    with pytest.raises(Exception, match="odd"):
        f(np.zeros((3, 4), "float32"))


def test_tensors_of_nothing_keep_their_sizes() -> None:
    (made,) = run(
        "%z = stablehlo.constant dense<> : tensor<2x0x3xi32>\n"
        "%r = stablehlo.add %a, %z : tensor<2x0x3xi32>\n// -> tensor<2x0x3xi32>",
        np.zeros((2, 0, 3), "int32"),
    )
    assert made.shape == (2, 0, 3)


def test_an_assertion_that_cannot_hold_is_an_error_at_once() -> None:
    text = """func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<3xf32>) -> tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %holds = stablehlo.compare EQ, %n, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.custom_call @shape_assertion(%holds, %n) {error_message = "{0} is not 4"} : (tensor<i1>, tensor<i32>) -> ()
  return %x : tensor<3xf32>
}"""
    with pytest.raises(ShapeError, match="3 is not 4"):
        from_stablehlo(text)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%r = stablehlo.custom_call @f(%a) : ($a) -> tensor<4x5xf32>", "custom call @f"),
        ("%r = call @g(%a) : ($a) -> tensor<4x5xf32>", "has no body"),
        ("%r = call @main(%a) : ($a) -> tensor<4x5xf32>", "calls itself"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_is_named(body: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        run(body, M, functions="func.func private @g(tensor<4x5xf32>) -> tensor<4x5xf32>")
