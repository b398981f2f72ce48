// RUN: tirax-opt %s | tirax-opt | filecheck %s
// RUN: tirax-opt %s -p legalize-ops | filecheck %s --check-prefix LEGAL

// CHECK-LABEL: @main
// LEGAL-LABEL: @main
relax.func @main(%x: !relax.tensor<[b, n, n], f64>, %y: !relax.tensor<[n, k], f64>) -> !relax.tensor<[b, n, k], f64> {
  // CHECK: %c = relax.linalg.cholesky %x {upper = true} : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b], i32>>
  // LEGAL: %c = relax.call_dps_packed "relax.run.linalg.cholesky"(%x, %0, %1) : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b], i32>>
  %c = relax.linalg.cholesky %x {upper = true} : tuple<!relax.tensor<[b, n, n], f64>, !relax.tensor<[b], i32>>
  %u = relax.tuple_get_item %c[0] : !relax.tensor<[b, n, n], f64>
  // CHECK: %q = relax.linalg.qr %y {mode = "r"} : !relax.tensor<[min(n, k), k], f64>
  // LEGAL: %q = relax.call_dps_packed "relax.run.linalg.qr"(%y, %2) : !relax.tensor<[min(n, k), k], f64>
  %q = relax.linalg.qr %y {mode = "r"} : !relax.tensor<[min(n, k), k], f64>
  // CHECK: %s = relax.linalg.solve_triangular %u, %y {upper = true} : !relax.tensor<[b, n, k], f64>
  // LEGAL: %s = relax.call_dps_packed "relax.run.linalg.solve_triangular"(%u, %y, %3, %4) : !relax.tensor<[b, n, k], f64>
  %s = relax.linalg.solve_triangular %u, %y {upper = true} : !relax.tensor<[b, n, k], f64>
  relax.return %s : !relax.tensor<[b, n, k], f64>
}
