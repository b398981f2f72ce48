"""`RunCodegen`: backends that are registered here, what they are given, what they may give, and what then runs."""

import numpy as np
import pytest
from xdsl.utils.exceptions import ParseError

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError, UnsupportedError
from tirax.dialects.relax.external import external_functions
from tirax.interpreter import assert_same_meaning, interpret
from tirax.runtime import Executable
from tirax.runtime.registry import register_func, remove_global_func
from tirax.tvm_api import IRModule, relax
from tirax.tvm_api.relax.dpl import is_const, is_op, wildcard
from tirax.tvm_api.relax.transform import FuseOpsByPattern, MergeCompositeFunctions, RunCodegen
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

BIAS = np.arange(4, dtype=np.float32)


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.relu(a)
            c = R.add(b, R.const([0.0, 1.0, 2.0, 3.0], "float32"))
            d = R.exp(c)
            e = R.matmul(d, w)
            g = R.nn.relu(e)
            R.output(g)
        return g


PRODUCT = ("lib.product", is_op("relax.nn.relu")(is_op("relax.matmul")(wildcard(), wildcard())))
SUM = ("lib.sum", is_op("relax.add")(wildcard(), is_const()))
EXP = ("other.exp", is_op("relax.exp")(wildcard()))


def partitioned(*patterns):
    return MergeCompositeFunctions()(FuseOpsByPattern(patterns)(Module))


@pytest.fixture
def backend():
    """Registers code generators for the time of a test."""
    names = set()

    def register(name, f):
        names.add(f"relax.ext.{name}")
        return register_func(f"relax.ext.{name}", f, override=True)

    yield register
    for name in names:
        remove_global_func(name)


def data(n=3):
    rng = np.random.default_rng(0)
    return rng.random((n, 4), np.float32), rng.random((4, 4), np.float32) - np.float32(0.5)


def expected(x, w):
    return np.maximum(np.exp(np.maximum(x @ w, 0) + BIAS) @ w, 0)


def product(x, w, out):
    np.maximum(x @ w, 0, out=out)


def product_and_sum(x, w, out):
    np.copyto(out, np.maximum(x @ w, 0) + BIAS)


def by_hand(function):
    """What the functions of the program above do, told apart by their constants."""
    return product_and_sum if "R.add" in function.script() else product


def names_of(functions):
    return [f.attrs["global_symbol"] for f in functions]


class RuntimeModule:
    """What TVM calls a runtime module: functions by name."""

    def __init__(self, functions):
        self._functions = functions

    def get_function(self, name):
        return self._functions.get(name)


def compiled_by_tirax(function):
    return relax.build(IRModule({function.name: function.without_attr("Codegen")}))


ARGUMENTS = {
    "a mapping": lambda fs: [dict(zip(names_of(fs), map(by_hand, fs)))],
    "mappings": lambda fs: [{f.name: by_hand(f)} for f in fs],
    "a module": lambda fs: [RuntimeModule(dict(zip(names_of(fs), map(by_hand, fs))))],
    "modules": lambda fs: [RuntimeModule({f.name: by_hand(f)}) for f in fs],
    "callables": lambda fs: list(map(by_hand, fs)),
    "executables": lambda fs: list(map(compiled_by_tirax, fs)),
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_what_a_backend_may_give(backend, kind):
    backend("lib", lambda functions, options, constants: ARGUMENTS[kind](functions))
    after = RunCodegen()(partitioned(PRODUCT, SUM))
    run = relax.build(after)["main"]
    for n in (3, 1, 0):
        np.testing.assert_allclose(run(*data(n)), expected(*data(n)), rtol=1e-5)
    assert_same_meaning(Module.op, after.op)


def test_what_a_backend_receives(backend):
    seen = []

    @lambda f: backend("lib", f)
    def lib(functions, options, constants):
        seen.append((functions, options, constants))
        return list(map(by_hand, functions))

    RunCodegen({"lib": {"level": 3}, "unused": {}})(partitioned(PRODUCT, SUM, EXP[:1] + (SUM[1],)))
    ((functions, options, constants),) = seen
    first = "fused_relax_matmul_relax_nn_relu_relax_add_lib"
    assert names_of(functions) == [first, "fused_relax_matmul_relax_nn_relu1_lib"]
    assert all(isinstance(f, relax.Function) and f.attrs["Codegen"] == "lib" for f in functions)
    assert options == {"level": 3}
    (constant,) = constants
    assert constants[constant] == f"{first}_lib_const_0"
    np.testing.assert_array_equal(constant.data.numpy(), BIAS)


def test_the_text(backend):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))
    after = RunCodegen()(partitioned(PRODUCT, SUM))
    assert after.names == ["main"]
    text = after.script()
    first, second = "fused_relax_matmul_relax_nn_relu_relax_add_lib", "fused_relax_matmul_relax_nn_relu1_lib"
    for name, args in ((first, "(x, w)"), (second, "(d, w)")):
        assert f'R.call_dps_packed("{name}", {args}, out_sinfo=R.Tensor((n, 4), dtype="float32"))' in text
    assert f'external_mods = #relax.external_mods<"{first}", "{second}">' in str(after.op)
    assert f"{first}_lib_const_0 = #relax.data<f32 [4] [0.0, 1.0, 2.0, 3.0]>" in str(after.op)
    np.testing.assert_array_equal(after.attrs["const_name_to_constant"].data[f"{first}_lib_const_0"].numpy(), BIAS)


