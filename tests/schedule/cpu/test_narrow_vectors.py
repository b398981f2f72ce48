"""Every rule for processors without AVX-512: vectors of 256 bits (AVX2) and of 128 (SSE), 16 registers.

One build has all programs; the interpreter says what they mean.
"""

import numpy as np
import pytest
from strength import only_full, thinned

import tirax.tvm_api as tvm
from tirax.interpreter import interpret
from tirax.target import Target
from tirax.tvm_api import relax, tir

op = relax.op
RNG = np.random.default_rng(17)
TARGETS = [
    f"llvm -mcpu={cpu} -num-cores=2"
    for cpu, needs in (("x86-64-v3", {"avx2", "fma"}), ("x86-64-v2", {"sse4.2"}))
    if needs <= Target().features
]
SIZES = (0, 1, 7, 50)

F32, F16, BF16, I8, U8 = "float32", "float16", "bfloat16", "int8", "uint8"
PROGRAMS = {
    "product": (op.matmul, ("n", 70), (70, 45)),
    "product of bytes": (lambda a, b: op.matmul(a, b, out_dtype="int32"), ("n", 35, U8), (35, 20, I8)),
    "product of bfloat16": (lambda a, b: op.matmul(a, b, out_dtype=F32), ("n", 35, BF16), (35, 20, BF16)),
    "panels": (lambda x, w: op.nn.relu(op.matmul(x, op.permute_dims(w))), ("n", 70), (45, 70)),
    "one row": (op.matmul, (1, "n"), ("n", 1100)),
    "matrix times vector": (op.matmul, (45, "n"), ("n",)),
    "window": (lambda x, w: op.nn.conv2d(x, w, padding=1), (1, 5, 9, 11), (7, 5, 3, 3)),
    "depthwise": (lambda x, w: op.nn.conv2d(x, w, padding=1, groups=6), (1, 6, 9, 11), (6, 1, 3, 3)),
    "attention": (lambda x: op.nn.attention(x, x, x, causal_mask="TopLeft"), (1, 33, 2, 20)),
    "softmax": (op.nn.softmax, ("n", 83)),
    "rows": (lambda x: op.nn.gelu(op.nn.rms_norm(x, op.mean(x, axis=[0]), axes=[-1])), (3, "n")),
    "variance": (lambda x: op.variance(x, axis=[0]), (5, "n")),
    "greatest": (lambda x: op.argmax(x, axis=-1), (3, 100)),
    "running sum": (lambda x: op.cumsum(x, axis=-1), (3, "n")),
    "running sum across": (lambda x: op.cumsum(x, axis=0), ("n", 37)),
    "layout": (op.permute_dims, ("n", 41)),
    "layout of bytes": (op.permute_dims, ("n", 41, I8)),
    "joined": (lambda x: op.concat([x, op.negative(x)], axis=-1), (3, "n")),
    "half": (lambda x: op.exp(op.astype(x, F32)), (3, "n", F16)),
    "pool": (lambda x: op.nn.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1)), (1, 5, 14, 17)),
}


def shape_of(spec, n=None):
    return [n if d == "n" and n is not None else d for d in spec if d == "n" or not isinstance(d, str)]


def dtype_of(spec):
    return next((d for d in spec if isinstance(d, str) and d != "n"), F32)


def module():
    builder = relax.BlockBuilder()
    for at, (function, *specs) in enumerate(PROGRAMS.values()):
        n = tir.Var("n", "int64")
        shapes = [[n if d == "n" else d for d in shape_of(spec)] for spec in specs]
        infos = [relax.TensorStructInfo(shape, dtype_of(spec)) for shape, spec in zip(shapes, specs, strict=True)]
        params = [relax.Var(f"a{k}", info) for k, info in enumerate(infos)]
        with builder.function(f"f{at}", params):
            with builder.dataflow():
                result = builder.emit_output(builder.emit(function(*params)))
            builder.emit_func_output(result)
    return builder.get()


def inputs_of(spec, n):
    values = RNG.standard_normal(shape_of(spec, n)) * 3
    dtype = dtype_of(spec)
    return tvm.nd.array(np.abs(values).astype(U8) if dtype == U8 else values.astype(np.float32), dtype=dtype).numpy()


@pytest.fixture(scope="module")
def program():
    return module()


@only_full
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
@thinned("target", TARGETS, 1)
def test_what_they_compute(program, target):
    built = relax.build(program, target=target)
    for at, (name, (_, *specs)) in enumerate(PROGRAMS.items()):
        for n in SIZES if any("n" in spec for spec in specs) else (0,):
            arrays = [inputs_of(spec, n) for spec in specs]
            expected = np.asarray(interpret(program.op, f"f{at}", arrays), dtype=np.float64)
            actual = built[f"f{at}"](*map(tvm.nd.array, arrays)).numpy().astype(np.float64)
            np.testing.assert_allclose(actual, expected, rtol=2e-4, atol=2e-4, err_msg=f"{name}, n = {n}")
