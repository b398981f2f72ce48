"""TVM's names are there, in every place that programs import them from."""

import subprocess
import sys

import numpy as np
import pytest
from strength import only_full

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError, suggestion
from tirax.dialects.relax import OPERATORS
from tirax.interpreter import assert_same_meaning, interpret
from tirax.script import parse_mlir, parse_source, print_script
from tirax.tvm_api import relax, te, tir, topi
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@pytest.mark.parametrize(
    "path",
    [
        "IRModule",
        "TVMError",
        "build",
        "compile",
        "cpu",
        "cuda",
        "device",
        "get_global_func",
        "register_func",
        "nd.array",
        "nd.empty",
        "nd.NDArray",
        "runtime.NDArray",
        "runtime.load_module",
        "runtime.ndarray.array",
        "target.Target",
        "testing.assert_allclose",
        "error.TVMError",
        "ir.Op",
        "ir.GlobalVar",
        "ir.IRModule",
        "ir.assert_structural_equal",
        "ir.structural_equal",
        "ir.structural_hash",
        "ir.transform.Sequential",
        "ir.transform.PassContext",
        "ir.transform.module_pass",
        "ir.instrument.PassInstrument",
        "transform.Sequential",
        "transform.PassContext",
        "transform.module_pass",
        "script.ir_module",
        "script.from_source",
        "relax.Var",
        "relax.DataflowVar",
        "relax.Constant",
        "relax.Call",
        "relax.Tuple",
        "relax.TupleGetItem",
        "relax.ShapeExpr",
        "relax.PrimValue",
        "relax.StringImm",
        "relax.DataTypeImm",
        "relax.If",
        "relax.SeqExpr",
        "relax.BindingBlock",
        "relax.DataflowBlock",
        "relax.VarBinding",
        "relax.MatchCast",
        "relax.ExternFunc",
        "relax.Function",
        "relax.GlobalVar",
        "relax.BlockBuilder",
        "relax.build",
        "relax.VirtualMachine",
        "relax.const",
        "relax.TensorStructInfo",
        "relax.ShapeStructInfo",
        "relax.TupleStructInfo",
        "relax.ObjectStructInfo",
        "relax.PrimStructInfo",
        "relax.FuncStructInfo",
        "relax.get_pipeline",
        "relax.expr.Var",
        "relax.struct_info.StructInfo",
        "relax.expr_functor.PyExprMutator",
        "relax.expr_functor.PyExprVisitor",
        "relax.expr_functor.mutator",
        "relax.frontend.nn.Module",
        "relax.frontend.nn.spec.Tensor",
        "relax.analysis.well_formed",
        "relax.analysis.get_var2val",
        "relax.analysis.free_vars",
        "relax.transform.LegalizeOps",
        "relax.transform.FuseOps",
        "relax.transform.FuseTIR",
        "relax.transform.BindParams",
        "relax.transform.AnnotateTIROpPattern",
        "relax.transform.function_pass",
        "relax.op.add",
        "relax.op.nn.relu",
        "relax.op.call_tir",
        "te.placeholder",
        "te.compute",
        "te.create_prim_func",
        "topi.add",
        "topi.nn.relu",
        "tir.PrimFunc",
        "tir.Buffer",
        "tir.Var",
        "tir.IntImm",
        "tir.exp",
    ],
)
def test_the_name_is_there(path):
    actual = tvm
    for part in path.split("."):
        actual = getattr(actual, part)
    assert actual is not None


@pytest.mark.parametrize("module", [tvm, relax, relax.op, relax.op.nn, relax.transform, R, T, I, tir, te, topi])
def test_what_a_module_lists_can_be_had(module):
    names = [n for n in dir(module) if not n.startswith("_")]
    assert names
    if module is not T:
        assert all(getattr(module, n) is not None for n in names)


