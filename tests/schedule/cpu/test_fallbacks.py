"""Scans, searches over columns, tiles of rows, interleaved vectors, scatters: vectors that mean what numpy means.

Each case is built once for symbolic sizes and called with several, 0, 1 and odd ones among them.
"""

import itertools
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from relax_modules import module as relax_module
from strength import thinned

import tirax.tvm_api as tvm
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.target import Target
from tirax.tvm_api import relax, te, topi

op = relax.op
TARGETS = ["llvm"] + (["llvm -mcpu=haswell"] if {"avx2", "fma"} <= Target().features else [])
SIZES = ({"n": 0, "m": 5}, {"n": 1, "m": 1}, {"n": 16, "m": 530})


def on_targets(names):
    """Each of some cases on one of the targets, in turns."""
    return list(zip(names, itertools.cycle(TARGETS), strict=False))


@dataclass(frozen=True)
class Case:
    """An operator on tensors of such shapes; `ints` are those that are places in the first one."""

    ours: Any
    numpys: Any
    shapes: tuple = (("n", "m"),)
    ints: tuple = ()


def module(case, dtype="float32"):
    dtypes = ["int64" if i in case.ints else dtype for i in range(len(case.shapes))]
    return relax_module(case.ours, *case.shapes, dtypes=dtypes)


def build(case, target, dtype="float32"):
    return relax.VirtualMachine(relax.build(module(case, dtype), target=target), tvm.cpu())["main"]


def arguments(case, sizes, dtype):
    rng = np.random.default_rng(3)
    out = []
    for i, shape in enumerate(case.shapes):
        dims = [sizes.get(d, d) for d in shape]
        if i in case.ints:
            out.append(rng.integers(0, max(1, out[0].shape[0]), dims))
        else:
            out.append(rng.integers(-6, 7, dims).astype(dtype))
    return out


def check(case, target, dtype="float32"):
    """Small integers: exact, whatever the order of sums is."""
    function = build(case, target, dtype)
    for sizes in SIZES:
        arrays = arguments(case, sizes, dtype)
        if case.ints and not arrays[0].size:
            continue
        result = function(*map(tvm.nd.array, arrays)).numpy()
        np.testing.assert_array_equal(result, case.numpys(*arrays), err_msg=str(sizes))


def scheduled(case):
    passes = make_passes([*OPTIMIZE, *SCHEDULE], "llvm -mcpu=x86-64-v4 -vector-width=512")
    return str(Sequential(passes)(module_op(module(case))))


def exclusive(x, axis):
    return np.cumsum(x, axis, dtype=x.dtype) - x


SCANS = {
    "rows": Case(lambda x: op.cumsum(x, axis=1), lambda x: np.cumsum(x, 1, dtype=x.dtype)),
    "columns": Case(lambda x: op.cumsum(x, axis=0), lambda x: np.cumsum(x, 0, dtype=x.dtype)),
    "rows, exclusive": Case(lambda x: op.cumsum(x, axis=1, exclusive=True), lambda x: exclusive(x, 1)),
    "columns, exclusive": Case(lambda x: op.cumsum(x, axis=0, exclusive=True), lambda x: exclusive(x, 0)),
    "flat": Case(lambda x: op.cumsum(x), lambda x: np.cumsum(x, dtype=x.dtype)),
    "middle": Case(lambda x: op.cumsum(x, axis=1), lambda x: np.cumsum(x, 1, dtype=x.dtype), (("n", 5, "m"),)),
    "known sizes": Case(lambda x: op.cumsum(x, axis=1), lambda x: np.cumsum(x, 1, dtype=x.dtype), ((3, 37),)),
}


@thinned(("name", "target"), on_targets(SCANS), lambda case: case[0])
def test_scans(name, target):
    check(SCANS[name], target)


@pytest.mark.parametrize("dtype", ["int8", "float64", "int64"])
def test_scans_of_other_types(dtype):
    check(SCANS["rows"], "llvm", dtype)
    check(SCANS["columns, exclusive"], "llvm", dtype)


