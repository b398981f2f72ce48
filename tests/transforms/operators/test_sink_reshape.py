"""Reshapes that join what a tensor function gives in two dimensions go behind elementwise operators."""

import numpy as np
import pytest

from tirax.interpreter import assert_same_meaning
from tirax.transforms.operators.sink_reshape import SinkReshape
from tirax.tvm_api import relax
from tirax.tvm_api.script import from_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2, 3), "float32"), b: R.Tensor({b}, "float32"), r: R.Tensor(("n", 6), "float32")):
        n = T.int64()
        with R.dataflow():
            t = R.negative(x)
            y = R.reshape(t, R.shape({shape}))
            {body}
            R.output(z)
        return z
"""


def program(body, shape="[n, 6]", b="(6,)"):
    return from_source(PROGRAM.format(body=body.replace("; ", "\n            "), shape=shape, b=b))


def operators(mod):
    lines = mod.script(show_meta=False).splitlines()
    return [line.split(" = R.")[1].split("(")[0] for line in lines if " = R." in line]


SUNK = {
    "one operand": ("z = R.nn.gelu(y)", {}, ["negative", "nn.gelu", "reshape"]),
    "a vector": ("z = R.add(y, b)", {}, ["negative", "reshape", "add", "reshape"]),
    "a vector first": ("z = R.subtract(b, y)", {}, ["negative", "reshape", "subtract", "reshape"]),
    "a column": ("z = R.add(y, b)", {"b": '("n", 1)'}, ["negative", "reshape", "add", "reshape"]),
    "a scalar": ("z = R.multiply(y, R.const(2, 'float32'))", {}, ["negative", "multiply", "reshape"]),
    "a comparison": ("z = R.less(y, r)", {}, ["negative", "reshape", "less", "reshape"]),
    "a chain": (
        "u = R.add(y, b); v = R.nn.relu(u); z = R.add(v, r)",
        {},
        ["negative", "reshape", "add", "nn.relu", "reshape", "add", "reshape"],
    ),
    "two of them": (
        "s = R.exp(x); w = R.reshape(s, R.shape([n, 6])); z = R.multiply(y, w)",
        {},
        ["negative", "exp", "multiply", "reshape"],
    ),
}


@pytest.mark.parametrize("case", SUNK)
def test_sunk(case):
    body, options, expected = SUNK[case]
    before = program(body, **options)
    after = SinkReshape()(before)
    assert operators(after) == expected
    assert_same_meaning(before.op, after.op)


LEFT = {
    "used besides": ("u = R.nn.relu(y); z = R.concat([u, y], axis=0)", {}),
    "other dimensions are joined": ("z = R.nn.relu(y)", {"shape": "[n * 2, 3]"}),
    "all are joined": ("z = R.nn.relu(y)", {"shape": "[n * 6]"}),
    "it becomes larger": ("z = R.add(y, b)", {"shape": "[n, 6]", "b": "(4, 1, 1)"}),
    "no elementwise operator": ("z = R.nn.softmax(y)", {}),
}


@pytest.mark.parametrize("case", LEFT)
def test_left(case):
    body, options = LEFT[case]
    before = program(body, **options)
    assert SinkReshape()(before).script() == before.script()


def test_a_parameter_is_reshaped_where_it_was():
    before = program("w = R.reshape(x, R.shape([n, 6])); z = R.add(w, r)")
    assert operators(SinkReshape()(before)).index("add") > operators(SinkReshape()(before)).index("reshape")
    assert "R.add(w, r)" in SinkReshape()(before).script()


def test_native():
    before = program("u = R.add(y, b); v = R.nn.relu(u); z = R.add(v, r)")
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(s, dtype=np.float32) for s in ((4, 2, 3), (6,), (4, 6))]
    x, b, r = arrays
    result = relax.build(SinkReshape()(before))["main"](*arrays)
    np.testing.assert_allclose(result, np.maximum(-x.reshape(4, 6) + b, 0) + r, rtol=1e-6)
