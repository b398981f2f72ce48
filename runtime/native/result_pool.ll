; Memory of large results and arenas (result_pool.py); linked with huge_pages.ll or plain_pages.ll.

; A block: its whole size (i64), the next block that is free (ptr); behind 64 bytes what is handed out.
@first = internal global ptr null              ; the free blocks, the one that was freed last first
@held = internal global i64 0                  ; the bytes in them
@limit = internal global i64 0

; What `pool_bind` says: of numpy, and from how many bytes on blocks are kept.
@new_from_descr = internal global ptr null
@set_base_object = internal global ptr null
@array_type = internal global ptr null
@array_flags = internal global i32 0
@large = internal global i64 0
@memory_error = internal global ptr null       ; the type of the exception where memory is missing
@missing = internal constant [54 x i8] c"%lld bytes of memory cannot be allocated for a result\00"

@tirax_huge_page = external constant i64       ; the alignment of blocks from 4 MiB on
declare void @tirax_advise(ptr, i64)           ; asks for huge pages
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
declare ptr @PyErr_Format(ptr, ptr, ...)
declare void @Py_DecRef(ptr)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)

; Take the block that %link points at out of the list.
define internal ptr @unlink(ptr %link) {
  %block = load ptr, ptr %link
  %place = getelementptr i8, ptr %block, i64 8
  %rest = load ptr, ptr %place
  store ptr %rest, ptr %link
  %size = load i64, ptr %block
  %held = load i64, ptr @held
  %less = sub i64 %held, %size
  store i64 %less, ptr @held
  ret ptr %block
}

; The link to the smallest free block of at least %least bytes and at most a quarter more, or null.
define internal ptr @find(i64 %least) {
entry:
  %quarter = lshr i64 %least, 2
  %most = add i64 %least, %quarter
  %beyond = add i64 %most, 1
  br label %look
look:
  %link = phi ptr [@first, %entry], [%next, %compare]
  %best = phi ptr [null, %entry], [%best1, %compare]
  %bound = phi i64 [%beyond, %entry], [%bound1, %compare]
  %block = load ptr, ptr %link
  %end = icmp eq ptr %block, null
  br i1 %end, label %done, label %compare
compare:
  %size = load i64, ptr %block
  %fits = icmp uge i64 %size, %least
  %smaller = icmp ult i64 %size, %bound
  %better = and i1 %fits, %smaller
  %best1 = select i1 %better, ptr %link, ptr %best
  %bound1 = select i1 %better, i64 %size, i64 %bound
  %next = getelementptr i8, ptr %block, i64 8
  br label %look
done:
  ret ptr %best
}

; Free blocks, the oldest first, until at most %most bytes are held.
define internal void @shrink(i64 %most) {
entry:
  br label %check
check:
  %held = load i64, ptr @held
  %enough = icmp ule i64 %held, %most
  br i1 %enough, label %done, label %last
last:
  %link = phi ptr [@first, %check], [%next, %last]
  %block = load ptr, ptr %link
  %next = getelementptr i8, ptr %block, i64 8
  %after = load ptr, ptr %next
  %more = icmp ne ptr %after, null
  br i1 %more, label %last, label %drop
drop:
  %oldest = call ptr @unlink(ptr %link)
  call void @free(ptr %oldest)
  br label %check
done:
  ret void
}

