// An example of each operation of the dialect: docs/reference/dialects/tir.md is written from this file.

tir.func @matmul(%A: !tir.buffer<[n, 64], f32>, %B: !tir.buffer<[64, 32], f32>, %C: !tir.buffer<[n, 32], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 to n {
    tir.for vectorized %j = 0 to 32 {
      tir.for %k = 0 to 64 {
        tir.block "C" (%vi = spatial(%i, n), %vj = spatial(%j, 32), %vk = reduce(%k, 64)) {
          tir.reads %A[%vi, %vk]
          tir.reads %B[%vk, %vj]
          tir.writes %C[%vi, %vj]
          tir.init {
            %zero = tir.const 0.0 : f32
            tir.store %zero, %C[%vi, %vj]
          }
          %a = tir.load %A[%vi, %vk] : f32
          %b = tir.load %B[%vk, %vj] : f32
          %product = tir.mul %a, %b : f32
          %before = tir.load %C[%vi, %vj] : f32
          %sum = tir.add %before, %product : f32
          tir.store %sum, %C[%vi, %vj]
        }
      }
    }
  }
}

tir.func @expressions(%A: !tir.buffer<[16], f32>, %x: i32, %y: i32) {
  %difference = tir.sub %x, %y : i32
  %quotient = tir.div %x, %y : i32
  %rest = tir.truncmod %x, %y : i32
  %floor = tir.floordiv %x, %y : i32
  %modulo = tir.floormod %x, %y : i32
  %least = tir.min %x, %y : i32
  %greatest = tir.max %x, %y : i32
  %same = tir.eq %x, %y : i32
  %other = tir.ne %x, %y : i32
  %less = tir.lt %x, %y : i32
  %at_most = tir.le %x, %y : i32
  %more = tir.gt %x, %y : i32
  %at_least = tir.ge %x, %y : i32
  %both = tir.and %less, %other : i1
  %either = tir.or %less, %same : i1
  %neither = tir.not %either : i1 -> i1
  %real = tir.cast %x : i32 -> f32
  %bits = tir.reinterpret %real : f32 -> i32
  %chosen = tir.select %both, %x, %y : i32
  %guarded = tir.if_then_else %less {
    %inside = tir.load %A[%x] : f32
    tir.yield %inside : f32
  } else {
    %outside = tir.const 0.0 : f32
    tir.yield %outside : f32
  }
  %squared = tir.let_in %z = %guarded {
    %square = tir.mul %z, %z : f32
    tir.yield %square : f32
  }
  %root = tir.call_intrin "sqrt"(%squared) : f32
  %index = tir.const 3 : i32
  tir.store %root, %A[%index]
}

tir.func @vectors(%A: !tir.buffer<[64], f32>, %n: i32) {
  %base = tir.const 0 : i32
  %stride = tir.const 1 : i32
  %at = tir.ramp %base, %stride : i32, i32 -> vector<4xi32>
  %limit = tir.broadcast %n : i32 -> vector<4xi32>
  %lanes = tir.load %A[%at] : vector<4xf32>
  %mask = tir.lt %at, %limit : vector<4xi32>
  %some = tir.masked_load %A[%at], %mask : vector<4xf32>
  tir.masked_store %some, %A[%at], %mask
  %swapped = tir.shuffle [%lanes] [1, 0, 3, 2] : vector<4xf32>
  tir.store %swapped, %A[%at]
}

tir.func @memory(%A: !tir.buffer<[n, 16], f32>, %n: i64) {
  %cache = tir.alloc_buffer : !tir.buffer<[16], f32, scope = "local">
  %table = tir.alloc_const <f32 [4] [1.0, 2.0, 4.0, 8.0]>
  %handle = tir.allocate [n, 4] f32
  %view = tir.decl_buffer %handle : !tir.buffer<[n, 4], f32>
  tir.for %i = 0 to n {
    tir.block "rows" (%vi = spatial(%i, n)) {
      %zero = tir.const 0 : i64
      tir.reads %A[%vi, %zero : 16]
      tir.writes %A[%vi, %zero : 16]
      %row = tir.match_buffer %A[%vi : 1, %zero : 16] : !tir.buffer<[1, 16], f32, strides = [s0, s1], offset = e>
      %first = tir.load %row[%zero, %zero] : f32
      tir.store %first, %row[%zero, %zero]
    }
  }
  %data = tir.buffer_data %A
}

