"""Objects written by hand as `.ll` text, as the compiler will make them: what the runtime's tests load."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import llvmlite.binding as llvm
import pytest

from tirax.runtime import abi
from tirax.runtime.abi import ArrayLayout, Slot, dtype_slot
from tirax.runtime.executable import Executable, TargetInfo
from tirax.runtime.metadata import FunctionInfo, Parameter, TensorInfo


@functools.cache
def compile_ll(text: str) -> bytes:
    """`.ll` text -> position-independent object bytes."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    module.verify()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), opt=2, reloc="pic").emit_object(module)


def header(own_slots: int) -> str:
    """Table, ABI constant and declarations of an object with that many slots of its own."""
    version, slots = abi.abi_constant(own_slots)
    return f"""
target triple = "{llvm.get_process_triple()}"
@tirax_table = global [{slots} x ptr] zeroinitializer, align 8
@tirax_abi = constant [2 x i64] [i64 {version}, i64 {slots}]
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare void @PyErr_SetString(ptr, ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
@wrong = private constant [15 x i8] c"second attempt\\00"
"""


def slot(name: str, number: int) -> str:
    """Load a slot into `%name`."""
    return f"""  %p.{name} = getelementptr [0 x ptr], ptr @tirax_table, i64 0, i64 {number}
  %{name} = load ptr, ptr %p.{name}
"""


def field(name: str, array: str, offset: int, kind: str) -> str:
    """Load a field of the array `%array` into `%name`."""
    return f"""  %p.{name} = getelementptr i8, ptr %{array}, i64 {offset}
  %{name} = load {kind}, ptr %p.{name}
"""


def check_argument(i: int, first_length: str) -> str:
    """Check that `%args[i]` is a dense 1-d f32 array as long as the first; its data is `%data{i}`."""
    return (
        f"""a{i}:
  %q{i} = getelementptr ptr, ptr %args, i64 {i}
  %o{i} = load ptr, ptr %q{i}
"""
        + field(f"type{i}", f"o{i}", ArrayLayout.OB_TYPE, "ptr")
        + slot(f"np{i}", Slot.NDARRAY_TYPE)
        + slot(f"tx{i}", Slot.TIRAX_NDARRAY_TYPE)
        + f"""  %isnp{i} = icmp eq ptr %type{i}, %np{i}
  %istx{i} = icmp eq ptr %type{i}, %tx{i}
  %isarray{i} = or i1 %isnp{i}, %istx{i}
  br i1 %isarray{i}, label %b{i}, label %slow
b{i}:
"""
        + field(f"data{i}", f"o{i}", ArrayLayout.DATA, "ptr")
        + field(f"nd{i}", f"o{i}", ArrayLayout.ND, "i32")
        + field(f"dims{i}", f"o{i}", ArrayLayout.DIMS, "ptr")
        + field(f"descr{i}", f"o{i}", ArrayLayout.DESCR, "ptr")
        + field(f"flags{i}", f"o{i}", ArrayLayout.FLAGS, "i32")
        + slot(f"f32{i}", dtype_slot("float32"))
        + f"""  %masked{i} = and i32 %flags{i}, {abi.INPUT_FLAGS}
  %okf{i} = icmp eq i32 %masked{i}, {abi.INPUT_FLAGS}
  %okn{i} = icmp eq i32 %nd{i}, 1
  %okd{i} = icmp eq ptr %descr{i}, %f32{i}
  %ok0{i} = and i1 %okf{i}, %okn{i}
  %ok1{i} = and i1 %ok0{i}, %okd{i}
  br i1 %ok1{i}, label %c{i}, label %slow
c{i}:
  %len{i} = load i64, ptr %dims{i}
  %okl{i} = icmp eq i64 %len{i}, %{first_length}
  br i1 %okl{i}, label %a{i + 1}, label %slow
"""
    )


EXPLAIN_SLOT = abi.FIXED_SLOTS

