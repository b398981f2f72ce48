// An example of each instruction, in schedules of the functions below: docs/reference/dialects/sched.md is written from
// this file.

tir.func @matmul(%A: !tir.buffer<[128 : i32, 128 : i32], f32>, %B: !tir.buffer<[128 : i32, 128 : i32], f32>, %C: !tir.buffer<[128 : i32, 128 : i32], f32>) {
  tir.for %i = 0 : i32 to 128 : i32 {
    tir.for %j = 0 : i32 to 128 : i32 {
      tir.for %k = 0 : i32 to 128 : i32 {
        tir.block "C" (%vi = spatial(%i, 128 : i32), %vj = spatial(%j, 128 : i32), %vk = reduce(%k, 128 : i32)) {
          tir.reads %A[%vi, %vk]
          tir.reads %B[%vk, %vj]
          tir.writes %C[%vi, %vj]
          tir.init {
            %0 = tir.const 0.000000e+00 : f32
            tir.store %0, %C[%vi, %vj]
          }
          %1 = tir.load %A[%vi, %vk] : f32
          %2 = tir.load %B[%vk, %vj] : f32
          %3 = tir.mul %1, %2 : f32
          %4 = tir.load %C[%vi, %vj] : f32
          %5 = tir.add %4, %3 : f32
          tir.store %5, %C[%vi, %vj]
        }
      }
    }
  }
}

tir.func @chain(%A: !tir.buffer<[128 : i32, 128 : i32], f32>, %D: !tir.buffer<[128 : i32, 128 : i32], f32>) {
  %B = tir.alloc_buffer : !tir.buffer<[128 : i32, 128 : i32], f32>
  %C = tir.alloc_buffer : !tir.buffer<[128 : i32, 128 : i32], f32>
  tir.for %i = 0 : i32 to 128 : i32 {
    tir.for %j = 0 : i32 to 128 : i32 {
      tir.block "B" (%vi = spatial(%i, 128 : i32), %vj = spatial(%j, 128 : i32)) {
        tir.reads %A[%vi, %vj]
        tir.writes %B[%vi, %vj]
        %0 = tir.load %A[%vi, %vj] : f32
        %1 = tir.const 2.000000e+00 : f32
        %2 = tir.mul %0, %1 : f32
        tir.store %2, %B[%vi, %vj]
      }
    }
  }
  tir.for %i_1 = 0 : i32 to 128 : i32 {
    tir.for %j_1 = 0 : i32 to 128 : i32 {
      tir.block "C" (%vi_1 = spatial(%i_1, 128 : i32), %vj_1 = spatial(%j_1, 128 : i32)) {
        tir.reads %B[%vi_1, %vj_1]
        tir.writes %C[%vi_1, %vj_1]
        %3 = tir.load %B[%vi_1, %vj_1] : f32
        %4 = tir.const 1.000000e+00 : f32
        %5 = tir.add %3, %4 : f32
        tir.store %5, %C[%vi_1, %vj_1]
      }
    }
  }
  tir.for %i_2 = 0 : i32 to 128 : i32 {
    tir.for %j_2 = 0 : i32 to 128 : i32 {
      tir.block "D" (%vi_2 = spatial(%i_2, 128 : i32), %vj_2 = spatial(%j_2, 128 : i32)) {
        tir.reads %C[%vi_2, %vj_2]
        tir.writes %D[%vi_2, %vj_2]
        %6 = tir.load %C[%vi_2, %vj_2] : f32
        %7 = tir.const 3.000000e+00 : f32
        %8 = tir.add %6, %7 : f32
        tir.store %8, %D[%vi_2, %vj_2]
      }
    }
  }
}

tir.func @inplace(%A: !tir.buffer<[16 : i32, 16 : i32], f32>) {
  tir.for %i = 0 : i32 to 16 : i32 {
    tir.for %j = 0 : i32 to 16 : i32 {
      tir.block "A" (%vi = spatial(%i, 16 : i32), %vj = spatial(%j, 16 : i32)) {
        tir.reads %A[%vi, %vj]
        tir.writes %A[%vi, %vj]
        %0 = tir.load %A[%vi, %vj] : f32
        %1 = tir.const 1.000000e+00 : f32
        %2 = tir.add %0, %1 : f32
        tir.store %2, %A[%vi, %vj]
      }
    }
  }
}

