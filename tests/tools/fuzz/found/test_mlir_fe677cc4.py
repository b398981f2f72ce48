"""Found by the fuzzer of mlir."""

from tirax.tools.fuzz.kinds import KINDS

MESSAGE = "failed: StructuralInequalityError: error: the programs are not structurally equal: the functions have different names or visibility"
CASE = """\
"builtin.module"() ({
  "tir.func"() <{sym_name = "cast", sym_visibility = "private(", func_attrs = {op_pattern = 0 : i64, tir.noalias = true}}> ({
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
  "tir.func"() <{sym_name = "quantize", sym_visibility = "private", func_attrs = {op_pattern = 0 : i64, tir.noalias = true}}> ({
  ^bb0(%p2: !tir.buffer<[2, n], f32>, %p3: !tir.buffer<[], f32>, %p4: !tir.buffer<[], i8>, %quantized: !tir.buffer<[2, n], ui8>):
    "tir.for"() <{operandSegmentSizes = array<i32: 0, 0>, min_attr = #sym.expr<0>, extent_attr = #sym.expr<2>}> ({
    ^bb0(%i0: i64):
      "tir.for"() <{operandSegmentSizes = array<i32: 0, 0>, min_attr = #sym.expr<0>, extent_attr = #sym.expr<n>}> ({
      ^bb0(%i1: i64):
        "tir.block"(%i0, %i1) <{block_name = "quantized", iter_kinds = ["spatial", "spatial"], dom_mins = [#sym.expr<0>, #sym.expr<0>], dom_extents = [#sym.expr<2>, #sym.expr<n>], operandSegmentSizes = array<i32: 2, 0>}> ({
        ^bb0(%v_i0: i64, %v_i1: i64):
          "tir.reads"(%p2, %v_i0, %v_i1) <{extents_attr = [#sym.expr<1>, #sym.expr<1>]}> : (!tir.buffer<[2, n], f32>, i64, i64) -> ()
          "tir.reads"(%p3) <{extents_attr = []}> : (!tir.buffer<[], f32>) -> ()
          "tir.reads"(%p4) <{extents_attr = []}> : (!tir.buffer<[], i8>) -> ()
          "tir.writes"(%quantized, %v_i0, %v_i1) <{extents_attr = [#sym.expr<1>, #sym.expr<1>]}> : (!tir.buffer<[2, n], ui8>, i64, i64) -> ()
          %0 = "tir.load"(%p2, %v_i0, %v_i1) : (!tir.buffer<[2, n], f32>, i64, i64) -> f32
          %1 = "tir.load"(%p3) : (!tir.buffer<[], f32>) -> f32
          %2 = "tir.div"(%0, %1) : (f32, f32) -> f32
          %3 = "tir.call_intrin"(%2) <{func = "round"}> : (f32) -> f32
          %4 = "tir.load"(%p4) : (!tir.buffer<[], i8>) -> i8
          %5 = "tir.cast"(%4) : (i8) -> f32
          %6 = "tir.add"(%3, %5) : (f32, f32) -> f32
          %7 = "tir.const"() <{value = 2.550000e+02 : f32}> : () -> f32
          %8 = "tir.min"(%6, %7) : (f32, f32) -> f32
          %9 = "tir.const"() <{value = 0.000000e+00 : f32}> : () -> f32
          %10 = "tir.max"(%8, %9) : (f32, f32) -> f32
          %11 = "tir.cast"(%10) : (f32) -> ui8
          "tir.store"(%11, %quantized, %v_i0, %v_i1) : (ui8, !tir.buffer<[2, n], ui8>, i64, i64) -> ()
        }) : (i64, i64) -> ()
      }) : () -> ()
    }) : () -> ()
  }) : () -> ()
  "relax.func"() <{sym_name = "main", ret_type = tuple<!relax.tensor<[n], f16>, !relax.tensor<[2, n], ui8>>}> ({
  ^bb0(%p1: !relax.tensor<[n], i32>, %p2: !relax.tensor<[2, n], f32>, %p3: !relax.tensor<[], f32>, %p4: !relax.tensor<[], i8>):
    %o0, %o1 = "relax.dataflow"() ({
      %o0_1 = "relax.call_tir"(%p1) <{callee = @cast}> : (!relax.tensor<[n], i32>) -> !relax.tensor<[n], f16>
      %o1_1 = "relax.call_tir"(%p2, %p3, %p4) <{callee = @quantize}> : (!relax.tensor<[2, n], f32>, !relax.tensor<[], f32>, !relax.tensor<[], i8>) -> !relax.tensor<[2, n], ui8>
      "relax.output"(%o0_1, %o1_1) : (!relax.tensor<[n], f16>, !relax.tensor<[2, n], ui8>) -> ()
    }) : () -> (!relax.tensor<[n], f16>, !relax.tensor<[2, n], ui8>)
    %0 = "relax.tuple"(%o0, %o1) : (!relax.tensor<[n], f16>, !relax.tensor<[2, n], ui8>) -> tuple<!relax.tensor<[n], f16>, !relax.tensor<[2, n], ui8>>
    "relax.return"(%0) : (tuple<!relax.tensor<[n], f16>, !relax.tensor<[2, n], ui8>>) -> ()
  }) : () -> ()
}) : () -> ()"""


def test_mlir_fe677cc4() -> None:
    KINDS["mlir"].check(CASE)
