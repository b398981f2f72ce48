"""Dequantized products in integers: what becomes so, what stays, that it means the same, and that it runs."""

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.driver.pipelines import OPTIMIZE, make_passes
from tirax.interpreter import assert_same_meaning, interpret
from tirax.ir.passes.transform import Sequential
from tirax.target import Target
from tirax.transforms.operators.quantized_to_integer import QuantizedToInteger
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import BindParams
from tirax.tvm_api.script import from_source

VNNI, PLAIN = "llvm -mcpu=icelake-server -vector-width=512", "llvm -mcpu=x86-64-v3"
TARGETS = ["llvm", *([PLAIN] if {"avx2", "fma"} <= Target().features else [])]
RNG = np.random.default_rng(3)


def program(signature, *lines):
    parameters = ", ".join(f"{name}: R.Tensor({shape}, '{dtype}')" for name, shape, dtype in signature)
    body = "".join(f"            {line}\n" for line in lines)
    return from_source(
        "from tvm.script import ir as I, relax as R, tir as T\n"
        "@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main({parameters}):\n        n = T.int64()\n        with R.dataflow():\n{body}"
        "            R.output(y)\n        return y\n"
    )


def scalar(value, dtype="float32"):
    return f"R.const({value}, '{dtype}')"


def dequantize(name, scale="R.const(0.25, 'float32')", zero="R.const(0, 'int8')", axis=-1, out="float32"):
    return f"R.dequantize({name}, {scale}, {zero}, axis={axis}, out_dtype='{out}')"


def product(a=("x", "(5, 8)", "int8"), b=("w", "(8, 6)", "int8"), left=None, right=None, more=(), then="c"):
    return program(
        [a, b, *more],
        f"a = {left or dequantize('x')}",
        f"b = {right or dequantize('w')}",
        "c = R.matmul(a, b)",
        f"y = {then}",
    )


def convolution(
    x="(1, 7, 6, 8)", w="(3, 3, 8, 5)", left=None, right=None, options="", more=(), layouts=("NHWC", "HWIO")
):
    return program(
        [("x", x, "uint8"), ("w", w, "int8"), *more],
        f"a = {left or dequantize('x', zero=scalar(7, 'uint8'))}",
        f"b = {right or dequantize('w')}",
        f"y = R.nn.conv2d(a, b, data_layout='{layouts[0]}', kernel_layout='{layouts[1]}'{options})",
    )