def test_two_code_generators_one_after_the_other(backend):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))
    after = RunCodegen()(partitioned(PRODUCT, SUM))
    backend("other", lambda functions, options, constants: [lambda x, out: np.exp(x, out=out)])
    after = MergeCompositeFunctions()(FuseOpsByPattern([EXP])(after))
    after = RunCodegen()(after)
    assert len(external_functions(after.op)) == 3
    np.testing.assert_allclose(relax.build(after)["main"](*data()), expected(*data()), rtol=1e-5)


def test_two_code_generators_at_once(backend):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))
    backend("other", lambda functions, options, constants: list(map(compiled_by_tirax, functions)))
    after = RunCodegen()(partitioned(PRODUCT, SUM, EXP))
    assert after.script().count("R.call_dps_packed") == 3
    np.testing.assert_allclose(relax.build(after)["main"](*data()), expected(*data()), rtol=1e-5)


def test_functions_belong_to_one_executable(backend):
    factor = [1]

    def lib(functions, options, constants):
        now = factor[0]
        return [lambda x, w, out: np.multiply(np.maximum(x @ w, 0), now, out=out)] * len(functions)

    backend("lib", lib)
    module = FuseOpsByPattern([PRODUCT], annotate_codegen=True)(Module)
    one = relax.build(RunCodegen()(module))
    factor[0] = 0
    none = relax.build(RunCodegen()(module))
    np.testing.assert_allclose(one["main"](*data()), expected(*data()), rtol=1e-5)
    assert not none["main"](*data()).any()


def test_results_that_are_tuples(backend):
    @I.ir_module
    class Two:
        @R.function
        def fused(x: R.Tensor(("n", 4), "float32")) -> R.Tuple(
            R.Tensor(("n", 4), "float32"), R.Tensor(("n", 4), "float32")
        ):
            R.func_attr({"Codegen": "lib"})
            a = R.exp(x)
            b = R.negative(x)
            return (a, b)

        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            t = Two.fused(x)
            y = R.subtract(t[0], t[1])
            return y

    x = data()[0]
    for give in (compiled_by_tirax, lambda f: lambda x, a, b: (np.exp(x, out=a), np.negative(x, out=b))):
        backend("lib", lambda functions, options, constants, give=give: list(map(give, functions)))
        result = relax.build(RunCodegen()(Two))["main"](x)
        np.testing.assert_allclose(result, np.exp(x) + x, rtol=1e-5)


def test_a_saved_executable_wants_the_functions_registered(backend, tmp_path):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))
    module = FuseOpsByPattern([PRODUCT], annotate_codegen=True)(Module)
    ex = relax.build(RunCodegen()(module))
    ex.save(tmp_path / "m.so")
    loaded = Executable.load(tmp_path / "m.so")
    (name,) = loaded.packed_functions
    with pytest.raises(NameLookupError, match=f"unknown packed function '{name}'"):
        loaded["main"]
    register_func(name, product)
    np.testing.assert_allclose(loaded["main"](*data()), expected(*data()), rtol=1e-5)
    remove_global_func(name)


