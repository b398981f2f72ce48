"""Which operators' loops work on vectors: each operator at a middling size, scheduled as `relax.build` does.

    python benchmarks/scalar_loops.py [--only pool,take] [--target "llvm -mcpu=haswell"] [--all] [--times] [--check]

Printed is, for each that is scalar, the part of what its loops read and write in memory that they read and write
element by element, in the IR before LLVM sees it, and why that is so (`REASONS`). `--all` prints the others, too,
`--times` the nanoseconds for each element of the largest of arguments and results. `--check` fails where an operator is
scalar without a reason, or has one that is no more.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ops import shortest  # isort: skip  (before numpy)
import numpy as np
from xdsl.dialects import arith, func, llvm, memref, scf, vector
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, VectorType
from xdsl.ir import Operation, SSAValue

import tirax.tvm_api as tvm
from tirax.dialects import tir
from tirax.driver.build import run_passes
from tirax.driver.pipelines import KERNELS, SCHEDULE, make_passes
from tirax.ir.passes.transform import module_op, new_context, no_gc
from tirax.tvm_api import relax

op = relax.op
_UNKNOWN = 16
"""How often a loop runs of which that is not known."""
_MUCH = 0.3
"""A kernel is scalar where more than this part of its accesses is: a load for each row, and what is left of rows, is
less."""


@dataclass(frozen=True)
class Row:
    """An operator on tensors of such types, `float32 8x60`."""

    name: str
    make: Callable[..., Any]
    types: tuple[str, ...]
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])


F, G, IMAGE, LAST = "float32 24x200", "float32 200", "float32 2x20x27x30", "float32 2x27x30x20"
UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp floor isfinite isinf isnan log negative nn.gelu "
    "nn.gelu_tanh nn.leakyrelu nn.relu nn.selu nn.silu nn.softplus round rsqrt sigmoid sign sin sinh sqrt square tan "
    "tanh trunc"
)
BINARY = (
    "add divide equal floor_divide floor_mod greater greater_equal less less_equal maximum minimum mod multiply "
    "not_equal power subtract"
)
OF_INTEGERS = "add bitwise_and bitwise_or bitwise_xor divide floor_divide floor_mod left_shift less mod right_shift"
OF_BOOLS = "logical_and logical_or logical_xor"
REDUCTIONS = "max mean min prod std sum variance argmax argmin"
CASTS = (
    ("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float32"),
    ("float32", "int8"), ("int8", "float32"), ("float32", "int32"), ("int64", "float32"), ("float32", "bool"),
    ("bool", "float32"), ("int64", "int32"), ("uint8", "int32"), ("float32", "float64"), ("float32", "uint8"),
)  # fmt: skip


def _named(path: str) -> Callable[..., Any]:
    actual: Any = op
    for part in path.split("."):
        actual = getattr(actual, part)
    return actual


def _row(path: str, *types: str, note: str = "", **attrs: Any) -> Row:
    return Row(f"{path} {note}".strip(), _named(path), types, attrs)


def _elementwise() -> Iterator[Row]:
    for name in UNARY.split():
        yield _row(name, F)
    for name in BINARY.split():
        yield _row(name, F, F)
        yield _row(name, F, G, note="of a row")
    for name in OF_INTEGERS.split():
        yield _row(name, "int32 24x200", "int32 24x200", note="int32")
    yield _row("floor_divide", "int64 24x200", "int64 24x200", note="int64")
    for name in OF_BOOLS.split():
        yield _row(name, "bool 24x200", "bool 24x200")
    yield _row("logical_not", "bool 24x200")
    yield _row("bitwise_not", "int32 24x200")
    yield _row("clip", F, min=-1.0, max=1.0)
    yield _row("where", "bool 24x200", F, F)
    yield _row("where", "bool 24x1", F, G, note="broadcast")
    yield _row("ewise_fma", F, F, F)
    for name in ("exp", "add"):
        for dtype in ("float16", "bfloat16", "float64"):
            yield _row(name, *[f"{dtype} 24x200"] * (1 if name == "exp" else 2), note=dtype)
    for source, expected in CASTS:
        yield _row("astype", f"{source} 24x200", dtype=expected, note=f"{source} {expected}")
    yield _row("nn.prelu", IMAGE, "float32 20", axis=1)
    quantized = {"axis": 1, "out_dtype": "int8"}
    yield _row("quantize", F, "float32 200", "int8 200", **quantized)
    yield _row("dequantize", "int8 24x200", "float32 200", "int8 200", axis=1)


def _reductions() -> Iterator[Row]:
    for name in REDUCTIONS.split():
        for axis in (0, 1) if name.startswith("arg") else (0, 1, None):
            yield _row(name, "float32 60x600", axis=axis, note=f"axis {axis}")
        yield _row(name, "float32 6x50x70", axis=1, note="axis 1 of 3")
    yield _row("sum", "float16 60x200", axis=1, note="float16")
    yield _row("sum", "int32 60x200", axis=1, note="int32")
    yield _row("max", "int8 60x200", axis=0, note="int8")
    for name in ("cumsum", "cumprod"):
        for axis in (0, 1, None):
            yield _row(name, "float32 60x200", axis=axis, note=f"axis {axis}")
    yield _row("cumsum", "float32 60x200", axis=1, exclusive=True, note="exclusive")
    yield _row("cumsum", "int32 60x200", axis=1, note="int32")
    yield _row("cumsum", "float16 60x200", axis=1, note="float16")
    yield _row("cumsum", "float32 6x50x70", axis=1, note="axis 1 of 3")


def _moves() -> Iterator[Row]:
    yield _row("nn.pad", IMAGE, pad_width=[0, 0, 0, 0, 1, 1, 1, 1])
    yield _row("nn.pad", LAST, pad_width=[0, 0, 1, 1, 1, 1, 0, 0], note="NHWC")
    yield _row("nn.pad", F, pad_width=[0, 0, 1, 2], pad_mode="reflect", note="reflect")
    yield _row("flip", F, axis=0, note="axis 0")
    yield _row("flip", F, axis=1, note="axis 1")
    yield _row("tile", F, repeats=[2, 3])
    yield _row("tile", "float32 24x10", repeats=[1, 30], note="of short rows")
    yield _row("repeat", F, repeats=3, axis=0, note="axis 0")
    yield _row("repeat", F, repeats=3, axis=1, note="axis 1")
    for axes in ([1, 0], [0, 2, 1], [2, 0, 1], [0, 2, 1, 3], [0, 2, 3, 1], [0, 3, 1, 2]):
        dims = [5, 33, 50, 70][-len(axes) :]
        yield _row("permute_dims", f"float32 {'x'.join(map(str, dims))}", axes=axes, note=str(axes))
    yield _row("permute_dims", "int8 100x210", axes=[1, 0], note="int8")
    yield _row("broadcast_to", "float32 24x1", shape=[24, 200], note="of columns")
    yield _row("broadcast_to", G, shape=[24, 200], note="of rows")
    yield _row("strided_slice", F, axes=[1], begin=[3], end=[190], note="axis 1")
    yield _row("strided_slice", F, axes=[1], begin=[0], end=[200], strides=[2], note="step 2")
    yield _row("strided_slice", F, axes=[1], begin=[199], end=[0], strides=[-1], note="step -1")
    yield _row("strided_slice", F, axes=[0], begin=[0], end=[24], strides=[2], note="axis 0 step 2")
    yield Row("concat axis 1", lambda x, y: op.concat([x, y], axis=1), (F, F))
    yield Row("concat axis 0", lambda x, y: op.concat([x, y], axis=0), (F, F))
    yield Row("concat three, axis 1", lambda x, y, z: op.concat([x, y, z], axis=1), (F, "float32 24x70", F))
    yield Row("concat channels NHWC", lambda x, y: op.concat([x, y], axis=3), (LAST, LAST))
    yield Row("concat channels NCHW", lambda x, y: op.concat([x, y], axis=1), (IMAGE, IMAGE))
    yield Row("stack axis 0", lambda x, y: op.stack([x, y], axis=0), (F, F))
    yield Row("stack axis 2", lambda x, y: op.stack([x, y], axis=2), (F, F))
    yield Row("split axis 1", lambda x: op.split(x, 4, axis=1), (F,))
    yield Row("split axis 0", lambda x: op.split(x, [5, 11], axis=0), (F,))
    yield _row("reshape", "float32 24x200", shape=[50, 96])
    yield _row("tril", F, k=1)
    yield _row("triu", F, k=-1)
    yield Row("one_hot", lambda x: op.one_hot(x, relax.PrimValue(1.0), relax.PrimValue(0.0), 100), ("int64 60",))
    yield Row(
        "one_hot axis 0", lambda x: op.one_hot(x, relax.PrimValue(1.0), relax.PrimValue(0.0), 10, 0), ("int64 400",)
    )
    yield _row("slice_scatter", F, "float32 24x100", note="", axis=1, start=50, end=150, step=1)
    yield Row("layout_transform", lambda x: op.layout_transform(x, lambda n, c: (n, c // 8, c % 8)), (F,))
    yield _row("nn.pixel_shuffle", "float32 1x16x20x21", upscale_factor=2)
    yield _row("image.resize2d", IMAGE, size=[50, 60], method="nearest_neighbor", note="nearest")
    yield _row("image.resize2d", IMAGE, size=[50, 61], method="linear", note="linear")
    yield _row("image.resize2d", LAST, size=[50, 61], layout="NHWC", method="linear", note="linear NHWC")
    yield _row("image.resize2d", IMAGE, size=[41, 50], method="cubic", note="cubic")
    yield _row("image.grid_sample", IMAGE, "float32 2x2x14x17")
    yield _row("image.affine_grid", "float32 2x2x3", size=[30, 40])
    yield Row("meshgrid", lambda x, y: op.meshgrid([x, y], indexing="ij"), (G, G))
    yield _row("outer", G, G)


def _places() -> Iterator[Row]:
    yield _row("take", F, "int64 50", axis=0, note="axis 0")
    yield _row("take", F, "int64 50", axis=1, note="axis 1")
    yield _row("take", "float32 1000", "int32 500", axis=0, note="of one dimension")
    yield _row("take", F, "int64 50", axis=0, mode="nan", note="nan")
    yield _row("take", F, "int64 50", axis=0, mode="wrap", note="wrap")
    yield _row("gather_elements", F, "int64 24x200", axis=0, note="axis 0")
    yield _row("gather_elements", F, "int64 24x200", axis=1, note="axis 1")
    yield _row("gather_nd", F, "int64 50x1")
    yield _row("gather_nd", F, "int64 500x2", note="of elements")
    yield Row("index_tensor", lambda x, i, j: op.index_tensor(x, [i, j]), (F, "int64 500", "int64 500"))
    yield Row("index_tensor of rows", lambda x, i: op.index_tensor(x, [i]), (F, "int64 50"))
    yield _row("scatter_elements", F, "int64 24x200", F, axis=1, note="axis 1")
    yield _row("scatter_elements", F, "int64 24x200", F, axis=0, reduction="add", note="axis 0 add")
    yield _row("scatter_nd", F, "int64 50x1", "float32 50x200")
    yield _row("scatter_nd", F, "int64 50x1", "float32 50x200", reduction="add", note="add")
    yield Row("index_put", lambda x, i, v: op.index_put(x, [i], v), (F, "int64 50", "float32 50x200"))
    yield _row("sort", F, axis=1)
    yield _row("argsort", F, axis=1)
    yield _row("topk", F, k=5, axis=1)
    yield _row("bucketize", F, "float32 50")
    yield _row("multinomial_from_uniform", F, "float32 24x1", "int64 24x1")
    yield _row("grad.take_backward", "float32 50x200", F, "int64 50", axis=0)
    yield _row("nn.nll_loss", F, "int64 24")
    yield _row("nn.cross_entropy_with_logits", F, F)


def _nn() -> Iterator[Row]:
    for name in ("max", "avg"):
        for layout, image in (("NCHW", IMAGE), ("NHWC", LAST)):
            for size, stride, pad in ((2, 2, 0), (3, 2, 1), (3, 1, 1)):
                attrs = {"pool_size": size, "strides": stride, "padding": pad, "layout": layout}
                yield _row(f"nn.{name}_pool2d", image, note=f"{size}x{size}/{stride} {layout}", **attrs)
        yield _row(f"nn.{name}_pool1d", "float32 2x20x300", pool_size=3, strides=2, padding=1)
        yield _row(f"nn.{name}_pool3d", "float32 1x8x10x20x30", pool_size=2, strides=2)
    for layout, image in (("NCHW", IMAGE), ("NHWC", LAST)):
        for size in (1, 7):
            yield _row("nn.adaptive_avg_pool2d", image, output_size=size, layout=layout, note=f"{size} {layout}")
    yield _row("nn.adaptive_avg_pool1d", "float32 2x20x300", output_size=7)
    yield _row("nn.softmax", F, axis=1)
    yield _row("nn.softmax", F, axis=0, note="axis 0")
    yield _row("nn.log_softmax", F, axis=1)
    yield _row("nn.layer_norm", F, G, G, axes=[-1])
    yield _row("nn.rms_norm", F, G, axes=[-1])
    yield _row("nn.group_norm", IMAGE, "float32 20", "float32 20", num_groups=5, channel_axis=1, axes=[2, 3])
    yield _row("nn.instance_norm", IMAGE, "float32 20", "float32 20", channel_axis=1, axes=[2, 3])
    statistics = ["float32 20"] * 4
    yield Row("nn.batch_norm", lambda *a: op.nn.batch_norm(*a, axis=1)[0], (IMAGE, *statistics))
    for layout, image, kernel in (("NCHW", IMAGE, "OIHW"), ("NHWC", LAST, "HWIO")):
        weight = "float32 24x20x3x3" if kernel == "OIHW" else "float32 3x3x20x24"
        depth = "float32 20x1x3x3" if kernel == "OIHW" else "float32 3x3x1x20"
        attrs = {"padding": 1, "data_layout": layout, "kernel_layout": kernel}
        yield _row("nn.conv2d", image, weight, note=layout, **attrs)
        yield _row("nn.conv2d", image, depth, groups=20, note=f"depthwise {layout}", **attrs)
    yield _row("nn.conv1d", "float32 2x20x300", "float32 24x20x3", padding=1)
    yield _row("nn.conv3d", "float32 1x8x10x20x30", "float32 9x8x3x3x3", padding=1)
    yield _row("nn.conv2d_transpose", IMAGE, "float32 20x12x2x2", strides=2)
    yield _row("nn.conv1d_transpose", "float32 2x20x300", "float32 20x12x3", strides=2)
    yield _row("matmul", "float32 40x60", "float32 60x50")
    yield _row("matmul", "int32 40x60", "int32 60x50", note="int32")
    yield _row("matmul", "float16 40x60", "float16 60x50", note="float16")
    yield _row("matmul", "float64 40x60", "float64 60x50", note="float64")
    yield _row("matmul", "float32 40x60", "float32 60", note="vector")
    attention = ["float32 1x50x4x32"] * 3
    yield _row("nn.attention", *attention)
    pooled = {"pool_size": [2, 2], "strides": [2, 2]}
    for name in ("grad.max_pool2d_backward", "grad.avg_pool2d_backward"):
        yield _row(name, "float32 2x20x20x33", "float32 2x20x40x66", **pooled)
        overlapping = {"pool_size": [3, 3], "strides": [2, 2], "padding": [1, 1, 1, 1]}
        yield _row(name, "float32 2x20x20x33", "float32 2x20x40x66", note="overlapping", **overlapping)


_PLACES = "the elements lie at computed places: read one by one into vectors"
_SORT = "sorted by bits: where an element goes depends on how many like it came before"
_UPDATES = "updates may meet at one place: written one after the other"
_WINDOWS = "windows that differ from element to element, read under a condition at computed places"
_NAN = "vectors; the loop over single elements runs only where there is a NaN"
REASONS = {
    "image.grid_sample": _PLACES,
    "scatter_elements axis 1": _UPDATES,
    "scatter_elements axis 0 add": _UPDATES,
    "argsort": _SORT,
    "topk": _SORT,
    "argmax axis 1": _NAN,
    "argmin axis 1": _NAN,
    "bucketize": "a binary search: where it looks next depends on the last comparison",
    "nn.adaptive_avg_pool2d 7 NCHW": _WINDOWS,
    "grad.max_pool2d_backward overlapping": _WINDOWS,
    "grad.avg_pool2d_backward overlapping": _WINDOWS,
}
"""Why rows are scalar."""


def _created() -> Iterator[Row]:
    yield Row("arange", lambda: op.arange(0, 500, 1, "float32"), ())
    yield Row("full", lambda: op.full([24, 200], relax.const(1.5, "float32"), "float32"), ())
    yield Row("zeros", lambda: op.zeros([24, 200], "float32"), ())
    yield Row("eye", lambda: op.eye(50, 70, 1, dtype="float32"), ())
    yield Row("hamming_window", lambda: op.hamming_window(200, True, 0.54, 0.46, "float32"), ())


def table() -> list[Row]:
    """All rows."""
    return [*_elementwise(), *_reductions(), *_moves(), *_places(), *_nn(), *_created()]


def module(row: Row) -> Any:
    """A module whose `main` is the operator of a row."""
    builder = relax.BlockBuilder()
    params: list[Any] = []
    for i, text in enumerate(row.types):
        dtype, shape = text.split()
        params.append(relax.Var(f"a{i}", relax.TensorStructInfo([int(d) for d in shape.split("x")], dtype)))
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(row.make(*params, **row.attrs)))
        builder.emit_func_output(result)
    return builder.get()


def kernels(rows: Iterable[Row], target: str) -> ModuleOp:
    """The tensor functions of all rows in one module, just before `outline-parallel`; their names begin with a row's.

    The prefix is the row's place in `rows`, and `:`.
    """
    together = ModuleOp([])
    context = new_context()
    with no_gc():
        for number, row in enumerate(rows):
            one = module_op(module(row)).clone()
            run_passes(make_passes(["normalize", "legalize-ops"], target), context, one)
            for function in [f for f in one.ops if isinstance(f, tir.FuncOp)]:
                function.detach()
                function.sym_name = StringAttr(f"{number}:{function.sym_name.data}")
                together.body.block.add_op(function)
        names = [*SCHEDULE, *KERNELS[: KERNELS.index("outline-parallel")], "promote-tiles"]
        run_passes(make_passes(names, target), context, together, verify_each=False)
    return together


def scalar_part(function: func.FuncOp) -> float:
    """The part of the elements that a kernel's loops access in memory that are accessed one by one."""
    one, many = _accessed(function, 1)
    return one / (one + many) if one + many else 0.0


