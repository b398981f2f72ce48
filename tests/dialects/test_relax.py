"""The relax dialect: text, inference, verification."""

import io

import pytest
from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import Block
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException

from tirax.diagnostics import DTypeError, ShapeError
from tirax.dialects import relax
from tirax.dialects.dtypes import DTYPES, dtype_name, dtype_of, numpy_dtype
from tirax.dialects.relax import OPERATORS, ShapeType, TensorType, is_base_of, least_common_ancestor
from tirax.dialects.relax.types import erase_unbound
from tirax.dialects.sym.expr import Var

PROGRAM = """
relax.func @main(
    %x: !relax.tensor<[n, 784], f32>, %w: !relax.tensor<[784, 128], f32>, %c: !relax.tensor<[], i1>
) -> tuple<!relax.tensor<[n, 128], f32>, !relax.object> attributes {num_input = 1 : i64} {
  %gv, %gv1 = relax.dataflow {
    %lv = relax.matmul %x, %w : !relax.tensor<[n, 128], f32>
    %lv1 = relax.nn.relu %lv : !relax.tensor<[n, 128], f32>
    %p = relax.permute_dims %lv1 {axes = [1, 0]} : !relax.tensor<[128, n], f32>
    %q = relax.concat (%p, %p) {axis = 1} : !relax.tensor<[128, n * 2], f32>
    %s = relax.shape [n, 128]
    %z = relax.zeros %s {dtype = f32} : !relax.tensor<[n, 128], f32>
    %d = relax.call_tir @f(%lv1, %z) tir_vars [n] : !relax.tensor<[n, 128], f32>
    %e = relax.call_tir_inplace @f(%d, %z) inplace [0] : !relax.tensor<[n, 128], f32>
    %g = relax.call_dps_packed "env.relu"(%e) : !relax.tensor<[n, 128], f32>
    relax.output %g, %q : !relax.tensor<[n, 128], f32>, !relax.tensor<[128, n * 2], f32>
  }
  %r = relax.if %c : !relax.tensor<[n, 128], f32> {
    %a = relax.add %gv, %gv : !relax.tensor<[n, 128], f32>
    relax.yield %a : !relax.tensor<[n, 128], f32>
  } else {
    relax.yield %gv : !relax.tensor<[n, 128], f32>
  }
  %k = relax.closure(%a: !relax.tensor<[n, 128], f32>) -> !relax.tensor<[n, 128], f32> {
    relax.return %a : !relax.tensor<[n, 128], f32>
  }
  %v = relax.call_value %k(%r) : !relax.tensor<[n, 128], f32>
  %text = relax.string "hello"
  %number = relax.prim_value n + 1
  %half = relax.prim_value float 5.000000e-01 : f32
  %dt = relax.dtype f32
  %none = relax.null_value : !relax.object
  %ref = relax.extern_func "g" : !relax.callable<* -> !relax.object, impure>
  %o = relax.call_packed "g"(%text, %number, %half, %dt, %none, %ref) : !relax.object
  %cast = relax.match_cast %v : !relax.tensor<[n, 128], f32> -> !relax.tensor<[n, m], f32>
  %big = relax.constant <f32 [2] [1.0, -2.5]>
  %t = relax.tuple(%v, %o)
  %i = relax.tuple_get_item %t[0] : !relax.tensor<[n, 128], f32>
  %j = relax.bind %i : !relax.tensor<[n, 128], f32> -> !relax.tensor<[n, 128], f32>
  relax.return %t : tuple<!relax.tensor<[n, 128], f32>, !relax.object>
}
"""


def test_custom_and_generic_form_round_trip(parse):
    module = parse(PROGRAM)
    module.verify()
    text = str(module)
    assert str(parse(text)) == text
    stream = io.StringIO()
    Printer(stream, print_generic_format=True).print_op(module)
    assert str(parse(stream.getvalue())) == text


@pytest.mark.parametrize(
    "text",
    [
        "!relax.tensor<[n, 784], f32>",
        "!relax.tensor<[], i1>",
        "!relax.tensor<ndim = 2, f32>",
        "!relax.tensor<*, f32>",
        "!relax.tensor<[4]>",
        "!relax.tensor<*>",
        '!relax.tensor<[n floordiv 2], bf16, vdevice = "cpu:0">',
        "!relax.shape<[n, 4]>",
        "!relax.shape<ndim = 2>",
        "!relax.shape<*>",
        "!relax.prim<i64, n + 1>",
        "!relax.prim<f32>",
        "!relax.object",
        "!relax.callable<(!relax.object, !relax.tensor<[n]>) -> !relax.tensor<[n]>>",
        "!relax.callable<* -> !relax.object, impure>",
        "tuple<!relax.tensor<[n]>, tuple<>>",
    ],
)
def test_types_round_trip(parse, text):
    module = parse(f"relax.func @f(%x: {text}) -> {text} {{ relax.return %x : {text} }}")
    module.verify()
    assert text in str(module)


