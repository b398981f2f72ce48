"""The bits of a row do not depend on the number of rows, its place, threads, nor on whether sizes are symbolic."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from strength import thinned

from tirax.driver.build import build
from tirax.runtime import num_threads, set_num_threads
from tirax.script import parse_source
from tirax.transforms.params.bind_params import BindParams

ROWS = 33
FEW = (1, 2, 3, 4, 5, 7, 8, 16)

Case = tuple[str, list[tuple[Any, ...]], str]

F, H, B, D = "float32", "float16", "bfloat16", "float64"
CASES: dict[str, Case] = {
    "linear": ("R.matmul(x, R.permute_dims(w))", [("n", 300), (77, 300)], F),
    "linear of float16": ("R.matmul(x, R.permute_dims(w))", [("n", 300), (77, 300)], H),
    "linear of bfloat16": ("R.matmul(x, R.permute_dims(w))", [("n", 300), (77, 300)], B),
    "linear of float64": ("R.matmul(x, R.permute_dims(w))", [("n", 300), (77, 300)], D),
    "linear with a long sum": ("R.matmul(x, R.permute_dims(w))", [("n", 5003), (5, 5003)], F),
    "linear and an activation": ("R.nn.gelu(R.add(R.matmul(x, w), y))", [("n", 64), (64, 129), (129,)], F),
    "two layers": ("R.matmul(R.nn.relu(R.matmul(x, w)), y)", [("n", 64), (64, 256), (256, 10)], F),
    "products of batches": ("R.matmul(x, w)", [("n", 5, 300), (300, 77)], F),
    "a product for each row": ("R.matmul(x, R.permute_dims(w, [0, 2, 1]))", [("n", 5, 64), ("n", 7, 64)], F),
    "an einsum": ('R.einsum((x, w), "nij,jk->nik")', [("n", 7, 33), (33, 65)], F),
    "sum": ("R.sum(x, axis=[1])", [("n", 5001)], F),
    "sum of float16": ("R.sum(x, axis=[1])", [("n", 5001)], H),
    "sum of bfloat16": ("R.sum(x, axis=[1])", [("n", 5001)], B),
    "sum of columns": ("R.sum(x, axis=[1])", [("n", 501, 7)], F),
    "sum of two axes": ("R.sum(x, axis=[1, 3])", [("n", 11, 5, 37)], F),
    "mean": ("R.mean(x, axis=[1])", [("n", 301)], F),
    "variance": ("R.variance(x, axis=[1])", [("n", 301)], F),
    "prod": ("R.prod(x, axis=[1])", [("n", 41)], F),
    "maximum": ("R.max(x, axis=[1])", [("n", 501)], F),
    "softmax": ("R.nn.softmax(x)", [("n", 301)], F),
    "softmax of short rows": ("R.nn.softmax(x)", [("n", 3)], F),
    "log_softmax of columns": ("R.nn.log_softmax(x, axis=1)", [("n", 19, 5)], F),
    "layer_norm": ("R.nn.layer_norm(x, w, y, axes=[-1])", [("n", 9, 301), (301,), (301,)], F),
    "rms_norm": ("R.nn.rms_norm(x, w, axes=[-1])", [("n", 301), (301,)], F),
    "group_norm": (
        "R.nn.group_norm(x, w, y, num_groups=4, channel_axis=1, axes=[2, 3])", [("n", 16, 9, 11), (16,), (16,)], F,
    ),
    "conv2d": ("R.nn.conv2d(x, w, padding=(1, 1))", [("n", 16, 20, 20), (32, 16, 3, 3)], F),
    "conv2d of an image": ("R.nn.conv2d(x, w, strides=(2, 2), padding=(3, 3))", [("n", 3, 32, 32), (8, 3, 7, 7)], F),
    "conv1d": ("R.nn.conv1d(x, w)", [("n", 8, 50), (12, 8, 5)], F),
    "depthwise conv2d": ("R.nn.conv2d(x, w, padding=(1, 1), groups=16)", [("n", 16, 20, 20), (16, 1, 3, 3)], F),
    "conv2d_transpose": ("R.nn.conv2d_transpose(x, w, strides=(2, 2))", [("n", 8, 9, 9), (8, 4, 3, 3)], F),
    "avg_pool2d": ("R.nn.avg_pool2d(x, (3, 3))", [("n", 16, 20, 20)], F),
    "adaptive_avg_pool2d": ("R.nn.adaptive_avg_pool2d(x, (1, 1))", [("n", 16, 20, 20)], F),
    "resize2d": ('R.image.resize2d(x, R.shape([13, 17]), method="linear")', [("n", 3, 9, 8)], F),
    "cumsum": ("R.cumsum(x, axis=1)", [("n", 301)], F),
    "attention": ("R.nn.attention(x, w, y)", [("n", 33, 4, 32), ("n", 41, 4, 32), ("n", 41, 4, 32)], F),
    "causal attention": (
        'R.nn.attention(x, w, y, causal_mask="TopLeft")', [("n", 33, 4, 32), ("n", 33, 4, 32), ("n", 33, 4, 32)], F,
    ),
    "attention with one query": ("R.nn.attention(x, w, y)", [("n", 1, 4, 32), ("n", 700, 4, 32), ("n", 700, 4, 32)], F),
}  # fmt: skip
"""Expressions with the sizes of x, w and y, and the dtype. Those without rows are weights."""
_BY_LANES = {"softmax of short rows"}
"""A build for one row sums its few elements by lanes, and others sum them one by one."""


def compiled(case: Case, rows: int | str, arrays: list[np.ndarray]) -> Any:
    body, shapes, dtype = case
    sizes = [tuple(rows if d == "n" else d for d in s) for s in shapes]
    named = dict(zip("xwy", sizes, strict=False))
    params = ", ".join(f'{name}: R.Tensor(({", ".join(map(repr, s))},), "{dtype}")' for name, s in named.items())
    source = f"""
