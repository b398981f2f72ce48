"""Analyses of functions and modules by TVM's names."""

import pytest

from tirax.diagnostics import TiraxError
from tirax.dialects.sym.expr import Var as SymVar
from tirax.handles.module import IRModule
from tirax.handles.relax import analysis
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import call_operator
from tirax.interpreter import assert_same_meaning
from tirax.script import parse_source
from tirax.tvm_api.script import from_source

SOURCE = """
@R.function
def main(x: R.Tensor((4,), "float32"), w: R.Tensor((4,), "float32"), b: R.Tensor((4,), "float32")):
    R.func_attr({"num_input": 1})
    with R.dataflow():
        a = R.add(w, b)
        s = R.const(1.0, "float32")
        sh = R.shape([4])
        c = R.add(x, a)
        d = R.multiply(a, s)
        e = R.reshape(d, sh)
        f = R.multiply(x, s)
        R.output(c, d)
    g = R.add(d, d)
    h = R.negative(g)
    return (c, g)
"""


def names(variables):
    return [v.name_hint for v in variables]


@pytest.fixture
def main():
    return IRModule(parse_source(SOURCE))["main"]


def test_variables(main):
    everything = ["x", "w", "b", "a", "s", "sh", "c", "d", "e", "f", "g", "h"]
    assert sorted(names(analysis.all_vars(main))) == sorted(everything) == sorted(names(analysis.bound_vars(main)))
    assert analysis.free_vars(main) == []
    value = main.body.blocks[0].bindings[0].value
    assert names(analysis.all_vars(value)) == ["w", "b"] == names(analysis.free_vars(value))
    assert names(analysis.used_vars(value)) == ["w", "b"] and "h" not in names(analysis.used_vars(main))
    x, y = (rx.Var(n, rx.TensorStructInfo((4,), "float32")) for n in "xy")
    assert analysis.free_vars(rx.Function([x], call_operator("relax.add", x, y))) == [y]


def test_bindings(main):
    var2val = {v.name_hint: value for v, value in analysis.get_var2val(main).items()}
    assert var2val["a"].op.name == "relax.add" and "x" not in var2val
    assert {n: len(b) for n, b in analysis.name_to_binding(main).items()}["g"] == 1
    chain = {k.name_hint: names(v) for k, v in analysis.udchain(main.body.blocks[0]).items()}
    assert chain == {
        "w": ["a"], "b": ["a"], "a": ["c", "d"], "s": ["d", "f"], "sh": ["e"], "x": ["c", "f"], "c": [], "d": ["e"],
        "e": [], "f": [],
    }  # fmt: skip


def test_what_can_be_computed_before_the_inputs_are_known(main):
    assert names(analysis.computable_at_compile_time(main)) == ["w", "b", "a", "s", "sh", "d", "e", "g", "h"]
    assert analysis.computable_at_compile_time(main.without_attr("num_input")) == []


def test_what_cannot_be_computed_before():
    source = """
@R.function(pure=False)
def main(x: R.Tensor(("n",), "float32"), w: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")):
    R.func_attr({"num_input": 1})
    n, m = T.int64(), T.int64()
    a = R.zeros((n,), "float32")
    p = R.call_packed("f", w, sinfo_args=R.Object)
    v = R.match_cast(w, R.Tensor((m,), "float32"))
    z = R.zeros((m,), "float32")
    if c:
        q = R.add(w, w)
        r = R.add(q, w)
    else:
        r = w
    if c:
        t = R.sum(x)
    else:
        t = R.sum(w)
    return (a, p, r, t, z)
"""
    func = IRModule(parse_source(source))["main"]
    assert names(analysis.computable_at_compile_time(func)) == ["w", "c", "v", "z", "r"]


def test_unused_bindings_go(main):
    new = analysis.remove_all_unused(main)
    assert names(analysis.bound_vars(new)) == ["x", "w", "b", "a", "s", "c", "d", "g"]
    assert "h" in names(analysis.bound_vars(main))
    assert_same_meaning(IRModule({"main": main}).op, IRModule({"main": new}).op)
    assert analysis.remove_all_unused(new).script() == new.script()


CALLS = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("B"):
                v = T.axis.spatial(4, i)
                B[v] = A[v]

    @R.function(pure=False)
    def acts(x: R.Tensor((4,), "float32")) -> R.Object:
        y = R.call_packed("f", x, sinfo_args=R.Object)
        return y

    @R.function(pure=False)
    def calls(x: R.Tensor((4,), "float32")) -> R.Object:
        cls = Module
        y = R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((4,), "float32"))
        z = cls.acts(y)
        return z

    @R.function(pure=False)
    def again(x: R.Tensor((4,), "float32")) -> R.Object:
        cls = Module
        y: R.Object = cls.again(x)
        return y

    @R.function(pure=False)
    def ping(x: R.Tensor((4,), "float32")) -> R.Object:
        cls = Module
        y: R.Object = cls.pong(x)
        return y

    @R.function(pure=False)
    def pong(x: R.Tensor((4,), "float32")) -> R.Object:
        cls = Module
        z: R.Object = cls.acts(x)
        y: R.Object = cls.ping(x)
        return y
