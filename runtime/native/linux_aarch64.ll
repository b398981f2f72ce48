; What thread_pool.ll needs of Linux on aarch64.

@tirax_futex = constant i64 98

declare void @llvm.aarch64.hint(i32)

define void @tirax_pause() {
  call void @llvm.aarch64.hint(i32 1)   ; yield
  ret void
}