def values(*types):
    return list(Block(arg_types=types).args)


U8, I8 = DTYPES["uint8"], DTYPES["int8"]


def tensor(*shape, dtype=f32):
    return TensorType.of(shape, dtype)


UNKNOWN = TensorType.of(None, f32)
RANK2 = TensorType.of(None, f32, ndim=2)

INFERENCE = [
    ("nn.relu", [tensor("n", 4)], {}, tensor("n", 4)),
    ("isnan", [tensor(3)], {}, tensor(3, dtype=DTYPES["bool"])),
    ("add", [tensor("n", 4), tensor(4)], {}, tensor("n", 4)),
    ("add", [tensor("n", 1), tensor(1, "m")], {}, tensor("n", "m")),
    ("add", [tensor("n"), tensor("m")], {}, TensorType.of(None, f32, ndim=1)),
    ("add", [UNKNOWN, tensor(4)], {}, UNKNOWN),
    ("add", [TensorType.of([4]), TensorType.of([4])], {}, TensorType.of([4])),
    ("less", [tensor(4), tensor(4)], {}, tensor(4, dtype=DTYPES["bool"])),
    ("sum", [tensor("n", 4)], {"axis": [1]}, tensor("n")),
    ("sum", [tensor("n", 4)], {"axis": [-1], "keepdims": True}, tensor("n", 1)),
    ("mean", [tensor("n", 4)], {}, tensor()),
    ("max", [UNKNOWN], {}, tensor()),
    ("argmax", [tensor(3, 4)], {"axis": 1}, tensor(3, dtype=i64)),
    ("permute_dims", [tensor("n", 4, 5)], {}, tensor(5, 4, "n")),
    ("permute_dims", [tensor("n", 4, 5)], {"axes": [0, 2, 1]}, tensor("n", 5, 4)),
    ("permute_dims", [RANK2], {}, RANK2),
    ("reshape", [tensor(4, 6), ShapeType.of([8, 3])], {}, tensor(8, 3)),
    ("flatten", [tensor("n", 4)], {}, TensorType.of([Var("n") * 4], f32)),
    ("flatten", [tensor()], {}, tensor(1)),
    ("flatten", [TensorType.of("s", f32, 1)], {}, TensorType.of("s", f32, 1)),
    ("less", [tensor(4), tensor(4, dtype=i32)], {}, tensor(4, dtype=i1)),
    ("expand_dims", [tensor("n", 4)], {"axis": [0, -1]}, tensor(1, "n", 4, 1)),
    ("squeeze", [tensor(1, 5, 1)], {}, tensor(5)),
    ("squeeze", [tensor(1, "n", 1)], {}, UNKNOWN),
    ("squeeze", [tensor(1, "n", 1)], {"axis": [0]}, tensor("n", 1)),
    ("split", [tensor(7)], {"indices_or_sections": 3}, "tuple<3, 3, 1>"),
    ("split", [tensor(7)], {"indices_or_sections": [2, 3]}, "tuple<2, 1, 4>"),
    ("take", [tensor("n", 4), tensor(5, dtype=i64)], {"axis": 0}, tensor(5, 4)),
    ("matmul", [tensor("n", 4), tensor(4, 8)], {}, tensor("n", 8)),
    ("matmul", [tensor("b", "n", 4), tensor(4, 8)], {}, tensor("b", "n", 8)),
    ("matmul", [tensor(4), tensor(4, 8)], {}, tensor(8)),
    ("matmul", [tensor(3, 4), tensor(4)], {}, tensor(3)),
    ("matmul", [tensor(2, 2), tensor(2, 2)], {"out_dtype": DTYPES["float64"]}, tensor(2, 2, dtype=DTYPES["float64"])),
    ("matmul", [tensor(2, 2, dtype=U8), tensor(2, 2, dtype=I8)], {"out_dtype": i32}, tensor(2, 2, dtype=i32)),
    (
        "nn.conv2d",
        [tensor(1, 2, 4, 4, dtype=U8), tensor(3, 2, 1, 1, dtype=I8)],
        {"out_dtype": i32},
        tensor(1, 3, 4, 4, dtype=i32),
    ),
    ("nn.softmax", [tensor("n", 4)], {}, tensor("n", 4)),
    ("nn.layer_norm", [tensor("n", 4), tensor(4), tensor(4)], {"axes": [-1]}, tensor("n", 4)),
    ("nn.attention", [tensor(2, "n", 8, 16)] * 3, {}, tensor(2, "n", 8, 16)),
    ("astype", [tensor("n")], {"dtype": i32}, tensor("n", dtype=i32)),
    ("broadcast_to", [tensor(1, 4), ShapeType.of(["n", 4])], {}, tensor("n", 4)),
    ("where", [tensor(4, dtype=DTYPES["bool"]), tensor(4), tensor(1)], {}, tensor(4)),
    ("zeros", [ShapeType.of(["n"])], {"dtype": f32}, tensor("n")),
    ("full", [ShapeType.of(["n"]), tensor()], {}, tensor("n")),
    ("ones_like", [tensor("n")], {}, tensor("n")),
]


