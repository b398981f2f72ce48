"""Dataflow patterns beside xDSL's own, and from a file."""

import pytest
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
    op_type_rewrite_pattern,
)

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.dialects import relax
from tirax.interpreter import assert_same_meaning
from tirax.transforms.dpl.apply_dpl_patterns import ApplyDplPatterns, load_rewriters
from tirax.tvm_api.relax.dpl import DPLRewritePattern, is_op, wildcard
from tirax.tvm_api.script import relax as R

NEGATIVE = relax.OPERATORS["relax.negative"]


class DoubleNegation(RewritePattern):
    """Written by hand: -(-x) is x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NEGATIVE, rewriter: PatternRewriter):
        inner = op.operands[0].owner
        if isinstance(inner, NEGATIVE):
            rewriter.replace(op, [], [inner.operands[0]])


@R.function
def func(x: R.Tensor(("n",), "float32")):
    with R.dataflow():
        a = R.subtract(R.const(0.0), x)
        b = R.subtract(R.const(0.0), a)
        c = R.exp(b)
        R.output(c)
    return c


def negate():
    from tirax.tvm_api import relax as rx
    from tirax.tvm_api.relax.dpl import is_expr

    x = wildcard()
    pattern = is_op("relax.subtract")(is_expr(rx.const(0.0)), x)
    return DPLRewritePattern(pattern, lambda _, m: R.negative(m[x]))


def test_in_a_greedy_set_beside_a_pattern_written_by_hand():
    module = tvm.IRModule({"main": func}).op
    before = module.clone()
    # Neither is enough: the one makes negations, the other takes pairs of them away.
    PatternRewriteWalker(GreedyRewritePatternApplier([negate(), DoubleNegation()])).rewrite_module(module)
    module.verify()
    names = [op.name for op in module.walk() if isinstance(op, relax.Operator)]
    assert names in (["relax.exp"], ["relax.negative", "relax.exp"])  # an unused negation may be left
    assert next(op for op in module.walk() if op.name == "relax.exp").operands[0] in module.body.block.first_op.params
    assert_same_meaning(before, module)


def test_alone_and_without_a_match():
    module = tvm.IRModule({"main": func}).op
    text = str(module)
    x = wildcard()
    never = DPLRewritePattern(is_op("relax.sin")(x), lambda e, m: pytest.fail("matched"))
    assert not PatternRewriteWalker(never).rewrite_module(module)
    same = DPLRewritePattern(is_op("relax.exp")(x), lambda e, m: e)
    assert not PatternRewriteWalker(same).rewrite_module(module)
    assert str(module) == text


def test_sides_of_an_or_and_new_names():
    module = tvm.IRModule({"main": func}).op
    x = wildcard()
    pattern = DPLRewritePattern(
        is_op("relax.exp")(x) | is_op("relax.log")(x), lambda _, m: R.nn.silu(R.abs(R.abs(m[x])))
    )
    PatternRewriteWalker(pattern).rewrite_module(module)
    module.verify()
    text = tvm.IRModule(module)["main"].script()
    assert 'lv: R.Tensor((n,), dtype="float32") = R.abs(b)' in text
    assert 'c: R.Tensor((n,), dtype="float32") = R.nn.silu(lv1)' in text


def test_outputs_of_dataflow_blocks_are_not_looked_through():
    @R.function
    def before(x: R.Tensor(("n",), "float32")):
        with R.dataflow():
            a = R.nn.relu(x)
            gv = a
            R.output(a, gv)
        b = R.nn.relu(gv)
        return b

    module = tvm.IRModule({"main": before}).op
    x = wildcard()
    relu = is_op("relax.nn.relu")
    pattern = DPLRewritePattern(relu(relu.dup()(x)), lambda e, m: pytest.fail("matched"))
    assert not PatternRewriteWalker(pattern).rewrite_module(module)


def test_patterns_of_a_file(tmp_path):
    path = tmp_path / "patterns.py"
    path.write_text(
        "from tirax.tvm_api.relax.dpl import *\n"
        "from tirax.tvm_api.script import relax as R\n"
        "x = wildcard()\n"
        "exp = PatternMatchingRewriter.from_pattern(is_op('relax.exp')(x), lambda _, m: R.sin(m[x]))\n"
        "cos = PatternMatchingRewriter.from_pattern(is_op('relax.sin')(x), lambda _, m: R.cos(m[x]))\n"
    )
    mod = tvm.IRModule({"main": func})
    assert "R.cos(b)" in ApplyDplPatterns(str(path))(mod).script()
    assert "R.sin(b)" in ApplyDplPatterns(str(path), only=("exp",))(mod).script()
    assert "R.exp(b)" in mod.script()


@pytest.mark.parametrize(
    ("source", "only", "message"),
    [
        ("x = 1\n", (), "defines no rewriter"),
        ("x = 1\n", ("relu",), "defines no rewriter called relu"),
        ("raise ValueError('no')\n", (), r"failed: ValueError\n  found: no"),
        ("def (\n", (), "failed: SyntaxError"),
    ],
)
def test_files_that_define_nothing(tmp_path, source, only, message):
    path = tmp_path / "patterns.py"
    path.write_text(source)
    with pytest.raises(TiraxError) as error:
        load_rewriters(str(path), only)
    import re

    assert re.search(message, str(error.value))


def test_a_file_that_is_not_there():
    with pytest.raises(TiraxError, match="there is no Python file 'nothing.py'"):
        load_rewriters("nothing.py")
