"""Every name of TVM 0.20's `T`: it is there, or a diagnostic says why it is not and what to write."""

import pytest

from tirax.diagnostics import UnsupportedError
from tirax.interpreter.foreign import ADDRESSES
from tirax.interpreter.scalars import INTRINSICS as MEANINGS
from tirax.lowering.tir_to_scf import intrinsics, values
from tirax.script import parse_function
from tirax.script.parser.tir_foreign import DEVICE_NAMES
from tirax.script.parser.tir_parser import EXPRESSIONS, FUNCTIONS, SPECIAL
from tirax.script.parser.tir_statements import CONTEXTS
from tirax.script.parser.tir_unsupported import UNSUPPORTED
from tirax.script.parser.tir_values import dtype_by_name
from tirax.transforms.tir.asserts import RAISED

_LANES = ("", "x4", "x8", "x16", "x32", "x64")
_SCALARS = [
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz",
]  # fmt: skip
_TEXT = """
Add And Assert Broadcast Buffer BufferLoad Call CallEffectKind Cast CommReducer Div EQ Else FloatImm FloorDiv FloorMod
GE GT If IntImm IterVar LE LT Let LetStmt Max Min Mod Mul NE Not Or Ramp Range Reduce Select Shuffle Sub
TVMBackendAllocWorkspace TVMBackendFreeWorkspace Then Var While abs acos acosh add_to_parent address_of alloc_buffer
allocate allocate_const all any anylist_getitem anylist_resetitem anylist_setitem_call_cpacked
anylist_setitem_call_packed arg asin asinh assume atan atan2 atanh attr axis.opaque axis.reduce axis.remap axis.scan
axis.spatial bfloat16 bitwise_and bitwise_not bitwise_or bitwise_xor block block_attr block_name_suffix_context bool
boolean broadcast buffer_decl buffer_store buffer_var call_cpacked call_cpacked_lowered call_extern call_intrin
call_llvm_intrin call_llvm_pure_intrin call_packed call_packed_lowered call_pure_extern call_tir cast ceil ceildiv clz
comm_reducer copysign cos cosh create_barriers decl_buffer div dp4a end_profile_intrinsic env_thread erf evaluate exp
exp10 exp2 fabs floor floordiv floormod fma fmod func_attr func_name func_ret get_active_lane_mask grid handle hypot
if_then_else ignore_loop_partition indexdiv indexmod infinity init isfinite isinf isnan isnullptr iter_var
launch_thread ldexp let likely llvm_lookup_intrinsic_id log log10 log1p log2 lookup_param macro
make_filled_simdgroup_matrix match_buffer max max_value meta_var min min_value mma_fill mma_fill_legacy mma_store
mma_store_legacy nearbyint nextafter parallel popcount pow prefetch prim_func ptr ptx_arrive_barrier
ptx_arrive_barrier_expect_tx ptx_commit_group ptx_cp_async ptx_cp_async_barrier ptx_cp_async_bulk
ptx_init_barrier_thread_count ptx_ldg32 ptx_ldmatrix ptx_ldmatrix_legacy ptx_mma ptx_mma_legacy ptx_mma_sp
ptx_wait_barrier ptx_wait_group q_multiply_shift q_multiply_shift_per_axis ramp reads realize reinterpret ret round
rsqrt serial shift_left shift_right sigmoid simdgroup_load simdgroup_multiply_accumulate simdgroup_store sin sinh sqrt
start_profile_intrinsic tan tanh thread_binding thread_return trunc truncdiv truncmod tvm_access_ptr tvm_bmma_sync
tvm_call_cpacked tvm_call_cpacked_lowered tvm_call_packed tvm_call_packed_lowered tvm_fill_fragment
tvm_global_barrier_kinit tvm_kernel_replace_point tvm_load_matrix_sync tvm_mma_sync tvm_stack_alloca
tvm_stack_make_array tvm_stack_make_shape tvm_storage_sync tvm_store_matrix_sync tvm_struct_get tvm_struct_set
tvm_thread_allreduce tvm_thread_invariant tvm_throw_last_error tvm_tuple tvm_warp_activemask tvm_warp_shuffle
tvm_warp_shuffle_down tvm_warp_shuffle_up tvm_warp_shuffle_xor type_annotation undef unroll var vectorcombine
vectorhigh vectorized vectorlow void vscale where writes
"""
NAMES = _TEXT.split()
_OTHER = {"grid", "handle", "macro", "prim_func", "serial", "parallel", "vectorized", "unroll", "thread_binding"}
HERE = {*FUNCTIONS, *SPECIAL, *CONTEXTS, *_OTHER}


def test_every_name_is_here_or_refused_with_a_reason():
    missing = [n for n in NAMES if n not in HERE and n not in UNSUPPORTED and dtype_by_name(n) is None]
    assert not missing
    assert not HERE & set(UNSUPPORTED)


@pytest.mark.parametrize("scalar", _SCALARS)
def test_every_data_type_is_here(scalar):
    assert all(dtype_by_name(scalar + lanes) is not None for lanes in _LANES)


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_refused_names_say_what_to_write(name):
    with pytest.raises(UnsupportedError, match=f"T.{name} is not supported") as info:
        parse_function(f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n    T.evaluate(T.{name}(1))')
    assert info.value.hint == UNSUPPORTED[name]
    assert info.value.location is not None


def test_every_intrinsic_has_a_meaning_and_machine_code():
    assert set(MEANINGS) | {"power"} <= set(intrinsics.INTRINSICS)
    created_by_lowering = {RAISED}  # it stands where the interpreter's call_packed has raised already
    assert set(values.ADDRESSES) - created_by_lowering <= set(ADDRESSES)
    no_intrinsics = {"call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "call_packed"}
    no_intrinsics |= {
        "const",
        "tvm_call_packed",
        "call_intrin",
        "StringImm",
        "meta_var",
        "var",
        "SizeVar",
        "Var",
        "handle",
        "ptr",
        "target",
        "env_thread",
        "llvm_lookup_intrinsic_id",
    }
    calls = EXPRESSIONS.keys() - DEVICE_NAMES.keys()
    operators = {n for n in calls if n[0].isupper() and n not in no_intrinsics}
    operators |= {"min", "max", "floordiv", "floormod", "truncdiv", "truncmod", "indexdiv", "indexmod", "div", "any"}
    operators |= {"all", "ceildiv", "cast", "reinterpret", "ramp", "broadcast", "infinity", "min_value", "max_value"}
    rest = calls - no_intrinsics - operators
    assert {n for n in rest if n not in intrinsics.INTRINSICS and n not in values.CALLS} == set()
    the_machine_says = {"vscale"}
    expected = {*MEANINGS, *ADDRESSES, "power", "get_active_lane_mask"} | the_machine_says
    assert {n for n in rest if n not in expected} == set()
