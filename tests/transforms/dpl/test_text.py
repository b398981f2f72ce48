"""The text of a pattern is the code that makes it."""

import pytest

from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax import dpl
from tirax.tvm_api.relax.dpl import *  # noqa: F403
from tirax.tvm_api.relax.dpl import DFPattern

TEXTS = [
    "wildcard()",
    "is_var()",
    "is_var('x')",
    "is_dfv('x')",
    "is_gv('f')",
    "is_const()",
    "is_op('relax.add')",
    "is_op('relax.add')(wildcard(), is_const())",
    "is_op('relax.add')(wildcard(), varg_default_wildcard=True)",
    "(is_op('relax.add') | is_op('relax.multiply'))(wildcard(), wildcard())",
    "is_tuple([is_const(), wildcard()])",
    "is_tuple([is_const()], unordered=True)",
    "is_tuple_get_item(is_var('t'), 1)",
    "is_tuple_get_item(wildcard())",
    "~is_const()",
    "~(is_const() | is_var())",
    "is_var() & is_const()",
    "wildcard().has_attr({'axis': 1})",
    "wildcard().has_dtype('float32')",
    "(is_const() | is_var()).has_shape((2, 3))",
    "is_shape((4,))",
    "ExternFuncPattern('f')(is_var())",
    "FunctionPattern([is_var()], wildcard())",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_code(text: str) -> None:
    assert repr(eval(text, vars(dpl))) == text  # noqa: S307 - a text of this file


def test_texts_of_types_and_expressions() -> None:
    info = rx.TensorStructInfo((2,), "float32")
    assert repr(dpl.wildcard().has_struct_info(info)) == f"wildcard().has_struct_info({info})"
    assert repr(dpl.is_expr(rx.const(1))).startswith("is_expr(")


def test_a_pattern_of_another_class() -> None:
    class Own(DFPattern):
        pass

    assert repr(Own()) == "Own()"
