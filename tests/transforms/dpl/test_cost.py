"""Rewriting and fusion by patterns ask about a number of expressions that grows with the program, not faster."""

import pytest

from tirax.transforms.dpl.matcher import Matcher
from tirax.tvm_api import relax
from tirax.tvm_api.relax import op
from tirax.tvm_api.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from tirax.tvm_api.relax.transform import FuseOpsByPattern


def chain(bindings):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 16), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value = x
            for _ in range(bindings // 4):
                value = bb.emit(op.multiply(bb.emit(op.nn.relu(bb.emit(op.add(bb.emit(op.exp(value)), value)))), value))
            result = bb.emit_output(value)
        bb.emit_func_output(result)
    return bb.get()


@pytest.fixture
def attempts(monkeypatch):
    """How often a pattern was compared with an expression while a function ran."""
    count = [0]
    match = Matcher.match

    def counted(self, pattern, expr):
        count[0] += 1
        return match(self, pattern, expr)

    monkeypatch.setattr(Matcher, "match", counted)

    def run(one, mod):
        count[0] = 0
        after = one(mod)
        assert str(after.op) != str(mod.op)
        return count[0]

    return run


x = wildcard()
NEAR = [is_op("relax.nn.relu")(is_op(f"relax.{name}")(wildcard())) for name in ("sin", "cos", "tanh", "sqrt")]
MATCHING = is_op("relax.nn.relu")(is_op("relax.add")(is_op("relax.exp")(wildcard()), x))


def rewriter():
    rule = PatternMatchingRewriter.from_pattern
    pattern = rule(MATCHING, lambda _, m: op.nn.gelu(m[x]))
    for near in NEAR:
        pattern = pattern | rule(near, lambda expr, _: expr)
    return pattern


@pytest.mark.parametrize(
    "one", [rewriter, lambda: FuseOpsByPattern([(f"l.p{i}", p) for i, p in enumerate([*NEAR, MATCHING])])]
)
def test_cost_grows_with_the_bindings(attempts, one):
    few, many = attempts(one(), chain(80)), attempts(one(), chain(320))
    assert few >= 20
    assert many <= 4.1 * few


def test_a_pattern_is_tried_only_where_it_may_begin(attempts):
    rule = PatternMatchingRewriter.from_pattern(is_op("relax.exp")(x), lambda _, m: op.sin(m[x]))
    beside = rule
    for name in ("tan", "cosh", "sinh", "erf"):
        beside = beside | PatternMatchingRewriter.from_pattern(is_op(f"relax.{name}")(wildcard()), lambda expr, _: expr)
    assert attempts(beside, chain(40)) == attempts(rule, chain(40))
