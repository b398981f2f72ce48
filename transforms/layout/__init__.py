"""Layouts of tensors: which one an operator computes in, and where a tensor changes from one to another."""
