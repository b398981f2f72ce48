"""Single operators, compiled by the default pipeline, beside numpy and beside what the machine can do, one thread.

    python benchmarks/ops.py [--only softmax,conv] [--rounds 41] [--target "llvm -mcpu=haswell"]

Each row is an operator at a size from ResNet-50, BERT, GPT-2, Llama or ViT. Results are compared with numpy first.
The peak is that of multiply-adds in registers (`peaks.py`), measured in the same run, for what multiplies, and
the bandwidth of copying arrays of the row's size for what only moves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import measure

measure.quiet()

import numpy as np  # noqa: E402
from peaks import Peak  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

op = relax.op
Array = np.ndarray
Shapes = tuple[tuple[int, ...], ...]
MOVES = 0


@dataclass(frozen=True)
class Row:
    """An operator: on the shapes of its arguments, in Relax, in numpy; `flop` 0 where memory is the limit."""

    name: str
    shapes: Shapes
    ours: Callable[..., Any]
    numpys: Callable[..., Any]
    flop: int = MOVES
    dtypes: tuple[str, ...] = ()

    def arguments(self) -> list[Array]:
        """Random arguments: floats around 0, integers as places in the first argument."""
        rng = np.random.default_rng(len(self.name))
        kinds = self.dtypes or ("float32",) * len(self.shapes)
        return [
            rng.standard_normal(s).astype(k) if k.startswith("float") else rng.integers(0, self.shapes[0][0], s, k)
            for s, k in zip(self.shapes, kinds, strict=True)
        ]


def windows(x: Array, kernel: int, stride: int, pad: int, axes: tuple[int, int], fill: float = 0.0) -> Array:
    """A view of the windows of an image: two axes of places in the window at the end."""
    width = [(pad, pad) if axis in axes else (0, 0) for axis in range(x.ndim)]
    padded = np.pad(x, width, constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=axes)
    step = [slice(None, None, stride) if axis in axes else slice(None) for axis in range(x.ndim)]
    return view[tuple(step)]


def conv(
    layout: str,
    image: int,
    inputs: int,
    outputs: int,
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    pad: int | None = None,
) -> Row:
    """A convolution, where not said otherwise with the padding that keeps the size."""
    pad, nhwc = kernel // 2 if pad is None else pad, layout == "NHWC"
    data = (1, image, image, inputs) if nhwc else (1, inputs, image, image)
    each = inputs // groups
    weight = (kernel, kernel, each, outputs) if nhwc else (outputs, each, kernel, kernel)
    attrs = {"strides": stride, "padding": pad, "groups": groups, "data_layout": layout}
    attrs["kernel_layout"] = "HWIO" if nhwc else "OIHW"

    def numpys(x: Array, w: Array) -> Array:
        view = windows(x, kernel, stride, pad, (1, 2) if nhwc else (2, 3))
        if nhwc:
            n, h, v, _, p, q = view.shape
            columns = view.reshape(n, h, v, groups, each, p, q).transpose(0, 1, 2, 3, 5, 6, 4)
            split = w.reshape(p * q * each, groups, outputs // groups).transpose(1, 0, 2)
            out = columns.reshape(n * h * v, groups, -1).transpose(1, 0, 2) @ split
            return out.transpose(1, 0, 2).reshape(n, h, v, outputs)
        n, _, h, v, p, q = view.shape
        columns = view.reshape(n, groups, each, h, v, p, q).transpose(0, 1, 2, 5, 6, 3, 4)
        split = w.reshape(groups, outputs // groups, each * p * q)
        return (split @ columns.reshape(n, groups, -1, h * v)).reshape(n, outputs, h, v)

    size = (image + 2 * pad - kernel) // stride + 1
    name = f"conv {layout} {kernel}x{kernel}" + (f"/{stride}" if stride > 1 else "")
    kind = "" if groups == 1 else " depthwise" if groups == inputs else f" groups {groups}"
    return Row(
        f"{name}{kind} {image}² {inputs}->{outputs}",
        (data, weight),
        lambda x, w: op.nn.conv2d(x, w, **attrs),
        numpys,
        2 * size * size * outputs * each * kernel * kernel,
    )


def matmul(name: str, a: tuple[int, ...], b: tuple[int, ...], transposed: bool = False) -> Row:
    """A product; `transposed`: the second operand is stored with its last two axes exchanged."""
    axes = [*range(len(b) - 2), len(b) - 1, len(b) - 2]
    columns = b[-2] if transposed else b[-1]

    def ours(x: Any, y: Any) -> Any:
        return op.matmul(x, op.permute_dims(y, axes) if transposed else y)

    flop = 2 * int(np.prod(a)) * columns
    return Row(f"matmul {name}", (a, b), ours, lambda x, y: x @ (y.swapaxes(-1, -2) if transposed else y), flop)


def softmax(x: Array, axis: int = -1) -> Array:
    """As a numpy programmer writes it."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax(x: Array) -> Array:
    """Likewise."""
    low = x - x.max(-1, keepdims=True)
    return low - np.log(np.exp(low).sum(-1, keepdims=True))


