"""The types that Relax operators infer: each operator on each kind of knowledge about its operands."""

from __future__ import annotations

from collections.abc import Iterator

from ..rows import Row

_KINDS = {
    "static": 'R.Tensor((2, 3), "float32")',
    "symbolic": 'R.Tensor(("m", "n"), "float32")',
    "unknown dtype": 'R.Tensor(("m", "n"))',
    "known rank": 'R.Tensor(dtype="float32", ndim=2)',
    "rank alone": "R.Tensor(ndim=2)",
    "unknown rank": 'R.Tensor(dtype="float32")',
    "scalar": 'R.Tensor((), "float32")',
    "a vector": 'R.Tensor((5,), "float32")',
    "three dimensions": 'R.Tensor((2, 3, 4), "float32")',
    "a shape": "R.Shape([2, 3])",
    "an object": "R.Object",
}

_UNARY = {
    "abs": "R.abs(x)",
    "isnan": "R.isnan(x)",
    "astype": 'R.astype(x, "float16")',
    "zeros_like": "R.zeros_like(x)",
    "ones_like, dtype": 'R.ones_like(x, "int8")',
    "full_like": 'R.full_like(x, R.const(1, "float32"))',
    "sum of all": "R.sum(x)",
    "sum, an axis": "R.sum(x, axis=[1])",
    "sum, axes kept": "R.sum(x, axis=[0, 1], keepdims=True)",
    "sum, all kept": "R.sum(x, keepdims=True)",
    "argmax": "R.argmax(x, axis=-1)",
    "cumsum": "R.cumsum(x, axis=0)",
    "tril": "R.tril(x)",
    "permute_dims": "R.permute_dims(x)",
    "permute_dims, axes": "R.permute_dims(x, axes=[1, 0])",
    "permute_dims, itself": "R.permute_dims(x, axes=[0, 1])",
    "expand_dims": "R.expand_dims(x, axis=[0, -1])",
    "expand_dims, twice": "R.expand_dims(x, axis=[0, 0])",
    "squeeze": "R.squeeze(x)",
    "flatten": "R.flatten(x)",
    "reshape": "R.reshape(x, R.shape([6]))",
    "reshape, a rest": "R.reshape(x, (3, -1))",
    "broadcast_to": "R.broadcast_to(x, R.shape([4, 2, 3]))",
    "concat": "R.concat((x, x), axis=1)",
    "concat of vectors": "R.concat((x, x), axis=None)",
    "split": "R.split(x, indices_or_sections=2, axis=0)",
    "split at places": "R.split(x, indices_or_sections=[1], axis=0)",
    "repeat": "R.repeat(x, repeats=2, axis=0)",
    "repeat all": "R.repeat(x, repeats=2)",
    "tile": "R.tile(x, repeats=[2, 1, 3])",
    "flip": "R.flip(x, axis=1)",
    "take": 'R.take(x, R.const([0, 1], "int64"), axis=0)',
    "strided_slice": "R.strided_slice(x, axes=[0], begin=[0], end=[1])",
    "softmax": "R.nn.softmax(x, axis=-1)",
    "pad": "R.nn.pad(x, pad_width=(1, 1, 2, 2))",
    "matmul": "R.matmul(x, x)",
    "add": "R.add(x, x)",
    "less": "R.less(x, x)",
    "add, a number": 'R.add(x, R.const(1, "float32"))',
    "sort": "R.sort(x, axis=0)",
    "argsort": "R.argsort(x, axis=0)",
    "topk": "R.topk(x, k=1, axis=0)",
    "dropout": "R.nn.dropout(x, rate=0.5)",
    "shape_of": "R.shape_of(x)",
    "where": "R.where(R.less(x, x), x, x)",
    "ewise_fma": "R.ewise_fma(x, x, x)",
    "batch_norm": (
        'R.nn.batch_norm(x, R.zeros(R.shape([3]), "float32"), R.zeros(R.shape([3]), "float32"), '
        'R.zeros(R.shape([3]), "float32"), R.zeros(R.shape([3]), "float32"), axis=1)'
    ),
    "layer_norm": 'R.nn.layer_norm(x, R.zeros(R.shape([3]), "float32"), R.zeros(R.shape([3]), "float32"), axes=[-1])',
    "einsum": 'R.einsum((x, x), subscripts="ij,ij->i")',
}

_AXIS = "a scalar has no axis"
_DTYPE = "nothing is refused where the dtype is unknown"
_PROVEN = "extents that may be unequal are checked when the program runs"
_RANK = "the rank is that of the subscripts, not that of the first operand"
_BOUNDS = "the places of a split are in bounds"
_SIMPLER = "0.20 writes min(0, m), which 0.27 simplifies"
_REASONS = {
    "split at places: symbolic": _BOUNDS,
    "split at places: unknown dtype": _BOUNDS,
    "strided_slice: symbolic": _SIMPLER,
    "strided_slice: unknown dtype": _SIMPLER,
    "cumsum: scalar": _AXIS,
    "sort: scalar": _AXIS,
    "argsort: scalar": _AXIS,
    "batch_norm: symbolic": _PROVEN,
    "layer_norm: symbolic": _PROVEN,
    "batch_norm: unknown dtype": _DTYPE,
    "batch_norm: rank alone": _DTYPE,
    "layer_norm: unknown dtype": _DTYPE,
    "layer_norm: rank alone": _DTYPE,
    "einsum: known rank": _RANK,
    "einsum: rank alone": _RANK,
}


def _rows() -> Iterator[Row]:
    for operator, call in _UNARY.items():
        for kind, annotation in _KINDS.items():
            branch = f"{operator}: {kind}"
            program = f"@R.function\ndef main(x: {annotation}):\n    y = {call}\n    return y\n"
            yield Row("relax.Normalize()", branch, program, reason=_REASONS.get(branch, ""))


ROWS = list(_rows())
