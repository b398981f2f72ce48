"""Programs that native code and the interpreter once answered differently, or that ended the process."""

from __future__ import annotations

import numpy as np
import pytest
from strength import crossed, only_full, thinned

from tirax.diagnostics import ShapeError
from tirax.driver.build import build
from tirax.interpreter import InterpreterError, interpret
from tirax.script import parse_source
from tirax.script.parser.source import ScriptError

NAN, INF = float("nan"), float("inf")
ROW = 'x: R.Tensor(("n",), "float32")'


def relax(params: str, *bindings: str):
    lines = "".join(f"        {b}\n" for b in bindings)
    return parse_source(f"@I.ir_module\nclass M:\n    @R.function\n    def main({params}):\n{lines}        return gv\n")


def check(mod, *inputs: np.ndarray) -> np.ndarray:
    """Native code and the interpreter agree; gives the result."""
    result = np.asarray(build(mod)["main"](*inputs))
    np.testing.assert_allclose(result, np.asarray(interpret(mod, "main", list(inputs))), rtol=1e-5, atol=1e-6)
    return result


BOUNDARIES = ([3, 1, 2], [], [NAN, 1, 2], [1, 1, 1])


@crossed("boundaries, right", BOUNDARIES, (False, True))
def test_boundaries_in_any_order(boundaries: list[float], right: bool) -> None:
    values, bounds = (np.array(v, "f4") for v in ([0, 1.5, 2, NAN, 5, INF, -INF], boundaries))
    mod = relax(f'{ROW}, b: R.Tensor(("m",), "float32")', f"gv = R.bucketize(x, b, right={right})")
    result = check(mod, values, bounds)
    if boundaries == sorted(boundaries):
        np.testing.assert_array_equal(result, np.searchsorted(bounds, values, "right" if right else "left"))


def test_one_nan_makes_its_group_nan() -> None:
    x = np.random.default_rng(0).random((2, 4, 3, 3), "f4")
    x[0, 0, 0, 0] = NAN
    scale = 'R.ones((4,), "float32"), R.zeros((4,), "float32")'
    norm = f"R.nn.group_norm(x, {scale}, num_groups=2, channel_axis=1, axes=[2, 3])"
    result = check(relax('x: R.Tensor(("n", 4, 3, 3), "float32")', f"gv = {norm}"), x)
    expected = np.zeros((2, 4), bool)
    expected[0, :2] = True
    np.testing.assert_array_equal(np.isnan(result).any((2, 3)), expected)
    np.testing.assert_array_equal(np.isnan(result).all((2, 3)), expected)


@only_full
def test_attention_of_nothing_beside_a_concatenation() -> None:
    params = ", ".join(
        f'{n}: R.Tensor((1, "{s}", 1, {d}), "float32")'
        for n, s, d in (("q", "s", '"h"'), ("k", "t", '"h"'), ("v", "t", 2))
    )
    mod = relax(params, "a = R.nn.attention(q, k, v)", "gv = R.concat((a, a), axis=1)")
    run = build(mod)["main"]
    for s, t, h in ((0, 3, 1), (3, 0, 2), (3, 4, 0), (0, 0, 0), (1, 41, 2)):
        q, k, v = (np.ones((1, n, 1, d), "f4") for n, d in ((s, h), (t, h), (t, 2)))
        result = run(q, k, v)
        assert result.shape == (1, 2 * s, 1, 2)
        np.testing.assert_allclose(result, interpret(mod, "main", [q, k, v]), rtol=1e-5)