@I.ir_module
class Module:
    @R.function
    def main({params}):
        with R.dataflow():
            gv = {body}
            R.output(gv)
        return gv
"""
    weights = {n: a for n, s, a in zip("xwy", shapes, arrays, strict=False) if "n" not in s}
    return build(BindParams("main", weights)(parse_source(source))).jit()["main"]


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = num_threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)


def bits(array: Any) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.uint8)


@thinned("name", list(CASES), 12)
def test_a_row_alone_and_among_others(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(0)
    draws = [rng.standard_normal([ROWS if d == "n" else d for d in s]).astype(case[2]) for s in case[1]]
    data = [a for a, s in zip(draws, case[1], strict=True) if "n" in s]
    symbolic = compiled(case, "n", draws)
    expected = np.array(symbolic(*data))
    assert len(expected) == ROWS

    for count in (1, 2):
        with threads(count):
            for n in FEW:
                np.testing.assert_array_equal(bits(symbolic(*(a[:n] for a in data))), bits(expected[:n]))
    np.testing.assert_array_equal(bits(symbolic(*(a[-1:] for a in data))), bits(expected[-1:]))
    for n in () if name in _BY_LANES else (1, 5):
        fixed = compiled(case, n, draws)
        np.testing.assert_array_equal(bits(fixed(*(a[:n] for a in data))), bits(expected[:n]))


QUERIES = 130
ATTENTION: dict[str, tuple[int, int, str, str]] = {
    "one tile of keys": (41, 32, "", F),
    "several tiles of keys": (1300, 64, "", F),
    "float16": (700, 64, "", H),
    "float64": (700, 64, "", D),
    "a causal mask": (QUERIES, 64, ', causal_mask="TopLeft"', F),
    "heads of 80 elements": (600, 80, "", F),
    "exactly two tiles of keys": (1024, 64, "", F),
    "a window of keys": (QUERIES, 64, ', causal_mask="TopLeft", window_size=50', F),
    "fewer keys than a vector": (3, 64, "", F),
    "more keys than queries, masked": (700, 64, ', causal_mask="TopLeft"', F),
}
"""Keys, the size of a head, further arguments, and the dtype."""


def attention(rows: int | str, keys: int, size: int, more: str, dtype: str) -> Any:
    source = f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, {rows!r}, 2, {size}), "{dtype}"), w: R.Tensor((1, {keys}, 2, {size}), "{dtype}"),
             y: R.Tensor((1, {keys}, 2, {size}), "{dtype}")):
        with R.dataflow():
            gv = R.nn.attention(x, w, y{more})
            R.output(gv)
        return gv
"""
    return build(parse_source(source)).jit()["main"]


@thinned("name", list(ATTENTION), 3)
def test_a_query_alone_and_among_others(name: str) -> None:
    keys, size, more, dtype = case = ATTENTION[name]
    rng = np.random.default_rng(0)
    x, w, y = (rng.standard_normal((1, n, 2, size)).astype(dtype) for n in (QUERIES, keys, keys))
    symbolic = attention("n", *case)
    expected = np.array(symbolic(x, w, y))
    assert expected.shape == x.shape and np.isfinite(expected).all()
    for count in (1, 2):
        with threads(count):
            for n in (1, 2, 7, 23, 24, 64):
                np.testing.assert_array_equal(bits(symbolic(x[:, :n], w, y)), bits(expected[:, :n]))
            last = [] if more else [np.array(symbolic(x[:, -1:], w, y))]
    for alone in last:
        np.testing.assert_array_equal(bits(alone), bits(expected[:, -1:]))
    for n in (1, 5, 33):
        fixed = attention(n, *case)
        np.testing.assert_array_equal(bits(fixed(x[:, :n], w, y)), bits(expected[:, :n]))
