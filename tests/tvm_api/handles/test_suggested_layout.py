"""`suggest_index_map`: digits in the order of loops, and inverses."""

import pytest

from tirax.tvm_api import tir
from tirax.tvm_api.tir.schedule.analysis import suggest_index_map


def loops(variables, extents):
    kind = tir.ForKind.SERIAL
    return [tir.For(v, 0, e, kind, tir.Evaluate(0)) for v, e in zip(variables, extents, strict=True)]


def of(shape, indices, extents, predicate=True, **buffer):
    variables = [tir.Var(name, "int32") for name in "ijk"[: len(extents)]]
    return suggest_index_map(
        tir.decl_buffer(shape, **buffer), indices(*variables), loops(variables, extents), predicate
    )


CASES = {
    "tiles": ([8, 32], lambda i, j, k: [i * 4 + k // 8, j * 8 + k % 8], [2, 4, 32], 4),
    "transposed": ([8, 4], lambda i, j: [j, i], [4, 8], 2),
    "in order": ([4, 8], lambda i, j: [i, j], [4, 8], 2),
    "digits of one loop": ([4, 8], lambda i: [i % 4, i // 4], [32], 2),
}


@pytest.mark.parametrize("shape, indices, extents, rank", CASES.values(), ids=CASES)
def test_the_map_is_inverted(shape, indices, extents, rank):
    found = of(shape, indices, extents)
    assert len(found.final_indices) == rank
    back = found.inverse(shape)
    for flat in range(0, shape[0] * shape[1], 5):
        place = [flat // shape[1], flat % shape[1]]
        there = [int(i) for i in found.map_indices(place)]
        assert [int(i) for i in back.map_indices(there)] == place


def test_what_loops_read_in_order_stays():
    found = of([4, 8], lambda i, j: [i, j], [4, 8])
    assert found.is_equivalent_to(tir.IndexMap.from_func(lambda a, b: (a, b)))
    found = of([8, 4], lambda i, j: [j, i], [4, 8])
    assert found.is_equivalent_to(tir.IndexMap.from_func(lambda a, b: (b, a)))


def test_no_map_for_what_is_no_mixture_of_digits():
    assert of([64], lambda i, j: [i * j], [8, 8]) is None
    assert of([64], lambda i: [i * i], [8]) is None