UNSIGNED = ("x", "('n', 8)", "uint8")
S, Z, B = ("s", "(6,)", "float32"), ("z", "(6,)", "int8"), ("bias", "(6,)", "float32")
QDQ = "R.quantize(R.nn.relu(R.add(c, bias)), R.const(0.5, 'float32'), R.const(3, 'uint8'), out_dtype='uint8')"
FITS = {
    "as given": product(),
    "rows": product(a=("x", "('n', 8)", "int8")),
    "of two kinds": product(a=UNSIGNED, left=dequantize("x", zero=scalar(128, "uint8"))),
    "both zero points": product(
        left=dequantize("x", zero=scalar(-3, "int8")), right=dequantize("w", zero=scalar(5, "int8"))
    ),
    "by columns": product(a=UNSIGNED, more=[S, Z], right=dequantize("w", "s", "z")),
    "scales by columns": product(more=[S], right=dequantize("w", "s")),
    "by rows": product(more=[("s", "(5,)", "float32"), ("z", "(5,)", "int8")], left=dequantize("x", "s", "z", axis=0)),
    "at run time": product(more=[("s", "()", "float32"), ("z", "()", "int8")], left=dequantize("x", "s", "z")),
    "batches": product(a=("x", "(2, 'n', 8)", "int8"), right=dequantize("w", zero=scalar(1, "int8"))),
    "transposed": product(
        b=("w", "(6, 8)", "int8"), more=[S], right=f"R.permute_dims({dequantize('w', 's', axis=0)})"
    ),
    "quantized again": product(a=UNSIGNED, more=[S, B], right=dequantize("w", "s"), then=QDQ),
    "convolution": convolution(),
    "padded": convolution(options=", padding=[1, 0, 2, 1], strides=[2, 1]"),
    "padded with 0": convolution(left=dequantize("x", zero=scalar(0, "uint8")), options=", padding=1, dilation=2"),
    "channels": convolution(more=[("s", "(5,)", "float32")], right=dequantize("w", "s", axis=3)),
    "shifted weights": convolution(right=dequantize("w", zero=scalar(-7, "int8")), options=", strides=2"),
    "padded, shifted weights": convolution(
        left=dequantize("x", zero=scalar(0, "uint8")), right=dequantize("w", zero=scalar(5, "int8")),
        options=", padding=[1, 0, 2, 1]",
    ),
    "three channels": convolution("(1, 7, 6, 3)", "(3, 3, 3, 5)"),
    "three channels, padded": convolution("(1, 7, 6, 3)", "(3, 3, 3, 5)", options=", padding=1"),
    "one channel, centred": convolution(
        "(1, 7, 6, 1)", "(2, 2, 1, 5)", left=dequantize("x", zero=scalar(0, "uint8")), options=", padding=[1, 0, 2, 1]"
    ),
    "three channels, shifted weights": convolution(
        "(1, 7, 6, 3)", "(3, 3, 3, 5)", right=dequantize("w", zero=scalar(5, "int8")), options=", padding=1"
    ),
    "three channels, shifted at run time": convolution(
        "(1, 7, 6, 3)", "(3, 3, 3, 5)", more=[("z", "()", "uint8")], left=dequantize("x", zero="z")
    ),
    "shifted at run time": convolution(more=[("z", "()", "uint8")], left=dequantize("x", zero="z")),
}  # fmt: skip


@pytest.mark.parametrize("case", FITS)
def test_becomes_integer(case):
    before = FITS[case]
    after = QuantizedToInteger(VNNI)(before)
    text = after.script()
    assert "R.dequantize" not in text and 'out_dtype="int32"' in text
    assert_same_meaning(before.op, after.op, inputs=inputs)


def inputs(func, sizes, seed):
    """Bytes of their whole range."""
    rng = np.random.default_rng(seed)

    def value(t):
        shape = [d.evaluate(dict(sizes)) for d in t.dims]
        name = str(t.element)
        if name == "f32":
            return np.asarray(rng.random(shape, "float32"))
        kind = np.iinfo("int8" if name == "i8" else "uint8")
        return np.asarray(rng.integers(kind.min, kind.max, shape, kind.dtype, endpoint=True))

    return [value(p.type) for p in func.params]


def test_what_a_product_becomes():
    mod = product(a=UNSIGNED, left=dequantize("x", zero=scalar(3, "uint8")), more=[S], right=dequantize("w", "s"))
    lines = [line.split(" = ", 1)[1] for line in QuantizedToInteger(VNNI)(mod).script().splitlines() if "= R." in line]
    assert lines == [
        'R.matmul(x, w, out_dtype="int32")',
        'R.astype(R.const(3, "uint8"), dtype="int32")',
        'R.astype(w, dtype="int32")',
        "R.sum(lv2, axis=[-2], keepdims=True)",
        "R.multiply(lv1, lv3)",
        "R.subtract(lv, lv4)",
        'R.astype(lv5, dtype="float32")',
        'R.multiply(lv6, R.const(0.25, "float32"))',
        "R.multiply(lv7, s)",
    ]