def test_sums_of_half_precision_are_taken_in_single():
    function = build(SCANS["rows"], "llvm", "float16")
    x = np.full((2, 4000), 0.25, "float16")
    np.testing.assert_array_equal(function(tvm.nd.array(x)).numpy()[0, -1], np.float16(1000))


def test_running_products():
    function = build(Case(lambda x: op.cumprod(x, axis=1), None), "llvm")
    x = np.random.default_rng(0).uniform(0.9, 1.1, (3, 201)).astype("float32")
    result = function(tvm.nd.array(x)).numpy()
    np.testing.assert_allclose(result, x.astype("float64").cumprod(1), rtol=1e-5)


def test_a_scan_is_vectors():
    assert 'tir.alloc_buffer {tirax.padded} : !tir.buffer<[16], f32, scope = "local">' in scheduled(SCANS["rows"])
    assert scheduled(SCANS["rows"]).count("tir.shuffle") >= 4
    assert re.search(r"tir.for vectorized .* = 0 to 512", scheduled(SCANS["columns"]))


RECURRENCE = """
from tvm.script import tir as T

@T.prim_func
def recurrence(x: T.Buffer((64,), "float32"), y: T.Buffer((66,), "float32")):
    T.func_attr({"tir.noalias": True})
    with T.block("y"):
        T.reads(x[0:64], y[0:64])
        T.writes(y[2:66])
        for k in range(64):
            y[k + 2] = y[k] + x[k]
"""


def test_what_reads_what_it_wrote_is_left_alone():
    """A recurrence is no running sum, nor are its iterations independent."""
    func = tvm.script.from_source(RECURRENCE)
    mod = tvm.IRModule({"recurrence": func})
    assert "vectorized" not in str(Sequential(make_passes(SCHEDULE, "llvm"))(module_op(mod)))
    x, y = np.arange(64, dtype="float32"), np.ones(66, "float32")
    device = tvm.nd.array(y)
    tvm.build(mod)["recurrence"](tvm.nd.array(x), device)
    for k in range(64):
        y[k + 2] = y[k] + x[k]
    np.testing.assert_array_equal(device.numpy(), y)


CHOICES = {
    "argmax": Case(lambda x: op.argmax(x, axis=0), lambda x: x.argmax(0)),
    "argmin": Case(lambda x: op.argmin(x, axis=0), lambda x: x.argmin(0)),
    "argmax of three": Case(lambda x: op.argmax(x, axis=1), lambda x: x.argmax(1), (("n", 7, "m"),)),
}


@thinned(("name", "target"), on_targets(CHOICES), lambda case: case[0])
def test_the_best_of_columns(name, target):
    case = CHOICES[name]
    function = build(case, target)
    for sizes in SIZES[1:]:
        (x,) = arguments(case, sizes, "float32")
        np.testing.assert_array_equal(function(tvm.nd.array(x)).numpy(), case.numpys(x), err_msg=str(sizes))


def test_columns_with_nan_are_what_single_ones_are():
    """Lane by lane the same as for a column of a matrix that is too narrow for vectors to differ."""
    x = np.random.default_rng(1).integers(0, 4, (9, 40)).astype("float32")
    x[[0, 4, 8], [3, 5, 7]] = np.nan
    full = build(CHOICES["argmax"], "llvm")
    actual = full(tvm.nd.array(x)).numpy()
    alone = [full(tvm.nd.array(np.ascontiguousarray(x[:, [j]]))).numpy()[0] for j in range(40)]
    np.testing.assert_array_equal(actual, alone)


def shuffled(x):
    n, c, h, w = x.shape
    return x.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, h * 2, w * 2)


