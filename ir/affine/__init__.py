"""Index arithmetic: SSA values as symbolic expressions, quasi-affine iterator maps."""
