"""Building one-operator modules for the tests of legalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.parser import Parser

from tirax.dialects import relax
from tirax.dialects.names import set_name
from tirax.dialects.relax.operator import OPERATORS
from tirax.ir.passes.transform import new_context

Build = Callable[..., ModuleOp]


def parse(text: str) -> ModuleOp:
    """A verified module from MLIR text."""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def types_of(*texts: str) -> list[Any]:
    """Struct info from text: `[n, 4] f32` is a tensor."""
    out = []
    for text in texts:
        dims, _, dtype = text.rpartition(" ")
        out.append(f"!relax.tensor<{dims}, {dtype}>")
    block = parse(
        f"relax.func @f({', '.join(f'%a{i}: {t}' for i, t in enumerate(out))}) -> !relax.object {{"
        '%s = relax.string "" relax.return %s : !relax.object }'
    ).body.block.first_op
    assert isinstance(block, relax.FuncOp)
    return [p.type for p in block.params]


def one_operator(name: str, args: list[Any], **attrs: Any) -> ModuleOp:
    """A module whose `main` is one operator. An argument: a tensor type as text, a leaf op, or a list of types."""
    texts = [t for a in args for t in (a if isinstance(a, list) else [a]) if isinstance(t, str)]
    block = Block(arg_types=types_of(*texts) if texts else [])
    for i, arg in enumerate(block.args):
        set_name(arg, "xyzuvw"[i])
    params = iter(block.args)

    def value(a: Any) -> Any:
        if isinstance(a, list):
            return [value(v) for v in a]
        if a is None:
            return None
        if isinstance(a, str):
            return next(params)
        block.add_op(a)
        return a.results[0]

    values: list[SSAValue | None | list[SSAValue]] = [value(a) for a in args]
    op = OPERATORS[name].make(*values, **attrs)
    set_name(op.results[0], "lv")
    block.add_ops([op, relax.ReturnOp(op.results[0])])
    return ModuleOp([relax.FuncOp("main", Region(block), op.results[0].type)])


@pytest.fixture(name="parse")
def parse_fixture() -> Callable[[str], ModuleOp]:
    return parse


@pytest.fixture(name="one_operator")
def one_operator_fixture() -> Build:
    return one_operator