GROUPS = {
    "groups": convolution(w="(3, 3, 4, 6)", options=", groups=2"),
    "groups, shifted": convolution(
        w="(3, 3, 4, 6)", more=[("s", "(6,)", "float32")], options=", groups=2, padding=1",
        right=dequantize("w", "s", "R.const([3, 0, -128, 127, 1, 2], 'int8')", axis=3),
    ),
    "depthwise": convolution(
        w="(3, 3, 1, 8)", options=", groups=8, padding=1", left=dequantize("x", zero=scalar(0, "uint8")),
    ),
    "depthwise, shifted": convolution(
        w="(3, 3, 1, 8)", more=[("s", "(8,)", "float32")], options=", groups=8, padding=1, strides=2",
        right=dequantize("w", "s", scalar(3, "int8"), axis=3),
    ),
    "depthwise, NCHW": convolution(
        "(1, 8, 7, 6)", "(8, 1, 3, 3)", layouts=("NCHW", "OIHW"), options=", groups=8", right=dequantize("w", axis=0)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", GROUPS)
def test_groups_become_integer(case):
    """Weights that are not around 0 are words."""
    before = GROUPS[case]
    after = QuantizedToInteger(VNNI)(before)
    text = after.script()
    assert "R.dequantize" not in text and text.count('out_dtype="int32"') == 1
    assert ('dtype="int16"' in text) == ("shifted" in case)
    assert_same_meaning(before.op, after.op, inputs=inputs)


@pytest.mark.parametrize("name", ["product", "convolution"])
def test_constant_unsigned_weights_become_signed(name):
    """Products of unsigned bytes would be corrected for each sum."""
    weights, kernel = ("w", "(8, 6)", "uint8"), RNG.integers(0, 256, (8, 6)).astype("uint8")
    mod = product(a=UNSIGNED, b=weights, right=dequantize("w", zero=scalar(131, "uint8")))
    if name == "convolution":
        mod, kernel = (
            program(
                [("x", "(1, 5, 4, 8)", "uint8"), ("w", "(3, 3, 8, 5)", "uint8")],
                f"a = {dequantize('x', zero=scalar(7, 'uint8'))}",
                f"b = {dequantize('w', zero=scalar(125, 'uint8'))}",
                "y = R.nn.conv2d(a, b, data_layout='NHWC', kernel_layout='HWIO')",
            ),
            RNG.integers(0, 256, (3, 3, 8, 5)).astype("uint8"),
        )
    before = BindParams("main", {"w": kernel})(mod)
    after = QuantizedToInteger(VNNI)(before)
    signed = [op for op in after.op.walk() if op.name == "relax.constant" and op.value.numpy().shape == kernel.shape]
    assert {str(op.value.data.dtype) for op in signed} == {"i8"} and "R.dequantize" not in after.script()
    assert_same_meaning(before.op, after.op, inputs=inputs)


def with_weights(case):
    """A case whose weights, and what belongs to them, are constant."""
    mod = FITS[case]
    types = {name: param.type for param in mod["main"].op.params for name in [param.name_hint]}
    constant = [name for name in ("w", "s", "z", "bias") if name in types and types[name].dims != ()]
    arguments = dict(zip(types, inputs(mod["main"].op, {"n": 1}, 5), strict=True))
    kept = ("s", "z") if case == "by rows" else ()
    return BindParams("main", {name: arguments[name] for name in constant if name not in kept})(mod)


@pytest.mark.parametrize("case", FITS)
def test_constant_weights_become_words(case):
    """Where there are products of words alone; zero points are taken off before."""
    before = with_weights(case)
    after = QuantizedToInteger(PLAIN)(before)
    text = after.script()
    assert "R.dequantize" not in text and 'out_dtype="int32"' in text
    assert "R.sum" not in text and "R.nn.pad" not in text
    assert_same_meaning(before.op, after.op, inputs=inputs)


@only_full
@pytest.mark.skipif(len(TARGETS) == 1, reason="this machine has no AVX2")
def test_words_run():
    for case in ("by columns", "transposed", "by rows", "quantized again", "padded", "shifted weights"):
        mod = with_weights(case)
        main = relax.build(mod, target=PLAIN)["main"]
        for n in (0, 1, 30):
            args = inputs(mod["main"].op, {"n": n}, n)
            result, expected = np.asarray(main(*args)), np.asarray(interpret(mod.op, "main", [a.copy() for a in args]))
            if result.dtype == np.uint8:
                assert (np.abs(result.astype(int) - expected.astype(int)) <= 1).all()
            else:
                np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max(initial=0))


PAIRS = {
    "product": ((("n", 48), (48, 24)), None, {}),
    "one row is halved": (((5, 144), (144, 24)), [7], {}),
    "window": (((1, 5, 4, 32), (3, 3, 32, 20)), None, {"padding": 1}),
    "a channel is halved": (((2, 5, 7, 128), (2, 2, 128, 24)), [0, 127], {"strides": 2}),
}


def of_pairs(case):
    """A quantized product whose pairs fit, and its weights."""
    (x, w), large, options = PAIRS[case]
    weights = np.clip(np.round(RNG.standard_normal(w) * 30), -127, 127).astype("int8")
    if large is not None:
        weights[..., large, :] = RNG.choice(np.array([-128, 127], "int8"), weights[..., large, :].shape)
    left = dequantize("x", zero=scalar(7, "uint8"))
    if len(w) == 2:
        mod = product(a=("x", str(x), "uint8"), b=("w", str(w), "int8"), left=left)
    else:
        more = "".join(f", {name}={value}" for name, value in options.items())
        mod = convolution(str(x), str(w), left=left, options=more)
    return BindParams("main", {"w": weights})(mod)


@pytest.mark.parametrize("case", PAIRS)
def test_bytes_whose_pairs_fit_stay_bytes(case):
    """Where there is AVX2 alone; what a row that fits none is multiplied by is there twice."""
    before = of_pairs(case)
    after = QuantizedToInteger(PLAIN)(before)
    text = after.script()
    assert "R.dequantize" not in text and "int16" not in text
    assert ("R.concat" in text) == ("halved" in case)
    assert_same_meaning(before.op, after.op, inputs=inputs)
    optimized = Sequential(make_passes(OPTIMIZE, PLAIN))(after)
    assert "tirax.pairs_fit" in optimized.script()


@pytest.mark.skipif(len(TARGETS) == 1, reason="this machine has no AVX2")
@pytest.mark.parametrize("case", PAIRS)
def test_pairs_run(case):
    mod = of_pairs(case)
    main = relax.build(mod, target=PLAIN)["main"]
    for n in (0, 1, 9) if case == "product" else (1,):
        args = inputs(mod["main"].op, {"n": n}, n)
        result, expected = np.asarray(main(*args)), np.asarray(interpret(mod.op, "main", [a.copy() for a in args]))
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max(initial=0))


