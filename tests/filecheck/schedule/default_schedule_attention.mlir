// RUN: tirax-opt %s -p 'legalize-ops,default-schedule{target="llvm -mcpu=x86-64-v4 -vector-width=512"}' | filecheck %s
// RUN: tirax-opt %s -p 'legalize-ops,plan-schedule{target="llvm -mcpu=x86-64-v4 -vector-width=512"}' | filecheck %s --check-prefix PLAN

// Tiles of queries and keys: of the scores, 64 x 512 are in memory. A tile of queries looks at keys up to its last one.
// CHECK-LABEL: tir.func private @attention(
// CHECK-NOT:     alloc_buffer{{.*}}1024
// CHECK:         tir.for %v_ax2 = 0 to 2 {
// CHECK-NEXT:      tir.for %queries = 0 to 16 {
// CHECK:             %scores = tir.alloc_buffer {tirax.padded} : !tir.buffer<[64, 512], f32>
// CHECK:             %[[END:.*]] = tir.min %{{.*}}, %{{.*}} : i64
// CHECK:             tir.for %keys = 0 to
// keys are turned around in registers, 16 x 16 of them at a time
// CHECK:               tir.for %j_strip = 0 to
// CHECK:                 %[[PANEL:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[64, 64], f32>
// CHECK:                 tir.shuffle
// CHECK:                 tir.store %{{.*}}, %[[PANEL]]
// CHECK:                 tir.for %i_tile
// what the mask does not allow counts as minus infinity
// CHECK:                   tir.load %q
// CHECK:                   tir.select
// CHECK-NEXT:              tir.store %{{.*}}, %scores
// the maximum, and by how much the sums before were too large
// CHECK:               tir.store %{{.*}}, %top[
// CHECK:               tir.call_intrin "exp"
// CHECK-NEXT:          tir.store %{{.*}}, %correction[
// CHECK:               tir.store %{{.*}}, %top_before[
// CHECK:               tir.call_intrin "exp"
// CHECK-NEXT:          tir.store %{{.*}}, %scores[
// CHECK:               tir.store %{{.*}}, %total[
// CHECK:               tir.store %{{.*}}, %values[
// CHECK:               tir.load %scores
// CHECK:               tir.load %values
// CHECK:               tir.store %{{.*}}, %mixed[
// CHECK:             tir.load %mixed
// CHECK:             tir.load %total
// CHECK:             tir.div
// CHECK:             tir.store %{{.*}}, %T_transpose[

// PLAN:      sched.sequence @attention {
// PLAN-NEXT:   sched.rule "attention" on "T_batch_matmul_NT" then "T_transpose_3" {queries = 64, keys = 512, parts = 1}
// PLAN-NEXT: }
relax.func @main(
  %q: !relax.tensor<[1, 1024, 2, 64], f32>, %k: !relax.tensor<[1, 1024, 2, 64], f32>, %v: !relax.tensor<[1, 1024, 2, 64], f32>
) -> !relax.tensor<[1, 1024, 2, 64], f32> {
  %y = relax.nn.attention %q, %k, %v {causal_mask = "TopLeft"} : !relax.tensor<[1, 1024, 2, 64], f32>
  relax.return %y : !relax.tensor<[1, 1024, 2, 64], f32>
}

// One query has no scores to save.
// CHECK-LABEL: tir.func private @attention1(
// CHECK-NOT:     %scores
// PLAN-NOT:      "attention"
relax.func @one(
  %q: !relax.tensor<[1, 1, 2, 64], f32>, %k: !relax.tensor<[1, 1024, 2, 64], f32>, %v: !relax.tensor<[1, 1024, 2, 64], f32>
) -> !relax.tensor<[1, 1, 2, 64], f32> {
  %y = relax.nn.attention %q, %k, %v : !relax.tensor<[1, 1, 2, 64], f32>
  relax.return %y : !relax.tensor<[1, 1, 2, 64], f32>
}

// Of few queries and heads the keys are looked at in parts, a tile each in turn, and put together in the end.
// CHECK-LABEL: tir.func private @attention2(
// CHECK:         %[[TOPS:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[16, 3], f32>
// CHECK:         tir.for %part = 0 to 16 {
// CHECK:           tir.for %keys = 0 to
// CHECK:             tir.for %piece = 0 to
// CHECK:           tir.store %{{.*}}, %[[TOPS]][%part
// CHECK:         tir.for %v_ax2 = 0 to 2 {
// CHECK:           tir.load %[[TOPS]]
// CHECK:           tir.store %{{.*}}, %T_transpose[
// PLAN:      sched.sequence @attention2 {
// PLAN-NEXT:   sched.rule "attention" {{.*}} {queries = 3, keys = 128, parts = 8}
relax.func @some(
  %q: !relax.tensor<[1, 3, 2, 64], f32>, %k: !relax.tensor<[1, 1024, 2, 64], f32>, %v: !relax.tensor<[1, 1024, 2, 64], f32>
) -> !relax.tensor<[1, 3, 2, 64], f32> {
  %y = relax.nn.attention %q, %k, %v : !relax.tensor<[1, 3, 2, 64], f32>
  relax.return %y : !relax.tensor<[1, 3, 2, 64], f32>
}