def test_every_operator_has_its_function():
    for name in OPERATORS:
        space, actual = R, None
        for part in name.removeprefix("relax.").split("."):
            space = actual = getattr(space, part)
        assert callable(actual)


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (relax.op, "ad", "relax.add"),
        (relax.op.nn, "rellu", "relax.nn.relu"),
        (R, "mathmul", "relax.matmul"),
        (relax.transform, "FuseOp", "FuseOps"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(module, name, hint):
    with pytest.raises(AttributeError, match=hint):
        getattr(module, name)


def test_an_unknown_operator_by_name():
    assert tvm.ir.Op.get("relax.add").name == "relax.add"
    assert tvm.ir.Op.get("relax.call_tir") == tvm.ir.Op("relax.call_tir")
    with pytest.raises(tvm.TVMError, match="unknown operator 'relax.adds'"):
        tvm.ir.Op.get("relax.adds")


def test_annotations_are_harmless():
    assert R.Tensor((1, "n"), "float32") == relax.TensorStructInfo((1, "n"), "float32")
    assert R.Tensor("float16", ndim=2).dtype == "float16" and R.Tensor("float16", ndim=2).ndim == 2
    assert R.Tensor((4,)).dtype == ""
    assert R.Tuple(R.Tensor((4,)), R.Object).fields[1] == relax.ObjectStructInfo()
    assert R.Shape(["n", 4]).values[1] == 4
    assert R.Prim("int64").dtype == "int64"
    assert R.Callable((R.Tensor((4,)),), R.Object(), True).purity
    assert T.Buffer((1, 784), "float32").shape == [1, 784]
    buffer = T.Buffer((4, 4), align=16, offset_factor=2, axis_separators=[1])
    assert (buffer.data_alignment, buffer.offset_factor, buffer.axis_separators) == (16, 2, [1])
    assert T.handle().value is not None
    assert T.int64(4).constant == 4
    assert str(T.float32("inf")) == 'T.float32("inf")'


def test_values_outside_of_scripts():
    assert R.shape([1, "n"]).values[0] == 1
    assert R.prim_value(3).value == 3
    assert R.str("x").value == "x"
    assert R.dtype("float16").value == "float16"
    assert len(R.tuple(R.const(1), R.const(2.0))) == 2
    x = relax.Var("x", R.Tensor((4,), "float32"))
    call = R.multiply(x, R.const(2, "float32"))
    assert call.op.name == "relax.multiply" and call.args[1].data.numpy() == 2


def test_from_source_gives_a_module_or_a_function():
    function = tvm.script.from_source("@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return x\n")
    assert isinstance(function, relax.Function) and function.name == "f"
    module = tvm.script.from_source(tvm.IRModule({"f": function}).script())
    assert isinstance(module, tvm.IRModule)
    tvm.ir.assert_structural_equal(module["f"], function)


def test_intrinsics_and_classes_outside_of_scripts():
    assert T.exp2(tvm.tir.Var("x", "float32")).dtype == "float32" and isinstance(T.Ramp(0, 1, 4), tvm.tir.Ramp)
    scalable = T.Broadcast(T.float32(1), T.vscale() * 4)
    assert scalable.dtype == "float32xvscalex4" and str(scalable) == "T.Broadcast(T.float32(1.0), T.vscale() * 4)"
    assert scalable.lanes.a.equal(T.vscale()) and scalable.lanes.b == 4
    assert [T.Broadcast(0, 4).lanes, T.Broadcast(0, 4).lanes.dtype] == [4, "int32"]
    for lanes in (T.vscale(), tvm.tir.Var("n", "int32")):
        with pytest.raises(TiraxError, match="integer"):
            T.Broadcast(0, lanes)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = T.missing


def test_a_function_by_itself_has_the_name_of_its_symbol():
    @T.prim_func
    def before(A: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "main", "tir.noalias": True})
        A[0] = T.float32(0)

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        T.func_attr({"tir.noalias": True})
        A[0] = T.float32(0)

    tvm.ir.assert_structural_equal(before, main)
    assert "def main(" in before.script() and before.attrs["global_symbol"] == "main"
    text = before.script().replace("def main", "def other").replace('{"tir', '{"global_symbol": "main", "tir')
    tvm.ir.assert_structural_equal(tvm.script.from_source(text), main)


