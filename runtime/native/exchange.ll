; Calls with tensors of another framework, by DLPack's C exchange interface (exchange.py).

; A plan: the function, what is called where this does not do, the number of arguments, of results; the framework's
; two functions; its two types of tensors; numpy's type, two functions and flags; NDArray; a list; None; the names
; requires_grad and is_neg, or null where a tensor may be so; False. Then two words for each argument (its dtype and its
; number of dimensions, -1 where it is passed on, -2 where it is left out; its descr), one for each result (its dtype, or
; -1 where it is passed on). The number of results is -1 for a single tensor, -2 for what is returned as it is.
;
; The list has the array that the last call made for each argument, to be used again. One that waits has no base, no
; dimensions, no memory but @nothing, and no other reference; one that something else holds after a call leaves the list.
;
; A DLTensor, 48 bytes: data 0, device type 8 and number 12, ndim 16, dtype 20, shape 24, strides 32, byte offset 40.
; A DLManagedTensorVersioned, 80: version 0, context 8, deleter 16, flags 24, the tensor 32; here its strides are behind.

declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @Py_IsInitialized()
declare i32 @PyGILState_Ensure()
declare void @PyGILState_Release(i32)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare ptr @PyErr_NoMemory()
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare ptr @PyTuple_New(i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare void @_PyErr_BadInternalCall(ptr, i32)
declare ptr @PyObject_CallMethod(ptr, ptr, ptr, ...)
declare ptr @PyObject_GetAttr(ptr, ptr)
declare ptr @PyObject_VectorcallMethod(ptr, ptr, i64, ptr)

@file = private constant [12 x i8] c"exchange.ll\00"
@copy = private constant [5 x i8] c"copy\00"
@nothing = internal global [16 x i8] zeroinitializer, align 16

define internal ptr @word(ptr %plan, i64 %index) alwaysinline {
  %place = getelementptr ptr, ptr %plan, i64 %index
  %value = load ptr, ptr %place
  ret ptr %value
}

; Whether extents and strides are those of a dense tensor; one without elements may be called otherwise.
define internal i1 @is_dense(i32 %ndim, ptr %shape, ptr %strides) {
entry:
  %rank = zext i32 %ndim to i64
  br label %check
check:
  %left = phi i64 [%rank, %entry], [%i, %next]
  %size = phi i64 [1, %entry], [%size1, %next]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %yes, label %look
look:
  %i = sub i64 %left, 1
  %extent_at = getelementptr i64, ptr %shape, i64 %i
  %extent = load i64, ptr %extent_at
  %stride_at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride_at
  %one = icmp eq i64 %extent, 1
  %same = icmp eq i64 %stride, %size
  %fits = or i1 %one, %same
  br i1 %fits, label %next, label %no
next:
  %size1 = mul i64 %size, %extent
  br label %check
yes:
  ret i1 true
no:
  ret i1 false
}

; Fill in the tensor of %object where it is one of the plan's types, dense, on the CPU and of the parameter's kind.
define internal i1 @read(ptr %object, ptr %plan, i64 %kind, ptr %tensor) {
entry:
  %type_at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type_at
  %first = call ptr @word(ptr %plan, i64 6)
  %second = call ptr @word(ptr %plan, i64 7)
  %is_first = icmp eq ptr %type, %first
  %is_second = icmp eq ptr %type, %second
  %known = or i1 %is_first, %is_second
  br i1 %known, label %ask, label %no
ask:
  %from = call ptr @word(ptr %plan, i64 4)
  %status = call i32 %from(ptr %object, ptr %tensor)
  %filled = icmp eq i32 %status, 0
  br i1 %filled, label %compare, label %failed
failed:
  call void @PyErr_Clear()                     ; the other way says what is wrong
  br label %no
compare:
  %device_at = getelementptr i8, ptr %tensor, i64 8
  %device = load i32, ptr %device_at
  %on_cpu = icmp eq i32 %device, 1
  %ndim_at = getelementptr i8, ptr %tensor, i64 16
  %ndim = load i32, ptr %ndim_at
  %dtype_at = getelementptr i8, ptr %tensor, i64 20
  %dtype = load i32, ptr %dtype_at
  %high = zext i32 %ndim to i64
  %shifted = shl i64 %high, 32
  %low = zext i32 %dtype to i64
  %both = or i64 %shifted, %low
  %same = icmp eq i64 %both, %kind
  %fits = and i1 %on_cpu, %same
  br i1 %fits, label %layout, label %no
layout:
  %shape_at = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape_at
  %strides_at = getelementptr i8, ptr %tensor, i64 32
  %strides = load ptr, ptr %strides_at
  %dense = call i1 @is_dense(i32 %ndim, ptr %shape, ptr %strides)
  br i1 %dense, label %aligned, label %no
aligned:
  %data = load i64, ptr %tensor
  %offset_at = getelementptr i8, ptr %tensor, i64 40
  %offset = load i64, ptr %offset_at
  %address = add i64 %data, %offset
  store i64 %address, ptr %tensor
  %shifted_bits = lshr i64 %low, 11            ; dtype: code 8 bits, width in bits 8 bits, lanes 16 bits
  %bytes = and i64 %shifted_bits, 31
  %mask = sub i64 %bytes, 1
  %rest = and i64 %address, %mask
  %aligned_data = icmp eq i64 %rest, 0
  br i1 %aligned_data, label %memory, label %no
memory:
  %real = icmp ne i64 %address, 0
  %empty = call i1 @is_empty(i32 %ndim, ptr %shape)
  %readable = or i1 %real, %empty              ; functional tensors have no memory
  br i1 %readable, label %bits, label %no
bits:
  %plain = call i1 @is_plain(ptr %object, ptr %plan)
  ret i1 %plain
no:
  ret i1 false
}

; Whether some extent is zero.
define internal i1 @is_empty(i32 %ndim, ptr %shape) {
entry:
  %rank = zext i32 %ndim to i64
  br label %check
check:
  %i = phi i64 [0, %entry], [%next, %look]
  %end = icmp eq i64 %i, %rank
  br i1 %end, label %no, label %look
look:
  %next = add i64 %i, 1
  %extent_at = getelementptr i64, ptr %shape, i64 %i
  %extent = load i64, ptr %extent_at
  %zero = icmp eq i64 %extent, 0
  br i1 %zero, label %yes, label %check
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a tensor requires no gradient and its elements are those of its memory, not negated.
define internal i1 @is_plain(ptr %object, ptr %plan) {
entry:
  %self = alloca ptr
  store ptr %object, ptr %self
  %gradient = call ptr @word(ptr %plan, i64 15)
  %negative = call ptr @word(ptr %plan, i64 16)
  %any = icmp eq ptr %gradient, null
  br i1 %any, label %yes, label %ask
ask:
  %required = call ptr @PyObject_GetAttr(ptr %object, ptr %gradient)
  %free = call i1 @is_false(ptr %required, ptr %plan)
  br i1 %free, label %sign, label %no
sign:
  %negated = call ptr @PyObject_VectorcallMethod(ptr %negative, ptr %self, i64 1, ptr null)
  %plain = call i1 @is_false(ptr %negated, ptr %plan)
  ret i1 %plain
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether an object, whose reference is taken, is False; null is not, and its exception is cleared.
define internal i1 @is_false(ptr %object, ptr %plan) {
entry:
  %none = icmp eq ptr %object, null
  br i1 %none, label %failed, label %compare
failed:
  call void @PyErr_Clear()
  ret i1 false
compare:
  %false = call ptr @word(ptr %plan, i64 17)
  %same = icmp eq ptr %object, %false
  call void @Py_DecRef(ptr %object)
  ret i1 %same
}

; The array that waits in the list at %index, where it is of this descr and these extents and its flags are as they were.
define internal ptr @waiting(ptr %plan, i64 %index, ptr %descr, ptr %tensor) {
entry:
  %list = call ptr @word(ptr %plan, i64 13)
  %array = call ptr @PyList_GetItem(ptr %list, i64 %index)
  %none = call ptr @word(ptr %plan, i64 14)
  %absent = icmp eq ptr %array, %none
  br i1 %absent, label %no, label %look
look:
  %count = load i32, ptr %array                ; the low half of the count of references
  %base_at = getelementptr i8, ptr %array, i64 48
  %base = load ptr, ptr %base_at
  %alone = icmp eq i32 %count, 1
  %unbound = icmp eq ptr %base, null
  %waits = and i1 %alone, %unbound
  br i1 %waits, label %compare, label %no
compare:
  %descr_at = getelementptr i8, ptr %array, i64 56
  %its_descr = load ptr, ptr %descr_at
  %flags_at = getelementptr i8, ptr %array, i64 64
  %flags = load i32, ptr %flags_at
  %wanted_word = call ptr @word(ptr %plan, i64 11)
  %wanted_wide = ptrtoint ptr %wanted_word to i64
  %wanted = trunc i64 %wanted_wide to i32
  %common = and i32 %flags, %wanted
  %data = load ptr, ptr %tensor
  %same_descr = icmp eq ptr %its_descr, %descr
  %same_flags = icmp eq i32 %common, %wanted
  %real = icmp ne ptr %data, null              ; numpy allocates for null
  %same = and i1 %same_descr, %same_flags
  %usable = and i1 %same, %real
  br i1 %usable, label %begin, label %no
begin:
  %ndim_at = getelementptr i8, ptr %tensor, i64 16
  %ndim = load i32, ptr %ndim_at
  %rank = zext i32 %ndim to i64
  %shape_at = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape_at
  %dims_at = getelementptr i8, ptr %array, i64 32
  %dims = load ptr, ptr %dims_at
  br label %check
check:
  %i = phi i64 [0, %begin], [%next, %extent]
  %end = icmp eq i64 %i, %rank
  br i1 %end, label %yes, label %extent
extent:
  %next = add i64 %i, 1
  %extent_at = getelementptr i64, ptr %shape, i64 %i
  %its_at = getelementptr i64, ptr %dims, i64 %i
  %here = load i64, ptr %extent_at
  %there = load i64, ptr %its_at
  %as_before = icmp eq i64 %here, %there
  br i1 %as_before, label %check, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}

; A new array over the memory of %object, which it keeps alive; null with an exception. It is in the list then.
define internal ptr @fresh(ptr %object, ptr %plan, i64 %index, ptr %descr, ptr %tensor) {
entry:
  %type = call ptr @word(ptr %plan, i64 8)
  %new = call ptr @word(ptr %plan, i64 9)
  %set = call ptr @word(ptr %plan, i64 10)
  %flags_word = call ptr @word(ptr %plan, i64 11)
  %flags_wide = ptrtoint ptr %flags_word to i64
  %flags = trunc i64 %flags_wide to i32
  %data = load ptr, ptr %tensor
  %ndim_at = getelementptr i8, ptr %tensor, i64 16
  %ndim = load i32, ptr %ndim_at
  %shape_at = getelementptr i8, ptr %tensor, i64 24
  %shape = load ptr, ptr %shape_at
  call void @Py_IncRef(ptr %descr)
  %array = call ptr %new(ptr %type, ptr %descr, i32 %ndim, ptr %shape, ptr null, ptr %data, i32 %flags, ptr null)
  %lost = icmp eq ptr %array, null
  br i1 %lost, label %nothing, label %bind
bind:
  call void @Py_IncRef(ptr %object)
  %status = call i32 %set(ptr %array, ptr %object)
  %refused = icmp slt i32 %status, 0
  br i1 %refused, label %away, label %keep
away:
  call void @Py_DecRef(ptr %array)
  br label %nothing
keep:
  %own_memory = icmp eq ptr %data, null
  br i1 %own_memory, label %done, label %list
list:
  call void @put(ptr %plan, i64 %index, ptr %array)
  br label %done
done:
  ret ptr %array
nothing:
  ret ptr null
}

; Put an object into the list.
define internal void @put(ptr %plan, i64 %index, ptr %object) {
  %list = call ptr @word(ptr %plan, i64 13)
  call void @Py_IncRef(ptr %object)
  %status = call i32 @PyList_SetItem(ptr %list, i64 %index, ptr %object)
  ret void
}

; An array over the memory of %object, which it keeps alive; null where it does not fit, or with an exception.
define internal ptr @view(ptr %object, ptr %plan, i64 %kind, i64 %index, ptr %descr, ptr %tensor) {
entry:
  %fits = call i1 @read(ptr %object, ptr %plan, i64 %kind, ptr %tensor)
  br i1 %fits, label %look, label %unfit
look:
  %array = call ptr @waiting(ptr %plan, i64 %index, ptr %descr, ptr %tensor)
  %none = icmp eq ptr %array, null
  br i1 %none, label %make, label %again
make:
  %new = call ptr @fresh(ptr %object, ptr %plan, i64 %index, ptr %descr, ptr %tensor)
  ret ptr %new
again:
  call void @Py_IncRef(ptr %array)
  call void @Py_IncRef(ptr %object)
  %data = load ptr, ptr %tensor
  %ndim_from = getelementptr i8, ptr %tensor, i64 16
  %ndim = load i32, ptr %ndim_from
  %data_at = getelementptr i8, ptr %array, i64 16
  store ptr %data, ptr %data_at
  %ndim_at = getelementptr i8, ptr %array, i64 24
  store i32 %ndim, ptr %ndim_at
  %base_at = getelementptr i8, ptr %array, i64 48
  store ptr %object, ptr %base_at
  ret ptr %array
unfit:
  ret ptr null
}

; Give up a call's reference to an argument: where it is of the list and nothing else holds it, it waits there again.
define internal void @let_go(ptr %object, ptr %plan, i64 %index, i64 %ndim) {
entry:
  %list = call ptr @word(ptr %plan, i64 13)
  %listed = call ptr @PyList_GetItem(ptr %list, i64 %index)
  %none = call ptr @word(ptr %plan, i64 14)
  %is_listed = icmp eq ptr %listed, %object
  %is_array = icmp ne ptr %object, %none
  %ours = and i1 %is_listed, %is_array
  br i1 %ours, label %count, label %drop
count:
  %references = load i32, ptr %object
  %ndim_at = getelementptr i8, ptr %object, i64 24
  %its_ndim = load i32, ptr %ndim_at
  %wide = sext i32 %its_ndim to i64
  %alone = icmp eq i32 %references, 2
  %same = icmp eq i64 %wide, %ndim
  %waits = and i1 %alone, %same
  br i1 %waits, label %rest, label %leave
rest:
  %base_at = getelementptr i8, ptr %object, i64 48
  %base = load ptr, ptr %base_at
  store ptr null, ptr %base_at
  store i32 0, ptr %ndim_at
  %data_at = getelementptr i8, ptr %object, i64 16
  store ptr @nothing, ptr %data_at
  call void @Py_DecRef(ptr %object)
  call void @Py_DecRef(ptr %base)
  ret void
leave:
  call void @put(ptr %plan, i64 %index, ptr %none)
  br label %drop
drop:
  call void @Py_DecRef(ptr %object)
  ret void
}

; The deleter of a managed tensor: its context is the array. It may be called by any thread.
define internal void @release(ptr %managed) {
entry:
  %alive = call i32 @Py_IsInitialized()
  %gone = icmp eq i32 %alive, 0
  br i1 %gone, label %done, label %drop
drop:
  %state = call i32 @PyGILState_Ensure()
  %array_at = getelementptr i8, ptr %managed, i64 8
  %array = load ptr, ptr %array_at
  call void @Py_DecRef(ptr %array)
  call void @PyGILState_Release(i32 %state)
  br label %done
done:
  call void @free(ptr %managed)
  ret void
}

define internal void @write_strides(i32 %ndim, ptr %shape, ptr %strides) {
entry:
  %rank = zext i32 %ndim to i64
  br label %check
check:
  %left = phi i64 [%rank, %entry], [%i, %write]
  %size = phi i64 [1, %entry], [%size1, %write]
  %end = icmp eq i64 %left, 0
  br i1 %end, label %done, label %write
write:
  %i = sub i64 %left, 1
  %stride_at = getelementptr i64, ptr %strides, i64 %i
  store i64 %size, ptr %stride_at
  %extent_at = getelementptr i64, ptr %shape, i64 %i
  %extent = load i64, ptr %extent_at
  %empty = icmp eq i64 %extent, 0
  %times = select i1 %empty, i64 1, i64 %extent
  %size1 = mul i64 %size, %times
  br label %check
done:
  ret void
}

; Whether an array lies over the memory of a tensor: an argument that was returned, or a view of one.
define internal i1 @is_argument(ptr %array, ptr %plan) {
entry:
  %plain_type = call ptr @word(ptr %plan, i64 8)
  %array_type = call ptr @word(ptr %plan, i64 12)
  %first = call ptr @word(ptr %plan, i64 6)
  %second = call ptr @word(ptr %plan, i64 7)
  br label %next
next:
  %object = phi ptr [%array, %entry], [%base, %look]
  %base_at = getelementptr i8, ptr %object, i64 48
  %base = load ptr, ptr %base_at
  %none = icmp eq ptr %base, null
  br i1 %none, label %no, label %look
look:
  %type_at = getelementptr i8, ptr %base, i64 8
  %type = load ptr, ptr %type_at
  %is_plain = icmp eq ptr %type, %plain_type
  %is_own = icmp eq ptr %type, %array_type
  %is_array = or i1 %is_plain, %is_own
  br i1 %is_array, label %next, label %owner
owner:
  %is_first = icmp eq ptr %type, %first
  %is_second = icmp eq ptr %type, %second
  %known = or i1 %is_first, %is_second
  ret i1 %known
no:
  ret i1 false
}

; The same for a result, which has memory of its own: an argument that was returned is copied.
define internal ptr @give(ptr %array, i32 %dtype, ptr %plan) {
entry:
  %to = call ptr @word(ptr %plan, i64 5)
  %shared = call i1 @is_argument(ptr %array, ptr %plan)
  br i1 %shared, label %copy, label %own
own:
  %tensor = call ptr @hand_over(ptr %array, i32 %dtype, ptr %to)
  ret ptr %tensor
copy:
  %fresh = call ptr (ptr, ptr, ptr, ...) @PyObject_CallMethod(ptr %array, ptr @copy, ptr null)
  %lost = icmp eq ptr %fresh, null
  br i1 %lost, label %nothing, label %over
over:
  %other = call ptr @hand_over(ptr %fresh, i32 %dtype, ptr %to)
  call void @Py_DecRef(ptr %fresh)
  ret ptr %other
nothing:
  ret ptr null
}

; A tensor of the framework over an array, which it keeps alive; null with an exception.
define internal ptr @hand_over(ptr %array, i32 %dtype, ptr %to) {
entry:
  %result = alloca ptr
  %ndim_from = getelementptr i8, ptr %array, i64 24
  %ndim = load i32, ptr %ndim_from
  %rank = zext i32 %ndim to i64
  %more = shl i64 %rank, 3
  %size = add i64 %more, 80
  %managed = call ptr @malloc(i64 %size)
  %none = icmp eq ptr %managed, null
  br i1 %none, label %full, label %fill
full:
  %nothing = call ptr @PyErr_NoMemory()
  ret ptr null
fill:
  %data_from = getelementptr i8, ptr %array, i64 16
  %data = load ptr, ptr %data_from
  %shape_from = getelementptr i8, ptr %array, i64 32
  %shape = load ptr, ptr %shape_from
  %strides = getelementptr i8, ptr %managed, i64 80
  call void @write_strides(i32 %ndim, ptr %shape, ptr %strides)
  store i64 1, ptr %managed                    ; version 1.0
  %context = getelementptr i8, ptr %managed, i64 8
  store ptr %array, ptr %context
  %deleter = getelementptr i8, ptr %managed, i64 16
  store ptr @release, ptr %deleter
  %flags = getelementptr i8, ptr %managed, i64 24
  store i64 0, ptr %flags
  %data_at = getelementptr i8, ptr %managed, i64 32
  store ptr %data, ptr %data_at
  %device = getelementptr i8, ptr %managed, i64 40
  store i64 1, ptr %device                     ; the CPU, number 0
  %ndim_at = getelementptr i8, ptr %managed, i64 48
  store i32 %ndim, ptr %ndim_at
  %dtype_at = getelementptr i8, ptr %managed, i64 52
  store i32 %dtype, ptr %dtype_at
  %shape_at = getelementptr i8, ptr %managed, i64 56
  store ptr %shape, ptr %shape_at
  %strides_at = getelementptr i8, ptr %managed, i64 64
  store ptr %strides, ptr %strides_at
  %offset = getelementptr i8, ptr %managed, i64 72
  store i64 0, ptr %offset
  call void @Py_IncRef(ptr %array)
  %status = call i32 %to(ptr %managed, ptr %result)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %lost, label %done
lost:                                          ; whose the memory is now is not said, so it stays
  ret ptr null
done:
  %tensor = load ptr, ptr %result
  ret ptr %tensor
}

; The tuple of results, which is taken, as one of tensors; null with an exception.
define internal ptr @results(ptr %arrays, ptr %plan, ptr %rows, i64 %count) {
entry:
  %size = call i64 @PyTuple_Size(ptr %arrays)
  %as_said = icmp eq i64 %size, %count
  br i1 %as_said, label %begin, label %other
other:
  call void @_PyErr_BadInternalCall(ptr @file, i32 0)
  br label %failed
begin:
  %tuple = call ptr @PyTuple_New(i64 %count)
  %none = icmp eq ptr %tuple, null
  br i1 %none, label %failed, label %check
check:
  %i = phi i64 [0, %begin], [%next, %put]
  %end = icmp eq i64 %i, %count
  br i1 %end, label %done, label %one
one:
  %item = call ptr @PyTuple_GetItem(ptr %arrays, i64 %i)
  %kind_at = getelementptr i64, ptr %rows, i64 %i
  %kind = load i64, ptr %kind_at
  %plain = icmp slt i64 %kind, 0
  br i1 %plain, label %pass, label %array
pass:
  call void @Py_IncRef(ptr %item)
  br label %put
array:
  %dtype = trunc i64 %kind to i32
  %tensor = call ptr @give(ptr %item, i32 %dtype, ptr %plan)
  %lost = icmp eq ptr %tensor, null
  br i1 %lost, label %undo, label %put
put:
  %value = phi ptr [%item, %pass], [%tensor, %array]
  %status = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %value)
  %next = add i64 %i, 1
  br label %check
undo:
  call void @Py_DecRef(ptr %tuple)
  br label %failed
done:
  call void @Py_DecRef(ptr %arrays)
  ret ptr %tuple
failed:
  call void @Py_DecRef(ptr %arrays)
  ret ptr null
}

; Give up the references to the first %count arguments; %ranks has how many dimensions they have.
define internal void @drop(ptr %objects, ptr %ranks, i64 %count, ptr %plan) {
entry:
  br label %check
check:
  %i = phi i64 [0, %entry], [%next, %one]
  %end = icmp eq i64 %i, %count
  br i1 %end, label %done, label %one
one:
  %at = getelementptr ptr, ptr %objects, i64 %i
  %object = load ptr, ptr %at
  %rank_at = getelementptr i64, ptr %ranks, i64 %i
  %rank = load i64, ptr %rank_at
  call void @let_go(ptr %object, ptr %plan, i64 %i, i64 %rank)
  %next = add i64 %i, 1
  br label %check
done:
  ret void
}

; What Python calls: %self is an array of numpy whose data are the plan.
define ptr @exchange_call(ptr %self, ptr %args, i64 %nargs) {
entry:
  %tensor = alloca [48 x i8], align 8
  %plan_at = getelementptr i8, ptr %self, i64 16
  %plan = load ptr, ptr %plan_at
  %function = call ptr @word(ptr %plan, i64 0)
  %slow = call ptr @word(ptr %plan, i64 1)
  %count_at = getelementptr i64, ptr %plan, i64 2
  %count = load i64, ptr %count_at
  %results_at = getelementptr i64, ptr %plan, i64 3
  %result_count = load i64, ptr %results_at
  %rows = getelementptr i64, ptr %plan, i64 18
  %twice = shl i64 %count, 1
  %result_rows = getelementptr i64, ptr %rows, i64 %twice
  %arrays = alloca ptr, i64 %count
  %ranks = alloca i64, i64 %count
  %all = icmp eq i64 %nargs, %count
  br i1 %all, label %check, label %otherwise
check:
  %i = phi i64 [0, %entry], [%next, %step]
  %taken = phi i64 [0, %entry], [%taken1, %step]
  %end = icmp eq i64 %i, %count
  br i1 %end, label %run, label %one
one:
  %next = add i64 %i, 1
  %arg_at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg_at
  %row = shl i64 %i, 1
  %kind_at = getelementptr i64, ptr %rows, i64 %row
  %kind = load i64, ptr %kind_at
  %left_out = icmp eq i64 %kind, -2
  br i1 %left_out, label %step, label %use
use:
  %plain = icmp slt i64 %kind, 0
  br i1 %plain, label %pass, label %array
pass:
  call void @Py_IncRef(ptr %arg)
  br label %put
array:
  %descr_at = getelementptr i64, ptr %kind_at, i64 1
  %descr = load ptr, ptr %descr_at
  %view = call ptr @view(ptr %arg, ptr %plan, i64 %kind, i64 %taken, ptr %descr, ptr %tensor)
  %unfit = icmp eq ptr %view, null
  br i1 %unfit, label %undo, label %put
put:
  %value = phi ptr [%arg, %pass], [%view, %array]
  %place = getelementptr ptr, ptr %arrays, i64 %taken
  store ptr %value, ptr %place
  %rank_place = getelementptr i64, ptr %ranks, i64 %taken
  %rank = ashr i64 %kind, 32
  store i64 %rank, ptr %rank_place
  %more = add i64 %taken, 1
  br label %step
step:
  %taken1 = phi i64 [%taken, %one], [%more, %put]
  br label %check
undo:
  call void @drop(ptr %arrays, ptr %ranks, i64 %taken, ptr %plan)
  %error = call ptr @PyErr_Occurred()
  %failed = icmp ne ptr %error, null
  br i1 %failed, label %nothing, label %otherwise
otherwise:
  %other = call ptr @PyObject_Vectorcall(ptr %slow, ptr %args, i64 %nargs, ptr null)
  ret ptr %other
run:
  %found = call ptr @PyObject_Vectorcall(ptr %function, ptr %arrays, i64 %taken, ptr null)
  call void @drop(ptr %arrays, ptr %ranks, i64 %taken, ptr %plan)
  %raised = icmp eq ptr %found, null
  br i1 %raised, label %nothing, label %give
give:
  switch i64 %result_count, label %several [ i64 -1, label %single
                                             i64 -2, label %as_it_is ]
several:
  %tensors = call ptr @results(ptr %found, ptr %plan, ptr %result_rows, i64 %result_count)
  ret ptr %tensors
single:
  %kind_of = load i64, ptr %result_rows
  %dtype_of = trunc i64 %kind_of to i32
  %only = call ptr @give(ptr %found, i32 %dtype_of, ptr %plan)
  call void @Py_DecRef(ptr %found)
  ret ptr %only
as_it_is:
  ret ptr %found
nothing:
  ret ptr null
}
