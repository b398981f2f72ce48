"""The loops that a tensor intrinsic takes over: those that `tensorize` then replaces."""

import pytest

from tirax.tvm_api import te, tir
from tirax.tvm_api.tir.schedule.analysis import get_tensorize_loop_mapping
from tirax.tvm_api.tir.tensor_intrin.x86 import VNNI_DOT_16x4_INTRIN, dot_product_16x4_u8i8i32_desc


def dense(n: int, m: int, k: int):
    """A product of bytes with packed weights, whose tile is that of the intrinsic."""
    x, w = te.placeholder((n, k), "uint8", "x"), te.placeholder((m // 16, k // 4, 16, 4), "int8", "w")
    r = te.reduce_axis((0, k), "r")
    return te.create_prim_func(
        [
            x,
            w,
            te.compute(
                (n, m),
                lambda i, j: te.sum(
                    x[i, r].astype("int32") * w[j // 16, r // 4, j % 16, r % 4].astype("int32"), axis=r
                ),
                "y",
            ),
        ]
    )


def test_the_mapped_loops_are_those_to_tensorize():
    sch = tir.Schedule(dense(8, 32, 16))
    block = sch.get_block("y")
    info = get_tensorize_loop_mapping(sch, block, dot_product_16x4_u8i8i32_desc)
    assert info is not None and info.block_iter_paddings is None
    _, j, k = sch.get_loops(block)
    by_loop = {str(loop.loop_var): sref for sref, loop in info.loop_map.items()}
    assert {name: sch.get(sref) for name, sref in by_loop.items()} == {"i": sch.get(j), "k": sch.get(k)}
    assert sorted(info.desc_loop_indexer.values()) == [0, 1]
    inner = [sch.split(loop, [None, int(info.loop_map[sch.get_sref(loop)].extent)]) for loop in (j, k)]
    sch.reorder(sch.get_loops(block)[0], inner[0][0], inner[1][0], inner[0][1], inner[1][1])
    sch.decompose_reduction(block, inner[1][0])
    sch.tensorize(inner[0][1], VNNI_DOT_16x4_INTRIN)


@pytest.mark.parametrize(("padding", "expected"), [(False, None), (True, [1, 1, 4])])
def test_extents_that_are_no_multiples_need_padding(padding, expected):
    x = te.placeholder((8, 30), "uint8", "x")
    w = te.placeholder((32, 30), "int8", "w")
    r = te.reduce_axis((0, 30), "r")
    y = te.compute((8, 32), lambda i, j: te.sum(x[i, r].astype("int32") * w[j, r].astype("int32"), axis=r), "y")
    sch = tir.Schedule(te.create_prim_func([x, w, y]))
    info = get_tensorize_loop_mapping(sch, sch.get_block("y"), dot_product_16x4_u8i8i32_desc, padding)
    assert (info and info.block_iter_paddings) == expected


def test_a_block_without_reduction_has_no_mapping():
    x = te.placeholder((8, 32), "uint8", "x")
    sch = tir.Schedule(te.create_prim_func([x, te.compute((8, 32), lambda i, j: x[i, j] + x[i, j], "y")]))
    assert get_tensorize_loop_mapping(sch, sch.get_block("y"), dot_product_16x4_u8i8i32_desc) is None
