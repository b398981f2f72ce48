"""Written by `python -m tirax.dev.reference`. Do not edit."""

from typing import Any

from ...handles.tir.prim_expr import PrimExpr

class Add(PrimExpr):
    """lhs + rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...handles.tir.storage import Allocate as Allocate
from ...handles.tir.storage import AllocateConst as AllocateConst
class And(PrimExpr):
    """lhs and rhs, both evaluated (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...handles.tir.control_flow import AssertStmt as AssertStmt
from ...handles.tir.control_flow import AttrStmt as AttrStmt
from ...tvm_api.handles.data_layout import BijectiveLayout as BijectiveLayout
from ...handles.tir.block_views import Block as Block
from ...tvm_api.handles.block_dependence import BlockDependenceInfo as BlockDependenceInfo
from ...tvm_api.handles.traces import BlockRV as BlockRV
from ...handles.tir.block_views import BlockRealize as BlockRealize
from ...schedule.block_scope import BlockScope as BlockScope
class Broadcast(PrimExpr):
    """A vector of one value."""
    def __init__(self, value: Any, lanes: Any) -> None: ...
from ...handles.tir.buffers import Buffer as Buffer
class BufferLoad(PrimExpr):
    """An element of a buffer; a vector of them, of which a `predicate` may leave some out."""
    def __init__(self, buffer: Any, indices: Any, predicate: Any = None) -> None: ...
from ...handles.tir.domains import BufferRegion as BufferRegion
from ...handles.tir.storage import BufferStore as BufferStore
class Call(PrimExpr):
    """A call, `Call(dtype, op, args)`."""
    def __init__(self, dtype: Any, op: Any, args: Any) -> None: ...
class Cast(PrimExpr):
    """A conversion, `Cast(dtype, value)`."""
    def __init__(self, dtype: Any, value: Any) -> None: ...
from ...tvm_api.handles.comm_reducer import CommReducer as CommReducer
from ...handles.tir.storage import DeclBuffer as DeclBuffer
from ...schedule.block_scope import DepKind as DepKind
from ...schedule.block_scope import Dependency as Dependency
class Div(PrimExpr):
    """lhs / rhs of floats; integers truncate towards zero (TVM's Div) (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class EQ(PrimExpr):
    """lhs == rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...handles.tir.stmt import Evaluate as Evaluate
from ...schedule.trace import ExprRV as ExprRV
class FloatImm(PrimExpr):
    """A floating point constant, `FloatImm(dtype, value)`."""
    def __init__(self, dtype: Any, value: Any) -> None: ...
class FloorDiv(PrimExpr):
    """floor(lhs / rhs) (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class FloorMod(PrimExpr):
    """lhs - floor(lhs / rhs) * rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...handles.tir.control_flow import For as For
from ...handles.tir.control_flow import ForKind as ForKind
class GE(PrimExpr):
    """lhs >= rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class GT(PrimExpr):
    """lhs > rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...handles.tir.control_flow import IfThenElse as IfThenElse
from ...handles.tir.index_map import IndexMap as IndexMap
class IntImm(PrimExpr):
    """An integer constant, `IntImm(dtype, value)`."""
    def __init__(self, dtype: Any, value: Any) -> None: ...
from ...handles.tir.domains import IterVar as IterVar
class LE(PrimExpr):
    """lhs <= rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class LT(PrimExpr):
    """lhs < rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...tvm_api.handles.data_layout import Layout as Layout
class Let(PrimExpr):
    """`body`, in which `var` is `value`."""
    def __init__(self, var: Any, value: Any, body: Any) -> None: ...
from ...handles.tir.storage import LetStmt as LetStmt
from ...tvm_api.handles.traces import LoopRV as LoopRV
from ...handles.tir.domains import MatchBufferRegion as MatchBufferRegion
class Max(PrimExpr):
    """The greater. (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class Min(PrimExpr):
    """The lesser. (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class Mod(PrimExpr):
    """lhs - trunc(lhs / rhs) * rhs (TVM's Mod) (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class Mul(PrimExpr):
    """lhs * rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class NE(PrimExpr):
    """lhs != rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class Not(PrimExpr):
    """not `a`"""
    def __init__(self, a: Any) -> None: ...
class Or(PrimExpr):
    """lhs or rhs, both evaluated (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...handles.tir.prim_expr import PrimExpr as PrimExpr
from ...handles.tir.prim_func import PrimFunc as PrimFunc
from ...te.tensor import ProducerLoad as ProducerLoad
class Ramp(PrimExpr):
    """base, base + stride, …: a vector."""
    def __init__(self, base: Any, stride: Any, lanes: Any) -> None: ...
from ...schedule.schedule import Schedule as Schedule
from ...schedule.state import ScheduleError as ScheduleError
from ...schedule.block_scope import ScheduleState as ScheduleState
class Select(PrimExpr):
    """`true_value` where the `condition` holds, else `false_value`; all three are evaluated."""
    def __init__(self, condition: Any, true_value: Any, false_value: Any) -> None: ...
from ...handles.tir.stmt import SeqStmt as SeqStmt
class Shuffle(PrimExpr):
    """Lanes of vectors by number."""
    def __init__(self, vectors: Any, indices: Any) -> None: ...
from ...handles.tir.variables import SizeVar as SizeVar
from ...handles.tir.buffers import Stmt as Stmt
from ...schedule.trace import StmtSRef as StmtSRef
class StringImm(PrimExpr):
    """A string as an argument of a call."""
    def __init__(self, value: Any) -> None: ...
class Sub(PrimExpr):
    """lhs - rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
def TVMBackendAllocWorkspace(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `TVMBackendAllocWorkspace`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def TVMBackendFreeWorkspace(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `TVMBackendFreeWorkspace`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
from ...schedule.tensor_intrin import TensorIntrin as TensorIntrin
from ...handles.tir.variables import Var as Var
from ...handles.tir.control_flow import While as While
def abs(x: Any, span: Any = None) -> Any:
    """Return |x|."""
def add(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """a + b"""
def address_of(buffer_load: Any, span: Any = None) -> Any:
    """Return the address of an element; for a buffer that of the first one."""
def anylist_getitem(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `anylist_getitem`, of which no code is made: it is a step of TVM's lowering to its virtual machine, which is not here."""
def anylist_resetitem(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `anylist_resetitem`, of which no code is made: it is a step of TVM's lowering to its virtual machine, which is not here."""
def anylist_setitem_call_cpacked(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `anylist_setitem_call_cpacked`, of which no code is made: it is a step of TVM's lowering to its virtual machine, which is not here."""
def anylist_setitem_call_packed(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `anylist_setitem_call_packed`, of which no code is made: it is a step of TVM's lowering to its virtual machine, which is not here."""
from ...handles.tir.intrinsics import assume as assume
def atan2(x1: Any, x2: Any, span: Any = None) -> Any:
    """Return the angle of the point (y, x) in radians. Raises `DTypeError` for integers."""
from ...tvm_api.handles.data_layout import bijective_layout as bijective_layout
def bitwise_and(x: Any, y: Any, span: Any = None) -> Any:
    """bitwise_and(a, b) of integers."""
def bitwise_not(x: Any, span: Any = None) -> Any:
    """Return ~x of integers."""
def bitwise_or(x: Any, y: Any, span: Any = None) -> Any:
    """bitwise_or(a, b) of integers."""
def bitwise_xor(x: Any, y: Any, span: Any = None) -> Any:
    """bitwise_xor(a, b) of integers."""
def call_cpacked(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `call_cpacked`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def call_cpacked_lowered(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `call_cpacked_lowered`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
from ...handles.tir.intrinsics import call_extern as call_extern
from ...handles.tir.intrinsics import call_intrin as call_intrin
from ...handles.tir.intrinsics import call_llvm_intrin as call_llvm_intrin
from ...handles.tir.intrinsics import call_llvm_pure_intrin as call_llvm_pure_intrin
from ...handles.tir.intrinsics import call_packed as call_packed
def call_packed_lowered(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `call_packed_lowered`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
from ...handles.tir.intrinsics import call_pure_extern as call_pure_extern
from ...handles.tir.intrinsics import call_tir as call_tir
from ...handles.tir.intrinsics import ceildiv as ceildiv
from ...handles.tir.intrinsics import clz as clz
from ...handles.tir.prim_expr import const as const
from ...handles.tir.prim_expr import convert as convert
def copysign(x1: Any, x2: Any) -> Any:
    """copysign(x1, x2)"""
def create_barriers(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `create_barriers`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
from ...handles.tir.buffers import decl_buffer as decl_buffer
def dp4a(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `dp4a`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def end_profile_intrinsic(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `end_profile_intrinsic`, of which no code is made: it is for profiling on Hexagon."""
def exp10(x: Any) -> Any:
    """exp10(x), element by element."""
def exp2(x: Any) -> Any:
    """exp2(x), element by element."""
from ...handles.tir.intrinsics import handle_add_byte_offset as handle_add_byte_offset
def hypot(x1: Any, x2: Any) -> Any:
    """hypot(x1, x2)"""
def if_then_else(cond: Any, t: Any, f: Any, span: Any = None) -> Any:
    """Return `true_value` if the condition, a bool, holds, else `false_value`; only the selected one is evaluated."""
from ...handles.tir.intrinsics import ignore_loop_partition as ignore_loop_partition
def isfinite(x: Any, span: Any = None) -> Any:
    """Return whether x is neither infinite nor NaN, as an expression; always for integers."""
def isinf(x: Any, span: Any = None) -> Any:
    """Return whether x is infinite, as an expression; never for integers."""
def isnan(x: Any, span: Any = None) -> Any:
    """Return whether x is NaN, as an expression; never for integers."""
from ...handles.tir.intrinsics import isnullptr as isnullptr
from ...tvm_api.handles.data_layout import layout as layout
def ldexp(x1: Any, x2: Any) -> Any:
    """ldexp(x1, x2)"""
from ...handles.tir.intrinsics import likely as likely
def log1p(x: Any) -> Any:
    """log1p(x), element by element."""
from ...handles.tir.prim_expr import logical_and as logical_and
from ...handles.tir.prim_expr import logical_not as logical_not
from ...handles.tir.prim_expr import logical_or as logical_or
def lookup_param(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `lookup_param`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def make_filled_simdgroup_matrix(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `make_filled_simdgroup_matrix`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def mma_fill(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `mma_fill`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def mma_store(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `mma_store`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def multiply(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """a * b"""
def nextafter(x1: Any, x2: Any) -> Any:
    """nextafter(x1, x2)"""
def pow(x: Any, y: Any, span: Any = None) -> Any:
    """Return a to the power b."""
def power(x: Any, y: Any, span: Any = None) -> Any:
    """Return a to the power b."""
def ptx_arrive_barrier(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_arrive_barrier`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_arrive_barrier_expect_tx(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_arrive_barrier_expect_tx`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_commit_group(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_commit_group`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_cp_async(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_cp_async`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_cp_async_barrier(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_cp_async_barrier`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_cp_async_bulk(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_cp_async_bulk`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_init_barrier_thread_count(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_init_barrier_thread_count`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_ldg32(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_ldg32`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_ldmatrix(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_ldmatrix`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_mma(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_mma`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_mma_sp(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_mma_sp`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_wait_barrier(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_wait_barrier`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def ptx_wait_group(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `ptx_wait_group`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
from ...handles.tir.intrinsics import q_multiply_shift as q_multiply_shift
from ...handles.tir.intrinsics import q_multiply_shift_per_axis as q_multiply_shift_per_axis
from ...handles.tir.intrinsics import reinterpret as reinterpret
from ...handles.tir.stmt import Returned as ret
def shift_left(x: Any, y: Any, span: Any = None) -> Any:
    """shift_left(a, b) of integers."""
def shift_right(x: Any, y: Any, span: Any = None) -> Any:
    """shift_right(a, b) of integers."""
def simdgroup_load(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `simdgroup_load`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def simdgroup_multiply_accumulate(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `simdgroup_multiply_accumulate`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def simdgroup_store(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `simdgroup_store`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def start_profile_intrinsic(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `start_profile_intrinsic`, of which no code is made: it is for profiling on Hexagon."""
from ...handles.tir.ir_builder import stmt_list as stmt_list
from ...handles.tir.ir_builder import stmt_seq as stmt_seq
def subtract(lhs: Any, rhs: Any, span: Any = None) -> Any:
    """a - b"""
from ...handles.tir.intrinsics import tvm_access_ptr as tvm_access_ptr
def tvm_bmma_sync(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_bmma_sync`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_fill_fragment(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_fill_fragment`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_global_barrier_kinit(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_global_barrier_kinit`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_load_matrix_sync(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_load_matrix_sync`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_mma_sync(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_mma_sync`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_stack_alloca(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_stack_alloca`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def tvm_stack_make_array(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_stack_make_array`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def tvm_stack_make_shape(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_stack_make_shape`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def tvm_storage_sync(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_storage_sync`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_store_matrix_sync(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_store_matrix_sync`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_struct_get(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_struct_get`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def tvm_struct_set(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_struct_set`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def tvm_thread_allreduce(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_thread_allreduce`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_throw_last_error(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_throw_last_error`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def tvm_tuple(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_tuple`, of which no code is made: it is a step of TVM's lowering of packed calls; here T.call_packed is compiled itself."""
def tvm_warp_activemask(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_warp_activemask`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_warp_shuffle(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_warp_shuffle`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_warp_shuffle_down(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_warp_shuffle_down`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_warp_shuffle_up(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_warp_shuffle_up`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
def tvm_warp_shuffle_xor(*args: Any, **kwargs: Any) -> Any:
    """The intrinsic `tvm_warp_shuffle_xor`, of which no code is made: it is for GPUs; functions here are compiled for CPUs."""
from ...handles.tir.intrinsics import type_annotation as type_annotation
from ...handles.tir.intrinsics import undef as undef
from ...handles.tir.intrinsics import vectorcombine as vectorcombine
from ...handles.tir.intrinsics import vectorhigh as vectorhigh
from ...handles.tir.intrinsics import vectorlow as vectorlow
from ...handles.tir.intrinsics import vscale as vscale
