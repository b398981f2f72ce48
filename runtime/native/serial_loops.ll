; Parallel loops where there is no futex: everything runs on the caller (thread_pool.py).

define void @tirax_parallel_for(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain, i64 %limit) {
entry:
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %run, label %done
run:
  call void %f(ptr %c, i64 %begin, i64 %end)
  br label %done
done:
  ret void
}

define void @pool_set_threads(i32 %count) {
  ret void
}

define i32 @pool_threads() {
  ret i32 1
}

define void @pool_reset() {
  ret void
}
