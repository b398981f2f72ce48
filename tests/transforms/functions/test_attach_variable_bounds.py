"""Bounds of symbolic variables: who is told, who checks, and what they simplify."""

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.ir.functions.bounds import variable_bounds
from tirax.runtime.errors import ShapeError
from tirax.runtime.executable import load_module
from tirax.transforms.functions.attach_variable_bounds import AttachVariableBounds
from tirax.tvm_api.passes.tir.simplify import Simplify
from tirax.tvm_api.script import from_source

SMALL = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def small(x: T.handle, y: T.handle):
        k = T.int64()
        X = T.match_buffer(x, (k,))
        Y = T.match_buffer(y, (k,))
        for i in range(k):
            with T.block("y"):
                v = T.axis.spatial(k, i)
                Y[v] = T.if_then_else(k <= T.int64(8), X[v], T.float32(0))
"""
CALLER = """
    @R.function
    def {name}(x: R.Tensor(("{n}",), "float32")) -> R.Tensor(("{n}",), "float32"):
        R.func_attr({attrs})
        {n} = T.int64()
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.small, (x,), out_sinfo=R.Tensor(({n},), "float32"))
            R.output(y)
        return y
"""
BOUNDS = "{'tir_var_lower_bound': {'n': 3}, 'tir_var_upper_bound': {'n': 8}}"


def module(attrs=BOUNDS, other=None):
    """A module of `small` and its callers: `main` of n, and where `other` are its attributes `other` of m."""
    text = SMALL + CALLER.format(name="main", n="n", attrs=attrs)
    return from_source(text if other is None else text + CALLER.format(name="other", n="m", attrs=other))


def bounds(mod, name="small"):
    return {v: (b.low, b.high) for v, b in variable_bounds(mod[name].op).items()}


def test_callees_get_them():
    assert bounds(AttachVariableBounds()(module())) == {"k": (3, 8)}


@pytest.mark.parametrize(
    "other, known",
    [
        ("{'tir_var_upper_bound': {'m': 20}}", {"k": (0, 20)}),
        ("{'tir_var_lower_bound': {'m': 5}, 'tir_var_upper_bound': {'m': 6}}", {"k": (3, 8)}),
        ("{'x': 1}", {}),
    ],
)
def test_all_calls_count(other, known):
    assert bounds(AttachVariableBounds()(module(other=other))) == known


def test_what_a_private_function_says_of_itself_is_replaced():
    mod = module("{'x': 1}")
    mod["small"] = mod["small"].with_attr("tir_var_upper_bound", {"k": 1})
    assert bounds(AttachVariableBounds()(mod)) == {}


def test_conditions_are_decided_by_them():
    before = module()
    after = Simplify()(AttachVariableBounds()(before))
    assert "if_then_else" in before["small"].script() and "if_then_else" not in after["small"].script()
    assert "if_then_else" in Simplify()(before)["small"].script()


@pytest.mark.parametrize("attrs", [BOUNDS, "{'tir_var_upper_bound': {'n': 8}}", "{'tir_var_lower_bound': {'n': 3}}"])
def test_calls_are_checked(attrs, tmp_path):
    executable = build(module(attrs))
    executable.save(tmp_path / "bounded.tirax")
    for main in (executable["main"], load_module(tmp_path / "bounded.tirax")["main"]):
        for n in (0, 1, 2, 3, 8, 9):
            x = np.arange(n, dtype=np.float32)
            if (n < 3 and "lower" in attrs) or (n > 8 and "upper" in attrs):
                with pytest.raises(ShapeError, match="the size 'n' of 'main': out of its bounds"):
                    main(x)
            else:
                np.testing.assert_array_equal(main(x).numpy(), x if n <= 8 else 0 * x)


def test_malformed_bounds():
    with pytest.raises(TiraxError, match="tir_var_lower_bound of 'main' is malformed"):
        build(module("{'tir_var_lower_bound': {'n': -1}}"))
