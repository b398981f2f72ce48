"""Each kind of pattern: what it matches, and what it does not."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import DTypeError, NameLookupError, TiraxError
from tirax.handles.relax.call import Call
from tirax.handles.relax.expr import Constant, ExternFunc, GlobalVar, Var
from tirax.handles.relax.op import Op
from tirax.tvm_api import relax as rx
from tirax.tvm_api import tir
from tirax.tvm_api.relax.analysis import get_var2val
from tirax.tvm_api.relax.dpl import (
    CallPattern,
    DFPattern,
    ExternFuncPattern,
    FunctionPattern,
    PatternContext,
    TuplePattern,
    has_attr,
    has_dtype,
    has_shape,
    has_struct_info,
    is_call_dps_packed,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    reject,
    wildcard,
)
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import ir as I  # noqa: E741
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T


@I.ir_module
class Module:
    @T.prim_func(private=True)
    def tir_relu(x: T.Buffer((4, 4), "float32"), y: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.max(x[vi, vj], T.float32(0))

    @R.function(pure=False)
    def main(x: R.Tensor((4, 4), "float32"), y: R.Tensor((4, 4), "float32")) -> R.Object:
        cls = Module
        with R.dataflow():
            a = R.add(x, y)
            b = R.multiply(a, R.const(2.0))
            c = R.nn.softmax(b, axis=1)
            d = R.reshape(c, R.shape([2, 8]))
            s = R.split(c, 2)
            e = s[1]
            t = (a, c)
            f = R.call_tir(cls.tir_relu, (c,), out_sinfo=R.Tensor((4, 4), "float32"))
            g = R.call_dps_packed("env.gelu", (a, c), out_sinfo=R.Tensor((4, 4), "float32"))
            h = R.astype(a, "float16")
            z = R.concat((a, c), axis=0)
            R.output(d, e, t, f, g, h, z)
        p = R.call_packed("env.print", d, sinfo_args=R.Object)
        return p


main = Module["main"]
BOUND = {v.name_hint: e for v, e in get_var2val(main).items()}
VARS = {v.name_hint: v for v in get_var2val(main)}


def matches(pattern: DFPattern, name: str) -> bool:
    return pattern.match(BOUND[name], get_var2val(main))


ANY = wildcard


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        (lambda: wildcard(), "abcdefghtzp", ""),
        (lambda: is_op("relax.add")(ANY(), ANY()), "a", "bcdefghtzp"),
        (lambda: is_op("relax.add")(ANY()), "", "a"),
        (lambda: is_op("relax.add")(varg_default_wildcard=True), "a", "b"),
        (lambda: is_op("relax.add")(ANY(), ANY(), ANY(), varg_default_wildcard=True), "", "a"),
        (lambda: is_op("relax.add"), "", "a"),
        (lambda: is_op("relax.multiply")(ANY(), is_const()), "b", "a"),
        (lambda: is_op("relax.multiply")(is_op("relax.add")(is_var(), is_var()), is_const()), "b", "a"),
        (lambda: is_op("relax.multiply")(is_op("relax.subtract")(ANY(), ANY()), ANY()), "", "b"),
        (lambda: is_op("relax.add")(is_var("x"), is_var("y")), "a", ""),
        (lambda: is_op("relax.add")(is_var("x"), is_var("x")), "", "a"),
        (lambda: is_op("relax.add")(is_dfv(), ANY()), "", "a"),
        (lambda: is_op("relax.reshape")(ANY(), is_shape([2, 8])), "d", "a"),
        (lambda: is_op("relax.reshape")(ANY(), is_shape([8, 2])), "", "d"),
        (lambda: is_tuple([is_op("relax.add")(ANY(), ANY()), ANY()]), "t", "as"),
        (lambda: is_tuple([ANY(), is_op("relax.add")(ANY(), ANY())]), "", "t"),
        (lambda: is_tuple([ANY(), is_op("relax.add")(ANY(), ANY())], unordered=True), "t", "a"),
        (lambda: is_tuple([ANY(), is_op("relax.exp")(ANY())], unordered=True), "", "t"),
        (lambda: is_tuple([ANY()]), "", "t"),
        (lambda: is_tuple([ANY()], unordered=True), "", "t"),
        (lambda: is_tuple_get_item(ANY()), "e", "at"),
        (lambda: is_tuple_get_item(is_op("relax.split")(ANY()), 1), "e", ""),
        (lambda: is_tuple_get_item(ANY(), 0), "", "e"),
        (lambda: is_op("relax.concat")(is_tuple([ANY(), ANY()])), "z", "s"),
        (lambda: is_op("relax.concat")([is_op("relax.add")(ANY(), ANY()), ANY()]), "z", ""),
        (lambda: is_call_tir("tir_relu"), "f", "ag"),
        (lambda: is_call_tir("relu", [is_op("relax.nn.softmax")(ANY())]), "f", ""),
        (lambda: is_call_tir("tir_relu", [ANY(), ANY()]), "", "f"),
        (lambda: is_call_tir("gelu"), "", "f"),
        (lambda: is_call_dps_packed("env.gelu"), "g", "fp"),
        (lambda: is_call_dps_packed("env.gelu", [ANY(), ANY()]), "g", ""),
        (lambda: is_call_dps_packed("gelu"), "", "g"),
        (lambda: is_call_packed("env.print"), "p", "g"),
        (lambda: is_call_packed("env.print", [is_op("relax.reshape")(ANY(), ANY())]), "p", ""),
        (lambda: is_call_packed("env.print", []), "", "p"),
        (lambda: is_call_packed("env.exit"), "", "p"),
        (lambda: ANY().has_shape([4, 4]), "abcfgh", "dstz"),
        (lambda: has_shape([2, 8]), "d", "a"),
        (lambda: has_dtype("float16"), "h", "at"),
        (lambda: has_dtype("float32", is_op("relax.add")(ANY(), ANY())), "a", "bh"),
        (lambda: has_attr({"axis": 1}), "c", "az"),
        (lambda: has_attr({"axis": 2}), "", "c"),
        (lambda: has_attr({"nothing": 2}), "", "c"),
        (lambda: has_attr({"dtype": "float16"}), "h", "a"),
        (lambda: has_struct_info(R.Tensor((4, 4), "float32")), "abcfg", "dhst"),
        (lambda: has_struct_info(R.Tensor(ndim=2)), "abcfg", "st"),
        (lambda: has_struct_info(R.Object), "abcdefghstp", ""),
        (lambda: is_op("relax.add")(ANY(), ANY()) | is_op("relax.multiply")(ANY(), ANY()), "ab", "c"),
        (lambda: has_dtype("float32") & has_shape([2, 8]), "d", "ah"),
        (lambda: ~is_op("relax.add")(ANY(), ANY()), "bcd", "a"),
        (lambda: reject(has_dtype("float32")), "hst", "a"),
        (lambda: (ANY() | is_const())(ANY(), ANY()), "abd", "ct"),
        (lambda: make_fused_bias_activation_pattern("relax.add", activation="relax.nn.softmax"), "", "c"),
        (lambda: is_op("relax.multiply")(ANY(), is_expr(rx.const(2.0))), "b", "a"),
        (lambda: is_op("relax.multiply")(ANY(), is_expr(rx.const(3.0))), "", "b"),
    ],
)
def test_matching(pattern, matching, others):
    for name in matching:
        assert matches(pattern(), name), name
    for name in others:
        assert not matches(pattern(), name), name


def tensors(*names: str) -> list[Var]:
    return [Var(n, R.Tensor((4,), "float32")) for n in names]


def test_leaves_by_themselves():
    (x,) = tensors("x")
    assert is_var().match(x)
    assert is_var("x").match(x)
    assert not is_var("y").match(x)
    assert not is_dfv("x").match(x)
    assert is_dfv("a").match(next(u for u in BOUND["b"].args if isinstance(u, Var)))
    assert is_gv().match(GlobalVar("main"))
    assert is_gv("ai").match(GlobalVar("main"))  # a part of the name, as in TVM
    assert not is_gv("main1").match(GlobalVar("main"))
    assert ExternFuncPattern("f").match(ExternFunc("f"))
    assert not ExternFuncPattern("f").match(ExternFunc("g"))
    assert is_const().match(rx.const(1.0))
    assert not is_const().match(x)
    assert is_op("relax.add").match(Op.get("relax.add"))
    assert not is_op("relax.add").match(Op.get("relax.subtract"))
    assert is_shape([1, "n"]).match(rx.ShapeExpr([1, "n"]))
    assert not is_shape([1, "n"]).match(rx.ShapeExpr([1, "m"]))


def test_variables_are_looked_through_only_with_bindings():
    pattern = is_op("relax.multiply")(is_op("relax.add")(wildcard(), wildcard()), wildcard())
    assert pattern.match(BOUND["b"], get_var2val(main))
    assert not pattern.match(BOUND["b"])
    assert pattern.match(VARS["b"], get_var2val(main))
    assert not is_op("relax.multiply")(is_dfv("a"), wildcard()).match(BOUND["b"], get_var2val(main))
    assert is_op("relax.multiply")(is_dfv("a"), wildcard()).match(BOUND["b"])


def test_expressions_are_equal_by_structure():
    x, y = tensors("x", "y")
    assert is_expr(x + y).match(x + y)
    assert not is_expr(x + y).match(y + x)
    assert is_expr(rx.Tuple([x, rx.const(1.0)])).match(rx.Tuple([x, rx.const(1.0)]))
    assert not is_expr(rx.const(1.0, "float16")).match(rx.const(1.0))


def test_what_was_matched():
    x, y = wildcard(), wildcard()
    add = is_op("relax.add")
    pattern = add(x, y)
    matched = pattern.extract_matched_expr(BOUND["a"])
    assert matched[x].name_hint == "x"
    assert matched[y].name_hint == "y"
    assert matched[add] == Op.get("relax.add")
    assert matched[pattern] is BOUND["a"]
    assert set(matched) == {x, y, add, pattern}
    with pytest.raises(NameLookupError, match="nothing was matched by this WildcardPattern"):
        matched[wildcard()]
    inner = is_op("relax.multiply")(x, is_const()).extract_matched_expr(BOUND["b"], get_var2val(main))[x]
    assert isinstance(inner, Call)  # variables are looked through, as in TVM


def test_one_pattern_is_one_expression():
    x, y = tensors("x", "y")
    w = wildcard()
    assert is_op("relax.add")(w, w).match(x + x)
    assert not is_op("relax.add")(w, w).match(x + y)
    add = is_op("relax.add")(wildcard(), wildcard())
    assert not is_op("relax.multiply")(add, add).match((x + x) * (y + y))
    same = x + y
    assert is_op("relax.multiply")(add, add).match(same * same)


def test_add_and_multiply_commute_and_others_do_not():
    x, y = tensors("x", "y")
    for op, commutes in (("add", True), ("multiply", True), ("subtract", False), ("maximum", False)):
        pattern = is_op(f"relax.{op}")(is_var("y"), is_var("x"))
        assert pattern.match(getattr(rx.op, op)(x, y)) is commutes, op


def test_backtracking_undoes_what_was_bound():
    x, y = tensors("x", "y")
    a, b = wildcard(), wildcard()
    # The first order binds a to x, and fails at the far end; only the second gives a = y.
    pattern = is_op("relax.subtract")(is_op("relax.add")(a, b), a)
    matched = pattern.extract_matched_expr((x + y) - y)
    assert matched[a].name_hint == "y"
    assert matched[b].name_hint == "x"
    assert pattern.extract_matched_expr((x + y) - (x + x)) is None


def test_the_right_side_of_an_or_is_taken_where_the_left_one_fails_later():
    x, y = tensors("x", "y")
    a, b = wildcard(), wildcard()
    either = is_op("relax.add")(a, wildcard()) | is_op("relax.add")(wildcard(), b)
    pattern = is_op("relax.subtract")(either, b)
    matched = pattern.extract_matched_expr((x + y) - y)
    assert matched[b].name_hint == "y"
    assert a not in matched or matched[a].name_hint == "x"


def test_multiply_and_divide_associate():
    x, y, z = tensors("x", "y", "z")
    a, b, c = is_var("x"), is_var("y"), is_var("z")
    product, quotient = is_op("relax.multiply"), is_op("relax.divide")
    assert quotient(product(a, b), c).match(x * (y / z))
    assert quotient(product(b, a), c).match(x * (y / z))
    assert product(a, quotient(b, c)).match((x * y) / z)
    assert not quotient(product(a, b), c).match(x * (z / y))
    assert not product(a, quotient(b, c)).match((x * z) / y)


def test_functions():
    x, y = tensors("x", "y")
    func = rx.Function([x, y], x + y)
    a, b = wildcard(), wildcard()
    assert FunctionPattern([a, b], is_op("relax.add")(a, b)).match(func)
    assert not FunctionPattern([a], is_op("relax.add")(a, wildcard())).match(func)
    assert not FunctionPattern([a, b], is_op("relax.subtract")(a, b)).match(func)
    assert not FunctionPattern([a, b], wildcard()).match(x)
    assert FunctionPattern([a, b], wildcard()).has_attr({"k": 1}).match(func.with_attr("k", 1))
    assert not FunctionPattern([a, b], wildcard()).has_attr({"k": 2}).match(func.with_attr("k", 1))


def test_optional_and_fused_patterns():
    x, y, b = tensors("x", "y", "b")
    relu = is_op("relax.add")(wildcard(), wildcard()).optional(lambda p: is_op("relax.nn.relu")(p))
    assert relu.match(x + y)
    assert relu.match(rx.op.nn.relu(x + y))
    assert not relu.match(rx.op.nn.relu(x))
    fused = make_fused_bias_activation_pattern("relax.multiply", with_bias=True, activation="relax.nn.relu")
    assert fused.match(rx.op.nn.relu(x * y + b))
    assert not fused.match(rx.op.nn.relu(x * y))
    assert not fused.match(x * y + b)
    reshaped = make_fused_bias_activation_pattern("relax.multiply", with_bias=True, allow_reshape=True)
    plain = make_fused_bias_activation_pattern("relax.multiply", with_bias=True)
    assert reshaped.match(rx.op.reshape(x * y, (4,)) + b)
    assert reshaped.match(x * y + b)
    assert plain.match(x * y + rx.op.reshape(b, (4,)))
    assert not plain.match(rx.op.reshape(x * y, (4,)) + b)


def test_symbolic_shapes():
    x = Var("x", R.Tensor(("n", 4), "float32"))
    assert wildcard().has_shape(["n", 4]).match(x)
    assert not wildcard().has_shape(["m", 4]).match(x)
    assert not wildcard().has_shape([16, 4]).match(x)
    assert not wildcard().has_struct_info(R.Tensor((16, 4), "float32")).match(x)


def test_tuple_patterns_are_indexed():
    (x,) = tensors("x")
    pair = TuplePattern([wildcard(), wildcard()])
    assert pair[1].index == 1
    assert pair[-1].match(rx.TupleGetItem(rx.Tuple([x, x]), 1))
    with pytest.raises(IndexError, match="index 2 of a tuple of 2 patterns"):
        pair[2]


def test_leaves_are_the_same_by_content():
    (x,) = tensors("x")
    c = is_const()
    pattern = is_op("relax.multiply")(is_op("relax.add")(wildcard(), c), c)
    assert pattern.match((x + rx.const(1.0)) * rx.const(1.0))
    assert not pattern.match((x + rx.const(1.0)) * rx.const(2.0))


def test_what_is_no_pattern():
    with pytest.raises(NameLookupError, match="did you mean 'relax.add'"):
        is_op("relax.ad")
    with pytest.raises(TiraxError, match="not a pattern"):
        is_op("relax.add")(3, wildcard())
    with pytest.raises(DTypeError):
        wildcard().has_dtype("float31")


def test_dup_is_another_pattern_with_parts_of_its_own():
    x, y = tensors("x", "y")
    first = is_op("relax.add")(wildcard(), wildcard(), add_constraint=False)
    second = first.dup()
    assert isinstance(second, CallPattern)
    assert second is not first
    assert not set(second.args) & set(first.args)
    assert is_op("relax.multiply")(first, second).match((x + y) * (x + y))


def test_constants_give_their_contents():
    c = is_const()
    matched = is_op("relax.multiply")(wildcard(), c).extract_matched_expr(BOUND["b"])
    assert isinstance(matched[c], Constant)
    assert matched[c].data.numpy() == 2.0
    assert tvm.relax.dpl.is_const is is_const


def test_variables_of_struct_info_match_any_extent_but_one():
    a, b = Var("a", R.Tensor([8, 4])), Var("b", R.Tensor([8, 1]))
    m, n = tir.Var("m", "int64"), tir.Var("n", "int64")
    same = is_op("relax.add")(
        wildcard().has_struct_info(R.Tensor([m, n])), wildcard().has_struct_info(R.Tensor([m, n]))
    )
    assert same.match(a + a)
    assert not same.match(a + b)


PACKED = """
from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.call_dps_packed("fork", (x,), R.Tensor((4, 4), "float32"))
            b = R.call_dps_packed("fork", (x,), R.Tensor((4, 4), "float32"))
            c = R.call_dps_packed("join", (a, {used}), R.Tensor((4, 4), "float32"))
            R.output(c)
        return c
"""


@pytest.mark.parametrize("used", ["a", "b"])
def test_inputs_of_packed_calls_count_one_by_one(used):
    block = from_source(PACKED.format(used=used))["main"].body.blocks[0]
    with PatternContext() as diamond:
        fork, join = is_call_dps_packed("fork"), is_call_dps_packed("join")
        fork.only_used_by(join, index=0)
        fork.only_used_by(join, index=1)
        assert (diamond.match_dfb(block) is not None) is (used == "a")
    with PatternContext() as parallel:
        first = is_call_dps_packed("fork") >> is_call_dps_packed("join")
        first.patterns[0].dup().only_used_by(first.patterns[1])
        assert (parallel.match_dfb(block) is not None) is (used == "b")
