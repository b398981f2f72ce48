"""Softmax and norms of float16 and bfloat16 are computed in float32 and rounded once, compared with float64."""

import ml_dtypes
import numpy as np
from strength import crossed

from tirax.driver.build import build
from tirax.tvm_api.script import from_source

WIDTH = 5000
HALF_A_STEP = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
"""What rounding to the nearest takes off or adds at most, as a part of a number."""
DENORMAL = {"float16": 2.0**-25, "bfloat16": 0.0}


def powers(x, axis):
    return np.exp(x - x.max(axis, keepdims=True))


def softmax(x, axis=-1):
    return powers(x, axis) / powers(x, axis).sum(axis, keepdims=True)


def normalized(x, axis):
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


CASES = {
    "softmax": ("R.nn.softmax(x)", softmax),
    "softmax of columns": ("R.nn.softmax(x, axis=1)", lambda x: softmax(x, 1)),
    "log_softmax": ("R.nn.log_softmax(x)", lambda x: np.log(softmax(x))),
    "layer_norm": ("R.nn.layer_norm(x, ones, zeros, axes=[-1])", lambda x: normalized(x, -1)),
    "rms_norm": (
        "R.nn.rms_norm(x, ones, axes=[-1])",
        lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5),
    ),
    "group_norm": (
        "R.nn.group_norm(x, of_channels, no_channels, num_groups=1, channel_axis=1, axes=[2])",
        lambda x: normalized(x, (1, 2)),
    ),
    "instance_norm": (
        "R.nn.instance_norm(x, of_channels, no_channels, channel_axis=1, axes=[2])",
        lambda x: normalized(x, 2),
    ),
}


@crossed("name, dtype", list(CASES), list(HALF_A_STEP))
def test_rounded_once(name, dtype):
    """Sums of 5000 numbers around 3 would be off by many steps in 16 bits."""
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    body, numpys = CASES[name]
    sizes = {"x": f"2, 3, {WIDTH}", "ones": f"{WIDTH},", "zeros": f"{WIDTH},", "of_channels": "3,", "no_channels": "3,"}
    parameters = ", ".join(f"{n}: R.Tensor(({dims}), '{dtype}')" for n, dims in sizes.items())
    source = (
        "from tvm.script import ir as I, relax as R\n@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main({parameters}):\n        y = {body}\n        return y\n"
    )
    x = (np.random.default_rng(4).standard_normal((2, 3, WIDTH)) + 3).astype(kind)
    ones, zeros = np.ones(WIDTH, kind), np.zeros(WIDTH, kind)
    result = np.asarray(build(from_source(source))["main"](x, ones, zeros, ones[:3], zeros[:3]))
    exact = numpys(x.astype("float64"))
    assert result.dtype == kind
    off = np.abs(result.astype("float64") - exact) - DENORMAL[dtype]
    assert (off <= 1.02 * HALF_A_STEP[dtype] * np.abs(exact) + 1e-6).all()


def test_the_bound_is_one_that_sums_in_16_bits_miss():
    x = (np.random.default_rng(4).standard_normal(WIDTH) + 3).astype("float16")
    in_halves = np.cumsum(x, dtype="float16")[-1].astype("float64") / WIDTH
    assert abs(in_halves - x.astype("float64").mean()) > 10 * HALF_A_STEP["float16"] * 3
