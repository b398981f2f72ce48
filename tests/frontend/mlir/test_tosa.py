"""tosa's operations, through native code, beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir

DRAW = np.random.default_rng(0)
A, B = (DRAW.normal(size=(2, 5)).astype("float32") for _ in range(2))
P = DRAW.uniform(0.1, 2, (2, 5)).astype("float32")
I, J = (DRAW.integers(-50, 50, (2, 5), dtype="int32") for _ in range(2))
J[J == 0] = 3
T = {"f": "tensor<2x5xf32>", "i": "tensor<2x5xi32>", "b": "tensor<2x5xi1>"}

# operation -> (operands, what it computes of them, type of its result)
CASES: dict[str, tuple[str, Any, str]] = {
    "abs %a": ("f", np.abs(A), "f"), "add %a, %b": ("ff", A + B, "f"), "sub %a, %b": ("ff", A - B, "f"),
    "ceil %a": ("f", np.ceil(A), "f"), "cos %a": ("f", np.cos(A), "f"), "exp %a": ("f", np.exp(A), "f"),
    "floor %a": ("f", np.floor(A), "f"), "log %p": ("f", np.log(P), "f"), "rsqrt %p": ("f", 1 / np.sqrt(P), "f"),
    "sin %a": ("f", np.sin(A), "f"), "tanh %a": ("f", np.tanh(A), "f"), "pow %p, %a": ("ff", P**A, "f"),
    "maximum %a, %b": ("ff", np.maximum(A, B), "f"), "minimum %a, %b": ("ff", np.minimum(A, B), "f"),
    "reciprocal %p": ("f", 1 / P, "f"), "sigmoid %a": ("f", 1 / (1 + np.exp(-A)), "f"),
    "clamp %a {min_val = -0.5 : f32, max_val = 0.25 : f32}": ("f", np.clip(A, -0.5, 0.25), "f"),
    "cast %a": ("f", np.rint(A).astype("int32"), "i"), "identity %a": ("f", A, "f"),
    "equal %i, %i": ("ii", I == I, "b"), "greater %a, %b": ("ff", A > B, "b"),
    "greater_equal %i, %j": ("ii", I >= J, "b"), "bitwise_and %i, %j": ("ii", I & J, "i"),
    "bitwise_or %i, %j": ("ii", I | J, "i"), "bitwise_xor %i, %j": ("ii", I ^ J, "i"), "bitwise_not %i": ("i", ~I, "i"),
    "intdiv %i, %j": ("ii", np.trunc(I / J).astype("int32"), "i"), "clz %i": ("i", None, "i"),
    "reverse %a {axis = 1 : i32}": ("f", A[:, ::-1], "f"),
}  # fmt: skip


def run(text: str, *args: Any) -> Any:
    return build(from_mlir(parse_mlir(text)))["main"](*args)


def test_elements() -> None:
    """All by one function."""
    lines, types, expected = [], [], []
    for number, (text, (kinds, value, result)) in enumerate(CASES.items()):
        lines.append(f"%r{number} = tosa.{text} : ({', '.join(T[k] for k in kinds)}) -> {T[result]}")
        types.append(T[result])
        expected.append(value)
    params = ", ".join(f"%{n}: {T['i' if n in 'ij' else 'f']}" for n in "abpij")
    values = ", ".join(f"%r{n}" for n in range(len(lines)))
    body = "\n".join(lines)
    text = (
        f"func.func @main({params}) -> ({', '.join(types)}) {{\n{body}\nfunc.return {values} : {', '.join(types)}\n}}"
    )
    for name, got, value in zip(CASES, run(text, A, B, P, I, J), expected, strict=True):
        if value is not None:
            np.testing.assert_allclose(np.asarray(got), value, rtol=3e-6, atol=1e-6, err_msg=name)


def test_a_network() -> None:
    """A convolution with padding and bias, pooling, a reduction, a broadcast and a product of matrices."""
    x, w = DRAW.normal(size=(1, 6, 6, 3)).astype("float32"), DRAW.normal(size=(4, 3, 3, 3)).astype("float32")
    bias, m = DRAW.normal(size=4).astype("float32"), DRAW.normal(size=(1, 4, 2)).astype("float32")
    got = run(
        """
func.func @main(%x: tensor<1x6x6x3xf32>, %w: tensor<4x3x3x3xf32>, %c: tensor<4xf32>, %m: tensor<1x4x2xf32>)
    -> tensor<1x9x2xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %y = tosa.conv2d %x, %w, %c, %z, %z {acc_type = f32, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>,
    dilation = array<i64: 1, 1>} : (tensor<1x6x6x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>, tensor<1xf32>,
    tensor<1xf32>) -> tensor<1x6x6x4xf32>
  %p = tosa.max_pool2d %y {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>} :
    (tensor<1x6x6x4xf32>) -> tensor<1x3x3x4xf32>
  %s = tosa.reduce_sum %p {axis = 3 : i32} : (tensor<1x3x3x4xf32>) -> tensor<1x3x3x1xf32>
  %d = tosa.sub %p, %s : (tensor<1x3x3x4xf32>, tensor<1x3x3x1xf32>) -> tensor<1x3x3x4xf32>
  %r = tosa.reshape %d {new_shape = array<i64: 1, 9, 4>} : (tensor<1x3x3x4xf32>) -> tensor<1x9x4xf32>
  %o = tosa.matmul %r, %m, %z, %z : (tensor<1x9x4xf32>, tensor<1x4x2xf32>, tensor<1xf32>, tensor<1xf32>)
    -> tensor<1x9x2xf32>
  func.return %o : tensor<1x9x2xf32>
}""",
        x, w, bias, m,
    )  # fmt: skip
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), (3, 3), axis=(1, 2))
    y = np.einsum("nhwcyx,fyxc->nhwf", windows, w) + bias
    p = y.reshape(1, 3, 2, 3, 2, 4).max((2, 4))
    expected = (p - p.sum(3, keepdims=True)).reshape(1, 9, 4) @ m
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-4, atol=1e-4)
