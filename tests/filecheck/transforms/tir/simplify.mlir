// RUN: tirax-opt %s -p simplify | filecheck %s --check-prefix SIMPLE
// RUN: tirax-opt %s -p remove-no-op | filecheck %s --check-prefix NOOP
// RUN: tirax-opt %s -p remove-assume | filecheck %s --check-prefix ASSUME
// RUN: tirax-opt %s -p skip-assert | filecheck %s --check-prefix ASSERT
// RUN: tirax-opt %s -p tir-simplify | filecheck %s --check-prefix ONCE
// RUN: tirax-opt %s -p common-subexpr-elim-tir | filecheck %s --check-prefix CSE

// SIMPLE-LABEL: tir.func @known
// SIMPLE:         tir.assert %c, "n"
// SIMPLE-NEXT:    tir.for %i = 0 to 8 {
// SIMPLE-NEXT:      %x = tir.load %A[%i] : f32
// SIMPLE-NEXT:      tir.store %x, %Y[%i]
// ASSERT-LABEL: tir.func @known
// ASSERT-NOT:     tir.assert
// ASSERT:         tir.func @open
// CSE-LABEL:    tir.func @known
// CSE-NOT:        tir.let
// CSE:          tir.func @open
// ONCE-LABEL:   tir.func @known
// ONCE:           tir.for %i = 0 to 8 {
// ASSUME-LABEL: tir.func @known
// ASSUME:         tir.assert
tir.func @known(%n: i64, %A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %eight = tir.const 8 : i64
  %nine = tir.const 9 : i64
  %c = tir.lt %n, %eight : i64
  tir.assert %c, "n"
  tir.for %i = 0 to 8 {
    %d = tir.lt %n, %nine : i64
    %e = tir.lt %i, %eight : i64
    %b = tir.and %d, %e : i1
    tir.if %b {
      %m = tir.mul %i, %eight : i64
      %q = tir.floordiv %m, %eight : i64
      %x = tir.load %A[%q] : f32
      tir.store %x, %Y[%i]
    }
  }
}

// SIMPLE-LABEL: tir.func @open
// SIMPLE:         %d = tir.lt %n, %eight : i64
// SIMPLE-NEXT:    tir.if %d {
// NOOP-LABEL:   tir.func @open
// NOOP:           tir.call_intrin "assume"(%d) : i1
// NOOP-NEXT:      tir.evaluate %a : i1
// NOOP-NOT:       tir.evaluate
// ASSUME:       tir.func @open
// ASSUME-NOT:     assume
// CSE:            %cse_var.1 = tir.let {{.*}} : i64 -> i64
// CSE-NEXT:       tir.load %A[%cse_var.1] : f32
// CSE-NEXT:       tir.store {{.*}}, %Y[%cse_var.1]
// ONCE-LABEL:   tir.func @open
// ONCE:           tir.for %i = 0 to 8 {
// ONCE-NOT:       tir.for
tir.func @open(%n: i64, %A: !tir.buffer<[8], f32>, %Y: !tir.buffer<[8], f32>) {
  %eight = tir.const 8 : i64
  tir.for %i = 0 to 8 {
    %d = tir.lt %n, %eight : i64
    tir.if %d {
      %x = tir.load %A[%i] : f32
      tir.store %x, %Y[%i]
    }
    %a = tir.call_intrin "assume"(%d) : i1
    tir.evaluate %a : i1
    %z = tir.const 0 : i64
    tir.evaluate %z : i64
  }
  tir.for %j = 0 to 1 {
    %two = tir.const 2 : i64
    %jj = tir.mul %n, %two : i64
    %j1 = tir.add %jj, %j : i64
    %kk = tir.mul %n, %two : i64
    %k1 = tir.add %kk, %j : i64
    %x = tir.load %A[%j1] : f32
    tir.store %x, %Y[%k1]
  }
}
