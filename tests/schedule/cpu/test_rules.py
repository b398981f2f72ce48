"""What the rules of the default schedule make of operators means what numpy means, at every size, for every target.

Each case is built once for symbolic sizes and called with several, 0, 1 and odd ones among them; the references are
computed in float64.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from relax_modules import module
from strength import thinned

import tirax.tvm_api as tvm
from tirax.driver.pipelines import OPTIMIZE, SCHEDULE, make_passes
from tirax.ir.passes.transform import Sequential, module_op
from tirax.target import Target
from tirax.tvm_api import relax

op = relax.op
TARGETS = ["llvm"] + (["llvm -mcpu=haswell"] if {"avx2", "fma"} <= Target().features else [])
RNG = np.random.default_rng(11)


@dataclass(frozen=True)
class Case:
    """An operator on tensors whose shapes name symbolic sizes; `sizes` are the values of these, call by call."""

    ours: Any
    numpys: Any
    shapes: tuple
    sizes: tuple = ({},)


def build(case, target, dtype="float32"):
    mod = module(case.ours, *case.shapes, dtypes=dtype)
    return relax.VirtualMachine(relax.build(mod, target=target), tvm.cpu())["main"]


def check(case, target):
    function = build(case, target)
    for sizes in case.sizes:
        arrays = [RNG.standard_normal([sizes.get(d, d) for d in s]).astype("float32") for s in case.shapes]
        expected = case.numpys(*(a.astype("float64") for a in arrays))
        result = function(*map(tvm.nd.array, arrays)).numpy()
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-4, err_msg=str(sizes))


def windows(x, kernel, stride, pad, axes):
    width = [(pad, pad) if axis in axes else (0, 0) for axis in range(x.ndim)]
    view = np.lib.stride_tricks.sliding_window_view(np.pad(x, width), (kernel, kernel), axis=axes)
    return view[tuple(slice(None, None, stride) if axis in axes else slice(None) for axis in range(x.ndim))]


def conv(image, inputs, outputs, kernel, stride, pad, *, then=lambda x: x, batch=1, sizes=({},)):
    attrs = {"strides": stride, "padding": pad}
    return Case(
        lambda x, w: then(op.nn.conv2d(x, w, **attrs)),
        lambda x, w: np.maximum(np.einsum("nchwpq,ocpq->nohw", windows(x, kernel, stride, pad, (2, 3)), w), 0),
        ((batch, inputs, *image), (outputs, inputs, kernel, kernel)),
        sizes,
    )


def nt(x, w):
    axes = [*range(len(w.struct_info.shape) - 2), -1, -2]
    return op.matmul(x, op.permute_dims(w, axes))


def nt_numpy(x, w):
    return x @ w.swapaxes(-1, -2)


ROWS = ({"n": 0}, {"n": 1}, {"n": 23}, {"n": 24}, {"n": 31})
PANELS = {
    "wide": Case(op.matmul, np.matmul, ((26, 1030), (1030, 1030))),
    "deep": Case(op.matmul, np.matmul, ((25, 1100), (1100, 1056))),
    "rows": Case(op.matmul, np.matmul, (("n", 1024), (1024, 1024)), ROWS),
    "batch and rows": Case(op.matmul, np.matmul, (("n", 5, 1024), (1024, 1024)), ({"n": 0}, {"n": 1}, {"n": 6})),
    "depth": Case(op.matmul, np.matmul, ((25, "k"), ("k", 1040)), ({"k": 0}, {"k": 1}, {"k": 515})),
    "power of two": Case(op.matmul, np.matmul, ((26, 700), (700, 512))),
    "side by side": Case(op.matmul, np.matmul, ((140, 1030), (1030, 1030))),
    "transposed": Case(nt, nt_numpy, ((25, 35), (70, 35))),
    "transposed, in parts": Case(nt, nt_numpy, ((24, 1030), (65, 1030))),
    "transposed, rows": Case(nt, nt_numpy, (("n", 40), (48, 40)), ROWS),
    "transposed, batch": Case(nt, nt_numpy, (("n", 2, 26, 20), ("n", 2, 37, 20)), ({"n": 0}, {"n": 1}, {"n": 3})),
    "transposed, depth and columns": Case(
        nt,
        nt_numpy,
        ((25, "k"), ("m", "k")),
        tuple({"k": k, "m": m} for k, m in ((0, 5), (1, 1), (7, 0), (33, 70), (700, 131))),
    ),
    "stride": conv((15, 31), 3, 33, 1, 2, 0, then=op.nn.relu),
    "window": conv((7, 9), 5, 30, 3, 1, 1, then=op.nn.relu),
    "window and stride": conv((14, 14), 6, 24, 3, 2, 1, then=op.nn.relu, batch="n", sizes=({"n": 0}, {"n": 3})),
    "height": conv(("n", 6), 4, 40, 3, 1, 1, then=op.nn.relu, sizes=({"n": 1}, {"n": 2}, {"n": 13})),
    "width": conv((5, "n"), 4, 40, 3, 2, 1, then=op.nn.relu, sizes=({"n": 1}, {"n": 40}, {"n": 71})),
}


@thinned("name, target", [(name, target) for name in PANELS for target in TARGETS], 5)
def test_panels(name, target):
    check(PANELS[name], target)


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def layer_norm(x, g, b):
    low = x - x.mean(-1, keepdims=True)
    return low / np.sqrt((low * low).mean(-1, keepdims=True) + 1e-5) * g + b


def max_pool(x, stride):
    return windows(x, 3, stride, 0, (2, 3)).max((-2, -1))


def grouped(x, w):
    groups = x.shape[-1] // w.shape[2]
    parts = zip(np.split(x, groups, -1), np.split(w, groups, -1), strict=True)
    return np.concatenate([np.einsum("nhwcpq,pqco->nhwo", windows(a, 3, 1, 0, (1, 2)), b) for a, b in parts], -1)


MANY = ({"n": 0}, {"n": 1}, {"n": 15}, {"n": 34})
OTHERS = {
    "gemv": Case(op.matmul, np.matmul, ((1, 21), (21, 1040))),
    "gemv of any width": Case(op.matmul, np.matmul, ((1, "k"), ("k", 1040)), ({"k": 0}, {"k": 1}, {"k": 17})),
    "gemv, batched": Case(op.matmul, np.matmul, (("n", 1, 9), ("n", 9, 1030)), ({"n": 0}, {"n": 2})),
    "gemv, transposed": Case(
        nt, nt_numpy, ((1, "k"), ("n", "k")), tuple({"k": k, "n": n} for k, n in ((0, 3), (1, 1), (17, 0), (139, 11)))
    ),
    "matrix times vector": Case(op.matmul, np.matmul, (("n", 150), (150, 1)), ({"n": 0}, {"n": 1}, {"n": 7})),
    "few rows, transposed": Case(
        lambda x, w: op.nn.relu(nt(x, w)),
        lambda x, w: np.maximum(nt_numpy(x, w), 0),
        ((3, 21), ("n", 21)),
        ({"n": 1}, {"n": 10}),
    ),
    "sum of the first axis": Case(lambda x: op.mean(x, 0), lambda x: x.mean(0), ((18, 1030),)),
    "columns": Case(op.matmul, np.matmul, ((2, 30, 65), (2, 65, "n")), ({"n": 0}, {"n": 1}, {"n": 37})),
    "even rows": Case(op.matmul, np.matmul, ((29, 13), (13, 40))),
    "rows and columns": Case(
        op.matmul, np.matmul, (("n", 7), (7, "m")), tuple({"n": n, "m": m} for n in (0, 1, 11) for m in (0, 1, 37))
    ),
    "pool, steps of two": Case(
        lambda x: op.nn.max_pool2d(x, 3, 2),
        lambda x: max_pool(x, 2),
        ((1, 3, 9, "n"),),
        ({"n": 3}, {"n": 4}, {"n": 33}, {"n": 75}),
    ),
    "pool, steps of three": Case(lambda x: op.nn.max_pool2d(x, 3, 3), lambda x: max_pool(x, 3), ((2, 3, 7, 58),)),
    "pool, padded": Case(
        lambda x: op.nn.max_pool2d(x, 3, 2, padding=1),
        lambda x: max_pool(np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), constant_values=-np.inf), 2),
        (("n", 3, 12, 40),),
        ({"n": 0}, {"n": 2}),
    ),
    "short rows": Case(lambda x: op.sum(x, -1), lambda x: x.sum(-1), (("n", 5),), MANY),
    "groups": Case(
        lambda x, w: op.nn.conv2d(x, w, groups=5, data_layout="NHWC", kernel_layout="HWIO"),
        grouped,
        ((2, 5, 6, 10), (3, 3, 2, 20)),
    ),
    "global pool": Case(
        lambda x: op.mean(x, [2, 3]), lambda x: x.mean((2, 3)), (("n", 6, 7, 7),), ({"n": 0}, {"n": 3})
    ),
    "transposed": Case(
        lambda x: op.permute_dims(x, [1, 0]),
        np.transpose,
        (("n", "m"),),
        tuple({"n": n, "m": m} for n, m in ((0, 3), (1, 40), (16, 17), (33, 31))),
    ),
    "transposed, batched": Case(
        lambda x: op.permute_dims(x, [0, 2, 1]), lambda x: x.transpose(0, 2, 1), (("n", 34, 21),), ({"n": 0}, {"n": 2})
    ),
    "channels last": Case(
        lambda x: op.permute_dims(x, [0, 2, 3, 1]), lambda x: x.transpose(0, 2, 3, 1), ((2, 19, 5, 7),)
    ),
    "channels first": Case(
        lambda x: op.permute_dims(x, [0, 3, 1, 2]), lambda x: x.transpose(0, 3, 1, 2), ((2, 5, 7, 19),)
    ),
    "softmax": Case(
        lambda x: op.nn.softmax(x, -1),
        lambda x: softmax(x, -1),
        (("n", "m"),),
        tuple({"n": n, "m": m} for n, m in ((0, 5), (1, 1), (3, 70), (17, 33))),
    ),
    "softmax of heads": Case(lambda x: op.nn.softmax(x, -1), lambda x: softmax(x, -1), (("n", 3, 5, 20),), MANY[:3]),
    "softmax of columns": Case(lambda x: op.nn.softmax(x, 1), lambda x: softmax(x, 1), ((3, "n", 21),), MANY[1:]),
    "layer norm": Case(
        lambda x, g, b: op.nn.layer_norm(x, g, b, axes=[-1]), layer_norm, (("n", 3, 50), (50,), (50,)), MANY[:3]
    ),
    "scale of channels": Case(
        lambda x, a: op.nn.relu(op.multiply(x, a)),
        lambda x, a: np.maximum(x * a, 0),
        (("n", 6, 5, 7), (6, 1, 1)),
        MANY[:3],
    ),
}


@thinned("name", OTHERS, 6)
def test_other_rules(name):
    check(OTHERS[name], TARGETS[0])


@pytest.mark.parametrize(
    "name",
    [
        "gemv of any width",
        "gemv, transposed",
        "few rows, transposed",
        "pool, steps of two",
        "groups",
        "transposed",
        "softmax",
    ],
)
@pytest.mark.parametrize("target", TARGETS[1:])
def test_other_rules_with_other_vectors(name, target):
    check(OTHERS[name], target)


def scheduled(case, target="llvm -mcpu=x86-64-v4 -vector-width=512"):
    return str(Sequential(make_passes([*OPTIMIZE, *SCHEDULE], target))(module_op(module(case.ours, *case.shapes))))


@pytest.mark.parametrize("name", PANELS)
def test_that_panels_are_used(name):
    """What is read lane by lane is in a buffer of the function's own."""
    text = scheduled(PANELS[name])
    assert re.search(r"%\w+ = tir.alloc_buffer {tirax.padded} : !tir.buffer<[^=]*, f32>\n", text), text