@pytest.mark.skipif(len(TARGETS) == 1, reason="this machine has no AVX2")
def test_pairs_in_rows_of_an_image_are_words():
    """A convolution that keeps the layout NCHW has vectors along the image."""
    weights = np.clip(np.round(RNG.standard_normal((20, 32, 3, 3)) * 30), -127, 127).astype("int8")
    left = dequantize("x", zero=scalar(7, "uint8"))
    mod = convolution("(1, 32, 5, 6)", "(20, 32, 3, 3)", left=left, options=", padding=1", layouts=("NCHW", "OIHW"))
    mod = BindParams("main", {"w": weights})(mod)
    text = Sequential(make_passes(OPTIMIZE, PLAIN))(mod).script()
    assert "pairs_fit" not in text and 'T.Cast("int16"' in text
    args = inputs(mod["main"].op, {}, 1)
    result = np.asarray(relax.build(mod, target=PLAIN)["main"](*args))
    expected = np.asarray(interpret(mod.op, "main", [a.copy() for a in args]))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max(initial=0))


def test_rows_of_pairs_may_have_scales_and_zero_points():
    """Those of the left side may be along its rows."""
    more = [("s", "(5,)", "float32"), ("z", "(5,)", "uint8")]
    mod = product(
        a=("x", "(5, 32)", "uint8"), b=("w", "(32, 16)", "int8"), more=more, left=dequantize("x", "s", "z", axis=0)
    )
    before = BindParams("main", {"w": RNG.integers(-60, 61, (32, 16)).astype("int8")})(mod)
    after = QuantizedToInteger(PLAIN)(before)
    assert "R.dequantize" not in after.script() and "int16" not in after.script()
    assert_same_meaning(before.op, after.op, inputs=inputs)


