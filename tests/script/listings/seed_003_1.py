@tvm.script.ir_module
class MyModuleWithExternCall:

    @R.function
    def main(x: R.Tensor((1, "m"), "float32"),
            w0: R.Tensor(("n", "m"), "float32"),
            b0: R.Tensor(("n", ), "float32"),
            w1: R.Tensor(("k", "n"), "float32"),
            b1: R.Tensor(("k", ), "float32")):
        # block 0
        m, n, k = T.int64(), T.int64(), T.int64()
        with R.dataflow():
            lv0 = R.call_dps_packed("env.linear", (x, w0, b0), R.Tensor((1, n), "float32"))
            lv1 = R.call_dps_packed("env.relu", (lv0, ), R.Tensor((1, n), "float32"))
            out = R.call_dps_packed("env.linear", (lv1, w1, b1), R.Tensor((1, k), "float32"))
            R.output(out)
        return out
