; What result_pool.ll needs where the system has no huge pages.

@tirax_huge_page = constant i64 4096

define void @tirax_advise(ptr %memory, i64 %size) {
  ret void
}
