# RUN: tirax-opt %s --pipeline kernels | filecheck %s
# RUN: tirax-opt %s --pipeline default-cpu -t llvm | filecheck %s --check-prefix LLVM

# A parallel loop is a function of its own that runs a range of iterations, which the pool of threads calls.

# CHECK: func.func private @kernel.main_parallel_0_body(
# CHECK: vector.load {{.*}} vector<{{[0-9]+}}xf32>
# CHECK: func.func private @kernel.main(%A: memref<?xf32>, %B: memref<?xf32>, %n: i64)
# CHECK: func.constant @kernel.main_parallel_0
# CHECK: func.call @tirax_parallel_for(
# LLVM: define internal i32 @kernel.main
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 16), "float32")
        B = T.match_buffer(b, (n, 16), "float32")
        for i in T.parallel(n):
            for j in T.vectorized(16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] + T.float32(1)
