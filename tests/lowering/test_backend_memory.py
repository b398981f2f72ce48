"""memref and vector, run natively."""

import numpy as np
import pytest
from xdsl.dialects.test import Test
from xdsl.parser import Parser

from tirax.diagnostics import UnsupportedError
from tirax.lowering.convert_to_llvm import ConvertToLLVM


def test_strided_and_subview(backend):
    source = """
    func.func @f(%x: memref<8x6xi64>, %row: index, %out: memref<3xi64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %s = memref.subview %x[2, 1] [3, 2] [1, 1]
        : memref<8x6xi64> to memref<3x2xi64, strided<[6, 1], offset: 13>>
      %d = memref.subview %x[%row, 3] [2, 2] [1, 1]
        : memref<8x6xi64> to memref<2x2xi64, strided<[6, 1], offset: ?>>
      %r = memref.reinterpret_cast %x to offset: [7], sizes: [4], strides: [2]
        : memref<8x6xi64> to memref<4xi64, strided<[2], offset: 7>>
      %a = memref.load %s[%c2, %c1] : memref<3x2xi64, strided<[6, 1], offset: 13>>
      %b = memref.load %d[%c1, %c0] : memref<2x2xi64, strided<[6, 1], offset: ?>>
      %c = memref.load %r[%c2] : memref<4xi64, strided<[2], offset: 7>>
      memref.store %a, %out[%c0] : memref<3xi64>
      memref.store %b, %out[%c1] : memref<3xi64>
      memref.store %c, %out[%c2] : memref<3xi64>
      func.return
    }"""
    x, out = np.arange(48).reshape(8, 6), np.zeros(3, dtype=np.int64)
    backend.call(source, x, 5, out)
    assert out.tolist() == [x[4, 2], x[6, 3], x.ravel()[7 + 4]]


def test_view_into_a_workspace(backend):
    source = """
    func.func @f(%arena: memref<?xi8>, %shift: index) {
      %c1 = arith.constant 1 : index
      %v = arith.constant 2.5 : f64
      %p = memref.view %arena[%shift][] : memref<?xi8> to memref<4xf64>
      memref.store %v, %p[%c1] : memref<4xf64>
      func.return
    }"""
    arena = np.zeros(64, dtype=np.int8)
    backend.call(source, arena, 16)
    assert arena.view(np.float64).tolist() == [0, 0, 0, 2.5, 0, 0, 0, 0]


def test_alloca_alloc_globals_and_copy(backend):
    source = """
    "memref.global"() <{sym_name = "table", sym_visibility = "private", type = memref<4xi64>, constant,
      initial_value = dense<[3, 1, 4, 1]> : tensor<4xi64>}> : () -> ()
    "memref.global"() <{sym_name = "scratch", sym_visibility = "private", type = memref<4xi64>,
      initial_value}> : () -> ()
    func.func @f(%n: index, %out: memref<4xi64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %table = memref.get_global @table : memref<4xi64>
      %scratch = memref.get_global @scratch : memref<4xi64>
      %heap = "memref.alloc"(%n) <{operandSegmentSizes = array<i32: 1, 0>}> : (index) -> memref<?xi64>
      scf.for %k = %c0 to %n step %c1 {
        %local = memref.alloca() : memref<4xi64>
        scf.for %i = %c0 to %c4 step %c1 {
          %v = memref.load %table[%i] : memref<4xi64>
          %w = memref.load %scratch[%i] : memref<4xi64>
          %s = arith.addi %v, %w : i64
          memref.store %s, %local[%i] : memref<4xi64>
        }
        "memref.copy"(%local, %scratch) : (memref<4xi64>, memref<4xi64>) -> ()
        %last = memref.load %local[%k] : memref<4xi64>
        memref.store %last, %heap[%k] : memref<?xi64>
      }
      scf.for %i = %c0 to %c4 step %c1 {
        %v = memref.load %heap[%i] : memref<?xi64>
        memref.store %v, %out[%i] : memref<4xi64>
      }
      "memref.dealloc"(%heap) : (memref<?xi64>) -> ()
      func.return
    }"""
    out = np.zeros(4, dtype=np.int64)
    backend.call(source, 4, out)
    assert out.tolist() == [3, 2, 12, 4]
    text = backend.text(source)
    entry = text.split("define void @f")[1].split("bb1:")[0]
    assert "alloca [4 x i64], i64 1, align 64" in entry


def test_pointers_carried_by_a_loop(backend):
    source = """
    func.func @f(%x: memref<?xi64>, %y: memref<?xi64>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %x, %q = %y) -> (memref<?xi64>, memref<?xi64>) {
        %v = memref.load %p[%i] : memref<?xi64>
        memref.store %v, %q[%i] : memref<?xi64>
        scf.yield %q, %p : memref<?xi64>, memref<?xi64>
      }
      func.return
    }"""
    x, y = np.arange(4), -np.arange(4)
    backend.call(source, x, y, 4)
    assert (x.tolist(), y.tolist()) == ([0, -1, 2, -3], [0, -1, 2, -3])


