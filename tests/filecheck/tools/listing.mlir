// RUN: tirax-opt --list-passes | filecheck %s --check-prefix=PASSES
// RUN: tirax-opt --list-pipelines | filecheck %s --check-prefix=PIPELINES
// RUN: tirax-opt --list-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: tirax-opt --list-targets | filecheck %s --check-prefix=TARGETS
// RUN: tirax-opt --version | filecheck %s --check-prefix=VERSION

// PASSES:      passes of transforms/
// PASSES:      apply-dpl-patterns *
// PASSES:      fold-constant
// PASSES-NEXT:   {{.+}}
// PASSES-NEXT:   max_bytes: int|None = none
// PASSES:      fuse-ops
// PASSES:        fuse_opt_level: int = -1
// PASSES:      passes of tvm_api/
// PASSES:      adjust-matmul-order *
// PASSES:      short names:
// PASSES:        legalize = legalize-ops
// PASSES:      passes of xDSL:
// PASSES:        canonicalize

// PIPELINES: default-cpu
// PIPELINES: normalize, sink-loop-constants
// PIPELINES: legalize-ops, annotate-tir-op-pattern

// DIALECTS: relax: {{[0-9]+}} operations
// DIALECTS: tir: {{[0-9]+}} operations
// DIALECTS: dialects of xDSL:

// TARGETS: asm
// TARGETS: opt_level: int = 3
// TARGETS: tvmscript
// TARGETS: show_meta: bool = true

// VERSION: tirax {{[0-9.]+}} (xDSL {{[0-9.]+}}, llvmlite {{[0-9.]+}}, Python 3
