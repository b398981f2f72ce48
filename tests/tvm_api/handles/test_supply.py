"""Names and global variables that no other one has."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import NameLookupError
from tirax.tvm_api.ir.supply import GlobalVarSupply, NameSupply
from tirax.tvm_api.script import from_source

SCRIPT = "@T.prim_func\ndef f():\n    T.evaluate(0)\n"


def test_names():
    names = NameSupply("p")
    assert [names.fresh_name("a.b") for _ in range(3)] == ["p_a_b", "p_a_b_1", "p_a_b_2"]
    assert names.fresh_name("a_b", add_underscore=False) == "p_a_b3"
    assert names.reserve_name("x", add_prefix=False) == "x" and names.contains_name("x", add_prefix=False)
    assert not names.contains_name("x") and NameSupply().fresh_name("x") == "x"


def test_global_variables():
    variables = GlobalVarSupply(tvm.IRModule({"f": from_source(SCRIPT)}))
    assert variables.fresh_global("f").name_hint == "f_1"
    assert variables.unique_global_for("g") is variables.unique_global_for("g")
    with pytest.raises(NameLookupError, match="is reserved"):
        variables.reserve_global(tvm.ir.GlobalVar("g"))
    variables.reserve_global(tvm.ir.GlobalVar("g"), allow_conflict=True)
