// RUN: not tirax-opt -p 'legalize-ops{skip_ops="relax.exq"}' %s 2>&1 | filecheck %s

// CHECK: unknown operator 'relax.exq'
// CHECK: did you mean 'relax.exp'
relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
  %lv = relax.exp %x : !relax.tensor<[4], f32>
  relax.return %lv : !relax.tensor<[4], f32>
}
