"""Operators that move elements, at every size from one element to 40 MB, beside numpy: nothing but equal will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from typing import Any

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.tvm_api import relax, tir
from tirax.tvm_api.relax import op

Function = Callable[..., Any]
SIZES = {"1 B": 1, "1 KB": 1 << 10, "1 MB": 1 << 20, "40 MB": 40 << 20}
DTYPES = ("float32", "int8", "bool", "float16", "int64")
SMALL_CACHES = "llvm -num-cores=1 -l2-size=65536 -l3-size=262144"
"""With these, results of a megabyte go past the caches, and what they are made of is asked for before."""


@dataclass(frozen=True)
class Row:
    """An operator of a matrix x, and of y and z of its shape: as a program and in numpy."""

    name: str
    program: Callable[..., Any]
    reference: Callable[..., Any]
    least: int = 1
    """The least extent of x for which it means something."""


def pads(mode: str, *widths: int) -> Row:
    how = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode]
    pairs = [(widths[0], widths[1]), (widths[2], widths[3])]
    name = f"pad {mode} {' '.join(map(str, widths))}"
    return Row(
        name, lambda x, y: op.nn.pad(x, list(widths), pad_mode=mode), lambda x, y: np.pad(x, pairs, mode=how),
        max(widths) + 1,
    )  # fmt: skip


def rows_of(x: Any, begin: int, end: int, axis: int = 0) -> Any:
    return op.strided_slice(x, [axis], [begin], [end])


def rolled(x: Any, axis: int) -> Any:
    """The last two in front."""
    return op.concat([rows_of(x, -2, 1 << 40, axis), rows_of(x, 0, -2, axis)], axis)


def both(
    name: str, program: Callable[..., Any], reference: Callable[..., Any], axes: int = 2, least: int = 1
) -> list[Row]:
    """A row for each axis, the last argument of both."""
    return [
        Row(f"{name} {a}", lambda x, y, a=a: program(x, y, a), lambda x, y, a=a: reference(x, y, a), least)
        for a in range(axes)
    ]


def shifted(x: Any, axis: int) -> Any:
    """A row of zeros in front, the last one gone."""
    return op.concat([op.zeros_like(rows_of(x, 0, 1, axis)), rows_of(x, 0, -1, axis)], axis)


def shifted_in_numpy(x: np.ndarray, axis: int) -> np.ndarray:
    return np.concatenate([np.zeros_like(np.take(x, [0], axis)), np.delete(x, -1, axis)], axis)


def scattered(x: Any, y: Any) -> Any:
    """The first two rows of y in the place of rows 1 and 2."""
    return op.slice_scatter(x, rows_of(y, 0, 2), *map(relax.PrimValue, (1, 3, 1)), 0)


def chosen(x: Any, y: Any) -> Any:
    return op.where(op.equal(x, y), y, op.zeros_like(x))


WIDTHS = ((2, 1, 0, 0), (0, 0, 1, 2), (1, 1, 1, 1))
FEW, PLACES = [0, 2, 1, 2], [[0], [2]]
ROWS = [
    *both("concat", lambda x, y, a: op.concat([x, y], a), lambda x, y, a: np.concatenate([x, y], a)),
    *both("concat of three", lambda x, y, a: op.concat([x, y, x], a), lambda x, y, a: np.concatenate([x, y, x], a)),
    *both("stack", lambda x, y, a: op.stack([x, y], a), lambda x, y, a: np.stack([x, y], a), 3),
    *both("split", lambda x, y, a: op.split(x, [1], a)[1], lambda x, y, a: np.split(x, [1], a)[1], least=2),
    *(pads(mode, *w) for mode in ("constant", "reflect", "replicate", "circular") for w in WIDTHS),
    *both("roll", lambda x, y, a: rolled(x, a), lambda x, y, a: np.roll(x, 2, a), least=3),
    *both("shift", lambda x, y, a: shifted(x, a), lambda x, y, a: shifted_in_numpy(x, a), least=2),
    Row("every second row", lambda x, y: op.strided_slice(x, [0], [1], [1 << 40], [2]), lambda x, y: x[1::2]),
    Row("every third column", lambda x, y: op.strided_slice(x, [1], [0], [1 << 40], [3]), lambda x, y: x[:, ::3]),
    *both("flip", lambda x, y, a: op.flip(x, a), lambda x, y, a: np.flip(x, a)),
    Row("permute_dims", lambda x, y: op.permute_dims(x), lambda x, y: x.T),
    Row("flatten", lambda x, y: op.flatten(op.permute_dims(x)), lambda x, y: x.T.ravel()),
    Row("expand_dims", lambda x, y: op.expand_dims(x, [0, 2]), lambda x, y: x[None, :, None]),
    Row("squeeze", lambda x, y: op.squeeze(op.expand_dims(x, 1), 1), lambda x, y: x),
    Row("tile", lambda x, y: op.tile(x, (2, 2)), lambda x, y: np.tile(x, (2, 2))),
    *both("repeat", lambda x, y, a: op.repeat(x, 2, a), lambda x, y, a: np.repeat(x, 2, a)),
    *both("tril", lambda x, y, k: op.tril(x, -2 * k), lambda x, y, k: np.tril(x, -2 * k)),
    *both("triu", lambda x, y, k: op.triu(x, 3 * k), lambda x, y, k: np.triu(x, 3 * k)),
    Row("where", chosen, lambda x, y: np.where(x == y, y, np.zeros_like(x))),
    Row("broadcast", lambda x, y: chosen(x, rows_of(y, 0, 1)), lambda x, y: x * (x == y[:1])),
    Row("slice_scatter", scattered, lambda x, y: np.concatenate([x[:1], y[:2], x[3:]]), 3),
    *both("take", lambda x, y, a: op.take(x, relax.const(FEW, "int64"), a), lambda x, y, a: x.take(FEW, a), least=3),
    Row("gather_nd", lambda x, y: op.gather_nd(x, relax.const(PLACES, "int64")), lambda x, y: x[[0, 2]], 3),
]  # fmt: skip
"""What only moves elements: of every dtype, the same bits."""


def hits(x: Any, y: Any) -> Any:
    """Indices of rows 0 and 1 in x's shape: 1 where x and y are equal."""
    return op.astype(op.equal(x, y), "int64")


