"""What depends on weights alone becomes a function of its own: by text, by meaning, natively."""

import numpy as np
import pytest
from strength import thinned

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError, TiraxError
from tirax.interpreter import interpret, random_inputs, symbolic_sizes
from tirax.interpreter.compare import same_values
from tirax.ir.functions.lookup import functions, relax_functions
from tirax.transforms.params.weights import num_input
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import LiftTransformParams
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n"
X = 'x: R.Tensor(("n", 16), "float32")'


def function(name, params, inputs, *bindings, returned=None):
    """A function of one dataflow block; the last of the bindings names its outputs."""
    lines = [f"@R.function\ndef {name}({params}):", "    n = T.int64()", "    m = T.int64()"]
    lines += [f'    R.func_attr({{"num_input": {inputs}}})'] if inputs is not None else []
    lines += ["    with R.dataflow():", *(f"        {b}" for b in bindings[:-1])]
    lines += [f"        R.output({bindings[-1]})", f"    return {returned or bindings[-1]}"]
    return "".join(f"    {line}\n" for line in "\n".join(lines).split("\n"))


def module(*texts):
    return from_source(HEAD + "".join(texts))


def lines(text):
    return [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def split_inputs(before, name, sizes, seed=0):
    func = functions(before.op)[name]
    values = random_inputs(func, sizes, seed)
    return values[: num_input(func)], values[num_input(func) :]


def check_meaning(before, after, transform=None):
    """The lifted functions, given what the transformation makes of the weights, give what the original ones do."""
    for func in relax_functions(before.op):
        name = func.sym_name.data
        for sizes in symbolic_sizes(func):
            inputs, weights = split_inputs(before, name, sizes)
            expected = interpret(before.op, name, [*inputs, *weights])
            prepared = interpret(after.op, transform or f"{name}_transform_params", [tuple(weights)])
            assert same_values(interpret(after.op, name, [*inputs, *prepared]), expected), (name, sizes)


PROGRAMS = {
    "chain": function(
        "main",
        f'{X}, w: R.Tensor((16, "m"), "float32"), unused: R.Tensor((3,), "float32"), b: R.Tensor(("m",), "float32")',
        1,
        "t = R.permute_dims(w)", "u = R.permute_dims(t)", "o = R.matmul(x, u)", "z = R.zeros(R.shape([m]), 'float32')",
        "o1 = R.add(o, R.add(b, z))", "e = R.exp(b)", "o2 = R.add(o1, e)", "o3 = R.add(o2, b)", "o3, u",
        returned="(o3, u)",
    ),
    "a size that nothing else determines": function(
        "main", f'{X}, w: R.Tensor((16, "m"), "float32")', 1,
        "t = R.reshape(w, R.shape([m * 16]))", "s = R.sum(x)", "o = R.add(t, s)", "o",
    ),
    "constants": function(
        "main", f'{X}, w: R.Tensor((16, 4), "float32")', 1,
        "z = R.ones(R.shape([16, 4]), 'float32')", "w1 = R.add(w, z)", "o = R.matmul(x, w1)",
        "o1 = R.matmul(o, R.permute_dims(z))", "o1",
    ),
    "everything": function("main", f'{X}, w: R.Tensor((16, 4), "float32")', 1, "e = R.exp(w)", "o = R.add(e, e)", "o"),
    "nothing": function("main", f'{X}, w: R.Tensor((16, 4), "float32")', 1, "o = R.matmul(x, w)", "o"),
    "tuples": function(
        "main", f'{X}, w: R.Tensor((16, 4), "float32"), v: R.Tensor((16, 4), "float32")', 1,
        "s = R.split(w, 2, axis=1)", "c = R.concat((s[1], s[0]), axis=1)", "d = R.concat((c, v), axis=1)",
        "o = R.matmul(x, d)", "p = R.concat((x, R.permute_dims(c)), axis=0)", "o, p", returned="(o, p)",
    ),
    "a shape": function(
        "main", f'{X}, s: R.Shape(["m", 4]), w: R.Tensor((4, "m"), "float32")', 1,
        "t = R.reshape(w, s)", "y = R.sum(t)", "o = R.add(x, y)", "o",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PROGRAMS)
def test_the_meaning_stays(case):
    before = module(PROGRAMS[case])
    text = before.script()
    after = LiftTransformParams()(before)
    assert before.script() == text
    check_meaning(before, after)


def test_text():
    after = LiftTransformParams()(module(PROGRAMS["chain"]))
    assert lines(after["main_transform_params"].script()) == lines("""
@R.function
def main_transform_params(model_params: R.Tuple(R.Tensor((16, "m"), dtype="float32"), R.Tensor((3,), dtype="float32"), R.Tensor(("m",), dtype="float32"))) -> R.Tuple(R.Tensor(("m",), dtype="float32"), R.Tensor((16, "m"), dtype="float32"), R.Tensor(("m",), dtype="float32"), R.Tensor(("m",), dtype="float32")):
    m = T.int64()
    R.func_attr({"num_input": 0})
    with R.dataflow():
        w: R.Tensor((16, m), dtype="float32") = model_params[0]
        t: R.Tensor((m, 16), dtype="float32") = R.permute_dims(w, axes=None)
        u: R.Tensor((16, m), dtype="float32") = R.permute_dims(t, axes=None)
        z: R.Tensor((m,), dtype="float32") = R.zeros(R.shape([m]), dtype="float32")
        b: R.Tensor((m,), dtype="float32") = model_params[2]
        lv: R.Tensor((m,), dtype="float32") = R.add(b, z)
        b1: R.Tensor((m,), dtype="float32") = model_params[2]
        e: R.Tensor((m,), dtype="float32") = R.exp(b1)
        b2: R.Tensor((m,), dtype="float32") = model_params[2]
        output_tuple: R.Tuple(R.Tensor((m,), dtype="float32"), R.Tensor((16, m), dtype="float32"), R.Tensor((m,), dtype="float32"), R.Tensor((m,), dtype="float32")) = b2, u, lv, e
        R.output(output_tuple)
    return output_tuple
""")  # noqa: E501
    assert [p.name_hint for p in after["main"].params] == ["x", "b", "u", "lv", "e"]
    assert after["main"].attrs["num_input"] == 1
    assert "permute_dims" not in after["main"].script()


def test_sizes_are_passed():
    after = LiftTransformParams()(module(PROGRAMS["a size that nothing else determines"]))
    assert [p.name_hint for p in after["main"].params] == ["x", "vars_from_compile_time_params", "t"]
    assert "= R.shape([m]), t" in after["main_transform_params"].script()


def test_nothing_to_do():
    after = LiftTransformParams()(module(PROGRAMS["nothing"]))
    assert lines(after["main_transform_params"].script())[-1] == "return model_params"
    unmarked = module(PROGRAMS["chain"].replace('R.func_attr({"num_input": 1})', "pass"))
    assert LiftTransformParams()(unmarked).script() == unmarked.script()


SHARED = (
    function(
        "main", f'{X}, w: R.Tensor((16, "m"), "float32"), b: R.Tensor(("m",), "float32")', 1,
        "u = R.exp(w)", "k = R.exp(b)", "o = R.matmul(x, u)", "p = R.add(o, k)", "p",
    ),
    function(
        "second", 'a: R.Tensor((2, 16), "float32"), y: R.Tensor(("n",), "float32"), '
        'v: R.Tensor((16, "k"), "float32"), c: R.Tensor(("k",), "float32")', 2,
        "u = R.exp(v)", "e = R.sum(R.add(u, c))", "o = R.matmul(a, u)", "o1 = R.matmul(a, v)", "o2 = R.add(o, o1)",
        "o3 = R.add(o2, e)", "s = R.sum(y)", "o4 = R.add(o3, s)", "o4",
    ),
)  # fmt: skip


@pytest.mark.parametrize("shared", [True, ["main", "second"]])
def test_shared(shared):
    before = module(*SHARED)
    after = LiftTransformParams(shared)(before)
    assert set(functions(after.op)) == {"main", "second", "transform_params"}
    assert [p.name_hint for p in after["main"].params] == ["x", "w", "b", "u"]
    assert [p.name_hint for p in after["second"].params] == ["a", "y", "v", "c", "u"]
    assert after["transform_params"].script().count("R.exp") == 1
    assert "R.exp(b)" in after["main"].script()
    check_meaning(before, after, "transform_params")


def test_shared_by_one():
    before = module(*SHARED)
    after = LiftTransformParams(["main"])(before)
    assert after["second"].script() == before["second"].script()
    assert after["transform_params"].script().count("R.exp") == 2


def test_errors():
    with pytest.raises(NameLookupError, match=r"unknown Relax function 'secnd'(.|\n)*did you mean 'second'"):
        LiftTransformParams(["secnd"])(module(*SHARED))
    with pytest.raises(TiraxError, match="@second does not say which parameters are weights"):
        unmarked = SHARED[1].replace('R.func_attr({"num_input": 2})', "pass")
        LiftTransformParams(["second"])(module(SHARED[0], unmarked))
    with pytest.raises(TiraxError, match="@second has other weights than @main"):
        LiftTransformParams(True)(module(SHARED[0], SHARED[1].replace('v: R.Tensor((16, "k")', 'v: R.Tensor((15, "k")')
                                         .replace("(2, 16)", "(2, 15)")))  # fmt: skip
    with pytest.raises(TiraxError, match=r"num_input of @main is no number(.|\n)*expected: 0 to 4(.|\n)*found: 5"):
        LiftTransformParams()(module(PROGRAMS["chain"].replace('"num_input": 1', '"num_input": 5')))
    with pytest.raises(TiraxError, match="a bool or a list of names"):
        LiftTransformParams("main")


@thinned("case", ["chain", "a size that nothing else determines", "tuples"], 1)
def test_native(case):
    before = module(PROGRAMS[case])
    after = LiftTransformParams()(before)
    vm = relax.VirtualMachine(relax.build(after, target="llvm"), tvm.cpu())
    sizes = {"n": 3, "m": 5}
    inputs, weights = split_inputs(before, "main", sizes)
    expected = interpret(before.op, "main", [*inputs, *weights])
    prepared = vm["main_transform_params"](tuple(tvm.nd.array(w) for w in weights))
    result = vm["main"](*map(tvm.nd.array, inputs), *prepared)
    if not isinstance(expected, tuple):
        expected, result = (expected,), (result,)
    for one, other in zip(result, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-5)


SCALED = ("t = R.permute_dims(w)", "y = R.matmul(x, t)", "y")
WEIGHT = f'{X}, w: R.Tensor((4, 16), "float32")'


@pytest.mark.parametrize("shared", [True, False])
def test_a_second_run_changes_nothing(shared):
    once = LiftTransformParams(shared)(module(function("main", WEIGHT, 1, *SCALED)))
    tvm.ir.assert_structural_equal(LiftTransformParams(shared)(once), once)


def test_later_computations_follow_earlier_ones():
    lifted = LiftTransformParams()(module(function("main", WEIGHT, 1, *SCALED)))
    text = lifted.script().replace("R.matmul(x, t, ", "R.matmul(x, R.add(t, t), ")
    before = from_source("from tvm.script import ir as I, relax as R, tir as T\n" + text)
    after = LiftTransformParams()(before)
    assert {f.sym_name.data for f in relax_functions(after.op)} == {"main", "main_transform_params"}
    inputs, weights = split_inputs(module(function("main", WEIGHT, 1, *SCALED)), "main", {"n": 2, "m": 1})
    results = []
    for mod in (before, after):
        made = interpret(mod.op, "main_transform_params", [tuple(weights)])
        results.append(interpret(mod.op, "main", [*inputs, *made]))
    assert same_values(*results)


def test_weights_are_released_once_they_are_read():
    before = module(function("main", WEIGHT, 1, *SCALED))
    with tvm.transform.PassContext(config={"relax.lift_transform_params.consume_params": True}):
        after = LiftTransformParams()(before)
    reads = [line for line in lines(after.script()) if "params" in line]
    assert sum("model_params[0]" in line for line in reads) == 1
    assert sum('"vm.builtin.tuple_reset_item", model_params, R.prim_value(0)' in line for line in reads) == 1
    relax.build(after, "llvm")


def test_what_is_unused_before_stays():
    before = module(function("main", WEIGHT, 1, "z = R.zeros((n, n), 'float32')", *SCALED))
    assert "R.zeros" in LiftTransformParams()(before).script()
