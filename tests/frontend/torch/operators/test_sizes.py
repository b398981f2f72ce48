"""Symbolic sizes and numbers of data where operators take them, one build at two sizes, beside PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from torch.nn import functional as F  # noqa: E402
from torch_models import agree, exported  # noqa: E402

from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402

AUTO = torch.export.Dim.AUTO


_N: dict[Any, Any] = {"n": lambda n: n, "-n": lambda n: -n}


def _regular(x: Any) -> Any:
    return x @ x.mT + torch.eye(x.shape[1])


OF_SIZES: dict[str, Any] = {
    **{
        f"range {start}, {end}, {step} as {dtype}": lambda x, r=(start, end, step), d=dtype: torch.arange(
            *(_N[v](x.shape[1]) if v in _N else v for v in r), dtype=getattr(torch, d)
        )
        for start, end, step in [
            ("n", "-n", -1.0),
            (0.0, "n", 2),
            ("n", 0, -2.0),
            (0.5, "n", 1),
            (0, "n", 0.75),
            (0, "n", 0.1),
            ("-n", 0.75, 1.5),
        ]
        for dtype in ["int64", "float32"]
        if dtype == "float32" or step not in (0.75, 0.1)
    },
    "a root of a size": lambda x: x / torch.sym_sqrt(x.shape[1]) + x.shape[1] ** -0.5,
    "a quotient of sizes": lambda x: x * (x.shape[1] / 4 - 1) + max(x.shape[1], 8) * 0.3,
    "filled with a product": lambda x: torch.full((3,), x.shape[1] * 1e-7),
    "integers by a quotient": lambda x: torch.arange(3) * (x.shape[1] / 4),
    "a threshold": lambda x: torch.where(x > 1 / x.shape[1], x, x.shape[1] / 7),
    "pad by a size": lambda x: F.pad(x, (0, 0, 0, -x.shape[1] % 8)),
    "crop by a size": lambda x: F.pad(x, (0, 0, -(x.shape[1] // 3), 2)),
    "reflect by a size": lambda x: F.pad(x, (1, x.shape[1] // 8), mode="reflect"),
    "slices from the end": lambda x: (x[:, -1], x[:, -3:-1], x[:, :-2], x[:, -x.shape[1] // 2 :]),
    "extremum of sizes": lambda x: x.new_zeros(max(x.shape[1], 8)),
    "topk": lambda x: torch.topk(x, x.shape[1] // 2, dim=1)[0],
    "repeat_interleave": lambda x: x.repeat_interleave(x.shape[1], 0),
    "unfold": lambda x: x.unfold(1, 3, 2),
    "diagonal": lambda x: (x @ x.mT).diagonal(1, 1, 2),
    "chunk": lambda x: torch.chunk(x, 2, 1),
    "tensor_split": lambda x: torch.tensor_split(x, 3, 1),
    "range of multiples of a size": lambda x: (
        torch.arange(0, 5 * x.shape[1], x.shape[1]),
        torch.arange(3 * x.shape[1], 0, -x.shape[1]),
    ),
    "distances of pairs": lambda x: F.pdist(x[0]),
    "pseudo-inverse": lambda x: (torch.linalg.pinv(x), torch.linalg.pinv(x @ x.mT, hermitian=True, rtol=1e-3)),
    "P, L and U": lambda x: (*torch.linalg.lu(x), *torch.linalg.lu(x.mT)),
    "solved by factors": lambda x: torch.linalg.lu_solve(*torch.linalg.lu_factor(_regular(x)), x),
    "solved by factors from the right": lambda x: torch.linalg.lu_solve(
        *torch.linalg.lu_factor(_regular(x)), x.mT, left=False
    ),
    "a filter as long as its data": lambda x: F.conv1d(x.mT, x.mT[:1], padding="same", dilation=2),
    **{
        f"bags, {mode}": lambda x, m=mode: F.embedding_bag(x.argmax(2), x[0], mode=m) for mode in ("sum", "mean", "max")
    },
    "rows of at most a norm": lambda x: F.embedding(torch.arange(x.shape[1] // 2), x[0] * 1, max_norm=0.5),
    "a fraction of a size": lambda x: x.new_zeros(math.ceil(x.shape[1] * 0.75), torch.sym_int(x.shape[1] / 2)),
    "resizing by a fraction": lambda x: F.interpolate(x.mT, scale_factor=1.5, mode="nearest"),
    "an empty product": lambda x: torch.baddbmm(x, x[:, :, :0], x.new_zeros(2, 0, 3), beta=0.5),
    "kthvalue": lambda x: x.kthvalue(x.shape[1] // 2, dim=1).values,
    "as_strided": lambda x: torch.as_strided(x, (x.shape[1], 2), (3, 1), 1),
    "diagonal_scatter": lambda x: (x @ x.mT).diagonal_scatter(x[:, :, 0], 0, 1, 2),
}


@pytest.mark.parametrize("name", OF_SIZES)
def test_of_sizes(name: str) -> None:
    inputs = [[torch.randn(2, n, 3)] for n in (6, 12)]
    agree(exported(OF_SIZES[name], inputs[0], dynamic_shapes=(({1: AUTO},),)), *inputs)


def _joined(x: Any, index: Any, gates: Any, counts: Any) -> Any:
    a, b = x.split(counts.tolist())
    return torch.zeros(3, 4).index_add(0, index, torch.cat([a * 2, b * 3]) * gates[:, None])


def _numbers(*values: Any) -> list[list[Any]]:
    return [[torch.arange(6) + 0.5, torch.tensor(v)] for v in values]


OF_DATA: dict[str, tuple[Any, list[list[Any]]]] = {
    "joined parts": (
        _joined,
        [[torch.randn(6, 4), torch.tensor([0, 1, 2] * 2), torch.rand(6), torch.tensor(c)] for c in ([4, 2], [1, 5])],
    ),
    "range": (lambda x, n: torch.arange(n.max().item())[None] < n[:, None], _numbers([2, 5], [1, 7])),
    "slice": (lambda x, n: x[: n.item()], _numbers(1, 4)),
    "select": (lambda x, n: x[n.item()], _numbers(1, 4)),
    "a float": (lambda x, n: x * n.item(), _numbers(2.5, -1.5)),
    "an integer after another operator": (lambda x, n: x.exp() * n.item(), _numbers(2, 3)),
    "a float beside integers": (
        lambda x, n: torch.arange(3) * n.item(),
        [[torch.zeros(1), torch.tensor(v, dtype=torch.float64)] for v in (2.5, -1.5)],
    ),
    "all": (lambda x, n: torch.ops.aten._is_all_true(n > 0), _numbers([1, 2], [0, 1])),
    "any": (lambda x, n: torch.ops.aten._is_any_true(n > 0), _numbers([0, 0], [0, 1])),
}


@pytest.mark.parametrize("name", OF_DATA)
def test_of_data(name: str) -> None:
    function, inputs = OF_DATA[name]
    agree(exported(function, inputs[0]), *inputs)


def test_ranges_whose_length_may_be_rounded_are_refused() -> None:
    x = torch.randn(2, 6, 3)
    program = exported(lambda x: torch.arange(0, x.shape[1], 0.7), [x], dynamic_shapes=(({1: AUTO},),))
    with pytest.raises(TiraxError, match="a factor that is not exact"):
        from_exported_program(program)
