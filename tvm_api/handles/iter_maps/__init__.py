"""Quasi-affine maps of iterators by TVM's rules: nodes, detection, checks, division into subspaces, inverse."""
