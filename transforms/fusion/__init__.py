"""Operator fusion: kinds of tensor functions, groups of bindings, and the fused functions."""
