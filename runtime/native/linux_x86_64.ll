; What thread_pool.ll needs of Linux on x86_64.

@tirax_futex = constant i64 202

declare void @llvm.x86.sse2.pause()

define void @tirax_pause() {
  call void @llvm.x86.sse2.pause()
  ret void
}
