"""Equalities that a test names on the command line."""

from tirax.tvm_api.relax.dpl import PatternMatchingRewriter, is_op, wildcard
from tirax.tvm_api.script import relax as R

p, q, r = wildcard(), wildcard(), wildcard()
matmul, add = is_op("relax.matmul"), is_op("relax.add")
rule = PatternMatchingRewriter.from_pattern

same_right = rule(add(matmul(p, r), matmul(q, r)), lambda _, m: R.matmul(R.add(m[p], m[q]), m[r]))
to_right = rule(matmul(matmul(p, q), r), lambda _, m: R.matmul(m[p], R.matmul(m[q], m[r])))
same_left = rule(add(matmul(p, q), matmul(p, r)), lambda _, m: R.matmul(m[p], R.add(m[q], m[r])))
