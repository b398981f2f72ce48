// RUN: tirax-opt %s -p to-mixed-precision | filecheck %s
// RUN: tirax-opt %s -p 'to-mixed-precision{out_dtype="bfloat16" fp16_input_names="w"}' | filecheck %s --check-prefix BF
// RUN: tirax-opt %s -p decompose-ops-for-training --check-each | filecheck %s --check-prefix TRAIN
// RUN: not tirax-opt %s -p 'to-mixed-precision{dtype="int8"}' 2>&1 | filecheck %s --check-prefix BAD
// RUN: not tirax-opt %s -p 'to-mixed-precision{fp16_input_names="weight"}' 2>&1 | filecheck %s --check-prefix NAME

// BAD: mixed precision has no such dtype
// NAME: unknown parameter 'weight'

// CHECK-LABEL: @dense(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, 4], f32>)
// BF-LABEL: @dense(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, 4], bf16>)
relax.func @dense(%x: !relax.tensor<[n, 4], f32>, %w: !relax.tensor<[4, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %gv = relax.dataflow {
    // CHECK: %lv = relax.astype %x {dtype = f16} : !relax.tensor<[n, 4], f16>
    // CHECK-NEXT: %lv1 = relax.astype %w {dtype = f16} : !relax.tensor<[4, 4], f16>
    // CHECK-NEXT: %lv2 = relax.matmul %lv, %lv1 {out_dtype = f32} : !relax.tensor<[n, 4], f32>
    // CHECK-NEXT: %a = relax.astype %lv2 {dtype = f16} : !relax.tensor<[n, 4], f16>
    // BF: %lv = relax.astype %x {dtype = bf16} : !relax.tensor<[n, 4], bf16>
    // BF-NEXT: %a = relax.matmul %lv, %w {out_dtype = bf16} : !relax.tensor<[n, 4], bf16>
    %a = relax.matmul %x, %w : !relax.tensor<[n, 4], f32>
    // CHECK-NEXT: %b = relax.nn.relu %a : !relax.tensor<[n, 4], f16>
    // BF-NEXT: %b = relax.nn.relu %a : !relax.tensor<[n, 4], bf16>
    %b = relax.nn.relu %a : !relax.tensor<[n, 4], f32>
    // CHECK-NEXT: %lv3 = relax.astype %b {dtype = f32} : !relax.tensor<[n, 4], f32>
    // CHECK-NEXT: {{.*}} = relax.nn.softmax %lv3 : !relax.tensor<[n, 4], f32>
    %gv = relax.nn.softmax %b : !relax.tensor<[n, 4], f32>
    relax.output %gv : !relax.tensor<[n, 4], f32>
  }
  relax.return %gv : !relax.tensor<[n, 4], f32>
}

// What is neither float32 nor in a dataflow block stays as it is.
// CHECK-LABEL: @others
relax.func @others(%i: !relax.tensor<[4, 4], i32>, %x: !relax.tensor<[4, 4], f32>)
    -> tuple<!relax.tensor<[4, 4], i32>, !relax.tensor<[4, 4], f32>> {
  // CHECK-NOT: relax.astype
  %gv = relax.dataflow {
    %gv = relax.matmul %i, %i : !relax.tensor<[4, 4], i32>
    relax.output %gv : !relax.tensor<[4, 4], i32>
  }
  %gv1 = relax.matmul %x, %x : !relax.tensor<[4, 4], f32>
  %out = relax.tuple(%gv, %gv1)
  relax.return %out : tuple<!relax.tensor<[4, 4], i32>, !relax.tensor<[4, 4], f32>>
}

// TRAIN-LABEL: @norm
relax.func @norm(%x: !relax.tensor<[n, 3], f32>, %g: !relax.tensor<[3], f32>) -> !relax.tensor<[n, 3], f32> {
  // TRAIN: [[mean:%[a-z0-9]+]] = relax.mean %x {axis = [-1], keepdims = true} : !relax.tensor<[n, 1], f32>
  // TRAIN-NEXT: relax.subtract %x, [[mean]]
  // TRAIN-NEXT: relax.variance %x {axis = [-1], keepdims = true}
  // TRAIN-NOT: relax.nn.layer_norm
  %y = relax.nn.layer_norm %x, %g, %g {axes = [-1]} : !relax.tensor<[n, 3], f32>
  relax.return %y : !relax.tensor<[n, 3], f32>
}
