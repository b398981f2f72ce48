"""Products of bfloat16 and of bytes: what they give at every size, with the instructions for them and without.

bfloat16 is compared with float64 on the same bfloat16 numbers, under the bound that docs/mixed_precision.md states;
bytes have to be exact, at their extremes too.
"""

import re

import ml_dtypes
import numpy as np
import pytest
from strength import only_full, thinned
from xdsl.context import Context

import tirax.tvm_api as tvm
from tirax.driver.pipelines import pipeline_passes
from tirax.ir.passes.transform import module_op
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import emit_assembly
from tirax.target import Target
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import ToMixedPrecision

RNG = np.random.default_rng(7)
WITHOUT = [t for t, f in (("x86-64-v4", "avx512vl"), ("haswell", "avx2")) if f in Target().features]
TARGETS = ["llvm", *(f"llvm -mcpu={cpu}" for cpu in WITHOUT)]
HAS_BF16 = "avx512bf16" in Target().features
ROWS = ({"n": 0}, {"n": 1}, {"n": 5}, {"n": 24}, {"n": 37})
DEPTHS = ({"n": 0}, {"n": 1}, {"n": 2}, {"n": 7})

SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{dtype}"), w: R.Tensor({w}, "{dtype}")):
        with R.dataflow():
            y = R.matmul(x, w, out_dtype="{out}")
            R.output(y)
        return y
"""


def product(x, w, dtype, out):
    quoted = (str(shape).replace("'", '"') for shape in (x, w))
    return tvm.script.from_source(SOURCE.format(x=next(quoted), w=next(quoted), dtype=dtype, out=out))


def values(shape, dtype):
    if dtype == "bfloat16":
        return RNG.standard_normal(shape).astype(ml_dtypes.bfloat16)
    kind = np.iinfo(dtype)
    return RNG.choice(np.array([kind.min, kind.min + 1, 0, 1, kind.max - 1, kind.max], dtype), shape)


def check(actual, x, w):
    if x.dtype != ml_dtypes.bfloat16:
        np.testing.assert_array_equal(actual, (x.astype("int64") @ w.astype("int64")).astype("int32"))
        return
    wide, others = x.astype("float64"), w.astype("float64")
    expected = wide @ others
    bound = (x.shape[-1] + 1) * 2.0**-24 * (np.abs(wide) @ np.abs(others))
    if actual.dtype == ml_dtypes.bfloat16:
        bound += 2.0**-8 * (np.abs(expected) + bound)
    assert actual.shape == expected.shape
    assert (np.abs(actual.astype("float64") - expected) <= bound).all()


SHAPES = {
    "rows": (("n", 67), (67, 100), ROWS),
    "depth": ((25, "n"), ("n", 16), DEPTHS),
    "columns": ((3, 5), (5, "n"), ({"n": 0}, {"n": 1}, {"n": 83})),
    "one": ((1, 9), (9, 70), ({},)),
    "column": ((33, 3), (3, 1), ({},)),
    "batch": (("n", 2, 6), (6, 17), ({"n": 0}, {"n": 1}, {"n": 13})),
    "batches": ((2, "n", 8), (2, 8, 33), ({"n": 1}, {"n": 25})),
}


PRODUCTS = [
    ("llvm", "bfloat16", "float32", ("rows", "depth", "columns", "one", "batch", "batches")),
    ("llvm", "bfloat16", "bfloat16", ("columns", "one")),
    ("llvm", "int8", "int32", ("rows", "depth", "columns", "column")),
    ("llvm", "uint8", "int32", ("depth", "one")),
    *((target, "bfloat16", "bfloat16", ("rows",)) for target in TARGETS[1:]),
    *((target, "int8", "int32", ("one",)) for target in TARGETS[1:]),
    *((target, "int16", "int32", ("rows", "depth", "columns", "one")) for target in TARGETS[-1:]),
]


@thinned(("target", "dtype", "out", "names"), PRODUCTS, lambda case: case[0])
def test_products(target, dtype, out, names):
    for x, w, sizes in (SHAPES[name] for name in names):
        main = relax.build(product(x, w, dtype, out), target=target)["main"]
        for size in sizes:
            array = [values([size.get(d, d) for d in shape], dtype) for shape in (x, w)]
            check(np.asarray(main(*array)), *array)


TURNED = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{dtype}"), w: R.Tensor({w}, "{dtype}")):
        with R.dataflow():
            t = R.permute_dims(w, axes={axes})
            y = R.matmul(x, t, out_dtype="{out}")
            R.output(y)
        return y
"""
TURNED_SHAPES = {
    "rows": (("n", 90), (70, 90), ({"n": 0}, {"n": 1}, {"n": 30})),
    "depth": ((25, "n"), (33, "n"), ({"n": 0}, {"n": 3}, {"n": 64}, {"n": 135})),
    "columns": ((5, 64), ("n", 64), ({"n": 0}, {"n": 7}, {"n": 83})),
    "few columns": ((3, 130), (5, 130), ({},)),
    "batches": ((2, "n", 64), (2, 20, 64), ({"n": 1}, {"n": 17})),
}


