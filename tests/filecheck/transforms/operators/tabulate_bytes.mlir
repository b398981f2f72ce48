// RUN: tirax-opt %s -p 'tabulate-bytes{target="llvm -mcpu=haswell"}' --check-each | filecheck %s
// RUN: tirax-opt %s -p 'tabulate-bytes{target="llvm -mcpu=icelake-server -vector-width=512"}' --check-each | filecheck %s --check-prefix NONE
// RUN: not tirax-opt %s -p 'tabulate-bytes{targets="llvm"}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: targets
// NONE-NOT: relax.take
// All of it is computed of 256 bytes, which are signed here, and looked up.
// CHECK-LABEL: relax.func @signed(
relax.func @signed(%q: !relax.tensor<[n, 8], i8>) -> !relax.tensor<[n, 8], ui8> {
  // CHECK: [[d:%[a-z0-9]+]] = relax.dequantize %{{.*}} {axis = 0} : !relax.tensor<[256], f32>
  // CHECK: [[e:%[a-z0-9]+]] = relax.erf [[d]]
  // CHECK: [[m:%[a-z0-9]+]] = relax.multiply [[d]], [[e]]
  // CHECK: [[t:%[a-z0-9]+]] = relax.astype [[m]] {dtype = ui8} : !relax.tensor<[256], ui8>
  // CHECK: [[w:%[a-z0-9]+]] = relax.astype %q {dtype = i32} : !relax.tensor<[n, 8], i32>
  // CHECK: [[i:%[a-z0-9]+]] = relax.subtract [[w]],
  // CHECK: relax.take [[t]], [[i]] {axis = 0{{.*}}} : !relax.tensor<[n, 8], ui8>
  %s = relax.constant <f32 [] 0.5>
  %z = relax.constant <i8 [] 3>
  %d = relax.dequantize %q, %s, %z : !relax.tensor<[n, 8], f32>
  %e = relax.erf %d : !relax.tensor<[n, 8], f32>
  %m = relax.multiply %d, %e : !relax.tensor<[n, 8], f32>
  %y = relax.astype %m {dtype = ui8} : !relax.tensor<[n, 8], ui8>
  relax.return %y : !relax.tensor<[n, 8], ui8>
}
// What is cheap stays.
// CHECK-LABEL: relax.func @cheap(
// CHECK-NOT: relax.take
relax.func @cheap(%q: !relax.tensor<[n, 8], ui8>) -> !relax.tensor<[n, 8], ui8> {
  %s = relax.constant <f32 [] 0.5>
  %z = relax.constant <ui8 [] 3>
  %d = relax.dequantize %q, %s, %z : !relax.tensor<[n, 8], f32>
  %m = relax.multiply %d, %d : !relax.tensor<[n, 8], f32>
  %y = relax.astype %m {dtype = ui8} : !relax.tensor<[n, 8], ui8>
  relax.return %y : !relax.tensor<[n, 8], ui8>
}
