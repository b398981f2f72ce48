"""Written by `python -m tirax.dev.reference`. Do not edit."""

from typing import Any

from ...handles.tir.prim_expr import PrimExpr
from ..handles.from_script import function_decorator

prim_func = function_decorator("tir")

AXIS_SEPARATOR: Any
class Add(PrimExpr):
    """lhs + rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class And(PrimExpr):
    """lhs and rhs, both evaluated (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...tvm_api.script._in_scripts import Assert as Assert
class Broadcast(PrimExpr):
    """A vector of one value."""
    def __init__(self, value: Any, lanes: Any) -> None: ...
def Buffer(shape: Any, dtype: Any = 'float32', data: Any = None, strides: Any = None, elem_offset: Any = None, scope: Any = 'global', align: Any = 0, offset_factor: Any = 0, buffer_type: Any = '', axis_separators: Any = ()) -> Any:
    """Return a buffer, for the annotation of a parameter."""
class BufferLoad(PrimExpr):
    """An element of a buffer; a vector of them, of which a `predicate` may leave some out."""
    def __init__(self, buffer: Any, indices: Any, predicate: Any = None) -> None: ...
class Call(PrimExpr):
    """A call, `Call(dtype, op, args)`."""
    def __init__(self, dtype: Any, op: Any, args: Any) -> None: ...
class Cast(PrimExpr):
    """A conversion, `Cast(dtype, value)`."""
    def __init__(self, dtype: Any, value: Any) -> None: ...
from ...te.reduction import Reducer as CommReducer
from ...te.tensor import ComputeOp as ComputeOp
class Div(PrimExpr):
    """lhs / rhs of floats; integers truncate towards zero (TVM's Div) (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class EQ(PrimExpr):
    """lhs == rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...tvm_api.handles.tir_script_builder import Else as Else
from ...te.tensor import ExternOp as ExternOp
class FloatImm(PrimExpr):
    """A floating point constant, `FloatImm(dtype, value)`."""
    def __init__(self, dtype: Any, value: Any) -> None: ...
class FloorDiv(PrimExpr):
    """floor(lhs / rhs) (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class FloorMod(PrimExpr):
    """lhs - floor(lhs / rhs) * rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class GE(PrimExpr):
    """lhs >= rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class GT(PrimExpr):
    """lhs > rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...tvm_api.handles.tir_script_builder import If as If
class IntImm(PrimExpr):
    """An integer constant, `IntImm(dtype, value)`."""
    def __init__(self, dtype: Any, value: Any) -> None: ...
from ...te.axis import IterVar as IterVar
class LE(PrimExpr):
    """lhs <= rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
class LT(PrimExpr):
    """lhs < rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...tvm_api.script._in_scripts import Let as Let
from ...tvm_api.script._in_scripts import LetStmt as LetStmt
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
from ...te.tensor import PlaceholderOp as PlaceholderOp
from ...handles.tir.prim_expr import PrimExpr as PrimExpr
def Ptr(dtype: Any, storage_scope: Any = 'global', is_size_var: Any = False) -> Any:
    """Return a pointer to elements of a dtype: TVM's older name of `handle`. `is_size_var` means nothing for it."""
class Ramp(PrimExpr):
    """base, base + stride, …: a vector."""
    def __init__(self, base: Any, stride: Any, lanes: Any) -> None: ...
from ...tvm_api.script._in_scripts import Range as Range
from ...te.reduction import Reduce as Reduce
from ...te.tensor import ScanOp as ScanOp
from ...handles.tir.prim_expr import select as Select
class Shuffle(PrimExpr):
    """Lanes of vectors by number."""
    def __init__(self, vectors: Any, indices: Any) -> None: ...
from ...handles.tir.variables import SizeVar as SizeVar
from ...te.extern_body import Statements as Statements
class StringImm(PrimExpr):
    """A string as an argument of a call."""
    def __init__(self, value: Any) -> None: ...
class Sub(PrimExpr):
    """lhs - rhs (`a`, `b`)"""
    def __init__(self, a: Any, b: Any) -> None: ...
from ...tvm_api.script._in_scripts import target as Target
from ...te.tensor import Tensor as Tensor
from ...te.tensor import TensorSlice as TensorSlice
from ...tvm_api.handles.tir_script_builder import Then as Then
from ...handles.tir.variables import Var as Var
from ...tvm_api.handles.tir_script_builder import While as While
from ...handles.tir.math_functions import abs_ as abs
def acos(x: Any) -> Any:
    """acos(x), element by element."""
def acosh(x: Any) -> Any:
    """acosh(x), element by element."""
def add(a: Any, b: Any) -> Any:
    """a + b"""
from ...handles.tir.intrinsics import address_of as address_of
from ...handles.tir.prim_expr import all_of as all
from ...tvm_api.script._in_scripts import alloc_buffer as alloc_buffer
from ...tvm_api.script._in_scripts import allocate as allocate
from ...tvm_api.script._in_scripts import allocate_const as allocate_const
from ...handles.tir.prim_expr import any_of as any
from ...tvm_api.handles.tir_script_builder import arg as arg
def asin(x: Any) -> Any:
    """asin(x), element by element."""
def asinh(x: Any) -> Any:
    """asinh(x), element by element."""
from ...handles.tir.intrinsics import assume as assume
def atan(x: Any) -> Any:
    """atan(x), element by element."""
from ...te.functions import atan2 as atan2
def atanh(x: Any) -> Any:
    """atanh(x), element by element."""
from ...tvm_api.script._in_scripts import attr as attr
from ...tvm_api.script._in_scripts import axis as axis
class bfloat16(PrimExpr):
    """A scalar of bfloat16, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
def bitwise_and(a: Any, b: Any) -> Any:
    """bitwise_and(a, b) of integers."""
from ...handles.tir.prim_expr import bitwise_not as bitwise_not
def bitwise_or(a: Any, b: Any) -> Any:
    """bitwise_or(a, b) of integers."""
def bitwise_xor(a: Any, b: Any) -> Any:
    """bitwise_xor(a, b) of integers."""
from ...tvm_api.script._in_scripts import block as block
from ...tvm_api.script._in_scripts import block_attr as block_attr
class bool(PrimExpr):
    """A scalar of bool, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class boolean(PrimExpr):
    """A scalar of bool, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
from ...tvm_api.script._in_scripts import broadcast as broadcast
def buffer(shape: Any, dtype: Any = 'float32', data: Any = None, strides: Any = None, elem_offset: Any = None, scope: Any = 'global', align: Any = 0, offset_factor: Any = 0, buffer_type: Any = '', axis_separators: Any = ()) -> Any:
    """Return a buffer, for the annotation of a parameter."""
from ...tvm_api.script._in_scripts import buffer_store as buffer_store
from ...tvm_api.handles.tir_script_builder import buffer_var as buffer_var
from ...handles.tir.intrinsics import call_extern as call_extern
from ...handles.tir.intrinsics import call_intrin as call_intrin
from ...handles.tir.intrinsics import call_llvm_intrin as call_llvm_intrin
from ...handles.tir.intrinsics import call_llvm_pure_intrin as call_llvm_pure_intrin
from ...te.foreign import call_packed as call_packed
from ...handles.tir.intrinsics import call_pure_extern as call_pure_extern
from ...handles.tir.intrinsics import call_tir as call_tir
def cast(value: Any, dtype: Any, span: Any = None) -> Any:
    """Convert a value to another dtype. Raises as `PrimExpr.astype`."""
def ceil(x: Any) -> Any:
    """ceil(x), element by element."""
from ...handles.tir.intrinsics import ceildiv as ceildiv
from ...handles.tir.intrinsics import clz as clz
from ...te.reduction import comm_reducer as comm_reducer
from ...te.tensor import compute as compute
from ...handles.tir.prim_expr import const as const
from ...handles.tir.prim_expr import convert as convert
def copysign(x1: Any, x2: Any) -> Any:
    """copysign(x1, x2)"""
def cos(x: Any) -> Any:
    """cos(x), element by element."""
def cosh(x: Any) -> Any:
    """cosh(x), element by element."""
from ...te.create import create_prim_func as create_prim_func
from ...handles.tir.buffers import decl_buffer as decl_buffer
from ...handles.tir.prim_expr import div as div
from ...tvm_api.script._in_scripts import env_thread as env_thread
def erf(x: Any) -> Any:
    """erf(x), element by element."""
from ...tvm_api.script._in_scripts import evaluate as evaluate
def exp(x: Any) -> Any:
    """exp(x), element by element."""
def exp10(x: Any) -> Any:
    """exp10(x), element by element."""
def exp2(x: Any) -> Any:
    """exp2(x), element by element."""
from ...te.foreign import extern as extern
from ...te.foreign import extern_primfunc as extern_primfunc
from ...tvm_api.script._in_scripts import fabs as fabs
class float16(PrimExpr):
    """A scalar of float16, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float32(PrimExpr):
    """A scalar of float32, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float4_e2m1fn(PrimExpr):
    """A scalar of float4_e2m1fn, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float64(PrimExpr):
    """A scalar of float64, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float8_e3m4(PrimExpr):
    """A scalar of float8_e3m4, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float8_e4m3(PrimExpr):
    """A scalar of float8_e4m3, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float8_e4m3b11fnuz(PrimExpr):
    """A scalar of float8_e4m3b11fnuz, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float8_e4m3fn(PrimExpr):
    """A scalar of float8_e4m3fn, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float8_e4m3fnuz(PrimExpr):
    """A scalar of float8_e4m3fnuz, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float8_e5m2(PrimExpr):
    """A scalar of float8_e5m2, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class float8_e5m2fnuz(PrimExpr):
    """A scalar of float8_e5m2fnuz, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
def floor(x: Any) -> Any:
    """floor(x), element by element."""
def floordiv(a: Any, b: Any) -> Any:
    """floor(a / b)"""
def floormod(a: Any, b: Any) -> Any:
    """a - floor(a / b) * b, of floats exact before b is added."""
from ...tvm_api.script._in_scripts import fma as fma
from ...te.functions import fmod as fmod
from ...tvm_api.script._in_scripts import func_attr as func_attr
from ...tvm_api.handles.tir_script_builder import func_name as func_name
from ...tvm_api.handles.tir_script_builder import func_ret as func_ret
from ...tvm_api.script._in_scripts import get_active_lane_mask as get_active_lane_mask
from ...tvm_api.script._in_scripts import grid as grid
class handle(PrimExpr):
    """Return a pointer to elements of a dtype, to `void`, or untyped."""
    def __init__(self, dtype: Any = None, storage_scope: Any = 'global', **kwargs: Any) -> None: ...
from ...handles.tir.intrinsics import handle_add_byte_offset as handle_add_byte_offset
def hypot(x1: Any, x2: Any) -> Any:
    """hypot(x1, x2)"""
from ...handles.tir.prim_expr import if_then_else as if_then_else
from ...handles.tir.intrinsics import ignore_loop_partition as ignore_loop_partition
def index_map(mapping: Any, *, inverse_index_map: Any = None, index_dtype: Any = 'int64') -> Any:
    """Return the map of indices that a function describes: `T.index_map(lambda i: (i // 4, i % 4))`."""
from ...te.functions import indexdiv as indexdiv
from ...te.functions import indexmod as indexmod
from ...handles.tir.limits import infinity as infinity
from ...tvm_api.script._in_scripts import init as init
def inline(func: Any = None, *, hygienic: Any = True) -> Any:
    """Define a macro: its call in a prim_func is replaced by its body, with parameters replaced by arguments."""
class int16(PrimExpr):
    """A scalar of int16, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class int2(PrimExpr):
    """A scalar of int2, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class int32(PrimExpr):
    """A scalar of int32, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class int4(PrimExpr):
    """A scalar of int4, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class int64(PrimExpr):
    """A scalar of int64, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class int8(PrimExpr):
    """A scalar of int8, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
from ...handles.tir.math_functions import isfinite as isfinite
from ...handles.tir.math_functions import isinf as isinf
from ...handles.tir.math_functions import isnan as isnan
from ...handles.tir.intrinsics import isnullptr as isnullptr
from ...tvm_api.script._in_scripts import iter_var as iter_var
from ...tvm_api.script._in_scripts import launch_thread as launch_thread
def ldexp(x1: Any, x2: Any) -> Any:
    """ldexp(x1, x2)"""
from ...tvm_api.script._in_scripts import let as let
from ...handles.tir.intrinsics import likely as likely
from ...tvm_api.script._in_scripts import llvm_lookup_intrinsic_id as llvm_lookup_intrinsic_id
def log(x: Any) -> Any:
    """log(x), element by element."""
def log10(x: Any) -> Any:
    """log10(x), element by element."""
def log1p(x: Any) -> Any:
    """log1p(x), element by element."""
def log2(x: Any) -> Any:
    """log2(x), element by element."""
from ...te.functions import logaddexp as logaddexp
from ...handles.tir.prim_expr import logical_and as logical_and
from ...handles.tir.prim_expr import logical_or as logical_or
def macro(func: Any = None, *, hygienic: Any = True) -> Any:
    """Define a macro: its call in a prim_func is replaced by its body, with parameters replaced by arguments."""
from ...tvm_api.script._in_scripts import match_buffer as match_buffer
def max(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *more: Any) -> Any:
    """The greatest value over axes, or the greater of two values."""
from ...handles.tir.limits import max_value as max_value
def maximum(a: Any, b: Any) -> Any:
    """The greater."""
from ...tvm_api.script._in_scripts import meta_var as meta_var
def min(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *more: Any) -> Any:
    """The least value over axes, or the lesser of two values."""
from ...handles.tir.limits import min_value as min_value
def minimum(a: Any, b: Any) -> Any:
    """The lesser."""
def multiply(a: Any, b: Any) -> Any:
    """a * b"""
def nearbyint(x: Any) -> Any:
    """nearbyint(x), element by element."""
def nextafter(x1: Any, x2: Any) -> Any:
    """nextafter(x1, x2)"""
from ...tvm_api.script._in_scripts import parallel as parallel
from ...te.tensor import placeholder as placeholder
from ...te.functions import popcount as popcount
from ...handles.tir.math_functions import power as pow
from ...handles.tir.math_functions import power as power
def prod(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *more: Any) -> Any:
    """The product over axes."""
def ptr(dtype: Any, storage_scope: Any = 'global', is_size_var: Any = False) -> Any:
    """Return a pointer to elements of a dtype: TVM's older name of `handle`. `is_size_var` means nothing for it."""
from ...handles.tir.intrinsics import q_multiply_shift as q_multiply_shift
from ...handles.tir.intrinsics import q_multiply_shift_per_axis as q_multiply_shift_per_axis
from ...tvm_api.script._in_scripts import ramp as ramp
from ...tvm_api.script._in_scripts import reads as reads
from ...tvm_api.script._in_scripts import reduce as reduce
from ...te.axis import reduce_axis as reduce_axis
from ...handles.tir.intrinsics import reinterpret as reinterpret
from ...tvm_api.script._in_scripts import ret as ret
def round(x: Any) -> Any:
    """round(x), element by element."""
def rsqrt(x: Any) -> Any:
    """rsqrt(x), element by element."""
from ...tvm_api.script._in_scripts import sblock as sblock
from ...tvm_api.script._in_scripts import sblock_alloc_buffer as sblock_alloc_buffer
from ...tvm_api.script._in_scripts import sblock_attr as sblock_attr
from ...te.tensor import scan as scan
from ...tvm_api.script._in_scripts import serial as serial
def shift_left(a: Any, b: Any) -> Any:
    """shift_left(a, b) of integers."""
def shift_right(a: Any, b: Any) -> Any:
    """shift_right(a, b) of integers."""
def sigmoid(x: Any) -> Any:
    """sigmoid(x), element by element."""
def sin(x: Any) -> Any:
    """sin(x), element by element."""
def sinh(x: Any) -> Any:
    """sinh(x), element by element."""
from ...te.axis import size_var as size_var
def sqrt(x: Any) -> Any:
    """sqrt(x), element by element."""
from ...tvm_api.script._in_scripts import strict_multiply as strict_multiply
def subtract(a: Any, b: Any) -> Any:
    """a - b"""
def sum(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *more: Any) -> Any:
    """The sum over axes."""
from ...te.tensor import tag_scope as tag_scope
def tan(x: Any) -> Any:
    """tan(x), element by element."""
def tanh(x: Any) -> Any:
    """tanh(x), element by element."""
from ...tvm_api.script._in_scripts import target as target
from ...te.axis import thread_axis as thread_axis
from ...tvm_api.script._in_scripts import thread_binding as thread_binding
def trunc(x: Any) -> Any:
    """trunc(x), element by element."""
from ...handles.tir.prim_expr import div as truncdiv
def truncmod(a: Any, b: Any) -> Any:
    """a - trunc(a / b) * b, of floats exact."""
from ...handles.tir.intrinsics import tvm_access_ptr as tvm_access_ptr
from ...tvm_api.script._in_scripts import tvm_call_packed as tvm_call_packed
from ...tvm_api.script._in_scripts import tvm_thread_invariant as tvm_thread_invariant
from ...handles.tir.intrinsics import type_annotation as type_annotation
class uint16(PrimExpr):
    """A scalar of uint16, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class uint2(PrimExpr):
    """A scalar of uint2, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class uint32(PrimExpr):
    """A scalar of uint32, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class uint4(PrimExpr):
    """A scalar of uint4, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class uint64(PrimExpr):
    """A scalar of uint64, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
class uint8(PrimExpr):
    """A scalar of uint8, or a variable of it where no value is given."""
    def __init__(self, value: Any = None, **kwargs: Any) -> None: ...
from ...handles.tir.intrinsics import undef as undef
from ...tvm_api.script._in_scripts import unroll as unroll
from ...te.axis import var as var
from ...handles.tir.intrinsics import vectorcombine as vectorcombine
from ...handles.tir.intrinsics import vectorhigh as vectorhigh
from ...tvm_api.script._in_scripts import vectorized as vectorized
from ...handles.tir.intrinsics import vectorlow as vectorlow
from ...tvm_api.handles.tir_script_builder import void as void
from ...handles.tir.intrinsics import vscale as vscale
from ...tvm_api.script._in_scripts import where as where
from ...tvm_api.script._in_scripts import writes as writes
class float64x2(float64):
    """2 of float64."""
class float64x4(float64):
    """4 of float64."""
class float64x8(float64):
    """8 of float64."""
class float64x16(float64):
    """16 of float64."""
class float64x32(float64):
    """32 of float64."""
class float64x64(float64):
    """64 of float64."""
class float32x2(float32):
    """2 of float32."""
class float32x4(float32):
    """4 of float32."""
class float32x8(float32):
    """8 of float32."""
class float32x16(float32):
    """16 of float32."""
class float32x32(float32):
    """32 of float32."""
class float32x64(float32):
    """64 of float32."""
class float16x2(float16):
    """2 of float16."""
class float16x4(float16):
    """4 of float16."""
class float16x8(float16):
    """8 of float16."""
class float16x16(float16):
    """16 of float16."""
class float16x32(float16):
    """32 of float16."""
class float16x64(float16):
    """64 of float16."""
class bfloat16x2(bfloat16):
    """2 of bfloat16."""
class bfloat16x4(bfloat16):
    """4 of bfloat16."""
class bfloat16x8(bfloat16):
    """8 of bfloat16."""
class bfloat16x16(bfloat16):
    """16 of bfloat16."""
class bfloat16x32(bfloat16):
    """32 of bfloat16."""
class bfloat16x64(bfloat16):
    """64 of bfloat16."""
class int8x2(int8):
    """2 of int8."""
class int8x4(int8):
    """4 of int8."""
class int8x8(int8):
    """8 of int8."""
class int8x16(int8):
    """16 of int8."""
class int8x32(int8):
    """32 of int8."""
class int8x64(int8):
    """64 of int8."""
class int16x2(int16):
    """2 of int16."""
class int16x4(int16):
    """4 of int16."""
class int16x8(int16):
    """8 of int16."""
class int16x16(int16):
    """16 of int16."""
class int16x32(int16):
    """32 of int16."""
class int16x64(int16):
    """64 of int16."""
class int32x2(int32):
    """2 of int32."""
class int32x4(int32):
    """4 of int32."""
class int32x8(int32):
    """8 of int32."""
class int32x16(int32):
    """16 of int32."""
class int32x32(int32):
    """32 of int32."""
class int32x64(int32):
    """64 of int32."""
class int64x2(int64):
    """2 of int64."""
class int64x4(int64):
    """4 of int64."""
class int64x8(int64):
    """8 of int64."""
class int64x16(int64):
    """16 of int64."""
class int64x32(int64):
    """32 of int64."""
class int64x64(int64):
    """64 of int64."""
class uint8x2(uint8):
    """2 of uint8."""
class uint8x4(uint8):
    """4 of uint8."""
class uint8x8(uint8):
    """8 of uint8."""
class uint8x16(uint8):
    """16 of uint8."""
class uint8x32(uint8):
    """32 of uint8."""
class uint8x64(uint8):
    """64 of uint8."""
class uint16x2(uint16):
    """2 of uint16."""
class uint16x4(uint16):
    """4 of uint16."""
class uint16x8(uint16):
    """8 of uint16."""
class uint16x16(uint16):
    """16 of uint16."""
class uint16x32(uint16):
    """32 of uint16."""
class uint16x64(uint16):
    """64 of uint16."""
class uint32x2(uint32):
    """2 of uint32."""
class uint32x4(uint32):
    """4 of uint32."""
class uint32x8(uint32):
    """8 of uint32."""
class uint32x16(uint32):
    """16 of uint32."""
class uint32x32(uint32):
    """32 of uint32."""
class uint32x64(uint32):
    """64 of uint32."""
class uint64x2(uint64):
    """2 of uint64."""
class uint64x4(uint64):
    """4 of uint64."""
class uint64x8(uint64):
    """8 of uint64."""
class uint64x16(uint64):
    """16 of uint64."""
class uint64x32(uint64):
    """32 of uint64."""
class uint64x64(uint64):
    """64 of uint64."""
class boolx2(bool):
    """2 of bool."""
class boolx4(bool):
    """4 of bool."""
class boolx8(bool):
    """8 of bool."""
class boolx16(bool):
    """16 of bool."""
class boolx32(bool):
    """32 of bool."""
class boolx64(bool):
    """64 of bool."""
class float8_e3m4x2(float8_e3m4):
    """2 of float8_e3m4."""
class float8_e3m4x4(float8_e3m4):
    """4 of float8_e3m4."""
class float8_e3m4x8(float8_e3m4):
    """8 of float8_e3m4."""
class float8_e3m4x16(float8_e3m4):
    """16 of float8_e3m4."""
class float8_e3m4x32(float8_e3m4):
    """32 of float8_e3m4."""
class float8_e3m4x64(float8_e3m4):
    """64 of float8_e3m4."""
class float8_e4m3x2(float8_e4m3):
    """2 of float8_e4m3."""
class float8_e4m3x4(float8_e4m3):
    """4 of float8_e4m3."""
class float8_e4m3x8(float8_e4m3):
    """8 of float8_e4m3."""
class float8_e4m3x16(float8_e4m3):
    """16 of float8_e4m3."""
class float8_e4m3x32(float8_e4m3):
    """32 of float8_e4m3."""
class float8_e4m3x64(float8_e4m3):
    """64 of float8_e4m3."""
class float8_e4m3b11fnuzx2(float8_e4m3b11fnuz):
    """2 of float8_e4m3b11fnuz."""
class float8_e4m3b11fnuzx4(float8_e4m3b11fnuz):
    """4 of float8_e4m3b11fnuz."""
class float8_e4m3b11fnuzx8(float8_e4m3b11fnuz):
    """8 of float8_e4m3b11fnuz."""
class float8_e4m3b11fnuzx16(float8_e4m3b11fnuz):
    """16 of float8_e4m3b11fnuz."""
class float8_e4m3b11fnuzx32(float8_e4m3b11fnuz):
    """32 of float8_e4m3b11fnuz."""
class float8_e4m3b11fnuzx64(float8_e4m3b11fnuz):
    """64 of float8_e4m3b11fnuz."""
class float8_e4m3fnx2(float8_e4m3fn):
    """2 of float8_e4m3fn."""
class float8_e4m3fnx4(float8_e4m3fn):
    """4 of float8_e4m3fn."""
class float8_e4m3fnx8(float8_e4m3fn):
    """8 of float8_e4m3fn."""
class float8_e4m3fnx16(float8_e4m3fn):
    """16 of float8_e4m3fn."""
class float8_e4m3fnx32(float8_e4m3fn):
    """32 of float8_e4m3fn."""
class float8_e4m3fnx64(float8_e4m3fn):
    """64 of float8_e4m3fn."""
class float8_e4m3fnuzx2(float8_e4m3fnuz):
    """2 of float8_e4m3fnuz."""
class float8_e4m3fnuzx4(float8_e4m3fnuz):
    """4 of float8_e4m3fnuz."""
class float8_e4m3fnuzx8(float8_e4m3fnuz):
    """8 of float8_e4m3fnuz."""
class float8_e4m3fnuzx16(float8_e4m3fnuz):
    """16 of float8_e4m3fnuz."""
class float8_e4m3fnuzx32(float8_e4m3fnuz):
    """32 of float8_e4m3fnuz."""
class float8_e4m3fnuzx64(float8_e4m3fnuz):
    """64 of float8_e4m3fnuz."""
class float8_e5m2x2(float8_e5m2):
    """2 of float8_e5m2."""
class float8_e5m2x4(float8_e5m2):
    """4 of float8_e5m2."""
class float8_e5m2x8(float8_e5m2):
    """8 of float8_e5m2."""
class float8_e5m2x16(float8_e5m2):
    """16 of float8_e5m2."""
class float8_e5m2x32(float8_e5m2):
    """32 of float8_e5m2."""
class float8_e5m2x64(float8_e5m2):
    """64 of float8_e5m2."""
class float8_e5m2fnuzx2(float8_e5m2fnuz):
    """2 of float8_e5m2fnuz."""
class float8_e5m2fnuzx4(float8_e5m2fnuz):
    """4 of float8_e5m2fnuz."""
class float8_e5m2fnuzx8(float8_e5m2fnuz):
    """8 of float8_e5m2fnuz."""
class float8_e5m2fnuzx16(float8_e5m2fnuz):
    """16 of float8_e5m2fnuz."""
class float8_e5m2fnuzx32(float8_e5m2fnuz):
    """32 of float8_e5m2fnuz."""
class float8_e5m2fnuzx64(float8_e5m2fnuz):
    """64 of float8_e5m2fnuz."""
class float4_e2m1fnx2(float4_e2m1fn):
    """2 of float4_e2m1fn."""
class float4_e2m1fnx4(float4_e2m1fn):
    """4 of float4_e2m1fn."""
class float4_e2m1fnx8(float4_e2m1fn):
    """8 of float4_e2m1fn."""
class float4_e2m1fnx16(float4_e2m1fn):
    """16 of float4_e2m1fn."""
class float4_e2m1fnx32(float4_e2m1fn):
    """32 of float4_e2m1fn."""
class float4_e2m1fnx64(float4_e2m1fn):
    """64 of float4_e2m1fn."""
class int4x2(int4):
    """2 of int4."""
class int4x4(int4):
    """4 of int4."""
class int4x8(int4):
    """8 of int4."""
class int4x16(int4):
    """16 of int4."""
class int4x32(int4):
    """32 of int4."""
class int4x64(int4):
    """64 of int4."""
class uint4x2(uint4):
    """2 of uint4."""
class uint4x4(uint4):
    """4 of uint4."""
class uint4x8(uint4):
    """8 of uint4."""
class uint4x16(uint4):
    """16 of uint4."""
class uint4x32(uint4):
    """32 of uint4."""
class uint4x64(uint4):
    """64 of uint4."""
class int2x2(int2):
    """2 of int2."""
class int2x4(int2):
    """4 of int2."""
class int2x8(int2):
    """8 of int2."""
class int2x16(int2):
    """16 of int2."""
class int2x32(int2):
    """32 of int2."""
class int2x64(int2):
    """64 of int2."""
class uint2x2(uint2):
    """2 of uint2."""
class uint2x4(uint2):
    """4 of uint2."""
class uint2x8(uint2):
    """8 of uint2."""
class uint2x16(uint2):
    """16 of uint2."""
class uint2x32(uint2):
    """32 of uint2."""
class uint2x64(uint2):
    """64 of uint2."""
def tvm_stack_alloca(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_stack_make_shape(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_stack_make_array(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_throw_last_error(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def lookup_param(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_tuple(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def TVMBackendAllocWorkspace(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_struct_get(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_struct_set(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def TVMBackendFreeWorkspace(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_call_cpacked(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_call_packed_lowered(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_call_cpacked_lowered(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_call_trace_packed_lowered(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def anylist_getitem(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def anylist_resetitem(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def anylist_setitem_call_packed(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def anylist_setitem_call_cpacked(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def start_profile_intrinsic(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def end_profile_intrinsic(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_storage_sync(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_global_barrier_kinit(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def dp4a(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_context_id(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_warp_activemask(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_warp_shuffle(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_warp_shuffle_up(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_warp_shuffle_down(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_warp_shuffle_xor(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_thread_allreduce(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_load_matrix_sync(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_mma_sync(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_bmma_sync(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_fill_fragment(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def tvm_store_matrix_sync(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def make_filled_simdgroup_matrix(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def simdgroup_load(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def simdgroup_store(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def simdgroup_multiply_accumulate(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_mma(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_mma_sp(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_ldmatrix(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_cp_async(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_cp_async_bulk(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def mma_store(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def mma_fill(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_ldg32(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_commit_group(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_wait_group(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_cp_async_barrier(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_init_barrier_thread_count(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_arrive_barrier(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_arrive_barrier_expect_tx(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def ptx_wait_barrier(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def create_barriers(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def call_cpacked(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def call_packed_lowered(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
def call_cpacked_lowered(*args: Any, dtype: Any = ...) -> Any:
    """An intrinsic of another device."""
__all__ = ['Buffer', 'buffer', 'cast', 'handle', 'index_map', 'inline', 'macro', 'prim_func', 'ptr', 'Ptr']
__tirax_script_dialect__: str
