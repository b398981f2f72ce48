"""Elements and slices read and written by position, in all forms of an index, beside PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from torch_models import agree, exported

from tirax.diagnostics import TiraxError
from tirax.driver.build import build

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402


def test_positions_of_a_scalar() -> None:
    x = torch.tensor(3.0)
    agree(exported(lambda x: x.nonzero(), [x]), [x], [torch.tensor(0.0)])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_rows(mode: str) -> None:
    """Bags with padding, with none but padding, and empty ones; rows of at most a norm; tables with infinities."""
    table = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    table[3, 1] = torch.inf
    indices, offsets = torch.tensor([0, 2, 3, 1, 1, 4, 0]), torch.tensor([0, 3, 3, 7])

    def bags(table: Any, indices: Any, offsets: Any) -> Any:
        def embed(padding: int | None, most: float | None, has_end: bool) -> Any:
            rows = table.clamp(max=9.0 if most else torch.inf)
            return torch.nn.functional.embedding_bag(
                indices, rows, offsets, most, mode=mode, padding_idx=padding, include_last_offset=has_end
            )

        options = itertools.product((None, 0, 1), (None, 0.5), (False, True))
        return [embed(*each) for each in options]

    inputs = [table, indices, offsets]
    agree(exported(bags, inputs), inputs)


N = None
ROWS, PLACES, PAIRS = torch.tensor([0, 2]), torch.tensor([-1, 1]), torch.tensor([[0, 1], [2, 3]])
OF_4 = torch.tensor([True, False, True, True])
OF_6 = torch.tensor([True, False, True, False, False, True])

READ = [
    (-1,), (slice(N), -1), (..., -1), (slice(N), -2), (slice(N), slice(-2, N)), (slice(N), slice(N, -1)),
    (slice(N, N, 2),), (slice(N), slice(-3, N, 2)), (N, -1), (-1, N, ..., -1), (0, 0, 0), (...,), (ROWS,),
    (slice(N), PLACES), (..., ROWS), (ROWS, slice(N), PLACES), (slice(N), ROWS, PLACES), (slice(N), PAIRS),
    (ROWS, N, ROWS), (1, slice(N), ROWS), (ROWS, -1), (ROWS[:, N], PLACES), (torch.tensor(-1),),
]  # fmt: skip

WRITTEN = [
    ((slice(N), -1), (4, 6)), ((-1,), ()), ((..., -2), ()), ((slice(N), slice(N, -1)), (6,)),
    ((slice(N, N, 2),), ()), ((N, 1), ()), ((0, 0, 0), ()), ((ROWS,), (2, 5, 6)), ((ROWS,), (6,)),
    ((slice(N), PLACES), (4, 2, 6)), ((slice(N), PLACES), (4, 1, 1)), ((..., ROWS), (5, 2)),
    ((ROWS, slice(N), PLACES), (2, 5)), ((ROWS, slice(N), PLACES), (5,)), ((slice(N), ROWS, PLACES), (4, 2)),
    ((slice(N), PAIRS), (4, 2, 2, 6)), ((1, slice(N), ROWS), (5, 2)), ((slice(N), torch.tensor(-1)), (4, 6)),
    ((OF_4,), ()), ((OF_4,), (3, 5, 6)), ((OF_4,), (1, 5, 6)), ((..., OF_6), ()), ((..., OF_6), (4, 5, 3)),
    ((..., OF_6), (5, 1)), ((OF_4, 1), ()), ((OF_4, slice(N), torch.tensor([0, 1, 2])), (3, 5)),
]  # fmt: skip


def written(x: Any, index: Any, value: Any, accumulate: bool) -> Any:
    y = x.clone()
    if accumulate:
        y[index] += value
    else:
        y[index] = value
    return y


@pytest.mark.parametrize("dim", [None, 1])
def test_what_is_read_by_position(dim: int | None) -> None:
    inputs = [[torch.randn(4, n, 6)] for n in (5, 7 if dim else 5)]
    shapes = None if dim is None else (({dim: torch.export.Dim.AUTO},),)
    agree(exported(lambda x: [x[i] for i in READ], inputs[0], dynamic_shapes=shapes), *inputs)


@pytest.mark.parametrize("accumulate", [False, True])
def test_what_is_written_by_position(accumulate: bool) -> None:
    x = torch.randn(4, 5, 6)
    table = WRITTEN[:-1] if accumulate else WRITTEN  # torch.export does not read by a mask beside positions
    rows = [(index, torch.randn(shape)) for index, shape in table]
    program = exported(lambda x: [written(x, i, v, accumulate) for i, v in rows], [x])
    agree(program, [x], [torch.randn(4, 5, 6)])


def test_what_is_written_where_a_dimension_is_symbolic() -> None:
    inputs = [[torch.randn(4, n, 6)] for n in (5, 7)]
    rows = [((slice(N), -1), 1.0), ((..., OF_6), 2.0), ((slice(N), PLACES), 3.0), ((OF_4, -1), 4.0)]
    program = exported(lambda x: [written(x, i, v, False) for i, v in rows], inputs[0],
                       dynamic_shapes=(({1: torch.export.Dim.AUTO},),))  # fmt: skip
    agree(program, *inputs)


def test_what_a_mask_of_the_contents_selects() -> None:
    inputs = [[torch.randn(4, 5, 6)] for _ in range(2)] + [[-torch.ones(4, 5, 6)]]
    agree(exported(lambda x: (x[x > 0], x[:, x[0, :, 0] > 0], written(x, x > 0, 0.0, False)), inputs[0]), *inputs)


def test_values_that_do_not_fit_what_a_mask_selects() -> None:
    x = torch.randn(4, 3)
    program = exported(lambda x, v, m: written(x, m, v, False), [x, torch.randn(3, 3), OF_4])
    main = build(from_exported_program(program)).jit()["main"]
    with pytest.raises(TiraxError):
        main(x.numpy(), np.ones((3, 3), "float32"), np.array([True, False, False, True]))


class TwoSelections(torch.nn.Module):
    """Writes and reads at places of masks and numbers together, in each of which sizes may be 1."""

    def forward(self, x, a, b, k):
        put, added = x.clone(), x.clone()
        put[a, b] = torch.tensor(0.25)
        added.index_put_((a, k), torch.ones(1), accumulate=True)
        return put, added


def test_what_two_masks_select_together() -> None:
    """Counts of data broadcast as PyTorch's do, or are an error of the program; they were assumed to be equal."""
    model, x = TwoSelections(), torch.rand(5, 4)
    masks = torch.ones(5, dtype=torch.bool), torch.ones(4, dtype=torch.bool)
    dim = torch.export.Dim("k", min=2)
    arguments = (x, *masks, torch.tensor([0, 1, 2, 3]))
    program = torch.export.export(model, arguments, dynamic_shapes=({}, {}, {}, {0: dim}))
    run, outcomes = build(from_exported_program(program))["main"], set()
    for first, second, k in [(2, 2, 2), (1, 3, 3), (3, 1, 3), (1, 0, 2), (0, 1, 0), (3, 2, 2), (2, 2, 3), (0, 3, 1)]:
        a, b = torch.arange(5) < first, torch.arange(4) >= 4 - second
        numbers = torch.arange(k) % 4
        try:
            expected = model(x, a, b, numbers)
        except IndexError:
            with pytest.raises(TiraxError):
                run(x, a, b, numbers)
            outcomes.add("refused")
            continue
        torch.testing.assert_close([torch.from_dlpack(v) for v in run(x, a, b, numbers)], list(expected))
        outcomes.add("equal")
    assert outcomes == {"refused", "equal"}


def test_resizing_keeps_the_first_elements() -> None:
    def both(x: Any, like: Any) -> Any:
        return x.clone().resize_as_(like), x.clone().resize_(2, 3)

    inputs = [[torch.randn(3, 4), torch.zeros(5, 2)]]
    agree(exported(both, inputs[0]), *inputs)


def test_resizing_to_more_elements_is_refused() -> None:
    program = exported(lambda x: x.clone().resize_(4, 4), [torch.randn(3, 4)])
    with pytest.raises(TiraxError, match="which hold anything"):
        from_exported_program(program)


def test_a_number_that_the_trace_fixes() -> None:
    def model(x: Any, n: Any) -> Any:
        (part,) = torch.split(x, [n[0].item()])
        return part * 2

    args = [torch.randn(4, 3), torch.tensor([4])]
    program = exported(model, args)
    main = build(agree(program, args)).jit()["main"]
    with pytest.raises(TiraxError, match="wrong extent"):
        main(args[0].numpy(), np.array([3]))