def test_words_in_groups_stay():
    before = BindParams("main", {"w": RNG.integers(-128, 128, (3, 3, 4, 6)).astype("int8")})(GROUPS["groups"])
    assert QuantizedToInteger(PLAIN)(before).script() == before.script()


STAYS = {
    "floats": product(a=("x", "(5, 8)", "float32"), left="x"),
    "weights only": product(
        a=("x", "(5, 8)", "float32"),
        b=("w", "(6, 8)", "int8"),
        left="x",
        right=f"R.permute_dims({dequantize('w')})",
    ),
    "halves": product(
        left=dequantize("x", scalar(0.5, "float16"), out="float16"),
        right=dequantize("w", scalar(0.5, "float16"), out="float16"),
    ),
    "shorts": product(a=("x", "(5, 8)", "int16")),
    "along the sum": product(more=[("s", "(8,)", "float32")], right=dequantize("w", "s", axis=0)),
    "sums that do not fit": product(a=("x", "(2, 131072)", "int8"), b=("w", "(131072, 2)", "int8")),
    "sums of unknown length": product(a=("x", "(2, 'n')", "int8"), b=("w", "('n', 2)", "int8")),
    "wide zero points": product(more=[("z", "()", "int32")], left=dequantize("x", zero="z")),
    "vectors": product(a=("x", "(8,)", "int8")),
    "weights shifted at run time": convolution(more=[("z", "()", "int8")], right=dequantize("w", zero="z")),
    "groups whose sums do not fit": convolution(
        "(1, 1, 1, 131590)", "(1, 1, 65795, 2)", options=", groups=2", left=dequantize("x", zero=scalar(255, "uint8"))
    ),
    "padded at run time": convolution(
        more=[("z", "()", "uint8")], left=dequantize("x", zero="z"), options=", padding=1"
    ),
    "by input channels": convolution(more=[("s", "(8,)", "float32")], right=dequantize("w", "s", axis=2)),
    "other weights in NCHW": convolution("(1, 8, 7, 6)", "(5, 8, 3, 3)", layouts=("NCHW", "OIHW")),
}  # fmt: skip


@pytest.mark.parametrize("case", STAYS)
def test_stays(case):
    assert QuantizedToInteger(VNNI)(STAYS[case]).script() == STAYS[case].script()