MOVES = {
    "tile": Case(lambda x: op.tile(x, [2, 3]), lambda x: np.tile(x, (2, 3)), (("n", 20),)),
    "tile of short rows": Case(lambda x: op.tile(x, [1, 9]), lambda x: np.tile(x, (1, 9)), (("n", 7),)),
    "repeat twice": Case(lambda x: op.repeat(x, 2, axis=1), lambda x: np.repeat(x, 2, 1)),
    "repeat": Case(lambda x: op.repeat(x, 3, axis=1), lambda x: np.repeat(x, 3, 1), (("n", 67),)),
    "stack": Case(
        lambda x, y: op.nn.relu(op.stack([x, y], axis=2)),
        lambda x, y: np.maximum(np.stack([x, y], 2), 0),
        (("n", 35), ("n", 35)),
    ),
    "stack three": Case(lambda *a: op.stack(list(a), axis=1), lambda *a: np.stack(a, 1), (("m",),) * 3),
    "pixels": Case(lambda x: op.nn.pixel_shuffle(x, 2), shuffled, (("n", 8, 3, 21),)),
    "colours": Case(lambda x: op.permute_dims(x, [0, 2, 3, 1]), lambda x: x.transpose(0, 2, 3, 1), (("n", 3, 5, 33),)),
    "flip": Case(lambda x: op.flip(x, axis=1), lambda x: x[:, ::-1]),
    "step backwards": Case(lambda x: op.strided_slice(x, [1], [66], [0], [-1]), lambda x: x[:, 66:0:-1], (("n", 67),)),
}


@thinned(("name", "target"), on_targets(MOVES), lambda case: case[0])
def test_moves(name, target):
    check(MOVES[name], target)


@thinned("dtype", ["int8", "float64", "bool"], 1)
def test_moves_of_other_types(dtype):
    for name in ("tile", "repeat", "colours", "flip"):
        check(MOVES[name], "llvm", dtype)


def added(x, i, u):
    out = x.copy()
    np.add.at(out, i[:, 0], u)
    return out


def added_each(x, i, u):
    out = x.copy()
    np.add.at(out, (i, np.broadcast_to(np.arange(x.shape[1]), i.shape)), u)
    return out


SCATTERS = {
    "rows": Case(lambda x, i, u: op.scatter_nd(x, i, u, reduction="add"), added, (("n", "m"), (9, 1), (9, "m")), (1,)),
    "elements": Case(
        lambda x, i, u: op.scatter_elements(x, i, u, axis=0, reduction="add"),
        added_each,
        (("n", "m"), (9, "m"), (9, "m")),
        (1,),
    ),
}


@thinned(("name", "target"), on_targets(SCATTERS), lambda case: case[0])
def test_scatters(name, target):
    """Rows of updates that meet in one place are added one after the other; each of them is vectors."""
    check(SCATTERS[name], target)


def test_only_rows_of_updates_are_vectors():
    rows, elements = (scheduled(SCATTERS[name]) for name in ("rows", "elements"))
    assert rows.count("tir.for vectorized") == 2
    assert elements.count("tir.for vectorized") == 1


@thinned(("dtype", "target"), on_targets(["int32", "int8", "uint32", "uint16"]), lambda case: case[0])
def test_vectors_of_quotients(dtype, target):
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(2)
    x = rng.integers(limits.min, limits.max, (40, 50), dtype, endpoint=True)
    y = rng.integers(max(limits.min, -9), 9, (40, 50)).astype(dtype)
    y[0], x[1, :4], y[1, :4] = 0, [limits.min, limits.max, limits.min, limits.max], [1, 1, limits.max, limits.max]
    y[2], x[2] = np.array(-1).astype(dtype), limits.min
    with np.errstate(all="ignore"):
        for name in ("floor_divide", "floor_mod"):
            case = Case(getattr(op, name), None, (("n", 50), ("n", 50)))
            result = build(case, target, dtype)(tvm.nd.array(x), tvm.nd.array(y)).numpy()
            expected = {"floor_divide": np.floor_divide, "floor_mod": np.mod}[name](x, y)
            np.testing.assert_array_equal(result[y != 0], expected[y != 0])


