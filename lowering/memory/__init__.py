"""Planning of memory: which tensors of a function share storage."""
