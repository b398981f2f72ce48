"""What is written by position: each form of an index with each dtype, static and symbolic, beside PyTorch.

A row is an index of x, of shape (4, n, 6), and the shape of the values; one program writes by all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from torch_models import exported  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.tensors import array_of  # noqa: E402

N: Any = None
ALL = slice(N)
ROWS, PLACES, PAIRS = torch.tensor([0, 2]), torch.tensor([-1, 1]), torch.tensor([[0, 1], [2, 3]])
OF_4 = torch.tensor([True, False, True, True])
OF_6 = torch.tensor([True, False, True, False, False, True])

WRITTEN: list[tuple[Any, tuple[Any, ...]]] = [
    ((ROWS,), (2, "n", 6)), ((ROWS,), (6,)), ((ROWS,), ()), ((ALL, PLACES), (4, 2, 6)), ((ALL, PLACES), (4, 1, 1)),
    ((ALL, PLACES), ()), ((..., ROWS), ("n", 2)), ((ROWS, PLACES), (2, 6)), ((ALL, ROWS, PLACES), (4, 2)),
    ((ROWS, ALL, PLACES), (2, "n")), ((ROWS, ALL, PLACES), ("n",)), ((ROWS, PLACES, ROWS), (2,)),
    ((ALL, PAIRS), (4, 2, 2, 6)), ((ROWS[:, N], PLACES), (2, 2, 6)), ((ROWS[:, N], ALL, PLACES), (2, 2, "n")),
    ((1, ALL, ROWS), ("n", 2)), ((ROWS, -1), (2, 6)), ((ALL, torch.tensor(-1)), (4, 6)), ((N, ROWS), (1, 2, "n", 6)),
    ((ROWS, N, ROWS), (2, 1, 6)), ((slice(N, N, 2), ROWS), (2, 2, 6)), ((ROWS, slice(-2, N)), (2, 2, 6)),
    ((ROWS, slice(N, -1), PLACES), ()), ((OF_4,), (3, "n", 6)), ((OF_4,), ()), ((..., OF_6), (4, "n", 3)),
    ((..., OF_6), ("n", 1)), ((OF_4, 1), ()), ((OF_4, 1), (3, 6)), ((OF_4, ALL, torch.tensor([0, 1, 2])), (3, "n")),
    ((OF_4, torch.tensor([0, 1, -1])), (3, 6)), ((OF_4, ALL, OF_6), (3, "n")), ((N, OF_4), (1, 3, "n", 6)),
    ((slice(1, 3), slice(N, -1), slice(2, N, 3)), ()), ((...,), ()), ((-1,), ("n", 6)), ((ALL, -1), (4, 6)),
    ((torch.tensor([], dtype=torch.int64),), ()), ((torch.zeros(4, dtype=torch.bool),), ()),
    ((ALL, PLACES.int()), (4, 2, 6)),
]  # fmt: skip
ADDED = [
    ((torch.tensor([0, 0, 2]),), (3, "n", 6)), ((ALL, torch.tensor([1, 1, -1])), (4, 3, 6)),
    *((i, v) for i, v in WRITTEN if i != (...,) and all(isinstance(j, torch.Tensor) or j in (..., ALL) for j in i)),
]  # fmt: skip


def _random(shape: Any, dtype: Any) -> Any:
    """Numbers whose sums bfloat16 has, too."""
    return torch.randint(-4, 5, tuple(shape)).to(dtype)


def _full(index: Any) -> list[Any]:
    """An index of tensors and None, as `index_put` takes it."""
    plain = [N if j == ALL else j for j in index if isinstance(j, torch.Tensor) or j is not Ellipsis]
    return [N] * (3 - len(plain)) + plain if index[0] is Ellipsis else plain


def _set(x: Any, index: Any, value: Any) -> Any:
    y = x.clone()
    y[index] = value
    return y


def _added(x: Any, index: Any, value: Any) -> Any:
    return torch.ops.aten.index_put(x, _full(index), value, True)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.bfloat16], ids=str)
@pytest.mark.parametrize("write", [_set, _added])
def test_all_forms(write: Any, dtype: Any, symbolic: bool) -> None:
    table = ADDED if write is _added else WRITTEN

    def inputs(n: int) -> list[Any]:
        shapes = [[n if s == "n" else s for s in shape] for _, shape in table]
        return [_random(shape, dtype) for shape in ([4, n, 6], *shapes)]

    def model(x: Any, *values: Any) -> list[Any]:
        return [write(x, index, v) for (index, _), v in zip(table, values, strict=True)]

    shapes = [(4, "n", 6), *(shape for _, shape in table)]
    dims = tuple({i: torch.export.Dim.AUTO for i, s in enumerate(shape) if s == "n"} for shape in shapes)
    program = exported(model, inputs(5), **({"dynamic_shapes": (dims,)} if symbolic else {}))
    main = build(from_exported_program(program)).jit()["main"]
    for n in (5, 7) if symbolic else (5,):
        args = inputs(n)
        for row, got, expected in zip(table, main(*map(array_of, args)), model(*args), strict=True):
            array = np.asarray(got)
            assert array.dtype == array_of(expected).dtype
            np.testing.assert_array_equal(array, array_of(expected), err_msg=str(row))


def test_a_static_cache_that_is_written_at_positions() -> None:
    def model(k: Any, v: Any, mask: Any, position: Any) -> Any:
        k = k.clone()
        k[:, :, position] = v
        k[:, mask] = 0
        return k

    def inputs(n: int, m: int) -> list[Any]:
        return [torch.randn(1, 2, n, 3), torch.randn(1, 2, m, 3), torch.tensor([False, True]), torch.arange(m) - 1]

    auto = torch.export.Dim.AUTO
    program = exported(model, inputs(8, 3), dynamic_shapes=(({2: auto}, {2: auto}, {}, {0: auto}),))
    main = build(from_exported_program(program)).jit()["main"]
    for n, m in ((8, 3), (11, 5)):
        args = inputs(n, m)
        np.testing.assert_array_equal(np.asarray(main(*(a.numpy() for a in args))[0]), model(*args).numpy())
