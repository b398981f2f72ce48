// RUN: tirax-opt %s -p inline-private-functions --check-each | filecheck %s --check-prefix INLINE
// RUN: tirax-opt %s -p expand-tuple-arguments --check-each | filecheck %s --check-prefix EXPAND
// RUN: tirax-opt %s -p remove-unused-parameters --check-each | filecheck %s --check-prefix PARAMS
// RUN: tirax-opt %s -p remove-unused-outputs --check-each | filecheck %s --check-prefix OUTPUTS

// INLINE-LABEL: relax.func @main
relax.func @main(%x: !relax.tensor<[4], f32>, %y: !relax.tensor<[k], f32>) -> !relax.tensor<[4], f32> {
  // EXPAND: relax.call @helper(%x, %x, %y)
  // PARAMS: %0 = relax.prim_value k
  // PARAMS-NEXT: relax.call @helper(%p, %0)
  // OUTPUTS: %gv = relax.call @helper(%p, %y) : !relax.tensor<[4], f32>
  // INLINE-NEXT: %s = relax.subtract %x, %x : !relax.tensor<[4], f32>
  // INLINE-NEXT: relax.return %s : !relax.tensor<[4], f32>
  %p = relax.tuple(%x, %x)
  %t = relax.call @helper(%p, %y) : tuple<!relax.tensor<[4], f32>, !relax.tensor<[k], f32>>
  %u = relax.tuple_get_item %t[0] : !relax.tensor<[4], f32>
  relax.return %u : !relax.tensor<[4], f32>
}
// INLINE-NOT: @helper
// EXPAND: @helper(%args.0: !relax.tensor<[n], f32>, %args.1: !relax.tensor<[n], f32>, %unused: !relax.tensor<[m], f32>)
// PARAMS: %param_m: !relax.prim<i64, m>)
// OUTPUTS: @helper(%args: tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>, %unused: !relax.tensor<[m], f32>) -> !relax.tensor<[n], f32>
relax.func private @helper(
  %args: tuple<!relax.tensor<[n], f32>, !relax.tensor<[n], f32>>, %unused: !relax.tensor<[m], f32>
) -> tuple<!relax.tensor<[n], f32>, !relax.tensor<[m], f32>> {
  %l = relax.tuple_get_item %args[0] : !relax.tensor<[n], f32>
  %r = relax.tuple_get_item %args[1] : !relax.tensor<[n], f32>
  %s = relax.subtract %l, %r : !relax.tensor<[n], f32>
  // OUTPUTS-NOT: relax.ones
  %0 = relax.shape [m]
  %z = relax.ones %0 {dtype = "float32"} : !relax.tensor<[m], f32>
  %out = relax.tuple(%s, %z)
  relax.return %out : tuple<!relax.tensor<[n], f32>, !relax.tensor<[m], f32>>
}
