"""Single operations of tosa, tensor, linalg and the scalars beside numpy, through native code; a row each."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from strength import thinned

from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.script import parse_mlir

DRAW = np.random.default_rng(0)
NAMES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "bool": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "i8",
}  # fmt: skip
INDEX = np.array([[1, 0, 3], [2, 2, 0]], "int32")


def draw(*shape: int, dtype: str = "float32") -> Any:
    if dtype.startswith(("int", "uint")):
        return DRAW.integers(-20 if dtype[0] == "i" else 0, 20, shape).astype(dtype)
    return DRAW.normal(size=shape).astype(dtype)


def tensor(array: Any, kind: str = "tensor") -> str:
    return f"{kind}<{''.join(f'{n}x' for n in array.shape)}{NAMES[array.dtype.name]}>"


def windows(x: Any, size: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The windows of the middle dimensions of x (n, …, c), as (n, …, c, *size)."""
    axes = tuple(range(1, x.ndim - 1))
    view = np.lib.stride_tricks.sliding_window_view(x, size, axis=axes)
    return view[(slice(None), *(slice(None, None, s) for s in strides))]


A, B = draw(2, 5), draw(2, 5)
CUBE, IMAGE = draw(1, 4, 5, 6, 2), draw(1, 6, 7, 3)
K3, KD = draw(2, 2, 3, 2, 2), draw(3, 2, 3, 2)
PADDED = np.pad(IMAGE, ((0, 0), (1, 0), (0, 1), (0, 0)))
COUNTS = windows(np.pad(np.ones_like(IMAGE), ((0, 0), (1, 0), (0, 1), (0, 0))), (2, 2), (2, 2)).sum((-1, -2))
TABLE = draw(2, 4, 3)
ZERO = '%zero = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>\n'
BIAS = draw(2)


def shape(name: str, numbers: str) -> str:
    count = len(numbers.split(","))
    values = f"dense<[{numbers}]> : tensor<{count}xindex>"
    return f'%{name} = "tosa.const_shape"() <{{values = {values}}}> : () -> !tosa.shape<{count}>\n'


# name -> (operands, text before the operation, operation with operands and attributes, types of more operands, result)
Row = tuple[tuple[Any, ...], str, str, str, Any]
ROWS: dict[str, Row] = {
    "tosa.argmax": ((A,), "", "tosa.argmax %0 {axis = 1 : i32}", "", A.argmax(1).astype("int32")),
    "tosa.conv3d": (
        (CUBE, K3, BIAS), ZERO,
        "tosa.conv3d %0, %1, %2, %zero, %zero {acc_type = f32, pad = array<i64: 0, 0, 0, 0, 0, 0>, "
        "stride = array<i64: 1, 1, 2>, dilation = array<i64: 1, 1, 1>}",
        ", tensor<1xf32>, tensor<1xf32>",
        np.einsum("ndhwczyx,fzyxc->ndhwf", windows(CUBE, (2, 3, 2), (1, 1, 2)), K3) + BIAS,
    ),
    "tosa.depthwise_conv2d": (
        (IMAGE, KD, draw(6)), ZERO,
        "tosa.depthwise_conv2d %0, %1, %2, %zero, %zero {acc_type = f32, pad = array<i64: 1, 0, 0, 1>, "
        "stride = array<i64: 2, 1>, dilation = array<i64: 1, 1>}",
        ", tensor<1xf32>, tensor<1xf32>",
        None,
    ),
    "tosa.avg_pool2d": (
        (IMAGE,), ZERO,
        "tosa.avg_pool2d %0, %zero, %zero {acc_type = f32, kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, "
        "pad = array<i64: 1, 0, 0, 1>}",
        ", tensor<1xf32>, tensor<1xf32>",
        windows(PADDED, (2, 2), (2, 2)).sum((-1, -2)) / COUNTS,
    ),
    "tosa.gather": (
        (TABLE, INDEX), "", "tosa.gather %0, %1", "", np.take_along_axis(TABLE, INDEX[..., None].astype("int64"), 1),
    ),
    "tosa.pad": (
        (A, draw(1)), shape("p", "1, 0, 2, 1"), "tosa.pad %0, %p, %1", "!tosa.shape<4>", None,
    ),
    "tosa.slice": (
        (A,), shape("s", "0, 1") + shape("n", "2, 3"), "tosa.slice %0, %s, %n",
        ", !tosa.shape<2>, !tosa.shape<2>", A[:2, 1:4],
    ),
    "tosa.tile": ((A,), shape("m", "2, 3"), "tosa.tile %0, %m", ", !tosa.shape<2>", np.tile(A, (2, 3))),
    "tosa.concat": ((A, B), "", "tosa.concat %0, %1 {axis = 0 : i32}", "", np.concatenate([A, B])),
    "tosa.transpose": ((A,), "", "tosa.transpose %0 {perms = array<i32: 1, 0>}", "", A.T.copy()),
    "tosa.reduce_max": ((A,), "", "tosa.reduce_max %0 {axis = 1 : i32}", "", A.max(1, keepdims=True)),
    "tosa.reduce_product": ((A,), "", "tosa.reduce_product %0 {axis = 0 : i32}", "", A.prod(0, keepdims=True)),
    "tosa.select": ((A > 0, A, B), "", "tosa.select %0, %1, %2", "", np.where(A > 0, A, B)),
}  # fmt: skip
KERNEL = windows(np.pad(IMAGE, ((0, 0), (1, 0), (0, 1), (0, 0))), (3, 2), (2, 1))
DEPTHWISE = np.einsum("nhwcyx,yxcm->nhwcm", KERNEL, KD)
_, _, text, types, _ = ROWS["tosa.depthwise_conv2d"]
ROWS["tosa.depthwise_conv2d"] = (
    (IMAGE, KD.reshape(3, 2, 3, 2), ROWS["tosa.depthwise_conv2d"][0][2]), ZERO, text, types,
    DEPTHWISE.reshape(*DEPTHWISE.shape[:3], 6) + ROWS["tosa.depthwise_conv2d"][0][2],
)  # fmt: skip
CONTENT = ROWS["tosa.pad"][0][1]
ROWS["tosa.pad"] = (
    *ROWS["tosa.pad"][:4],
    np.pad(A, ((1, 0), (2, 1)), constant_values=CONTENT[0]),
)