tir.func @resize(%A: !tir.buffer<[1 : i32, 3 : i32, 40 : i32, 40 : i32], f32>, %R: !tir.buffer<[1 : i32, 3 : i32, 80 : i32, 80 : i32], f32>) {
  tir.for %n = 0 : i32 to 1 : i32 {
    tir.for %c = 0 : i32 to 3 : i32 {
      tir.for %h = 0 : i32 to 80 : i32 {
        tir.for %w = 0 : i32 to 80 : i32 {
          tir.block "R" (%vn = spatial(%n, 1 : i32), %vc = spatial(%c, 3 : i32), %vh = spatial(%h, 80 : i32), %vw = spatial(%w, 80 : i32)) {
            %0 = tir.const 4 : i32
            %1 = tir.floordiv %vh, %0 : i32
            %2 = tir.floordiv %vw, %0 : i32
            %3 = tir.add %1, %2 : i32
            %4 = tir.const 2 : i32
            %5 = tir.floordiv %vw, %4 : i32
            tir.reads %A[%vn, %vc, %3, %5]
            tir.writes %R[%vn, %vc, %vh, %vw]
            %6 = tir.const 4 : i32
            %7 = tir.floordiv %vh, %6 : i32
            %8 = tir.const 4 : i32
            %9 = tir.floordiv %vw, %8 : i32
            %10 = tir.add %7, %9 : i32
            %11 = tir.const 2 : i32
            %12 = tir.floordiv %vw, %11 : i32
            %13 = tir.load %A[%vn, %vc, %10, %12] : f32
            tir.store %13, %R[%vn, %vc, %vh, %vw]
          }
        }
      }
    }
  }
}

tir.func @two(%A: !tir.buffer<[16 : i32, 16 : i32], f32>, %B: !tir.buffer<[16 : i32, 16 : i32], f32>, %C: !tir.buffer<[16 : i32, 16 : i32], f32>) {
  tir.for %m = 0 : i32 to 1 : i32 {
    tir.for %i = 0 : i32 to 16 : i32 {
      tir.for %j = 0 : i32 to 16 : i32 {
        tir.block "B2" (%vi = spatial(%i, 16 : i32), %vj = spatial(%j, 16 : i32)) {
          tir.reads %A[%vi, %vj]
          tir.writes %B[%vi, %vj]
          %0 = tir.load %A[%vi, %vj] : f32
          %1 = tir.const 2.000000e+00 : f32
          %2 = tir.mul %0, %1 : f32
          tir.store %2, %B[%vi, %vj]
        }
      }
    }
    tir.for %i_1 = 0 : i32 to 16 : i32 {
      tir.for %j_1 = 0 : i32 to 16 : i32 {
        tir.block "C2" (%vi_1 = spatial(%i_1, 16 : i32), %vj_1 = spatial(%j_1, 16 : i32)) {
          tir.reads %A[%vi_1, %vj_1]
          tir.writes %C[%vi_1, %vj_1]
          %3 = tir.load %A[%vi_1, %vj_1] : f32
          %4 = tir.const 1.000000e+00 : f32
          %5 = tir.add %3, %4 : f32
          tir.store %5, %C[%vi_1, %vj_1]
        }
      }
    }
  }
}

tir.func @pool(%A: !tir.buffer<[16 : i32, 16 : i32], f32>, %C: !tir.buffer<[12 : i32, 12 : i32], f32>) {
  %B = tir.alloc_buffer : !tir.buffer<[14 : i32, 16 : i32], f32>
  tir.for %i = 0 : i32 to 14 : i32 {
    tir.for %j = 0 : i32 to 16 : i32 {
      tir.block "P" (%vi = spatial(%i, 14 : i32), %vj = spatial(%j, 16 : i32)) {
        tir.reads %A[%vi : 3 : i32, %vj]
        tir.writes %B[%vi, %vj]
        %0 = tir.const 2 : i32
        %1 = tir.add %vi, %0 : i32
        %2 = tir.load %A[%vi, %vj] : f32
        %3 = tir.load %A[%1, %vj] : f32
        %4 = tir.max %2, %3 : f32
        tir.store %4, %B[%vi, %vj]
      }
    }
  }
  tir.for %i_1 = 0 : i32 to 12 : i32 {
    tir.for %j_1 = 0 : i32 to 12 : i32 {
      tir.block "Q" (%vi_1 = spatial(%i_1, 12 : i32), %vj_1 = spatial(%j_1, 12 : i32)) {
        tir.reads %B[%vi_1 : 3 : i32, %vj_1]
        tir.writes %C[%vi_1, %vj_1]
        %5 = tir.const 2 : i32
        %6 = tir.add %vi_1, %5 : i32
        %7 = tir.load %B[%vi_1, %vj_1] : f32
        %8 = tir.load %B[%6, %vj_1] : f32
        %9 = tir.max %7, %8 : f32
        tir.store %9, %C[%vi_1, %vj_1]
      }
    }
  }
}

