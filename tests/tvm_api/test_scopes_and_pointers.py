"""Buffers and blocks by name, storage scopes, and pointers by their older name."""

import pytest

import tirax.tvm_api as tvm
from tirax.schedule.state import ScheduleError
from tirax.tvm_api.script import tir as T


@T.prim_func
def two(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * 2.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * 2.0


def test_scopes_are_set_by_names():
    schedule = tvm.tir.Schedule(two)
    schedule.set_scope("B", "B", "shared.dyn")
    assert 'B_shared_dyn = T.alloc_buffer((8,), scope="shared.dyn")' in schedule.mod.script()
    assert [schedule.get(b).name_hint for b in schedule.get_output_blocks("root")] == ["C"]


@pytest.mark.parametrize(
    "step",
    [
        lambda schedule: schedule.set_scope("B", 0, "test_scope"),
        lambda schedule: schedule.cache_read("B", 0, "test_scope"),
        lambda schedule: schedule.cache_write("B", 0, "test_scope"),
    ],
)
def test_unknown_scopes_are_refused(step):
    with pytest.raises(ScheduleError, match="storage scope is invalid"):
        step(tvm.tir.Schedule(two))


def test_pointers_by_their_older_name():
    @T.prim_func
    def old(a: T.ptr("float32"), b: T.Ptr("int32", "shared")):
        A = T.Buffer((4,), "float32", data=a)
        A[0] = T.float32(1)

    @T.prim_func
    def new(a: T.handle("float32"), b: T.handle("int32", "shared")):
        A = T.Buffer((4,), "float32", data=a)
        A[0] = T.float32(1)

    tvm.ir.assert_structural_equal(old.without_attr("global_symbol"), new.without_attr("global_symbol"))
    assert T.float32x4(1.0).dtype == "float32x4" and T.ptr("float32").dtype == "handle"
