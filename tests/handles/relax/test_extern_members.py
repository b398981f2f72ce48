"""Packed functions as members of modules."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.parser import Parser

from tirax.diagnostics import TiraxError
from tirax.frontend.block_builder import BlockBuilder
from tirax.handles.module import IRModule
from tirax.handles.relax import names as rx
from tirax.interpreter import interpret
from tirax.ir.equality import assert_structural_equal
from tirax.ir.passes.transform import new_context
from tirax.ir.verification.verify import verify_module
from tirax.runtime import registry
from tirax.script import ScriptError, parse_source
from tirax.tvm_api import relax
from tirax.tvm_api.handles.relax_utils import extern

TEXT = """\
@I.ir_module
class Module:
    twice = R.ExternFunc("test.extern.twice")

    @R.function(pure=False)
    def main(x: R.Tensor(("n",), dtype="float32")):
        cls = Module
        y = cls.twice(x)
        return y
"""


def built() -> IRModule:
    builder = BlockBuilder()
    builder.add_func(extern("test.extern.f"), "f")
    return builder.get()


def test_a_module_holds_it_under_a_name() -> None:
    mod = built()
    assert mod.names == ["f"] and mod["f"].global_symbol == "test.extern.f"
    assert isinstance(mod["f"], rx.ExternFunc)
    assert mod.script().split("\n")[-1] == '    f = R.ExternFunc("test.extern.f")'
    verify_module(mod.op)
    again = Parser(new_context(), str(mod.op)).parse_module()
    assert_structural_equal(again, mod.op)
    assert_structural_equal(parse_source(mod.script()), mod.op)
    mod["g"] = mod["f"]
    del mod["f"]
    assert mod.names == ["g"] and mod["g"].global_symbol == "test.extern.f"


def test_what_it_takes_and_gives_is_read_back() -> None:
    text = TEXT.replace('twice")', 'twice", R.Callable((R.Tensor(ndim=1),), R.Tensor((4,), dtype="float32"), True))')
    module = parse_source(text)
    func = IRModule(module)["twice"]
    assert func.struct_info.ret.shape[0] == 4 and func.struct_info.purity
    assert_structural_equal(parse_source(IRModule(module).script()), module)


@pytest.mark.parametrize("name", ["DeadCodeElimination", "FuseTIR", "FuseOps", "LegalizeOps", "Normalize"])
def test_passes_keep_it(name: str) -> None:
    mod = built()
    assert_structural_equal(getattr(relax.transform, name)()(mod).op, mod.op)


def test_two_that_stand_for_different_functions_differ() -> None:
    other = IRModule({"f": extern("test.extern.g")})
    with pytest.raises(TiraxError):
        assert_structural_equal(other.op, built().op)


@pytest.mark.parametrize("n", [0, 1, 4])
def test_it_is_called_by_its_own_name(n: int) -> None:
    registry.register_func("test.extern.twice", lambda x: x * 2, override=True)
    try:
        module = parse_source(TEXT)
        x = np.arange(n, dtype="float32")
        machine = relax.VirtualMachine(relax.build(IRModule(module)))
        np.testing.assert_array_equal(np.asarray(machine["main"](x)), x * 2)
        np.testing.assert_array_equal(np.asarray(interpret(module, "main", (x,))), x * 2)
    finally:
        registry.remove_global_func("test.extern.twice")


@pytest.mark.parametrize(
    ("member", "message"),
    [
        ("twice = 1", "a module"),
        ("twice = R.ExternFunc(1)", "the name of a packed function is a string"),
        ('twice = R.ExternFunc("f", R.Tensor)', r"a function is expected(.|\n)*expected: R.Callable"),
        ('main = R.ExternFunc("f")', "function 'main' is defined twice"),
    ],
)
def test_what_no_module_holds(member: str, message: str) -> None:
    with pytest.raises(ScriptError, match=message):
        parse_source(TEXT.replace('twice = R.ExternFunc("test.extern.twice")', member))