def layer_norm(x: Array, g: Array, b: Array, axes: tuple[int, ...] = (-1,)) -> Array:
    """Likewise."""
    low = x - x.mean(axes, keepdims=True)
    return low / np.sqrt((low * low).mean(axes, keepdims=True) + 1e-5) * g + b


def group_norm(x: Array, g: Array, b: Array) -> Array:
    """Of 32 groups, NCHW."""
    n, c, h, w = x.shape
    flat = x.reshape(n, 32, -1)
    low = flat - flat.mean(-1, keepdims=True)
    normal = low / np.sqrt((low * low).mean(-1, keepdims=True) + 1e-5)
    return normal.reshape(x.shape) * g[:, None, None] + b[:, None, None]


def rms_norm(x: Array, g: Array) -> Array:
    """Likewise."""
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g


def _reductions() -> list[Row]:
    rows = []
    for shape, axis in (((1024, 1024), -1), ((1024, 1024), 0), ((64, 128, 128), 1), ((1024, 1024), None)):
        text = f"{'x'.join(map(str, shape))} axis {'all' if axis is None else axis}"
        for name in ("sum", "max", "mean"):
            ours: Any = getattr(op, name)
            theirs = getattr(np, name)
            rows.append(
                Row(
                    f"{name} {text}",
                    (shape,),
                    lambda x, f=ours, a=axis: f(x, axis=a),
                    lambda x, f=theirs, a=axis: f(x, axis=a),
                )
            )
    return rows


