"""Passes on the bindings of relax functions: normal form, common subexpressions, dead code, dataflow blocks, order."""