def test_assume_alignment_and_dim(backend):
    source = """
    func.func @f(%x: memref<?x5xf32>) -> i64 {
      %c1 = arith.constant 1 : index
      %p = memref.assume_alignment %x, 64 : memref<?x5xf32>
      %d = memref.dim %p, %c1 : memref<?x5xf32>
      %r = arith.index_cast %d : index to i64
      func.return %r : i64
    }"""
    assert backend.call(source, np.zeros((2, 5), dtype=np.float32), result="i64") == 5


ROW_SUMS = """
func.func @f(%x: memref<?xf32>, %out: memref<?xf32>, %n: index, %from: index) attributes {tirax.noalias} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<16xf32>
  %total = scf.for %i = %c0 to %n step %c16 iter_args(%acc = %zeros) -> (vector<16xf32>) {
    %left = arith.subi %n, %i : index
    %mask = vector.create_mask %left : vector<16xi1>
    %at = arith.addi %i, %from : index
    %v = vector.maskedload %x[%at], %mask, %zeros : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
    %s = arith.addf %acc, %v : vector<16xf32>
    %twice = arith.addf %v, %v : vector<16xf32>
    vector.maskedstore %out[%at], %mask, %twice : memref<?xf32>, vector<16xi1>, vector<16xf32>
    scf.yield %s : vector<16xf32>
  }
  %sum = vector.reduction <add>, %total, %zero fastmath<reassoc> : vector<16xf32> into f32
  memref.store %sum, %out[%c0] : memref<?xf32>
  func.return
}"""


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 50])
def test_masked_tail_unaligned(backend, n, passes):
    x = np.arange(n + 30, dtype=np.float32)
    out = np.full(n + 30, -1, dtype=np.float32)
    backend.call(ROW_SUMS, x, out, n, 3, run_passes=passes)
    assert out[0] == x[3 : 3 + n].sum()
    np.testing.assert_array_equal(out[3 : 3 + n], 2 * x[3 : 3 + n])
    assert (out[1:3] == -1).all() and (out[3 + n :] == -1).all()


@pytest.mark.parametrize("size", [-5, 0, 3, 8, 2**40])
def test_create_mask_clamps(backend, size):
    source = """
    func.func @f(%n: index, %out: memref<8xi1>) {
      %c0 = arith.constant 0 : index
      %mask = vector.create_mask %n : vector<8xi1>
      vector.store %mask, %out[%c0] : memref<8xi1>, vector<8xi1>
      func.return
    }"""
    out = np.zeros(8, dtype=bool)
    backend.call(source, size, out)
    assert out.sum() == min(max(size, 0), 8)


@pytest.mark.parametrize("kind", ["f64", "f32", "f16", "bf16", "i32", "i8"])
@pytest.mark.parametrize("with_acc", [False, True])
def test_reductions(backend, dtypes, kind, with_acc):
    dtype = dtypes[kind]
    is_float = kind[0] in "fb"
    kinds = {"add": np.sum, "mul": np.prod}
    kinds |= {"minnumf": np.min, "maximumf": np.max} if is_float else {"minsi": np.min, "maxsi": np.max}
    values = np.array([3, -1, 2, 1, -2, 1, 1, 2], dtype=dtype)
    for name, function in kinds.items():
        acc = ", %acc" if with_acc else ""
        source = f"""
        func.func @f(%x: memref<8x{kind}>, %out: memref<2x{kind}>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %acc = memref.load %out[%c0] : memref<2x{kind}>
          %v = vector.load %x[%c0] : memref<8x{kind}>, vector<8x{kind}>
          %r = vector.reduction <{name}>, %v{acc} : vector<8x{kind}> into {kind}
          memref.store %r, %out[%c1] : memref<2x{kind}>
          func.return
        }}"""
        out = np.array([5, 0], dtype=dtype)
        backend.call(source, values, out)
        expected = function(np.append(values, out[0]) if with_acc else values)
        assert float(out[1]) == float(expected), name


def test_vector_shuffling(backend):
    source = """
    func.func @f(%x: memref<4xf32>, %i: index, %out: memref<12xf32>) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>
      %e = vector.extract %v[%i] : f32 from vector<4xf32>
      %b = vector.broadcast %e : f32 to vector<4xf32>
      %w = vector.insert %e, %v[0] : f32 into vector<4xf32>
      %s = vector.shuffle %v, %b [3, 2, 1, 7] : vector<4xf32>, vector<4xf32>
      %f = vector.fma %v, %v, %b : vector<4xf32>
      vector.store %w, %out[%c0] : memref<12xf32>, vector<4xf32>
      vector.store %s, %out[%c4] : memref<12xf32>, vector<4xf32>
      vector.store %f, %out[%c8] : memref<12xf32>, vector<4xf32>
      func.return
    }"""
    x, out = np.array([1, 2, 3, 4], dtype=np.float32), np.zeros(12, dtype=np.float32)
    backend.call(source, x, 2, out)
    assert out.tolist() == [3, 2, 3, 4, 4, 3, 2, 3, 4, 7, 12, 19]