def run(body: str, result: str, types: list[str], *args: Any) -> Any:
    params = ", ".join(f"%{n}: {t}" for n, t in enumerate(types))
    text = f"func.func @main({params}) -> {result} {{\n{body}\nfunc.return %r : {result}\n}}"
    return np.asarray(build(from_mlir(parse_mlir(text)))["main"](*args))


@thinned("name", list(ROWS), 4)
def test_tosa(name: str) -> None:
    args, before, operation, more, expected = ROWS[name]
    own = [tensor(a) for a in args]
    if name == "tosa.pad":
        own.insert(1, more)
        more = ""
    signature = f"({', '.join(own)}{more}) -> {tensor(expected)}"
    got = run(f"{before}%r = {operation} : {signature}", tensor(expected), [tensor(a) for a in args], *args)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


BYTES = DRAW.integers(0, 256, (1, 4, 4, 2)).astype("uint8").view("int8")
TENSORS: dict[str, tuple[tuple[Any, ...], str, Any]] = {
    "concat": (
        (A, B), "%r = tensor.concat dim(1) %0, %1 : (tensor<2x5xf32>, tensor<2x5xf32>) -> tensor<2x10xf32>",
        np.concatenate([A, B], 1),
    ),
    "collapse_shape": (
        (TABLE,), "%r = tensor.collapse_shape %0 [[0, 1], [2]] : tensor<2x4x3xf32> into tensor<8x3xf32>",
        TABLE.reshape(8, 3),
    ),
    "expand_shape": (
        (A,),
        "%r = tensor.expand_shape %0 [[0], [1, 2]] output_shape [2, 1, 5] : tensor<2x5xf32> into tensor<2x1x5xf32>",
        A.reshape(2, 1, 5),
    ),
    "from_elements": (
        (), "%x = arith.constant 1.5 : f32\n%y = arith.constant -2.0 : f32\n"
        "%r = tensor.from_elements %x, %y, %y, %x : tensor<2x2xf32>",
        np.array([[1.5, -2], [-2, 1.5]], "float32"),
    ),
    "generate": (
        (), "%r = tensor.generate {\n^bb0(%i: index, %j: index):\n%s = arith.addi %i, %j : index\n"
        "%k = arith.index_cast %s : index to i64\ntensor.yield %k : i64\n} : tensor<3x4xi64>",
        np.add.outer(np.arange(3), np.arange(4)),
    ),
    "if": (
        (A, np.array(True)),
        "%c = tensor.extract %1[] : tensor<i1>\n%r = scf.if %c -> (tensor<2x5xf32>) {\n"
        "%m = arith.negf %0 : tensor<2x5xf32>\nscf.yield %m : tensor<2x5xf32>\n} else {\n"
        "scf.yield %0 : tensor<2x5xf32>\n}",
        -A,
    ),
    "contract": (
        (A, B, np.ones((5, 5), "float32")),
        "%r = linalg.contract indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, "
        "affine_map<(m, n, k) -> (m, n)>] ins(%0, %1 : tensor<2x5xf32>, tensor<2x5xf32>) "
        "outs(%2 : tensor<5x5xf32>) -> tensor<5x5xf32>",
        A.T @ B + 1,
    ),
    **{
        f"pooling_nhwc_{name}_unsigned": (
            (BYTES, np.zeros((2, 3), "int8"), np.full((1, 3, 2, 2), first, "uint8").view("int8")),
            f"%r = linalg.pooling_nhwc_{name}_unsigned ins(%0, %1 : tensor<1x4x4x2xi8>, tensor<2x3xi8>) "
            "outs(%2 : tensor<1x3x2x2xi8>) -> tensor<1x3x2x2xi8>",
            function(windows(BYTES.view("uint8"), (2, 3), (1, 1)), (-1, -2)).view("int8"),
        )
        for name, first, function in (("max", 0, np.max), ("min", 255, np.min))
    },
    "map, short": (
        (A, B), "%e = tensor.empty() : tensor<2x5xf32>\n"
        "%r = linalg.map { arith.subf {fastmath = #arith.fastmath<none>} } "
        "ins(%0, %1 : tensor<2x5xf32>, tensor<2x5xf32>) outs(%e : tensor<2x5xf32>)",
        A - B,
    ),
    "map": (
        (A, B), "%e = tensor.empty() : tensor<2x5xf32>\n"
        "%r = linalg.map ins(%0, %1 : tensor<2x5xf32>, tensor<2x5xf32>) outs(%e : tensor<2x5xf32>)\n"
        "(%x: f32, %y: f32) {\n%z = arith.mulf %x, %y : f32\nlinalg.yield %z : f32\n}",
        A * B,
    ),
}  # fmt: skip


