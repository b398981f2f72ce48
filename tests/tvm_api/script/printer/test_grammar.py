"""The grammar of what the printers write: each statement and expression, with each option, is read again as it was."""

from __future__ import annotations

import pytest

import tirax.tvm_api as tvm
from tirax.tvm_api.script import from_source
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R
from tirax.tvm_api.script import tir as T

STATEMENTS = r"""
## store
A[0] = T.float32(1)
## serial
for i in range(4):
    A[i] = T.float32(1)
## serial_from
for i in range(2, 4):
    A[i] = T.float32(1)
## annotated
for i in T.serial(4, annotations={"a": 1, "b": "c"}):
    A[i] = T.float32(1)
## parallel
for i in T.parallel(4):
    A[i] = T.float32(1)
## vectorized
for i in T.vectorized(4):
    A[i] = T.float32(1)
## unroll
for i in T.unroll(4):
    A[i] = T.float32(1)
## thread
for i in T.thread_binding(4, thread="threadIdx.x"):
    A[i] = T.float32(1)
## grid
for i, j in T.grid(4, 4):
    A[i] = A[j]
## grid_block
for i, j in T.grid(4, 4):
    with T.block("B"):
        vi, vj = T.axis.remap("SR", [i, j])
        T.reads(A[vj])
        T.writes(B[vi])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vj]
## block_attr
with T.block("B"):
    vi = T.axis.opaque(4, 0)
    T.where(n < 3)
    T.reads()
    T.writes(A[vi])
    T.block_attr({"x": [1, 2], "y": {"z": 1.5}})
    A[vi] = T.float32(2)
## block_alloc
with T.block("B"):
    T.reads()
    T.writes(A[0:4])
    C = T.alloc_buffer((4,), scope="local")
    D = T.match_buffer(A[0:2], (2,), offset_factor=1)
    C[0] = T.float32(2)
    D[0] = C[0]
## scan
for i in range(4):
    with T.block("B"):
        vi = T.axis.scan(4, i)
        T.reads()
        T.writes(A[vi])
        A[vi] = T.float32(1)
## if
if A[0] > T.float32(0):
    A[1] = T.float32(1)
## ifelse
if A[0] > T.float32(0):
    A[1] = T.float32(1)
else:
    A[1] = T.float32(2)
## while
while A[0] < T.float32(3):
    A[0] = A[0] + T.float32(1)
## let
x: T.int32 = n + 1
A[x] = T.float32(1)
## let_scope
with T.LetStmt(n + 1) as x:
    A[x] = T.float32(1)
A[0] = T.float32(2)
## assert
assert n > 0, "positive"
A[0] = T.float32(1)
## assert_scope
with T.Assert(n > 0, "positive"):
    A[0] = T.float32(1)
A[1] = T.float32(1)
## attr
T.attr(A.data, "key", 1)
A[0] = T.float32(1)
## attr_scope
with T.attr(0, "key", "value"):
    A[0] = T.float32(1)
A[1] = T.float32(1)
## launch
threadIdx_x = T.launch_thread("threadIdx.x", 4)
A[threadIdx_x] = T.float32(1)
## launch_scope
with T.launch_thread("threadIdx.x", 4) as t:
    A[t] = T.float32(1)
A[0] = T.float32(1)
## allocate
C = T.allocate([4], "float32", "global")
C_1 = T.decl_buffer((4,), data=C)
C_1[0] = T.float32(1)
## allocate_scope
with T.allocate([4], "float32", "global") as C:
    C_1 = T.Buffer((4,), data=C)
    C_1[0] = T.float32(1)
A[0] = T.float32(1)
## allocate_const
C = T.allocate_const([1.0, 2.0], "float32", [2])
C_1 = T.Buffer((2,), data=C)
A[0] = C_1[0]
## decl
C = T.decl_buffer((4,), data=A.data)
C[0] = T.float32(1)
## evaluate
T.evaluate(n)
## call
T.call_extern("int32", "f", n)
## packed
T.call_packed("f", n, A.data)
## ramp
A[0:4] = T.Broadcast(T.float32(1), 4)
## ramp2
A[T.Ramp(0, 2, 2)] = T.Broadcast(T.float32(1), 2)
"""
EXPRESSIONS = r"""
n + 1
n - m
n * m
n // m
n % m
T.truncdiv(n, m)
T.truncmod(n, m)
T.min(n, m)
T.max(n, m)
T.Select(n < m, n, m)
T.if_then_else(n < m, n, m)
T.Cast("int32", T.Cast("int64", n))
T.bitwise_and(n, m)
T.bitwise_or(n, m)
T.bitwise_xor(n, m)
T.bitwise_not(n)
T.shift_left(n, 1)
T.shift_right(n, 1)
T.Let(x + 1, where={x: n})
T.Cast("int32", n < m)
T.Cast("int32", n == m and m != 1 or not n > m)
T.call_extern("int32", "f", n)
T.abs(n)
-n
T.popcount(n)
T.int64(3) + T.Cast("int64", n)
T.likely(n < m)
T.Cast("int32", T.float16(1.5))
T.Cast("int32", T.exp(T.float32(2)))
T.Cast("int32", T.fma(T.float32(1), T.float32(2), T.float32(3)))
T.uint8(200)
T.bool(True)
T.float64(1e300)
T.float32("inf")
T.float32("nan")
T.Shuffle([T.Broadcast(n, 2)], [1])
T.reinterpret("int32", T.float32(1))
T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 4, 1)
T.address_of(A[0])
T.StringImm("a\"b")
"""
RELAX = r"""
## op
y = R.add(x, x)
return y
## dataflow
with R.dataflow():
    a = R.exp(x)
    b = R.sin(a)
    R.output(b)
return b
## dataflow2
with R.dataflow():
    a = R.exp(x)
    b = R.sin(a)
    R.output(a, b)
return (a, b)
## if
c = R.const(True, "bool")
if c:
    z = R.exp(x)
else:
    z = R.sin(x)
return z
## tuple
t = (x, R.const(1))
u = t[0]
return u
## tuple1
t = (x,)
return t
## emptytuple
t = R.tuple()
return t
## match_cast
y = R.match_cast(x, R.Tensor((2, 3), "float32"))
return y
## match_sym
k = T.int64()
l = T.int64()
y = R.match_cast(x, R.Tensor((k, l), "float32"))
return y
## scalar
y = R.const(1.5, "float16")
return y
## shape
s = R.shape([1, n, n * 2])
return s
## prim
s = R.prim_value(n)
return s
## str
s = R.str("a")
return s
## dtype
s = R.dtype("int8")
return s
## call_dps
y = R.call_dps_packed("f", (x,), out_sinfo=R.Tensor((n, 3), "float32"))
return y
## call_packed
y = R.call_packed("f", x, sinfo_args=(R.Tensor((n, 3), "float32"),))
return y
## call_pure
y = R.call_pure_packed("f", x, sinfo_args=(R.Tensor(ndim=2),))
return y
## closure
@R.function
def inner(z: R.Tensor((n, 3), "float32")) -> R.Tensor((n, 3), "float32"):
    w: R.Tensor((n, 3), "float32") = R.add(z, x)
    return w
y = inner(x)
return y
## print
R.print(x, format="{}")
return x
## assert
R.assert_op(R.const(True, "bool"), x, format="{}")
return x
## object
y: R.Object = x
return y
## extern
f = R.ExternFunc("g")
y = R.call_dps_packed(f, (x,), out_sinfo=R.Tensor((n, 3), "float32"))
return y
"""
HEAD = """@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (4,))
    B = T.match_buffer(b, (4,))
"""

