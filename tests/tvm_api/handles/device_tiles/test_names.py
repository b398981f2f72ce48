"""Tensor intrinsics of devices: all can be built, and their descriptions compute what numpy does."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from tirax import tvm_api as tvm
from tirax.interpreter import interpret
from tirax.tvm_api.handles.device_tiles import mma, names

COPY = """\
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((32, 32), "float16", scope="shared"), C: T.Buffer((32, 32), "float16", scope="wmma.matrix_a")):
    for i, j in T.grid(32, 32):
        with T.block("copy"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
"""


def _described(name: str) -> Any:
    return cast(Any, tvm.tir.TensorIntrin.get(name)).desc


def _run(name: str, *arrays: np.ndarray) -> None:
    interpret(tvm.IRModule({"main": _described(name)}).op, "main", list(arrays))


@pytest.mark.parametrize("name", sorted(names.CONSTANTS.values())[::5])
def test_both_functions_are_read_again(name: str) -> None:
    intrin = cast(Any, tvm.tir.TensorIntrin.get(name))
    for func in (intrin.desc, intrin.impl):
        assert tvm.script.from_source(func.script()).script() == func.script()


@pytest.mark.parametrize("trans", [False, True])
def test_products_of_fragments(trans: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (16, 16)).astype(np.int8) for _ in "ab")
    c = rng.integers(-3, 4, (16, 16)).astype(np.int32)
    expected = c + a.astype(np.int32) @ (b.T if trans else b).astype(np.int32)
    _run(f"wmma_sync_16x16x16_s8s8s32{'_trans' if trans else ''}", a, b, c)
    np.testing.assert_array_equal(c, expected)


def _in_registers(tile: np.ndarray, layout: Any) -> np.ndarray:
    out = np.zeros((32, tile.size // 32), tile.dtype)
    for (i, j), value in np.ndenumerate(tile):
        out[layout(i, j)] = value
    return out


def test_products_in_registers() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-3, 4, (16, 32)).astype(np.int8), rng.integers(-3, 4, (32, 16)).astype(np.int8)
    registers = [
        _in_registers(a, mma.shared_16x32_to_ldmatrix_32x16_layout),
        _in_registers(b, mma.shared_32x16_to_ldmatrix_32x16_layout),
        np.zeros((32, 8), np.int32),
    ]
    _run("mma_i8i8i32", *registers)
    expected = _in_registers(a.astype(np.int32) @ b.astype(np.int32), mma.shared_16x16_to_ldmatrix_32x8_layout)
    np.testing.assert_array_equal(registers[2], expected)


@pytest.mark.parametrize(
    ("name", "shape", "layout"),
    [
        ("mma_ldmatrix_i8_a", (16, 32), mma.shared_16x32_to_ldmatrix_32x16_layout),
        ("mma_ldmatrix_i8_b", (32, 16), mma.shared_32x16_to_ldmatrix_32x16_layout),
        ("mma_ldmatrix_f16_a", (16, 16), mma.shared_16x16_to_ldmatrix_32x8_layout),
    ],
)
def test_loads_into_registers(name: str, shape: tuple[int, int], layout: Any) -> None:
    dtype = np.float16 if "f16" in name else np.int8
    tile = (np.arange(shape[0] * shape[1]) % 100).reshape(shape).astype(dtype)
    registers = np.zeros((32, tile.size // 32), dtype)
    _run(name, registers, tile)
    np.testing.assert_array_equal(registers, _in_registers(tile, layout))


def test_the_place_of_a_register() -> None:
    for i, j in np.ndindex(16, 16):
        assert mma.ldmatrix_32x8_to_shared_16x16_layout(*mma.shared_16x16_to_ldmatrix_32x8_layout(i, j)) == (i, j)


def test_an_offset_is_that_of_the_matched_region() -> None:
    """A fragment's number follows from where the tile begins."""

    sch = tvm.tir.Schedule(tvm.script.from_source(COPY))
    i, j = sch.get_loops(sch.get_block("copy"))
    io, ii = sch.split(i, [2, 16])
    jo, ji = sch.split(j, [2, 16])
    sch.reorder(io, jo, ii, ji)
    sch.tensorize(ii, "wmma_load_16x16x16_f16_a_shared")
    text = sch.mod.script()
    assert "C_1.elem_offset // C_1.strides[0]" in text
    assert tvm.script.from_source(text).script() == text
    lowered = tvm.tir.transform.LowerMatchBuffer()(sch.mod).script()
    assert "elem_offset" not in lowered
    assert "vi_o * 512 + vj_o * 16" in lowered


@pytest.mark.parametrize("scope", ["local", "warp"])
def test_scopes_without_intrinsics(scope: str) -> None:
    with pytest.raises(AssertionError, match=scope):
        names.get_wmma_intrin_group(scope, "shared", "float16", "float16", False)
    with pytest.raises(AssertionError, match=scope):
        names.get_mma_intrin_group(scope, "shared", "float16", "float16", False, False)


def test_groups_name_intrinsics() -> None:
    for group in (
        names.get_wmma_intrin_group("shared", "global", "int8", "int32", True),
        names.get_mma_intrin_group("shared.dyn", "global", "float16", "float32", False, True, False),
    ):
        for name in group.values():
            assert tvm.tir.TensorIntrin.get(name) is not None
