"""Products in registers that hold matrices: what the interpreter says of the loops, and what the processor computes."""

import ml_dtypes
import numpy as np
import pytest
from strength import thinned
from xdsl.context import Context

import tirax.tvm_api as tvm
from tirax.dialects import tir
from tirax.driver.pipelines import OPTIMIZE, make_passes, pipeline_passes
from tirax.interpreter import assert_same_meaning
from tirax.ir.matrix_registers import CONFIGURE, is_tile_instruction
from tirax.ir.passes.transform import module_op
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import emit_assembly
from tirax.target import Target
from tirax.tvm_api import relax

RNG = np.random.default_rng(3)
TARGET = "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=sapphirerapids -num-cores=1"
HERE = pytest.mark.skipif("amx-int8" not in Target().features, reason="this machine has no registers for matrices")
BYTES = [("uint8", "int8"), ("int8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]
BRAINS = ("bfloat16", "bfloat16")

SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{a}"), w: R.Tensor({w}, "{b}")):
        with R.dataflow():
            y = R.{call}
            R.output(y)
        return y
"""
PRODUCT = 'matmul(x, w, out_dtype="{out}")'
WINDOW = (
    'nn.conv2d(x, w, strides={strides}, padding={padding}, data_layout="NHWC", kernel_layout="HWIO", out_dtype="{out}")'
)

PRODUCTS = {
    "one tile": ((16, 64), (64, 32)),
    "two registers of uneven rows": ((25, 128), (128, 64)),
    "tiles of two sizes": ((49, 64), (64, 16)),
    "groups of tiles": ((330, 32), (32, 16)),
    "steps that do not fill a register": ((20, 96), (96, 48)),
    "columns that fill no vector": ((17, 64), (64, 37)),
    "batches": ((3, 9, 64), (64, 32)),
}
WINDOWS = {
    "rows by twos": ((1, 6, 13, 64), (3, 3, 64, 32), 2, 1),
    "rows with what is between": ((1, 9, 9, 32), (3, 3, 32, 32), 1, 0),
    "long rows": ((1, 3, 42, 32), (2, 3, 32, 16), 1, 0),
    "taps as one": ((1, 7, 20, 4), (7, 7, 4, 32), 1, 2),
    "images": ((2, 8, 8, 32), (1, 1, 32, 80), 1, 0),
    "groups": ((1, 4, 12, 128), (1, 1, 64, 32), 1, 0),
}


def source(x, w, call, kinds, **more):
    out = "float32" if kinds == BRAINS else "int32"
    shapes = {name: str(shape).replace("'", '"') for name, shape in (("x", x), ("w", w))}
    text = SOURCE.format(**shapes, a=kinds[0], b=kinds[1], call=call.format(out=out, **more))
    return tvm.script.from_source(text)


def product(name, kinds):
    return source(*PRODUCTS[name], PRODUCT, kinds)


def window(name, kinds):
    x, w, strides, padding = WINDOWS[name]
    call = WINDOW if name != "groups" else WINDOW.replace("nn.conv2d(x, w,", "nn.conv2d(x, w, groups=2,")
    return source(x, w, call, kinds, strides=strides, padding=padding)


def values(shape, dtype):
    if dtype == "bfloat16":
        return RNG.standard_normal(shape).astype(ml_dtypes.bfloat16)
    kind = np.iinfo(dtype)
    return RNG.choice(np.array([kind.min, kind.min + 1, 0, 1, 3, kind.max], dtype), shape)


def bound(module, shape, dtype):
    return relax.transform.BindParams("main", {"w": values(shape, dtype)})(module)


def scheduled(module, target=TARGET):
    after = module_op(module).clone()
    for step in make_passes((*OPTIMIZE, "default-schedule"), target):
        step.apply(Context(), after)
    return after


def tile_instructions(op):
    return [inner.func.data for inner in op.walk() if is_tile_instruction(inner)]


def check_meaning(before, kinds):
    """The loops mean what the program does, by what their instructions are said to do."""
    after = scheduled(before)
    assert any(name.startswith("llvm.x86.tdp") for name in tile_instructions(after))

    def inputs(func, *_):
        return [values([d.constant for d in p.type.dims], kind) for p, kind in zip(func.params, kinds, strict=False)]

    assert_same_meaning(module_op(before), after, inputs=inputs)


CASES = [
    *((product, name, BYTES[0], True) for name in PRODUCTS),
    *((window, name, BYTES[0], True) for name in WINDOWS),
    *((product, "tiles of two sizes", kinds, constant) for kinds in (*BYTES[1:], BRAINS) for constant in (True, False)),
    (window, "rows with what is between", BYTES[1], True),
    (window, "rows by twos", BRAINS, True),
]


@thinned(("make", "name", "kinds", "constant"), CASES, lambda case: (case[0], case[2]))
def test_as_the_interpreter_says(make, name, kinds, constant):
    weights = (PRODUCTS if make is product else WINDOWS)[name][1]
    check_meaning(bound(make(name, kinds), weights, kinds[1]) if constant else make(name, kinds), kinds)


def check(actual, x, w):
    wide = np.float64 if x.dtype == ml_dtypes.bfloat16 else np.int64
    expected = x.astype(wide) @ w.astype(wide)
    if wide is np.int64:
        np.testing.assert_array_equal(actual, expected.astype(np.int32))
        return
    limit = (x.shape[-1] + 1) * 2.0**-24 * (np.abs(x.astype(wide)) @ np.abs(w.astype(wide)))
    assert actual.shape == expected.shape and (np.abs(actual - expected) <= limit).all()


@HERE
@pytest.mark.parametrize("kinds", [*BYTES, BRAINS])
def test_rows_of_an_unknown_number(kinds):
    """Full tiles, tiles of one register, and rows that are vectors."""
    module = bound(source(("n", 192), (192, 80), PRODUCT, kinds), (192, 80), kinds[1])
    weights = next(op for op in module_op(module).walk() if op.name == "relax.constant").value.numpy()
    main = relax.build(module)["main"]
    for n in (0, 1, 15, 16, 31, 32, 53, 130):
        x = values((n, 192), kinds[0])
        check(np.asarray(main(x)), x, weights)


@HERE
@pytest.mark.parametrize("cores", [1, 2])
def test_on_this_processor(cores):
    """Each thread has its registers: many rows are shared out."""
    x, w = values((1000, 128), "uint8"), values((128, 64), "int8")
    module = relax.transform.BindParams("main", {"w": w})(source(x.shape, w.shape, PRODUCT, BYTES[0]))
    main = relax.build(module, target=f"llvm -num-cores={cores}")["main"]
    for _ in range(3):
        check(np.asarray(main(x)), x, w)


@HERE
@thinned("name", list(WINDOWS), 2)
def test_windows_on_this_processor(name):
    x, w, *_ = WINDOWS[name]
    module = bound(window(name, BYTES[0]), w, BYTES[0][1])
    array = values(x, "uint8")
    without = "llvm -mattr=-amx-int8,-amx-tile,-amx-bf16"
    here, vectors = (relax.build(module, target=target)["main"] for target in ("llvm", without))
    np.testing.assert_array_equal(np.asarray(here(array)), np.asarray(vectors(array)))


def assembly(module, target=TARGET):
    op, context = module_op(module), Context()
    for step in pipeline_passes("default-cpu", target):
        step.apply(context, op)
    return emit_assembly(print_llvm(op), Target(target))


def test_the_machine_code():
    """One configuration and one release around all: two steps, each of four products for two groups of columns."""
    text = assembly(bound(product("two registers of uneven rows", BYTES[0]), (128, 64), "int8"))
    counts = {name: text.count(f"\t{name}") for name in ("ldtilecfg", "tilerelease", "tdpbusd", "tilestored")}
    assert counts == {"ldtilecfg": 1, "tilerelease": 1, "tdpbusd": 16, "tilestored": 8} and "vpdpbusd" not in text


FEW = [
    ((3, 64), (64, 32), TARGET),  # rows
    ((32, 12), (12, 32), TARGET),  # steps
    ((32, 65), (65, 32), TARGET),  # a step that is not whole
    ((32, 64), (64, 32), f"{TARGET} -mattr=-amx-int8"),
    ((32, 64), (64, 32), f"{TARGET} -vector-width=256"),
    ((32, 64), (64, 32), TARGET.replace("sapphirerapids", "cooperlake")),
]


@pytest.mark.parametrize(("x", "w", "target"), FEW)
def test_vectors_where_the_registers_would_be_nearly_empty_or_are_none(x, w, target):
    assert not tile_instructions(scheduled(bound(source(x, w, PRODUCT, BYTES[0]), w, "int8"), target))


def test_each_thread_configures_its_own_registers():
    """Loops inside of a configuration stay serial, those around it run on threads."""
    module = bound(source((4000, 256), (256, 64), PRODUCT, BYTES[0]), (256, 64), "int8")
    op = scheduled(module, TARGET.replace("-num-cores=1", "-num-cores=4"))
    (step,) = make_passes(("parallelize-loops",), TARGET.replace("-num-cores=1", "-num-cores=4"))
    step.apply(Context(), op)
    parallel = [loop for loop in op.walk() if isinstance(loop, tir.ForOp) and loop.kind is tir.ForKind.PARALLEL]
    assert parallel
    for loop in parallel:
        inside = tile_instructions(loop)
        assert not inside or inside[0] == CONFIGURE


MIXED_INDICES = """
from tvm.script import ir as I, tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((64, 64), "uint8"), B: T.Buffer((64, 32), "int8"), C: T.Buffer((64, 32), "int32")):
        T.func_attr({"tir.noalias": True})
        for i, j, k in T.grid(64, T.int64(32), T.int64(64)):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = 0
                C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
"""


def test_indices_of_two_types():
    check_meaning(tvm.script.from_source(MIXED_INDICES), (*BYTES[0], "int32"))