IMPURE = ("call_packed", "print", "assert")
OPTIONS = (
    {"syntax_sugar": False},
    {"show_meta": True},
    {"tir_prefix": "X", "relax_prefix": "Y", "ir_prefix": "Z"},
    {"int_dtype": "int64"},
    {"float_dtype": "float32"},
    {"module_alias": "me"},
    {"show_all_struct_info": False},
    {"indent_spaces": 2},
    {"name": "Other"},
    {"verbose_expr": True},
)


def _lines(text):
    return "".join(f"    {line}\n" for line in text.strip().split("\n"))


def _sections(text):
    """Return the name and the text of each section."""
    return [(head.strip(), _lines(body)) for head, _, body in (s.partition("\n") for s in text.split("## ")[1:])]


def _relax(name, lines):
    decorator = "@R.function(pure=False)" if name in IMPURE else "@R.function"
    return f'{decorator}\ndef main(x: R.Tensor(("n", 3), "float32")):\n    n = T.int64()\n{lines}'


PROGRAMS = {
    **{f"statement {name}": HEAD + lines for name, lines in _sections(STATEMENTS)},
    **{
        f"expression {text}": HEAD + ("    x = T.int32()\n" if "where" in text else "") + _lines(f"T.evaluate({text})")
        for text in EXPRESSIONS.strip().split("\n")
    },
    **{f"relax {name}": _relax(name, lines) for name, lines in _sections(RELAX)},
}


def _again(text):
    return from_source(text, extra_vars={"X": T, "Y": R, "Z": I}, check_well_formed=False)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_printed_is_read_again(name):
    """A function without options, and a module with one: the programs take turns in them."""
    func = _again(PROGRAMS[name])
    one = OPTIONS[list(PROGRAMS).index(name) % len(OPTIONS)]
    for printed, options in ((func, {}), (tvm.IRModule({"main": func}), one)):
        text = printed.script(**options)
        again = _again(text)
        tvm.ir.assert_structural_equal(again, printed)
        assert again.script(**options) == text


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: next(iter(options)))
@pytest.mark.parametrize("name", ["statement grid_block", "relax dataflow2"])
def test_options(name, options):
    func = _again(PROGRAMS[name])
    tvm.ir.assert_structural_equal(_again(func.script(**options)), func)
