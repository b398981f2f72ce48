// RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t mlir | filecheck %s --check-prefix MLIR
// RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t tvmscript | filecheck %s --check-prefix SCRIPT
// RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t llvm | filecheck %s --check-prefix LLVM
// RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t asm | filecheck %s --check-prefix ASM
// RUN: tirax-opt %s -p legalize-ops,annotate-tir-op-pattern,fuse-ops,fuse-tir -t obj -o %t.o
// RUN: %python -c "print(open(r'%t.o', 'rb').read(4)[1:].decode(), b'entry_forward' in open(r'%t.o', 'rb').read())" | filecheck %s --check-prefix OBJ

// MLIR: %lv{{.*}} = relax.call_tir @fused_matmul_add_relu(%x, %permute_dims, %fc1_bias) : !relax.tensor<[n, 128], f32>
// MLIR: tir.func private @fused_matmul_add_relu(
// SCRIPT: lv = R.call_tir(cls.fused_matmul_add_relu, (x, permute_dims, fc1_bias), out_sinfo=R.Tensor((n, 128), dtype="float32"))
// LLVM: define internal i32 @kernel.fused_matmul_add_relu(ptr noalias %x
// LLVM: define ptr @entry_forward(ptr
// ASM-DAG: entry_forward:
// ASM-DAG: {{v?}}fmadd
// OBJ: ELF True
relax.func @forward(
  %x: !relax.tensor<[n, 784], f32>,
  %fc1_weight: !relax.tensor<[128, 784], f32>, %fc1_bias: !relax.tensor<[128], f32>,
  %fc2_weight: !relax.tensor<[10, 128], f32>, %fc2_bias: !relax.tensor<[10], f32>
) -> !relax.tensor<[n, 10], f32> attributes {num_input = 1 : i64} {
  %gv = relax.dataflow {
    %permute_dims = relax.permute_dims %fc1_weight : !relax.tensor<[784, 128], f32>
    %matmul = relax.matmul %x, %permute_dims : !relax.tensor<[n, 128], f32>
    %add = relax.add %matmul, %fc1_bias : !relax.tensor<[n, 128], f32>
    %relu = relax.nn.relu %add : !relax.tensor<[n, 128], f32>
    %permute_dims1 = relax.permute_dims %fc2_weight : !relax.tensor<[128, 10], f32>
    %matmul1 = relax.matmul %relu, %permute_dims1 : !relax.tensor<[n, 10], f32>
    %add1 = relax.add %matmul1, %fc2_bias : !relax.tensor<[n, 10], f32>
    relax.output %add1 : !relax.tensor<[n, 10], f32>
  }
  relax.return %gv : !relax.tensor<[n, 10], f32>
}