def _moves() -> list[Row]:
    wide = (1024, 1024)
    return [
        Row("permute 1024² 10", (wide,), lambda x: op.permute_dims(x, [1, 0]), lambda x: x.T.copy()),
        Row(
            "permute 1x128x12x64 0213",
            ((1, 128, 12, 64),),
            lambda x: op.permute_dims(x, [0, 2, 1, 3]),
            lambda x: np.ascontiguousarray(x.transpose(0, 2, 1, 3)),
        ),
        Row(
            "permute 1x12x128x64 0132",
            ((1, 12, 128, 64),),
            lambda x: op.permute_dims(x, [0, 1, 3, 2]),
            lambda x: np.ascontiguousarray(x.transpose(0, 1, 3, 2)),
        ),
        Row(
            "permute NCHW->NHWC 64x56²",
            ((1, 64, 56, 56),),
            lambda x: op.permute_dims(x, [0, 2, 3, 1]),
            lambda x: np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        ),
        Row(
            "take 30000x768 by 128",
            ((30000, 768), (128,)),
            lambda x, i: op.take(x, i, axis=0),
            lambda x, i: x[i],
            dtypes=("float32", "int64"),
        ),
        Row(
            "concat 2 of 128x512 axis 1",
            ((128, 512), (128, 512)),
            lambda x, y: op.concat([x, y], axis=1),
            lambda x, y: np.concatenate([x, y], axis=1),
        ),
        Row(
            "bias, gelu, residual 128x3072",
            ((128, 3072), (3072,), (128, 3072)),
            lambda x, b, r: op.add(op.nn.gelu_tanh(op.add(x, b)), r),
            lambda x, b, r: gelu(x + b) + r,
        ),
        Row(
            "scale and shift channels 64x56²",
            ((1, 64, 56, 56), (64, 1, 1), (64, 1, 1)),
            lambda x, a, b: op.nn.relu(op.add(op.multiply(x, a), b)),
            lambda x, a, b: np.maximum(x * a + b, 0),
        ),
        Row("silu 64x1408", ((64, 1408),), lambda x: op.nn.silu(x), lambda x: x / (1 + np.exp(-x))),
        Row("argmax 1024²", (wide,), lambda x: op.argmax(x, axis=-1), lambda x: x.argmax(-1)),
        Row("argmax 64x50257", ((64, 50257),), lambda x: op.argmax(x, axis=-1), lambda x: x.argmax(-1)),
        Row("argmin 1024² axis 0", (wide,), lambda x: op.argmin(x, axis=0), lambda x: x.argmin(0)),
        Row("cumsum 1024²", (wide,), lambda x: op.cumsum(x, axis=-1), lambda x: x.cumsum(-1)),
        Row("cumsum 1024² axis 0", (wide,), lambda x: op.cumsum(x, axis=0), lambda x: x.cumsum(0)),
        Row("tile 512x256 2x3", ((512, 256),), lambda x: op.tile(x, [2, 3]), lambda x: np.tile(x, (2, 3))),
        Row("repeat 1024x256 3", ((1024, 256),), lambda x: op.repeat(x, 3, axis=1), lambda x: x.repeat(3, 1)),
        Row("stack 2 of 1024x512", ((1024, 512),) * 2, lambda *a: op.stack([*a], axis=2), lambda *a: np.stack(a, 2)),
        Row("sort 64x1024", ((64, 1024),), lambda x: op.sort(x, axis=1), lambda x: np.sort(x, 1, kind="stable")),
        Row("sort 65536", ((1 << 16,),), op.sort, np.sort),
        Row("argsort 65536", ((1 << 16,),), op.argsort, lambda x: np.argsort(x, kind="stable")),
    ]


def _integers() -> list[Row]:
    """Elements at places that are read, and quotients."""
    return [
        Row(
            "take 65536 of 4096",
            ((4096,), (1 << 16,)),
            lambda x, i: op.take(x, i, axis=0),
            lambda x, i: x[i],
            dtypes=("float32", "int64"),
        ),
        Row(
            "gather_elements 256² axis 1",
            ((256, 256), (256, 256)),
            lambda x, i: op.gather_elements(x, i, axis=1),
            lambda x, i: np.take_along_axis(x, i, 1),
            dtypes=("float32", "int64"),
        ),
        Row(
            "floor_divide int64 65536",
            ((1 << 16,), (1 << 16,)),
            lambda x, y: op.floor_divide(x, op.add(y, relax.const(1, "int64"))),
            lambda x, y: x // (y + 1),
            dtypes=("int64", "int64"),
        ),
    ]


def gelu(x: Array) -> Array:
    """The approximation by tanh."""
    return 0.5 * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))


def _norms() -> list[Row]:
    scores, rows, image = (12, 128, 128), (128, 768), (1, 64, 56, 56)
    gamma, channels = (768,), (64,)
    return [
        Row("softmax 12x128x128", (scores,), lambda x: op.nn.softmax(x, axis=-1), softmax),
        Row("softmax 1024²", ((1024, 1024),), lambda x: op.nn.softmax(x, axis=-1), softmax),
        Row("softmax 12x128x128 axis 1", (scores,), lambda x: op.nn.softmax(x, axis=1), lambda x: softmax(x, 1)),
        Row("log_softmax 128x4096", ((128, 4096),), lambda x: op.nn.log_softmax(x, axis=-1), log_softmax),
        Row(
            "layer_norm 128x768",
            (rows, gamma, gamma),
            lambda x, g, b: op.nn.layer_norm(x, g, b, axes=[-1]),
            layer_norm,
        ),
        Row(
            "layer_norm 4096x768",
            ((4096, 768), gamma, gamma),
            lambda x, g, b: op.nn.layer_norm(x, g, b, axes=[-1]),
            layer_norm,
        ),
        Row("rms_norm 128x768", (rows, gamma), lambda x, g: op.nn.rms_norm(x, g, axes=[-1]), rms_norm),
        Row(
            "group_norm 32 64x56²",
            (image, channels, channels),
            lambda x, g, b: op.nn.group_norm(x, g, b, num_groups=32, channel_axis=1, axes=[2, 3]),
            group_norm,
        ),
    ]


