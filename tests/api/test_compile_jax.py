"""Functions of JAX as models: arguments and results in their structure, and sizes that vary."""

from functools import partial

import numpy as np
import pytest

import tirax
from tirax.diagnostics import UnsupportedError
from tirax.runtime.errors import ArgumentError

jax = pytest.importorskip("jax", reason="`make test-models` installs jax")
jnp = jax.numpy
DRAW = np.random.default_rng(0)


def draw(*shape):
    return DRAW.normal(size=shape).astype("float32")


def assert_close(made, expected):
    leaves, structure = jax.tree_util.tree_flatten(expected)
    assert jax.tree_util.tree_structure(made) == structure
    for a, b in zip(jax.tree_util.tree_leaves(made), leaves, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def recurrent(params, xs):
    def step(h, x):
        h = jnp.tanh(x @ params["w"] + h @ params["u"])
        return h, h.sum(-1)

    return jax.lax.scan(step, jnp.zeros((xs.shape[1], 8)), xs)


def ordered(x):
    values, places = jax.lax.top_k(x, 3)
    return {"sorted": jnp.sort(x, 1), "best": (values, places), "order": jnp.argsort(x, 1), "sums": jnp.cumsum(x, 0)}


def indexed(x, i):
    return x[i], x.at[i].add(1.0), jnp.roll(x, 1, 0), x[::2]


FUNCTIONS = {
    "recurrent": (recurrent, ({"w": draw(4, 8), "u": draw(8, 8)}, draw(5, 3, 4)), {"xs": {1: "batch"}}),
    "ordered": (ordered, (draw(4, 9),), {"x": {0: "n"}}),
    "indexed": (indexed, (draw(6, 5), np.array([1, 4, 4], "int32")), {"x": {0: "n"}}),
    "complex": (lambda z: (jnp.exp(z) * z.conj(), jnp.abs(z)), ((draw(3, 4) + 1j * draw(3, 4)).astype("c8"),), None),
    "factorized": (lambda a: jnp.linalg.solve(a @ a.T + jnp.eye(4), a), (draw(4, 4),), None),
    "random": (lambda key: jax.random.normal(key, (3, 5)), (np.array([1, 2], "uint32"),), None),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    function, args, shapes = FUNCTIONS[name]
    f = tirax.compile(function, args, dynamic_shapes=shapes)
    args = jax.tree_util.tree_map(jnp.asarray, args)
    assert_close(f(*args), jax.jit(function)(*args))


def test_one_build_serves_all_sizes():
    f = tirax.compile(ordered, (draw(4, 9),), dynamic_shapes=({0: "n"},))
    for n in (1, 2, 17):
        x = jnp.asarray(draw(n, 9))
        assert_close(f(x), ordered(x))


def test_a_gradient():
    def loss(w, x):
        return (jnp.tanh(x @ w) ** 2).mean()

    w, x = draw(4, 3), draw(5, 4)
    f = tirax.compile(jax.value_and_grad(loss), (w, x))
    assert_close(f(jnp.asarray(w), jnp.asarray(x)), jax.value_and_grad(loss)(w, x))


def test_jitted_and_partial_functions():
    w, x = draw(4, 3), draw(5, 4)
    for f in (tirax.compile(jax.jit(jnp.matmul), (x, w)), tirax.compile(partial(jnp.matmul, b=w), (x,))):
        assert_close(f(*map(jnp.asarray, (x, w)[: len(f.inputs)])), jnp.asarray(x) @ w)


def test_an_exported_function():
    from jax import export

    x = draw(3, 4)
    program = export.export(jax.jit(lambda x: {"y": x * 2}))(x)
    assert_close(tirax.compile(program)(jnp.asarray(x)), {"y": jnp.asarray(x) * 2})
    made = tirax.compile(bytes(program.mlir_module_serialized))(x)
    np.testing.assert_array_equal(made, x * 2)


def test_what_is_missing_is_named():
    with pytest.raises(ArgumentError, match="example arguments"):
        tirax.compile(jax.jit(lambda x: x))
    dropped = jax.export.export(jax.jit(lambda x, y: x))(draw(3), draw(3))
    with pytest.raises(UnsupportedError, match="dropped arguments"):
        tirax.compile(dropped)
