"""Intrinsics written as TVMScript."""

from __future__ import annotations

from ...handles.tir.prim_func import PrimFunc
from ...script import parse_source
from ...transforms.tir.walk import functions
from ..tensor_intrin import TensorIntrin

_HEAD = "from tvm.script import ir as I, tir as T\n@I.ir_module\nclass Module:\n"


def from_script(desc: str, impl: str) -> TensorIntrin:
    """The intrinsic of two functions, each the text of a `T.prim_func`."""
    return TensorIntrin(_function(desc), _function(impl))


def _function(text: str) -> PrimFunc:
    lines = "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))
    (func,) = functions(parse_source(_HEAD + lines))
    func.detach()
    return PrimFunc.on(func)
