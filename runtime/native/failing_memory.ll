; aligned_alloc, malloc and free for tests, where allocations fail and are counted (failing_memory.py).

@calls = internal global i64 0                 ; allocations since the last failing_set
@first = internal global i64 -1                ; the first call that fails, by its number from 0
@last = internal global i64 -1                 ; the first one after it that succeeds again
@live = internal global i64 0                  ; blocks that were allocated and not freed

declare ptr @aligned_alloc(i64, i64)
declare ptr @malloc(i64)
declare void @free(ptr)

; Whether the call that begins is to fail.
define internal i1 @fails() {
  %number = atomicrmw add ptr @calls, i64 1 seq_cst
  %first = load atomic i64, ptr @first seq_cst, align 8
  %last = load atomic i64, ptr @last seq_cst, align 8
  %from = icmp uge i64 %number, %first
  %to = icmp ult i64 %number, %last
  %fails = and i1 %from, %to
  ret i1 %fails
}

define internal ptr @counted(ptr %memory) {
  %made = icmp ne ptr %memory, null
  %one = zext i1 %made to i64
  %before = atomicrmw add ptr @live, i64 %one seq_cst
  ret ptr %memory
}

define ptr @failing_aligned_alloc(i64 %alignment, i64 %size) {
entry:
  %fails = call i1 @fails()
  br i1 %fails, label %nothing, label %allocate
nothing:
  ret ptr null
allocate:
  %memory = call ptr @aligned_alloc(i64 %alignment, i64 %size)
  %counted = call ptr @counted(ptr %memory)
  ret ptr %counted
}

define ptr @failing_malloc(i64 %size) {
entry:
  %fails = call i1 @fails()
  br i1 %fails, label %nothing, label %allocate
nothing:
  ret ptr null
allocate:
  %memory = call ptr @malloc(i64 %size)
  %counted = call ptr @counted(ptr %memory)
  ret ptr %counted
}

define void @failing_free(ptr %memory) {
  %is = icmp ne ptr %memory, null
  %one = zext i1 %is to i64
  %before = atomicrmw sub ptr @live, i64 %one seq_cst
  call void @free(ptr %memory)
  ret void
}

define void @failing_set(i64 %first, i64 %last) {
  store atomic i64 0, ptr @calls seq_cst, align 8
  store atomic i64 %last, ptr @last seq_cst, align 8
  store atomic i64 %first, ptr @first seq_cst, align 8
  ret void
}

define i64 @failing_calls() {
  %calls = load atomic i64, ptr @calls seq_cst, align 8
  ret i64 %calls
}

define i64 @failing_live() {
  %live = load atomic i64, ptr @live seq_cst, align 8
  ret i64 %live
}
