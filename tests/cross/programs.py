"""A function for each rule of the default schedule, math of vectors, products of bytes: what other processors run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from tirax.script import parse_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n"


@dataclass(frozen=True)
class Program:
    """A function: struct info of its parameters and result, its body over `x`, `y`, `z`, the sizes it runs at."""

    params: tuple[str, ...]
    body: str
    result: str
    sizes: tuple[int, ...] = (1, 5)
    """Values of `n`."""
    low: float = -2.0
    high: float = 2.0


def f32(*dims: object) -> str:
    return f"R.Tensor(({', '.join(str(d) if isinstance(d, int) else repr(d) for d in dims)},), 'float32')"


def of(dtype: str, *dims: object) -> str:
    return f32(*dims).replace("float32", dtype)


def unary(operator: str, low: float = -2.0, high: float = 2.0) -> Program:
    return Program((f32("n", 37),), f"R.{operator}(x)", f32("n", 37), low=low, high=high)


def plain(result: str, body: str, *params: str, sizes: tuple[int, ...] = (1, 5)) -> Program:
    return Program(params, body, result, sizes)


MATH = {
    name: unary(name, *limits)
    for name, limits in {
        "exp": (-20, 20), "log": (0.01, 9), "tanh": (), "sigmoid": (), "sin": (-9, 9), "cos": (-9, 9), "tan": (-1, 1),
        "sqrt": (0.1, 9), "rsqrt": (0.1, 9), "erf": (), "asin": (-1, 1), "acos": (-1, 1), "atan": (), "sinh": (),
        "cosh": (), "asinh": (), "acosh": (1.1, 9), "atanh": (-0.9, 0.9), "floor": (), "ceil": (), "round": (),
        "nn.gelu": (), "nn.silu": (), "nn.relu": (),
    }.items()
}  # fmt: skip
RULES = {
    "product": plain(f32("n", "m"), "R.matmul(x, y)", f32("n", 70), f32(70, "m"), sizes=(1, 6, 37)),
    "transposed": plain(f32("n", 64), "R.matmul(x, R.permute_dims(y))", f32("n", 96), f32(64, 96)),
    "batches": plain(f32(3, "n", 24), "R.matmul(x, y)", f32(3, "n", 40), f32(3, 40, 24)),
    "doubles": plain(of("float64", "n", 24), "R.matmul(x, y)", of("float64", "n", 40), of("float64", 40, 24)),
    "halves": plain(of("float16", "n", 24), "R.matmul(x, y)", of("float16", "n", 40), of("float16", 40, 24)),
    "convolution": plain(
        f32("n", 16, 10, 10), "R.nn.conv2d(x, y, padding=1)", f32("n", 8, 10, 10), f32(16, 8, 3, 3), sizes=(1, 2)
    ),
    "depthwise": plain(
        f32("n", 16, 10, 10), "R.nn.conv2d(x, y, padding=1, groups=16)", f32("n", 16, 10, 10), f32(16, 1, 3, 3)
    ),
    "strided": plain(f32("n", 8, 4, 4), "R.nn.conv2d(x, y, strides=2)", f32("n", 3, 9, 9), f32(8, 3, 3, 3)),
    "softmax": plain(f32("n", 45), "R.nn.softmax(x)", f32("n", 45)),
    "norm": plain(f32("n", 45), "R.nn.layer_norm(x, y, z, axes=[-1])", f32("n", 45), f32(45), f32(45)),
    "sum": plain(f32("n"), "R.sum(x, axis=1)", f32("n", 77)),
    "columns": plain(f32(77), "R.mean(x, axis=0)", f32("n", 77)),
    "most": plain(f32("n"), "R.max(x, axis=1)", f32("n", 77)),
    "where_most": plain(of("int64", "n"), "R.argmax(x, axis=1)", f32("n", 77)),
    "scan": plain(f32("n", 33), "R.cumsum(x, axis=1)", f32("n", 33)),
    "transposition": plain(f32(35, "n"), "R.permute_dims(x)", f32("n", 35)),
    "pool": plain(f32("n", 4, 4, 4), "R.nn.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))", f32("n", 4, 8, 8)),
    "attention": plain(
        f32("n", 9, 2, 16), "R.nn.attention(x, y, z)", f32("n", 9, 2, 16), f32("n", 9, 2, 16), f32("n", 9, 2, 16)
    ),
    "sorted": plain(f32("n", 20), "R.sort(x)", f32("n", 20)),
    "power": plain(f32("n", 20), "R.power(R.abs(x), y)", f32("n", 20), f32("n", 20)),
    "integers": plain(of("int64", "n", 9), "R.floor_divide(x, y)", of("int64", "n", 9), of("int64", "n", 9)),
    "bytes": plain(
        of("int32", "n", 32), "R.matmul(x, y, out_dtype='int32')", of("int8", "n", 64), of("int8", 64, 32), sizes=(1, 7)
    ),
    "mixed_bytes": plain(
        of("int32", "n", 32), "R.matmul(R.astype(x, 'int32'), R.astype(y, 'int32'))", of("uint8", "n", 64),
        of("int8", 64, 32),
    ),
}  # fmt: skip
PROGRAMS = MATH | RULES


def name_of(program: str) -> str:
    """The name of the function of a program."""
    return "f_" + program.replace(".", "_")


def module() -> ModuleOp:
    """One module with all of them."""
    lines = [HEAD]
    for name, program in PROGRAMS.items():
        params = ", ".join(f"{p}: {t}" for p, t in zip("xyz", program.params, strict=False))
        lines.append(f"    @R.function\n    def {name_of(name)}({params}) -> {program.result}:")
        lines.append(
            f"        with R.dataflow():\n            r = {program.body}\n            R.output(r)\n        return r\n"
        )
    return parse_source("\n".join(lines))


def inputs(program: Program, n: int, m: int = 19) -> list[np.ndarray]:
    """Random arguments where `n` and `m` are these sizes."""
    rng = np.random.default_rng(n)
    arrays: list[np.ndarray] = []
    for text in program.params:
        shape, dtype = eval_type(text, n, m)
        if dtype.kind == "f":
            arrays.append((rng.random(shape) * (program.high - program.low) + program.low).astype(dtype))
        else:
            drawn = rng.integers(0 if dtype.kind == "u" else -120, 120, shape)
            arrays.append(np.where(drawn == 0, 7, drawn).astype(dtype))
    return arrays


def eval_type(text: str, n: int, m: int) -> tuple[tuple[int, ...], np.dtype]:
    """The shape and the dtype that a struct info says."""
    dims, dtype = text.removeprefix("R.Tensor((").split(",), ")
    known = {"'n'": n, "'m'": m}
    shape = tuple(known[d] if d in known else int(d) for d in dims.split(", "))
    return shape, np.dtype(dtype.strip("')"))
