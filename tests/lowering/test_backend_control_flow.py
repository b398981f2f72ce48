"""scf and cf, run natively: loops, conditions, phis and their corner cases."""

import numpy as np
import pytest
from strength import only_full
from xdsl.dialects import llvm

from tirax.lowering.llvm_text import print_llvm

BOTH = pytest.mark.parametrize("passes", [True, False], ids=["optimised", "plain"])

AXPY = """
func.func @f(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>, %n: index) attributes {tirax.noalias} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %0 = memref.load %x[%i] : memref<?xf32>
    %1 = memref.load %y[%i] : memref<?xf32>
    %2 = arith.mulf %a, %0 : f32
    %3 = arith.addf %2, %1 : f32
    memref.store %3, %y[%i] : memref<?xf32>
  } {loop_annotation = #llvm.loop_annotation<vectorize = <disable = false>, unroll = <count = 4 : i32>>}
  func.return
}"""


@BOTH
@pytest.mark.parametrize("n", [0, 1, 2, 37, 256])
def test_loop(backend, n, passes):
    x, y = np.arange(n + 1, dtype=np.float32), np.ones(n + 1, dtype=np.float32)
    backend.call(AXPY, np.float32(3), x, y, n, run_passes=passes)
    expected = np.ones(n + 1, dtype=np.float32)
    expected[:n] += 3 * x[:n]
    np.testing.assert_array_equal(y, expected)


MATMUL = """
func.func @f(%a: memref<5x7xf64>, %b: memref<7x3xf64>, %c: memref<5x3xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %zero = arith.constant 0.0 : f64
  scf.for %i = %c0 to %c5 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %sum = scf.for %k = %c0 to %c7 step %c1 iter_args(%acc = %zero) -> (f64) {
        %0 = memref.load %a[%i, %k] : memref<5x7xf64>
        %1 = memref.load %b[%k, %j] : memref<7x3xf64>
        %2 = arith.mulf %0, %1 : f64
        %3 = arith.addf %acc, %2 : f64
        scf.yield %3 : f64
      }
      memref.store %sum, %c[%i, %j] : memref<5x3xf64>
    }
  }
  func.return
}"""


@BOTH
def test_nested_loops_with_carried_value(backend, passes):
    rng = np.random.default_rng(0)
    a, b, c = rng.random((5, 7)), rng.random((7, 3)), np.empty((5, 3))
    backend.call(MATMUL, a, b, c, run_passes=passes)
    np.testing.assert_allclose(c, a @ b, rtol=1e-14)


COLLATZ = """
func.func @f(%start: i64) -> i64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %last, %steps = scf.while (%n = %start, %count = %c0) : (i64, i64) -> (i64, i64) {
    %go = arith.cmpi ne, %n, %c1 : i64
    scf.condition(%go) %n, %count : i64, i64
  } do {
  ^bb0(%n: i64, %count: i64):
    %rest = arith.remsi %n, %c2 : i64
    %even = arith.cmpi eq, %rest, %c0 : i64
    %next = scf.if %even -> (i64) {
      %half = arith.divsi %n, %c2 : i64
      scf.yield %half : i64
    } else {
      %triple = arith.muli %n, %c3 : i64
      %odd = arith.addi %triple, %c1 : i64
      scf.yield %odd : i64
    }
    %more = arith.addi %count, %c1 : i64
    scf.yield %next, %more : i64, i64
  }
  func.return %steps : i64
}"""


@BOTH
@pytest.mark.parametrize("start, steps", [(1, 0), (2, 1), (27, 111)])
def test_while_and_if_with_results(backend, start, steps, passes):
    assert backend.call(COLLATZ, start, result="i64", run_passes=passes) == steps


def test_if_without_else(backend):
    source = """
    func.func @f(%cond: i1, %x: memref<1xi64>) {
      %c0 = arith.constant 0 : index
      %v = arith.constant 7 : i64
      scf.if %cond { memref.store %v, %x[%c0] : memref<1xi64> }
      func.return
    }"""
    for cond, expected in ((True, 7), (False, 0)):
        x = np.zeros(1, dtype=np.int64)
        backend.call(source, cond, x)
        assert x[0] == expected


SWITCH = """
func.func @f(%i: i64) -> i64 {
  %index = arith.index_cast %i : i64 to index
  %r = scf.index_switch %index -> i64
  case 2 { %a = arith.constant 20 : i64  scf.yield %a : i64 }
  case 5 { %b = arith.constant 50 : i64  scf.yield %b : i64 }
  default { %c = arith.constant -1 : i64  scf.yield %c : i64 }
  func.return %r : i64
}"""


def test_index_switch(backend):
    assert [backend.call(SWITCH, i, result="i64") for i in (2, 5, 0, 3)] == [20, 50, -1, -1]


def test_parallel_runs_as_a_nest(backend):
    source = """
    func.func @f(%x: memref<3x4xi64>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      "scf.parallel"(%c0, %c0, %c3, %c4, %c1, %c1) <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
      ^bb0(%i: index, %j: index):
        %p = arith.muli %i, %c4 : index
        %q = arith.addi %p, %j : index
        %v = arith.index_cast %q : index to i64
        memref.store %v, %x[%i, %j] : memref<3x4xi64>
        scf.reduce
      }) : (index, index, index, index, index, index) -> ()
      func.return
    }"""
    x = np.zeros((3, 4), dtype=np.int64)
    backend.call(source, x)
    np.testing.assert_array_equal(x, np.arange(12).reshape(3, 4))