def test_an_executable_of_one_function_is_called():
    @T.prim_func
    def add_one(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(1)

    out = tvm.nd.array(np.zeros(4, "float32"))
    tvm.compile(add_one)(tvm.nd.array(np.arange(4, dtype="float32")), out)
    assert out.numpy().tolist() == [1, 2, 3, 4]


def test_a_renderer_sees_what_a_script_is_refused_for():
    seen = []
    tvm.ir.diagnostics.override_renderer(lambda context: seen.extend(context.diagnostics))
    try:
        with pytest.raises(tvm.error.DiagnosticError):
            tvm.script.from_source("@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = missing\n")
    finally:
        tvm.ir.diagnostics.override_renderer(None)
    assert [d.span.line for d in seen] == [3] and "missing" in seen[0].message


def test_a_target_of_a_target_is_equal_to_it():
    target = tvm.target.Target("llvm -num-cores=2")
    assert tvm.target.Target(target) == target


@only_full
def test_names_stay_what_they_are_in_any_order():
    for first, second in (("tvm.relax.build", "tvm.build"), ("tvm.build", "tvm.relax.build")):
        code = f"import tirax.tvm_api as tvm; {first}; {second}; print(all(map(callable, ({first}, {second}))))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "True"


def test_prim_func_outside_of_a_module():
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(2)

    assert isinstance(double, tir.PrimFunc)
    out = tvm.nd.empty((4,), "float32")
    tvm.build(double, target="llvm")["double"](tvm.nd.array(np.arange(4, dtype="float32")), out)
    assert out.numpy().tolist() == [0, 2, 4, 6]


def test_structural_inequality_shows_both_sides():
    a = tvm.script.from_source("@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return R.add(x, x)\n")
    b = tvm.script.from_source("@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return R.multiply(x, x)\n")
    assert not tvm.ir.structural_equal(a, b)
    with pytest.raises(TiraxError, match="relax.add"):
        tvm.ir.assert_structural_equal(a, b)


def test_instruments_see_the_passes():
    seen = []

    @tvm.ir.instrument.pass_instrument
    class Log:
        def run_before_pass(self, mod, info):
            seen.append((info.name, type(mod)))

    mod = tvm.script.from_source("@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return R.add(x, x)\n")
    with tvm.transform.PassContext(instruments=[Log(), tvm.ir.instrument.WellFormedInstrument()]):
        relax.transform.LegalizeOps()(tvm.IRModule.from_expr(mod))
    assert ("legalize-ops", tvm.IRModule) in seen


def test_importing_is_light():
    code = "import sys, tirax, tirax.tvm_api as tvm; tvm.relax; from tirax.tvm_api.script import relax; " + (
        "print([m for m in ('llvmlite', 'torch', 'onnx', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_te_functions_are_handles():
    from tirax.tvm_api import te, tir

    x = te.placeholder((4,), name="x", dtype="float32")
    func = te.create_prim_func([x, te.compute((4,), lambda i: x[i] + x[i], name="y")])
    assert isinstance(func, tir.PrimFunc)
    assert "y[v_i] = x[v_i] + x[v_i]" in func.script()


ENTRANCES = {
    "build": lambda mod: tvm.compile(mod, target="llvm"),
    "relax.build": lambda mod: tvm.relax.build(mod, "llvm"),
    "pass": lambda mod: tvm.relax.transform.LegalizeOps()(mod),
    "Sequential": lambda mod: tvm.transform.Sequential([tvm.relax.transform.LegalizeOps()])(mod),
    "interpret": lambda mod: interpret(mod, "f", [np.ones(4, "float32")]),
    "assert_same_meaning": lambda mod: assert_same_meaning(mod, mod),
    "well_formed": tvm.relax.analysis.well_formed,
    "Schedule": tvm.tir.Schedule,
    "BlockBuilder": tvm.relax.BlockBuilder,
    "structural_equal": lambda mod: tvm.ir.structural_equal(mod, mod),
    "save_json": tvm.ir.save_json,
    "print_script": print_script,
}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_both_kinds_of_modules_are_taken_everywhere(entrance):
    text = "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    y = R.exp(x)\n    return y\n"
    mod = tvm.script.from_mlir(str(parse_source(text)))
    first, second = ENTRANCES[entrance](mod), ENTRANCES[entrance](mod.op)
    assert type(first) is type(second) or entrance in ("pass", "Sequential")


def test_mlir_is_read_from_python():
    text = "relax.func @f(%x: T) -> T { relax.return %x : T }".replace("T", "!relax.tensor<[4], f32>")
    mod = tvm.script.from_mlir(text)
    assert mod.script() == tvm.IRModule(parse_mlir(text)).script() and mod.names == ["f"]
    with pytest.raises(SyntaxError, match="did you mean 'relax.func'"):
        tvm.script.from_mlir(text.replace("relax.func", "relax.funk"), "f.mlir")


def test_names_of_the_language_are_looked_up_without_a_search():
    """pytest asks each handle for `__test__`: it is no misspelt `__add__`."""
    assert suggestion("__ad__", ["__add__", "add"]) is None
    assert suggestion("ad", ["__add__", "add"]) == "did you mean 'add'?"
