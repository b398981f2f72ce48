"""Found by the fuzzer of tvmscript."""

from tirax.dev.fuzz.kinds import KINDS

MESSAGE = "failed: MLIRSyntaxError: <string>:18:76: error: '}' expected (mlir_text.py:parse_mlir)"
CASE = """\
# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function(private=True)
    def helper0(x1: R.Tensor(("n",), dtype="float32")) -> R.Tensor(("n",), dtype="float32"):
        n = T.int64()
        with R.dataflow():
            lv103: R.Tensor((n,), dtype="float32") = R.nn.softmax(x1, axis=0)
            lv104: R.Tensor((n,), dtype="bool") = R.not_equal(x1, x1)
            c105: R.Tensor((), dtype="float32") = R.const(0.625, "float32")
            lv106: R.Tensor((n,), dtype="float32") = R.where(lv104, c105, R.const(0.5, "float32"))
            gv107: R.Tensor((n,), dtype="float32") = lv103
            R.output(gv107, lv106)
        return lv106

    @R.function
    def main(x1: R.Tensor(("n",), dtype="float32"), x2: R.Tensor(("m",), dtype="float32"), x4: R.Tensor(("n",), dtype="float32"), x7: R.Tensor(("m",), dtype="float32"), x8: R.Tensor(("m",), dtype="float32")) -> R.Tensor(("m",), dtype="float32"):
        n = T.int64()
        m = T.int64()
        cls = Module
        lv3: R.Tensor((n,), dtype="float32") = cls.helper0(x1)
        with R.dataflow():
            lv5: R.Tensor((), dtype="float32") = R.matmul(lv3, x4, out_dtype="void")
            lv6: R.Tensor((), dtype="float32") = R.tanh(lv5)
            lv9: R.Tensor((m,), dtype="float32") = R.nn.layer_norm(x2, x7, x8, axes=[-1], epsilon=-1e39, center=True, scale=True)
            R.output(lv9)
        return lv9"""


def test_tvmscript_bc165fa2() -> None:
    KINDS["tvmscript"].check(CASE)