@only_full
def test_a_chain_of_operators_on_nothing_runs_to_its_end(in_process) -> None:
    lines = [
        "a = R.cumprod(x, axis=0)",
        "b = R.nn.softmax(a, axis=1)",
        "c = R.matmul(R.permute_dims(b, [1, 0]), b)",
        "d = R.nn.pad(c, [1, 1, 1, 1])",
        "e = R.prod(d, axis=0, keepdims=True)",
        "gv = R.squeeze(e, axis=[0])",
    ]
    mod = relax('x: R.Tensor(("n", "m"), "float32")', *lines)
    printed = in_process(f"""
import numpy as np
from tirax.driver.build import build
from tirax.script import parse_source
from tirax.script.parser.source import ScriptError
run = build(parse_source({mod_text(lines)!r}))["main"]
for shape in ((0, 3), (3, 0), (0, 0), (1, 1)):
    print(np.asarray(run(np.ones(shape, "f4"))).tolist())
""")
    results = [interpret(mod, "main", [np.ones(shape, "f4")]) for shape in ((0, 3), (3, 0), (0, 0), (1, 1))]
    assert printed.splitlines() == [str(np.asarray(r).tolist()) for r in results]


def mod_text(lines: list[str]) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    head = '@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor(("n", "m"), "float32")):\n'
    return f"{head}{body}        return gv\n"


@pytest.mark.parametrize(("mode", "least"), [("reflect", 3), ("replicate", 1), ("circular", 2)])
def test_what_is_padded_must_be_long_enough(mode: str, least: int) -> None:
    mod = relax(ROW, f'gv = R.nn.pad(x, [2, 2], pad_mode="{mode}")')
    run = build(mod)["main"]
    names = {"replicate": "edge", "circular": "wrap"}
    for n in range(5):
        x = np.arange(n, dtype="f4")
        if n < least:
            with pytest.raises(ShapeError, match="wrong extent"):
                run(x)
            with pytest.raises(InterpreterError, match="too short"):
                interpret(mod, "main", [x])
        else:
            np.testing.assert_array_equal(run(x), np.pad(x, 2, names.get(mode, mode)))


VECTORS = {
    "cumsum": "R.cumsum(x, axis=0)",
    "log_softmax": "R.nn.log_softmax(x, axis=0)",
    "attention": "R.reshape(R.nn.attention(*[R.reshape(x, (1, 16, 2, 8))] * 3), (16, 16))",
    "pool": "R.reshape(R.nn.adaptive_avg_pool2d(R.reshape(x, (1, 1, 16, 16)), (16, 16)), (16, 16))",
}


@thinned("name", list(VECTORS), 2)
def test_booleans_in_vectors_beside(name: str) -> None:
    inner = VECTORS[name].replace("*[R.reshape(x, (1, 16, 2, 8))] * 3", "r, r, r")
    mod = relax(
        'x: R.Tensor((16, 16), "float32"), b: R.Tensor((16, 16), "bool"), i: R.Tensor((4,), "int64")',
        "r = R.reshape(x, (1, 16, 2, 8))",
        f"y = {inner}",
        "z = R.where(b, y, x)",
        "w = R.take(b, i, axis=0)",
        'gv = R.multiply(R.take(z, i, axis=0), R.astype(w, "float32"))',
    )
    draw = np.random.default_rng(0)
    check(mod, draw.random((16, 16), "f4"), draw.random((16, 16)) > 0.5, np.array([3, 0, 15, 3]))


@pytest.mark.parametrize("loops", ["i, j in T.grid(34, 3.4e38)", "i in range(2.5)", "i in T.serial(0, 1e400)"])
def test_bounds_of_loops_are_integers(loops: str) -> None:
    text = f"@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    for {loops}:\n        A[0] = T.float32(0)\n"
    with pytest.raises(ScriptError, match=r"(T\.grid|range): a bound of a loop must be an int|an integer is expected"):
        parse_source(text)


@pytest.mark.parametrize("extent", ["2", '"n"'])
@pytest.mark.parametrize("operator", ["max_pool1d", "avg_pool1d"])
def test_pools_of_which_no_window_fits_are_empty(operator, extent):
    """As ONNX Runtime has it, where the extent comes to 0; beyond that it is refused (`test_operators.py`)."""
    result = "0" if extent == "2" else '"n - 2"'
    source = f"""from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, {extent}), "float32")) -> R.Tensor((2, 3, {result}), "float32"):
        return R.nn.{operator}(x, 3)"""
    assert build(parse_source(source))["main"](np.ones((2, 3, 2), np.float32)).shape == (2, 3, 0)
