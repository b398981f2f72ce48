"""Operators where nobody looked: short, odd and symbolic sizes, beside PyTorch eager, one thread.

    python benchmarks/survey.py [--only topk,cumsum] [--rounds 21] [--again]

Each operator is compiled twice, for its sizes and with all sizes symbolic, and called with tirax's arrays; results are
compared with PyTorch's first. Rows are kept in build/benchmarks/survey.json and not measured again unless `--again`.
Then come the rows where tirax takes more than 1.1 of PyTorch's time, and how many rows lie in which range.
"""

from __future__ import annotations

import argparse
import json
import statistics
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import measure

measure.quiet()

import torch  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

import tirax  # noqa: E402
from tirax.runtime import from_dlpack  # noqa: E402

Shape = tuple[int, ...]
RANGES = (0.25, 0.5, 0.8, 1.1, 2.0, float("inf"))


@dataclass(frozen=True)
class Operator:
    """A function of tensors; an argument is a shape, or a shape with a dtype, or a shape with the end of a range."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def _elementwise() -> dict[str, Operator]:
    functions: dict[str, Callable[..., Any]] = {
        "abs": torch.abs, "exp": torch.exp, "gelu": F.gelu, "sigmoid": torch.sigmoid, "erfinv": torch.erfinv,
        "lgamma": torch.lgamma, "square": lambda x: x**2, "cube": lambda x: x**3,
    }  # fmt: skip
    shapes: tuple[Shape, ...] = ((20000, 3), (64, 50, 7, 3), (256, 768), (7,))
    rows = {f"{name} {shape}": Operator(f, (shape,)) for name, f in functions.items() for shape in shapes}
    for name in ("gelu", "sigmoid", "exp"):
        rows[f"{name} bfloat16"] = Operator(functions[name], (((256, 768), torch.bfloat16),))
    for a, b in (((20000, 3), (20000, 3)), ((20000, 3), (3,)), ((512, 513), (512, 1)), ((32, 64, 7, 7), (64, 1, 1))):
        rows[f"add {a} {b}"] = Operator(torch.add, (a, b))
    rows["smooth_l1_loss"] = Operator(F.smooth_l1_loss, ((20000, 3), (20000, 3)))
    rows["int32 to bfloat16"] = Operator(lambda x: x.to(torch.bfloat16), (((256, 768), torch.int32),))
    rows["float64 to float16"] = Operator(lambda x: x.to(torch.float16), (((256, 768), torch.float64),))
    return rows


def _reductions() -> dict[str, Operator]:
    rows: dict[str, Operator] = {}
    for name, function in {"sum": torch.sum, "amax": torch.amax}.items():
        for shape in ((4, 5000, 3), (32, 64, 128), (17, 61, 127)):
            for dim in range(3):
                rows[f"{name} {shape} {dim}"] = Operator(lambda x, f=function, d=dim: f(x, d), (shape,))
    rows["sum of all"] = Operator(torch.sum, ((4, 5000, 3),))
    rows["argmax of all"] = Operator(torch.argmax, ((4, 5000, 3),))
    rows["sum bfloat16"] = Operator(lambda x: x.sum(1), (((4, 5000, 3), torch.bfloat16),))
    rows["sum float16"] = Operator(lambda x: x.sum(-1), (((17, 61, 127), torch.float16),))
    for shape in ((20000, 7), (256, 768), (8, 30522)):
        rows[f"softmax {shape}"] = Operator(lambda x: x.softmax(-1), (shape,))
    rows["layer_norm"] = Operator(lambda x: F.layer_norm(x, (768,)), ((256, 768),))
    rows["group_norm"] = Operator(lambda x: F.group_norm(x, 2), ((64, 6, 3),))
    for shape, dim in (((4, 5000, 3), 1), ((256, 768), 1)):
        rows[f"cumsum {shape} {dim}"] = Operator(lambda x, d=dim: x.cumsum(d), (shape,))
    rows["cumsum int32"] = Operator(lambda x: x.cumsum(1), (((256, 768), torch.int32),))
    for k, shape in ((1, (64, 1000)), (5, (4, 50000)), (50, (1, 128256))):
        rows[f"topk {k} {shape}"] = Operator(lambda x, k=k: x.topk(k)[0], (shape,))
    rows["sort"] = Operator(lambda x: x.sort()[0], ((64, 1000),))
    return rows


def _movements() -> dict[str, Operator]:
    return {
        "tile rows": Operator(lambda x: x.repeat(3, 1), ((509, 1021),)),
        "repeat_interleave": Operator(lambda x: x.repeat_interleave(2, 0), ((256, 768),)),
        "transpose and add": Operator(lambda x: x.t() + 1, ((512, 513),)),
        "concat columns": Operator(lambda x, y: torch.cat([x, y], 1), ((300, 333), (300, 77))),
        "channel_shuffle": Operator(lambda x: F.channel_shuffle(x, 2), ((2, 116, 28, 28),)),
        "pad reflect": Operator(lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), ((8, 64, 33, 33),)),
        "unfold": Operator(lambda x: F.unfold(x, 4, stride=4), ((2, 3, 64, 64),)),
        "gather": Operator(lambda x, i: x.gather(1, i), ((256, 768), ((256, 768), 768))),
        "index rows and columns": Operator(lambda x, i, j: x[i, j], ((20000, 3), ((2,), 100), ((2,), 3))),
        "index_add": Operator(lambda x, i, y: x.index_add(0, i, y), ((256, 768), ((512,), 256), (512, 768))),
        "scatter_add": Operator(lambda x, i, y: x.scatter_add(1, i, y), ((256, 768), ((256, 768), 768), (256, 768))),
    }


def _products() -> dict[str, Operator]:
    attention = ((2, 12, 1, 64), (2, 12, 1024, 64), (2, 12, 1024, 64))
    return {
        "matrix and column": Operator(torch.matmul, ((512, 512), (512, 1))),
        "einsum of three": Operator(
            lambda a, b, c: torch.einsum("ij,jk,kl->il", a, b, c), ((128, 256), (256, 128), (128, 64))
        ),
        "attention of one query": Operator(F.scaled_dot_product_attention, attention),
        "depthwise 5x5": Operator(
            lambda x, w: F.conv2d(x, w, padding=2, groups=512), ((2, 512, 14, 14), (512, 1, 5, 5))
        ),
        "transposed convolution": Operator(
            lambda x, w: F.conv_transpose1d(x, w, stride=8), ((2, 256, 100), (256, 128, 16))
        ),
        "max_pool2d": Operator(lambda x: F.max_pool2d(x, 3, 2), ((8, 64, 33, 33),)),
        "adaptive_max_pool2d": Operator(lambda x: F.adaptive_max_pool2d(x, 1), ((8, 64, 7, 7),)),
    }


OPERATORS = {**_elementwise(), **_reductions(), **_movements(), **_products()}


@dataclass(frozen=True)
class Row:
    """Microseconds of a call, medians; `ratio` is tirax's time by PyTorch's."""

    name: str
    symbolic: bool
    torch: float
    tirax: float

    @property
    def ratio(self) -> float:
        return self.tirax / self.torch


def _tensor(argument: Any) -> torch.Tensor:
    shape, kind = argument if isinstance(argument[0], tuple) else (argument, torch.float32)
    if isinstance(kind, int):
        return torch.randint(0, kind, shape)
    return torch.randint(0, 9, shape, dtype=kind) if not kind.is_floating_point else torch.rand(shape).to(kind)


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> Any:
        return self.function(*tensors)


def _row(name: str, operator: Operator, symbolic: bool, rounds: int) -> Row:
    tensors = tuple(map(_tensor, operator.arguments))
    sizes = ([torch.export.Dim.AUTO] * t.ndim for t in tensors)
    shapes = {"tensors": tuple(sizes)} if symbolic else None
    compiled = tirax.compile(_Module(operator.function), tensors, dynamic_shapes=shapes, fallback="error")
    main, arrays = compiled.executable[compiled.function], [from_dlpack(t) for t in tensors]
    torch.testing.assert_close(compiled(*tensors), operator.function(*tensors), rtol=2e-2, atol=2e-2)
    functions = {"torch": lambda: operator.function(*tensors), "tirax": lambda: main(*arrays)}
    times = measure.interleaved(functions, rounds=rounds)
    return Row(name, symbolic, times["torch"].median, times["tirax"].median)


def _known() -> list[Row]:
    path = measure.RESULTS / "survey.json"
    return [Row(**row) for row in json.loads(path.read_text())["rows"]] if path.is_file() else []


def _report(rows: list[Row]) -> None:
    print("| operator | sizes | torch µs | tirax µs | ratio |\n|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: -row.ratio):
        if row.ratio > 1.1:
            kind = "symbolic" if row.symbolic else "known"
            print(f"| {row.name} | {kind} | {row.torch:.1f} | {row.tirax:.1f} | {row.ratio:.2f} |")
    for symbolic in (False, True):
        ratios = [row.ratio for row in rows if row.symbolic == symbolic]
        if not ratios:
            continue
        counts = [sum(low < r <= high for r in ratios) for low, high in zip((0.0, *RANGES), RANGES, strict=False)]
        shown = ", ".join(f"up to {high}: {count}" for high, count in zip(RANGES, counts, strict=True))
        mean = statistics.geometric_mean(ratios)
        print(f"{'symbolic' if symbolic else 'known'}: {len(ratios)} rows, geometric mean {mean:.2f}; {shown}")


def main() -> None:
    """Measure the rows that are not known, and print the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--again", action="store_true", help="measure known rows again")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = {(row.name, row.symbolic): row for row in _known()}
    chosen = [n for n in OPERATORS if any(part in n for part in options.only.split(","))]
    for name in chosen:
        for symbolic in (False, True):
            if options.again or (name, symbolic) not in rows:
                rows[name, symbolic] = _row(name, OPERATORS[name], symbolic, options.rounds)
                measure.write("survey", [asdict(row) for row in rows.values()])
    _report([row for (name, _), row in rows.items() if name in chosen])


if __name__ == "__main__":
    main()
