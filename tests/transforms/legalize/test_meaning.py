"""Every operator means the same before and after legalization, at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, f32, i1, i64

from tirax.dialects import relax, tir
from tirax.dialects.relax.operator import Operator
from tirax.dialects.sym.expr import Var
from tirax.interpreter import first_disagreement, interpret, random_inputs
from tirax.ir.verification.verify import verify_module
from tirax.transforms.legalize import LegalizeOps

Leaf = Callable[[], Any]


def shape(*dims: Any) -> Leaf:
    return lambda: relax.ShapeOp(dims)


def number(value: float) -> Leaf:
    return lambda: relax.PrimValueOp(FloatAttr(value, f32))


def constant(value: Any, dtype: Any = f32) -> Leaf:
    return lambda: relax.ConstantOp.of(value, dtype)


A, B = "[n, 4] f32", "[4] f32"
FLOAT_UNARY = (
    "abs acos asin asinh atan atanh ceil cos cosh erf exp floor negative round sigmoid sign sin sinh sqrt "
    "square tan tanh trunc isfinite isinf isnan nn.relu nn.gelu nn.gelu_tanh nn.selu nn.silu nn.leakyrelu nn.softplus"
)
FLOAT_BINARY = (
    "add subtract multiply divide floor_divide mod floor_mod maximum minimum equal not_equal greater greater_equal "
    "less less_equal"
)
REDUCTIONS = "sum prod max min mean std variance"
CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    *((n, [A], {}) for n in FLOAT_UNARY.split()),
    *((n, ["[3, n] f16"], {}) for n in ["exp", "nn.gelu", "abs", "sqrt", "nn.relu"]),
    *((n, ["[3] f64"], {}) for n in ["exp", "acosh", "log", "rsqrt", "nn.silu"]),
    *((n, ["[n, 3] i32"], {}) for n in ["abs", "bitwise_not", "negative", "sign", "square", "nn.relu", "ceil"]),
    ("logical_not", ["[n, 3] i1"], {}),
    *((n, [A, B], {}) for n in FLOAT_BINARY.split()),
    *((n, ["[3, 1] f64", "[n] f64"], {}) for n in FLOAT_BINARY.split()[:6]),
    *((n, ["[n, 3] i32", "[1, 3] i32"], {}) for n in ["add", "subtract", "multiply", "maximum", "minimum", "less"]),
    *(
        (n, ["[n] i32", "[n] i32"], {})
        for n in ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"]
    ),
    *((n, ["[n] i1", "[n] i1"], {}) for n in ["logical_and", "logical_or", "logical_xor"]),
    *((n, ["[n] i64", constant(2, i64)], {}) for n in ["divide", "floor_divide", "mod", "floor_mod"]),
    ("power", ["[n] f32", constant(2.0)], {}),
    ("add", [constant(1.5), A], {}),
    ("add", [A, constant([1.0, 2.0, 3.0, 4.0])], {}),
    ("add", [A, "[] f32"], {}),
    ("clip", [A, number(-0.25), number(0.5)], {}),
    ("nn.leakyrelu", [A], {"alpha": 0.2}),
    ("nn.softplus", [A], {"beta": 2.0, "threshold": 1.0}),
    ("astype", [A], {"dtype": "int32"}),
    ("astype", ["[n] i32"], {"dtype": "float16"}),
    ("astype", [A], {"dtype": "float32"}),
    ("where", ["[n, 1] i1", A, B], {}),
    *((n, ["[n, 4, 5] f32"], {"axis": [1, 2]}) for n in REDUCTIONS.split()),
    *((n, ["[3, n, 2] f32"], {"axis": [-1], "keepdims": True}) for n in REDUCTIONS.split()),
    *((n, ["[3, 2] f64"], {}) for n in REDUCTIONS.split()),
    *((n, ["[3, n] i32"], {"axis": [0]}) for n in ["sum", "prod", "max", "min"]),
    *((n, ["[n, 4, 5] f32"], {"axis": 1}) for n in ("argmax", "argmin")),
    *((n, ["[3, n, 4] i32"], {"axis": -1, "keepdims": True}) for n in ("argmax", "argmin")),
    *((n, ["[3, 4] f32"], {}) for n in ("argmax", "argmin")),
    *((n, ["[n, 4, 5] f32"], {"axis": a}) for n in ("nn.softmax", "nn.log_softmax") for a in (-1, 1)),
    ("nn.layer_norm", ["[n, 4, 5] f32", "[4, 5] f32", "[4, 5] f32"], {"axes": [-2, -1]}),
    ("nn.layer_norm", ["[n, 4] f16", "[4] f16", "[4] f16"], {"axes": [-1]}),
    ("nn.layer_norm", [A, B, B], {"axes": [1], "center": False}),
    ("nn.layer_norm", [A, B, B], {"axes": [1], "scale": False, "epsilon": 0.5}),
    ("permute_dims", ["[n, 4, 5] f32"], {}),
    ("permute_dims", ["[n, 4, 5] f32"], {"axes": [0, 2, 1]}),
    ("reshape", ["[n, 4, 5] f32", shape("n", 20)], {}),
    ("reshape", ["[6, 4] f32", shape(3, 4, 2)], {}),
    ("reshape", ["[2, 6, 3] f32", shape(4, 1, 9)], {}),
    ("reshape", ["[n, 1, 4, 1] f32", shape(1, "n", 2, 2)], {}),
    ("reshape", ["[] f32", shape(1, 1)], {}),
    ("reshape", ["[1, 1] f32", shape()], {}),
    ("flatten", ["[n, 4, 5] f32"], {}),
    ("broadcast_to", ["[n, 1] f32", shape(3, "n", Var("n") + 2)], {}),
    ("expand_dims", [A], {"axis": [0, 2]}),
    ("expand_dims", [A], {"axis": 0}),
    ("squeeze", ["[n, 1, 4, 1] f32"], {"axis": [1]}),
    ("squeeze", ["[3, 1, 4, 1] f32"], {}),
    ("concat", [["[n, 4] f32", "[m, 4] f32", "[n, 4] f32"]], {"axis": 0}),
    ("concat", [["[n, 4] i32", "[n, 3] i32"]], {"axis": -1}),
    ("concat", [["[n] f32"]], {}),
    ("split", ["[n, 12] f32"], {"indices_or_sections": 3, "axis": 1}),
    ("split", ["[n, 10] f32"], {"indices_or_sections": [3, 7], "axis": -1}),
    ("split", ["[n, 10] f32"], {"indices_or_sections": 4, "axis": 1}),
    ("split", ["[6] f32"], {"indices_or_sections": 1}),
    ("take", ["[4, n] f32", "[m] i64"], {"axis": 0}),
    ("take", ["[n, 4] f32", "[2, 3] i32"], {"axis": 1, "mode": "clip"}),
    ("take", ["[n, 4] f32", lambda: relax.PrimValueOp(2)], {"axis": 1}),
    ("take", ["[4] f32", "[n] i32"], {}),
    ("zeros", [shape(2, 3)], {"dtype": "float32"}),
    ("ones", [shape(2, 3)], {"dtype": "int8"}),
    ("full", [shape(2, 3), constant(2.5)], {"dtype": "float16"}),
    ("full", [shape(2, 3), "[] f32"], {}),
    ("full", [shape(3), "[] f32"], {"dtype": "int32"}),
    ("zeros_like", [A], {}),
    ("ones_like", [A], {"dtype": "bool"}),
    ("matmul", ["[n, 4] f32", "[4, m] f32"], {}),
    ("matmul", ["[2, n, 4] f32", "[4, m] f32"], {}),
    ("matmul", ["[2, 1, n, 4] f32", "[3, 4, 2] f32"], {}),
    ("matmul", ["[4] f32", "[4, n] f32"], {}),
    ("matmul", ["[2, n, 4] f32", "[4] f32"], {}),
    ("matmul", ["[4] f64", "[4] f64"], {}),
    ("matmul", ["[n, 4] f16", "[4, 5] f16"], {"out_dtype": "float32"}),
    ("matmul", ["[n, 4] i8", "[4, 5] i8"], {"out_dtype": "int32"}),
    ("nn.attention", ["[2, n, 4, 8] f32", "[2, m, 4, 8] f32", "[2, m, 4, 6] f32"], {}),
    ("nn.attention", ["[2, 3, 2, 4] f32", "[2, 5, 2, 4] f32", "[2, 5, 2, 4] f32", "[2, 2, 3, 5] f32"], {"scale": 0.3}),
    ("nn.attention", ["[1, 3, 2, 4] f32", "[1, 5, 2, 4] f32", "[1, 5, 2, 4] f32"], {"causal_mask": "TopLeft"}),
    ("nn.attention", ["[1, 3, 2, 4] f32", "[1, 5, 2, 4] f32", "[1, 5, 2, 4] f32"], {"causal_mask": "BottomRight"}),
    ("nn.attention", ["[1, n, 2, 4] f32", "[1, m, 2, 4] f32", "[1, m, 2, 4] f32"], {"causal_mask": "BottomRight"}),
    ("nn.dropout", [A], {}),
]
POSITIVE = {"log", "rsqrt", "acosh", "divide", "floor_divide", "mod", "floor_mod", "sqrt", "power"}


def _label(case: tuple[str, list[Any], dict[str, Any]]) -> str:
    return case[0] + "-" + "-".join(str(a) if isinstance(a, str) else "leaf" for a in case[1])


def _built(args: list[Any]) -> list[Any]:
    return [a if isinstance(a, str | list) else a() for a in args]


def _inputs(name: str) -> Callable[[Any, Mapping[str, int], int], list[Any]]:
    def make(func: Any, sizes: Mapping[str, int], seed: int) -> list[Any]:
        values = random_inputs(func, sizes, seed)
        if name not in POSITIVE:
            return values
        return [(np.abs(v) + 1).astype(v.dtype) if isinstance(v, np.ndarray) else v for v in values]

    return make


@pytest.mark.parametrize("case", CASES, ids=map(_label, CASES))
def test_same_meaning(case: tuple[str, list[Any], dict[str, Any]], one_operator: Callable[..., Any]) -> None:
    name, args, attrs = case
    module = one_operator(f"relax.{name}", _built(args), **attrs)
    verify_module(module)
    legal = LegalizeOps()(module)
    assert not any(isinstance(op, Operator) for op in legal.walk())
    assert any(isinstance(op, tir.FuncOp) for op in legal.walk())
    sizes = (2, 5, 1) if _needs_points(name) else (2, 5, 1, 0)
    found = first_disagreement(module, legal, inputs=_inputs(name), sizes=sizes)
    assert found is None, str(found)


def _needs_points(name: str) -> bool:
    """Operators without a value on no elements."""
    return name in ("max", "min", "argmax", "argmin", "take")


@pytest.mark.parametrize(
    ("mode", "expected"), [("wrap", [1, 5, 2, 5]), ("nan", [1, 5, np.nan, np.nan]), ("clip", [1, 5, 5, 1])]
)
def test_take_outside(mode: str, expected: list[float], one_operator: Callable[..., Any]) -> None:
    legal = LegalizeOps()(one_operator("relax.take", ["[3] f32", "[4] i32"], axis=0, mode=mode))
    x, indices = np.array([1, 2, 5], np.float32), np.array([0, 2, 4, -1], np.int32)
    np.testing.assert_array_equal(interpret(legal, "main", [x, indices]), np.array(expected, np.float32))


def test_bool_result(one_operator: Callable[..., Any]) -> None:
    legal = LegalizeOps()(one_operator("relax.isnan", ["[n] f32"]))
    (func,) = (op for op in legal.walk() if isinstance(op, tir.FuncOp))
    assert [p.type.dtype for p in func.buffer_params if isinstance(p.type, tir.BufferType)] == [f32, i1]
