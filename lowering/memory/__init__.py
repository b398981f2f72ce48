"""Memory planning: which tensors of a function share storage."""