define ptr @tirax_take(i64 %size) {
entry:
  %huge = icmp uge i64 %size, 4194304
  %page = load i64, ptr @tirax_huge_page
  %alignment = select i1 %huge, i64 %page, i64 64
  %more = add i64 %size, 4159                  ; the head, rounded up to pages
  %whole = and i64 %more, -4096
  %link = call ptr @find(i64 %whole)
  %found = icmp ne ptr %link, null
  br i1 %found, label %reuse, label %fresh
reuse:
  %free = call ptr @unlink(ptr %link)
  br label %done
fresh:
  %tried = call ptr @aligned_alloc(i64 %alignment, i64 %whole)
  %failed = icmp eq ptr %tried, null
  br i1 %failed, label %again, label %made
again:                                         ; what is held may be what is missing
  call void @shrink(i64 0)
  %retried = call ptr @aligned_alloc(i64 %alignment, i64 %whole)
  %none = icmp eq ptr %retried, null
  br i1 %none, label %nothing, label %made
nothing:
  ret ptr null
made:
  %new = phi ptr [%tried, %fresh], [%retried, %again]
  br i1 %huge, label %advise, label %label
advise:
  call void @tirax_advise(ptr %new, i64 %whole)
  br label %label
label:
  store i64 %whole, ptr %new
  br label %done
done:
  %block = phi ptr [%free, %reuse], [%new, %label]
  %memory = getelementptr i8, ptr %block, i64 64
  ret ptr %memory
}

define void @tirax_give(ptr %memory) {
entry:
  %none = icmp eq ptr %memory, null
  br i1 %none, label %done, label %look
look:
  %block = getelementptr i8, ptr %memory, i64 -64
  %size = load i64, ptr %block
  %limit = load i64, ptr @limit
  %enough = load i64, ptr @large
  %small = icmp ult i64 %size, %enough
  %large = icmp ugt i64 %size, %limit
  %other = or i1 %small, %large
  br i1 %other, label %drop, label %keep
drop:
  call void @free(ptr %block)
  ret void
keep:
  %next = getelementptr i8, ptr %block, i64 8
  %rest = load ptr, ptr @first
  store ptr %rest, ptr %next
  store ptr %block, ptr @first
  %held = load i64, ptr @held
  %more = add i64 %held, %size
  store i64 %more, ptr @held
  call void @shrink(i64 %limit)
  br label %done
done:
  ret void
}

; The destructor of a capsule, which is the base of an array.
define internal void @drop(ptr %capsule) {
  %memory = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @tirax_give(ptr %memory)
  ret void
}

define ptr @tirax_new_result(ptr %descr, i32 %nd, ptr %dims, i64 %size) {
entry:
  %memory = call ptr @tirax_take(i64 %size)
  %none = icmp eq ptr %memory, null
  br i1 %none, label %full, label %own
full:
  %error = load ptr, ptr @memory_error
  %nothing = call ptr (ptr, ptr, ...) @PyErr_Format(ptr %error, ptr @missing, i64 %size)
  call void @Py_DecRef(ptr %descr)
  ret ptr null
own:
  %capsule = call ptr @PyCapsule_New(ptr %memory, ptr null, ptr @drop)
  %lost = icmp eq ptr %capsule, null
  br i1 %lost, label %back, label %make
back:
  call void @tirax_give(ptr %memory)
  call void @Py_DecRef(ptr %descr)
  ret ptr null
make:
  %new = load ptr, ptr @new_from_descr
  %type = load ptr, ptr @array_type
  %flags = load i32, ptr @array_flags
  %array = call ptr %new(
      ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr null, ptr %memory, i32 %flags, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %undo, label %bind
undo:
  call void @Py_DecRef(ptr %capsule)
  ret ptr null
bind:
  %set = load ptr, ptr @set_base_object
  %status = call i32 %set(ptr %array, ptr %capsule)
  %refused = icmp slt i32 %status, 0
  br i1 %refused, label %away, label %done
away:
  call void @Py_DecRef(ptr %array)
  ret ptr null
done:
  ret ptr %array
}

define void @pool_bind(ptr %new, ptr %set, ptr %type, ptr %error, i32 %flags, i64 %large) {
  store ptr %new, ptr @new_from_descr
  store ptr %set, ptr @set_base_object
  store ptr %type, ptr @array_type
  store ptr %error, ptr @memory_error
  store i32 %flags, ptr @array_flags
  store i64 %large, ptr @large
  ret void
}

define i64 @pool_held() {
  %held = load i64, ptr @held
  ret i64 %held
}

define void @pool_set_limit(i64 %limit) {
  store i64 %limit, ptr @limit
  call void @shrink(i64 %limit)
  ret void
}

define void @pool_release() {
  call void @shrink(i64 0)
  ret void
}
