"""Sound rules on random programs: what they compute stays, and what they look for is gone."""

from functools import reduce

from hypothesis import given
from random_programs import Program, programs
from strength import drawn
from xdsl.pattern_rewriter import GreedyRewritePatternApplier, PatternRewriteWalker

from tirax.dialects import relax
from tirax.handles.relax.calls import call_operator as call
from tirax.interpreter import assert_same_meaning
from tirax.ir.passes.transform import new_context
from tirax.ir.verification.verify import verify_module
from tirax.transforms.bindings.normalize import Normalize
from tirax.transforms.codegen.fuse_ops_by_pattern import FuseOpsByPattern
from tirax.transforms.codegen.merge_composite_functions import MergeCompositeFunctions
from tirax.transforms.dpl import DPLRewritePattern, PatternMatchingRewriter, is_op, wildcard


def rules():
    """before -> after"""
    x, y = wildcard(), wildcard()
    add, relu = is_op("relax.add"), is_op("relax.nn.relu")
    negative, subtract = is_op("relax.negative"), is_op("relax.subtract")
    return [
        # relu(relu(x)) -> relu(x)
        (relu(relu.dup()(x)), lambda _, m: call("relax.nn.relu", m[x])),
        # -(-x) -> x
        (negative(negative.dup()(x)), lambda _, m: m[x]),
        # x - y -> x + -y
        (subtract(x, y), lambda _, m: call("relax.add", m[x], call("relax.negative", m[y]))),
        # max(x, y) -> max(y, x) has no end; |x| -> max(x, -x)
        (is_op("relax.abs")(x), lambda _, m: call("relax.maximum", m[x], call("relax.negative", m[x]))),
        # -(x + y) -> -x + -y
        (
            negative(add(x, y)),
            lambda _, m: call("relax.add", call("relax.negative", m[x]), call("relax.negative", m[y])),
        ),
    ]


@drawn(30)
@given(programs())
def test_rewriters_keep_the_meaning(program: Program) -> None:
    rewriter = reduce(PatternMatchingRewriter.__or__, [PatternMatchingRewriter.from_pattern(p, f) for p, f in rules()])
    after = rewriter(program.module)
    verify_module(after)
    left = [op.name for op in after.walk() if isinstance(op, relax.Operator)]
    assert "relax.subtract" not in left
    assert "relax.abs" not in left
    assert_same_meaning(program.module, after)


@drawn(30)
@given(programs())
def test_rewrite_patterns_keep_the_meaning(program: Program) -> None:
    after = program.module.clone()
    patterns = [DPLRewritePattern(p, f) for p, f in rules()]
    PatternRewriteWalker(GreedyRewritePatternApplier(patterns)).rewrite_module(after)
    Normalize().apply(new_context(), after)
    verify_module(after)
    bound = [op.name for op in after.walk() if isinstance(op, relax.Operator) and not relax.is_inline(op)]
    assert "relax.subtract" not in bound
    assert_same_meaning(program.module, after)


def composites():
    """Patterns of two code generators that lie beside and across each other."""
    any_, op = wildcard, is_op
    return [
        ("a.chain", op("relax.nn.relu")(op("relax.add")(any_(), any_()))),
        ("b.pair", op("relax.multiply")(op("relax.add")(any_(), any_()), any_())),
        ("a.sum", op("relax.add")(any_(), any_())),
        ("a.product", op("relax.multiply")(any_(), any_())),
        ("b.matmul", op("relax.matmul")(any_(), any_())),
        ("b.exp", op("relax.exp")(any_())),
        ("a.abs", op("relax.abs")(any_())),
        ("b.negative", op("relax.negative")(op("relax.maximum")(any_(), any_())) | op("relax.negative")(any_())),
    ]


@drawn(30)
@given(programs())
def test_functions_for_libraries_keep_the_meaning(program: Program) -> None:
    fused = FuseOpsByPattern(composites())(program.module)
    assert_same_meaning(program.module, fused)
    assert_same_meaning(program.module, MergeCompositeFunctions()(fused))
    assert_same_meaning(program.module, FuseOpsByPattern(composites(), annotate_codegen=True)(program.module))