def _accessed(root: Operation, times: int) -> tuple[int, int]:
    """(accesses of single elements, elements accessed in vectors) in the regions of an operation that runs `times`."""
    one = many = 0
    for inner in (o for region in root.regions for block in region.blocks for o in block.ops):
        if isinstance(inner, memref.LoadOp | memref.StoreOp):
            one += times
        elif isinstance(inner, vector.LoadOp | vector.StoreOp | vector.MaskedLoadOp | vector.MaskedStoreOp):
            kinds = [v.type for v in (*inner.operands, *inner.results) if isinstance(v.type, VectorType)]
            many += times * kinds[0].get_shape()[0]
        elif isinstance(inner, llvm.CallIntrinsicOp) and inner.intrin.data == "llvm.masked.gather":
            many += times * inner.results[0].type.get_shape()[0]
        if inner.regions:
            a, b = _accessed(inner, times * _trips(inner))
            one, many = one + a, many + b
    return one, many


def _trips(loop: Operation) -> int:
    """How often the regions of an operation run."""
    if isinstance(loop, scf.ForOp):
        ends = [_constant(v) for v in (loop.lb, loop.ub, loop.step)]
        return _count(*ends)
    if isinstance(loop, scf.ParallelOp):
        bounds = zip(loop.lowerBound, loop.upperBound, loop.step, strict=True)
        return prod(_count(*map(_constant, ends)) for ends in bounds)
    return _UNKNOWN if isinstance(loop, scf.WhileOp) else 1