def test_both_edges_to_one_block_with_different_values(backend):
    source = """
    func.func @f(%cond: i1, %a: i64, %b: i64) -> i64 {
      cf.cond_br %cond, ^bb1(%a, %b : i64, i64), ^bb1(%b, %b : i64, i64)
    ^bb1(%x: i64, %y: i64):
      %r = arith.subi %x, %y : i64
      func.return %r : i64
    }"""
    assert backend.call(source, True, 10, 3, result="i64") == 7
    assert backend.call(source, False, 10, 3, result="i64") == 0


def test_switch_with_several_edges_to_one_block(backend):
    source = """
    func.func @f(%flag: i64, %a: i64, %b: i64) -> i64 {
      cf.switch %flag : i64, [
        default: ^bb1(%a : i64),
        3: ^bb1(%b : i64),
        4: ^bb2,
        5: ^bb1(%flag : i64)
      ]
    ^bb1(%x: i64):
      func.return %x : i64
    ^bb2:
      %m = arith.constant -1 : i64
      func.return %m : i64
    }"""
    assert [backend.call(source, i, 70, 80, result="i64") for i in (0, 3, 4, 5)] == [70, 80, -1, 5]


def test_swapped_loop_variables_and_blocks_out_of_order(backend):
    source = """
    func.func @f(%n: i64) -> i64 {
      %c0 = arith.constant 0 : i64
      %c1 = arith.constant 1 : i64
      cf.br ^bb1(%c0, %c0, %c1 : i64, i64, i64)
    ^bb2:
      func.return %a : i64
    ^bb1(%i: i64, %a: i64, %b: i64):
      %next = arith.addi %i, %c1 : i64
      %sum = arith.addi %a, %b : i64
      %more = arith.cmpi slt, %i, %n : i64
      cf.cond_br %more, ^bb1(%next, %b, %sum : i64, i64, i64), ^bb2
    }"""
    assert [backend.call(source, n, result="i64") for n in range(8)] == [0, 1, 1, 2, 3, 5, 8, 13]


def test_entry_block_as_loop_header(backend):
    module = backend.parse("""
    llvm.func @f(%n: i64, %acc: i64) -> i64 {
      %c0 = llvm.mlir.constant(0) : i64
      %c1 = llvm.mlir.constant(1) : i64
      %done = llvm.icmp "eq" %n, %c0 : i64
      %less = llvm.sub %n, %c1 : i64
      %more = llvm.add %acc, %n : i64
      llvm.cond_br %done, ^bb1, ^bb1
    ^bb1:
      llvm.return %acc : i64
    }""")
    entry, end = module.body.block.first_op.body.blocks
    _, _, done, less, more, branch = entry.ops
    entry.erase_op(branch)
    entry.add_op(llvm.CondBrOp(done, end, (), entry, (less, more)))  # MLIR text has no name for an entry block
    assert backend.call_loaded(backend.load_text(print_llvm(module)), "f", (5, 0), "i64") == 15


@only_full
def test_many_loops_take_linear_time_and_stay_right(backend):
    body = "\n".join(
        f"""%s{i + 1} = scf.for %i{i} = %c0 to %c3 step %c1 iter_args(%a{i} = %s{i}) -> (i64) {{
          %t{i} = arith.addi %a{i}, %one : i64
          scf.yield %t{i} : i64
        }}"""
        for i in range(300)
    )
    source = f"""
    func.func @f(%s0: i64) -> i64 {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %one = arith.constant 1 : i64
      {body}
      func.return %s300 : i64
    }}"""
    assert backend.call(source, 5, result="i64", opt_level=1) == 905


def test_several_results_and_calls(backend):
    source = """
    func.func private @both(%a: i64, %b: i64) -> (i64, i64) {
      %s = arith.addi %a, %b : i64
      %d = arith.subi %a, %b : i64
      func.return %s, %d : i64, i64
    }
    func.func @f(%a: i64, %b: i64) -> i64 {
      %s, %d = func.call @both(%a, %b) : (i64, i64) -> (i64, i64)
      %p = arith.muli %s, %d : i64
      func.return %p : i64
    }"""
    assert backend.call(source, 7, 3, result="i64") == 40
    assert "define internal" in backend.text(source)


def test_recursion_and_external_function(backend):
    source = """
    func.func private @labs(i64) -> i64
    func.func @f(%n: i64) -> i64 {
      %c0 = arith.constant 0 : i64
      %neg = arith.cmpi slt, %n, %c0 : i64
      %r = scf.if %neg -> (i64) {
        %p = func.call @labs(%n) : (i64) -> i64
        %q = func.call @f(%p) : (i64) -> i64
        scf.yield %q : i64
      } else {
        scf.yield %n : i64
      }
      func.return %r : i64
    }"""
    assert backend.call(source, -12, result="i64") == 12
