"""Building one-operator modules for the tests of legalization."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tirax.dev.fuzz.operator_cases import one_operator
from tirax.ir.passes.transform import new_context

Build = Callable[..., ModuleOp]


def parse(text: str) -> ModuleOp:
    """A verified module from MLIR text."""
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


@pytest.fixture(name="parse")
def parse_fixture() -> Callable[[str], ModuleOp]:
    return parse


@pytest.fixture(name="one_operator")
def one_operator_fixture() -> Build:
    return one_operator