def test_rows_that_meet_in_few_sets_of_a_cache_are_copied():
    """The same matrix with rows that are no power of two apart is read as it stands."""
    for columns, copied in ((1024, True), (1040, False)):
        target = "llvm -mcpu=x86-64-v4 -vector-width=512 -l2-size=1048576"
        text = scheduled(Case(op.matmul, np.matmul, ((64, 600), (600, columns))), target)
        assert ("_strip" in text) == copied, text


@pytest.mark.parametrize(
    "rows, columns, strips", [(128, 640, 2), (128, 512, 2), (100, 640, 1), (128, 384, 1), (128, 2048, 8)]
)
def test_far_rows_pass_by_several_strips(rows, columns, strips):
    """Where the rows do not fit the second-level cache, and enough strips are left."""
    text = scheduled(
        Case(op.matmul, np.matmul, ((rows, 1280), (1280, columns))), "llvm -mcpu=x86-64-v3 -l2-size=524288"
    )
    panel = "1280, 16" if strips == 1 else f"{strips}, 1280, 16"
    assert f"!tir.buffer<[{panel}], f32>" in text, text


def test_few_rows_do_without_a_panel():
    text = scheduled(PANELS["rows"])
    assert "tir.ge" in text and "} else {" in text
    assert "_strip" not in scheduled(Case(op.matmul, np.matmul, ((4, 1024), (1024, 1024))))