@pytest.mark.parametrize(("name", "types", "attrs", "expected"), INFERENCE)
def test_inference(name, types, attrs, expected):
    op = OPERATORS[f"relax.{name}"].make(*values(*types), **attrs)
    op.verify()
    result = op.result_type
    if isinstance(expected, str):
        assert [t.dims[0].constant for t in result.types] == [int(d) for d in expected[6:-1].split(",")]
    else:
        assert result == expected


BAD = [
    ("add", [tensor(3), tensor(4)], {}, ShapeError, "x1 and x2 do not broadcast"),
    ("add", [tensor(4), tensor(4, dtype=i32)], {}, DTypeError, "one dtype"),
    ("add", [tensor(4), ShapeType.of([4])], {}, DTypeError, "x2 must be a tensor"),
    ("exp", [tensor(4, dtype=i32)], {}, DTypeError, "floating point"),
    ("sum", [tensor(4)], {"axis": [1]}, ShapeError, "axis is out of range"),
    ("sum", [tensor(4, 4)], {"axis": [0, -2]}, ShapeError, "repeats"),
    ("permute_dims", [tensor(4, 4)], {"axes": [0]}, ShapeError, "permutation"),
    ("reshape", [tensor(4), ShapeType.of([5])], {}, ShapeError, "number of elements"),
    ("reshape", [tensor(4), tensor(5)], {}, DTypeError, "must be a shape"),
    ("squeeze", [tensor(4)], {"axis": [0]}, ShapeError, "cannot be squeezed"),
    ("matmul", [tensor(3, 4), tensor(5, 6)], {}, ShapeError, "must agree"),
    ("matmul", [tensor(), tensor(5, 6)], {}, ShapeError, "must have a dimension"),
    ("matmul", [tensor(2, 2, dtype=U8), tensor(2, 2, dtype=I8)], {}, DTypeError, "must have one dtype"),
    ("nn.conv2d", [tensor(1, 2, 4, 4), tensor(3, 2, 1, 1, dtype=I8)], {}, DTypeError, "weight must have the dtype"),
    ("nn.attention", [tensor(2, 3)] * 3, {}, ShapeError, "4 dimensions"),
    ("nn.layer_norm", [tensor(3, 4), tensor(5), tensor(4)], {"axes": [1]}, ShapeError, "gamma"),
    ("take", [tensor(4), tensor(2)], {"axis": 0}, DTypeError, "integer"),
    ("take", [TensorType.of(None, f32), tensor(2, dtype=i64)], {}, ShapeError, "axis must be given"),
    ("concat", [tensor(4, 2)], {"axis": None}, ShapeError, "axis must be given"),
    ("concat", [TensorType.of(None, f32, 2)], {"axis": 2}, ShapeError, "out of range"),
    ("add", [tensor(4), tensor(4, dtype=i32)], {}, DTypeError, "one dtype"),
    ("zeros", [ShapeType.of([4])], {}, DTypeError, "dtype must be given"),
    ("sum", [tensor(4)], {"axis": 0.5}, DTypeError, "attribute axis is of the wrong type"),
    ("sum", [tensor(4)], {"axis": ["a"]}, DTypeError, "attribute axis is of the wrong type"),
    ("nn.softmax", [tensor(4)], {"axis": True}, DTypeError, "attribute axis is of the wrong type"),
    ("zeros", [ShapeType.of([4])], {"dtype": 4}, DTypeError, "attribute dtype is of the wrong type"),
    ("concat", [[tensor(4)]], {"axis": "x"}, DTypeError, "attribute axis is of the wrong type"),
]


@pytest.mark.parametrize(("name", "types", "attrs", "error", "message"), BAD)
def test_inference_refuses(name, types, attrs, error, message):
    with pytest.raises(error, match=message) as caught:
        args = [values(*t) if isinstance(t, list) else values(t)[0] for t in types]
        OPERATORS[f"relax.{name}"].make(*args, **attrs)
    assert f"relax.{name}" in str(caught.value)