tir.func @padded(%A: !tir.buffer<[127 : i32, 127 : i32], f32>, %B: !tir.buffer<[127 : i32, 127 : i32], f32>, %C: !tir.buffer<[127 : i32, 127 : i32], f32>) {
  %A2 = tir.alloc_buffer : !tir.buffer<[127 : i32, 127 : i32], f32>
  %B2 = tir.alloc_buffer : !tir.buffer<[127 : i32, 127 : i32], f32>
  %C2 = tir.alloc_buffer : !tir.buffer<[127 : i32, 127 : i32], f32>
  tir.for %i = 0 : i32 to 127 : i32 {
    tir.for %j = 0 : i32 to 127 : i32 {
      tir.block "A2" (%vi = spatial(%i, 127 : i32), %vj = spatial(%j, 127 : i32)) {
        tir.reads %A[%vi, %vj]
        tir.writes %A2[%vi, %vj]
        %0 = tir.load %A[%vi, %vj] : f32
        tir.store %0, %A2[%vi, %vj]
      }
    }
  }
  tir.for %i_1 = 0 : i32 to 127 : i32 {
    tir.for %j_1 = 0 : i32 to 127 : i32 {
      tir.block "B3" (%vi_1 = spatial(%i_1, 127 : i32), %vj_1 = spatial(%j_1, 127 : i32)) {
        tir.reads %B[%vi_1, %vj_1]
        tir.writes %B2[%vi_1, %vj_1]
        %1 = tir.load %B[%vi_1, %vj_1] : f32
        tir.store %1, %B2[%vi_1, %vj_1]
      }
    }
  }
  tir.for %i_2 = 0 : i32 to 127 : i32 {
    tir.for %j_2 = 0 : i32 to 127 : i32 {
      tir.for %k = 0 : i32 to 127 : i32 {
        tir.block "E" (%vi_2 = spatial(%i_2, 127 : i32), %vj_2 = spatial(%j_2, 127 : i32), %vk = reduce(%k, 127 : i32)) {
          tir.reads %A2[%vi_2, %vk]
          tir.reads %B2[%vk, %vj_2]
          tir.writes %C2[%vi_2, %vj_2]
          tir.init {
            %2 = tir.const 0.000000e+00 : f32
            tir.store %2, %C2[%vi_2, %vj_2]
          }
          %3 = tir.load %A2[%vi_2, %vk] : f32
          %4 = tir.load %B2[%vk, %vj_2] : f32
          %5 = tir.mul %3, %4 : f32
          %6 = tir.load %C2[%vi_2, %vj_2] : f32
          %7 = tir.add %6, %5 : f32
          tir.store %7, %C2[%vi_2, %vj_2]
        }
      }
    }
  }
  tir.for %i_3 = 0 : i32 to 127 : i32 {
    tir.for %j_3 = 0 : i32 to 127 : i32 {
      tir.block "Z" (%vi_3 = spatial(%i_3, 127 : i32), %vj_3 = spatial(%j_3, 127 : i32)) {
        tir.reads %C2[%vi_3, %vj_3]
        tir.writes %C[%vi_3, %vj_3]
        %8 = tir.load %C2[%vi_3, %vj_3] : f32
        tir.store %8, %C[%vi_3, %vj_3]
      }
    }
  }
}

