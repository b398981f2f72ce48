"""Ops for code of other devices and of TVM's later stages: they can be written, printed and rewritten, not run here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xdsl.dialects.builtin import IntegerType, StringAttr, i32
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, region_def, traits_def
from xdsl.traits import NoTerminator, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from .. import assembly as asm
from ..dtypes import dtype_of
from .expressions import VOID, CallExpr, CallIntrinOp
from .types import HANDLE

_GPU = "it is for GPUs; functions here are compiled for CPUs"
_ABI = "it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself"
_VM = "it is a step of TVM's lowering to its virtual machine, which is not here"
_PROFILE = "it is for profiling on Hexagon"

FIRST, LAST, SECOND = "first", "last", "second"


@dataclass(frozen=True)
class DeviceIntrinsic:
    """What an intrinsic gives, and why no code is made for it.

    `result` is a dtype, `FIRST` or `LAST` where a script says it as first or last argument, or `SECOND` for the type
    of the second argument.
    """

    result: str
    why: str


def _rows(result: str, why: str, names: str) -> dict[str, DeviceIntrinsic]:
    return dict.fromkeys(names.split(), DeviceIntrinsic(result, why))


DEVICE_INTRINSICS: dict[str, DeviceIntrinsic] = {
    **_rows("handle", _ABI, "tvm_stack_alloca tvm_stack_make_shape tvm_stack_make_array tvm_throw_last_error"),
    **_rows("handle", _ABI, "lookup_param tvm_tuple TVMBackendAllocWorkspace"),
    **_rows(LAST, _ABI, "tvm_struct_get"),
    **_rows("int32", _ABI, "tvm_struct_set TVMBackendFreeWorkspace tvm_call_cpacked tvm_call_packed_lowered"),
    **_rows("int32", _ABI, "tvm_call_cpacked_lowered tvm_call_trace_packed_lowered"),
    **_rows("handle", _VM, "anylist_getitem"),
    **_rows("int32", _VM, "anylist_resetitem anylist_setitem_call_packed anylist_setitem_call_cpacked"),
    **_rows("handle", _PROFILE, "start_profile_intrinsic end_profile_intrinsic"),
    **_rows("int32", _GPU, "tvm_storage_sync tvm_global_barrier_kinit dp4a"),
    **_rows("uint32", _GPU, "tvm_warp_activemask"),
    **_rows(SECOND, _GPU, "tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down tvm_warp_shuffle_xor"),
    **_rows("handle", _GPU, "tvm_thread_allreduce tvm_load_matrix_sync tvm_mma_sync tvm_bmma_sync tvm_fill_fragment"),
    **_rows("handle", _GPU, "tvm_store_matrix_sync make_filled_simdgroup_matrix simdgroup_load simdgroup_store"),
    **_rows("handle", _GPU, "simdgroup_multiply_accumulate"),
    **_rows(FIRST, _GPU, "ptx_mma ptx_mma_sp ptx_ldmatrix ptx_cp_async ptx_cp_async_bulk mma_store mma_fill ptx_ldg32"),
    **_rows("void", _GPU, "ptx_commit_group ptx_wait_group ptx_cp_async_barrier ptx_init_barrier_thread_count"),
    **_rows("void", _GPU, "ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_wait_barrier create_barriers"),
}
"""By the names that TVM gives them, without `tir.`"""


def result_of_device_intrinsic(name: str, args: Sequence[SSAValue], said: Attribute | None) -> Attribute:
    """The type of what a call gives; `said` is what the script says, where it does."""
    rule = DEVICE_INTRINSICS[name].result
    if rule in (FIRST, LAST):
        return HANDLE if said is None else said
    if rule == SECOND:
        return args[1].type if len(args) > 1 else i32
    if rule == "handle":
        return HANDLE
    return VOID if rule == "void" else dtype_of(rule)


@irdl_op_definition
class DeviceCallOp(CallExpr):
    """`tir.device_call "tvm_storage_sync"(%s) : i32`: an intrinsic of `DEVICE_INTRINSICS`, of which no code is made."""

    name = "tir.device_call"

    def verify_(self) -> None:
        if self.func.data not in DEVICE_INTRINSICS:
            raise VerifyException(f"'{self.func.data}' is no intrinsic of a device")


def intrinsic(name: str, args: Sequence[SSAValue], result: Attribute) -> CallExpr:
    """The call of an intrinsic by TVM's name without `tir.`, whichever op it is."""
    return (DeviceCallOp if name in DEVICE_INTRINSICS else CallIntrinOp)(name, args, result)


@irdl_op_definition
class LaunchThreadOp(asm.FormattedOp):
    """`tir.launch_thread "threadIdx.x" %extent {^bb(%x : i32): …}`: the body for each thread of that tag.

    TVM's `AttrStmt` with the key `thread_extent`, or `virtual_thread` for the tags of virtual threads.
    """

    name = "tir.launch_thread"
    tag = prop_def(StringAttr)
    extent = operand_def(IntegerType)
    body = region_def("single_block")
    traits = traits_def(RecursiveMemoryEffect(), NoTerminator())
    FORMAT: ClassVar = (asm.string("tag"), asm.value("extent"), asm.region("body"))

    def __init__(self, tag: str, extent: SSAValue, body: Region):
        super().__init__(operands=[extent], properties={"tag": StringAttr(tag)}, regions=[body])

    @property
    def index(self) -> SSAValue:
        """The number of the thread."""
        return self.body.block.args[0]

    @property
    def key(self) -> str:
        """TVM's key of the attribute."""
        return "virtual_thread" if self.tag.data.startswith("vthread") else "thread_extent"

    def verify_(self) -> None:
        args = self.body.block.args
        if len(args) != 1 or args[0].type != self.extent.type:
            raise VerifyException("what threads run has one argument, the number of the thread, of the extent's type")


__all__ = [
    "DEVICE_INTRINSICS", "DeviceCallOp", "FIRST", "LAST", "LaunchThreadOp", "intrinsic",
    "result_of_device_intrinsic",
]  # fmt: skip
