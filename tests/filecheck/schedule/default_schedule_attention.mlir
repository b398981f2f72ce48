// RUN: tirax-opt %s -p 'legalize-ops,default-schedule{target="llvm -mcpu=x86-64-v4 -vector-width=512"}' | filecheck %s
// RUN: tirax-opt %s -p 'legalize-ops,plan-schedule{target="llvm -mcpu=x86-64-v4 -vector-width=512"}' | filecheck %s --check-prefix PLAN

// Tiles of queries and keys: 64 x 512 of the scores are in memory. A tile of queries uses the keys up to its last query.
// CHECK-LABEL: tir.func private @attention(
// CHECK-NOT:     alloc_buffer{{.*}}1024
// CHECK:         tir.for %v_ax2 = 0 to 2 {
// CHECK-NEXT:      tir.for %queries = 0 to 16 {
// CHECK:             %scores = tir.alloc_buffer {tirax.padded} : !tir.buffer<[64, 512], f32>
// CHECK:             %[[END:.*]] = tir.min %{{.*}}, %{{.*}} : i64
// CHECK:             tir.for %keys = 0 to
// keys are transposed in registers, 16 x 16 of them at a time
// CHECK:               tir.for %j_strip = 0 to
// CHECK:                 %[[PANEL:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[64, 64], f32>
// CHECK:                 tir.shuffle
// CHECK:                 tir.store %{{.*}}, %[[PANEL]]
// CHECK:                 tir.for %i_tile
// masked scores are minus infinity
// CHECK:                   tir.load %q
// CHECK:                   tir.select
// CHECK-NEXT:              tir.store %{{.*}}, %scores
// the maximum of the tile, its powers, and zeros after them, which are added, too
// CHECK:               tir.store %{{.*}}, %top[
// CHECK:               tir.call_intrin "exp"
// CHECK-NEXT:          tir.store %{{.*}}, %scores[
// CHECK:               tir.const 0.0
// CHECK:               tir.store %{{.*}}, %scores[
// CHECK:               tir.store %{{.*}}, %total[
// the factors of the earlier tiles and of this one
// CHECK:               tir.store %{{.*}}, %next_top[
// CHECK:               tir.call_intrin "exp"
// CHECK-NEXT:          tir.store %{{.*}}, %correction[
// CHECK:               tir.call_intrin "exp"
// CHECK-NEXT:          tir.store %{{.*}}, %share[
// CHECK:               tir.store %{{.*}}, %merged_total[
// CHECK:               tir.store %{{.*}}, %merged_top[
// CHECK:               tir.store %{{.*}}, %values[
// CHECK:               tir.load %scores
// CHECK:               tir.load %values
// CHECK:               tir.call_intrin "strict_multiply"
// CHECK:               tir.call_intrin "fma"
// CHECK:               tir.store %{{.*}}, %merged[
// CHECK:             tir.load %merged[
// CHECK:             tir.load %merged_total
// CHECK:             tir.div
// CHECK:             tir.store %{{.*}}, %T_transpose[

// PLAN:      sched.sequence @attention {
// PLAN-NEXT:   sched.rule "attention" on "T_batch_matmul_NT" then "T_transpose_3" {queries = 64, keys = 512}
// PLAN-NEXT: }
relax.func @main(
  %q: !relax.tensor<[1, 1024, 2, 64], f32>, %k: !relax.tensor<[1, 1024, 2, 64], f32>, %v: !relax.tensor<[1, 1024, 2, 64], f32>
) -> !relax.tensor<[1, 1024, 2, 64], f32> {
  %y = relax.nn.attention %q, %k, %v {causal_mask = "TopLeft"} : !relax.tensor<[1, 1024, 2, 64], f32>
  relax.return %y : !relax.tensor<[1, 1024, 2, 64], f32>
}

// The keys of one query are copied in the order in which many queries read them; tiles of keys are computed by
// themselves, and merged in their order at the end.
// CHECK-LABEL: tir.func private @attention1(
// CHECK:         %[[TOPS:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[4, 1], f32>
// CHECK:         tir.for %part = 0 to 4 {
// CHECK:           %keys = tir.alloc_buffer {tirax.padded} : !tir.buffer<[64, 64], f32>
// CHECK:             tir.for %piece = 0 to 4
// CHECK:               tir.shuffle
// CHECK:               tir.store %{{.*}}, %keys[
// CHECK:             tir.store %{{.*}}, %scores[
// CHECK:           tir.store %{{.*}}, %[[TOPS]][%part
// CHECK:         tir.for %v_ax2 = 0 to 2 {
// CHECK:           tir.for %part_1 = 0 to 2 {
// CHECK:             tir.load %[[TOPS]]
// CHECK:           tir.store %{{.*}}, %T_transpose[
// PLAN:      sched.sequence @attention1 {
// PLAN-NEXT:   sched.rule "attention" {{.*}} {queries = 1, keys = 512}
relax.func @one(
  %q: !relax.tensor<[1, 1, 2, 64], f32>, %k: !relax.tensor<[1, 1024, 2, 64], f32>, %v: !relax.tensor<[1, 1024, 2, 64], f32>
) -> !relax.tensor<[1, 1, 2, 64], f32> {
  %y = relax.nn.attention %q, %k, %v : !relax.tensor<[1, 1, 2, 64], f32>
  relax.return %y : !relax.tensor<[1, 1, 2, 64], f32>
}

// So are those of a few queries.
// CHECK-LABEL: tir.func private @attention2(
// CHECK:         %[[TOPS:.*]] = tir.alloc_buffer {tirax.padded} : !tir.buffer<[4, 3], f32>
// CHECK:         tir.for %part = 0 to 4 {
// CHECK:             tir.for %piece = 0 to
// CHECK:           tir.store %{{.*}}, %[[TOPS]][%part
// CHECK:         tir.for %v_ax2 = 0 to 2 {
// CHECK:           tir.load %[[TOPS]]
// CHECK:           tir.store %{{.*}}, %T_transpose[
// PLAN:      sched.sequence @attention2 {
// PLAN-NEXT:   sched.rule "attention" {{.*}} {queries = 3, keys = 512}
relax.func @some(
  %q: !relax.tensor<[1, 3, 2, 64], f32>, %k: !relax.tensor<[1, 1024, 2, 64], f32>, %v: !relax.tensor<[1, 1024, 2, 64], f32>
) -> !relax.tensor<[1, 3, 2, 64], f32> {
  %y = relax.nn.attention %q, %k, %v : !relax.tensor<[1, 3, 2, 64], f32>
  relax.return %y : !relax.tensor<[1, 3, 2, 64], f32>
}
