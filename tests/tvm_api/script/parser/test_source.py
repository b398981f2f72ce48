"""The text of functions, and its syntax tree."""

import inspect

import pytest

from tirax.script.parser.source import ScriptError
from tirax.tvm_api.ir import Op
from tirax.tvm_api.script.parser.core import doc_core
from tirax.tvm_api.script.parser.core.diagnostics import Source


def example(a, b):
    c = a + b
    return c


def test_a_function():
    source = Source(example)
    assert source.source == inspect.getsource(example) and source.start_line == inspect.getsourcelines(example)[1]
    assert source.source_name.endswith("test_source.py") and source.start_column == 0
    assert source.full_source.startswith('"""The text of functions')
    (function,) = source.as_ast().body
    assert isinstance(source.as_ast(), doc_core.Module) and isinstance(function, doc_core.FunctionDef)
    assert [type(statement) for statement in function.body] == [doc_core.Assign, doc_core.Return]


def test_a_text():
    source = Source("1 + 1")
    assert (source.source_name, source.full_source, source.start_line) == ("<str>", "1 + 1", 0)
    with pytest.raises(ScriptError, match="this is not Python"):
        Source("1 +").as_ast()


def test_operators_of_tensor_functions_by_name():
    assert Op.get("tir.call_extern").same_as(Op.get("tir.call_extern"))
