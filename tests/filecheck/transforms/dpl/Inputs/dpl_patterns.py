"""Patterns that a test names on the command line."""

from tirax.tvm_api.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from tirax.tvm_api.script import relax as R

x, y = wildcard(), wildcard()

# x + x -> x * 2
double = PatternMatchingRewriter.from_pattern(
    is_op("relax.add")(x, x), lambda _, m: R.multiply(m[x], R.const(2, "float32"))
)
# relu(relu(y)) -> relu(y)
relu = is_op("relax.nn.relu")
once = PatternMatchingRewriter.from_pattern(relu(is_op("relax.nn.relu")(y)), lambda _, m: R.nn.relu(m[y]))
