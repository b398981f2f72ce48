"""Modules and options that `build` and the passes refuse."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.diagnostics import TiraxError
from tirax.driver.build import build

INC = """
relax.func @main(%x: !T) -> !T {
  %a = relax.call_tir @inc(%x) : !T
  relax.return %a : !T
}
"""


@pytest.mark.parametrize("mod", [None, 3, "x", {}, [], build, np.zeros(3), object()], ids=range(8))
def test_what_is_no_module(mod):
    with pytest.raises(TiraxError, match="expected: an IRModule or ModuleOp"):
        build(mod)


def test_nothing_to_build():
    with pytest.raises(TiraxError, match="unknown function 'main'"):
        build(ModuleOp([]))["main"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"target": "foo"}, "unknown target kind 'foo'"),
        ({"target": "cuda"}, "target kind 'cuda'"),
        ({"target": ""}, "target"),
        ({"target": 3}, "target"),
        ({"target": "llvm -mcpu=foo"}, "unknown cpu 'foo'"),
        ({"target": "llvm -mcpu"}, "mcpu"),
        ({"target": "llvm -num-cores=-1"}, "num-cores"),
        ({"pipeline": "default-cqu"}, "did you mean 'default-cpu'"),
        ({"pipeline": ["fuse-opps"]}, "did you mean 'fuse-ops'"),
        ({"pipeline": 3}, "not a pass"),
        ({"pipeline": [None]}, "not a pass"),
        ({"params": 3}, "not a mapping"),
        ({"params": {"y": np.zeros(3)}}, "unknown parameter of @main 'y'"),
        ({"params": {1: np.zeros(3)}}, "by its name or its handle"),
        ({"params": {"x": np.zeros((3, 4))}}, "wrong dtype"),
        ({"params": {"x": np.zeros((3, 5), np.float32)}}, "wrong extent"),
        ({"params": {"x": "text"}}, "unknown data type"),
        ({"exec_mode": "interpreted"}, "exec_mode"),
        ({"opt_level": 9}, "optimisation level 9"),
        ({"opt_level": "x"}, "optimisation level x"),
        ({"opt_level": -1}, "optimisation level -1"),
    ],
    ids=str,
)
def test_options(compiled, options, text):
    with pytest.raises(TiraxError) as caught:
        compiled(INC, **options)
    assert text in str(caught.value)


def _main(body: str, params: str = "%x: !T", result: str = "!T") -> str:
    return f"relax.func @main({params}) -> {result} {{ {body} relax.return %a : {result} }}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_main("%a = relax.call_tir @nosuch(%x) : !T"), "@nosuch, which is not in the module"),
        (_main("%a = relax.call_tir @main(%x) : !T"), "expected: a tir.func"),
        (_main("%a = relax.call_tir @inc(%x, %x) : !T"), "wrong number of arguments"),
        (_main("%a = relax.call_tir @inc(%x) tir_vars [n] : !T"), "wrong number of arguments"),
        (_main("%a = relax.call_tir @inc(%x) : tuple<!T, !T>", result="tuple<!T, !T>"), "wrong number of arguments"),
        (_main("%a = relax.call_tir_inplace @inc(%x) inplace [0] : !T"), "wrong number of arguments"),
        (_main("%a = relax.call_tir_inplace @double(%x) inplace [7] : !T"), "inplace index 7"),
        (_main('%a = relax.call_dps_packed "inc"(%x, %x) : !T'), "takes 2 arguments"),
        (_main("%a = relax.call @nosuch(%x) : !T"), "nosuch"),
        (_main("%a = relax.call @inc(%x) : !T"), "inc"),
        (_main('%a = relax.call_dps_packed "f"() : !T', "%x: !relax.tensor<[3, 4], f32>"), "'n' has no value"),
        (_main('%a = relax.call_dps_packed "f"() : !T', "%x: !relax.tensor<[n + 1, 4], f32>"), "'n' has no value"),
        (_main("%a = relax.call_tir @inc(%x) : !T", "%x: !relax.tensor<ndim = 2>"), "match_cast"),
        (_main("%a = relax.call_tir @inc(%x) : !T", "%x: !relax.object, %y: !T"), "is a tensor"),
        (
            _main(
                "%c = relax.constant <f32 [1, 4] 1.0> %a = relax.call_tir_inplace @double(%c) inplace [0] : "
                "!relax.tensor<[1, 4], f32>",
                "",
                "!relax.tensor<[1, 4], f32>",
            ),
            "constant",
        ),
        (_main("%a = relax.nosuch %x : !T"), "relax.nosuch"),
    ],
)
def test_modules(compiled, text, message):
    with pytest.raises(TiraxError) as caught:
        compiled(text)
    assert message in str(caught.value)


def test_names_of_every_kind(compiled):
    """No name clashes with what C, LLVM or the runtime call something."""
    for name in ("a b", "é", "entry_main", "tirax_table", "tirax_abi", "malloc", "memset", "PyErr_Clear", "_start", ""):
        text = INC.replace("@main", f'@"{name}"').replace("@inc", f'@"{name}k"')
        kernel = f"""
        tir.func @"{name}k"(%A: !tir.buffer<[n, 4], f32>, %B: !tir.buffer<[n, 4], f32>) {{
          tir.for %i = 0 for n {{ tir.for %j = 0 for 4 {{
            %a = tir.load %A[%i, %j] : f32
            tir.store %a, %B[%i, %j]
          }} }}
        }}"""
        ex = compiled(kernel + text)
        x, y = np.ones((2, 4), np.float32), np.zeros((2, 4), np.float32)
        np.testing.assert_array_equal(ex[name](x), x)
        ex[f"{name}k"](x, y)
        np.testing.assert_array_equal(y, x)


def test_the_module_stays_as_it_is(module):
    mod = module(INC)
    before = str(mod)
    build(mod)
    with pytest.raises(TiraxError):
        build(mod, params={"x": np.zeros(3)})
    assert str(mod) == before
