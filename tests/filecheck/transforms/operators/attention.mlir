// RUN: tirax-opt %s -p fuse-attention --check-each | filecheck %s

// As front ends write it: heads are moved in front of the length, and back again.
// CHECK-LABEL: @heads
// CHECK-NEXT:    %[[O:.*]] = relax.dataflow {
// CHECK-NEXT:      relax.shape [1, 1, n, n]
// CHECK-NEXT:      %[[MASK:.*]] = relax.reshape %b
// CHECK-NEXT:      relax.nn.attention %q, %k, %v, bias = %[[MASK]] {scale = 0.5} : !relax.tensor<[2, n, 3, 4], f32>
// CHECK-NEXT:      relax.output
relax.func @heads(
  %q: !relax.tensor<[2, n, 3, 4], f32>, %k: !relax.tensor<[2, n, 3, 4], f32>, %v: !relax.tensor<[2, n, 3, 4], f32>,
  %b: !relax.tensor<[n, n], f32>
) -> !relax.tensor<[2, n, 3, 4], f32> {
  %o = relax.dataflow {
    %q1 = relax.permute_dims %q {axes = [0, 2, 1, 3]} : !relax.tensor<[2, 3, n, 4], f32>
    %k1 = relax.permute_dims %k {axes = [0, 2, 3, 1]} : !relax.tensor<[2, 3, 4, n], f32>
    %v1 = relax.permute_dims %v {axes = [0, 2, 1, 3]} : !relax.tensor<[2, 3, n, 4], f32>
    %s = relax.matmul %q1, %k1 : !relax.tensor<[2, 3, n, n], f32>
    %two = relax.constant <f32 [] 2.0>
    %t = relax.divide %s, %two : !relax.tensor<[2, 3, n, n], f32>
    %u = relax.add %t, %b : !relax.tensor<[2, 3, n, n], f32>
    %w = relax.nn.softmax %u : !relax.tensor<[2, 3, n, n], f32>
    %y = relax.matmul %w, %v1 : !relax.tensor<[2, 3, n, 4], f32>
    %z = relax.permute_dims %y {axes = [0, 2, 1, 3]} : !relax.tensor<[2, n, 3, 4], f32>
    relax.output %z : !relax.tensor<[2, n, 3, 4], f32>
  }
  relax.return %o : !relax.tensor<[2, n, 3, 4], f32>
}

// Heads that stand in front are batches of their own, which moves nothing.
// CHECK-LABEL: @in_front
// CHECK-NOT:     permute_dims
// CHECK:         relax.nn.attention %{{.*}} {scale = 1.0} : !relax.tensor<[6, n, 1, 5], f32>
// CHECK-NEXT:    relax.shape [2, 3, n, 5]
// CHECK-NEXT:    relax.reshape
relax.func @in_front(
  %q: !relax.tensor<[2, 3, n, 4], f32>, %k: !relax.tensor<[2, 3, m, 4], f32>, %v: !relax.tensor<[2, 3, m, 5], f32>
) -> !relax.tensor<[2, 3, n, 5], f32> {
  %kt = relax.permute_dims %k {axes = [0, 1, 3, 2]} : !relax.tensor<[2, 3, 4, m], f32>
  %s = relax.matmul %q, %kt : !relax.tensor<[2, 3, n, m], f32>
  %w = relax.nn.softmax %s : !relax.tensor<[2, 3, n, m], f32>
  %y = relax.matmul %w, %v : !relax.tensor<[2, 3, n, 5], f32>
  relax.return %y : !relax.tensor<[2, 3, n, 5], f32>
}

// The softmax of columns is none of attention.
// CHECK-LABEL: @columns
// CHECK-NOT:     attention
relax.func @columns(
  %q: !relax.tensor<[n, 4], f32>, %k: !relax.tensor<[m, 4], f32>, %v: !relax.tensor<[m, 5], f32>
) -> !relax.tensor<[n, 5], f32> {
  %kt = relax.permute_dims %k : !relax.tensor<[4, m], f32>
  %s = relax.matmul %q, %kt : !relax.tensor<[n, m], f32>
  %w = relax.nn.softmax %s {axis = 0} : !relax.tensor<[n, m], f32>
  %y = relax.matmul %w, %v : !relax.tensor<[n, 5], f32>
  relax.return %y : !relax.tensor<[n, 5], f32>
}