tir.func @border(%x: !tir.buffer<[128 : i32], f32>, %y: !tir.buffer<[140 : i32], f32>) {
  tir.for %i = 0 : i32 to 140 : i32 {
    tir.block "pad" (%vi = spatial(%i, 140 : i32)) {
      %0 = tir.const 6 : i32
      %1 = tir.sub %vi, %0 : i32
      tir.reads %x[%1]
      tir.writes %y[%vi]
      %2 = tir.const 6 : i32
      %3 = tir.ge %vi, %2 : i32
      %4 = tir.const 134 : i32
      %5 = tir.lt %vi, %4 : i32
      %6 = tir.and %3, %5 : i1
      %7 = tir.if_then_else %6 {
        %8 = tir.const 6 : i32
        %9 = tir.sub %vi, %8 : i32
        %10 = tir.load %x[%9] : f32
        tir.yield %10 : f32
      } else {
        %11 = tir.const 0.000000e+00 : f32
        tir.yield %11 : f32
      }
      tir.store %7, %y[%vi]
    }
  }
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "matmul") : block
  %l1, %l2, %l3 = sched.get_loops(block = %b0) : loop, loop, loop
  %v4, %v5 = sched.sample_perfect_tile(loop = %l2, n = 2, max_innermost_factor = 16) decision [16, 8] : int, int
  %l6, %l7 = sched.split(loop = %l2, factors = [%v4, %v5], preserve_unit_iters = true, disable_predication = false) : loop, loop
  %v8, %v9, %v10 = sched.sample_partitioned_tile(loop = %l1, n = 3, partition_pos = 1, innerpart_factor = 4) decision [2, 8, 8] : int, int, int
  %l11, %l12, %l13 = sched.split(loop = %l1, factors = [%v8, %v9, %v10], preserve_unit_iters = true, disable_predication = false) : loop, loop, loop
  sched.reorder(loops = [%l11, %l12, %l6, %l3, %l13, %l7])
  %l14 = sched.fuse(loops = [%l11, %l12], preserve_unit_iters = true) : loop
  sched.parallel(loop = %l14)
  sched.vectorize(loop = %l7)
  sched.unroll(loop = %l13)
  %v15 = sched.sample_categorical(candidates = [4, 8], probs = [0.5, 0.5]) decision 0 : int
  sched.annotate(block_or_loop = %l14, ann_key = "pragma_auto_unroll_max_step", ann_val = %v15)
  sched.unannotate(block_or_loop = %l14, ann_key = "pragma_auto_unroll_max_step")
  %b16 = sched.decompose_reduction(block = %b0, loop = %l3) : block
  sched.enter_postproc()
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "matmul") : block
  %l1, %l2, %l3 = sched.get_loops(block = %b0) : loop, loop, loop
  %l4, %l5 = sched.split(loop = %l3, factors = [8, 16], preserve_unit_iters = true, disable_predication = false) : loop, loop
  %b6 = sched.rfactor(loop = %l4, factor_axis = 0) : block
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "matmul") : block
  %b1 = sched.cache_read(block = %b0, read_buffer_index = 0, storage_scope = "global", consumer_blocks = none) : block
  %b2 = sched.cache_write(block = %b0, write_buffer_index = 0, storage_scope = "local", consumer_blocks = none) : block
  %l3, %l4, %l5 = sched.get_loops(block = %b0) : loop, loop, loop
  sched.compute_at(block = %b1, loop = %l3, preserve_unit_loops = false, index = -1)
  sched.reverse_compute_at(block = %b2, loop = %l3, preserve_unit_loops = false, index = -1)
  sched.storage_align(block = %b1, buffer_index = 0, axis = 0, factor = 8, offset = 4)
  sched.set_scope(block = %b1, buffer_index = 0, storage_scope = "shared")
  sched.unsafe_set_dtype(block = %b1, buffer_index = 0, dtype = "float16")
  sched.bind(loop = %l3, thread_axis = "blockIdx.x")
  sched.reorder_block_iter_var(block = %b0, new_order = [1, 0, 2])
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "matmul") : block
  %b1 = sched.reindex(block = %b0, buffer = ["read", 0]) : block
  %l2, %l3, %l4 = sched.get_loops(block = %b0) : loop, loop, loop
  sched.transform_layout(block = %b0, buffer = ["write", 0], index_map = #sym.index_map<(i : i32, j : i32) -> (i : i32 floordiv 16, j : i32, i : i32 mod 16)>, pad_value = none, assume_injective_transform = false)
  sched.set_axis_separator(block = %b0, buffer = ["write", 0], axis_separators = [1])
  %b5 = sched.blockize(target = %l4, preserve_unit_iters = true) : block
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "matmul") : block
  %b1 = sched.reindex_cache_read(block = %b0, read_buffer_index = 0, storage_scope = "global", index_map = #sym.index_map<(i : i32, j : i32, k : i32) -> (k : i32, i : i32)>) : block
  %b2 = sched.reindex_cache_write(block = %b0, write_buffer_index = 0, storage_scope = "global", index_map = #sym.index_map<(i : i32, j : i32, k : i32) -> (j : i32, i : i32)>) : block
  sched.transform_block_layout(block = %b0, index_map = #sym.index_map<(i : i32, j : i32, k : i32) -> (i : i32, j : i32, k : i32)>)
}

sched.sequence {
  %b0 = sched.get_block(name = "root", func_name = "chain") : block
  %b1, %b2, %b3 = sched.get_child_blocks(block_or_loop = %b0) : block, block, block
  %b4 = sched.get_output_blocks(scope_block = %b0) : block
  %b5 = sched.get_block(name = "B", func_name = "chain") : block
  %b6 = sched.get_block(name = "C", func_name = "chain") : block
  %b7 = sched.get_block(name = "D", func_name = "chain") : block
  %b8 = sched.get_producers(block = %b6) : block
  %b9 = sched.get_consumers(block = %b5) : block
  sched.compute_inline(block = %b5)
  sched.reverse_compute_inline(block = %b7)
  %l10 = sched.sample_compute_location(block = %b6) decision -1 : loop
  %l11 = sched.add_unit_loop(block_or_loop = %b6) : loop
  %l12, %l13, %l14 = sched.get_loops(block = %b6) : loop, loop, loop
  %l15, %l16 = sched.loop_partition(loop = %l13, factors = [16, none], preserve_unit_iters = true) : loop, loop
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "chain") : block
  %l1, %l2 = sched.get_loops(block = %b0) : loop, loop
  %b3 = sched.read_at(loop = %l1, block = %b0, read_buffer_index = 0, storage_scope = "global") : block
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "chain") : block
  %l1, %l2 = sched.get_loops(block = %b0) : loop, loop
  %b3 = sched.write_at(loop = %l1, block = %b0, write_buffer_index = 0, storage_scope = "global") : block
}