@only_full
@pytest.mark.parametrize(
    ("dtype", "out", "names"),
    [
        ("bfloat16", "float32", TURNED_SHAPES),
        ("bfloat16", "bfloat16", ("few columns",)),
        ("int8", "int32", ("depth",)),
    ],
)
def test_transposed_products(dtype, out, names):
    """Squares that are turned around, and what is left of them on both sides."""
    for x, w, sizes in (TURNED_SHAPES[name] for name in names):
        axes = [*range(len(w) - 2), len(w) - 1, len(w) - 2]
        quoted = {name: str(shape).replace("'", '"') for name, shape in (("x", x), ("w", w))}
        module = tvm.script.from_source(TURNED.format(**quoted, dtype=dtype, axes=axes, out=out))
        main = relax.build(module)["main"]
        for size in sizes:
            a, b = (values([size.get(d, d) for d in shape], dtype) for shape in (x, w))
            check(np.asarray(main(a, b)), a, np.swapaxes(b, -1, -2))


CAUSAL = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(
        q: R.Tensor((1, "n", 2, 64), "bfloat16"),
        k: R.Tensor((1, "n", 2, 64), "bfloat16"),
        v: R.Tensor((1, "n", 2, 64), "bfloat16"),
    ):
        with R.dataflow():
            y = R.nn.attention(q, k, v, causal_mask="TopLeft")
            R.output(y)
        return y
"""


@only_full
def test_sums_whose_length_is_known_when_they_run():
    """Those of attention with a mask; scores and weights are rounded to bfloat16."""
    main = relax.build(tvm.script.from_source(CAUSAL))["main"]
    for n in (1, 7, 40, 130):
        q, k, v = (values((1, n, 2, 64), "bfloat16") for _ in range(3))
        wide = [x.astype("float64") for x in (q, k, v)]
        scores = np.where(np.tril(np.ones((n, n))) > 0, np.einsum("bihd,bjhd->bhij", *wide[:2]) / 8, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        expected = np.einsum("bhij,bjhd->bihd", weights / weights.sum(-1, keepdims=True), wide[2])
        np.testing.assert_allclose(np.asarray(main(q, k, v)).astype("float64"), expected, atol=0.1)


MIXED = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def dot(a: T.handle, B: T.Buffer({shape}, "{b}"), c: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 10), "{a}")
        C = T.match_buffer(c, (n, 40), "int32")
        for i, j, k in T.grid(n, 40, 10):
            with T.block("dot"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[{place}])

    @R.function
    def main(x: R.Tensor(("n", 10), "{a}"), w: R.Tensor({shape}, "{b}")):
        n = T.int64()
        y = R.call_tir(Module.dot, (x, w), out_sinfo=R.Tensor((n, 40), "int32"))
        return y
"""


@only_full
@pytest.mark.parametrize(
    ("a", "b", "shape", "place"),
    [
        ("uint8", "int8", (10, 40), "vk, vj"),
        ("int8", "uint8", (10, 40), "vk, vj"),
        ("int8", "int8", (40, 10), "vj, vk"),
    ],
    ids=["unsigned first", "signed first", "transposed"],
)
def test_bytes_in_tir(a, b, shape, place):
    module = tvm.script.from_source(MIXED.format(a=a, b=b, shape=shape, place=place))
    main = relax.build(module)["main"]
    for n in (0, 1, 30):
        x, w = values((n, 10), a), values(shape, b)
        check(np.asarray(main(x, w)), x, w if shape[0] == 10 else w.T)


