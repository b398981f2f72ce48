"""tvm.arith by TVM's names: views on dialects.sym and ir.affine."""
