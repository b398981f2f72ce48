"""Programs that ended with an internal error, or were refused though they have a meaning: extents of 0, literals out of
range, vectors outside of parallel loops, sizes that only the run knows."""

import numpy as np
import pytest
from strength import crossed, only_full, thinned

from tirax.diagnostics import ShapeError, VerifyError
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.script import parse_source
from tirax.script.mlir_text import parse_mlir


def relax(params: str, *bindings: str):
    lines = "".join(f"        {b}\n" for b in bindings)
    return parse_source(f"@I.ir_module\nclass M:\n    @R.function\n    def main({params}):\n{lines}        return gv\n")


def tir(params: str, body: str):
    lines = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    return parse_source(f"@I.ir_module\nclass M:\n    @T.prim_func\n    def main({params}):\n{lines}")


NOTHING = {
    "tile": "R.tile(x, (2, 3))",
    "repeat": "R.repeat(x, 2, axis=0)",
    "flat": "R.flatten(x)",
    "triu": "R.triu(x)",
    "flip": "R.flip(x, axis=1)",
    "permute_dims": "R.permute_dims(x, [1, 0])",
    "reshape": "R.reshape(x, (0, 5))",
    "matmul": "R.matmul(x, R.permute_dims(x, [1, 0]))",
    "softmax": "R.nn.softmax(x, axis=-1)",
    "take": 'R.take(R.zeros((0, 17), "float32"), R.astype(R.sum(x, axis=1), "int64"), axis=1)',
}


@crossed("name, shape", list(NOTHING), [(4, 0), (0, 4), (0, 0)])
def test_extents_of_nothing(name: str, shape: tuple[int, ...]) -> None:
    mod, x = relax(f'x: R.Tensor({shape}, "float32")', f"gv = {NOTHING[name]}"), np.zeros(shape, "float32")
    np.testing.assert_array_equal(build(mod)["main"](x), interpret(mod, "main", [x]))


