"""Convolutions of bfloat16 and of bytes by the rule `dot_products`: what they give, with kernels constant and not.

bfloat16 is compared with float64 on the same numbers, under the bound that docs/mixed_precision.md states; bytes have
to be exact, at their extremes too.
"""

import ml_dtypes
import numpy as np
import pytest
from strength import crossed, thinned
from xdsl.context import Context

import tirax.tvm_api as tvm
from tirax.dialects import tir
from tirax.dialects.names import name_of
from tirax.driver.pipelines import OPTIMIZE, make_passes, pipeline_passes
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import module_op
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import emit_assembly
from tirax.target import Target
from tirax.tvm_api import relax

RNG = np.random.default_rng(11)
HAS_AVX2 = {"avx2", "fma"} <= Target().features
BRAINS, BYTES, MIXED = ("bfloat16", "bfloat16", "float32"), ("int8", "int8", "int32"), ("uint8", "int8", "int32")
SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({x}, "{a}"), w: R.Tensor({w}, "{b}")):
        with R.dataflow():
            y = R.nn.conv2d(x, w, data_layout="{data}", kernel_layout="{kernel}", out_dtype="{out}", {options})
            R.output(y)
        return y
"""


def convolution(x, w, kinds, data="NHWC", kernel="HWIO", **options):
    """A module of one convolution; `x` and `w` by the letters of their dimensions."""
    a, b, out = kinds
    shapes = [str(tuple(inputs[c] for c in order)).replace("'", '"') for inputs, order in ((x, data), (w, kernel))]
    inputs = ", ".join(f"{name}={value}" for name, value in options.items())
    source = SOURCE.format(x=shapes[0], w=shapes[1], a=a, b=b, data=data, kernel=kernel, out=out, options=inputs)
    return tvm.script.from_source(source)


def values(shape, dtype):
    if dtype == "bfloat16":
        return RNG.standard_normal(shape).astype(ml_dtypes.bfloat16)
    kind = np.iinfo(dtype)
    return RNG.choice(np.array([kind.min, kind.min + 1, 0, 1, kind.max - 1, kind.max], dtype), shape)


def reference(x, w, data, kernel, strides=1, padding=0, dilation=1, groups=1):
    x = x.astype("float64").transpose([data.index(c) for c in "NHWC"])
    w = between_groups(w.astype("float64").transpose([kernel.index(c) for c in "HWIO"]), groups)
    x = np.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
    h, v = ((e - dilation * (k - 1) - 1) // strides + 1 for e, k in zip(x.shape[1:3], w.shape, strict=False))
    total = np.zeros((x.shape[0], h, v, w.shape[3]))
    for i, j in np.ndindex(*w.shape[:2]):
        rows, columns = (
            slice(d * dilation, d * dilation + strides * (n - 1) + 1, strides) for d, n in ((i, h), (j, v))
        )
        total += np.einsum("nhwc,co->nhwo", x[:, rows, columns], w[i, j])
    return total.transpose(["NHWC".index(c) for c in data])


def between_groups(w, groups):
    """Kernels of groups as those of one, with zeros between the groups."""
    (*window, channels, outputs), each = w.shape, w.shape[3] // groups
    full = np.zeros((*window, groups * channels, outputs))
    for g in range(groups):
        here = slice(g * each, (g + 1) * each)
        full[:, :, g * channels : (g + 1) * channels, here] = w[..., here]
    return full


def check(actual, x, w, data, kernel, **options):
    expected = reference(x, w, data, kernel, **options)
    assert actual.shape == expected.shape
    if actual.dtype == np.int32:
        np.testing.assert_array_equal(actual, expected.astype("int64").astype("int32"))
        return
    count = np.prod([w.shape[kernel.index(c)] for c in "HWI"])
    bound = (count + 1) * 2.0**-24 * reference(np.abs(x), np.abs(w), data, kernel, **options)
    if actual.dtype == ml_dtypes.bfloat16:
        bound += 2.0**-8 * (np.abs(expected) + bound)
    assert (np.abs(actual.astype("float64") - expected) <= bound).all()


def image(n, h, w, c):
    return {"N": n, "H": h, "W": w, "C": c}


def taps(h, w, i, o):
    return {"H": h, "W": w, "I": i, "O": o}


CASES = {
    "window": (image(2, 7, 9, 5), taps(3, 3, 5, 67), BRAINS, "NHWC", "HWIO", {"padding": 1}),
    "few channels": (image(1, 9, 9, 3), taps(3, 3, 3, 7), BYTES, "NHWC", "HWIO", {"strides": 2}),
    "dilated": (image(1, 7, 8, 16), taps(3, 2, 16, 130), MIXED, "NHWC", "OHWI", {"dilation": 2}),
    "one tap": (image(1, 5, 5, 18), taps(1, 1, 18, 96), BYTES, "NHWC", "HWIO", {}),
    "one channel": (image(1, 5, 6, 1), taps(2, 2, 1, 20), BYTES, "NHWC", "HWIO", {}),
    "unsigned": (image(1, 6, 4, 21), taps(3, 3, 21, 33), ("uint8", "uint8", "int32"), "NHWC", "HWIO", {}),
    "stored as bfloat16": (image(1, 6, 4, 21), taps(3, 3, 21, 33), ("bfloat16",) * 3, "NHWC", "HWIO", {"padding": 1}),
    "of words": (image(1, 7, 8, 5), taps(3, 3, 5, 40), ("int16", "int16", "int32"), "NHWC", "HWIO", {"padding": 1}),
    "channels first": (image(2, 7, 17, 6), taps(3, 3, 6, 14), MIXED, "NCHW", "OIHW", {"padding": 1}),
    "channels first, one tap": (image(1, 5, 14, 7), taps(1, 1, 7, 30), BRAINS, "NCHW", "OIHW", {"strides": 2}),
    "channels first, ordered": (image(1, 6, 20, 9), taps(3, 3, 9, 25), BYTES, "NCHW", "OHWI", {}),
}


def run(x, w, kinds, data, kernel, options, *, constant, target="llvm"):
    module = convolution(x, w, kinds, data, kernel, **options)
    args = [values([x[c] for c in data], kinds[0]), values([w[c] for c in kernel], kinds[1])]
    if constant:
        module = relax.transform.BindParams("main", {"w": args[1]})(module)
    result = relax.build(module, target=target)["main"](*args[: 1 if constant else 2])
    check(np.asarray(result), *args, data, kernel, **options)


@thinned("case", list(CASES), 2)
def test_constant_kernels(case):
    run(*CASES[case], constant=True)


@pytest.mark.parametrize("case", ["window", "few channels", "dilated", "channels first, ordered"])
def test_kernels_that_are_arguments(case):
    run(*CASES[case], constant=False)


WORDS = ("uint8", "int16", "int32")
GROUPS = {
    "several of four": (image(1, 5, 7, 32), taps(3, 3, 4, 32), MIXED, "NHWC", "HWIO", {"groups": 8, "padding": 1}),
    "wide ones": (image(1, 5, 4, 15), taps(3, 3, 5, 240), BYTES, "NHWC", "OHWI", {"groups": 3, "strides": 2}),
    "outputs of each channel": (image(1, 4, 4, 16), taps(2, 2, 1, 32), BYTES, "NHWC", "HWIO", {"groups": 16}),
    "narrow ones": (image(1, 5, 9, 12), taps(3, 3, 6, 10), MIXED, "NHWC", "HWIO", {"groups": 2, "dilation": 2}),
    "of words": (image(1, 4, 9, 12), taps(3, 3, 6, 10), WORDS, "NHWC", "HWIO", {"groups": 2}),
    "depthwise": (image(2, 9, 21, 40), taps(3, 3, 1, 40), MIXED, "NHWC", "HWIO", {"groups": 40, "padding": 1}),
    "depthwise, strides": (
        image(1, 9, 20, 40), taps(5, 5, 1, 40), BYTES, "NHWC", "HWIO", {"groups": 40, "padding": 2, "strides": 2}
    ),
    "depthwise, words": (image(1, 6, 9, 17), taps(3, 3, 1, 17), WORDS, "NHWC", "HWIO", {"groups": 17, "dilation": 2}),
    "depthwise, channels first": (
        image(1, 6, 19, 5), taps(3, 3, 1, 5), MIXED, "NCHW", "OIHW", {"groups": 5, "padding": 1, "strides": 2}
    ),
}  # fmt: skip


@thinned("case", GROUPS, 2)
def test_groups(case):
    run(*GROUPS[case], constant=True)


def test_groups_stand_in_panels():
    """Four groups are one with as many outputs as a vector has lanes; products of bytes are instructions."""
    x, w, kinds, data, kernel, options = GROUPS["several of four"]
    module = convolution(x, w, kinds, data, kernel, **options)
    module = relax.transform.BindParams("main", {"w": values([w[c] for c in kernel], "int8")})(module)
    text = assembly(module, "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server -vector-width=512")
    assert "vpdpbusd" in text and "vpmulld" not in text


def test_depthwise_converts_what_windows_share_once():
    """Eight neighbours of three taps each are ten vectors of the image, and 24 products of words."""
    channels = 16
    module = convolution(image(1, 3, 10, channels), taps(1, 3, 1, channels), MIXED, groups=channels)
    module = relax.transform.BindParams("main", {"w": values((1, 3, 1, channels), "int8")})(module)
    text = assembly(module, "llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server -vector-width=512")
    counts = {name: text.count(name) for name in ("vpmaddwd", "vpdpwssd", "vpaddd", "vpmovzxbd", "vpmovsxbd")}
    assert counts == {"vpmaddwd": 8, "vpdpwssd": 16, "vpaddd": 0, "vpmovzxbd": 10, "vpmovsxbd": 3}


@pytest.mark.parametrize("target", ["llvm", *(["llvm -mcpu=x86-64-v3"] if HAS_AVX2 else [])])
def test_symbolic_images_of_groups(target):
    options = {"groups": 20, "padding": 1}
    module = convolution(image("n", "h", "v", 20), taps(3, 3, 1, 20), MIXED, **options)
    w = values((3, 3, 1, 20), "int8")
    main = relax.build(relax.transform.BindParams("main", {"w": w})(module), target=target)["main"]
    for n, h, v in ((0, 4, 4), (1, 1, 1), (2, 2, 30)):
        x = values((n, h, v, 20), "uint8")
        check(np.asarray(main(x)), x, w, "NHWC", "HWIO", **options)


@pytest.mark.skipif("avx512vl" not in Target().features, reason="this machine has no vectors of 256 bits of AVX-512")
@thinned("case", ["window", "few channels", "dilated"], 1)
def test_in_narrower_vectors(case):
    run(*CASES[case], constant=True, target="llvm -vector-width=256")
    run(*CASES[case], constant=False, target="llvm -vector-width=256")


def test_on_several_threads():
    case = (image(1, 30, 24, 32), taps(3, 3, 32, 64), MIXED, "NHWC", "HWIO", {"padding": 1})
    run(*case, constant=True, target="llvm -num-cores=2")
    run(*case, constant=False, target="llvm -num-cores=2")


@pytest.mark.skipif(not HAS_AVX2, reason="this machine has no AVX2")
@thinned("case", ["window", "stored as bfloat16", "few channels", "of words"], 2)
def test_without_the_instructions(case):
    run(*CASES[case], constant=True, target="llvm -mcpu=x86-64-v3")


@crossed("kinds, constant", [BRAINS, BYTES], [True, False])
def test_sizes_that_are_symbolic(kinds, constant):
    module = convolution(image("n", "h", "v", 6), taps(3, 3, 6, 20), kinds, padding=1)
    w = values((3, 3, 6, 20), kinds[1])
    if constant:
        module = relax.transform.BindParams("main", {"w": w})(module)
    main = relax.build(module)["main"]
    for n, h, v in ((0, 4, 4), (1, 1, 1), (2, 5, 30)):
        x = values((n, h, v, 6), kinds[0])
        check(np.asarray(main(x) if constant else main(x, w)), x, w, "NHWC", "HWIO", padding=1)


NEON = "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr=+dotprod,+i8mm"
VEX, HASWELL = "llvm -mcpu=alderlake", "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell -num-cores=1"
SMALL = (image(1, 3, 6, 5), taps(2, 2, 5, 9))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(
    ("target", "kinds"),
    [
        (NEON, BYTES),
        (NEON, ("uint8", "uint8", "int32")),
        (NEON, MIXED),
        (NEON, ("int8", "uint8", "int32")),
        (VEX, BYTES),
        (HASWELL, ("int16", "int16", "int32")),
    ],
)
def test_other_targets_as_the_interpreter_says(target, kinds, constant):
    """The loops mean the same, with what their instructions are said to do."""
    before = convolution(*SMALL, kinds)
    if constant:
        before = relax.transform.BindParams("main", {"w": values((2, 2, 5, 9), kinds[1])})(before)
    after = module_op(before).clone()
    for step in make_passes((*OPTIMIZE, "default-schedule"), target):
        step.apply(Context(), after)
    assert any(isinstance(op, tir.CallLLVMIntrinOp) for op in after.walk())

    def inputs(func, *_):
        shapes = [[d.constant for d in p.type.dims] for p in func.params]
        return [values(shape, kind) for shape, kind in zip(shapes, kinds, strict=False)]

    assert_same_meaning(module_op(before), after, inputs=inputs)


def test_padding_of_bfloat16_needs_no_library():
    """LLVM takes apart what it loads with masks, and would convert the parts by a function that is not there."""
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=haswell"
    assert "truncsfbf2" not in assembly(convolution(image(1, 6, 6, 5), taps(3, 3, 5, 9), BRAINS, padding=1), target)


def assembly(module, target):
    op, context = module_op(module), Context()
    for step in pipeline_passes("default-cpu", target):
        step.apply(context, op)
    return emit_assembly(print_llvm(op), Target(target))


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize(("kinds", "instruction"), [(BRAINS, "vdpbf16ps"), (BYTES, "vpdpbusd"), (MIXED, "vpdpbusd")])
def test_tiles_stay_in_registers(kinds, instruction, constant):
    """Not one instruction between the products touches the stack, but for what the loops around them count."""
    module = convolution(image(1, 8, 24, 32), taps(3, 3, 32, 64), kinds)
    if constant:
        module = relax.transform.BindParams("main", {"w": values((3, 3, 32, 64), kinds[1])})(module)
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=cooperlake -num-cores=1"
    lines = assembly(module, target).splitlines()
    places = [at for at, line in enumerate(lines) if instruction in line]
    assert len(places) >= 16 and all("%zmm" in lines[at] for at in places)
    assert not any("(%rsp)" in line and "mm" in line for line in lines[places[0] : places[-1]])


@pytest.mark.parametrize("kinds", [BYTES, MIXED])
def test_bytes_without_avx512(kinds):
    """AVX-VNNI: vectors of 256 bits, and 16 registers, which the sums of a tile do not leave either."""
    module = convolution(image(1, 8, 24, 32), taps(3, 3, 32, 64), kinds)
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=alderlake -num-cores=1"
    lines = assembly(module, target).splitlines()
    places = [at for at, line in enumerate(lines) if "vpdpbusd" in line]
    assert len(places) >= 8 and all("%ymm" in lines[at] for at in places)
    assert not any("(%rsp)" in line and "mm" in line for line in lines[places[0] : places[-1]])


def test_words_stay_in_registers():
    """AVX2: pairs of words, whose sums are added to those of a tile."""
    kinds = ("int16", "int16", "int32")
    module = convolution(image(1, 8, 24, 32), taps(3, 3, 32, 64), kinds)
    module = relax.transform.BindParams("main", {"w": values((3, 3, 32, 64), "int16")})(module)
    lines = assembly(module, HASWELL).splitlines()
    places = [at for at, line in enumerate(lines) if "vpmaddwd" in line]
    assert len(places) >= 8 and all("%ymm" in lines[at] for at in places)
    assert not any("(%rsp)" in line and "mm" in line for line in lines[places[0] : places[-1]])


@pytest.mark.parametrize(
    ("kinds", "instruction", "features"),
    [
        (BYTES, "sdot", "+dotprod"),
        (("uint8", "uint8", "int32"), "udot", "+dotprod"),
        (MIXED, "usdot", "+i8mm"),
        (("int8", "uint8", "int32"), "usdot", "+i8mm"),
    ],
)
def test_bytes_on_neon(kinds, instruction, features):
    """Looked at only: tiles of 16 columns and more, the sums of which stay in registers."""
    module = convolution(image(1, 8, 24, 32), taps(3, 3, 32, 64), kinds)
    bound = relax.transform.BindParams("main", {"w": values((3, 3, 32, 64), kinds[1])})(module)
    target = f"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -mattr={features} -num-cores=1"
    lines = assembly(bound, target).splitlines()
    places = [at for at, line in enumerate(lines) if f"\t{instruction}\t" in line]
    assert len(places) >= 16 and all(".16b" in lines[at] for at in places)
    assert not any("[sp" in line and "\tq" in line for line in lines[places[0] : places[-1]])


@pytest.mark.parametrize("kinds", [BRAINS, MIXED])
def test_constant_kernels_are_not_packed_again(kinds):
    """The only buffers are those of the padded image and of tiles."""
    target = "llvm -mcpu=cooperlake -vector-width=512"
    module = convolution(image(1, 8, 24, 32), taps(3, 3, 32, 64), kinds, padding=1)
    bound = relax.transform.BindParams("main", {"w": values((3, 3, 32, 64), kinds[1])})(module)
    op = module_op(bound).clone()
    for step in make_passes((*OPTIMIZE, "default-schedule"), target):
        step.apply(Context(), op)
    large = [a for a in op.walk() if isinstance(a, tir.AllocBufferOp) and a.results[0].type.scope.data == "global"]
    assert len(large) == 1


@pytest.mark.parametrize(("channels", "asks"), [(512, True), (32, False)])
def test_panels_that_are_large_are_prefetched_while_the_one_before_is_read(channels, asks):
    target = "llvm -mcpu=icelake-server -vector-width=512 -l2-size=1048576"
    mod = convolution(
        {"N": 1, "H": 3, "W": 7, "C": channels}, {"H": 1, "W": 1, "I": channels, "O": channels * 2}, MIXED
    )
    weights = {"w": np.ones((1, 1, channels, channels * 2), "int8")}
    op = module_op(relax.transform.BindParams("main", weights)(mod))
    names = (*OPTIMIZE, "lower-narrow-types", "default-schedule")
    for step in make_passes(names, target):
        step.apply(Context(), op)
    effects = [call.func.data for call in op.walk() if isinstance(call, tir.CallLLVMEffectOp)]
    assert set(effects) == ({"llvm.prefetch"} if asks else set())


@pytest.mark.parametrize(("size", "asks"), [(7, True), (14, False)])
def test_pairs_of_bytes_ask_for_panels_that_few_windows_read(size, asks):
    module = convolution(image(1, size, size, 256), taps(3, 3, 256, 64), MIXED, padding=1)
    bound = relax.transform.BindParams("main", {"w": np.ones((3, 3, 256, 64), "int8")})(module)
    op = module_op(bound)
    for step in make_passes((*OPTIMIZE, "lower-narrow-types", "default-schedule"), f"{HASWELL} -l2-size=524288"):
        step.apply(Context(), op)
    assert any(isinstance(call, tir.CallLLVMEffectOp) for call in op.walk()) == asks


WORDS = ("int16", "int16", "int32")
ROWS_IN_BLOCKS = {
    "one tap": (image(1, 12, 14, 32), taps(1, 1, 32, 64), {}),
    "window": (image(1, 12, 9, 16), taps(3, 3, 16, 40), {"padding": 1}),
    "strides": (image(1, 24, 10, 16), taps(3, 3, 16, 32), {"padding": 1, "strides": 2}),
}


@pytest.mark.parametrize("case", ROWS_IN_BLOCKS)
def test_rows_that_do_not_fit_the_cache_are_in_blocks(case):
    """All strips of columns pass over a block of rows before the next block; weights that are large have no blocks."""
    x, w, options = ROWS_IN_BLOCKS[case]
    module = convolution(x, w, WORDS, **options)
    weights = values(tuple(w.values()), "int16")
    bound = relax.transform.BindParams("main", {"w": weights})(module)

    def blocks(size):
        op = module_op(bound).clone()
        for step in make_passes((*OPTIMIZE, "default-schedule"), f"{HASWELL} -l2-size={size}"):
            step.apply(Context(), op)
        names = [name_of(loop.loop_var) or "" for loop in op.walk() if isinstance(loop, tir.ForOp)]
        return [name for name in names if name.endswith("block")]

    assert blocks(1 << 15) and not blocks(1 << 20) and not blocks(1 << 9)
    if HAS_AVX2:
        array = values(tuple(x.values()), "int16")
        result = np.asarray(relax.build(bound, target="llvm -mcpu=haswell -l2-size=32768")["main"](array))
        check(result, array, weights, "NHWC", "HWIO", **options)


def test_pairs_of_bytes_are_summed_step_by_step():
    """Four steps stand in a row; each sum of a tile is added to by its products at once: no sums of sums."""
    module = convolution(image(1, 8, 8, 32), taps(3, 3, 32, 32), MIXED)
    weights = RNG.integers(-60, 61, (3, 3, 32, 32)).astype("int8")
    bound = relax.transform.BindParams("main", {"w": weights})(module)
    if HAS_AVX2:
        array = values((1, 8, 8, 32), "uint8")
        check(
            np.asarray(relax.build(bound, target="llvm -mcpu=haswell")["main"](array)), array, weights, "NHWC", "HWIO"
        )
    lines = assembly(bound, HASWELL).splitlines()
    count = {name: sum(name in line for line in lines) for name in ("vpmaddubsw", "vpmaddwd", "vpaddd", "vpshufb")}
    assert count["vpmaddubsw"] == count["vpmaddwd"] == count["vpaddd"] == 2 * count["vpshufb"]
    between = [at for at, line in enumerate(lines) if "vpmaddubsw" in line]
    assert len(between) >= 4 * 6 and not any(
        lines[at].lstrip().startswith("j") for at in range(between[0], between[23])
    )
