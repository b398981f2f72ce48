"""How iterators of products fuse to those of an intrinsic; what has no unique correspondence has none."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tirax import tvm_api as tvm
from tirax.tvm_api import tir
from tirax.tvm_api.script import from_source
from tirax.tvm_api.tir.schedule.analysis import get_auto_tensorize_mapping_info

HEAD = "from tvm.script import tir as T\n@T.prim_func\ndef main({buffers}):\n    for {names} in T.grid({extents}):\n"
BLOCK = """\
        with T.block("Z"):
            {vs} = T.axis.remap("{kinds}", [{names}])
            with T.init():
                {out} = T.int32(0)
            {out} = {out} + T.Cast("int32", {a}) * T.Cast("int32", {b})
"""


def mapped(names: str, kinds: str, extents: str, shapes: list[str], out: str, a: str, b: str) -> Any:
    buffers = ", ".join(
        f'{name}: T.Buffer({shape}, "{dtype}")'
        for name, shape, dtype in zip("ABC", shapes, ("int8", "int8", "int32"), strict=True)
    )
    listed = ", ".join(names)
    values = {"names": listed, "vs": ", ".join(f"v{n}" for n in names), "kinds": kinds, "out": out, "a": a, "b": b}
    source = HEAD.format(buffers=buffers, names=listed, extents=extents) + BLOCK.format(**values)
    sch = tir.Schedule(from_source(source))
    intrin = cast(Any, tir.TensorIntrin.get("wmma_sync_16x16x16_s8s8s32"))
    return get_auto_tensorize_mapping_info(sch, sch.get_block("Z"), intrin.desc)


def test_iterators_of_one_role_are_fused() -> None:
    shapes = ["(2, 8, 32)", "(32, 16)", "(2, 8, 16)"]
    info = mapped("nhck", "SSSR", "2, 8, 16, 32", shapes, "C[vn, vh, vc]", "A[vn, vh, vk]", "B[vk, vc]")
    (mapping,) = info.mappings
    assert mapping.is_equivalent_to(tir.IndexMap.from_func(lambda n, h, c, k: (n * 8 + h, c, k)))
    assert len(info.lhs_iters) == 4
    assert len(info.rhs_iters) == 3
    assert {b.name for b in info.lhs_buffer_map} == set("ABC")
    assert all(len(places) == 2 for places in info.rhs_buffer_indices.values())


def test_a_batch_comes_first() -> None:
    shapes = ["(3, 16, 32)", "(3, 32, 16)", "(3, 16, 16)"]
    info = mapped("ijkb", "SSRS", "16, 16, 32, 3", shapes, "C[vb, vi, vj]", "A[vb, vi, vk]", "B[vb, vk, vj]")
    assert info.mappings[0].is_equivalent_to(tir.IndexMap.from_func(lambda i, j, k, b: (b, i, j, k)))


def test_indices_are_simplified_first() -> None:
    """`j // 16` is 0: `j` does not index A."""
    shapes = ["(16, 32)", "(32, 16)", "(16, 16)"]
    info = mapped("ijk", "SSR", "16, 16, 32", shapes, "C[vi, vj]", "A[vi, vj // 16 * 32 + vk]", "B[vk, vj]")
    assert info.mappings[0].is_equivalent_to(tir.IndexMap.from_func(lambda i, j, k: (i, j, k)))


@pytest.mark.parametrize(
    ("out", "a", "b"),
    [
        ("C[vi, vj]", "A[vi, vk]", "A[vk, vj]"),
        ("C[vi, vj]", "A[vi, vk]", "B[vi, vj]"),
        ("C[vi, vi]", "A[vi, vk]", "B[vk, vi]"),
    ],
)
def test_other_computations(out: str, a: str, b: str) -> None:
    assert mapped("ijk", "SSR", "16, 16, 16", ["(16, 16)"] * 3, out, a, b) is None


def test_another_operator() -> None:
    func = from_source(
        HEAD.format(buffers='A: T.Buffer((16, 16), "float32")', names="i, j", extents="16, 16")
        + (
            '        with T.block("Z"):\n'
            '            vi, vj = T.axis.remap("SS", [i, j])\n'
            "            A[vi, vj] = T.float32(1)\n"
        )
    )
    sch = tvm.tir.Schedule(func)
    intrin = cast(Any, tir.TensorIntrin.get("wmma_sync_16x16x16_f16f16f32"))
    assert get_auto_tensorize_mapping_info(sch, sch.get_block("Z"), intrin.desc) is None
