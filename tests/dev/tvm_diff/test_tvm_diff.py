"""The differential harness: rows that were the same in Apache TVM still are, as far as tirax goes."""

import pytest

from tests.helpers.strength import thinned
from tirax.dev.tvm_diff.compare import agreed, calls, digest, ours, plain
from tirax.dev.tvm_diff.rows import rows
from tirax.dev.tvm_diff.words import nameless, newer, older

ROWS = list(rows())
AGREED = agreed()


def test_each_row_agrees_or_has_a_reason():
    unknown = [row.name for row in ROWS if not row.reason and row.name not in AGREED]
    assert not unknown, "run make tvm-diff, and record what agrees with --write"
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert set(AGREED) <= {row.name for row in ROWS}


@thinned(
    "row", [row for row in ROWS if row.name in AGREED], lambda row: calls(row.passes)[0].name, lambda row: row.name
)
def test_what_agreed_with_tvm_still_does(row):
    text = plain(ours(row))
    assert digest(text) == AGREED[row.name], text


def test_names_of_local_variables_are_no_difference():
    one, other = (f"def f(A: T.Buffer(4)):\n    for {n} in range(4):\n        A[{n}] = 1" for n in "ij")
    assert nameless(one) == nameless(other)
    assert nameless(one) != nameless(one.replace("= 1", "= 2"))


@pytest.mark.parametrize("word", ["T.block('a')", "T.alloc_buffer((1,))", "T.block_attr({})"])
def test_words_are_translated_both_ways(word):
    assert newer(word) != word
    assert older(newer(word)) == word


def test_symbolic_variables_of_a_module_become_those_of_its_functions():
    module = """
n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((n, 4), "float32"), s: R.Shape([n * 2])) -> R.Tensor((n, 4), "float32"):
        return x
"""
    text = older(module)
    assert "TypeVar" not in text and "n = T.int64()" in text
    assert "R.Tensor(('n', 4), 'float32')" in text and "R.Shape(['n * 2'])" in text
