"""`tvm.script.parser.core`: expressions over values that the caller gives; nothing else is reached or called."""

import pytest

from tirax.script.parser.source import ScriptError
from tirax.tvm_api.script.parser.core.diagnostics import Source
from tirax.tvm_api.script.parser.core.evaluator import ExprEvaluator


def value(text, **values):
    return ExprEvaluator.eval(None, values, Source(text).as_ast().body[0].value)


def test_constants_operators_and_parts():
    assert value("(n * 2 + 1, [n // 4, -n], 'a')", n=9) == (19, [2, -9], "a")
    assert value("1 < n <= 3, n == 2, not n", n=3) == (True, False, False)
    assert value("a[1:], a[-1], a[::2]", a=[1, 2, 3]) == ([2, 3], 3, [1, 3])


def test_functions_of_the_table_are_called():
    assert value("f(2, by=3)", f=lambda x, by: x * by) == 6


@pytest.mark.parametrize(
    "text",
    ["open('x')", "n.__class__", "(lambda: 0)()", "[k for k in n]", "f(*n)", "f(**n)", "missing", "n is None"],
)
def test_all_else_is_refused(text):
    with pytest.raises(ScriptError):
        value(text, n=[1], f=len)


def test_what_is_not_python_is_refused():
    with pytest.raises(ScriptError, match="not Python"):
        Source("1 +").as_ast()
