// RUN: not tirax-opt %s 2>&1 | filecheck %s

// CHECK: relax.layout_transform: the index map (i) -> (i * 2) has no inverse
relax.func @f(%x: !relax.tensor<[6], f32>) -> !relax.tensor<[11], f32> {
  %a = relax.layout_transform %x {index_map = #sym.index_map<(i) -> (i * 2)>} : !relax.tensor<[11], f32>
  relax.return %a : !relax.tensor<[11], f32>
}