@thinned("name", list(TENSORS), 2)
def test_tensors(name: str) -> None:
    args, body, expected = TENSORS[name]
    got = run(body, tensor(expected), [tensor(a) for a in args], *args)
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


ELEMENTWISE = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
    "exp": np.exp, "log": lambda x: np.log(np.abs(x)), "abs": np.abs, "ceil": np.ceil, "floor": np.floor,
    "negf": np.negative, "tanh": np.tanh, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "square": np.square,
    "reciprocal": np.reciprocal, "round": None, "erf": None, "powf": np.power,
}  # fmt: skip


def test_named_elementwise_operations() -> None:
    """All by one function, on positive numbers."""
    from tirax.dialects.xdsl_extras.linalg_named import ELEMENTWISE as KNOWN

    x, y = np.abs(A) + np.float32(0.5), np.abs(B) + np.float32(0.5)
    tried = {n: f for n, f in ELEMENTWISE.items() if n in KNOWN and f is not None}
    assert len(tried) > 12
    lines, types = ["%e = tensor.empty() : tensor<2x5xf32>"], []
    for number, (name, function) in enumerate(tried.items()):
        two = isinstance(function, np.ufunc) and function.nin == 2
        ins = "ins(%0, %1 : tensor<2x5xf32>, tensor<2x5xf32>)" if two else "ins(%0 : tensor<2x5xf32>)"
        lines.append(f"%r{number} = linalg.{name} {ins} outs(%e : tensor<2x5xf32>) -> tensor<2x5xf32>")
        types.append("tensor<2x5xf32>")
    values = ", ".join(f"%r{n}" for n in range(len(types)))
    result = f"({', '.join(types)})"
    text = f"func.func @main(%0: {types[0]}, %1: {types[0]}) -> {result} {{\n" + "\n".join(lines)
    text += f"\nfunc.return {values} : {', '.join(types)}\n}}"
    for (name, function), got in zip(tried.items(), build(from_mlir(parse_mlir(text)))["main"](x, y), strict=True):
        expected = function(x, y) if isinstance(function, np.ufunc) and function.nin == 2 else function(x)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=2e-6, atol=1e-6, err_msg=name)


