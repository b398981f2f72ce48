"""Why a pattern does not match: the condition that failed, and its place. `conftest.py` compares with all matches."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn

from tirax.handles.relax.call import Call
from tirax.handles.relax.expr import ExternFunc, GlobalVar, Var
from tirax.handles.relax.op import Op
from tirax.transforms.dpl.matcher import RULES
from tirax.transforms.dpl.phrases import phrase
from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax.analysis import get_var2val
from tirax.tvm_api.relax.dpl import (
    ExternFuncPattern,
    FunctionPattern,
    has_attr,
    has_dtype,
    has_shape,
    has_struct_info,
    is_call_packed,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    reject,
    wildcard,
)
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import relax as R

ANY = wildcard
X, Y = (Var(name, R.Tensor((4,), "float32")) for name in "xy")
SUM = X + Y
PAIR = rx.Tuple([X, SUM])
FUNC = rx.Function([X], rx.op.exp(X))
add, exp, subtract = is_op("relax.add"), is_op("relax.exp"), is_op("relax.subtract")

CASES = [
    (lambda: is_var("z"), X, (), 'a variable "z"', "the variable x"),
    (lambda: is_var(), SUM, (), "a variable", "a call of relax.add"),
    (lambda: is_dfv(), X, (), "a variable of a dataflow block", "the variable x"),
    (lambda: is_gv("f"), GlobalVar("g"), (), 'a function of the module whose name contains "f"', "the function @g"),
    (lambda: ExternFuncPattern("f"), ExternFunc("g"), (), 'a packed function "f"', 'the packed function "g"'),
    (lambda: is_const(), X, (), "a constant", "the variable x"),
    (lambda: is_op("relax.add"), Op.get("relax.exp"), (), "the operator relax.add", "the operator relax.exp"),
    (lambda: is_expr(X), Y, (), "what is equal to the variable x", "the variable y"),
    (lambda: is_expr(rx.const(2.0)), rx.const(3.0), (), "what is equal to the constant 2.0 of float32",
     "the constant 3.0 of float32"),
    (lambda: is_expr(Y + X), SUM, (), "what is equal to a call of relax.add", "another, a call of relax.add"),
    (lambda: add(ANY(), ANY()), X, (), "a call of relax.add with 2 arguments", "the variable x"),
    (lambda: exp(ANY()), SUM, (), "a call of relax.exp with 1 argument", "a call of relax.add with 2 arguments"),
    (lambda: add(ANY()), SUM, (), "a call of relax.add with 1 argument", "a call of relax.add with 2 arguments"),
    (lambda: is_call_packed("f", [ANY()]), SUM, ("what is called",), 'a packed function "f"', "the operator relax.add"),
    (lambda: FunctionPattern([ANY(), ANY()], ANY()), FUNC, (), "a function of 2 parameters",
     "a function of 1 parameter"),
    (lambda: FunctionPattern([ANY()], add(ANY(), ANY())), FUNC, ("the result",),
     "a call of relax.add with 2 arguments", "a call of relax.exp with 1 argument"),
    (lambda: is_tuple([ANY()]), PAIR, (), "a tuple of 1 field", "a tuple of 2 fields"),
    (lambda: is_tuple([ANY(), exp(ANY())]), PAIR, ("field 1",), "a call of relax.exp with 1 argument",
     "a call of relax.add with 2 arguments"),
    (lambda: is_tuple([ANY()], unordered=True), X, (), "a tuple of 1 field", "the variable x"),
    (lambda: is_tuple([exp(ANY()), add(ANY(), ANY())], unordered=True), PAIR, ("field 0",),
     "a call of relax.exp with 1 argument", "the variable x"),
    (lambda: is_tuple_get_item(ANY(), 0), rx.TupleGetItem(PAIR, 1), (), "field 0 of a tuple", "field 1 of a tuple"),
    (lambda: is_tuple_get_item(is_tuple([exp(ANY()), ANY()])), rx.TupleGetItem(PAIR, 1), ("the tuple", "field 0"),
     "a call of relax.exp with 1 argument", "the variable x"),
    (lambda: is_const() | is_var("z"), X, (), 'a constant, or a variable "z"', "the variable x"),
    (lambda: exp(is_const()) | exp(is_var("z")), rx.op.exp(X), ("argument 0 of relax.exp",),
     'a constant, or a variable "z"', "the variable x"),
    (lambda: is_var() & is_var("z"), X, (), 'a variable "z"', "the variable x"),
    (lambda: ~is_var(), X, (), "anything but a variable", "the variable x"),
    (lambda: reject(exp(ANY()) | is_var()), X, (), "anything but a call of relax.exp with 1 argument, or a variable",
     "the variable x"),
    (lambda: has_attr({"axis": [1]}), rx.op.sum(X, axis=0), (), "axis = (1,)", "axis = (0,)"),
    (lambda: has_attr({"of": 1}), rx.op.sum(X), (), "of = 1", "a call of relax.sum, which has no such attribute"),
    (lambda: has_attr({"of": 1}), X, (), "attributes of", "the variable x, which has none"),
    (lambda: has_struct_info(R.Tensor((5,))), X, (), "struct info !relax.tensor<[5]>", "!relax.tensor<[4], f32>"),
    (lambda: has_dtype("int8"), X, (), "a tensor of data type int8", "float32"),
    (lambda: has_dtype("int8"), PAIR, (), "a tensor of data type int8", "a tuple of 2 fields, which is no tensor"),
    (lambda: has_shape(["n", 4]), X, (), "a tensor of shape (n, 4)", "(4)"),
    (lambda: is_shape([1]), rx.ShapeExpr([2]), (), "the shape (1)", "the shape (2)"),
    (lambda: (w := ANY(), add(w, w))[1], SUM, ("argument 1 of relax.add",),
     "what this part of the pattern stands for elsewhere, the variable x", "the variable y"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "expr", "path", "expected", "actual"), CASES)
def test_each_kind_of_pattern_says_what_failed(pattern, expr, path, expected, actual):
    mismatch = pattern().explain(expr)
    assert (mismatch.path, mismatch.expected, mismatch.found) == (path, expected, actual)


def test_each_kind_of_pattern_has_a_case_and_words():
    kinds = {type(pattern()) for pattern, *_ in CASES} | {type(wildcard())}
    assert set(RULES) <= kinds
    assert phrase(wildcard()) == "anything"
    assert all(phrase(pattern()) for pattern, *_ in CASES)


def test_what_matches_needs_no_explanation():
    assert add(ANY(), is_var("x")).explain(SUM) is None


def test_what_failed_on_the_way_to_success_is_forgotten():
    # Below `left` the operand of exp fails, but `right` matches: what fails is the second operand of subtract.
    left, right = exp(is_const()), exp(is_var())
    mismatch = subtract(left | right, is_const()).explain(rx.op.exp(X) - Y)
    assert (mismatch.path, mismatch.expected) == (("argument 1 of relax.subtract",), "a constant")


def test_of_two_orders_the_longer_match_is_reported():
    # exp(x) + y: with the operands exchanged `exp(…)` is found, and then no constant.
    mismatch = add(is_const(), exp(is_var())).explain(rx.op.exp(X) + Y)
    assert mismatch.path == ("argument 0 of relax.add",)
    assert (mismatch.expected, mismatch.found) == ("a constant", "a call of relax.exp")
    mismatch = add(exp(is_const()), ANY()).explain(rx.op.exp(X) + Y)
    assert mismatch.path == ("argument 0 of relax.add", "argument 0 of relax.exp")


def test_places_of_the_source_and_variables():
    main = from_source("""@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        a = R.exp(x)
        b = R.add(a, R.negative(a))
        R.output(b)
    return b""")
    bound = get_var2val(main)
    value = next(value for var, value in bound.items() if var.name_hint == "b")
    pattern = add(is_op("relax.negative")(add(ANY(), ANY())), ANY())
    text = str(pattern.explain(value, bound))
    assert text.endswith(
        ":4:13: argument 1 of relax.add > argument 0 of relax.negative\n"
        "  expected: a call of relax.add with 2 arguments\n"
        "  found: a call of relax.exp with 1 argument"
    )
    blind = pattern.explain(value)
    assert blind.found == "the variable a" and "get_var2val" in str(blind)
    assert blind.path == ("argument 0 of relax.add",)
    assert "get_var2val" not in str(add(ANY(), is_var("z")).explain(X + Y, {}))


@dataclass(frozen=True)
class Planted:
    """An expression, and the pattern that it has but for one operator, at `path`; None where that is nowhere."""

    expr: Call
    pattern: object
    path: tuple[str, ...] | None


UNARY, ORDERED, EXCHANGED = ("exp", "negative", "sqrt"), ("subtract", "divide", "power"), ("add", "multiply")


@st.composite
def planted(draw, binary: tuple[str, ...]) -> Planted:
    """A tree of operators and the pattern of it, one of whose operators is another in half of the cases."""
    nodes = []

    def tree(depth: int, path: tuple[str, ...]):
        names = UNARY + binary if depth else ()
        name = draw(st.sampled_from([*names, "leaf"] if depth < 3 else names))
        if name == "leaf":
            return draw(st.sampled_from([X, Y])), lambda _: wildcard()
        nodes.append(path)
        count = 1 if name in UNARY else 2
        subtrees = [tree(depth - 1, (*path, f"argument {i} of relax.{name}")) for i in range(count)]
        others = [other for other in (UNARY if count == 1 else binary) if other != name]
        other = draw(st.sampled_from(others))

        def pattern(wrong):
            op = is_op(f"relax.{other if path == wrong else name}")
            return op(*(make(wrong) for _, make in subtrees))

        return getattr(rx.op, name)(*(expr for expr, _ in subtrees)), pattern

    expr, pattern = tree(3, ())
    wrong = draw(st.sampled_from([None, *nodes]))
    return Planted(expr, pattern(wrong), wrong)


@drawn(200)
@given(planted(ORDERED))
def test_one_wrong_operator_is_where_it_was_planted(case):
    mismatch = case.pattern.explain(case.expr)
    assert (mismatch is None) is case.pattern.match(case.expr) is (case.path is None)
    assert mismatch is None or mismatch.path == case.path


@drawn(100)
@given(planted(ORDERED + EXCHANGED))
def test_where_operands_are_exchanged_an_explanation_is_there_where_no_match_is(case):
    """Its place may be another than the planted one: the order that came further is told."""
    assert (case.pattern.explain(case.expr) is None) is case.pattern.match(case.expr)
