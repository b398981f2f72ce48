"""Intrinsics by TVM's names without `tir.`: their arguments and results, for scripts that call them by name.

There are two textual tables: intrinsics computed here, and those for other devices and TVM's later stages.
"""

from __future__ import annotations

from dataclasses import dataclass

SAME, TRUTH, COUNT, HALF, DOUBLE, EXPLICIT = "same", "truth", "count", "half", "double", "said"
"""Result rules: the common type of all operands; a bool or an int32 per lane of it; half or twice its lanes; any data
type.

For the last three, the type is the first argument of the call.
"""


@dataclass(frozen=True)
class Intrinsic:
    """`T.exp(x)`: the number of arguments, and the type of the result: a rule, or a dtype."""

    count: int
    result: str
    floats: bool = False
    """True if the intrinsic only applies to floats: `T.floor` of an integer is the integer."""


def _named(count: int, result: str, names: str, floats: bool = False) -> dict[str, Intrinsic]:
    return dict.fromkeys(names.split(), Intrinsic(count, result, floats))


_ELEMENTARY = (
    "exp exp2 exp10 erf tanh sigmoid log log2 log10 log1p tan cos cosh acos acosh sin sinh asin asinh atan atanh"
)
UNARY = _named(1, SAME, f"{_ELEMENTARY} sqrt rsqrt popcount likely ignore_loop_partition tvm_thread_invariant fabs")
ELEMENTARY = frozenset((*_ELEMENTARY.split(), "pow", "atan2", "hypot", "fmod"))
"""Intrinsics that expand to polynomials, tables and corrections: a hundred instructions or more for each."""
ROUNDING = _named(1, SAME, "ceil floor trunc round nearbyint", floats=True)
CLASSIFYING = _named(1, TRUTH, "isnan isinf isfinite")
COUNTING = _named(1, COUNT, "clz")
BINARY_INTRINSICS = _named(
    2, SAME, "atan2 nextafter hypot copysign ldexp fmod shift_left shift_right bitwise_and bitwise_or bitwise_xor"
)
INTRINSICS: dict[str, Intrinsic] = {
    **UNARY,
    **ROUNDING,
    **CLASSIFYING,
    **COUNTING,
    **BINARY_INTRINSICS,
    "bitwise_not": Intrinsic(1, SAME),
    "pow": Intrinsic(2, SAME),
    "fma": Intrinsic(3, SAME),
    "strict_multiply": Intrinsic(2, SAME),
    **_named(1, HALF, "vectorlow vectorhigh"),
    "vectorcombine": Intrinsic(2, DOUBLE),
    "get_active_lane_mask": Intrinsic(2, EXPLICIT),
    "type_annotation": Intrinsic(0, EXPLICIT),
    "tvm_access_ptr": Intrinsic(5, "handle"),
    "handle_add_byte_offset": Intrinsic(2, "handle"),
    **_named(1, "bool", "isnullptr assume"),
    **_named(0, "int32", "undef vscale"),
    "q_multiply_shift": Intrinsic(4, "int32"),
    "q_multiply_shift_per_axis": Intrinsic(7, "int32"),
}
"""The intrinsics that a script calls by name; others are called by `T.call_intrin`, with an explicit type."""


_GPU = "it is for GPUs; functions here are compiled for CPUs"
_ABI = "it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself"
_VM = "it is a step of TVM's lowering to its virtual machine, which is not here"
_PROFILE = "it is for profiling on Hexagon"
_VIRTUAL = "it is the number of a virtual thread, which inject-virtual-thread puts in its place"

FIRST, LAST, SECOND = "first", "last", "second"


@dataclass(frozen=True)
class DeviceIntrinsic:
    """The result of an intrinsic, and the reason why no code is generated for it.

    `result` is a dtype, `FIRST` or `LAST` if a script passes the type as first or last argument, or `SECOND` for the
    type of the second argument.
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
    **_rows("int32", _VIRTUAL, "tvm_context_id"),
    **_rows("uint32", _GPU, "tvm_warp_activemask"),
    **_rows(SECOND, _GPU, "tvm_warp_shuffle tvm_warp_shuffle_up tvm_warp_shuffle_down tvm_warp_shuffle_xor"),
    **_rows("handle", _GPU, "tvm_thread_allreduce tvm_load_matrix_sync tvm_mma_sync tvm_bmma_sync tvm_fill_fragment"),
    **_rows("handle", _GPU, "tvm_store_matrix_sync make_filled_simdgroup_matrix simdgroup_load simdgroup_store"),
    **_rows("handle", _GPU, "simdgroup_multiply_accumulate"),
    **_rows(FIRST, _GPU, "ptx_mma ptx_mma_sp ptx_ldmatrix ptx_cp_async ptx_cp_async_bulk mma_store mma_fill ptx_ldg32"),
    **_rows("void", _GPU, "ptx_commit_group ptx_wait_group ptx_cp_async_barrier ptx_init_barrier_thread_count"),
    **_rows("void", _GPU, "ptx_arrive_barrier ptx_arrive_barrier_expect_tx ptx_wait_barrier create_barriers"),
}
"""The intrinsics for devices, by TVM's names without `tir.`"""

__all__ = [
    "BINARY_INTRINSICS", "CLASSIFYING", "COUNT", "COUNTING", "DEVICE_INTRINSICS", "DOUBLE", "ELEMENTARY", "FIRST",
    "HALF", "INTRINSICS", "LAST", "ROUNDING", "EXPLICIT", "SAME", "SECOND", "TRUTH", "UNARY", "DeviceIntrinsic",
    "Intrinsic",
]  # fmt: skip
