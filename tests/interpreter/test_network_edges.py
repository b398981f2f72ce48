"""Operators of networks where their shapes or attributes are unusual: interpreter, machine code, numpy."""

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.interpreter import interpret
from tirax.tvm_api import relax

RNG = np.random.default_rng(11)


def both(call, *arrays):
    """What the interpreter and what machine code give for an operator on arrays."""
    bb = relax.BlockBuilder()
    params = [relax.Var(f"p{i}", relax.TensorStructInfo(a.shape, str(a.dtype))) for i, a in enumerate(arrays)]
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(call(*params)))
    mod = bb.get()
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    return interpret(mod.op, "main", arrays), vm["main"](*map(tvm.nd.array, arrays)).numpy()


@pytest.mark.parametrize("axes", [[1, 2], [2, 1], [0, 2], [2, 0], [-1, 0, 1]])
def test_parameters_of_layer_norm_are_laid_out_as_axes_are_listed(axes):
    x = RNG.standard_normal((3, 4, 5)).astype("float32")
    gamma, beta = (RNG.standard_normal([x.shape[a] for a in axes]).astype("float32") for _ in range(2))
    order = [a % 3 for a in axes]
    mean, var = (f(axis=tuple(order), keepdims=True) for f in (x.mean, x.var))
    moved = np.moveaxis((x - mean) / np.sqrt(var + 1e-5), order, range(-len(order), 0)) * gamma + beta
    expected = np.moveaxis(moved, range(-len(order), 0), order)
    for actual in both(lambda a, g, b: relax.op.nn.layer_norm(a, g, b, axes=axes), x, gamma, beta):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("rank", "strides"), [(1, [1]), (2, [1, 1])])
def test_transposed_convolution_of_no_pixels(rank, strides):
    x, w = np.zeros((2, 3, *[0] * rank), "float32"), np.ones((3, 4, *[3] * rank), "float32")
    call = getattr(relax.op.nn, f"conv{rank}d_transpose")
    for actual in both(lambda a, b: call(a, b, strides=strides), x, w):
        assert actual.shape == (2, 4, *(3 - s for s in strides))
        assert not actual.any()
