// RUN: tirax-opt %s -p legalize-ops | filecheck %s
// RUN: tirax-opt %s -p legalize-ops -t tvmscript | filecheck %s --check-prefix=SCRIPT

// Shapes that are known are written down, others are asked of the runtime; effects stay in their order.

// CHECK-LABEL: relax.func @main
// SCRIPT-LABEL: def main
relax.func @main(%x: !relax.tensor<[n, 4], f32>, %u: !relax.tensor<ndim = 2, f32>, %c: !relax.tensor<[], i1>) -> !relax.tensor<[2], i64> impure {
  // CHECK: %s = relax.shape [n, 4]
  %s = relax.shape_of %x : !relax.shape<[n, 4]>
  // CHECK-NEXT: %v = relax.call_pure_packed "vm.builtin.shape_of"(%u) : !relax.shape<ndim = 2>
  %v = relax.shape_of %u : !relax.shape<ndim = 2>
  // CHECK-NEXT: %[[F:.*]] = relax.string "{} {}"
  // CHECK-NEXT: relax.call_packed "relax.run.print"(%[[F]], %s, %v) : tuple<>
  // SCRIPT: R.call_packed("relax.run.print", R.str("{} {}"), s, v, sinfo_args=(R.Tuple,))
  %p = relax.print (%s, %v) {format = "{} {}"} : tuple<>
  // CHECK: relax.call_packed "relax.run.assert_op"(%c, %{{.*}}) : tuple<>
  %a = relax.assert_op %c, () : tuple<>
  // CHECK: %t = relax.call_tir @extents() tir_vars [n] : !relax.tensor<[2], i64>
  %t = relax.shape_to_tensor %s : !relax.tensor<[2], i64>
  relax.return %t : !relax.tensor<[2], i64>
}