def _pools() -> list[Row]:
    rows = []
    for layout, shape, axes in (("NCHW", (1, 64, 112, 112), (2, 3)), ("NHWC", (1, 112, 112, 64), (1, 2))):
        attrs = {"pool_size": 3, "strides": 2, "padding": 1, "layout": layout}
        rows.append(
            Row(
                f"max_pool 3x3/2 {layout} 64x112²",
                (shape,),
                lambda x, attrs=attrs: op.nn.max_pool2d(x, **attrs),
                lambda x, axes=axes: windows(x, 3, 2, 1, axes, -np.inf).max((-2, -1)),
            )
        )
    rows.append(
        Row(
            "avg_pool global NCHW 2048x7²",
            ((1, 2048, 7, 7),),
            lambda x: op.nn.adaptive_avg_pool2d(x, 1),
            lambda x: x.mean((2, 3), keepdims=True),
        )
    )
    return rows


def table() -> list[Row]:
    """All rows."""
    return [
        matmul("128x768x768", (128, 768), (768, 768)),
        matmul("128x768x3072", (128, 768), (768, 3072)),
        matmul("128x3072x768", (128, 3072), (3072, 768)),
        matmul("1024³", (1024, 1024), (1024, 1024)),
        matmul("NT 128x768x768", (128, 768), (768, 768), transposed=True),
        matmul("q kᵀ 12x128x64", (1, 12, 128, 64), (1, 12, 128, 64), transposed=True),
        matmul("p v 12x128x64", (1, 12, 128, 128), (1, 12, 128, 64)),
        matmul("197x768x768", (197, 768), (768, 768)),
        matmul("1x784x128", (1, 784), (784, 128)),
        matmul("1x4096x4096", (1, 4096), (4096, 4096)),
        matmul("NT 1x4096x4096", (1, 4096), (4096, 4096), transposed=True),
        matmul("NT 128x768x3072", (128, 768), (3072, 768), transposed=True),
        matmul("NT 32x784x128", (32, 784), (128, 784), transposed=True),
        matmul("NT 1x784x128", (1, 784), (128, 784), transposed=True),
        matmul("NT 8x768x768", (8, 768), (768, 768), transposed=True),
        matmul("4096x4096x1", (4096, 4096), (4096, 1)),
        matmul("4x512x1408", (4, 512), (512, 1408)),
        matmul("512x512x4", (512, 512), (512, 4)),
        conv("NHWC", 56, 64, 64, 1),
        conv("NHWC", 56, 64, 64, 3),
        conv("NHWC", 56, 64, 64, 3, stride=2),
        conv("NHWC", 56, 128, 128, 3, groups=32),
        conv("NHWC", 56, 64, 64, 3, groups=64),
        conv("NCHW", 56, 64, 64, 1),
        conv("NCHW", 14, 1024, 256, 1),
        conv("NCHW", 56, 256, 512, 1, stride=2),
        conv("NCHW", 56, 64, 64, 3),
        conv("NCHW", 28, 128, 128, 3),
        conv("NCHW", 14, 256, 256, 3),
        conv("NCHW", 7, 512, 512, 3),
        conv("NCHW", 56, 128, 128, 3, stride=2),
        conv("NCHW", 28, 256, 256, 3, stride=2),
        conv("NCHW", 224, 3, 64, 7, stride=2),
        conv("NCHW", 224, 3, 768, 16, stride=16, pad=0),
        conv("NCHW", 56, 128, 128, 3, groups=32),
        conv("NCHW", 56, 64, 64, 3, groups=64),
        *_norms(),
        *_pools(),
        *_reductions(),
        *_moves(),
        *_integers(),
    ]