X = np.array([0.5, -1.25, np.inf, np.nan, 3.0], "float32")
N = np.array([1, -8, 40, 0, 7], "int32")
HALF = np.array([0.5, -1.25, 3, 2, 1], "float16")
SCALARS: dict[str, tuple[str, Any, Any]] = {
    "arith.extf": ("arith.extf %0 : tensor<5xf16> to tensor<5xf32>", HALF, HALF.astype("float32")),
    "arith.truncf": ("arith.truncf %0 : tensor<5xf32> to tensor<5xbf16>", X, X.astype(ml_dtypes.bfloat16)),
    "arith.bitcast": ("arith.bitcast %0 : tensor<5xf32> to tensor<5xi32>", X, X.view("int32")),
    "math.fma": ("math.fma %0, %0, %0 : tensor<5xf32>", X, X * X + X),
    "math.ctlz": ("math.ctlz %0 : tensor<5xi32>", N, np.array([31, 0, 26, 32, 29], "int32")),
    "math.cttz": ("math.cttz %0 : tensor<5xi32>", N, np.array([0, 3, 3, 32, 0], "int32")),
    "math.isnan": ("math.isnan %0 : tensor<5xf32>", X, np.isnan(X)),
    "math.isinf": ("math.isinf %0 : tensor<5xf32>", X, np.isinf(X)),
    "math.isfinite": ("math.isfinite %0 : tensor<5xf32>", X, np.isfinite(X)),
}


@thinned("name", list(SCALARS), 3)
def test_scalars(name: str) -> None:
    body, x, expected = SCALARS[name]
    got = run(f"%r = {body}", tensor(expected), [tensor(x)], x)
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got.astype("float64"), expected.astype("float64"))


AFFINE = """
func.func @main(%0: memref<?x?xf32>, %1: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %0, %c0 : memref<?x?xf32>
  %columns = memref.dim %0, %c1 : memref<?x?xf32>
  "affine.for"(%rows) <{lowerBoundMap = affine_map<() -> (0)>, upperBoundMap = affine_map<()[s0] -> (s0)>,
      step = 1 : index, operandSegmentSizes = array<i32: 0, 1, 0>}> ({
  ^bb0(%i: index):
    %zero = arith.constant 0.0 : f32
    %sum = "affine.for"(%columns, %zero) <{lowerBoundMap = affine_map<() -> (1)>,
        upperBoundMap = affine_map<()[s0] -> (s0)>, step = 2 : index, operandSegmentSizes = array<i32: 0, 1, 1>}> ({
    ^bb1(%j: index, %s: f32):
      %v = "affine.load"(%0, %i, %j) <{map = affine_map<(d0, d1) -> (d0, d1)>}> :
        (memref<?x?xf32>, index, index) -> f32
      %t = arith.addf %s, %v : f32
      "affine.yield"(%t) : (f32) -> ()
    }) : (index, f32) -> f32
    "affine.store"(%sum, %1, %i) <{map = affine_map<(d0) -> (d0)>}> : (f32, memref<?xf32>, index) -> ()
    "affine.yield"() : () -> ()
  }) : (index) -> ()
  func.return
}"""
PARALLEL = """
func.func @main(%0: memref<?x?xf32>, %1: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %rows = memref.dim %0, %c0 : memref<?x?xf32>
  %columns = memref.dim %0, %c1 : memref<?x?xf32>
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %zero = arith.constant 0.0 : f32
    memref.store %zero, %1[%i] : memref<?xf32>
    scf.for %j = %c1 to %columns step %c2 {
      %v = memref.load %0[%i, %j] : memref<?x?xf32>
      %s = memref.load %1[%i] : memref<?xf32>
      %t = arith.addf %s, %v : f32
      memref.store %t, %1[%i] : memref<?xf32>
    }
    scf.reduce
  }
  func.return
}"""


@pytest.mark.parametrize("text", [AFFINE, PARALLEL], ids=["affine", "parallel"])
def test_loops_on_memrefs(text: str) -> None:
    """Sums of every second element of the rows, from one build: also of none."""
    main = build(from_mlir(parse_mlir(text)))["main"]
    for rows, columns in ((5, 7), (1, 1), (3, 2), (0, 4)):
        x, y = draw(rows, columns), np.full(rows, 9, "float32")
        main(x, y)
        np.testing.assert_allclose(y, x[:, 1::2].sum(1), rtol=1e-5, atol=1e-6)