@only_full
@thinned("mask", ["", ', causal_mask="BottomRight"', ', causal_mask="TopLeft"'], 1)
def test_attention_all_of_whose_sizes_are_symbolic(mask: str) -> None:
    queries, keys = '("b", "s", "h", "d")', '("b", "t", "h", "d")'
    params = ", ".join(f'{n}: R.Tensor({s}, "float32")' for n, s in (("q", queries), ("k", keys), ("v", keys)))
    mod = relax(params, f"gv = R.nn.attention(q, k, v{mask})")
    run, draw = build(mod)["main"], np.random.default_rng(0)
    for b, s, t, h, d in ((1, 3, 5, 2, 8), (2, 140, 33, 1, 4), (1, 1, 1, 1, 1)):
        q, k, v = (draw.random((b, n, h, d), "float32") for n in (s, t, t))
        if "TopLeft" in mask or s <= t:
            np.testing.assert_allclose(run(q, k, v), interpret(mod, "main", [q, k, v]), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("lanes", [4, 16, 32])
def test_vectors_from_outside_of_a_parallel_loop(lanes: int) -> None:
    mod = tir(
        f'M: T.Buffer(({lanes},), "bool"), X: T.Buffer(({lanes},), "float32"), Y: T.Buffer((512, {lanes}), "float32")',
        f"""
mask = M[T.Ramp(0, 1, {lanes})]
x = X[T.Ramp(0, 1, {lanes})]
for i in T.parallel(512):
    Y[i, T.Ramp(0, 1, {lanes})] = T.Select(mask, x, x * x)
""",
    )
    mask, x = np.arange(lanes) % 3 == 0, np.arange(lanes, dtype="float32")
    y = np.zeros((512, lanes), "float32")
    build(mod)["main"](mask, x, y)
    np.testing.assert_array_equal(y, np.broadcast_to(np.where(mask, x, x * x), y.shape))


@pytest.mark.parametrize("dtype, value", [("float32", 1e39), ("float32", -1e400), ("float16", 65520.0)])
def test_a_literal_beyond_its_type_is_infinite(dtype: str, value: float) -> None:
    text = repr(value) if abs(value) < 1e308 else "-1e400"
    mod = tir(f'A: T.Buffer((4,), "{dtype}")', f"for i in range(4):\n    A[i] = T.{dtype}({text})")
    a = np.zeros(4, dtype)
    build(mod)["main"](a)
    np.testing.assert_array_equal(a, np.full(4, np.copysign(np.inf, value), dtype))


def test_a_literal_beyond_its_type_in_mlir_has_a_place() -> None:
    with pytest.raises(VerifyError, match="too large") as error:
        parse_mlir("tir.func @f() {\n  %x = tir.const 1.0e39 : f32\n}\n")
    assert "2:3" in str(error.value)


def test_local_buffers_have_a_size() -> None:
    mod = tir(
        'A: T.Buffer((4,), "float32"), n: T.int64',
        """
B = T.alloc_buffer((n,), "float32")
for i in range(n):
    B[i] = T.float32(1)
for i in range(4):
    A[i] = B[i * (n - 1) // 3]
""",
    )
    run, a = build(mod)["main"], np.zeros(4, "float32")
    with pytest.raises(ShapeError, match="the extent n is negative"):
        run(a, -1)
    with pytest.raises(ShapeError, match="too large"):
        run(a, 2**62)
    with pytest.raises(MemoryError):
        run(a, 2**43)
    np.testing.assert_array_equal(a, np.zeros(4))
    run(a, 5)
    np.testing.assert_array_equal(a, np.ones(4))


@pytest.mark.parametrize("index", [4, -1, 2**40])
@pytest.mark.parametrize("statement", ["B[0] = A[{}]", "A[{}] = B[0]"])
def test_a_constant_index_outside_is_refused_with_its_place(index: int, statement: str) -> None:
    params = 'A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")'
    with pytest.raises(ShapeError, match=f"index {index} of dimension 0 of 'A'") as error:
        build(tir(params, statement.format(f"T.int64({index})")))
    assert ":5:" in str(error.value)


def test_a_loop_that_goes_too_far_is_refused() -> None:
    params = 'A: T.Buffer((4,), "float32"), B: T.Buffer((5,), "float32")'
    with pytest.raises(ShapeError, match="reads indices 0 to 4 of dimension 0 of 'A'"):
        build(tir(params, "for i in range(5):\n    B[i] = A[i]"))
    build(tir(params, "for i in range(5):\n    if i < 4:\n        B[i] = A[i]"))
    build(tir(params, "for i in range(0):\n    B[i] = A[9]"))


def test_a_constant_index_into_an_unknown_extent_is_checked_when_it_runs() -> None:
    mod = tir(
        "a: T.handle, b: T.handle",
        """
n = T.int64()
A = T.match_buffer(a, (n,), "float32")
B = T.match_buffer(b, (2,), "float32")
for i in range(2):
    B[i] = A[i + 3]
""",
    )
    run, b = build(mod)["main"], np.zeros(2, "float32")
    run(np.arange(5, dtype="float32"), b)
    np.testing.assert_array_equal(b, [3, 4])
    with pytest.raises(ShapeError, match="'main': the function reads indices 3 to 4 of dimension 0 of 'A'"):
        run(np.arange(4, dtype="float32"), b)


@pytest.mark.parametrize("name", ["less", "subtract", "maximum", "logical_and"])
def test_extents_that_only_the_run_can_compare(name: str) -> None:
    dtype = "bool" if name == "logical_and" else "float32"
    mod = relax(f'x: R.Tensor(("n",), "{dtype}")', "y = R.strided_slice(x, [0], [0], [12])", f"gv = R.{name}(x, y)")
    run = build(mod)["main"]
    for n in (5, 12, 1, 0):
        x = np.arange(n).astype(dtype)
        np.testing.assert_array_equal(run(x), interpret(mod, "main", [x]))
    with pytest.raises(ShapeError, match="wrong extent"):
        run(np.zeros(13, dtype))


UNEQUAL = {
    "add": (("n", 2), ("m", 2), "gv = R.multiply(R.nn.relu(R.add(x, y)), y)"),
    "vector": (("k", "n"), ("m",), "gv = R.add(x, y)"),
    "where": (("n",), ("m",), "gv = R.where(R.greater(x, R.const(1.0)), x, y)"),
    "matmul": (("n", 2, 3), ("m", 3, 4), "gv = R.matmul(x, y)"),
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_an_extent_of_1_is_repeated_when_the_program_runs(name: str) -> None:
    left, right, binding = UNEQUAL[name]
    mod = relax(f'x: R.Tensor({left}, "float32"), y: R.Tensor({right}, "float32")', binding)
    run, draw = build(mod)["main"], np.random.default_rng(0)
    for n, m in ((5, 5), (1, 5), (5, 1), (0, 1), (1, 0), (1, 1)):
        sizes = {"n": n, "m": m, "k": 3}
        x, y = (draw.random([sizes.get(d, d) for d in dims], "float32") for dims in (left, right))
        np.testing.assert_allclose(run(x, y), interpret(mod, "main", [x, y]), rtol=1e-5)
    with pytest.raises(ShapeError, match="wrong extent"):
        run(*(np.zeros([{"n": 5, "m": 4, "k": 3}.get(d, d) for d in dims], "float32") for dims in (left, right)))
