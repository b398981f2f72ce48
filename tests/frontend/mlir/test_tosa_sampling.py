"""tosa's operations that scale, look up, resample and scatter, as MLIR prints them since 2026, beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from mlir_kernels import compiled, shape_of

DRAW = np.random.default_rng(0)
IMAGE: Any = DRAW.normal(size=(1, 4, 5, 2)).astype("float32")
BYTES: Any = DRAW.integers(-128, 128, (1, 4, 4, 3)).astype("int8")
NAMES = {"float32": "f32", "int8": "i8", "int16": "i16", "int32": "i32"}


def check(body: str, expected: Any, *args: Any) -> None:
    """Run a body that gives %r, of the arguments %0, %1, …."""
    kinds = [f"tensor<{shape_of(a)}x{NAMES[a.dtype.name]}>" for a in (*args, expected)]
    params = ", ".join(f"%{n}: {kind}" for n, kind in enumerate(kinds[:-1]))
    text = f"func.func @main({params}) -> {kinds[-1]} {{\n{body}\nreturn %r : {kinds[-1]}\n}}"
    got = np.asarray(compiled(text)(*args))
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def constant(name: str, value: str, kind: str) -> str:
    return f"%{name} = tosa.const values(dense<{value}> : {kind}) : () -> {kind}\n"


def shape(name: str, *numbers: int) -> str:
    kind = f"!tosa.shape<{len(numbers)}>"
    return f"%{name} = tosa.const_shape values(dense<{list(numbers)}> : tensor<{len(numbers)}xindex>) : () -> {kind}\n"


def test_rescale_rounds_half_up_and_saturates() -> None:
    text = constant("m", str(1 << 30), "tensor<1xi32>") + constant("s", "29", "tensor<1xi8>")
    text += constant("a", "3", "tensor<1xi8>") + constant("b", "-2", "tensor<1xi8>")
    text += (
        "%r = tosa.rescale %0, %m, %s, %a, %b scale32(true) rounding_mode<SINGLE_ROUND> per_channel(false) "
        "input_unsigned(false) output_unsigned(false) : (tensor<1x4x4x3xi8>, tensor<1xi32>, tensor<1xi8>, "
        "tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x3xi8>"
    )
    expected = (BYTES.astype("int64") - 3) * 2 - 2
    check(text, np.clip(expected, -128, 127).astype("int8"), BYTES)


def test_rescale_by_channel() -> None:
    text = constant("m", f"[{1 << 30}, {1 << 29}, {3 << 28}]", "tensor<3xi32>")
    text += constant("s", "[31, 30, 32]", "tensor<3xi8>") + constant("a", "0", "tensor<1xi8>")
    text += (
        "%r = tosa.rescale %0, %m, %s, %a, %a scale32(true) rounding_mode<DOUBLE_ROUND> per_channel(true) "
        "input_unsigned(false) output_unsigned(false) : (tensor<1x4x4x3xi8>, tensor<3xi32>, tensor<3xi8>, "
        "tensor<1xi8>, tensor<1xi8>) -> tensor<1x4x4x3xi8>"
    )
    value = BYTES.astype("int64")
    multipliers, shifts = np.array([1 << 30, 1 << 29, 3 << 28]), np.array([31, 30, 32])
    more = np.where(shifts > 31, np.where(value >= 0, 1 << 30, -(1 << 30)), 0)
    expected = (value * multipliers + (1 << (shifts - 1)) + more) >> shifts
    check(text, expected.astype("int8"), BYTES)


def test_a_table_of_bytes_and_one_of_words() -> None:
    table = DRAW.integers(-128, 128, 256).astype("int8")
    kinds = "(tensor<1x4x4x3xi8>, tensor<256xi8>) -> tensor<1x4x4x3xi8>"
    check(f"%r = tosa.table %0, %1 : {kinds}", table[BYTES.astype("int64") + 128], BYTES, table)
    words = DRAW.integers(-(1 << 15), 1 << 15, 7).astype("int16")
    entries = DRAW.integers(-(1 << 15), 1 << 15, 513).astype("int16")
    place, rest = np.divmod(words.astype("int64") + (1 << 15), 128)
    wide = entries.astype("int64")
    expected = (wide[place] * 128 + (wide[place + 1] - wide[place]) * rest).astype("int32")
    check("%r = tosa.table %0, %1 : (tensor<7xi16>, tensor<513xi16>) -> tensor<7xi32>", expected, words, entries)


def test_resize_between_pixels_and_to_the_nearest() -> None:
    text = shape("s", 4, 2, 4, 2) + shape("o", -1, -1) + shape("b", 1, 1)
    kinds = "(tensor<1x4x5x2xf32>, !tosa.shape<4>, !tosa.shape<2>, !tosa.shape<2>) -> tensor<1x8x10x2xf32>"
    y, x = ((np.arange(size) * 2 - 1) / 4 for size in (8, 10))

    def between(image: Any, at: Any, axis: int) -> Any:
        low = np.floor(at).astype(int)
        last = image.shape[axis] - 1
        first, second = (np.take(image, np.clip(low + n, 0, last), axis) for n in (0, 1))
        part = (at - low).reshape([-1 if a == axis else 1 for a in range(4)])
        return first * (1 - part) + second * part

    expected = between(between(IMAGE, y, 1), x, 2).astype("float32")
    check(f"{text}%r = tosa.resize %0, %s, %o, %b mode<BILINEAR> : {kinds}", expected, IMAGE)
    places = [np.clip(np.floor(at + 0.5).astype(int), 0, size - 1) for at, size in ((y, 4), (x, 5))]
    nearest = IMAGE[:, places[0]][:, :, places[1]]
    check(f"{text}%r = tosa.resize %0, %s, %o, %b mode<NEAREST_NEIGHBOR> : {kinds}", nearest, IMAGE)


def test_scatter_of_rows() -> None:
    values, rows = (DRAW.normal(size=s).astype("float32") for s in ((2, 5, 3), (2, 3, 3)))
    places = np.array([[3, 0, 1], [4, 2, 0]], "int32")
    expected = values.copy()
    for batch in range(2):
        expected[batch, places[batch]] = rows[batch]
    kinds = "(tensor<2x5x3xf32>, tensor<2x3xi32>, tensor<2x3x3xf32>) -> tensor<2x5x3xf32>"
    check(f"%r = tosa.scatter %0, %1, %2 : {kinds}", expected, values, places, rows)


def test_a_transposed_convolution() -> None:
    kernel, bias = DRAW.normal(size=(3, 2, 2, 2)).astype("float32"), DRAW.normal(size=3).astype("float32")
    expected = np.zeros((1, 9, 6, 3), "float32") + bias
    for y in range(4):
        for x in range(5):
            for ky in range(2):
                for kx in range(2):
                    expected[0, 2 * y + ky + 1, x + kx] += kernel[:, ky, kx] @ IMAGE[0, y, x]
    text = constant("z", "0.0", "tensor<1xf32>")
    text += (
        "%r = tosa.transpose_conv2d %0, %1, %2, %z, %z out_pad([1, 0, 0, 0]) stride([2, 1]) acc_type(f32) : "
        "(tensor<1x4x5x2xf32>, tensor<3x2x2x2xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) "
        "-> tensor<1x9x6x3xf32>"
    )
    check(text, expected, IMAGE, kernel, bias)