def module(row: Row) -> Any:
    """A module with `main` for a row."""
    builder = relax.BlockBuilder()
    kinds = row.dtypes or ("float32",) * len(row.shapes)
    params = [
        relax.Var(f"a{i}", relax.TensorStructInfo(shape, kind))
        for i, (shape, kind) in enumerate(zip(row.shapes, kinds, strict=True))
    ]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(row.ours(*params)))
        builder.emit_func_output(result)
    return builder.get()


def run(row: Row, target: str, rounds: int, peak: float) -> dict[str, Any]:
    """One row of the table; raises where the results differ."""
    function = relax.VirtualMachine(relax.build(module(row), target=target), tvm.cpu())["main"]
    arrays = row.arguments()
    devices = [tvm.nd.array(a) for a in arrays]
    expected = row.numpys(*(a.astype("float64") if a.dtype == np.float32 else a for a in arrays))
    result = function(*devices).numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-3, err_msg=row.name)
    source = np.ones(max(result.nbytes, *(a.nbytes for a in arrays)) // 4 or 1, np.float32)
    target_of_copy = np.empty_like(source)
    works = {"tirax": lambda: function(*devices), "numpy": lambda: row.numpys(*arrays)}
    if not row.flop:
        works["copy"] = lambda: np.copyto(target_of_copy, source)
    times = shortest(works, rounds)
    ours = times["tirax"]
    limit = row.flop / peak / 1e3 if row.flop else times["copy"]
    return {
        "name": row.name,
        "tirax_us": ours,
        "numpy_us": times["numpy"],
        "ratio": times["numpy"] / ours,
        "of_peak": limit / ours,
        "gflops": row.flop / ours / 1e3,
    }


def shortest(functions: dict[str, Callable[[], object]], rounds: int, sample: float = 5e-4) -> dict[str, float]:
    """Microseconds of a call of each, the least of `rounds` samples taken in turns.

    It is the thread's own time, which does not pass while others have the processor.
    """
    numbers: dict[str, int] = {}
    for name, function in functions.items():
        function()
        numbers[name] = max(1, int(sample / max(_seconds(function, 1), 1e-9)))
    actual = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, function in functions.items():
            actual[name] = min(actual[name], _seconds(function, numbers[name]) / numbers[name] * 1e6)
    return actual


def _seconds(function: Callable[[], object], calls: int) -> float:
    start = time.thread_time()
    for _ in range(calls):
        function()
    return time.thread_time() - start


def peak_of(target: str) -> float:
    """GFLOP/s of multiply-adds in registers, the best of many."""
    limit = Peak(target)
    return limit.flop / shortest({"peak": limit.call}, 31)["peak"] / 1e3


def main() -> None:
    """Print the table and write it to build/benchmarks/ops.json."""
    options = argparse.ArgumentParser(description="operators: tirax beside numpy, one thread")
    options.add_argument("--only", default="", help="parts of names, with commas")
    options.add_argument("--rounds", type=int, default=41, help="samples of each")
    options.add_argument("--target", default="llvm")
    chosen = options.parse_args()
    selected = [part for part in chosen.only.split(",") if part]
    peak = peak_of(chosen.target)
    print(f"{measure.processor()}, one thread, peak {peak:.0f} GFLOP/s; µs a call\n")
    print(f"{'':36} {'tirax':>9} {'numpy':>9} {'numpy/tirax':>12} {'of peak':>8} {'GFLOP/s':>8}")
    rows = []
    for row in table():
        if selected and not any(part in row.name for part in selected):
            continue
        result = run(row, chosen.target, chosen.rounds, peak)
        rows.append(result)
        gflops = f"{result['gflops']:8.1f}" if result["gflops"] else ""
        print(
            f"{row.name:36} {result['tirax_us']:9.1f} {result['numpy_us']:9.1f} {result['ratio']:12.2f} "
            f"{result['of_peak']:8.2f} {gflops}",
            flush=True,
        )
    measure.write("ops", rows)


if __name__ == "__main__":
    main()
