"""Images resized by each method, to a size or by a factor, of extents that are fixed or symbolic, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from strength import thinned  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch_models import agree, exported, same_results  # noqa: E402

from tirax.diagnostics import UnsupportedError  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

AUTO = torch.export.Dim.AUTO
METHODS = {
    "nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "linear": (1,), "bilinear": (2,), "trilinear": (3,),
    "bicubic": (2,), "smoothed bilinear": (2,), "smoothed bicubic": (2,), "area": (2,),
}  # fmt: skip
"""By method: the ranks of images that it takes."""
AMOUNTS: dict[str, dict[str, Any]] = {
    "to a size": {"size": 7},
    "to a smaller size": {"size": 3},
    "to one element": {"size": 1},
    "to its own size": {"size": None},
    "to half its size": {"size": 0.5},
    "by an integer": {"scale_factor": 2},
    "by a fraction": {"scale_factor": 1.5},
    "by a decimal": {"scale_factor": 1.7},
    "to less": {"scale_factor": 0.6},
    "by its quotient": {"scale_factor": 1.7, "recompute_scale_factor": True},
}
CASES = [
    (f"{method} {rank}d {amount}{' between corners' if align else ''}", method, rank, amount, align)
    for method, ranks in METHODS.items()
    for rank in ranks
    for amount in AMOUNTS
    for align in (False, True)
    if not (align and ("nearest" in method or method == "area")) and not ("by a decimal" in amount and method == "area")
]


def _resize(method: str, amount: str, align: bool) -> Any:
    options = dict(AMOUNTS[amount])
    if "linear" in method or "cubic" in method:
        options["align_corners"] = align
    options["antialias"] = "smoothed" in method

    def run(x: Any) -> Any:
        size = options.get("size")
        if "size" in options and not isinstance(size, int):
            return F.interpolate(
                x, **{**options, "size": [n if size is None else n // 2 for n in x.shape[2:]]}, mode=method.split()[-1]
            )
        return F.interpolate(x, **options, mode=method.split()[-1])

    return run


@thinned("case", CASES, lambda case: case[1:3])
def test_resizing(case: Any) -> None:
    _, method, rank, amount, align = case
    function = _resize(method, amount, align)
    small, *others = (torch.randn(2, 3, *(n + i for i in range(rank))) for n in (10, 6, 17))
    _interpreted(exported(function, [small]), small)
    symbolic = dict.fromkeys(range(2, 2 + rank), AUTO)
    _interpreted(exported(function, [small], dynamic_shapes=((symbolic,),)), small, *others)


def _interpreted(program: Any, *inputs: Any) -> None:
    module = from_exported_program(program)
    for x in inputs:
        same_results(lambda *args: interpret(module, "main", list(args)), program.module()(x), [x], 1e-4)


@pytest.mark.parametrize("method", ["nearest", "bilinear", "bicubic", "smoothed bicubic"])
def test_resizing_natively(method: str) -> None:
    function = _resize(method, "by a decimal", align=False)
    sizes = [torch.randn(1, 2, n, n + 1) for n in (10, 20)]
    agree(
        exported(function, [sizes[0]], dynamic_shapes=(({2: AUTO, 3: AUTO},),)), *([x] for x in sizes), tolerance=1e-4
    )


@pytest.mark.parametrize("factor", [0.6, 0.7, 1.7, 0.57, 0.1, 1.3, 1 / 3, 0.29])
def test_rounded_sizes(factor: float) -> None:
    x = torch.randn(1, 1, 40)
    program = exported(lambda x: F.interpolate(x, scale_factor=factor), [x], dynamic_shapes=(({2: AUTO},),))
    try:
        module = from_exported_program(program)
    except UnsupportedError:
        assert factor in (0.7, 0.57, 0.29)  # 170 * 0.7 is less than 119
        return
    for n in (40, 50, 100, 120, 170, 1000):
        x = torch.randn(1, 1, n)
        assert interpret(module, "main", [x.numpy()])[0].shape == F.interpolate(x, scale_factor=factor).shape


WINDOWS: dict[str, dict[str, Any]] = {
    "windows": {"kernel_size": 3},
    "patches": {"kernel_size": 4, "stride": 4},
    "padded": {"kernel_size": (3, 2), "padding": (1, 2), "stride": (2, 1)},
    "dilated": {"kernel_size": 2, "dilation": (2, 3), "padding": 1},
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_as_columns(name: str) -> None:
    """With each size unknown, the number of channels among them, and of a single image."""

    def windows(x: Any) -> Any:
        return F.unfold(x, **WINDOWS[name])

    inputs = [torch.randn(2, 3, 8, 9), torch.randn(3, 5, 20, 17)]
    agree(exported(windows, inputs[:1], dynamic_shapes=((dict.fromkeys(range(4), AUTO),),)), *([x] for x in inputs))
    agree(exported(windows, [torch.randn(3, 8, 9)]), [torch.randn(3, 8, 9)])