T = "!relax.tensor<[4], f32>"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"%y = relax.nn.relu %x : !relax.tensor<[5], f32>\nrelax.return %x : {T}", "does not hold"),
        ("%s = relax.shape [4]\nrelax.return %s : !relax.shape<[4]>", "declares the result"),
        (f"%y = relax.match_cast %x : {T} -> !relax.tensor<[4], i32>\nrelax.return %x : {T}", "can never be"),
        (f"%t = relax.tuple(%x, %x)\n%y = relax.tuple_get_item %t[2] : {T}\nrelax.return %y : {T}", "index 2"),
        (f"%y = relax.call_tir @f(%x) : !relax.tensor<*, f32>\nrelax.return %x : {T}", "known shape"),
        (f"%y = relax.call_value %x(%x) : {T}\nrelax.return %y : {T}", "not callable"),
        (f"%y = relax.call_tir_inplace @f(%x) inplace [3] : {T}\nrelax.return %y : {T}", "inplace index 3"),
        (
            f"%s = relax.shape [4]\n%y = relax.call_tir_inplace @f(%s) inplace [0] : {T}\nrelax.return %y : {T}",
            "argument 0 is written in place and is no tensor",
        ),
    ],
)
def test_verifiers_refuse(parse, body, message):
    with pytest.raises(VerifyException, match=message):
        parse(f"relax.func @f(%x: {T}) -> {T} {{ {body} }}").verify()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%y = relax.nn.relu %z : !relax.tensor<[4], f32>", "used before its definition"),
        ("%y = relax.sum %x {axes = [0]} : !relax.tensor<[], f32>", "has no attribute axes"),
        ("%y = relax.constant <f32 [2] [1.0]>", "do not fill"),
        ("%s = relax.shape [select(n)]", "takes 3 operands"),
    ],
)
def test_text_that_does_not_parse(parse, body, message):
    with pytest.raises(ParseError, match=message):
        parse(f"relax.func @f(%x: {T}) -> {T} {{ {body} relax.return %x : {T} }}")


def test_subtyping():
    assert is_base_of(relax.OBJECT, tensor(4))
    assert is_base_of(RANK2, tensor("n", 4))
    assert is_base_of(TensorType.of(None), tensor("n", 4))
    assert not is_base_of(tensor("n", 4), RANK2)
    assert not is_base_of(tensor(4), tensor(5))
    assert least_common_ancestor(tensor("n", 4), tensor("m", 4)) == RANK2
    assert least_common_ancestor(tensor(4), ShapeType.of([4])) == relax.OBJECT
    here, there = (TensorType.of([4], f32, vdevice=f"llvm:{n}") for n in (0, 1))
    for a, b in ((here, there), (here, tensor(4)), (tensor(4), here)):
        assert least_common_ancestor(a, b) == tensor(4)
    assert least_common_ancestor(here, here) == here
    assert erase_unbound(tensor("n", "m"), {Var("n")}) == RANK2
    assert erase_unbound(tensor("n", 4), {Var("n")}) == tensor("n", 4)


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_by_name(name):
    assert dtype_name(dtype_of(name)) == name
    assert numpy_dtype(dtype_of(name)).name == name


def test_an_unknown_dtype_gets_a_suggestion():
    with pytest.raises(DTypeError, match="did you mean 'float32'"):
        dtype_of("flaot32")


def test_vectors_have_names():
    assert dtype_name(dtype_of("float32x4")) == "float32x4"


def test_large_and_special_constants_round_trip(parse):
    import numpy as np

    for array in (np.arange(100, dtype="float32"), np.array([np.inf, np.nan], "float32"), np.zeros((0, 3), "float32")):
        op = relax.ConstantOp.of(array, f32)
        definition = str(op).replace("%0", "%c")
        text = f"relax.func @f() -> {op.result.type} {{ {definition} relax.return %c : {op.result.type} }}"
        again = next(o for o in parse(text).walk() if isinstance(o, relax.ConstantOp))
        assert again.value == op.value
        np.testing.assert_array_equal(again.value.numpy(), array)


def test_a_dtype_by_name_is_the_same_as_the_type():
    from xdsl.dialects.builtin import f16, f32
    from xdsl.ir import Block

    x = Block(arg_types=[relax.TensorType.of([2], f32)]).args[0]
    kind = relax.OPERATORS["relax.astype"]
    assert kind.make(x, dtype="float16").properties == kind.make(x, dtype=f16).properties