def test_a_transposed_matrix_is_read_in_place():
    """Its squares are turned around in registers, between the panel's loop and the tiles; a vector needs no panel."""
    text = scheduled(PANELS["transposed"])
    assert "permute_dims" not in text and text.count("tir.shuffle") == 64 * 1, text.count("tir.shuffle")
    text = scheduled(OTHERS["gemv, transposed"])
    assert 'tir.alloc_buffer {tirax.padded} : !tir.buffer<[4, 32], f32, scope = "local">' in text, text
    four_sums = 3 * 2 + 2 * 2  # three additions of four vectors, two of halves; all four sums end as one vector
    assert "_strip" not in text and text.count("tir.shuffle") == four_sums, text.count("tir.shuffle")


@pytest.mark.parametrize("name", ["softmax", "softmax of heads", "layer norm"])
def test_rows_are_finished_one_by_one(name):
    """All stages stand in one loop over the rows."""
    loops = [line for line in scheduled(OTHERS[name]).splitlines() if re.match(r"    tir.for", line)]
    assert len(loops) == 1, loops


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64", "int32"])
def test_transposed_elements_of_other_widths(dtype):
    array = RNG.integers(-100, 100, (70, 67)).astype(dtype)
    function = build(Case(lambda x: op.permute_dims(x, [1, 0]), None, ((70, 67),)), "llvm", dtype)
    np.testing.assert_array_equal(function(tvm.nd.array(array)).numpy(), array.T)


@pytest.mark.parametrize(("k", "m"), [(1100, 512), (1100, 500), (3, 512), (0, 5), (5000, 130)])
def test_rows_of_unknown_length_are_copied_where_they_meet_in_few_sets(k, m):
    """One build has both forms, and their sums have one order: the bits are those of known sizes."""
    x, y = (tvm.nd.array(RNG.standard_normal(shape)) for shape in ((30, k), (k, m)))
    results = [
        build(Case(op.matmul, None, shapes), "llvm", "float64")(x, y).numpy()
        for shapes in ((("n", "k"), ("k", "m")), ((30, k), (k, m)))
    ]
    np.testing.assert_array_equal(*results)
    np.testing.assert_allclose(results[0], x.numpy() @ y.numpy(), rtol=1e-9, atol=1e-9)


def test_panels_of_unknown_rows_have_another_rule_beside_them():
    mod = module(op.matmul, ("n", "k"), ("k", "m"), dtypes="float64")
    planned = str(module_op(Sequential(make_passes(["legalize-ops", "plan-schedule"]))(mod)))
    assert re.search('"panels".* else "register_tiles"', planned)
