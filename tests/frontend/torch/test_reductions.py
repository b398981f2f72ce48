"""Reductions, scans and sorts of PyTorch of NaN, infinities, zeros, ties and limits, of all dtypes, at small extents.

One program of a dtype has all functions of tensors of each extent. It is interpreted: what native code makes of the
operators, tests/semantics/test_reductions.py has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from strength import thinned

torch = pytest.importorskip("torch")

from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.tensors import array_of  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

FLOATS = ("float16", "bfloat16", "float32", "float64")
DTYPES = (*FLOATS, "int8", "uint8", "int32", "int64", "bool")
EXTENTS = (0, 1, 2, 7)
NAN, INF = math.nan, math.inf

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")


class Row(NamedTuple):
    """`bound` is in units in the last place of the sum of the magnitudes; None: no difference."""

    function: Callable[[Any], Any]
    bound: float | None = None


ROWS = {
    "sum": Row(lambda x: x.sum(1), 4),
    "sum of all": Row(lambda x: x.sum(), 16),
    "sum in float32": Row(lambda x: x.sum(1, dtype=torch.float32), 4),
    "nansum": Row(lambda x: x.nansum(1), 4),
    "mean": Row(lambda x: x.mean(1), 4),
    "nanmean": Row(lambda x: x.nanmean(1), 4),
    "prod": Row(lambda x: x.prod(1), 8),
    "amax": Row(lambda x: x.amax(1)),
    "amin": Row(lambda x: x.amin(1)),
    "max": Row(lambda x: x.max(1)),
    "min": Row(lambda x: x.min(1)),
    "argmax": Row(lambda x: x.argmax(1)),
    "argmin": Row(lambda x: x.argmin(1, keepdim=True)),
    "any": Row(lambda x: x.any(1)),
    "all": Row(lambda x: x.all(1)),
    "all of all": Row(lambda x: x.all()),
    "count_nonzero": Row(lambda x: x.count_nonzero(1)),
    "var": Row(lambda x: x.var(1, correction=0), 8),
    "unbiased var": Row(lambda x: x.var(1), 8),
    "std": Row(lambda x: x.std(1), 8),
    "logsumexp": Row(lambda x: x.logsumexp(1), 8),
    "softmax": Row(lambda x: x.softmax(1), 8),
    "softmax in float32": Row(lambda x: x.softmax(1, dtype=torch.float32), 8),
    "log_softmax": Row(lambda x: x.log_softmax(1), 8),
    "cumsum": Row(lambda x: x.cumsum(1), 4),
    "cumprod": Row(lambda x: x.cumprod(1), 8),
    "norm": Row(lambda x: torch.linalg.vector_norm(x, dim=1), 8),
    "norm of 1": Row(lambda x: torch.linalg.vector_norm(x, 1, dim=1), 8),
    "norm of 0": Row(lambda x: torch.linalg.vector_norm(x, 0, dim=1)),
    "norm of inf": Row(lambda x: torch.linalg.vector_norm(x, INF, dim=1)),
    "norm of -inf": Row(lambda x: torch.linalg.vector_norm(x, -INF, dim=1)),
    "sort": Row(lambda x: x.sort(stable=True, dim=1)),
    "falling sort": Row(lambda x: x.sort(stable=True, dim=1, descending=True)),
    "topk": Row(lambda x: x.topk(min(2, x.shape[1]), 1).values),
    "least": Row(lambda x: x.topk(min(2, x.shape[1]), 1, largest=False).values),
    "kthvalue": Row(lambda x: x.kthvalue(1, 1).values),
    "isin": Row(lambda x: torch.isin(x, x[:3])),
    "diff": Row(lambda x: x.diff(dim=1)),
}


def rows_of(name: str, extent: int) -> Any:
    """Rows with each special value at the beginning, in the middle and at the end, and full of it."""
    dtype = getattr(torch, name)
    if dtype.is_floating_point:
        specials = [(NAN,), (INF,), (-INF,), (INF, -INF), (NAN, INF), (0.0, -0.0), (-0.0, 0.0), (-1.5, 3.0, 3.0)]
    elif name == "bool":
        specials = [(True,), (False,)]
    else:
        info = torch.iinfo(dtype)
        specials = [(info.min,), (info.max,), (info.max, info.min), (3, 3)]
    plain = [n % 3 for n in range(extent)]
    rows = [plain]
    for special in specials:
        rows.append([special[n % len(special)] for n in range(extent)])
        for place in {0, extent // 2, max(0, extent - len(special))}:
            rows.append([*plain[:place], *special, *plain[place + len(special) :]][:extent])
    return torch.tensor(rows, dtype=dtype).reshape(len(rows), extent)


def is_row(function: Callable[..., Any], *args: Any) -> bool:
    """Whether PyTorch has a result of each argument; of nothing it has some that it has of no other tensor."""
    try:
        [function(x) for x in args]
    except (RuntimeError, IndexError):
        return False
    return True


class Several(torch.nn.Module):
    """What functions give of the argument of their number."""

    def __init__(self, functions: list[tuple[int, str]]):
        super().__init__()
        self.functions = functions

    def forward(self, *args: Any) -> Any:
        return tuple(ROWS[name].function(args[i]) for i, name in self.functions)


def check(label: str, row: Row, x: Any, got: Any, expected: Any) -> int:
    assert (got.dtype.name, got.shape) == (str(expected.dtype)[6:], tuple(expected.shape)), label
    exact = array_of(expected)
    if not expected.is_floating_point():
        np.testing.assert_array_equal(got, exact, err_msg=label)
        return got.size
    magnitude = np.nan_to_num(np.abs(array_of(x).astype("f8")), posinf=0).sum(-1)
    magnitude = magnitude.max() if expected.ndim == 0 else magnitude.reshape(-1, *[1] * (expected.ndim - 1))
    size = np.maximum(np.nan_to_num(np.abs(exact.astype("f8")), posinf=0), magnitude)
    allowed = (row.bound or 0) * float(torch.finfo(expected.dtype).eps) * size
    a, b = got.astype("f8"), exact.astype("f8")
    right = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= allowed) & np.isfinite(b)
    wrong = np.argwhere(~right)[:3]
    shown = [(x[tuple(i[:1])].tolist() if len(i) else x.tolist(), a[tuple(i)], b[tuple(i)]) for i in wrong]
    assert not shown, f"{label}: {shown}"
    return got.size


@thinned("dtype", DTYPES, 2)
def test_rows(dtype: str) -> None:
    args = [rows_of(dtype, extent) for extent in EXTENTS]
    functions = [
        (i, name) for i, x in enumerate(args) for name, row in ROWS.items() if is_row(row.function, args[2], x)
    ]
    model = Several(functions)
    module = from_exported_program(torch.export.export(model, tuple(args)))
    results = interpret(module, "main", list(map(array_of, args)))
    parts = iter(results)
    count = 0
    for (i, name), expected in zip(functions, model(*args), strict=True):
        for part in [expected] if isinstance(expected, torch.Tensor) else expected:
            label = f"{name} of {dtype}, {EXTENTS[i]}"
            count += check(label, ROWS[name], args[i], np.asarray(next(parts)), part)
    assert next(parts, None) is None and count > 500
