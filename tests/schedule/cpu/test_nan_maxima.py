"""Maxima that pass NaN over are those of a softmax alone: there NaN comes through the sum."""

import pytest

import tirax.tvm_api as tvm
from tirax.driver.pipelines import SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.tvm_api import te, topi


def scheduled(compute):
    x = te.placeholder((8, 256), name="x")
    module = tvm.IRModule({"main": te.create_prim_func([x, compute(x)])})
    return str(Sequential(make_passes(SCHEDULE, "llvm"))(module_op(module)))


def exponents(x, keepdims=True):
    return topi.exp(x - topi.max(x, axis=1, keepdims=True))


def by_hand(x):
    e = exponents(x)
    return e / topi.sum(e, axis=1, keepdims=True)


@pytest.mark.parametrize("compute", [topi.nn.softmax, topi.nn.log_softmax, by_hand])
def test_a_softmax_passes_nan_over(compute):
    text = scheduled(compute)
    assert text.count("tir.max nnan") == text.count("tir.max") > 0, text


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: topi.max(x, axis=1),
        exponents,
        lambda x: exponents(x) / topi.sum(topi.exp(x), axis=1, keepdims=True),
        lambda x: exponents(x) / topi.sum(exponents(x), axis=0, keepdims=True),
        lambda x: topi.where(topi.greater(x, 0.0), by_hand(x), exponents(x)),
    ],
)
def test_others_keep_it(compute):
    text = scheduled(compute)
    assert "tir.max" in text and "nnan" not in text, text
