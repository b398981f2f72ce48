"""Extents of operands that broadcast, or do not, when the program runs: writes and reads at positions, beside numpy."""

import numpy as np
import pytest
from strength import thinned

from tirax.diagnostics import ShapeError, UnsupportedError
from tirax.driver.build import build
from tirax.interpreter import interpret
from tirax.runtime.errors import ShapeError
from tirax.script import parse_source

PROGRAM = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("s", "t"), "float32"), a: R.Tensor(("n",), "int64"), b: R.Tensor(("m",), "int64"),
             v: R.Tensor(("k",), "float32")):
        return {body}
"""
COUNTS = [(3, 3, 3), (3, 3, 1), (3, 2, 3), (1, 3, 3), (3, 1, 3), (3, 1, 1), (1, 0, 1), (0, 3, 1), (3, 3, 2), (3, 3, 5)]


def put(x, a, b, v):
    result = x.copy()
    result[a, b] = v
    return result


def accumulated(x, a, b, v):
    result = x.copy()
    np.add.at(result, (a, b), v)
    return result


OPERATORS = {
    "R.index_put(x, (a, b), v)": put,
    "R.index_put(x, (a, b), v, accumulate=True)": accumulated,
    "R.index_tensor(x, (a, b))": lambda x, a, b, v: x[a, b],
}


@pytest.mark.parametrize("body", OPERATORS)
def test_positions_broadcast_when_the_program_runs(body: str) -> None:
    run, x = build(parse_source(PROGRAM.format(body=body)))["main"], np.arange(20, dtype="float32").reshape(5, 4)
    refused = 0
    for n, m, k in COUNTS:
        arguments = x, np.arange(n) % 5, np.arange(m) % 4, np.arange(k, dtype="float32") + 100
        try:
            expected = OPERATORS[body](*arguments)
        except (IndexError, ValueError):
            with pytest.raises(ShapeError):
                run(*arguments)
            refused += 1
            continue
        np.testing.assert_array_equal(run(*arguments), expected, str((n, m, k)))
    assert 2 <= refused < len(COUNTS)


DTYPES = {"f": "float32", "i": "int64", "h": "int32", "b": "int8", "u": "uint8"}


class Kind:
    """An operator whose operands have symbols of their own; the extents that may differ, or be more or less.

    An operand is its dtype, then its extents; `c` is after one that is no symbol, but constant.
    """

    def __init__(self, body: str, *operands: str, free: str = "", more: str = "", less: str = ""):
        self.body = body
        self.allowed = {1: {*free.split(), *more.split()}, -1: {*free.split(), *less.split()}}
        self.operands = [(DTYPES[text[0]], tuple(int(e.rstrip("c")) for e in text[1:].split("x"))) for text in operands]
        """Their dtypes and their extents."""
        self.constant = {
            f"{p}{i}" for p, text in zip("abcde", operands, strict=False)
            for i, e in enumerate(text[1:].split("x")) if e.endswith("c")
        }  # fmt: skip

    def extent(self, name: str, extent: int) -> str:
        return str(extent) if name in self.constant else repr(name)


KINDS = {
    "matmul": Kind("R.matmul(a, b)", "f3x4", "f4x5", free="a0 b1"),
    "einsum": Kind('R.einsum((a, b), subscripts="bij,bij->b")', "f2x3x4", "f2x3x4"),
    "layer_norm": Kind("R.nn.layer_norm(a, b, c, axes=[-1])", "f3x4", "f4", "f4", free="a0"),
    "batch_norm": Kind("R.nn.batch_norm(a, b, c, d, e, axis=1)[0]", "f2x3x4", "f3", "f3", "f3", "f3", free="a0 a2"),
    "prelu": Kind("R.nn.prelu(a, b, axis=1)", "f2x3", "f3", free="a0"),
    "attention": Kind(
        "R.nn.attention_bias(a, b, c, d)", "f2x3x2x4", "f2x5x2x4", "f2x5x2x6", "f2x2x3x5", free="c3",
    ),
    "gather_elements": Kind("R.gather_elements(a, b, axis=0)", "f3x4", "i3x4", free="a0 b0", more="a1", less="b1"),
    "scatter_elements": Kind("R.scatter_elements(a, b, c, axis=0)", "f3x4", "i3x4", "f3x4", free="a0", more="a1"),
    "nll_loss": Kind('R.nn.nll_loss(a, b, c, reduction="none")', "f3x4", "i3", "f4"),
    "mean nll_loss": Kind("R.nn.nll_loss(a, b)", "f3x4x2", "i3x2", free="a1"),
    "gradient of nll_loss": Kind(
        'R.grad.nll_loss_backward(a, b, c, d, reduction="none")', "f3", "f3x4", "i3", "f4",
    ),
    "gradient of take": Kind("R.grad.take_backward(a, b, c, axis=0)", "f3x4", "f5x4", "i3", free="b0"),
    "gradient of max_pool2d": Kind(
        "R.grad.max_pool2d_backward(a, b, pool_size=(2, 2), strides=(2, 2))", "f2x3x2x2", "f2x3x4x4", more="b2 b3",
    ),
    "masked_fill": Kind("R.masked_fill(a, R.greater(b, R.const(0.5)), 1.0)", "f3x4", "f3x4"),
    "dynamic_strided_slice": Kind(
        "R.dynamic_strided_slice(a, b, c, R.add(d, R.const(1, 'int64')))", "f5x6", "i2c", "i2c", "i2c", free="a0 a1",
    ),
    "slice_scatter": Kind(
        "R.slice_scatter(a, b, R.prim_value(T.int64(0)), R.prim_value(T.int64(2)), R.prim_value(T.int64(1)), axis=0)",
        "f3x4", "f2x4", free="a0",
    ),
    "gather_nd": Kind("R.gather_nd(a, b)", "f3x4", "i2x1c", free="a0 a1 b0"),
    "gather_nd in batches": Kind("R.gather_nd(a, b, batch_dims=1)", "f2x3x4", "i2x5x1c", free="a1 a2 b1"),
    "scatter_nd": Kind("R.scatter_nd(a, b, c)", "f3x4", "i2x1c", "f2x4", free="a0"),
    "attention_var_len": Kind(
        "R.nn.attention_var_len(a, b, c, d, e, R.const(3, 'int32'), R.const(3, 'int32'))",
        "f1cx5x2x4", "f1cx5x2x4", "f1cx5x2x6", "h3", "h3", free="a1 c3",
    ),
    "quantize": Kind("R.quantize(a, b, c, axis=0)", "f3x4", "f3", "b3", free="a1"),
    "dequantize": Kind("R.dequantize(a, b, c, axis=1)", "b3x4", "f4", "b4", free="a0"),
    "dequantize_blocks": Kind("R.dequantize_blocks(a, 'q8_0')", "u3x34", free="a0"),
    "matmul_blocks": Kind("R.matmul_blocks(a, b, 'q8_0')", "f2x32", "u3x34", free="a0 b0"),
    "take_blocks": Kind("R.take_blocks(a, b, 'q8_0')", "u3x34", "i2", free="a0 b0"),
}  # fmt: skip


@thinned("name", KINDS, 12)
def test_an_extent_that_differs_is_refused(name: str) -> None:
    """Each extent in turn is one less, and one more; what no extent of another operand limits is computed."""
    kind = KINDS[name]
    params = ", ".join(
        f"{p}: R.Tensor(({', '.join(kind.extent(f'{p}{i}', e) for i, e in enumerate(shape))},), {dtype!r})"
        for p, (dtype, shape) in zip("abcde", kind.operands, strict=False)
    )
    head, _, tail = PROGRAM.partition("x: R.Tensor")
    run = build(parse_source(head + params + tail[tail.index("):\n") :].format(body=kind.body)))["main"]

    def arrays(changed: str = "", by: int = 0) -> list[np.ndarray]:
        shapes = [
            [extent + by * (f"{p}{i}" == changed) for i, extent in enumerate(shape)]
            for p, (_, shape) in zip("abcde", kind.operands, strict=False)
        ]
        return [np.zeros(s, dtype) for s, (dtype, _) in zip(shapes, kind.operands, strict=True)]

    run(*arrays())
    for p, (_, shape) in zip("abcde", kind.operands, strict=False):
        for changed, by in ((f"{p}{i}", by) for i in range(len(shape)) for by in (-1, 1)):
            if changed in kind.constant:
                continue
            if changed in kind.allowed[by]:
                run(*arrays(changed, by))
            else:
                with pytest.raises(ShapeError):
                    run(*arrays(changed, by))


def test_positions_of_unknown_depth_are_refused() -> None:
    params = "x: R.Tensor(('s', 't'), 'float32'), b: R.Tensor(('k', 'd'), 'int64'), v: R.Tensor(('k', 't'), 'float32')"
    head, _, tail = PROGRAM.partition("x: R.Tensor")
    source = head + params + tail[tail.index("):\n") :]
    with pytest.raises(UnsupportedError, match="match_cast"):
        build(parse_source(source.format(body="R.gather_nd(x, b)")))
    with pytest.raises(ShapeError, match="the last dimension of indices must be known"):
        parse_source(source.format(body="R.scatter_nd(x, b, v)"))


@thinned("starts", [[0, 9], [-7, 5], [4, 2], [0, 2**31 - 1], [-(2**31), 5], []], 2)
def test_starts_outside_begin_and_end_where_there_is_something(starts: list[int]) -> None:
    """Sequences are those positions that there are between their starts, natively and interpreted."""
    kind = KINDS["attention_var_len"]
    params = ", ".join(
        f"{p}: R.Tensor((1, '{p}1', 2, 4), 'float32')" if p < "d" else f"{p}: R.Tensor(('s',), 'int32')"
        for p in "abcde"
    )
    head, _, tail = PROGRAM.partition("x: R.Tensor")
    module = parse_source(head + params + tail[tail.index("):\n") :].format(body=kind.body))
    x = np.random.default_rng(0).normal(size=(1, 5, 2, 4)).astype("float32")
    for q, k in ((starts, [0, 5][: len(starts)]), ([0, 5][: len(starts)], starts)):
        arguments = [x, x, x, np.array(q, "int32"), np.array(k, "int32")]
        result = build(module)["main"](*arguments).numpy()
        np.testing.assert_allclose(result, interpret(module, "main", arguments), rtol=1e-5, atol=1e-6)
