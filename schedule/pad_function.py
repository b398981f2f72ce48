"""Paddings that are no integers: functions of the new indices, which traces hold as the text of a lambda.

lambda i, j: (T.Cast("float32", i) * T.float32(0.5),)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ..diagnostics import TiraxError
from ..dialects import tir
from ..dialects.dtypes import dtype_name
from ..dialects.names import set_name
from ..handles.tir.prim_expr import PrimExpr, SizeVar
from ..transforms.tir.walk import functions
from .rewrite import Insert, copier

_HEAD = "lambda "


def text_of(indices: Sequence[SizeVar], value: PrimExpr) -> str:
    """`value`, an expression of `indices`, as a lambda. Raises `TiraxError` where it takes more than one line."""
    block = Block(arg_types=[i.type for i in indices])
    for arg, index in zip(block.args, indices, strict=True):
        set_name(arg, index.name)
    block.add_op(tir.EvaluateOp(copier(block.add_op, {})(value.value)))
    from ..script import print_script

    *_, above, last = print_script(tir.FuncOp("main", Region(block))).rstrip().split("\n")
    if not above.startswith("def "):
        raise TiraxError("a padding is one expression of the new indices", found=last.strip())
    head, text = "T.evaluate(", last.strip()
    body = text.removeprefix(head).removesuffix(")") if text.startswith(head) else text
    return f"{_HEAD}{', '.join(i.name for i in indices)}: ({body},)"


class PadFunction:
    """What an element of the padding holds, by its indices."""

    def __init__(self, text: str, dtype: IntegerType):
        """From the text of a lambda over indices of `dtype`. Raises a diagnostic where it is none."""
        params, colon, body = text.removeprefix(_HEAD).partition(": ")
        if not text.startswith(_HEAD) or not colon or not (body.startswith("(") and body.endswith(",)")):
            raise TiraxError("a padding is the text of a lambda", expected="lambda i, j: (…,)", found=text)
        self._params, self._value = _parsed(params.split(", "), body[1:-2], dtype_name(dtype))

    @property
    def type(self) -> Attribute:
        """The type of the elements."""
        return self._value.type

    def element(self, indices: Sequence[SSAValue], insert: Insert) -> SSAValue:
        """The expression for the element at `indices`. Raises `TiraxError` where it takes another number of them."""
        if len(indices) != len(self._params):
            raise TiraxError(
                "the padding has another number of indices", expected=len(indices), found=len(self._params)
            )
        return copier(insert, dict(zip(self._params, indices, strict=True)))(self._value)


def _parsed(params: Sequence[str], body: str, dtype: str) -> tuple[Sequence[SSAValue], SSAValue]:
    """The parameters and the value, of a function that is no part of any module."""
    from ..script import parse_source

    given = ", ".join(f"{p}: T.{dtype}" for p in params)
    lines = ("from tvm.script import tir as T", "@T.prim_func", f"def main({given}):", f"    T.evaluate({body})")
    (func,) = functions(parse_source("\n".join(lines)))
    func.detach()
    last = func.body.block.last_op
    assert isinstance(last, tir.EvaluateOp)
    return func.params, last.value
