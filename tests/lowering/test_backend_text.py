"""The printer of LLVM text and the way to machine code."""

import io

import numpy as np
import pytest

from tirax.diagnostics import UnsupportedError
from tirax.lowering.emit import AssemblyTarget, LLVMTarget, ObjectTarget
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import LLVMError, compile_object, emit_assembly, optimise, verify
from tirax.target import Target

SLOT = "!llvm.struct<(ptr, ptr, i32)>"
HOST_CODE = f"""
llvm.mlir.global external @table() {{addr_space = 0 : i32}} : !llvm.array<3 x ptr>
llvm.mlir.global internal constant @greeting("hi\\00") : !llvm.array<3 x i8>
llvm.mlir.global private constant @method() : {SLOT} {{
  %u = llvm.mlir.undef : {SLOT}
  %n = llvm.mlir.addressof @greeting : !llvm.ptr
  %c = llvm.mlir.constant(128 : i32) : i32
  %0 = "llvm.insertvalue"(%u, %n) <{{position = array<i64: 0>}}> : ({SLOT}, !llvm.ptr) -> {SLOT}
  %z = llvm.mlir.zero : !llvm.ptr
  %1 = "llvm.insertvalue"(%0, %z) <{{position = array<i64: 1>}}> : ({SLOT}, !llvm.ptr) -> {SLOT}
  %2 = "llvm.insertvalue"(%1, %c) <{{position = array<i64: 2>}}> : ({SLOT}, i32) -> {SLOT}
  llvm.return %2 : {SLOT}
}}
llvm.func @PyErr_Occurred() -> !llvm.ptr
llvm.func @f(%self: !llvm.ptr {{llvm.nonnull}}, %args: !llvm.ptr {{llvm.noalias, llvm.align = 8 : i64}}) -> !llvm.ptr
    attributes {{passthrough = ["noinline", ["prefer-vector-width", "512"]], no_unwind}} {{
  %t = llvm.mlir.addressof @table : !llvm.ptr
  %g = llvm.getelementptr inbounds %t[0, 2] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<3 x ptr>
  %callee = llvm.load %g : !llvm.ptr -> !llvm.ptr
  %r = llvm.call %callee(%self, %args) : !llvm.ptr, (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  %e = llvm.call @PyErr_Occurred() : () -> !llvm.ptr
  llvm.return %r : !llvm.ptr
}}
"""


def test_host_code_text(backend):
    text = print_llvm(backend.parse(HOST_CODE))
    for line in (
        "@table = external global [3 x ptr]",
        '@greeting = internal constant [3 x i8] c"hi\\00"',
        "@method = private constant { ptr, ptr, i32 } { ptr @greeting, ptr null, i32 128 }",
        "declare ptr @PyErr_Occurred()",
        'define ptr @f(ptr nonnull %self, ptr noalias align 8 %args) nounwind noinline "prefer-vector-width"="512" {',
        "  %g = getelementptr inbounds [3 x ptr], ptr @table, i32 0, i32 2",
        "  %r = call ptr %callee(ptr %self, ptr %args)",
        "  %e = call ptr @PyErr_Occurred()",
    ):
        assert line in text.splitlines()
    verify(text)


def test_text_is_stable(backend):
    assert print_llvm(backend.parse(HOST_CODE)) == print_llvm(backend.parse(HOST_CODE))


def test_names_are_kept_and_unique(backend):
    text = backend.text("""
    func.func @f(%x: i64, %v0: i64) -> i64 {
      %0 = arith.addi %x, %v0 : i64
      %y = arith.addi %0, %x : i64
      cf.br ^bb1(%y : i64)
    ^bb1(%y2: i64):
      %z = arith.muli %y2, %y2 : i64
      func.return %z : i64
    }""")
    assert "(i64 %x, i64 %v0)" in text and "%v1 = add i64 %x, %v0" in text
    assert "%y2 = phi i64 [ %y, %bb0 ]" in text


def test_same_intrinsic_at_two_types_in_one_module(backend):
    source = """
    func.func @f(%a: f32, %b: f64) -> f64 {
      %0 = math.sqrt %a : f32
      %1 = math.sqrt %b : f64
      %2 = arith.extf %0 : f32 to f64
      %3 = arith.addf %1, %2 : f64
      func.return %3 : f64
    }"""
    assert backend.call(source, np.float32(9), np.float64(16), result="f64") == 7