def test_sums_of_bytes_wrap():
    """As integers do: 140 000 products of -128 * -128 are more than an int32 holds."""
    deep = 140_000
    main = relax.build(product((2, deep), (deep, 16), "int8", "int32"))["main"]
    x, w = np.full((2, deep), -128, "int8"), np.full((deep, 16), -128, "int8")
    assert (np.asarray(main(x, w)) == np.int64(deep << 14).astype("int32")).all()


QUANTIZED = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 32), "int8"), s: R.Tensor((32,), "float32")):
        with R.dataflow():
            q = R.quantize(x, R.const(0.05, "float32"), R.const(3, "int8"), axis=1, out_dtype="int8")
            h = R.matmul(q, w, out_dtype="int32")
            y = R.dequantize(h, s, R.const(5, "int32"), axis=1, out_dtype="float32")
            R.output(y)
        return y
"""


@only_full
@pytest.mark.parametrize("target", TARGETS)
def test_between_quantize_and_dequantize(target):
    main = relax.build(tvm.script.from_source(QUANTIZED), target=target)["main"]
    w, s = values((64, 32), "int8"), RNG.random(32, "float32")
    for n in (0, 1, 31):
        x = RNG.standard_normal((n, 64)).astype("float32") * 4
        q = np.clip(np.round(x / np.float32(0.05)) + 3, -128, 127).astype("int64")
        result = np.asarray(main(x, w, s))
        np.testing.assert_array_equal(result, (q @ w.astype("int64") - 5).astype("float32") * s)


@pytest.mark.parametrize("out", ["float32", "bfloat16"])
def test_what_to_mixed_precision_makes(out):
    source = SOURCE.format(x='("n", 40)', w="(40, 24)", dtype="float32", out="void")
    half = ToMixedPrecision(dtype="bfloat16", out_dtype=out)(tvm.script.from_source(source))
    main = relax.build(half)["main"]
    x, w = (RNG.standard_normal(shape).astype("float32") for shape in ((26, 40), (40, 24)))
    result = np.asarray(main(x, w)).astype(ml_dtypes.bfloat16 if out == "bfloat16" else "float32")
    check(result, x.astype(ml_dtypes.bfloat16), w.astype(ml_dtypes.bfloat16))


def test_special_numbers():
    """Infinities and NaN reach the elements that they belong to, and no others."""
    main = relax.build(product((25, 5), (5, 33), "bfloat16", "float32"))["main"]
    x, w = (np.ones(shape, ml_dtypes.bfloat16) for shape in ((25, 5), (5, 33)))
    x[3, 4], x[7, 1], w[0, 32] = np.inf, np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        expected = x.astype("float32") @ w.astype("float32")
    np.testing.assert_array_equal(np.asarray(main(x, w)), expected)


@pytest.mark.skipif(not HAS_BF16, reason="this machine has no avx512bf16")
def test_the_instruction_takes_denormals_for_zero():
    main = relax.build(product((2, 2), (2, 16), "bfloat16", "float32"))["main"]
    x, w = np.full((2, 2), 2.0**-130, ml_dtypes.bfloat16), np.ones((2, 16), ml_dtypes.bfloat16)
    assert (np.asarray(main(x, w)) == 0).all()
    main = relax.build(product((2, 2), (2, 16), "bfloat16", "float32"), target="llvm -mcpu=x86-64-v4")["main"]
    assert (np.asarray(main(x, w)) == 2.0**-129).all()


def assembly(dtype, out, cpu, rows=48):
    target = f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}"
    module = module_op(product((rows, 128), (128, 64), dtype, out))
    context = Context()
    for step in pipeline_passes("default-cpu", target):
        step.apply(context, module)
    return emit_assembly(print_llvm(module), Target(target))


@thinned(
    ("dtype", "out", "instruction"),
    [
        ("bfloat16", "float32", "vdpbf16ps"),
        ("bfloat16", "bfloat16", "vdpbf16ps"),
        ("int8", "int32", "vpdpbusd"),
        ("uint8", "int32", "vpdpbusd"),
    ],
    2,
)
def test_instructions(dtype, out, instruction):
    """Tiles stay in registers: not one instruction touches the stack between products."""
    lines = assembly(dtype, out, "cooperlake").splitlines()
    places = [at for at, line in enumerate(lines) if instruction in line]
    assert len(places) >= 24
    assert all("%zmm" in lines[at] for at in places)
    assert not any("(%rsp)" in line for line in lines[places[0] : places[-1]])
    assert instruction not in assembly(dtype, out, "x86-64-v4")


@pytest.mark.parametrize("out", ["float32", "bfloat16"])
@pytest.mark.parametrize("cpu", ["x86-64-v4", "haswell"])
def test_without_the_instruction_vectors_are_widened(cpu, out):
    text = assembly("bfloat16", out, cpu)
    assert ("zmm" if cpu == "x86-64-v4" else "ymm") in next(x for x in text.splitlines() if "vfmadd231ps" in x)
    assert re.search(r"\tv(mul|add|fn?madd\w+)ss|truncsfbf2", text) is None


def paired(shape, large=()):
    """Weights whose pairs do not fit as they stand, but in another order."""
    matrix = np.clip(np.round(RNG.standard_normal(shape) * 36), -127, 127).astype("int8")
    matrix[list(large)] = RNG.choice(np.array([-128, 127], "int8"), (len(large), *shape[1:]))
    return matrix


def both_bytes(depth, columns, rows=("n",)):
    return tvm.script.from_source(
        SOURCE.replace('w: R.Tensor({w}, "{dtype}")', 'w: R.Tensor({w}, "int8")').format(
            x=str((*rows, depth)).replace("'", '"'), w=(depth, columns), dtype="uint8", out="int32"
        )
    )


@pytest.mark.skipif("avx2" not in Target().features, reason="this machine has no AVX2")
@pytest.mark.parametrize(("depth", "columns"), [(16, 1), (16, 16), (48, 24), (96, 40), (32, 70)])
def test_pairs_of_bytes_are_exact(depth, columns):
    """`vpmaddubsw` would saturate for neighbours; at every number of rows, of the extremes of bytes."""
    weights = paired((depth, columns))
    mod = relax.transform.BindParams("main", {"w": weights})(both_bytes(depth, columns))
    main = relax.build(mod, target="llvm -mcpu=haswell")["main"]
    for n in (0, 1, 3, 4, 9):
        for x in (values((n, depth), "uint8"), np.full((n, depth), 255, "uint8")):
            check(np.asarray(main(x)), x, weights)


def test_pairs_of_bytes_are_rearranged_in_registers():
    """AVX2: 16 bytes of a row are rearranged for each of four steps, and two products are one instruction.

    Nothing is widened. The 16 bytes may wait on the stack for the next step, where one load costs as much as another.
    """
    mod = relax.transform.BindParams("main", {"w": paired((64, 64))})(both_bytes(64, 64, (32,)))
    op, context, target = module_op(mod), Context(), "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"
    for step in pipeline_passes("default-cpu", target):
        step.apply(context, op)
    lines = emit_assembly(print_llvm(op), Target(target)).splitlines()
    places = [at for at, line in enumerate(lines) if "vpmaddubsw" in line]
    assert len(places) == 4 * 8 and sum("vpshufb" in line for line in lines) == 4 * 4
    kept = [line for line in lines[places[0] : places[-1]] if "(%rsp)" in line and "mm" in line]
    assert len(kept) < len(places) // 2


def test_pairs_of_bytes_need_the_promise():
    """Weights of which no pairs fit are not multiplied so."""
    mod = relax.transform.BindParams("main", {"w": np.full((64, 64), 127, "int8")})(both_bytes(64, 64, (32,)))
    op, context, target = module_op(mod), Context(), "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"
    for step in pipeline_passes("default-cpu", target):
        step.apply(context, op)
    assert "vpmaddubsw" not in emit_assembly(print_llvm(op), Target(target))
