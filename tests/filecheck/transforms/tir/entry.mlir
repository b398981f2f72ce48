// RUN: tirax-opt %s -p annotate-entry-func,force-narrow-index-to-int32 | filecheck %s
// RUN: tirax-opt %s -p bind-target{target=llvm} | filecheck %s --check-prefix TARGET

// CHECK:       tir.func @main{{.*}} attributes {tir.is_entry_func = true}
// CHECK:         tir.for %i = 0 : i32 to 8 : i32 {
// TARGET:      tir.func @main{{.*}} attributes {target = #tir.target<{kind = "llvm"}>}
tir.func @main(%A: !tir.buffer<[8], f32>) {
  %x = tir.const 1.0 : f32
  tir.for %i = 0 to 8 {
    tir.store %x, %A[%i]
  }
}

// who is private is no entry, and what has a target keeps it

// CHECK:       tir.func private @other
// CHECK-NOT:     tir.is_entry_func
// TARGET:      tir.func private @other{{.*}} attributes {target = "cuda"}
tir.func private @other(%A: !tir.buffer<[8], f32>) attributes {target = "cuda"} {
}
