"""Operators that move elements, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from arrays import floats, ints

from tirax.diagnostics import NameLookupError, ShapeError, TiraxError
from tirax.tvm_api import te, topi

Check = Callable[..., None]


X = floats(7, 3, 4)


def test_reshape_keeps_each_index_within_its_extent(check: Check) -> None:
    x = te.placeholder((2, 4), name="A")
    text = te.create_prim_func([x, topi.reshape(x, (4, 2))], index_dtype_override="int64").script()
    assert (
        "A[(v_ax0 * T.int64(2) + v_ax1) % T.int64(8) // T.int64(4), (v_ax0 * T.int64(2) + v_ax1) % T.int64(4)]" in text
    )
    for n in (0, 1, 5):
        check(lambda t: topi.reshape(t, (t.shape[0] * 2, 2)), [floats(n, 4)], floats(n, 4).reshape(n * 2, 2))
    check(lambda t: topi.reshape(t, ()), [floats(1, 1)], floats(1, 1).reshape(()))
    check(lambda t: topi.reshape(t, (1, 1)), [floats()], floats().reshape(1, 1))


def test_shapes(check: Check) -> None:
    check(topi.transpose, [X], X.T)
    check(lambda t: topi.transpose(t, (0, -1, 1)), [X], X.transpose(0, 2, 1))
    check(lambda t: topi.reshape(t, (t.shape[0] * 2, 6)), [X], X.reshape(14, 6))
    check(lambda t: topi.expand_dims(t, 1, 2), [X], X[:, None, None])
    check(lambda t: topi.expand_dims(t, -1), [X], X[..., None])
    check(lambda t: topi.squeeze(t), [floats(1, 7, 1)], floats(1, 7, 1)[0, :, 0])
    check(lambda t: topi.squeeze(t, [0]), [floats(1, 7, 1)], floats(1, 7, 1)[0])
    check(lambda a, b: topi.expand_like(a, b, [1]), [floats(7), floats(7, 3)], floats(7)[:, None].repeat(3, 1))
    check(lambda t: topi.shape(t, "int64"), [X], np.array([7, 3, 4]))
    check(topi.tensor_size, [X], 84)
    check(topi.ndarray_size, [X], 84)
    check(lambda t: topi.collapse_sum(t, (1, 4)), [X], X.sum((0, 1))[None])


def test_joins_and_parts(check: Check) -> None:
    y = floats(2, 3, 4, seed=1)
    check(lambda a, b: topi.concatenate([a, b, a], 0), [X, y], np.concatenate([X, y, X]))
    check(lambda a, b: topi.concatenate((a, b), axis=-1), [X, X + 1], np.concatenate([X, X + 1], -1))
    check(lambda a, b: topi.stack([a, b], 1), [X, X + 1], np.stack([X, X + 1], 1))
    check(lambda t: topi.split(t, 2, 2), [X], np.split(X, 2, 2))
    check(lambda t: topi.split(t, (1, 3), axis=-1), [X], np.split(X, (1, 3), -1))
    check(lambda t: topi.tile(t, (2, 1, 2)), [X], np.tile(X, (2, 1, 2)))
    check(lambda t: topi.tile(t, (2, 1, 1, 2)), [X], np.tile(X, (2, 1, 1, 2)))
    check(lambda t: topi.dyn_tile(t, (2, 14, 4), 3), [floats(7, 4)], np.tile(floats(7, 4), (2, 2, 1)))
    check(lambda t: topi.repeat(t, 3, 1), [X], np.repeat(X, 3, 1))
    check(lambda t: topi.flip(t, 0), [X], np.flip(X, 0))
    vectors = [floats(7), floats(2)]
    check(lambda a, b: topi.meshgrid([a, b], "ij"), vectors, np.meshgrid(*vectors, indexing="ij"))
    check(lambda a, b: topi.meshgrid([a, b], "xy"), vectors, np.meshgrid(*vectors))


def test_from_indices(check: Check) -> None:
    one = [np.zeros(1, "float32")]

    def alone(make: Callable[[], Any]) -> Callable[[Any], Any]:
        return lambda _: make()

    check(alone(lambda: topi.arange(5)), one, np.arange(5))
    check(alone(lambda: topi.arange(1, 10, 4, "int32")), one, np.arange(1, 10, 4))
    check(alone(lambda: topi.arange(9, 0, -2, "int64")), one, np.arange(9, 0, -2))
    check(alone(lambda: topi.arange(0.5, 3, 0.5)), one, np.arange(0.5, 3, 0.5))
    check(lambda t: topi.arange(1, t.shape[0], 2, "int32"), [floats(7)], np.arange(1, 7, 2))
    check(alone(lambda: topi.eye(3, 4, 1, "int32")), one, np.eye(3, 4, 1))
    check(alone(lambda: topi.eye(3)), one, np.eye(3))
    check(alone(lambda: topi.hamming_window(9, False, 0.54, 0.46, "float32")), one, np.hamming(9))
    check(lambda t: topi.trilu(t, 1, True), [X], np.triu(X, 1))
    check(lambda t: topi.trilu(t, te.const(-1, "int64"), False), [X], np.tril(X, -1))
    at = ints(7, 2, high=4)
    check(lambda t: topi.one_hot(t, 5, -1, 4, -1, "int32"), [at], np.where(np.eye(4)[at] > 0, 5, -1))
    check(lambda t: topi.one_hot(t, 1, 0, 4, 0, "float32"), [at], np.moveaxis(np.eye(4)[at], -1, 0))


def test_reading_at_positions(check: Check) -> None:
    at = ints(7, 2, high=3)
    for mode in ("fast", "clip", "wrap"):
        check(lambda t, i, mode=mode: topi.take(t, i, 1, mode=mode), [X, at], np.take(X, at, 1))
    check(topi.take, [X, at], np.take(X, at))
    check(lambda t, i: topi.take(t, i, 1, mode="clip"), [X, at + 9], np.take(X, at + 9, 1, mode="clip"))
    check(lambda t, i: topi.take(t, i, 1, mode="wrap"), [X, at - 5], np.take(X, at - 5, 1, mode="wrap"))
    paired = np.stack([X[n][at[n]] for n in range(7)])
    check(lambda t, i: topi.take(t, i, 1, batch_dims=1), [X, at], paired)
    check(lambda t, i: topi.take(t, i, 1, batch_dims=-1), [X, at], paired)
    each = ints(7, 3, 2, high=4)
    check(lambda t, i: topi.gather(t, 2, i), [X, each], np.take_along_axis(X, each, 2))
    rows = np.stack([ints(5, high=7), ints(5, high=3, seed=1)])
    check(topi.gather_nd, [X, rows], X[rows[0], rows[1]])
    own = ints(1, 7, 2, high=3)
    check(lambda t, i: topi.gather_nd(t, i, 1), [X, own], np.stack([X[n, own[0, n]] for n in range(7)]))
    first, second = ints(5, high=7), ints(2, 1, high=3)
    check(lambda t, i, j: topi.adv_index(t, [i, j]), [X, first, second], X[first, second])
    check(lambda t, i: topi.index_tensor(t, [i]), [X, at], X[at])


def test_slices(check: Check) -> None:
    check(lambda t: topi.strided_slice(t, [1, 0, 3], [6, 2, 0], [2, 1, -1]), [X], X[1:6:2, 0:2, 3:0:-1])
    check(lambda t: topi.strided_slice(t, [-3], [-1], axes=[1]), [X], X[:, -3:-1])
    check(lambda t: topi.strided_slice(t, [-3], [-1], assume_inbound=False), [X], X[-3:-1])
    check(lambda t: topi.strided_slice(t, [1, 0], [9, 99]), [X], X[1:9, 0:99])
    check(lambda t: topi.strided_slice(t, [1, 0, 2], [2, -1, 2], slice_mode="size"), [X], X[1:3, :, 2:4])
    check(lambda t: topi.strided_slice(t, [t.shape[0] - 2], [t.shape[0]], axes=[0]), [X], X[5:])
    begin, end, by = (np.array(v, "int64") for v in ([1, 0, 3], [6, 2, 0], [2, 1, -1]))
    check(
        lambda t, b, e, s: topi.dynamic_strided_slice(t, b, e, s, (3, 2, 3)),
        [X, begin, end, by],
        X[1:6:2, 0:2, 3:0:-1],
    )
    set_to = X.copy()
    set_to[1:6:2, 2:0:-1] = floats(3, 2, 4, seed=3)
    check(lambda t, v: topi.strided_set(t, v, [1, 2], [6, 0], [2, -1]), [X, floats(3, 2, 4, seed=3)], set_to)
    places = [np.array(v, "int32") for v in ([1, 2], [6, 0], [2, -1])]
    check(topi.strided_set, [X, floats(3, 2, 4, seed=3), *places], set_to)
    written = X.copy()
    written[:, :, 0:4:2] = floats(7, 3, 2, seed=3)
    check(lambda t, v: topi.slice_scatter(t, v, 0, 4, 2, 2), [X, floats(7, 3, 2, seed=3)], written)


def test_slices_as_scalars() -> None:
    for low, high, step in [(1, 8, 3), (7, 0, -2), (0, 5, 1)]:
        inside = range(low, high, step)
        for i in range(9):
            assert bool(topi.within_index(low, high, step, te.const(i))) == (i in inside)
            place = inside.index(i) if i in inside else 9
            assert int(topi.make_idx(low, high, step, 9, te.const(i))) == place


def test_sequences(check: Check) -> None:
    x, lengths = floats(7, 5), ints(7, low=0, high=6)
    reverse = x.copy()
    for n, length in enumerate(lengths):
        reverse[n, :length] = x[n, :length][::-1]
    check(topi.reverse_sequence, [x, lengths], reverse)
    check(lambda t, n: topi.reverse_sequence(t, n, 0, 1), [x.T.copy(), lengths], reverse.T)
    masked = np.where(np.arange(5) < lengths[:, None], x, -1)
    check(lambda t, n: topi.sequence_mask(t, n, -1.0, 1), [x, lengths], masked)
    check(lambda t, n: topi.sequence_mask(t, n, mask_value=-1.0), [x.T.copy(), lengths], masked.T)
    view = np.lib.stride_tricks.sliding_window_view
    check(lambda t: topi.sliding_window(t, 1, (2, 3), (1, 1)), [X], view(X, (2, 3), (1, 2)))
    check(lambda t: topi.sliding_window(t, 0, (3, 3, 2), (2, 1, 2)), [X], view(X, (3, 3, 2))[::2, :, ::2])
    at = ints(7, high=24)
    check(topi.unravel_index, [at, np.array([2, 3, 4], "int32")], np.stack(np.unravel_index(at, (2, 3, 4))))
    with pytest.raises(ShapeError, match="first two dimensions"):
        topi.sequence_mask(te.placeholder((2, 3)), te.placeholder((2,), "int32"), axis=2)
    with pytest.raises(ShapeError, match="a stride for each dimension"):
        topi.sliding_window(te.placeholder((2, 3)), 0, [2], [1])


def set_diagonals(x: Any, diagonal: Any, low: int, high: int, align: str) -> Any:
    out = x.copy()
    rows, columns = x.shape[-2:]
    upper, lower = (s == "RIGHT" for s in align.split("_"))
    for d in range(low, high + 1):
        places = [(r, r + d) for r in range(rows) if 0 <= r + d < columns]
        values = diagonal if low == high else diagonal[..., high - d, :]
        right = upper if d > 0 else lower if d < 0 else upper or lower
        shift = diagonal.shape[-1] - len(places) if low != high and right else 0
        for n, (r, c) in enumerate(places):
            out[..., r, c] = values[..., n + shift]
    return out


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
def test_matrix_set_diag(align: str, check: Check) -> None:
    one = floats(7, 3, seed=1)
    check(topi.matrix_set_diag, [X, one], set_diagonals(X, one, 0, 0, align))
    check(lambda t, d: topi.matrix_set_diag(t, d, 1), [X, one], set_diagonals(X, one, 1, 1, align))
    band = floats(7, 4, 3, seed=2)
    check(lambda t, d: topi.matrix_set_diag(t, d, (-1, 2), align), [X, band], set_diagonals(X, band, -1, 2, align))
    with pytest.raises(TiraxError, match="unknown alignment"):
        topi.matrix_set_diag(te.placeholder((2, 3)), te.placeholder((2,)), align="MIDDLE")


def test_sparse_to_dense(check: Check) -> None:
    at, values = np.array([[0, 1], [2, 3], [0, 1]], "int32"), floats(3)
    dense = np.full((3, 4), 9, "float32")
    for (r, c), v in zip(at, values, strict=True):
        dense[r, c] = v
    check(lambda i, v: topi.sparse_to_dense(i, (3, 4), v, 9.0), [at, values], dense)
    row = np.zeros(7, "float32")
    row[[1, 5]] = floats(2)
    check(lambda i, v: topi.sparse_to_dense(i, (7,), v), [np.array([1, 5], "int32"), floats(2)], row)


def test_layouts(check: Check) -> None:
    x = floats(7, 8, 2, 3)
    blocks = x.reshape(7, 2, 4, 2, 3).transpose(0, 1, 3, 4, 2)
    check(lambda t: topi.layout_transform(t, "NCHW", "NHWC"), [x], x.transpose(0, 2, 3, 1))
    check(lambda t: topi.layout_transform(t, "NCHW", "NCHW4c"), [x], blocks)
    check(lambda t: topi.layout_transform(t, "NCHW4c", "NCHW"), [blocks.copy()], x)
    check(lambda t: topi.layout_transform(t, "NCHW4c", "NCHW8c"), [blocks.copy()], x.transpose(0, 2, 3, 1)[:, None])
    odd = np.zeros((7, 8), "float32")
    odd[:, :6] = floats(7, 6)
    check(lambda t: topi.layout_transform(t, "NC", "NC4c"), [floats(7, 6)], odd.reshape(7, 2, 4))


def test_products(check: Check) -> None:
    a, b = floats(7, 4), floats(4, 3, seed=1)
    check(topi.matmul, [a, b], a @ b)
    check(lambda x, y: topi.matmul(x, y, True, True), [a.T.copy(), b.T.copy()], a @ b)
    y = floats(3, 4, 5, seed=1)
    check(lambda p, q: topi.tensordot(p, q, 2), [X, y], np.tensordot(X, y, 2))
    check(lambda p, q: topi.tensordot(p, q, ((2, 1), (1, 0))), [X, y], np.tensordot(X, y, ((2, 1), (1, 0))))
    check(lambda p, q: topi.tensordot(p, q, (1, 0)), [X, y], np.tensordot(X, y, ((1,), (0,))))
    check(lambda p, q: topi.einsum("nij,ijk->nk", p, q), [X, y], np.einsum("nij,ijk->nk", X, y))
    check(lambda p: topi.einsum("nij", p), [X], np.einsum("nij", X))
    check(lambda p, q: topi.einsum("ab,bc", [p, q]), [a, b], a @ b)
    with pytest.raises(ShapeError, match="do not fit the subscripts"):
        topi.einsum("ij,jk", te.placeholder((2, 3)))
    with pytest.raises(ShapeError, match="letters that no tensor has"):
        topi.einsum("ij->ik", te.placeholder((2, 3)))


def test_sorting(check: Check) -> None:
    row = ints(7, low=-2, high=2).astype("float32")
    check(topi.sort, [row], np.sort(row))
    check(lambda t: topi.argsort(t, dtype="int32"), [row], np.argsort(row, kind="stable"))
    x = ints(2, 4, low=-2, high=2).astype("float32")  # of known extents: a merge sort takes the interpreter long
    order = np.argsort(x, kind="stable")
    check(topi.argsort, [x], order)
    check(lambda t: topi.sort(t, 0, 0), [x], -np.sort(-x, 0))
    counts = np.array([2, 3], "int32")
    partly = np.stack([[*np.argsort(r[:n], kind="stable"), *range(n, 4)] for r, n in zip(x, counts, strict=True)])
    check(lambda t, n: topi.argsort(t, n, dtype="int32"), [x, counts], partly)
    check(lambda t: topi.topk(t, 2, is_ascend=True), [x], [np.sort(x)[:, :2], order[:, :2]])
    check(lambda t: topi.topk(t, 1, 0, "values"), [x], -np.sort(-x, 0)[:1])
    check(lambda t: topi.topk(t, 0, ret_type="indices", dtype="int32"), [x], np.argsort(-x, kind="stable"))
    edges = np.sort(floats(7))
    for side in (False, True):
        name = "right" if side else "left"
        places = np.searchsorted(edges, floats(5, 2), name)
        check(lambda s, v, r=side: topi.searchsorted(s, v, r), [edges, floats(5, 2)], places)
    rows = np.sort(floats(3, 7), -1)
    values = floats(3, 2, seed=4)
    positions = np.stack([np.searchsorted(r, v) for r, v in zip(rows, values, strict=True)])
    check(lambda s, v: topi.searchsorted(s, v, out_dtype="int32"), [rows, values], positions)


def test_scans(check: Check) -> None:
    check(lambda t: topi.cumsum(t, 1), [X], np.cumsum(X, 1))
    check(topi.cumsum, [X], np.cumsum(X))
    check(lambda t: topi.cumprod(t, 0), [X], np.cumprod(X, 0))
    check(lambda t: topi.cumsum(t, 0, "int64"), [ints(7)], np.cumsum(ints(7)))
    check(lambda t: topi.cumsum(t, 0, exclusive=True), [ints(7)], np.cumsum(ints(7)) - ints(7))
    greatest = np.maximum.accumulate(X, 1)
    check(lambda t: topi.scanop(t, te.max, te.min_value("float32"), "cummax", 1), [X], greatest)
    printed = te.create_prim_func(
        [x := te.placeholder((4,)), topi.scanop(x, lambda a, b: a + b, te.const(0.0, "float32"), "my_scan")]
    ).script()
    assert 'T.block("my_scan")' in printed


def test_scattering(check: Check) -> None:
    at = np.array([[0, 2], [1, 1], [2, 0]], "int32").repeat(3, 0)[:7].copy()
    updates = floats(7, 2, seed=5)
    added, replaced = floats(7, 3), floats(7, 3)
    for r in range(7):
        for c in range(2):
            added[r, at[r, c]] += updates[r, c]
            replaced[r, at[r, c]] = updates[r, c]
    check(lambda d, i, u: topi.scatter_elements(d, i, u, 1, "add"), [floats(7, 3), at, updates], added)
    check(lambda d, i, u: topi.scatter_elements(d, i, u, 1), [floats(7, 3), at, updates], replaced)
    rows = np.array([[1, 3, 1], [0, 2, 0]], "int32")
    expected = floats(7, 3)
    np.add.at(expected, (rows[0], rows[1]), floats(3, seed=6))
    check(lambda d, i, u: topi.scatter_nd(d, i, u, "add"), [floats(7, 3), rows, floats(3, seed=6)], expected)
    check(
        lambda d, i, j, v: topi.index_put(d, [i, j], v, True), [floats(7, 3), *rows.copy(), floats(3, seed=6)], expected
    )
    with pytest.raises(NameLookupError, match="unknown reduction"):
        topi.scatter_nd(te.placeholder((2,)), te.placeholder((1, 2), "int32"), te.placeholder((2,)), "plus")
