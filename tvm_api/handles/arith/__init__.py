"""`tvm.arith.Analyzer`, and TVM's normal forms of scalar expressions, on `dialects.sym` and `ir.affine`."""