sched.sequence {
  %b0 = sched.get_block(name = "A", func_name = "inplace") : block
  %b1, %b2 = sched.cache_inplace(block = %b0, read_buffer_index = 0, storage_scope = "local") : block, block
}

sched.sequence {
  %b0 = sched.get_block(name = "R", func_name = "resize") : block
  %b1, %b2 = sched.cache_index(block = %b0, storage_scope = "global", cse_thresh = 0) : block, block
}

sched.sequence {
  %b0 = sched.get_block(name = "B2", func_name = "two") : block
  %b1 = sched.get_block(name = "C2", func_name = "two") : block
  %l2, %l3, %l4 = sched.get_loops(block = %b0) : loop, loop, loop
  %l5, %l6, %l7 = sched.get_loops(block = %b1) : loop, loop, loop
  %l8 = sched.merge(loops = [%l3, %l6]) : loop
}

sched.sequence {
  %b0 = sched.get_block(name = "P", func_name = "pool") : block
  %b1 = sched.get_block(name = "Q", func_name = "pool") : block
  %l2, %l3 = sched.get_loops(block = %b1) : loop, loop
  sched.compute_at(block = %b0, loop = %l2, preserve_unit_loops = false, index = -1)
  sched.rolling_buffer(block = %b0, write_buffer_index = 0)
}

sched.sequence {
  %b0 = sched.get_block(name = "E", func_name = "padded") : block
  sched.pad_einsum(block = %b0, padding = [1, 1, 1])
}

sched.sequence {
  %b0 = sched.get_block(name = "pad", func_name = "border") : block
  %l1 = sched.get_loops(block = %b0) : loop
  %b2 = sched.decompose_padding(block = %b0, loop = %l1) : block
}

sched.sequence {
  %b0 = sched.get_block(name = "R", func_name = "resize") : block
  sched.annotate_buffer_access(block = %b0, buffer_index = 0, buf_type = "read", gen_new_ranges = #sym.index_map<(vn : i32, vc : i32, vh : i32, vw : i32) -> (vn : i32, vn : i32 + 1, vc : i32, vc : i32 + 1, vh : i32 floordiv 4, vh : i32 floordiv 4 + 20, vw : i32 floordiv 2, vw : i32 floordiv 2 + 1)>)
}

sched.sequence {
  %b0 = sched.get_block(name = "A", func_name = "inplace") : block
  sched.unsafe_hide_buffer_access(block = %b0, buf_type = "read", buf_index_array = [0])
}

sched.sequence {
  %b0 = sched.get_block(name = "C", func_name = "matmul") : block
  %l1, %l2, %l3 = sched.get_loops(block = %b0) : loop, loop, loop
  %l4, %l5 = sched.split(loop = %l1, factors = [none, 4], preserve_unit_iters = true, disable_predication = false) : loop, loop
  %l6, %l7 = sched.split(loop = %l2, factors = [none, 8], preserve_unit_iters = true, disable_predication = false) : loop, loop
  %l8, %l9 = sched.split(loop = %l3, factors = [none, 4], preserve_unit_iters = true, disable_predication = false) : loop, loop
  sched.reorder(loops = [%l4, %l6, %l8, %l5, %l7, %l9])
  %b10 = sched.decompose_reduction(block = %b0, loop = %l8) : block
  sched.tensorize(block_or_loop = %l5, tensor_intrin = "gemm_4x8x4_f32", preserve_unit_iters = true)
}

// What the default schedule decides for a function: rules for its blocks.
sched.sequence @matmul {
  sched.rule "register_tiles" on "C" {lane = "vj", row = "vi", lanes = 16, vectors = 4, rows = 6}
}
