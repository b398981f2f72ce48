"""Operator fusion: patterns of tensor functions, groups of bindings, and functions made of them."""
