; Calls with keyword arguments (keywords.py). The data of %self: a native function, its self, and a Python function that
; takes the same arguments, also by keyword.

declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)

define ptr @call_with_keywords(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {
  %data_at = getelementptr i8, ptr %self, i64 16
  %data = load ptr, ptr %data_at
  %is_plain = icmp eq ptr %kwnames, null
  br i1 %is_plain, label %plain, label %named
plain:
  %function = load ptr, ptr %data
  %owner_at = getelementptr ptr, ptr %data, i64 1
  %owner = load ptr, ptr %owner_at
  %result = tail call ptr %function(ptr %owner, ptr %args, i64 %nargs)
  ret ptr %result
named:
  %slow_at = getelementptr ptr, ptr %data, i64 2
  %slow = load ptr, ptr %slow_at
  %other = tail call ptr @PyObject_Vectorcall(ptr %slow, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %other
}