def test_access_attributes(backend):
    text = backend.text("""
    func.func @f(%x: memref<?xf32>, %i: index) {
      %v = vector.load %x[%i] {nontemporal = true} : memref<?xf32>, vector<16xf32>
      vector.store %v, %x[%i] {alignment = 64 : i64} : memref<?xf32>, vector<16xf32>
      func.return
    }""")
    assert "%v = load <16 x float>, ptr %v0, align 4, !nontemporal !0" in text
    assert "store <16 x float> %v, ptr %v1, align 64" in text
    assert "!0 = !{i32 1}" in text


def test_zero_dimensional_memref(backend):
    source = """
    func.func @f(%x: memref<f64>) {
      %v = memref.load %x[] : memref<f64>
      %w = arith.addf %v, %v : f64
      memref.store %w, %x[] : memref<f64>
      func.return
    }"""
    x = np.array(2.5)
    backend.call(source, x)
    assert x == 5


@pytest.mark.parametrize(
    "body, message",
    [
        ("%d = memref.dim %x, %c0 : memref<?x?xf32>", "memref.dim of a dynamic extent"),
        ("%v = memref.load %x[%c0, %c0] : memref<?x?xf32>", "has a stride that is not static"),
        ("%v = arith.constant dense<1.0> : vector<2x2xf32>", "has no counterpart in LLVM"),
        ("%v = arith.constant dense<1.0> : tensor<2xf32>", "has no counterpart in LLVM"),
    ],
)
def test_unsupported_memory_is_named(backend, body, message):
    source = f"""
    func.func @broken(%x: memref<?x?xf32>) {{
      %c0 = arith.constant 0 : index
      {body}
      func.return
    }}"""
    with pytest.raises(UnsupportedError, match=message) as error:
        backend.lower(source)
    assert "@broken" in str(error.value)


def test_all_operations_without_lowering_are_named(backend):
    source = """
    func.func @first() {
      "test.termop"() : () -> ()
    }
    func.func @second() {
      %t = "test.op"() : () -> i32
      func.return
    }"""
    context = backend.context()
    context.load_dialect(Test)
    with pytest.raises(UnsupportedError) as error:
        ConvertToLLVM().apply(context, Parser(context, source).parse_module())
    for part in ("'test.op'", "'test.termop'", "@first", "@second", "hint:"):
        assert part in str(error.value)


def test_higher_level_operations_inside_llvm_functions(backend):
    source = """
    llvm.func @f(%p: !llvm.ptr, %n: i64) -> i64 {
      %x = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<?x2xi64>
      %flat = builtin.unrealized_conversion_cast %p : !llvm.ptr to memref<?xi64>
      %upper = builtin.unrealized_conversion_cast %n : i64 to index
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %zero = arith.constant 0 : i64
      %sum = scf.for %i = %c0 to %upper step %c1 iter_args(%acc = %zero) -> (i64) {
        %v = memref.load %x[%i, %c1] : memref<?x2xi64>
        %w = memref.load %flat[%i] : memref<?xi64>
        %s = arith.addi %acc, %v : i64
        %t = arith.addi %s, %w : i64
        scf.yield %t : i64
      }
      llvm.return %sum : i64
    }"""
    assert backend.call(source, np.arange(10), 3, result="i64") == (1 + 3 + 5) + (0 + 1 + 2)


def test_a_conversion_that_nothing_lowers_is_refused(backend):
    with pytest.raises(UnsupportedError, match="a conversion of"):
        backend.lower("""
        func.func @f(%n: i64) {
          %x = builtin.unrealized_conversion_cast %n : i64 to f32
          func.return
        }""")


def test_index_vectors_and_running_twice(backend):
    module = backend.lower("""
    func.func @f(%n: index) -> vector<4xindex> {
      %c = arith.constant dense<[0, 1, 2, 3]> : vector<4xindex>
      %b = vector.broadcast %n : index to vector<4xindex>
      %s = arith.addi %c, %b : vector<4xindex>
      func.return %s : vector<4xindex>
    }""")
    once = str(module)
    assert "dense<[0, 1, 2, 3]> : vector<4xi64>" in once and "index>" not in once
    ConvertToLLVM().apply(backend.context(), module)
    assert str(module) == once


def test_large_static_index(backend):
    text = backend.text("""
    func.func @f(%x: memref<?xf32>, %v: f32) {
      %big = arith.constant 5000000000 : index
      memref.store %v, %x[%big] : memref<?xf32>
      func.return
    }""")
    assert "getelementptr inbounds float, ptr %x, i64 5000000000" in text


def test_unsupported_signature_is_named(backend):
    with pytest.raises(UnsupportedError, match="type tensor<4xf32> has no counterpart") as error:
        backend.lower("func.func private @taken(tensor<4xf32>)")
    assert "in the signature of function @taken" in str(error.value)