ADD = (
    header(1)
    + """
define ptr @entry_add(ptr %self, ptr %args, i64 %nargs) {
  %ok = icmp eq i64 %nargs, 2
  br i1 %ok, label %fast, label %slow
fast:
  %r = call ptr @add_checked(ptr %args, ptr null)
  %failed = icmp eq ptr %r, inttoptr (i64 1 to ptr)
  br i1 %failed, label %slow, label %done
done:
  ret ptr %r
slow:
"""
    + slot("explain", EXPLAIN_SLOT)
    + f"""  %t = call ptr @PyObject_Vectorcall(ptr %explain, ptr %args, i64 %nargs, ptr null)
  %raised = icmp eq ptr %t, null
  br i1 %raised, label %error, label %again
error:
  ret ptr null
again:
  %items = getelementptr i8, ptr %t, i64 {abi.TUPLE_ITEMS}
  %r2 = call ptr @add_checked(ptr %items, ptr null)
  call void @Py_DecRef(ptr %t)
  %failed2 = icmp eq ptr %r2, inttoptr (i64 1 to ptr)
  br i1 %failed2, label %internal, label %done2
done2:
  ret ptr %r2
internal:
"""
    + slot("exc", Slot.INTERNAL_ERROR)
    + """  call void @PyErr_SetString(ptr %exc, ptr @wrong)
  ret ptr null
}

define internal ptr @add_checked(ptr %args, ptr %unused) alwaysinline {
  br label %a0
"""
    + check_argument(0, "len0")
    + check_argument(1, "len0")
    + "a2:\n"
    + slot("new", Slot.NEW_FROM_DESCR)
    + slot("type", Slot.TIRAX_NDARRAY_TYPE)
    + slot("descr", dtype_slot("float32"))
    + """  call void @Py_IncRef(ptr %descr)
  %out = call ptr %new(ptr %type, ptr %descr, i32 1, ptr %dims0, ptr null, ptr null, i32 0, ptr null)
  %none = icmp eq ptr %out, null
  br i1 %none, label %nomemory, label %go
nomemory:
  ret ptr null
go:
"""
    + field("data", "out", ArrayLayout.DATA, "ptr")
    + """  br label %head
head:
  %i = phi i64 [0, %go], [%next, %body]
  %more = icmp slt i64 %i, %len0
  br i1 %more, label %body, label %end
body:
  %px = getelementptr float, ptr %data0, i64 %i
  %py = getelementptr float, ptr %data1, i64 %i
  %pz = getelementptr float, ptr %data, i64 %i
  %x = load float, ptr %px
  %y = load float, ptr %py
  %z = fadd float %x, %y
  store float %z, ptr %pz
  %next = add i64 %i, 1
  br label %head
end:
  ret ptr %out
slow:
  ret ptr inttoptr (i64 1 to ptr)
}
"""
)
"""`add(x: f32[n], y: f32[n]) -> f32[n]`; own slot 0: `["explain", "add"]`."""

CALL_PACKED = (
    header(2)
    + """
define ptr @entry_call(ptr %self, ptr %args, i64 %nargs) {
"""
    + slot("f", abi.FIXED_SLOTS)
    + """  %r = call ptr @PyObject_Vectorcall(ptr %f, ptr %args, i64 %nargs, ptr null)
  ret ptr %r
}
define ptr @entry_second(ptr %self, ptr %args, i64 %nargs) {
"""
    + slot("o", abi.FIXED_SLOTS + 1)
    + """  call void @Py_IncRef(ptr %o)
  ret ptr %o
}
"""
)
"""`call(*args)` passes its arguments to own slot 0; `second()` returns the object of own slot 1."""

CONSTANT_SUM = (
    header(1)
    + """
declare ptr @PyFloat_FromDouble(double)
define ptr @entry_sum(ptr %self, ptr %args, i64 %nargs) {
"""
    + slot("d", abi.FIXED_SLOTS)
    + """  %q = getelementptr float, ptr %d, i64 1
  %x = load float, ptr %d
  %y = load float, ptr %q
  %s = fadd float %x, %y
  %w = fpext float %s to double
  %r = call ptr @PyFloat_FromDouble(double %w)
  ret ptr %r
}
"""
)
"""`sum()` of the two floats of the constant in own slot 0."""

VECTOR = TensorInfo((("var", "n"),), "float32")
ADD_INFO = FunctionInfo("add", (Parameter("x", VECTOR), Parameter("y", VECTOR)), VECTOR)


def add_executable(target: TargetInfo | None = None) -> Executable:
    """The executable with the one function `add`."""
    host = TargetInfo("llvm", llvm.get_process_triple(), llvm.get_host_cpu_name())
    return Executable(compile_ll(ADD), [ADD_INFO], slots=[("explain", "add")], target=target or host)


@pytest.fixture(scope="session")
def native() -> SimpleNamespace:
    """What this file defines, for tests."""
    return SimpleNamespace(
        compile_ll=compile_ll,
        header=header,
        add_executable=add_executable,
        ADD=ADD,
        ADD_INFO=ADD_INFO,
        CALL_PACKED=CALL_PACKED,
        CONSTANT_SUM=CONSTANT_SUM,
    )
