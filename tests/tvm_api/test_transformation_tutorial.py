"""The tutorial on transformations (seed 000) as it stands, but for the import. What it shows is compared exactly."""

import tirax.tvm_api as tvm
from tirax.tvm_api import IRModule, relax
from tirax.tvm_api.relax.expr_functor import PyExprMutator, mutator
from tirax.tvm_api.relax.frontend import nn


class NNModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(784, 128)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = self.fc1(x)
        x = self.relu1(x)
        x = self.fc2(x)
        return x


def export():
    return NNModule().export_tvm({"forward": {"x": nn.spec.Tensor(("n", 784), "float32")}})


@mutator
class ReluRewriter(PyExprMutator):
    def __init__(self, mod):
        super().__init__(mod)

    def visit_call_(self, call: relax.Call) -> relax.Expr:
        # visit the relax.Call expr, and only handle the case when op is relax.nn.relu
        if call.op.name == "relax.nn.relu":
            return relax.op.nn.gelu(call.args[0])

        return super().visit_call_(call)


@tvm.transform.module_pass(opt_level=0, name="ReluToGelu")
class ReluToGelu:  # pylint: disable=too-few-public-methods
    def transform_module(self, mod: IRModule, _ctx: tvm.transform.PassContext) -> IRModule:
        """IRModule-level transformation"""
        rewriter = ReluRewriter(mod)
        for g_var, func in mod.functions_items():
            if isinstance(func, relax.Function):
                func = rewriter.visit_expr(func)
                rewriter.builder_.update_func(g_var, func)
        return rewriter.builder_.get()


def test_the_exported_module(golden):
    origin_mod, params = export()
    golden("seeds/000_origin.txt", origin_mod.script())
    assert [name for name, _ in params] == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    assert params[0][1].shape == [128, 784]


def test_show_prints_the_script(capsys):
    origin_mod, _ = export()
    origin_mod.show()
    assert capsys.readouterr().out.strip() == origin_mod.script()


def test_legalize_and_fuse(golden):
    origin_mod, _ = export()
    mod = tvm.relax.transform.LegalizeOps()(origin_mod)
    golden("seeds/000_legalized.txt", mod.script())
    mod = tvm.ir.transform.Sequential(
        [
            tvm.relax.transform.AnnotateTIROpPattern(),
            tvm.relax.transform.FuseOps(),
            tvm.relax.transform.FuseTIR(),
        ]
    )(mod)
    golden("seeds/000_fused.txt", mod.script())
    golden("seeds/000_origin.txt", origin_mod.script())


def test_the_custom_pass(golden):
    origin_mod, _ = export()
    mod = ReluToGelu()(origin_mod)
    golden("seeds/000_relu_to_gelu.txt", mod.script())
    golden("seeds/000_origin.txt", origin_mod.script())


def test_the_custom_pass_in_a_sequence(golden):
    origin_mod, _ = export()
    mod = tvm.transform.Sequential([ReluToGelu()])(origin_mod)
    golden("seeds/000_relu_to_gelu.txt", mod.script())