def test_errors_of_a_function_arrive_as_they_are(backend):
    def fails(*args):
        raise ZeroDivisionError("in the library")

    backend("lib", lambda functions, options, constants: [fails for _ in functions])
    run = relax.build(RunCodegen()(partitioned(PRODUCT, SUM)))["main"]
    with pytest.raises(ZeroDivisionError, match="in the library"):
        run(*data())


def test_the_interpreter_finds_them_too(backend):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))
    after = RunCodegen()(partitioned(PRODUCT, SUM))
    np.testing.assert_allclose(interpret(after.op, "main", data()), expected(*data()), rtol=1e-5)


def test_entry_functions(backend):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))

    @I.ir_module
    class More:
        @R.function(private=True)
        def main(x: R.Tensor((4, 4), "float32")):
            y = R.exp(x)
            return y

        @R.function(private=True)
        def other(x: R.Tensor((4, 4), "float32")):
            y = R.negative(x)
            return y

    assert RunCodegen()(More).names == ["main", "other"]
    assert RunCodegen(entry_functions=["other"])(More).names == ["other"]
    with pytest.raises(NameLookupError, match="entry function 'mian'"):
        RunCodegen(entry_functions=["mian"])(More)


def test_a_module_without_such_functions_stays():
    assert str(RunCodegen()(Module).op) == str(Module.op)


def test_code_generators_that_are_not_registered(backend):
    backend("libs", lambda functions, options, constants: [])
    with pytest.raises(NameLookupError, match="unknown code generator 'lib'") as caught:
        RunCodegen()(partitioned(PRODUCT, SUM, EXP))
    text = str(caught.value)
    assert "did you mean 'libs'" in text
    assert "nor is 'other' known" in text
    assert 'register_func("relax.ext.lib")' in text


@pytest.mark.parametrize(
    "inputs, message", [({}, "gave no list"), (None, "gave no list"), ([{}], "did not compile fused_")]
)
def test_what_a_backend_must_give(backend, inputs, message):
    backend("lib", lambda functions, options, constants: inputs)
    with pytest.raises(TiraxError, match=message):
        RunCodegen()(partitioned(PRODUCT, SUM))


def test_results_of_unknown_shape(backend):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))

    @I.ir_module
    class Unknown:
        @R.function
        def fused(x: R.Tensor("float32", ndim=2)) -> R.Tensor("float32", ndim=2):
            R.func_attr({"Codegen": "lib"})
            y = R.exp(x)
            return y

        @R.function
        def main(x: R.Tensor("float32", ndim=2)):
            y = Unknown.fused(x)
            return y

    with pytest.raises(UnsupportedError, match="cannot be made before the call: fused") as caught:
        RunCodegen()(Unknown)
    assert "tensors of known shape and dtype" in str(caught.value)


def test_functions_used_as_values(backend, parse):
    backend("lib", lambda functions, options, constants: list(map(by_hand, functions)))
    text = """relax.func @fused(%x: !relax.tensor<[4], f32>) -> !relax.tensor<[4], f32> attributes {Codegen = "lib"} {
      relax.return %x : !relax.tensor<[4], f32> }
    relax.func @main() -> !relax.callable<(!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>> {
      %f = relax.function_ref @fused : !relax.callable<(!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>>
      relax.return %f : !relax.callable<(!relax.tensor<[4], f32>) -> !relax.tensor<[4], f32>> }"""
    with pytest.raises(UnsupportedError, match="used as a value: fused"):
        RunCodegen()(parse(text))


def test_external_modules_cannot_be_read(parse):
    with pytest.raises(ParseError, match="cannot be read from text"):
        parse('builtin.module attributes {external_mods = #relax.external_mods<"f">} {}')


def test_the_name_in_tvm():
    assert tvm.relax.transform.RunCodegen is RunCodegen
