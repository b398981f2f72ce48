; What result_pool.ll needs where the system has huge pages of 2 MiB (Linux).

@tirax_huge_page = constant i64 2097152

declare i32 @madvise(ptr, i64, i32)

define void @tirax_advise(ptr %memory, i64 %size) {
  call i32 @madvise(ptr %memory, i64 %size, i32 14)   ; MADV_HUGEPAGE
  ret void
}