def hits_in_numpy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (x == y).astype("int64")


def scattered_in_numpy(x: np.ndarray, y: np.ndarray, axis: int, step: Callable[..., None]) -> np.ndarray:
    """x after `step(x, indices, y)`, with the indices `hits` along an axis."""
    result, indices = x.copy(), list(np.indices(x.shape))
    indices[axis] = hits_in_numpy(x, y)
    step(result, tuple(indices), y)
    return result


def with_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    result = x.copy()
    result[[0, 2]] = y[:2]
    return result


def pooled(x: np.ndarray) -> np.ndarray:
    """The largest of each square of three, with one beyond each border."""
    padded = np.pad(x, 1, constant_values=-np.inf)
    return np.lib.stride_tricks.sliding_window_view(padded, (3, 3)).max((2, 3))[None, None]


def image(x: Any) -> Any:
    return op.expand_dims(x, [0, 1])


def doubled(x: Any) -> Any:
    """An image of twice the sides."""
    sides = relax.ShapeExpr([extent * 2 for extent in x.struct_info.shape])
    how = {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
    return op.image.resize2d(image(x), sides, **how)


def constant(values: Any) -> Any:
    array = np.asarray(values)
    return relax.const(array, str(array.dtype))


def sliced(x: Any, begin: list[int], end: list[int], steps: list[int]) -> Any:
    return op.dynamic_strided_slice(x, *map(constant, (begin, end, steps)))


CHOSEN = [
    *both("gather_elements", lambda x, y, a: op.gather_elements(x, hits(x, y), a),
          lambda x, y, a: np.take_along_axis(x, hits_in_numpy(x, y), a), least=2),
    *both("scatter_elements, add", lambda x, y, a: op.scatter_elements(x, hits(x, y), y, a, "add"),
          lambda x, y, a: scattered_in_numpy(x, y, a, np.add.at), least=2),
    *both("scatter_elements, max", lambda x, y, a: op.scatter_elements(x, hits(x, y), y, a, "max"),
          lambda x, y, a: scattered_in_numpy(x, y, a, np.maximum.at), least=2),
    *both("cumsum", lambda x, y, a: op.cumsum(x, a), lambda x, y, a: np.cumsum(x, a)),
    *both("cumsum, exclusive", lambda x, y, a: op.cumsum(x, a, exclusive=True),
          lambda x, y, a: np.cumsum(x, a) - x),
    *both("sort", lambda x, y, a: op.sort(x, a, True), lambda x, y, a: np.flip(np.sort(x, a), a)),
    *both("argsort", lambda x, y, a: op.argsort(x, a, dtype="int64"), lambda x, y, a: np.argsort(x, a, kind="stable")),
    *both("argmax", lambda x, y, a: op.argmax(x, a), lambda x, y, a: np.argmax(x, a)),
    *both("topk", lambda x, y, a: op.topk(x, 2, a, ret_type="values", largest=False),
          lambda x, y, a: np.take(np.sort(x, a), [0, 1], a), least=2),
    Row("one_hot", lambda x, y: op.one_hot(hits(x, y), relax.PrimValue(1), relax.PrimValue(0), 2, -1),
        lambda x, y: np.eye(2, dtype="int64")[hits_in_numpy(x, y)]),
    Row("masked_fill", lambda x, y: op.masked_fill(x, op.equal(x, y), 1), lambda x, y: np.where(x == y, 1, x)),
    Row("index_put", lambda x, y: op.index_put(x, relax.Tuple([constant([0, 2])]), rows_of(y, 0, 2)), with_rows, 3),
    Row("index_tensor", lambda x, y: op.index_tensor(x, relax.Tuple([constant([0, 2, 1]), constant([1, 0, 2])])),
        lambda x, y: x[[0, 2, 1], [1, 0, 2]], 3),
    Row("scatter_nd", lambda x, y: op.scatter_nd(x, constant([[0], [2]]), rows_of(y, 0, 2)), with_rows, 3),
    Row("slice of computed bounds", lambda x, y: sliced(x, [1, 0], [1 << 40, 1 << 40], [2, 3]),
        lambda x, y: x[1::2, ::3]),
    Row("slice backwards", lambda x, y: sliced(x, [-1, -1], [-(1 << 40)] * 2, [-2, -1]), lambda x, y: x[::-2, ::-1]),
    Row("nonzero", lambda x, y: op.nonzero(op.equal(x, y)), lambda x, y: np.array(np.nonzero(x == y))),
    Row("unique", lambda x, y: op.unique(x, True, False, False, False), lambda x, y: np.unique(x)),
    Row("max_pool2d", lambda x, y: op.nn.max_pool2d(image(x), (3, 3), (1, 1), (1, 1)), lambda x, y: pooled(x)),
    Row("resize2d", lambda x, y: doubled(x), lambda x, y: x.repeat(2, 0).repeat(2, 1)[None, None]),
    Row("bucketize", lambda x, y: op.bucketize(x, constant(np.float32([-50, 0, 50]))),
        lambda x, y: np.searchsorted(np.float32([-50, 0, 50]), x)),
]  # fmt: skip
"""What chooses elements by numbers, or numbers them: whole numbers of float32, whose sums are exact."""
SORTED = ("sort", "argsort", "topk", "unique")
"""What takes numpy seconds at 40 MB: tests/topi has the lengths at which sorting changes."""


@lru_cache(2)  # the rows of a table have the same, which take longer to make than to move
def data(dtype: str, shape: tuple[int, int], seed: int) -> np.ndarray:
    bits = np.random.default_rng(seed).integers(-100, 100, shape, "int8")
    return bits > 0 if dtype == "bool" else bits.astype(dtype)


def shape_of(dtype: str, size: str) -> tuple[int, int]:
    """Of a matrix of so many bytes, whose rows do not begin at lines of the cache."""
    count = max(SIZES[size] // np.dtype(dtype).itemsize, 1)
    rows = isqrt(count)
    return rows, max(count // rows - (rows > 8), 1)


def built(rows: list[Row], dims: tuple[Any, Any], dtype: str, target: str) -> Any:
    """An executable with a function for each row."""
    builder = relax.BlockBuilder()
    for number, row in enumerate(rows):
        params = [relax.Var(name, relax.TensorStructInfo(dims, dtype)) for name in "xy"]
        with builder.function(f"f{number}", params):
            with builder.dataflow():
                result = builder.emit_output(row.program(*params))
            builder.emit_func_output(result)
    return relax.build(builder.get(), target)


def check(rows: list[Row], shape: tuple[int, int], dtype: str, functions: Any) -> None:
    x, y = data(dtype, shape, 1), data(dtype, shape, 2)
    compared = 0
    for number, row in enumerate(rows):
        if min(shape) >= row.least:
            np.testing.assert_array_equal(functions[f"f{number}"](x, y), row.reference(x, y), row.name)
            compared += 1
    assert compared


def of_size(rows: list[Row], shape: tuple[int, int]) -> list[Row]:
    return [row for row in rows if min(shape) >= row.least]


KNOWN = [("float32", "1 B"), ("float32", "1 KB"), *((dtype, "1 MB") for dtype in DTYPES)]


@thinned("dtype, size", KNOWN, 2)
def test_of_known_sizes(dtype, size):
    shape = shape_of(dtype, size)
    rows = of_size(ROWS, shape)
    check(rows, shape, dtype, built(rows, shape, dtype, SMALL_CACHES))


@thinned("dtype", ["float32", "int8"], 1)
def test_of_symbolic_sizes(dtype):
    """One build of all rows, which runs at each size."""
    rows = [row for row in ROWS if row.least == 1 or "pad" in row.name]
    functions = built(rows, (tir.Var("n", "int64"), tir.Var("m", "int64")), dtype, SMALL_CACHES)
    for size in ("1 B", "1 KB", "1 MB"):
        check(rows, shape_of(dtype, size), dtype, functions)


CHOICES = ("concat 0", "stack 0", "pad constant 1 1 1 1", "roll 0", "slice_scatter", "tril 0")


@only_full
def test_of_large_sizes():
    """32 MiB and more, for which the schedule is another one."""
    shape = shape_of("float32", "40 MB")
    for row in of_size(ROWS, shape):
        check([row], shape, "float32", built([row], shape, "float32", "llvm"))


@only_full
def test_of_large_sizes_of_other_kinds():
    """Choices of int64, and all of float32 whose sizes are symbolic."""
    shape = shape_of("int64", "40 MB")
    rows = [row for row in ROWS if row.name in CHOICES]
    check(rows, shape, "int64", built(rows, shape, "int64", "llvm"))
    rows, shape = [row for row in ROWS if row.least == 1], shape_of("float32", "40 MB")
    check(rows, shape, "float32", built(rows, (tir.Var("n", "int64"), tir.Var("m", "int64")), "float32", "llvm"))


@only_full
@pytest.mark.parametrize("size", ["1 MB", "40 MB"])
def test_choices_by_numbers(size):
    shape = shape_of("float32", size)
    target = "llvm" if size == "40 MB" else SMALL_CACHES
    rows = [row for row in CHOSEN if size != "40 MB" or not row.name.startswith(SORTED)]
    check(rows, shape, "float32", built(rows, shape, "float32", target))


@only_full
def test_choices_by_numbers_of_symbolic_sizes():
    functions = built(CHOSEN, (tir.Var("n", "int64"), tir.Var("m", "int64")), "float32", SMALL_CACHES)
    for shape in ((1, 1), (3, 5), (31, 37), (257, 1021)):
        check(CHOSEN, shape, "float32", functions)


MANY = [
    ("concat", 0, 65, False), ("concat", 1, 130, False), ("stack", 0, 130, False), ("stack", 2, 65, False),
    ("concat", 0, 40, True), ("concat", 1, 17, True),
]  # fmt: skip


def joined(name: str, axis: int, count: int, symbolic: bool) -> None:
    """Build and run an operator that joins so many tensors, along an axis of sizes 0 to 2 where they are symbolic."""
    sizes = [tir.Var(f"n{k}", "int64") if symbolic else 3 for k in range(count)]
    dims = [(n, 5) if axis == 0 else (5, n) for n in sizes]
    params = [relax.Var(f"x{k}", relax.TensorStructInfo(d, "float32")) for k, d in enumerate(dims)]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(getattr(op, name)(params, axis)))
    extents = [k * 7 % 3 if symbolic else 3 for k in range(count)]
    shapes = [(n, 5) if axis == 0 else (5, n) for n in extents]
    arrays = [np.random.default_rng(k).random(shape, "float32") for k, shape in enumerate(shapes)]
    function = relax.build(builder.get(), "llvm -num-cores=1")["main"]
    expected = np.concatenate(arrays, axis) if name == "concat" else np.stack(arrays, axis)
    np.testing.assert_array_equal(function(*arrays), expected)


@thinned("name, axis, count, symbolic", MANY, 3)
def test_many_are_joined(name, axis, count, symbolic):
    """More tensors than one element chooses from."""
    joined(name, axis, count, symbolic)


@only_full  # a stack of so many is a concat of stacks
def test_a_thousand_are_joined():
    joined("concat", 0, 1000, symbolic=False)
