"""Operators of `tvm.topi` that no Relax operator is computed by."""
