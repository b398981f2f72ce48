"""Found by the fuzzer of mlir."""

from tirax.dev.fuzz.kinds import KINDS

MESSAGE = "failed: MLIRSyntaxError: <string>:2:3: error: operation has 0 results, but was given 2 to bind (mlir_text.py:parse_mlir)"
CASE = """\
"builtin.module"() ({
  "relax.func"() <{sym_name = "main", ret_type = tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>}> ({
  ^bb0(%p1: !relax.tensor<[n], f32>, %p2: !relax.tensor<[4], f32>):
    %o0, %o1 = "relax.dataflow"() ({
      %v0 = "relax.outer"(%p1, %p2) : (!relax.tensor<[n], f32>, !relax.tensor<[4], f32>) -> !relax.tensor<[n, 4], f32>
      %0 = "relax.prim_value"() <{value = -2.500000e-01 : f32}> : () -> !relax.prim<f32>
      %1 = "relax.prim_value"() <{value = 5.000000e-01 : f32}> : () -> !relax.prim<f32>
      %v1 = "relax.clip"(%v0, %0, %1) : (!relax.tensor<[n, 4], f32>, !relax.prim<f32>, !relax.prim<f32>) -> !relax.tensor<[n, 4], f32>
      "relax.output"(%v0, %v1) : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> ()
    }) : () -> (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>)
    %2 = "relax.tuple"(%o0, %o1) : (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>) -> tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>
    "relax.return"(%2) : (tuple<!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>>) -> ()
    }) : () -> (!relax.tensor<[n, 4], f32>, !relax.tensor<[n, 4], f32>)
}) : () -> ()"""


def test_mlir_411df057() -> None:
    KINDS["mlir"].check(CASE)
