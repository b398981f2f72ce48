"""`tvm.arith.Analyzer` and TVM's normal forms of scalar expressions, based on `dialects.sym` and `ir.affine`."""
