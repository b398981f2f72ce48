// RUN: tirax-opt %s -p 'unsigned-activations{target="llvm -mcpu=icelake-server -vector-width=512"}' --check-each | filecheck %s
// RUN: tirax-opt %s -p 'unsigned-activations{target="llvm -mcpu=haswell"}' --check-each | filecheck %s --check-prefix NONE
// RUN: not tirax-opt %s -p 'unsigned-activations{targets="llvm"}' 2>&1 | filecheck %s --check-prefix BAD

// BAD: targets
// NONE-NOT: ui8
// What is quantized is moved by 128, and so is the zero point.
// CHECK-LABEL: relax.func @shifted(
relax.func @shifted(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // CHECK: [[a:%[a-z0-9_]+]] = relax.add %b, %{{.*}}
  // CHECK: [[q:%[a-z0-9_]+]] = relax.astype %{{.*}} {dtype = ui8}
  // CHECK: relax.constant <i32 [] 128>
  // CHECK: relax.dequantize [[q]]
  %s = relax.constant <f32 [] 0.25>
  %z = relax.constant <i8 [] 0>
  %l = relax.constant <f32 [] -128.0>
  %h = relax.constant <f32 [] 127.0>
  %a = relax.divide %x, %s : !relax.tensor<[n], f32>
  %b = relax.round %a : !relax.tensor<[n], f32>
  %c = relax.maximum %b, %l : !relax.tensor<[n], f32>
  %d = relax.minimum %c, %h : !relax.tensor<[n], f32>
  %q = relax.astype %d {dtype = i8} : !relax.tensor<[n], i8>
  %y = relax.dequantize %q, %s, %z : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
