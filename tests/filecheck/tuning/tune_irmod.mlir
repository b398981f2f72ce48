// RUN: rm -rf %t.dir
// RUN: tirax-opt %s -p 'legalize-ops,meta-schedule-tune-irmod{work_dir="%t.dir" max_trials_global=1 op_names="add" target="llvm -num-cores=1"}' | filecheck %s --check-prefix SAME
// RUN: tirax-opt %s -p 'legalize-ops,meta-schedule-apply-database{work_dir="%t.dir" target="llvm -num-cores=1"}' | filecheck %s

// What the Relax functions call is tuned, here only functions with "add" in their name; the module stays as it is.
// SAME-NOT:   tir.is_scheduled

// CHECK:      tir.func private @add
// CHECK-SAME:   tir.is_scheduled = true
// CHECK:      tir.func private @relu
// CHECK-SAME:   attributes {tir.noalias = true}
relax.func @main(%x: !relax.tensor<[4, 64], f32>, %y: !relax.tensor<[64], f32>) -> !relax.tensor<[4, 64], f32> {
  %lv = relax.add %x, %y : !relax.tensor<[4, 64], f32>
  %lv1 = relax.nn.relu %lv : !relax.tensor<[4, 64], f32>
  relax.return %lv1 : !relax.tensor<[4, 64], f32>
}
