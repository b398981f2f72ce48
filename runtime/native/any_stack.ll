; What runtime/stack.py has where nothing is known of the stack.

define i32 @tirax_has_stack() {
  ret i32 1
}

define void @stack_set_main(i64 %low, i64 %high) {
  ret void
}