"""


@pytest.fixture
def calls():
    return IRModule(parse_source(CALLS))


def test_calls_of_functions(calls):
    hints = names(analysis.called_global_vars(calls["calls"]))
    assert hints == ["k", "acts"] and names(analysis.all_global_vars(calls["calls"])) == hints
    assert analysis.called_global_vars(calls["acts"]) == []


def test_impure_calls(calls, main):
    assert not analysis.contains_impure_call(main)
    assert analysis.contains_impure_call(calls["acts"]) and analysis.contains_impure_call(calls["calls"])
    again = rx.GlobalVar("again")
    assert analysis.contains_impure_call(calls["again"])
    assert not analysis.contains_impure_call(calls["again"], again)
    assert analysis.contains_impure_call(calls["acts"], again)
    assert analysis.contains_impure_call(calls["acts"].body) and not analysis.contains_impure_call(main.body)


def test_an_impure_call_in_a_local_function_counts_where_it_is_called():
    source = """
@R.function(pure=False)
def main(x: R.Tensor((4,), "float32")) -> R.Object:
    @R.function(pure=False)
    def inner(a: R.Tensor((4,), "float32")) -> R.Object:
        b = R.call_packed("f", a, sinfo_args=R.Object)
        return b
    y = inner(x)
    return y
"""
    func = IRModule(parse_source(source))["main"]
    inner, call = (b.value for b in func.body.blocks[0].bindings)
    assert analysis.contains_impure_call(func) and analysis.contains_impure_call(inner)
    assert not analysis.contains_impure_call(func, call.op)
    call.op_handle.detach()
    assert not analysis.contains_impure_call(func)


def test_recursion(calls):
    assert [names(group) for group in analysis.detect_recursion(calls)] == [["again"], ["ping", "pong"]]
    assert analysis.detect_recursion(IRModule(parse_source(SOURCE))) == []


def test_components():
    edges = {"a": ["b"], "b": ["c", "d"], "c": ["a", "x"], "d": ["e"], "e": ["d"], "f": ["a", "f"]}
    actual = sorted(sorted(group) for group in analysis.components(edges))
    assert actual == [["a", "b", "c"], ["d", "e"], ["f"]]
    deep = {str(i): [str(i + 1)] for i in range(5000)} | {"5000": ["0"]}
    (ring,) = analysis.components(deep)
    assert len(ring) == 5001


def test_symbolic_variables_of_functions():
    source = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(ndim=1, dtype="float32")):
    n, m = T.int64(), T.int64()
    z = R.match_cast(y, R.Tensor((m,), "float32"))
    s = R.zeros((n + m,), "float32")
    return s
"""
    func = IRModule(parse_source(source))["main"]
    assert analysis.defined_symbolic_vars(func) == [SymVar("n"), SymVar("m")]
    assert analysis.free_symbolic_vars(func) == []
    x = rx.Var("x", rx.TensorStructInfo(("n",), "float32"))
    free = rx.Function([x], call_operator("relax.zeros", ("n + k",), "float32"))
    assert analysis.free_symbolic_vars(free) == [SymVar("k")]


def test_the_names_of_tvm():
    from tirax.tvm_api.relax import analysis as api

    names = [name for name in api.__all__ if name != "analysis"]  # TVM's module of the same names
    assert all(callable(getattr(api, name)) and getattr(api, name).__doc__ for name in names)


def test_a_function_that_is_called_is_a_local_one():
    x, y = (rx.Var(n, rx.TensorStructInfo(ndim=1)) for n in "xy")
    inner = rx.Function([y], call_operator("relax.add", x, y))
    outer = rx.Function([x], rx.Call(inner, [x]))
    assert analysis.free_vars(outer) == [] and [v.name_hint for v in analysis.free_vars(inner)] == ["x"]
    outer.op.verify()


ILL_ANNOTATED = """
@I.ir_module(check_well_formed=False)
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y: R.Tensor((4,), "int32") = R.exp(x)
        return y
"""


def test_an_annotation_that_does_not_hold_is_kept_on_request():
    mod = from_source(ILL_ANNOTATED, check_well_formed=False)
    assert not analysis.well_formed(mod)
    assert 'y: R.Tensor((4,), dtype="int32") = R.exp(x)' in mod.script()
    with pytest.raises(TiraxError, match="the annotation does not hold"):
        from_source(ILL_ANNOTATED.replace("(check_well_formed=False)", ""))


def test_a_call_of_a_function_that_is_not_known_may_have_effects():
    call = rx.VarBinding(rx.Var("y"), rx.Call(rx.GlobalVar("f"), []))
    body = rx.SeqExpr([rx.BindingBlock([call])], call.var)
    assert analysis.contains_impure_call(body)
    assert not analysis.contains_impure_call(body, own_name=rx.GlobalVar("f"))


def test_what_functions_have_in_common():
    known, less = (rx.TensorStructInfo(dtype="float32", **shape) for shape in ({"shape": (2, 3)}, {"ndim": 2}))
    f, g = (rx.FuncStructInfo([info], info) for info in (known, less))
    assert analysis.struct_info_lca(f, g) == g and g.is_base_of(f) and not f.is_base_of(g)