def _count(first: int | None, end: int | None, step: int | None) -> int:
    if first is None or end is None or not step:
        return _UNKNOWN
    return max(0, -(-(end - first) // step))


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    known = isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr)
    return owner.value.value.data if known else None


def parts(rows: list[Row], target: str = "llvm") -> list[tuple[Row, dict[str, float]]]:
    """For each row the scalar part of its kernels, by their names."""
    results: list[dict[str, float]] = [{} for _ in rows]
    for function in kernels(rows, target).ops:
        if isinstance(function, func.FuncOp) and function.body.first_block is not None:
            number, _, name = function.sym_name.data.partition(":")
            results[int(number)][name] = scalar_part(function)
    return list(zip(rows, results, strict=True))


def nanoseconds(row: Row, target: str) -> float:
    """The time for an element of the largest of arguments and results."""
    function = relax.VirtualMachine(relax.build(module(row), target=target), tvm.cpu())["main"]
    rng = np.random.default_rng(1)
    arrays = []
    for text in row.types:
        dtype, shape = text.split()
        dims = [int(d) for d in shape.split("x")]
        if "float" in dtype:
            arrays.append(tvm.nd.array(rng.uniform(1, 2, dims).astype("float32")).astype(dtype))
        else:
            arrays.append(tvm.nd.array(rng.integers(0, 2 if dtype == "bool" else 12, dims).astype(dtype)))
    out = function(*arrays)
    outs = out if isinstance(out, (list, tuple)) else [out]
    size = max([a.numpy().size for a in arrays] + [o.numpy().size for o in outs if hasattr(o, "numpy")] + [1])
    return 1e3 * shortest({"ours": lambda: function(*arrays)}, 7, 2e-4)["ours"] / size


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description="operators: what of their loops is scalar")
    options.add_argument("--only", default="", help="parts of names, with commas")
    options.add_argument("--target", default="llvm")
    options.add_argument("--times", action="store_true", help="run them, too")
    options.add_argument("--all", action="store_true", help="also those that are vectors")
    options.add_argument("--check", action="store_true", help="fail where `REASONS` does not say what is scalar")
    chosen = options.parse_args()
    selected = [part for part in chosen.only.split(",") if part]
    rows = [row for row in table() if not selected or any(part in row.name for part in selected)]
    wrong: list[str] = []
    for row, each in parts(rows, chosen.target):
        worst = max(each.values(), default=0.0)
        if (worst > _MUCH) != (row.name in REASONS):
            wrong.append(row.name)
        if worst > _MUCH or chosen.all:
            time = f"{nanoseconds(row, chosen.target):8.2f} ns" if chosen.times else ""
            print(f"{row.name:34} {worst:5.2f} {time} {REASONS.get(row.name, '')}", flush=True)
    if chosen.check and wrong:
        raise SystemExit(f"these are scalar without a reason, or vectors with one: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
