; Whether the thread that asks has stack left: the code of runtime/stack.py.

@stack_low = global i64 0
@stack_high = global i64 0

declare i64 @pthread_self()
declare i32 @pthread_getattr_np(i64, ptr)
declare i32 @pthread_attr_getstack(ptr, ptr, ptr)
declare i32 @pthread_attr_destroy(ptr)
declare ptr @llvm.frameaddress.p0(i32)
declare i64 @llvm.umin.i64(i64, i64)

define i32 @tirax_has_stack() {
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %main_low = load i64, ptr @stack_low
  %main_high = load i64, ptr @stack_high
  %above = icmp ule i64 %main_low, %here
  %below = icmp ult i64 %here, %main_high
  %main = and i1 %above, %below
  br i1 %main, label %compare, label %other

; Other threads are asked each time: where one was, another may be, with less.
other:
  %attributes = alloca [128 x i8], align 16
  %address = alloca i64
  %size = alloca i64
  %self = call i64 @pthread_self()
  %error = call i32 @pthread_getattr_np(i64 %self, ptr %attributes)
  %known = icmp eq i32 %error, 0
  br i1 %known, label %read, label %enough

read:
  call i32 @pthread_attr_getstack(ptr %attributes, ptr %address, ptr %size)
  call i32 @pthread_attr_destroy(ptr %attributes)
  %other_low = load i64, ptr %address
  %other_size = load i64, ptr %size
  %other_high = add i64 %other_low, %other_size
  %from = icmp ule i64 %other_low, %here
  %to = icmp ult i64 %here, %other_high
  %inside = and i1 %from, %to
  br i1 %inside, label %compare, label %enough

compare:
  %low = phi i64 [ %main_low, %0 ], [ %other_low, %read ]
  %high = phi i64 [ %main_high, %0 ], [ %other_high, %read ]
  %all = sub i64 %high, %low
  %half = lshr i64 %all, 1
  %kept = call i64 @llvm.umin.i64(i64 %half, i64 262144)
  %left = sub i64 %here, %low
  %has = icmp ugt i64 %left, %kept
  %result = zext i1 %has to i32
  ret i32 %result

enough:
  ret i32 1
}

define void @stack_set_main(i64 %low, i64 %high) {
  store i64 %low, ptr @stack_low
  store i64 %high, ptr @stack_high
  ret void
}
