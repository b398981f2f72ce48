"""Operators of `tvm.topi` that do not correspond to Relax operators."""
