// RUN: tirax-opt %s -p 'apply-dpl-patterns{file="%S/Inputs/dpl_patterns.py"}' | filecheck %s
// RUN: tirax-opt %s -p 'apply-dpl-patterns{file="%S/Inputs/dpl_patterns.py" only=once}' | filecheck %s --check-prefix=ONCE
// RUN: not tirax-opt %s -p 'apply-dpl-patterns{file="%S/Inputs/nothing.py"}' 2>&1 | filecheck %s --check-prefix=NOFILE
// RUN: not tirax-opt %s -p 'apply-dpl-patterns{file="%S/Inputs/dpl_patterns.py" only=thrice}' 2>&1 | filecheck %s --check-prefix=NONAME

// CHECK-LABEL: relax.func @main
// CHECK:         relax.dataflow {
// CHECK-NEXT:      %{{.*}} = relax.constant <f32 [] 2.0>
// CHECK-NEXT:      %a = relax.multiply %x, %{{.*}} : !relax.tensor<[n], f32>
// CHECK-NEXT:      %{{.*}} = relax.nn.relu %a : !relax.tensor<[n], f32>
// CHECK-NEXT:      relax.output

// ONCE-LABEL: relax.func @main
// ONCE:         %a = relax.add %x, %x
// ONCE-NEXT:    %{{.*}} = relax.nn.relu %a

// NOFILE: there is no Python file
// NONAME: defines no rewriter called thrice
// NONAME: found: double, once
relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  %gv = relax.dataflow {
    %a = relax.add %x, %x : !relax.tensor<[n], f32>
    %b = relax.nn.relu %a : !relax.tensor<[n], f32>
    %c = relax.nn.relu %b : !relax.tensor<[n], f32>
    relax.output %c : !relax.tensor<[n], f32>
  }
  relax.return %gv : !relax.tensor<[n], f32>
}
