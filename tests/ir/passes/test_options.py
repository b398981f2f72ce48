"""Options of a context: known ones with values of their type are taken, others are refused when it is made."""

from __future__ import annotations

from typing import Any

import pytest

import tirax.tvm_api as tvm
from tirax.ir.passes.options import OPTIONS, OptionTypeError, UnknownOptionError, check_config

VALUES: dict[type, Any] = {bool: True, int: 3, str: "greedy", list: [], dict: {}}


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_takes_its_type_and_no_other(name: str) -> None:
    """Of TVM's options, and of our own: a number is no flag, unless it is 0 or 1, a flag is no number."""
    for kind, value in VALUES.items():
        if kind is OPTIONS[name]:
            assert tvm.transform.PassContext(config={name: value}).config == {name: value}
        else:
            with pytest.raises(OptionTypeError, match=f"config option '{name}'.*\n.*expected: "):
                tvm.transform.PassContext(config={name: value})


@pytest.mark.parametrize(
    "name, suggested",
    [
        ("tirax.limit.vector.lane", "tirax.limit.vector.lanes"),
        ("tir.disable_vectorise", "tir.disable_vectorize"),
        ("tir.unrollloop", "tir.UnrollLoop"),
        ("relax.FuseOps.maxdepth", "relax.FuseOps.max_depth"),
        ("tirax.sanitise", "tirax.sanitize"),
    ],
)
def test_an_unknown_option_names_one_that_there_is(name: str, suggested: str) -> None:
    with pytest.raises(UnknownOptionError, match=f"Invalid config option '{name}'.*\n.*'{suggested}'"):
        tvm.transform.PassContext(config={name: 1})
    with pytest.raises(AttributeError):  # as in TVM
        tvm.transform.PassContext(config={name: 1})


def test_what_is_no_name_is_unknown() -> None:
    with pytest.raises(UnknownOptionError, match="known: "):
        tvm.transform.PassContext(config={3: 1})


def test_numbers_of_tvm_are_numbers() -> None:
    check_config({"relax.FuseOps.max_depth": tvm.tir.IntImm("int32", 3), "tir.disable_vectorize": 1})


def test_a_plugin_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPTIONS, "mine.depth", int)
    check_config({"mine.depth": 3})
