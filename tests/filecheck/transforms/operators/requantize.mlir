// RUN: tirax-opt %s -p requantize --check-each | filecheck %s

// Bytes are reshaped, and dequantized then.
// CHECK-LABEL: relax.func @moved(
relax.func @moved(%x: !relax.tensor<[n, 4], ui8>) -> !relax.tensor<[4, n], f32> {
  // CHECK: [[m:%[a-z0-9]+]] = relax.permute_dims %x{{.*}} : !relax.tensor<[4, n], ui8>
  // CHECK-NEXT: %y = relax.dequantize [[m]], %s, %z
  // CHECK-NEXT: relax.return %y
  %s = relax.constant <f32 [] 0.25>
  %z = relax.constant <ui8 [] 3>
  %a = relax.dequantize %x, %s, %z : !relax.tensor<[n, 4], f32>
  %y = relax.permute_dims %a {axes = [1, 0]} : !relax.tensor<[4, n], f32>
  relax.return %y : !relax.tensor<[4, n], f32>
}
// Each row has a scale of its own: these would have to move, too.
// CHECK-LABEL: relax.func @by_rows(
relax.func @by_rows(%x: !relax.tensor<[n, 4], ui8>, %s: !relax.tensor<[n], f32>) -> !relax.tensor<[4, n], f32> {
  // CHECK: relax.dequantize %x, %s
  // CHECK-NEXT: relax.permute_dims %a
  %z = relax.constant <ui8 [] 3>
  %a = relax.dequantize %x, %s, %z {axis = 0} : !relax.tensor<[n, 4], f32>
  %y = relax.permute_dims %a {axes = [1, 0]} : !relax.tensor<[4, n], f32>
  relax.return %y : !relax.tensor<[4, n], f32>
}
// The sum is divided no more: both of its parts are multiplied by the inverse, 4.
// CHECK-LABEL: relax.func @rounded(
relax.func @rounded(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // CHECK-NOT: relax.divide
  // CHECK: relax.constant <f32 [] 4.0>
  // CHECK: [[p:%[a-z0-9]+]] = relax.multiply %x
  // CHECK: [[q:%[a-z0-9]+]] = relax.add [[p]]
  // CHECK-NEXT: [[r:%[a-z0-9]+]] = relax.nn.relu [[q]]
  // CHECK-NEXT: relax.round [[r]]
  %s = relax.constant <f32 [] 0.25>
  %b = relax.constant <f32 [] 1.5>
  %a = relax.add %x, %b : !relax.tensor<[n], f32>
  %c = relax.nn.relu %a : !relax.tensor<[n], f32>
  %d = relax.divide %c, %s : !relax.tensor<[n], f32>
  %y = relax.round %d : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
// An input may be anything, exactly between two integers after the division, too: it stays divided.
// CHECK-LABEL: relax.func @input(
relax.func @input(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  // CHECK: relax.divide %x, %s
  %s = relax.constant <f32 [] 0.25>
  %d = relax.divide %x, %s : !relax.tensor<[n], f32>
  %y = relax.round %d : !relax.tensor<[n], f32>
  relax.return %y : !relax.tensor<[n], f32>
}