def test_products_of_rows():
    function = build(Case(lambda x: op.prod(x, axis=1), None), "llvm")
    x = np.random.default_rng(0).uniform(0.9, 1.1, (3, 133)).astype("float32")
    np.testing.assert_allclose(function(tvm.nd.array(x)).numpy(), x.astype("float64").prod(1), rtol=1e-5)
    assert function(tvm.nd.array(np.ones((2, 0), "float32"))).numpy().tolist() == [1, 1]


POOLS = (
    {"pool_size": (2, 2), "strides": (2, 2)},
    {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1, 1, 1)},
    {"pool_size": (4, 2), "strides": (2, 3), "padding": (1, 0, 2, 1)},
    {"pool_size": (3, 2), "strides": (2, 2), "ceil_mode": True},
    {"pool_size": (2, 2), "strides": (1, 2), "dilation": (2, 1)},
)


@thinned("attrs, kind", [(attrs, kind) for attrs in POOLS for kind in ("max", "avg")], 2)
def test_gradients_of_pools(kind, attrs):
    """The sum of what comes out times the gradient is that of what goes in times what is passed back to it."""
    forward = getattr(op.nn, f"{kind}_pool2d")
    pooled = Case(lambda x: forward(x, **attrs), None, ((2, 3, 12, 67),))
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 3, 12, 67)).astype("float32")
    out = build(pooled, "llvm")(tvm.nd.array(x)).numpy()
    gradient = rng.standard_normal(out.shape).astype("float32")
    backward = getattr(op.grad, f"{kind}_pool2d_backward")
    back = build(Case(lambda g, x: backward(g, x, **attrs), None, (out.shape, x.shape)), "llvm")
    actual = back(tvm.nd.array(gradient), tvm.nd.array(x)).numpy()
    assert np.sum(out.astype("float64") * gradient) == pytest.approx(np.sum(x.astype("float64") * actual), rel=1e-4)
    if kind == "max":
        assert np.count_nonzero(actual) <= gradient.size


def test_only_the_valid_part_of_rows_is_sorted():
    x = te.placeholder((3, 100), "float32", name="x")
    counts = te.placeholder((3,), "int32", name="counts")
    order = topi.argsort(x, valid_count=counts, axis=1, is_ascend=True)
    function = tvm.build(te.create_prim_func([x, counts, order]))["main"]
    values = np.random.default_rng(0).integers(0, 9, (3, 100)).astype("float32")
    valid = np.array([0, 50, 97], "int32")
    out = tvm.nd.array(np.zeros((3, 100), str(order.dtype)))
    function(tvm.nd.array(values), tvm.nd.array(valid), out)
    for row, n, actual in zip(values, valid, out.numpy(), strict=True):
        assert [*np.argsort(row[:n], kind="stable"), *range(n, 100)] == actual.astype(int).tolist()


@thinned(("axis", "target"), on_targets([0, 1]), lambda case: case[0])
def test_sorting_keeps_the_order_of_equals(axis, target):
    """Runs that are sorted by counting, merged ones, and what is left of both."""
    function = build(Case(lambda x: op.argsort(x, axis=axis), None), target)
    for shape in ((0, 3), (1, 1), (33, 64), (4, 200), (70, 31)):
        x = np.random.default_rng(5).integers(0, 9, shape).astype("float32")
        result = function(tvm.nd.array(x)).numpy()
        np.testing.assert_array_equal(result, np.argsort(x, axis=axis, kind="stable"))


def test_nan_comes_last():
    x = np.random.default_rng(6).standard_normal((2, 75)).astype("float32")
    x[:, ::7] = np.nan
    function = build(Case(lambda x: op.sort(x, axis=1), None), "llvm")
    np.testing.assert_array_equal(function(tvm.nd.array(x)).numpy(), np.sort(x, 1))