tir.func @statements(%A: !tir.buffer<[16], f32>, %n: i64) {
  %zero = tir.const 0 : i64
  %positive = tir.lt %zero, %n : i64
  tir.assert %positive, "n is at least 1"
  %last = tir.let %n : i64 -> i64
  tir.if %positive {
    %one = tir.const 1.0 : f32
    tir.store %one, %A[%zero]
  } else {
  }
  tir.while {
    %value = tir.load %A[%zero] : f32
    %limit = tir.const 100.0 : f32
    %below = tir.lt %value, %limit : f32
    tir.yield %below : i1
  } do {
    %old = tir.load %A[%zero] : f32
    %doubled = tir.add %old, %old : f32
    tir.store %doubled, %A[%zero]
  }
  %hint = tir.const 4 : i64
  tir.attr "pragma_unroll" %hint {
    tir.for %i = 0 to 4 {
    }
  }
}

tir.func private @half(%x: f32) -> f32 {
  %two = tir.const 2.0 : f32
  %quotient = tir.div %x, %two : f32
  tir.return %quotient : f32
}

tir.func @calls(%A: !tir.buffer<[16], f32>, %x: f32) {
  %data = tir.buffer_data %A
  %sine = tir.call_extern "sinf"(%x) : f32
  %cosine = tir.call_pure_extern "cosf"(%x) : f32
  %half = tir.call @half(%sine) : f32
  %fused = tir.call_llvm_intrin "llvm.fma"(%half, %cosine, %x) : f32
  %prefetch = tir.call_llvm_effect "llvm.prefetch"(%data) : none
  tir.evaluate %prefetch : none
  %text = tir.string "sine"
  %packed = tir.call_packed "show"(%text, %fused) : i32
  tir.evaluate %packed : i32
}

tir.func @threads(%A: !tir.buffer<[32], f32>) {
  %extent = tir.const 32 : i32
  tir.launch_thread "threadIdx.x" %extent {
  ^bb0(%thread: i32):
    %value = tir.load %A[%thread] : f32
    tir.store %value, %A[%thread]
    %shared = tir.string "shared"
    %barrier = tir.device_call "tvm_storage_sync"(%shared) : i32
    tir.evaluate %barrier : i32
  }
}

tir.func @reductions(%A: !tir.buffer<[4, n], f32>, %B: !tir.buffer<[1], f32>) {
  %zero = tir.const 0.0 : f32
  %at = tir.const 0 : i64
  %total = tir.reduce 0 over [4, n] identity %zero where {
  ^bb0(%i: i64, %j: i64):
    %always = tir.const true
    tir.yield %always : i1
  } of {
  ^bb0(%i: i64, %j: i64):
    %element = tir.load %A[%i, %j] : f32
    tir.yield %element : f32
  } by {
  ^bb0(%x: f32, %y: f32):
    %sum = tir.add %x, %y : f32
    tir.yield %sum : f32
  }
  tir.store %total, %B[%at]
}

tir.func @reducer_as_attribute(%A: !tir.buffer<[4], f32>) {
  %zero = tir.const 0.0 : f32
  %reducer = tir.comm_reducer identity %zero by {
  ^bb0(%x: f32, %y: f32):
    %sum = tir.add %x, %y : f32
    tir.yield %sum : f32
  }
  %handle = tir.buffer_data %A
  tir.attr "reduce_scope" %reducer on %handle {
  }
}
