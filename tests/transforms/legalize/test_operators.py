"""Operators that move, index, scan, convolve, pool, normalise and quantize.

Every row is built, written and read as text, legalized, run on the interpreter and as machine code.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from strength import only_full, some, thinned
from xdsl.ir import Block

from tirax.dev.fuzz import checks
from tirax.dev.fuzz.operator_cases import CASES, FURTHER, Case, built, number, prim, shape
from tirax.diagnostics import TiraxError
from tirax.dialects import relax, tir
from tirax.dialects.relax.operator import OPERATORS, Operator
from tirax.dialects.sym.expr import Var
from tirax.driver.build import build
from tirax.interpreter import first_disagreement, interpret
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_source, print_script
from tirax.transforms.legalize import LegalizeOps
from tirax.transforms.legalize.legalize_rules import BUILDERS, RULES

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


A = "[n, 4] f32"
n = Var("n")
UNWRITTEN_AT_ZERO = {"nn.cross_entropy_with_logits", "nn.nll_loss", "nn.adaptive_avg_pool2d"}
"""A reduction over no elements leaves its result unwritten, where the loops are read literally."""


def _label(case: Case) -> str:
    types = [a for arg in case[1] for a in (arg if isinstance(arg, list) else [arg]) if isinstance(a, str)]
    return "-".join([case[0], *types])


def _sizes(name: str) -> tuple[int, ...]:
    return (2, 5, 1) if name in UNWRITTEN_AT_ZERO else (2, 5, 1, 0)


@pytest.fixture
def case(request: pytest.FixtureRequest, one_operator: Callable[..., Any]) -> tuple[str, Any]:
    name, args, attrs = request.param
    module = one_operator(f"relax.{name}", [built(a) for a in args], **attrs)
    verify_module(module)
    return name, module


@thinned("case", FURTHER, lambda case: case[0], label=_label, indirect=True)
def test_same_meaning(case: tuple[str, Any]) -> None:
    name, module = case
    legal = LegalizeOps()(module)
    assert not any(isinstance(op, Operator) for op in legal.walk())
    assert any(isinstance(op, tir.FuncOp) for op in legal.walk())
    difference = first_disagreement(module, legal, sizes=_sizes(name))
    assert difference is None, str(difference)


@thinned("case", FURTHER, 20, label=_label, indirect=True)
def test_texts(case: tuple[str, Any]) -> None:
    checks.texts(case[1])
    checks.texts(LegalizeOps()(case[1]))


@thinned("case", FURTHER, 12, label=_label, indirect=True)
def test_native(case: tuple[str, Any]) -> None:
    name, module = case
    checks.native(module, sizes=_sizes(name))


def test_every_operator_has_a_rule_and_a_case() -> None:
    ours = {name: cls.__module__ for name, cls in OPERATORS.items() if cls.__module__.startswith("tirax.")}
    core = {name for name, module in ours.items() if not module.startswith("tirax.tvm_api.")}  # which has own rules
    core -= set(BUILDERS)  # test_base.py is about these
    # these allocate and free, or are loops: the host lowering takes them
    memory = re.compile(r"relax\.((builtin|memory|vm)\.(alloc|kill)_\w+|while_loop)")
    core = {name for name in core if not memory.fullmatch(name)}
    assert core - set(RULES) == set()
    core = {name for name in core if not name.startswith("relax.grad.")}  # tests/transforms/training has these
    core -= {"relax.nn.attention_var_len"}  # test_attention.py is about it
    assert core - {f"relax.{name}" for name in CASES} == set()


GOLDEN: list[Case] = [
    ("strided_slice", ["[n, 6] f32", [prim(0), prim(1)], [prim(1), prim(0)], [prim(4), prim(-1)]], {}),
    ("arange", [prim(1), prim(10), prim(2)], {}),
    ("tril", ["[2, 3, 4] f32", prim(1)], {}),
    ("tile", ["[n, 3] f32"], {"repeats": [2, 1, 3]}),
    ("flip", ["[2, 3] f32"], {"axis": 1}),
    ("stack", [["[2, 3] f32", "[2, 3] f32"]], {"axis": 1}),
    ("nn.pad", ["[2, 3] f32"], {"pad_width": [0, 0, 1, 2]}),
    ("nn.conv2d", ["[2, 3, 8, 8] f32", "[4, 3, 3, 3] f32"], {"padding": 1}),
    ("nn.max_pool2d", ["[2, 3, 8, 8] f32"], {"pool_size": 2, "strides": 2, "padding": 1}),
    ("nn.rms_norm", ["[2, 4] f16", "[4] f16"], {}),
    ("cumsum", ["[n, 9] f32"], {"axis": 1}),
    ("one_hot", ["[4] i64", number(1.0), number(0.0)], {"depth": 5}),
    ("scatter_nd", ["[4, 4] f32", "[2, 1] i64", "[2, 4] f32"], {"reduction": "add"}),
    ("argsort", ["[n, 9] f32"], {}),
    ("einsum", [["[8, 9] f32", "[9, 3] f32"]], {"subscripts": "ij,jk->ik"}),
    ("quantize", ["[2, 4] f32", "[2] f32", "[2] i8"], {"axis": 0}),
]


@pytest.mark.parametrize("case", GOLDEN, ids=[c[0] for c in GOLDEN], indirect=True)
def test_printed(case: tuple[str, Any], golden: Callable[[str, str], None]) -> None:
    name, module = case
    text = print_script(module) + "\n\n" + print_script(LegalizeOps()(module))
    golden(f"transforms/legalize_{name.rpartition('.')[2]}.txt", text)


INFERENCE: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("strided_slice", ["[n, m]", [prim(0)], [prim(1)], [prim(n)]], {}, "[n - min(1, n), m]"),
    ("strided_slice", ["ndim = 2", [prim(0)], [prim(1)], [prim(3)]], {}, "ndim = 2"),
    ("arange", [prim(0), prim(n), prim(1)], {}, "[n]"),
    ("repeat", ["[n, m]"], {"repeats": 2}, "[n * m * 2]"),
    ("repeat", ["ndim = 3"], {"repeats": 2, "axis": 1}, "ndim = 3"),
    ("tile", ["[n]"], {"repeats": [2, 3]}, "[2, n * 3]"),
    ("stack", [["[n]", "ndim = 1"]], {}, "ndim = 2"),
    ("gather_elements", ["*", "[n, 2] i64"], {}, "*"),
    ("gather_nd", ["[n, m]", "ndim = 2 i64"], {}, "*"),
    ("index_tensor", ["ndim = 3", ["[2] i64"]], {}, "ndim = 3"),
    ("one_hot", ["ndim = 1 i64", number(1.0), number(0.0)], {"depth": 3}, "ndim = 2"),
    ("cumsum", ["[n, m]"], {}, "[n * m]"),
    ("cumsum", ["*"], {"axis": 1}, "*"),
    ("sort", ["ndim = 2"], {}, "ndim = 2"),
    ("einsum", [["[n, 4]", "[4, m]"]], {"subscripts": "ij,jk"}, "[n, m]"),
    ("einsum", [["[n, 1]", "[4, m]"]], {"subscripts": "ij,jk->ijk"}, "[n, 4, m]"),
    ("einsum", [["ndim = 2", "[4, m]"]], {"subscripts": "ij,jk->i"}, "ndim = 1"),
    ("einsum", [["*", "[4, m]"]], {"subscripts": "ij,jk->i"}, "*"),
    ("outer", ["[n]", "*"], {}, "ndim = 2"),
    ("nn.pad", ["[n]"], {"pad_width": [1, 2]}, "[n + 3]"),
    ("nn.conv2d", ["[n, 3, h, w]", "[8, 3, 3, 3]"], {"padding": 1}, "[n, 8, h, w]"),
    (
        "nn.conv2d",
        ["[n, 3, h, w]", "[8, 3, 3, 3]"],
        {"strides": 2},
        "[n, 8, (h - 3) floordiv 2 + 1, (w - 3) floordiv 2 + 1]",
    ),
    ("nn.conv2d", ["*", "[8, 3, 3, 3]"], {}, "ndim = 4"),
    ("nn.conv1d_transpose", ["[n, 3, w]", "[3, 4, 3]"], {"strides": 2}, "[n, 4, w * 2 + 1]"),
    ("nn.max_pool2d", ["[n, c, h, 8]"], {"pool_size": 2, "strides": 2}, "[n, c, h floordiv 2, 4]"),
    ("nn.max_pool2d", ["ndim = 4"], {}, "ndim = 4"),
    ("nn.adaptive_avg_pool2d", ["[n, c, h, 8]"], {"output_size": 1}, "[n, c, 1, 1]"),
    ("nn.group_norm", ["*", "[4]", "[4]"], {"num_groups": 2, "axes": [2]}, "*"),
    ("nn.rms_norm", ["ndim = 2", "[4]"], {}, "ndim = 2"),
    ("nn.rms_norm", ["[n, 4]", "[n]"], {"axes": 0}, "[n, 4]"),
    ("nn.nll_loss", ["[n, 5, m]", "[n, m] i64"], {"reduction": "none"}, "[n, m]"),
    ("nn.nll_loss", ["*", "* i64"], {}, "[]"),
]


def _typed(arg: Any) -> Any:
    if isinstance(arg, list):
        return [_typed(a) for a in arg]
    return f"{arg} f32" if isinstance(arg, str) and not arg.endswith(" i64") else arg


@pytest.mark.parametrize(("name", "args", "attrs", "expected"), INFERENCE)
def test_inferred_shape(
    name: str, args: list[Any], attrs: dict[str, Any], expected: str, one_operator: Callable[..., Any]
) -> None:
    module = one_operator(f"relax.{name}", [built(_typed(a)) for a in args], **attrs)
    checks.texts(module)
    (op,) = (op for op in module.walk() if isinstance(op, Operator))
    assert str(op.result_type).rpartition(",")[0] == f"!relax.tensor<{expected}"


@pytest.mark.parametrize("name", ["nn.relu", "cumsum", "sort", "flip"])
def test_unknown_dtype(name: str) -> None:
    operand = relax.TensorType.of([3, "n"])
    cls = OPERATORS[f"relax.{name}"]
    result = cls.make(Block(arg_types=[operand]).args[0], **({"axis": 0} if "axis" in cls.ATTR_SPECS else {}))
    assert result.result_type == operand


ERRORS: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("arange", [prim(1), prim(3), prim(0)], {}, r"relax\.arange: argument step must not be zero"),
    ("arange", ["[n] f32", prim(1), prim(1)], {}, r"relax\.arange: argument start must be a scalar"),
    ("eye", [number(2.0), prim(1), prim(0)], {}, r"relax\.eye: argument n must be an integer"),
    ("eye_like", ["[n] f32", prim(0)], {}, r"relax\.eye_like: argument x must be a matrix"),
    ("tril", ["[n] f32", prim(0)], {}, r"relax\.tril: argument x must have two dimensions"),
    ("full_like", ["[n] f32", "[2] f32"], {}, r"relax\.full_like: argument fill_value must be a scalar"),
    ("hamming_window", [prim(0), prim(1), number(0.5), number(0.5)], {}, "argument window_size must be positive"),
    ("repeat", ["[n] f32"], {"repeats": 0}, r"relax\.repeat: attribute repeats must be positive"),
    ("repeat", ["[n] f32"], {"repeats": 2, "axis": 1}, r"relax\.repeat: attribute axis is out of range"),
    ("tile", ["[n] f32"], {"repeats": [-1]}, r"relax\.tile: attribute repeats must not be negative"),
    ("flip", ["[n] f32"], {"axis": 1}, r"relax\.flip: attribute axis is out of range"),
    ("stack", [["[2] f32", "[3] f32"]], {}, r"relax\.stack: tensors\[1\] has another extent in dimension 0"),
    ("stack", [["[2] f32", "[2] i32"]], {}, r"relax\.stack: all of tensors must have one dtype"),
    ("meshgrid", [["[2] f32", "[2, 2] f32"]], {}, r"relax\.meshgrid: tensors\[1\] must be a vector"),
    ("meshgrid", [["[2] f32"]], {"indexing": "ji"}, r"relax\.meshgrid: attribute indexing is unknown"),
    ("collapse_sum_to", ["[2, 3] f32", shape(2)], {}, r"relax\.collapse_sum_to: the target is not known to broadcast"),
    ("strided_slice", ["[4] f32", [prim(1)], [prim(0)], [prim(2)]], {}, r"relax\.strided_slice: attribute axes is out"),
    ("strided_slice", ["[4] f32", [prim(0)], [prim(0), prim(1)], [prim(2)]], {}, "must be equally many"),
    ("strided_slice", ["[4] f32", [prim(0)], [prim(0)], [prim(2)], [prim(0)]], {}, "strides must not contain zero"),
    ("gather_elements", ["[4] f32", "[4] f32"], {}, r"relax\.gather_elements: argument indices must be of an integer"),
    ("gather_elements", ["[4] f32", "[4, 1] i64"], {}, "argument indices must have the rank of data"),
    ("gather_nd", ["[4] f32", "[4, 2] i64"], {}, r"relax\.gather_nd: the last dimension of indices is too great"),
    ("index_tensor", ["[4] f32", ["[2] i64", "[2] i64"]], {}, "more indices than dimensions of data"),
    (
        "one_hot",
        ["[4] i64", number(1.0), prim(0)],
        {"depth": 2},
        r"one_hot: on_value and off_value must have one",
    ),
    (
        "slice_scatter",
        ["[4] f32", "[2] f32", prim(0), prim(3), prim(1)],
        {},
        "argument src has another extent in dimension 0",
    ),
    ("scatter_elements", ["[4] f32", "[2] i64", "[3] f32"], {}, "argument updates has the wrong extent in dimension 0"),
    ("scatter_elements", ["[4] f32", "[2] i64", "[2] f32"], {"reduction": "sub"}, "attribute reduction is unknown"),
    ("scatter_elements", ["[4] i1", "[2] i64", "[2] i1"], {"reduction": "add"}, "must be of a numeric type to"),
    ("scatter_nd", ["[4] f32", "[2, 2] i64", "[2] f32"], {}, "the last dimension of indices is too great"),
    ("index_put", ["[4] f32", ["[2] i64"], "[2] i32"], {}, r"relax\.index_put: argument values must have the dtype"),
    ("cumsum", ["[4] f32"], {"axis": 1}, r"relax\.cumsum: attribute axis is out of range"),
    ("topk", ["[4] f32"], {"k": 5}, r"relax\.topk: attribute k is greater than the dimension"),
    ("topk", ["[4] f32"], {"ret_type": "all"}, r"relax\.topk: attribute ret_type is unknown"),
    ("bucketize", ["[4] f32", "[2, 2] f32"], {}, r"relax\.bucketize: argument boundaries must be a vector"),
    ("multinomial_from_uniform", ["[3] f32", "[2, 1] f32", "[2, 1] i64"], {}, "argument prob must have 2 dimensions"),
    ("outer", ["[2, 2] f32", "[2] f32"], {}, r"relax\.outer: argument x1 must be a vector"),
    ("ewise_fma", ["[2] f32", "[3] f32", "[2] f32"], {}, "argument x2 has another extent than x1 in dimension 0"),
    ("einsum", [["[2] f32"]], {"subscripts": "ij->i"}, r"relax\.einsum: subscripts gives 2 letters"),
    ("einsum", [["[2] f32", "[3] f32"]], {"subscripts": "i,i->"}, "the letter i of subscripts has two extents"),
    ("einsum", [["[2] f32"]], {"subscripts": "i->j"}, "attribute subscripts has a wrong result"),
    ("quantize", ["[2] i8", "[] f32", "[] i8"], {}, r"relax\.quantize: argument data must be of a floating point"),
    ("dequantize", ["[2] i8", "[3] f32", "[] i8"], {}, "argument scale has another extent than axis 0"),
    ("dequantize_blocks", ["[2, 18] i8"], {"format": "q4_0"}, r"argument packed must be of bytes"),
    ("dequantize_blocks", ["[2, 20] ui8"], {"format": "q4_0"}, r"a row of packed is no whole blocks of q4_0"),
    ("dequantize_blocks", ["[2, 18] ui8"], {"format": "q4_2"}, r"unknown block format 'q4_2'"),
    ("dequantize_blocks", ["[18] ui8"], {"format": "q4_0", "interleaved": 4}, r"argument packed holds rows"),
    ("dequantize_blocks", ["[2, 18] ui8"], {"format": "q4_0", "interleaved": 0}, r"interleaved is a number of rows"),
    ("dequantize_blocks", ["[2, 18] ui8"], {"format": "q4_0", "out_dtype": "int8"}, r"out_dtype must be a floating"),
    ("take_blocks", ["[2, 18] ui8", "[2] f32"], {"format": "q4_0"}, r"argument indices must be of an integer type"),
    ("take_blocks", ["[2, 2, 18] ui8", "[2] i64"], {"format": "q4_0"}, r"argument packed is of another rank"),
    ("matmul_blocks", ["[2, 64] f32", "[4, 18] ui8"], {"format": "q4_0"}, "the last dimension of x must agree with"),
    ("matmul_blocks", ["[2, 32] i32", "[4, 18] ui8"], {"format": "q4_0"}, "argument x must be of a floating point"),
    ("matmul_blocks", ["[2, 32] f32", "[18] ui8"], {"format": "q4_0"}, "argument packed is of another rank"),
    (
        "matmul_blocks",
        ["[2, 32] f32", "[4, 18] ui8"],
        {"format": "q4_0", "activation": "int4"},
        "attribute activation is unknown",
    ),
    ("nn.pad", ["[2, 3] f32"], {"pad_width": [1, 1]}, r"relax\.nn\.pad: attribute pad_width must have two elements"),
    ("nn.pad", ["* f32"], {"pad_width": [1, 2]}, "attribute pad_width must have two elements for each dimension"),
    ("nn.pad", ["[2] f32"], {"pad_width": [1, 1], "pad_mode": "wrap"}, "attribute pad_mode is unknown"),
    ("nn.pixel_shuffle", ["[1, 6, 2, 2] f32"], {"upscale_factor": 2}, "no multiple of upscale_factor squared"),
    ("nn.prelu", ["[2, 3] f32", "[2] f32"], {}, r"relax\.nn\.prelu: argument alpha has another extent"),
    ("nn.batch_norm", ["[2, 3] f32", *["[3] f32"] * 3, "[2] f32"], {}, "argument moving_var has another extent"),
    ("nn.instance_norm", ["[2, 3] f32", "[3] f32", "[3] f32"], {"axes": [1]}, "must not contain channel_axis"),
    ("nn.group_norm", ["[2, 3, 4] f32", "[3] f32", "[3] f32"], {"num_groups": 2, "axes": [2]}, "does not divide"),
    ("nn.rms_norm", ["[2, 3] f32", "[4] f32"], {}, r"relax\.nn\.rms_norm: weight has another extent"),
    ("nn.nll_loss", ["[2, 3] f32", "[2] f32"], {}, r"relax\.nn\.nll_loss: argument targets must be of an integer"),
    ("nn.nll_loss", ["[2, 3] f32", "[2] i64", "[2] f32"], {}, "argument weights must have an element for each class"),
    ("nn.cross_entropy_with_logits", ["[2] f32", "[3] f32"], {}, "argument labels has another extent in dimension 0"),
    ("nn.conv2d", ["[2, 3, 8, 8] f32", "[4, 2, 3, 3] f32"], {}, "weight has another number of input channels"),
    ("nn.conv2d", ["[2, 3, 8] f32", "[4, 3, 3, 3] f32"], {}, r"relax\.nn\.conv2d: argument data must have 4 dim"),
    ("nn.conv2d", ["[2, 3, 8, 8] f32", "[4, 3, 3, 3] f32"], {"data_layout": "NCHZ"}, "attribute data_layout is no"),
    ("nn.conv2d", ["[2, 3, 8, 8] f32", "[4, 3, 3, 3] f32"], {"data_layout": "NCHW4c"}, "data must have 5 dim"),
    ("nn.conv2d", ["[2, 3, 2, 2] f32", "[4, 3, 3, 3] f32"], {}, "the kernel is greater than the padded data"),
    (
        "nn.conv2d",
        ["[2, 4, 4, 4] f32", "[3, 2, 3, 3] f32"],
        {"groups": 2},
        "groups does not divide the output channels",
    ),
    ("nn.conv1d", ["[2, 3, 8] f32", "[4, 3, 3] f32"], {"strides": [1, 1]}, "attribute strides must have 1 elements"),
    ("nn.conv1d_transpose", ["[2, 3, 8] f32", "[3, 4, 3] f32"], {"output_padding": 1}, "output_padding is too great"),
    ("nn.max_pool2d", ["[2, 3, 8] f32"], {}, r"relax\.nn\.max_pool2d: argument data must have 4 dimensions"),
    ("nn.avg_pool1d", ["[2, 3, 2] f32"], {"pool_size": 4}, "attribute pool_size is greater than the padded data"),
    ("image.resize2d", ["[1, 2, 5, 4] f32", shape(3)], {}, r"relax\.image\.resize2d: argument size must be height"),
    ("image.resize2d", ["[1, 2, 5, 4] f32", shape(3, 3)], {"method": "area"}, "attribute method is unknown"),
    ("nn.adaptive_avg_pool2d", ["[2, 3, 8, 8] f32"], {"output_size": [1, 2, 3]}, "attribute output_size must"),
]


@pytest.mark.parametrize(
    ("name", "args", "attrs", "message"), ERRORS, ids=[f"{e[0]}-{i}" for i, e in enumerate(ERRORS)]
)
def test_refused(
    name: str, args: list[Any], attrs: dict[str, Any], message: str, one_operator: Callable[..., Any]
) -> None:
    with pytest.raises(TiraxError, match=message):
        one_operator(f"relax.{name}", [built(a) for a in args], **attrs)


@pytest.mark.thinned
def test_slices_are_those_of_python(one_operator: Callable[..., Any]) -> None:
    x = np.arange(6, dtype=np.float32)
    ends = (-7, -6, -2, 0, 3, 6, 8)
    for begin in some(ends, 4):
        for end in some(ends, 4):
            for stride in (1, 2, -1, -3):
                bounds = [[prim(v)()] for v in (0, begin, end, stride)]
                module = one_operator("relax.strided_slice", ["[n] f32", *bounds])
                result = interpret(LegalizeOps()(module), "main", [x])
                np.testing.assert_array_equal(result, x[begin:end:stride], f"{begin}:{end}:{stride}")


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_puts_nan_last_and_is_stable(descending: bool, one_operator: Callable[..., Any]) -> None:
    x = np.array([2, np.nan, -1, 2, np.inf, -1, 0, np.nan, 2], np.float32)
    run = build(one_operator("relax.argsort", ["[n] f32"], descending=descending))["main"]
    expected = [1, 7, 4, 0, 3, 8, 6, 2, 5] if descending else [2, 5, 6, 0, 3, 8, 4, 1, 7]
    np.testing.assert_array_equal(np.asarray(run(x)), np.array(expected, np.int32))


def test_sorting_many(one_operator: Callable[..., Any]) -> None:
    run = build(one_operator("relax.sort", ["[m, n] f32"], axis=0))["main"]
    x = np.random.default_rng(0).random((1003, 5), np.float32)
    np.testing.assert_array_equal(np.asarray(run(x)), np.sort(x, axis=0))


def test_negative_positions_count_from_the_end(one_operator: Callable[..., Any]) -> None:
    module = one_operator("relax.scatter_elements", ["[4] f32", "[2] i64", "[2] f32"])
    args = [np.zeros(4, np.float32), np.array([-1, 1]), np.array([5, 6], np.float32)]
    expected = np.array([0, 6, 0, 5], np.float32)
    np.testing.assert_array_equal(interpret(module, "main", args), expected)
    np.testing.assert_array_equal(np.asarray(build(module)["main"](*args)), expected)


@pytest.mark.parametrize(
    "attrs",
    [{}, {"strides": 2, "padding": 1}, {"strides": [2, 1], "dilation": [1, 2]}, {"groups": 2, "padding": [1, 0, 2, 1]}],
)
def test_a_transposed_convolution_is_the_adjoint(attrs: dict[str, Any], one_operator: Callable[..., Any]) -> None:
    """<conv(x, w), y> == <x, conv_transpose(y, w)>, the kernel being read as IOHW there."""
    rng = np.random.default_rng(0)
    x, w = rng.random((2, 4, 7, 7)), rng.random((6, 4 // attrs.get("groups", 1), 3, 3))
    conv = one_operator("relax.nn.conv2d", ["[2, 4, 7, 7] f64", f"[6, {w.shape[1]}, 3, 3] f64"], **attrs)
    y = rng.random(interpret(conv, "main", [x, w]).shape)
    types = [f"{list(y.shape)} f64", f"[6, {w.shape[1]}, 3, 3] f64"]
    back = one_operator("relax.nn.conv2d_transpose", types, **attrs)
    inputs = interpret(LegalizeOps()(back), "main", [y, w])
    h, v = inputs.shape[2:]
    left = (interpret(LegalizeOps()(conv), "main", [x, w]) * y).sum()
    np.testing.assert_allclose(left, (x[:, :, :h, :v] * inputs).sum())


def test_bounds_of_windows(one_operator: Callable[..., Any]) -> None:
    module = one_operator(
        "relax.nn.avg_pool1d",
        ["[1, 1, 5] f32"],
        pool_size=3,
        strides=2,
        padding=1,
        ceil_mode=True,
        count_include_pad=False,
    )
    x = np.arange(1, 6, dtype=np.float32).reshape(1, 1, 5)
    np.testing.assert_array_equal(interpret(module, "main", [x]), np.array([[[1.5, 3, 4.5]]], np.float32))


NETWORK = """
from tvm.script import ir as I, tir as T, relax as R
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 3, 4, 4), "float32"),
        w: R.Tensor((4, 3, 3, 3), "float32"),
        b: R.Tensor((4, 1, 1), "float32"),
        g: R.Tensor((4,), "float32"),
    ):
        n = T.int64()
        with R.dataflow():
            c = R.nn.conv2d(x, w, padding=1)
            d = R.nn.relu(R.add(c, b))
            m = R.nn.max_pool2d(d, pool_size=[2, 2], strides=[2, 2])
            k = R.nn.batch_norm(m, g, g, g, g, axis=1, epsilon=2.0, training=False)
            f = R.exp(R.negative(k[0]))
            s = R.cumsum(f, axis=3)
            t = R.nn.relu(R.subtract(s, R.const(1.0, "float32")))
            q = R.sort(t, axis=2)
            r = R.strided_slice(q, (R.prim_value(2),), (R.prim_value(0),), (R.prim_value(3),))
            o = R.nn.softmax(R.nn.pad(r, [0, 0, 0, 0, 1, 1, 0, 0]), axis=-1)
            R.output(o)
        return o
"""


@only_full
def test_operators_together() -> None:
    """Fused and compiled, they compute what each of them does."""
    module = parse_source(NETWORK)
    checks.optimize(module)
    checks.native(module)
