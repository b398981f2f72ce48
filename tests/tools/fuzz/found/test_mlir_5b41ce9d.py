"""Found by the fuzzer of mlir."""

from tirax.tools.fuzz.kinds import KINDS

MESSAGE = "failed: TypeError: unhashable type: 'Functions' (verify.py:_verify_op)"
CASE = """\
builtin.module {
builtin.module {
  tir.func private @left_shift(%p1: !tir.buffer<[n], i32>, %p1_1: !tir.buffer<[n], i32>, %T_left_shift: !tir.buffer<[n], i32>) attributes {tir.noalias = true} {
    tir.for %ax0 = 0 to n {
      tir.block "T_left_shift" (%v_ax0 = spatial(%ax0, n)) {
        tir.reads %p1[%v_ax0]
        tir.reads %p1_1[%v_ax0]
        tir.writes %T_left_shift[%v_ax0]
        %0 = tir.load %p1[%v_ax0] : i32
        %1 = tir.load %p1_1[%v_ax0] : i32
        %2 = tir.call_intrin "shift_left"(%0, %1) : i32
        tir.store %2, %T_left_shift[%v_ax0]
      }
    }
  }
  tir.func private @where(%p2: !tir.buffer<[n, 1], i1>, %p3: !tir.buffer<[n, 4], f32>, %p4: !tir.buffer<[4], f32>, %T_where: !tir.buffer<[n, 4], f32>) attributes {tir.noalias = true} {
    tir.for %ax0 = 0 to n {
      tir.for %ax1 = 0 to 4 {
        tir.block "T_where" (%v_ax0 = spatial(%ax0, n), %v_ax1 = spatial(%ax1, 4)) {
          %0 = tir.const 0 : i64
          tir.reads %p2[%v_ax0, %0]
          tir.reads %p3[%v_ax0, %v_ax1]
          tir.reads %p4[%v_ax1]
          tir.writes %T_where[%v_ax0, %v_ax1]
          %1 = tir.const 0 : i64
          %2 = tir.load %p2[%v_ax0, %1] : i1
          %3 = tir.load %p3[%v_ax0, %v_ax1] : f32
          %4 = tir.load %p4[%v_ax1] : f32
          %5 = tir.select %2, %3, %4 : f32
          tir.store %5, %T_where[%v_ax0, %v_ax1]
        }
      }
    }
  }
  relax.func @main(%p1: !relax.tensor<[n], i32>, %p2: !relax.tensor<[n, 1], i1>, %p3: !relax.tensor<[n, 4], f32>, %p4: !relax.tensor<[4], f32>) -> tuple<!relax.tensor<[n], i32>, !relax.tensor<[n, 4], f32>> {
    %o0, %o1 = relax.dataflow {
      %v0 = relax.call_tir @left_shift(%p1, %p1) : !relax.tensor<[n], i32>
      %v1 = relax.call_tir @where(%p2, %p3, %p4) : !relax.tensor<[n, 4], f32>
      relax.output %v0, %v1 : !relax.tensor<[n], i32>, !relax.tensor<[n, 4], f32>
    }
    %0 = relax.tuple(%o0, %o1)
    relax.return %0 : tuple<!relax.tensor<[n], i32>, !relax.tensor<[n, 4], f32>>
  }}
}"""


def test_mlir_5b41ce9d() -> None:
    KINDS["mlir"].check(CASE)
