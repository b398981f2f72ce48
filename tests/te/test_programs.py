"""Text of tensor functions: names of blocks and buffers, order, axes and regions as TVM prints them.

Where TVM differs: it drops `where` and `init` of reductions and sorts the terms of a sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tirax.ir.verification.verify import verify_module
from tirax.tvm_api import te, tir

PROGRAMS: dict[str, Callable[[], Any]] = {}


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    PROGRAMS[function.__name__] = function
    return function


@case
def matmul() -> Any:
    A = te.placeholder((16, 24), name="A")
    B = te.placeholder((24, 8), name="B")
    k = te.reduce_axis((0, 24), name="k")
    C = te.compute((16, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]


@case
def default_names() -> Any:
    A = te.placeholder((16,))
    B = te.compute((16,), lambda i: A[i] + 1)
    C = te.compute((16,), lambda i: B[i] * 2)
    return [A, C]


@case
def same_names() -> Any:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1, name="A")
    C = te.compute((16,), lambda i: B[i] * 2, name="A")
    return [A, C]


@case
def relu() -> Any:
    A = te.placeholder((4, 128), name="X")
    return [A, te.compute(A.shape, lambda i, j: te.max(A[i, j], 0), name="relu")]


@case
def varargs() -> Any:
    A = te.placeholder((4, 5, 6), name="A")
    return [A, te.compute(A.shape, lambda *i: A(*i) + 1.0, name="B")]


@case
def varargs_names() -> Any:
    A = te.placeholder((4, 5, 6), name="A")
    return [A, te.compute(A.shape, lambda *i: A(*i) + 1.0, name="B", varargs_names=["x", "y", "z"])]


@case
def mixed_varargs() -> Any:
    A = te.placeholder((4, 5, 6), name="A")
    return [A, te.compute(A.shape, lambda b, *i: A(b, *i) + 1.0, name="B")]


@case
def sum_two_axes() -> Any:
    A = te.placeholder((4, 5, 6), name="A")
    k = te.reduce_axis((0, 5), "k")
    l = te.reduce_axis((0, 6), "l")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k, l], axis=[k, l]), name="B")]


@case
def axis_name_clash() -> Any:
    A = te.placeholder((4, 5), name="A")
    i = te.reduce_axis((0, 5), "i")
    return [A, te.compute((4,), lambda i_: te.sum(A[i_, i], axis=i), name="B")]


@case
def same_axis_name() -> Any:
    A = te.placeholder((4, 5), name="A")
    r = te.reduce_axis((0, 5), "i")
    return [A, te.compute((4,), lambda i: te.sum(A[i, r], axis=r), name="B")]


@case
def prod_all() -> Any:
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 4), "k")
    l = te.reduce_axis((0, 5), "l")
    return [A, te.compute((), lambda: te.sum(A[k, l], axis=[k, l]), name="B")]


@case
def scalar_out() -> Any:
    A = te.placeholder((), name="A")
    return [A, te.compute((), lambda: A() + 1.0, name="B")]


@case
def max_init() -> Any:
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 5), "k")
    return [A, te.compute((4,), lambda i: te.max(A[i, k], axis=k), name="B")]


@case
def min_init() -> Any:
    A = te.placeholder((4, 5), "int32", name="A")
    k = te.reduce_axis((0, 5), "k")
    return [A, te.compute((4,), lambda i: te.min(A[i, k], axis=k), name="B")]


@case
def sum_where() -> Any:
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 5), "k")
    return [A, te.compute((4,), lambda i: te.sum(A[i, k], axis=k, where=k < 3), name="B")]


@case
def sum_init() -> Any:
    A = te.placeholder((4, 5), name="A")
    C = te.placeholder((4,), name="C")
    k = te.reduce_axis((0, 5), "k")
    return [A, C, te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=C[i]), name="B")]


@case
def argmax() -> Any:
    def fcombine(x: Any, y: Any) -> Any:
        first = x[1] >= y[1]
        return tir.Select(first, x[0], y[0]), tir.Select(first, x[1], y[1])

    def fidentity(t0: str, t1: str) -> Any:
        return tir.const(-1, t0), te.min_value(t1)

    am = te.comm_reducer(fcombine, fidentity, name="argmax")
    idx = te.placeholder((8, 16), "int32", name="idx")
    val = te.placeholder((8, 16), "float32", name="val")
    k = te.reduce_axis((0, 16), "k")
    T0, T1 = te.compute((8,), lambda i: am((idx[i, k], val[i, k]), axis=k), name="T")
    return [idx, val, T0, T1]


@case
def comm1() -> Any:
    mul = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="mul")
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 5), "k")
    return [A, te.compute((4,), lambda i: mul(A[i, k], axis=k), name="B")]


@case
def tuple_out() -> Any:
    A = te.placeholder((4, 5), name="A")
    B, C = te.compute((4, 5), lambda i, j: (A[i, j] + 1.0, A[i, j] * 2.0), name="T")
    return [A, B, C]


@case
def tuple_dtype() -> Any:
    A = te.placeholder((4, 5), name="A")
    B, C = te.compute((4, 5), lambda i, j: (A[i, j] + 1.0, A[i, j].astype("int32")), name="T")
    return [A, B, C]


@case
def symbolic() -> Any:
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    return [A, te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")]


@case
def symbolic64() -> Any:
    n = te.var("n", "int64")
    A = te.placeholder((n, 128), name="A")
    k = te.reduce_axis((0, n), "k")
    return [A, te.compute((128,), lambda j: te.sum(A[k, j], axis=k), name="B")]


@case
def symbolic_expr() -> Any:
    n = te.var("n", "int64")
    A = te.placeholder((n * 2,), name="A")
    return [A, te.compute((n,), lambda j: A[j * 2] + A[j * 2 + 1], name="B"), n]


@case
def symbolic_param() -> Any:
    n = te.var("n", "int32")
    A = te.placeholder((16,), name="A")
    return [A, te.compute((16,), lambda j: A[j] + n.astype("float32"), name="B"), n]


@case
def if_then_else() -> Any:
    A = te.placeholder((16,), name="A")
    return [A, te.compute((18,), lambda j: te.if_then_else(te.all(j >= 1, j < 17), A[j - 1], 0.0), name="B")]


@case
def select_any() -> Any:
    A = te.placeholder((16,), name="A")
    return [A, te.compute((16,), lambda j: tir.Select(te.any(j < 2, j > 10), A[j], tir.const(0, "float32")), name="B")]


@case
def math() -> Any:
    A = te.placeholder((16,), name="A")
    return [
        A,
        te.compute(
            (16,), lambda j: te.exp(A[j]) + te.tanh(A[j]) * te.sqrt(te.abs(A[j])) + te.log(te.sigmoid(A[j])), name="B"
        ),
    ]


@case
def math2() -> Any:
    A = te.placeholder((16,), name="A")
    return [
        A,
        te.compute(
            (16,),
            lambda j: (
                te.power(A[j], 2.0)
                + te.floor(A[j])
                + te.ceil(A[j])
                + te.round(A[j])
                + te.trunc(A[j])
                + te.nearbyint(A[j])
                + te.rsqrt(A[j])
                + te.erf(A[j])
            ),
            name="B",
        ),
    ]


@case
def math3() -> Any:
    A = te.placeholder((16,), name="A")
    return [
        A,
        te.compute(
            (16,),
            lambda j: (
                te.cos(A[j])
                + te.sin(A[j])
                + te.tan(A[j])
                + te.acos(A[j])
                + te.asin(A[j])
                + te.atan(A[j])
                + te.cosh(A[j])
                + te.sinh(A[j])
                + te.acosh(A[j])
                + te.asinh(A[j])
                + te.atanh(A[j])
                + te.log2(A[j])
                + te.log10(A[j])
            ),
            name="B",
        ),
    ]


@case
def logadd_fmod() -> Any:
    A = te.placeholder((16,), name="A")
    C = te.placeholder((16,), name="C")
    return [A, C, te.compute((16,), lambda j: te.fmod(A[j], C[j]) + te.logaddexp(A[j], C[j]), name="B")]


@case
def popcount() -> Any:
    A = te.placeholder((16,), "int32", name="A")
    return [A, te.compute((16,), lambda j: te.popcount(A[j]), name="B")]


@case
def isnan() -> Any:
    A = te.placeholder((16,), name="A")
    return [
        A,
        te.compute((16,), lambda j: te.isnan(A[j]), name="B"),
        te.compute((16,), lambda j: te.isinf(A[j]), name="C"),
        te.compute((16,), lambda j: te.isfinite(A[j]), name="D"),
    ]


@case
def divmod_() -> Any:
    A = te.placeholder((16,), "int32", name="A")
    return [
        A,
        te.compute(
            (16,),
            lambda j: (
                te.floordiv(A[j], 3)
                + te.floormod(A[j], 3)
                + te.truncdiv(A[j], 3)
                + te.truncmod(A[j], 3)
                + te.indexdiv(A[j], 5)
                + te.indexmod(A[j], 5)
                + te.div(A[j], 7)
            ),
            name="B",
        ),
    ]


@case
def divmod_const() -> Any:
    A = te.placeholder((16,), "float32", name="A")
    return [A, te.compute((4, 4), lambda i, j: A[te.floordiv(i * 4 + j, 1)] + A[te.indexmod(i * 4 + j, 16)], name="B")]


@case
def reshape_idx() -> Any:
    A = te.placeholder((4, 8), name="A")
    return [A, te.compute((32,), lambda i: A[i // 8, i % 8], name="B")]


@case
def conv() -> Any:
    A = te.placeholder((1, 3, 8, 8), name="A")
    W = te.placeholder((4, 3, 3, 3), name="W")
    P = te.compute(
        (1, 3, 10, 10),
        lambda n, c, h, w: te.if_then_else(te.all(h >= 1, h < 9, w >= 1, w < 9), A[n, c, h - 1, w - 1], 0.0),
        name="P",
    )
    rc = te.reduce_axis((0, 3), "rc")
    ry = te.reduce_axis((0, 3), "ry")
    rx = te.reduce_axis((0, 3), "rx")
    return [
        A,
        W,
        te.compute(
            (1, 4, 8, 8),
            lambda n, f, y, x: te.sum(P[n, rc, y + ry, x + rx] * W[f, rc, ry, rx], axis=[rc, ry, rx]),
            name="C",
        ),
    ]


@case
def axis_min() -> Any:
    A = te.placeholder((16,), name="A")
    k = te.reduce_axis((2, 10), "k")
    return [A, te.compute((1,), lambda i: te.sum(A[k] + i.astype("float32"), axis=k), name="B")]


@case
def fp16_sum() -> Any:
    A = te.placeholder((16, 4), "float16", name="A")
    k = te.reduce_axis((0, 4), "k")
    return [A, te.compute((16,), lambda i: te.sum(A[i, k].astype("float32"), axis=k), name="B")]


@case
def diamond() -> Any:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((16,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((16,), lambda i: B[i] - 3.0, name="D")
    return [A, te.compute((16,), lambda i: C[i] + D[i], name="E")]


@case
def two_outputs() -> Any:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((16,), lambda i: B[i] * 2.0, name="C")
    return [A, C, B]


@case
def out_first() -> Any:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1.0, name="B")
    return [B, A]


@case
def attrs() -> Any:
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1.0, name="B", attrs={"foo": 1, "bar": "x"})
    return [A, B]


@case
def layout_free() -> Any:
    A = te.placeholder((16, 16), name="A")
    W = te.placeholder((16, 16), name="W")
    k = te.reduce_axis((0, 16), "k")
    return [
        A,
        W,
        te.compute(
            (16, 16), lambda i, j: te.sum(A[i, k] * W[j, k], axis=k), name="B", attrs={"layout_free_placeholders": [W]}
        ),
    ]


@case
def tensor_arith() -> Any:
    A = te.placeholder((16, 4), name="A")
    B = te.placeholder((4,), name="B")
    return [A, B, (A + B) * 2.0 - B / A]


@case
def gather_() -> Any:
    A = te.placeholder((16, 4), name="A")
    I = te.placeholder((5,), "int32", name="I")
    return [A, I, te.compute((5, 4), lambda i, j: A[I[i], j], name="G")]


@case
def bool_logic() -> Any:
    A = te.placeholder((16,), "bool", name="A")
    B = te.placeholder((16,), "bool", name="B")
    return [A, B, te.compute((16,), lambda i: te.all(A[i], B[i]), name="G")]


@case
def minmax_const() -> Any:
    A = te.placeholder((16,), "int8", name="A")
    return [
        A,
        te.compute(
            (16,),
            lambda i: te.max(te.min(A[i].astype("int32"), te.max_value("int32")), te.min_value("int32")),
            name="G",
        ),
    ]


@case
def slice_() -> Any:
    A = te.placeholder((4, 5), name="A")
    return [A, te.compute((4, 5), lambda i, j: A[i][j] + 1.0, name="G")]


@case
def neg_cmp() -> Any:
    A = te.placeholder((4,), name="A")
    return [
        A,
        te.compute((4,), lambda i: -A[i], name="G"),
        te.compute((4,), lambda i: A[i] > 0.5, name="H"),
        te.compute((4,), lambda i: A[i] == 0.5, name="K"),
    ]


@case
def shifts() -> Any:
    A = te.placeholder((4,), "int32", name="A")
    return [A, te.compute((4,), lambda i: ((A[i] << 2) >> 1) & 7 | (A[i] ^ 3), name="G")]


@case
def unused_loop() -> Any:
    A = te.placeholder((4,), "int32", name="A")
    return [A, te.compute((1, 4), lambda i, j: A[j], name="G")]


@case
def const_body() -> Any:
    return [te.compute((4,), lambda i: tir.const(1.5, "float32"), name="G")]


@case
def index_body() -> Any:
    return [te.compute((4,), lambda i: i * 2 + 1, name="G")]


@case
def override() -> Any:
    A = te.placeholder((16, 24), name="A")
    k = te.reduce_axis((0, 24), name="k")
    return [A, te.compute((16,), lambda i: te.sum(A[i, k] * i.astype("float32"), axis=k), name="C")], "int64"


def text(name: str) -> str:
    result = PROGRAMS[name]()
    args, dtype = result if isinstance(result, tuple) else (result, None)
    func = te.create_prim_func(args, index_dtype_override=dtype)
    verify_module(ModuleOp([func.op]))
    return func.script()


def test_texts(golden: Callable[[str, str], None]) -> None:
    golden("te/programs.txt", "\n".join(f"# {name}\n{text(name)}" for name in PROGRAMS))


LEFT_OUT = {
    "trace": "a hook that calls back into Python for each element: write an extern with te.call_packed",
    "tag": "a module; te.tag_scope",
}
TVM_NAMES = (
    "CommReducer ComputeOp ExternOp PlaceholderOp Reduce ScanOp Tensor TensorSlice abs acos acosh all any asin asinh "
    "atan atanh ceil comm_reducer compute const cos cosh create_prim_func div erf exp extern extern_primfunc floor "
    "floordiv floormod fmod if_then_else indexdiv indexmod isfinite isinf isnan log log10 log2 logaddexp max "
    "max_value min min_value nearbyint operation placeholder popcount power prod reduce_axis round rsqrt scan "
    "sigmoid sin sinh size_var sqrt sum tag tag_scope tan tanh tensor thread_axis trace trunc truncdiv truncmod var "
)


def test_names() -> None:
    assert {n for n in TVM_NAMES.split() if not hasattr(te, n)} == set(LEFT_OUT)
