// Every name that can be wrong gets a suggestion, every value its type; none a traceback.
// RUN: not tirax-opt %s -p normalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not tirax-opt %s -p 'fuse-ops{fuze_opt_level=1}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not tirax-opt %s -p 'normalize{x=1}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not tirax-opt %s -p 'fuse-ops{fuse_opt_level=high}' 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not tirax-opt %s -p 'fuse-ops{fuse_opt_level' 2>&1 | filecheck %s --check-prefix=SYNTAX
// RUN: not tirax-opt %s --pipeline defualt-cpu 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not tirax-opt %s -t tvmscrip 2>&1 | filecheck %s --check-prefix=TARGET
// RUN: not tirax-opt %s -t 'asm{opt_level=fast}' 2>&1 | filecheck %s --check-prefix=TARGET-OPTION
// RUN: not tirax-opt %s --timng 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not tirax-opt %s -f mlri 2>&1 | filecheck %s --check-prefix=LANG
// RUN: not tirax-opt %S/mispelt.mlir 2>&1 | filecheck %s --check-prefix=FILE
// RUN: not tirax-opt %s -p normalize --print-ir-after=normalise 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not tirax-opt %s -p normalize --print-ir-after=fuse-ops 2>&1 | filecheck %s --check-prefix=POINT

// PASS: error: unknown pass 'normalise'
// PASS-NEXT: hint: did you mean 'normalize'?

// OPTION: error: unknown option 'fuze_opt_level' of pass 'fuse-ops'
// OPTION-NEXT: hint: did you mean 'fuse_opt_level'?

// NONE: error: pass 'normalize' has no options
// NONE-NEXT: found: x

// VALUE: error: option 'fuse_opt_level' of pass 'fuse-ops' has a wrong value
// VALUE-NEXT: expected: int
// VALUE-NEXT: found: 'high'

// SYNTAX: --passes:1:24: error:
// SYNTAX-NEXT: fuse-ops{fuse_opt_level
// SYNTAX-NEXT: {{ +}}^

// PIPELINE: error: unknown pipeline 'defualt-cpu'
// PIPELINE-NEXT: hint: did you mean 'default-cpu'

// TARGET: error: unknown target 'tvmscrip'
// TARGET-NEXT: hint: did you mean 'tvmscript'?

// TARGET-OPTION: error: option 'opt_level' of target 'asm' has a wrong value
// TARGET-OPTION-NEXT: expected: int

// FLAG: error: unknown option or argument: --timng
// FLAG-NEXT: hint: did you mean '--timing'?

// LANG: error: unknown language 'mlri'
// LANG-NEXT: hint: did you mean 'mlir'?

// FILE: error: cannot read {{.*}}: No such file or directory
// FILE-NEXT: hint: did you mean 'misspelt.mlir'

// POINT: error: pass 'fuse-ops' is not among those that run
// POINT-NEXT: expected: normalize
