"""Found by the fuzzer of mlir."""

from tirax.dev.fuzz.kinds import KINDS

MESSAGE = (
    "failed: ValueError: 'block' property of Region class is only available for single-block regions. (core.py:block)"
)
CASE = """\
"builtin.module"() ({
  "tir.func"() <{sym_name = "cast", sym_visibility = "private", func_attrs = {op_pattern = 0 : i64, tir.noalias = true}}> ({
  ^bb0(%p1: !tir.buffer<[n], i32>, %compute: !tir.buffer<[n], f16>):
    "tir.for"() <{operandSegmentSizes = array<i32: 0, 0>, min_attr = #sym.expr<0>, extent_attr = #sym.expr<n>}> ({
    ^bb0(%i0: i64):
      "tir.block"(%i0) <{block_name = "compute", iter_kinds = ["spatial"], dom_mins = [#sym.expr<0>], dom_extents = [#sym.expr<n>], operandSegmentSizes = array<i32: 1, 0>}> ({
      ^bb0(%v_i0: i64):
        "tir.reads"(%p1, %v_i0) <{extents_attr = [#sym.expr<1>]}> : (!tir.buffer<[n], i32>, i64) -> ()
        "tir.writes"(%compute, %v_i0) <{extents_attr = [#sym.expr<1>]}> : (!tir.buffer<[n], f16>, i64) -> ()
        %0 = "tir.load"(%p1, %v_i0) : (!tir.buffer<[n], i32>, i64) -> i32
        %1 = "tir.cast"(%0) : (i32) -> f16
        "tir.store"(%1, %compute, %v_i0) : (f16, !tir.buffer<[n], f16>, i64) -> ()
      }) : (i64) -> ()
    }) : () -> ()
  }) : () -> ()
  "tir.func"() <{sym_name = "reshape", sym_visibility = "private", func_attrs = {op_pattern = 2 : i64, tir.noalias = true}}> ({
  ^bb0(%p2: !tir.buffer<[2, 6, 3], f32>, %T_reshape: !tir.buffer<[4, 1, 9], f32>):
    "tir.for"() <{operandSegmentSizes = array<i32: 0, 0>, min_attr = #sym.expr<0>, extent_attr = #sym.expr<4>}> ({
    ^bb0(%ax0: i64):
      "tir.for"() <{operandSegmentSizes = array<i32: 0, 0>, min_attr = #sym.expr<0>, extent_attr = #sym.expr<1>}> ({
  }) : () -> ()
        "tir.for"() <{operandSegmentSizes = array<i32: 0, 0>, min_attr = #sym.expr<0>, extent_attr = #sym.expr<9>}> ({
        ^bb0(%ax2: i64):
          "tir.block"(%ax0, %ax1, %ax2) <{block_name = "T_reshape", iter_kinds = ["spatial", "spatial", "spatial"], dom_mins = [#sym.expr<0>, #sym.expr<0>, #sym.expr<0>], dom_extents = [#sym.expr<4>, #sym.expr<1>, #sym.expr<9>], operandSegmentSizes = array<i32: 3, 0>}> ({
          ^bb0(%v_ax0: i64, %v_ax1: i64, %v_ax2: i64):
            %0 = "tir.const"() <{value = 9 : i64}> : () -> i64
            %1 = "tir.mul"(%v_ax0, %0) : (i64, i64) -> i64
            %2 = "tir.add"(%1, %v_ax2) : (i64, i64) -> i64
            %3 = "tir.const"() <{value = 18 : i64}> : () -> i64
            %4 = "tir.floordiv"(%2, %3) : (i64, i64) -> i64
            %5 = "tir.const"() <{value = 3 : i64}> : () -> i64
            %6 = "tir.mul"(%v_ax0, %5) : (i64, i64) -> i64
            %7 = "tir.floordiv"(%v_ax2, %5) : (i64, i64) -> i64
            %8 = "tir.add"(%6, %7) : (i64, i64) -> i64
            %9 = "tir.const"() <{value = 6 : i64}> : () -> i64
            %10 = "tir.floormod"(%8, %9) : (i64, i64) -> i64
            %11 = "tir.floormod"(%v_ax2, %5) : (i64, i64) -> i64
            "tir.reads"(%p2, %4, %10, %11) <{extents_attr = [#sym.expr<1>, #sym.expr<1>, #sym.expr<1>]}> : (!tir.buffer<[2, 6, 3], f32>, i64, i64, i64) -> ()
            "tir.writes"(%T_reshape, %v_ax0, %v_ax1, %v_ax2) <{extents_attr = [#sym.expr<1>, #sym.expr<1>, #sym.expr<1>]}> : (!tir.buffer<[4, 1, 9], f32>, i64, i64, i64) -> ()
            %12 = "tir.const"() <{value = 9 : i64}> : () -> i64
            %13 = "tir.mul"(%v_ax0, %12) : (i64, i64) -> i64
            %14 = "tir.add"(%13, %v_ax2) : (i64, i64) -> i64
            %15 = "tir.const"() <{value = 18 : i64}> : () -> i64
            %16 = "tir.floordiv"(%14, %15) : (i64, i64) -> i64
            %17 = "tir.const"() <{value = 3 : i64}> : () -> i64
            %18 = "tir.mul"(%v_ax0, %17) : (i64, i64) -> i64
            %19 = "tir.floordiv"(%v_ax2, %17) : (i64, i64) -> i64
            %20 = "tir.add"(%18, %19) : (i64, i64) -> i64
            %21 = "tir.const"() <{value = 6 : i64}> : () -> i64
            %22 = "tir.floormod"(%20, %21) : (i64, i64) -> i64
            %23 = "tir.const"() <{value = 3 : i64}> : () -> i64
            %24 = "tir.floormod"(%v_ax2, %23) : (i64, i64) -> i64
            %25 = "tir.load"(%p2, %16, %22, %24) : (!tir.buffer<[2, 6, 3], f32>, i64, i64, i64) -> f32
            "tir.store"(%25, %T_reshape, %v_ax0, %v_ax1, %v_ax2) : (f32, !tir.buffer<[4, 1, 9], f32>, i64, i64, i64) -> ()
          }) : (i64, i64, i64) -> ()
        }) : () -> ()
      }) : () -> ()
    }) : () -> ()
      ^bb0(%ax1: i64):
  "relax.func"() <{sym_name = "main", ret_type = tuple<!relax.tensor<[n], f16>, !relax.tensor<[4, 1, 9], f32>>}> ({
  ^bb0(%p1: !relax.tensor<[n], i32>, %p2: !relax.tensor<[2, 6, 3], f32>):
    %o0, %o1 = "relax.dataflow"() ({
      %o0_1 = "relax.call_tir"(%p1) <{callee = @cast}> : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], f16>
      %o1_1 = "relax.call_tir"(%p2) <{callee = @reshape}> : (!relax.tensor<[2, 6, 3], f32>) -> !relax.tensor<[4, 1, 9], f32>
      "relax.output"(%o0_1, %o1_1) : (!relax.tensor<[n], f16>, !relax.tensor<[4, 1, 9], f32>) -> ()
    }) : () -> (!relax.tensor<[n], f16>, !relax.tensor<[4, 1, 9], f32>)
    %0 = "relax.tuple"(%o0, %o1) : (!relax.tensor<[n], f16>, !relax.tensor<[4, 1, 9], f32>) -> tuple<!relax.tensor<[n], f16>, !relax.tensor<[4, 1, 9], f32>>
    "relax.return"(%0) : (tuple<!relax.tensor<[n], f16>, !relax.tensor<[4, 1, 9], f32>>) -> ()
  }) : () -> ()
}) : () -> ()"""


def test_mlir_5bf40351() -> None:
    KINDS["mlir"].check(CASE)
