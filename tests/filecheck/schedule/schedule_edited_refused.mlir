// RUN: tirax-opt %s -p 'default-schedule{target="llvm -mcpu=x86-64-v4"}' --split-input-file --verify-diagnostics

// What cannot be followed is refused where it was written.

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{unknown rule 'title'}}
  sched.rule "title" on "C"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{unknown block 'D'}}
  sched.rule "register_tiles" on "D"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{the rule 'vector_reduction' does not fit}}
  sched.rule "vector_reduction" on "C"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{the rule 'inline' does not fit}}
  sched.rule "inline" on "C"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{block "D" does not finish the elements of "C"}}
  sched.rule "register_tiles" on "C" then "D"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{'row' follows from the program}}
  sched.rule "register_tiles" on "C" {row = 6}
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{there is no number 'tiles'}}
  sched.rule "register_tiles" on "C" {tiles = 6}
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{'lanes' is the number of lanes of a vector}}
  sched.rule "register_tiles" on "C" {lanes = 12}
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{'rows' is too large}}
  sched.rule "register_tiles" on "C" {rows = 5000}
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{the rule 'register_tiles' does not depend on a size}}
  sched.rule "register_tiles" on "C" from 8 else "strided_register_tiles"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{rows = 0: numbers of a schedule are positive}}
  sched.rule "register_tiles" on "C" {rows = 0}
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{rows = -1: numbers of a schedule are positive}}
  sched.rule "register_tiles" on "C" {rows = -1}
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  sched.rule "register_tiles" on "C"
  // expected-error@+1 {{there is no stage "C" left for this rule}}
  sched.rule "register_tiles" on "C"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
// expected-error@+1 {{unknown function 'g'}}
sched.sequence @g {
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
}
// expected-error@+1 {{@f has a schedule already}}
sched.sequence @f {
}

// -----

// expected-error@+1 {{rules are for the blocks of a function}}
sched.sequence {
  sched.rule "register_tiles" on "C"
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{each rule but the last has a size from which on it is meant}}
  sched.rule "panels" on "C" from 24
}

// -----

tir.func @f(%A: !tir.buffer<[48, 64], f32>, %B: !tir.buffer<[64, 256], f32>, %C: !tir.buffer<[48, 256], f32>) {
  tir.for %i = 0 to 48 { tir.for %j = 0 to 256 { tir.for %k = 0 to 64 {
    tir.block "C" (%vi = spatial(%i, 48), %vj = spatial(%j, 256), %vk = reduce(%k, 64)) {
      tir.init {
        %z = tir.const 0.0 : f32
        tir.store %z, %C[%vi, %vj]
      }
      %c = tir.load %C[%vi, %vj] : f32
      %a = tir.load %A[%vi, %vk] : f32
      %b = tir.load %B[%vk, %vj] : f32
      %m = tir.mul %a, %b : f32
      %s = tir.add %c, %m : f32
      tir.store %s, %C[%vi, %vj]
    }
  } } }
}
sched.sequence @f {
  // expected-error@+1 {{each rule but the last has a size from which on it is meant}}
  sched.rule "panels" on "C" else "register_tiles"
}
