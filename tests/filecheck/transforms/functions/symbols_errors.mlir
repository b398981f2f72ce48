// RUN: not tirax-opt %s -p normalize-global-var 2>&1 | filecheck %s

// CHECK: symbols_errors.mlir:9:1: error: two public functions have the same global symbol
// CHECK: hint: make one of them private
// CHECK: note: 'main' is wanted by @main and @other
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %x : !relax.tensor<[n], f32>
}
relax.func @other(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> attributes {global_symbol = "main"} {
  relax.return %x : !relax.tensor<[n], f32>
}