def test_unreachable_block_with_arguments(backend):
    source = """
    func.func @f(%a: i64) -> i64 {
      func.return %a : i64
    ^bb1(%x: i64):
      func.return %x : i64
    }"""
    assert backend.call(source, 4, result="i64") == 4


def test_loop_metadata_is_distinct(backend):
    loop = """scf.for %{0} = %c0 to %n step %c1 {{
        memref.store %v, %x[%{0}] : memref<?xf32>
      }} {{loop_annotation = #llvm.loop_annotation<vectorize = <width = 8 : i32>, unroll = <disable = true>>}}"""
    text = backend.text(f"""
    func.func @f(%x: memref<?xf32>, %n: index, %v: f32) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      {loop.format("i")}
      {loop.format("j")}
      func.return
    }}""")
    assert '!0 = !{!"llvm.loop.vectorize.width", i32 8}' in text
    assert '!1 = !{!"llvm.loop.unroll.disable"}' in text
    assert "!2 = distinct !{!2, !0, !1}" in text and "!3 = distinct !{!3, !0, !1}" in text
    verify(text)


def test_higher_level_operations_are_all_named(backend):
    module = backend.parse("""
    func.func @f(%a: i64) -> i64 { func.return %a : i64 }
    llvm.func @g(%a: i64, %x: f32) -> i64 {
      %0 = arith.addi %a, %a : i64
      %1 = math.exp %x : f32
      llvm.return %0 : i64
    }""")
    for emit in (LLVMTarget(), AssemblyTarget(), ObjectTarget()):
        with pytest.raises(UnsupportedError) as error:
            emit.emit(backend.context(), module, io.TextIOWrapper(io.BytesIO()))
        for name in ("func.func", "arith.addi", "math.exp"):
            assert f"'{name}'" in str(error.value)


def test_emitters(backend):
    module = backend.lower("func.func @f(%a: i64) -> i64 { func.return %a : i64 }")
    context = backend.context()
    text = io.StringIO()
    LLVMTarget().emit(context, module, text)
    assert text.getvalue() == print_llvm(module)
    assembly = io.StringIO()
    AssemblyTarget().emit(context, module, assembly)
    assert "f:" in assembly.getvalue() and "ret" in assembly.getvalue()
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw)
    ObjectTarget().emit(context, module, stream)
    assert raw.getvalue()[:4] == b"\x7fELF"
    with pytest.raises(UnsupportedError, match="an object file is not text"):
        ObjectTarget().emit(context, module, io.StringIO())


def test_invalid_text_is_a_typed_error():
    with pytest.raises(LLVMError) as error:
        compile_object("define void @f() { ret i32 %nothing }")
    assert "LLVM refuses the module" in str(error.value) and "%nothing" in str(error.value)
    with pytest.raises(LLVMError, match="LLVM refuses the module"):
        verify("define i32 @f() {\n  %a = add i32 %b, 1\n  %b = add i32 %a, 1\n  ret i32 %a\n}")
    with pytest.raises(LLVMError, match="optimisation level 7"):
        compile_object("", opt_level=7)
    with pytest.raises(LLVMError, match="cannot generate code"):
        compile_object("", Target("llvm -mtriple=nonsense-unknown-unknown"))


def test_wide_vectors_are_used_where_the_cpu_has_them(backend):
    text = backend.text("""
    func.func @f(%x: memref<?xf32>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<?xf32>, vector<16xf32>
      %w = arith.addf %v, %v : vector<16xf32>
      vector.store %w, %x[%c0] : memref<?xf32>, vector<16xf32>
      func.return
    }""")
    wide = emit_assembly(text, Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4"), run_passes=False)
    narrow = emit_assembly(text, Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell"), run_passes=False)
    assert "%zmm" in wide and "%zmm" not in narrow and "%ymm" in narrow


def test_noalias_lets_loops_vectorise(backend):
    source = """
    func.func @f(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {tirax.noalias} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %n step %c1 {
        %0 = memref.load %x[%i] : memref<?xf32>
        %1 = arith.mulf %a, %0 : f32
        memref.store %1, %y[%i] : memref<?xf32>
      }
      func.return
    }"""
    target = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=znver4")
    optimised = optimise(backend.text(source), target)
    assert "<16 x float>" in optimised and "vector.memcheck" not in optimised
