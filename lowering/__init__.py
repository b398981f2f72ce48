"""Lowering: tir to loops, vectors, the llvm dialect, LLVM text and machine code; relax to host code.

The lower half, from loops on:

    scf ──lower-scf──► cf ──convert-to-llvm──► llvm dialect ──llvm_text──► .ll text ──machine──► object or assembly

`convert_to_llvm/` has the passes, one file of rules per dialect; `llvm_text.print_llvm` prints; `machine` calls LLVM;
`target.Target` describes the target; `emit` has the output backends of `tirax-opt -t`.
"""