@pytest.mark.parametrize(
    "target", [PLAIN, "llvm -mcpu=skylake-avx512", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"]
)
def test_stays_where_there_are_no_instructions(target):
    before = FITS["as given"]
    assert QuantizedToInteger(target)(before).script() == before.script()


def test_kinds_of_bytes_that_a_target_has():
    """Neon multiplies bytes of one kind by `dotprod`, of two kinds by `i8mm`."""
    target = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr=+dotprod"
    same, mixed = FITS["as given"], FITS["of two kinds"]
    assert "R.dequantize" not in QuantizedToInteger(target)(same).script()
    assert QuantizedToInteger(target)(mixed).script() == mixed.script()
    assert "R.dequantize" not in QuantizedToInteger(f"{target},+i8mm")(mixed).script()


def test_the_largest_sums_that_fit():
    """K * 128 * 128 is less than 2^31 by one product."""
    before = product(a=("x", "(1, 131071)", "int8"), b=("w", "(131071, 2)", "int8"))
    after = QuantizedToInteger(VNNI)(before)
    assert "R.dequantize" not in after.script()
    x, w = np.full((1, 131071), -128, "int8"), np.full((131071, 2), -128, "int8")
    (exact,) = {131071 * 2**14 / 16}
    assert (interpret(after.op, "main", [x, w]) == np.float32(exact)).all()


@pytest.mark.parametrize(
    ("case", "channels"), [("three channels", 4), ("one channel, centred", 4), ("three channels, shifted weights", 3)]
)
def test_images_have_full_elements_of_channels(case, channels):
    """Where weights of more channels can be 0."""
    ops = QuantizedToInteger(VNNI)(FITS[case]).op.walk()
    conv, *_ = (op for op in ops if op.name == "relax.nn.conv2d")
    assert [conv.operands[0].type.dims[3].constant, conv.operands[1].type.dims[2].constant] == [channels] * 2


def test_channels_of_nchw():
    """Constant weights; the scales stand along the channels, as all of the rank."""
    mod = convolution(
        "(1, 8, 7, 6)", "(5, 8, 3, 3)", more=[("s", "(5,)", "float32")], right=dequantize("w", "s", axis=0),
        layouts=("NCHW", "OIHW"), options=", padding=1",
    )  # fmt: skip
    weights = np.random.default_rng(1).integers(-128, 128, (5, 8, 3, 3))  # no sum of these is next to 0
    before = BindParams("main", {"w": weights.astype("int8")})(mod)
    after = QuantizedToInteger(VNNI)(before)
    text = after.script()
    assert "R.shape([1, 5, 1, 1])" in text and "pad_width=[0, 0, 0, 0, 1, 1, 1, 1], pad_value=7.0" in text
    assert_same_meaning(before.op, after.op, inputs=inputs)


def test_what_is_dequantized_for_others_too():
    mod = program(
        [("x", "(5, 8)", "int8"), ("w", "(8, 8)", "int8")],
        f"a = {dequantize('x')}",
        f"b = {dequantize('w')}",
        "c = R.matmul(a, b)",
        "y = R.add(a, c)",
    )
    after = QuantizedToInteger(VNNI)(mod)
    assert after.script().count("R.dequantize") == 1 and "int32" in after.script()
    assert_same_meaning(mod.op, after.op, inputs=inputs)


def test_the_pipeline_makes_one_function_of_it():
    """Weights that are constant are not dequantized, and what is taken off for the zero point is."""
    mod = product(
        a=UNSIGNED, left=dequantize("x", zero=scalar(3, "uint8")), more=[S, B], right=dequantize("w", "s"), then=QDQ
    )
    values = {
        "w": RNG.integers(-128, 128, (8, 6)).astype("int8"),
        "s": RNG.random(6, "float32"),
        "bias": RNG.random(6, "float32"),
    }
    bound = BindParams("main", values)(mod)
    after = Sequential(make_passes(OPTIMIZE, VNNI))(bound)
    assert after.script().count("R.call_tir") == 1
    assert_same_meaning(bound.op, after.op, inputs=inputs)


@thinned("target", TARGETS, 1)
def test_runs(target):
    """As the interpreter says, but for numbers that are quantized again and lie in the middle: these by one."""
    for case in ("by columns", "transposed", "by rows", "quantized again", "padded", "channels"):
        mod = FITS[case]
        main = relax.build(mod, target=target)["main"]
        func = mod["main"].op
        for n in (0, 1, 30) if "n" in str(func.params[0].type) else (0,):
            args = inputs(func, {"n": n}, n)
            result, expected = np.asarray(main(*args)), np.asarray(interpret(mod.op, "main", [a.copy() for a in args]))
            if result.dtype == np.uint8:
                assert (np.abs(result.astype(int) - expected.astype(int)) <= 1).all()
            else:
                np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max(initial=0))
