// RUN: not tirax-opt %s 2>&1 | filecheck %s

// What code generators gave are objects of a program that ran: text only names them.
// CHECK: external modules are objects of a running program: they cannot be read from text
builtin.module attributes {external_mods = #relax.external_mods<"fused_lib">} {
  relax.func @main(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> {
    %y = relax.call_dps_packed "fused_lib"(%x) : !relax.tensor<[4], f32>
    relax.return %y : !relax.tensor<[4], f32>
  }
}
