"""TIR functions as TVMScript: each statement and expression."""

from __future__ import annotations

from io import StringIO

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer

from tirax.diagnostics import UnsupportedError
from tirax.dialects.names import set_name
from tirax.dialects.relax import Relax
from tirax.dialects.sym import Sym
from tirax.dialects.tir import Tir
from tirax.script import parse_function
from tirax.script.printer import print_script

HEADER = "# from tvm.script import tir as T\n\n"


def function_of(text: str) -> Operation:
    context = Context()
    for dialect in (Builtin, Sym, Relax, Tir, Arith):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    (func,) = module.body.block.ops
    return func


def body_of(
    body: str, params: str = "%A: !tir.buffer<[16, 16], f32>, %n: i32, %h: !tir.handle", **options: object
) -> str:
    """The printed body of a function with a `body` in MLIR text, without indentation."""
    text = print_script(function_of(f"tir.func @main({params}) {{\n{body}\n}}"), **options)
    lines = text.split("):\n", 1)[1].split("\n")
    return "\n".join(line[4:] for line in lines)


MATMUL = """tir.func private @matmul(%x: !tir.buffer<[n, 784], f32>, %w: !tir.buffer<[784, 128], f32>,
    %matmul: !tir.buffer<[n, 128], f32>) attributes {tir.noalias = true, op_pattern = 4 : i64} {
  tir.for %i0 = 0 to n {
    tir.for %i1 = 0 to 128 {
      tir.for %k = 0 to 784 {
        tir.block "matmul" (%v_i0 = spatial(%i0, n), %v_i1 = spatial(%i1, 128), %v_k = reduce(%k, 784)) {
          tir.reads %x[%v_i0, %v_k]
          tir.reads %w[%v_k, %v_i1]
          tir.writes %matmul[%v_i0, %v_i1]
          tir.init {
            %z = tir.const 0.0 : f32
            tir.store %z, %matmul[%v_i0, %v_i1]
          }
          %0 = tir.load %matmul[%v_i0, %v_i1] : f32
          %1 = tir.load %x[%v_i0, %v_k] : f32
          %2 = tir.load %w[%v_k, %v_i1] : f32
          %3 = tir.mul %1, %2 : f32
          %4 = tir.add %0, %3 : f32
          tir.store %4, %matmul[%v_i0, %v_i1]
        }
      }
    }
  }
}"""


def test_the_matmul_of_the_tutorials() -> None:
    assert print_script(function_of(MATMUL)) == HEADER + (
        """@T.prim_func(private=True)
def main(var_x: T.handle, w: T.Buffer((T.int64(784), T.int64(128)), "float32"), var_matmul: T.handle):
    T.func_attr({"op_pattern": 4, "tir.noalias": T.bool(True)})
    n = T.int64()
    x = T.match_buffer(var_x, (n, T.int64(784)))
    matmul = T.match_buffer(var_matmul, (n, T.int64(128)))
    # with T.block("root"):
    for i0, i1, k in T.grid(n, T.int64(128), T.int64(784)):
        with T.block("matmul"):
            v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
            T.reads(x[v_i0, v_k], w[v_k, v_i1])
            T.writes(matmul[v_i0, v_i1])
            with T.init():
                matmul[v_i0, v_i1] = T.float32(0.0)
            matmul[v_i0, v_i1] = matmul[v_i0, v_i1] + x[v_i0, v_k] * w[v_k, v_i1]"""
    )


def test_without_sugar() -> None:
    printed = print_script(function_of(MATMUL), syntax_sugar=False)
    assert '    with T.block("root"):\n        T.reads()\n        T.writes()\n' in printed
    assert "        for i0 in range(n):\n            for i1 in range(T.int64(128)):\n" in printed
    assert "v_i0 = T.axis.spatial(n, i0)\n" in printed
    assert "v_k = T.axis.reduce(T.int64(784), k)\n" in printed


def test_variables_are_declared_where_a_buffer_first_needs_them() -> None:
    func = function_of(
        """tir.func @linear0(%X: !tir.buffer<[1 : i32, m], f32>, %W: !tir.buffer<[n, m], f16>,
        %B: !tir.buffer<[n], f32>)
        handles ["x", "w", "b"] {
          %Y = tir.alloc_buffer : !tir.buffer<[1 : i32, n], f32>
          %Z = tir.alloc_buffer : !tir.buffer<[n], f32, scope = "shared">
        }"""
    )
    assert print_script(func) == HEADER + (
        """@T.prim_func
def linear0(x: T.handle, w: T.handle, b: T.handle):
    m = T.int64()
    X = T.match_buffer(x, (1, m))
    n = T.int64()
    W = T.match_buffer(w, (n, m), "float16")
    B = T.match_buffer(b, (n,))
    # with T.block("root"):
    Y = T.alloc_buffer((1, n))
    Z = T.alloc_buffer((n,), scope="shared")
    T.evaluate(0)"""
    )


def test_sizes_that_a_buffer_is_the_first_to_have_are_declared_on_one_line() -> None:
    dims = ("n, n, m", "n, k + 1, j", "j, k")
    params = ", ".join(f"%{name}: !tir.buffer<[{d}], f32>" for name, d in zip("ABC", dims, strict=True))
    lines = [line.strip() for line in print_script(function_of(f"tir.func @main({params}) {{\n}}")).splitlines()]
    assert [line for line in lines if line.endswith("T.int64()")] == [
        "n, m = T.int64(), T.int64()",
        "k = T.int64()",
        "j = T.int64()",
    ]
    assert lines.index("k = T.int64()") == lines.index("A = T.match_buffer(var_A, (n, n, m))") + 1


def test_a_scalar_parameter_is_the_variable_of_its_name() -> None:
    func = function_of("tir.func @full(%T_full: !tir.buffer<[n + 1], f32>, %n: i64) -> i32 {\n}")
    assert print_script(func) == HEADER + (
        """@T.prim_func
def full(var_T_full: T.handle, n: T.int64) -> T.int32:
    T_full = T.match_buffer(var_T_full, (n + T.int64(1),))
    T.evaluate(0)"""
    )


STRIDED = """tir.func @f(%A: !tir.buffer<[n], f32, strides = [s], broadcast = true>,
    %B: !tir.buffer<[n], f32, strides = [s]>, %C: !tir.buffer<[n], f32, strides = [t * 2]>,
    %D: !tir.buffer<[n, n], f32, strides = [u, u]>) {
}"""


def test_strides_define_variables() -> None:
    lines = print_script(function_of(STRIDED)).split("\n")[4:]
    assert lines == [
        "    n = T.int64()",
        '    A = T.match_buffer(var_A, (n,), strides=("s",), buffer_type="auto")',
        "    B = T.match_buffer(var_B, (n,), strides=(A.strides[0],))",
        "    t = T.int64()",
        "    C = T.match_buffer(var_C, (n,), strides=(t * T.int64(2),))",
        "    u = T.int64()",
        "    D = T.match_buffer(var_D, (n, n), strides=(u, u))",
        "    T.evaluate(0)",
    ]


def test_what_strides_define_is_read_again() -> None:
    func = function_of(STRIDED)
    again = parse_function(print_script(func))
    assert [p.type for p in again.params] == [p.type for p in func.params]


def test_a_stride_of_another_type_than_the_extents_is_declared() -> None:
    func = function_of("tir.func @f(%A: !tir.buffer<[n], f32, strides = [s : i32]>) {\n}")
    lines = print_script(func).split("\n")[4:]
    assert lines[:3] == ["    n = T.int64()", "    s = T.int32()", "    A = T.match_buffer(var_A, (n,), strides=(s,))"]


def test_a_stride_of_a_window_is_declared_in_each_block() -> None:
    window = """tir.block "%s" () {
      tir.reads %%A[%%0 : 4, %%0 : 4]
      tir.writes %%A[%%0 : 4, %%0 : 4]
      %%W = tir.match_buffer %%A[%%0 : 4, %%0 : 4] : !tir.buffer<[4, 4], f32, strides = [s, 1]>
    }"""
    body = f"%0 = tir.const 0 : i32\n{window % 'a'}\n{window % 'b'}".replace("%%", "%")
    assert body_of(body).count('strides=("s", T.int64(1))') == 2


@pytest.mark.parametrize(
    ("layout", "shown"),
    [
        ("", ""),
        (", elem_offset=0, offset_factor=1", ""),
        (", elem_offset=4, offset_factor=1", ", elem_offset=4"),
        (", offset_factor=1", ", offset_factor=1"),
        (", offset_factor=8", ", offset_factor=8"),
    ],
)
def test_a_factor_alone_is_an_offset_that_is_not_known(layout: str, shown: str) -> None:
    body = f"    A = T.match_buffer(a, (4,){layout})\n    A[0] = T.float32(1)\n"
    func = parse_function("@T.prim_func\ndef main(a: T.handle):\n" + body)
    expected = f"    A = T.match_buffer(a, (4,){shown})" if shown else 'def main(A: T.Buffer((4,), "float32")):'
    assert expected in print_script(func).split("\n")
    mlir = StringIO()
    Printer(mlir).print_op(func)
    assert function_of(mlir.getvalue()).params[0].type == func.params[0].type


def test_a_declared_buffer_is_where_its_address_points() -> None:
    body = "    A = T.decl_buffer((4,), data=p)\n    B = T.decl_buffer((4,), data=q)\n    A[0] = B[0]\n"
    head = '@T.prim_func\ndef main(p: T.handle("float32", "shared"), q: T.handle("float32")):\n'
    lines = print_script(parse_function(head + body)).split("\n")
    assert '    A = T.decl_buffer((4,), data=p, scope="shared")' in lines
    assert "    B = T.decl_buffer((4,), data=q)" in lines


def test_a_buffer_with_a_layout_is_matched() -> None:
    func = function_of(
        """tir.func @f(%A: !tir.buffer<[4, 4], f32, strides = [s, 1], offset = o, scope = "local", align = 128,
        factor = 8, separators = [1]>, %s: i32, %x: f32) {
        }"""
    )
    assert print_script(func).split("\n")[3:] == [
        "def f(var_A: T.handle, s: T.int32, x: T.float32):",
        "    o = T.int64()",
        "    A = T.match_buffer(var_A, (T.int64(4), T.int64(4)), strides=(s, T.int64(1)), elem_offset=o, "
        'scope="local", align=128, offset_factor=8, axis_separators=[1])',
        "    T.evaluate(0)",
    ]


@pytest.mark.parametrize(
    ("mlir", "script"),
    [
        ("tir.for %i = 0 to 4 : i32 {}", "for i in range(4):"),
        ("tir.for %i = 0 to 4 {}", "for i in range(T.int64(4)):"),
        ("tir.for %i = 2 : i32 for 4 : i32 {}", "for i in range(2, 6):"),
        ("tir.for %i = 0 for %n annotations {pragma = 1 : i32, b = true} {}", None),
        ("tir.for parallel %i = 0 to 4 : i32 {}", "for i in T.parallel(4):"),
        ("tir.for vectorized %i = 0 to 4 : i32 {}", "for i in T.vectorized(4):"),
        ("tir.for unrolled %i = 0 to 4 : i32 {}", "for i in T.unroll(4):"),
        (
            'tir.for thread_binding("threadIdx.x") %i = 0 to 4 : i32 {}',
            'for i in T.thread_binding(4, thread="threadIdx.x"):',
        ),
        ("tir.for %i = %n for 4 : i32 {}", "for i in range(n, n + 4):"),
        ("tir.for %i = %n for %n {}", "for i in range(n, n + n):"),
    ],
)
def test_loops(mlir: str, script: str | None) -> None:
    expected = script or 'for i in T.serial(n, annotations={"b": T.bool(True), "pragma": 1}):'
    assert body_of(mlir) == f"{expected}\n    T.evaluate(0)"


def test_a_grid_ends_where_an_extent_depends_on_a_loop() -> None:
    printed = body_of(
        """tir.for %i = 0 to 4 : i32 {
          tir.for %j = 0 to 8 : i32 {
            %e = tir.add %i, %n : i32
            tir.for %k = 0 for %e {
              %c = tir.const 1 : i32
              tir.for %l = 0 for %c {
                tir.evaluate %l : i32
              }
            }
          }
        }"""
    )
    assert printed == (
        """for i, j in T.grid(4, 8):
    for k, l in T.grid(i + n, 1):
        T.evaluate(l)"""
    )


def test_names_are_free_again_after_their_scope() -> None:
    func = function_of(
        """tir.func @main(%i: i32) {
          tir.for %j = 0 to 4 : i32 { tir.for %j.2 = 0 to 4 : i32 { tir.evaluate %j.2 : i32 } tir.evaluate %i : i32 }
          tir.for %j = 0 to 4 : i32 { tir.evaluate %j : i32 }
        }"""
    )
    loops = [op for op in func.walk() if op.name == "tir.for"]
    set_name(loops[1].body.block.args[0], "j")
    assert print_script(func).split("\n")[4:] == [
        "    for j in range(4):",
        "        for j_1 in range(4):",
        "            T.evaluate(j_1)",
        "        T.evaluate(i)",
        "    for j in range(4):",
        "        T.evaluate(j)",
    ]


def test_block_iterators_that_are_no_plain_loops() -> None:
    printed = body_of(
        """tir.for %i = 0 to 4 : i32 {
          tir.for %j = 0 to 4 : i32 {
            %c = tir.const 3 : i32
            %0 = tir.mul %i, %c : i32
            %1 = tir.add %0, %j : i32
            %8 = tir.const 8 : i32
            %p = tir.lt %1, %8 : i32
            tir.block "b" (%va = spatial(%i, 4 : i32), %vb = spatial(%j, 4 : i32), %v = spatial(%1, 8 : i32),
                %vo = opaque(%i, 4 : i32), %vs = scan(%j, [1 : i32, 3 : i32]), %w = reduce(%j, 4 : i32)) where %p
                annotations {tiled = 1 : i32} {
              tir.reads %A[%va, %v : 4 : i32]
              %f = tir.const 1.0 : f32
              %z = tir.const 0 : i32
              tir.writes %A[%z : 4 : i32, %z : n : i32]
              %T = tir.alloc_buffer : !tir.buffer<[4], f32>
              %M = tir.match_buffer %A[%va : 1 : i32, %z : 16 : i32] : !tir.buffer<[16], f32>
              tir.store %f, %A[%va, %v]
              tir.init { tir.store %f, %A[%va, %z] }
            }
          }
        }"""
    )
    assert printed == (
        """# with T.block("root"):
for i, j in T.grid(4, 4):
    with T.block("b"):
        va, vb = T.axis.remap("SS", [i, j])
        v = T.axis.spatial(8, i * 3 + j)
        vo = T.axis.opaque(4, i)
        vs = T.axis.scan((1, 4), j)
        w = T.axis.reduce(4, j)
        T.where(i * 3 + j < 8)
        T.reads(A[va, v:v + 4])
        T.writes(A[0:4, 0:n])
        T.block_attr({"tiled": 1})
        T_1 = T.alloc_buffer((T.int64(4),))
        M = T.match_buffer(A[va, 0:16], (T.int64(16),))
        with T.init():
            A[va, 0] = T.float32(1.0)
        A[va, v] = T.float32(1.0)"""
    )


def test_a_function_that_is_a_block_has_no_other_around_it() -> None:
    printed = body_of('tir.block "only" () {\n tir.evaluate %n : i32\n}')
    assert printed == 'with T.block("only"):\n    T.reads()\n    T.writes()\n    T.evaluate(n)'


BINARY = [
    ("add", "add", "a + b + c", "a + (b + c)"),
    ("sub", "sub", "a - b - c", "a - (b - c)"),
    ("add", "mul", "(a + b) * c", "a * (b + c)"),
    ("mul", "add", "a * b + c", "a + b * c"),
    ("floordiv", "floormod", "a // b % c", "a % (b // c)"),
    ("min", "max", "T.max(T.min(a, b), c)", "T.max(a, T.min(b, c))"),
    ("div", "truncmod", "T.truncmod(T.Div(a, b), c)", "T.truncmod(a, T.Div(b, c))"),
]


@pytest.mark.parametrize(("inner", "outer", "left", "right"), BINARY)
def test_parentheses_stand_where_they_are_needed(inner: str, outer: str, left: str, right: str) -> None:
    printed = body_of(
        f"""%0 = tir.{inner} %a, %b : i32
        %1 = tir.{outer} %0, %c : i32
        tir.evaluate %1 : i32
        %2 = tir.{inner} %b, %c : i32
        %3 = tir.{outer} %a, %2 : i32
        tir.evaluate %3 : i32""",
        "%a: i32, %b: i32, %c: i32",
    )
    assert printed == f"T.evaluate({left})\nT.evaluate({right})"


def test_conditions() -> None:
    printed = body_of(
        """%0 = tir.lt %a, %b : i32
        %1 = tir.eq %a, %b : i32
        %2 = tir.and %0, %1 : i1
        %3 = tir.or %0, %2 : i1
        %4 = tir.and %3, %2 : i1
        %5 = tir.not %4 : i1 -> i1
        %6 = tir.not %0 : i1 -> i1
        %7 = tir.and %5, %6 : i1
        %8 = tir.eq %0, %1 : i1
        tir.evaluate %4 : i1
        tir.evaluate %7 : i1
        tir.evaluate %8 : i1""",
        "%a: i32, %b: i32",
    )
    assert printed.split("\n") == [
        "T.evaluate((a < b or a < b and a == b) and (a < b and a == b))",
        "T.evaluate(not ((a < b or a < b and a == b) and (a < b and a == b)) and not a < b)",
        "T.evaluate((a < b) == (a == b))",
    ]


@pytest.mark.parametrize(
    ("mlir", "script"),
    [
        ("tir.const 3 : i32", "3"),
        ("tir.const -3 : i32", "-3"),
        ("tir.const 3 : i64", "T.int64(3)"),
        ("tir.const 3 : i8", "T.int8(3)"),
        ("tir.const true", "T.bool(True)"),
        ("tir.const 1.5 : f64", "T.float64(1.5)"),
        ("tir.const 0x7F800000 : f32", 'T.float32("inf")'),
        ("tir.cast %n : i32 -> f32", 'T.Cast("float32", n)'),
        ("tir.select %p, %n, %n : i32", "T.Select(p, n, n)"),
        ("tir.ramp %n, %n : i32, i32 -> vector<4xi32>", "T.Ramp(n, n, 4)"),
        ("tir.broadcast %n : i32 -> vector<4xi32>", "T.Broadcast(n, 4)"),
        ("tir.load %A[] : f32", "A[()]"),
        ('tir.call_intrin "bitwise_and"(%n, %n) : i32', None),
        ("sym.value n : i32 * 2 - 1", "n * 2 - 1"),
    ],
)
def test_expressions(mlir: str, script: str | None) -> None:
    context = Context()
    for dialect in (Builtin, Sym, Relax, Tir):
        context.load_dialect(dialect)
    text = f"tir.func @f(%A: !tir.buffer<[], f32>, %n: i32, %p: i1) {{\n%0 = {mlir}\n}}"
    (func,) = Parser(context, text).parse_module().body.block.ops
    block = func.regions[0].block
    from tirax.dialects import tir

    assert block.last_op is not None
    block.add_op(tir.EvaluateOp(block.last_op.results[0]))
    expected = "T.bitwise_and(n, n)" if script is None else f"T.evaluate({script})"
    assert print_script(func).split("\n")[-1] == f"    {expected}"


@pytest.mark.parametrize(
    ("mlir", "script"),
    [
        ('tir.call_intrin "exp"(%x) : f32', "T.exp(x)"),
        ('tir.call_intrin "likely"(%p) : i1', "T.likely(p)"),
        ('tir.call_intrin "shift_left"(%n, %n) : i32', "T.shift_left(n, n)"),
        ('tir.call_intrin "bitwise_not"(%n) : i32', "T.bitwise_not(n)"),
        ('tir.call_extern "sinf"(%x, %s) : f32', 'T.call_extern("float32", "sinf", x, "text")'),
        ('tir.call_packed "f"(%n) : i32', 'T.call_packed("f", n)'),
        ('tir.call_llvm_intrin "llvm.fabs"(%x) : f32', 'T.call_llvm_pure_intrin("float32", "llvm.fabs", x)'),
        ("tir.reinterpret %n : i32 -> f32", 'T.reinterpret("float32", n)'),
        (
            "tir.if_then_else %p { tir.yield %x : f32 } else { %v = tir.load %A[%n] : f32 tir.yield %v : f32 }",
            "T.if_then_else(p, x, A[n])",
        ),
    ],
)
def test_calls_are_statements_by_themselves(mlir: str, script: str) -> None:
    result = mlir.rsplit(" ", 1)[1] if "yield" not in mlir else "f32"
    printed = body_of(
        f'%s = tir.string "text"\n%0 = {mlir}\ntir.evaluate %0 : {result}',
        "%A: !tir.buffer<[16], f32>, %x: f32, %n: i32, %p: i1",
    )
    assert printed == script


def test_what_reading_would_fold_prints_as_a_call() -> None:
    printed = body_of(
        """%z = tir.const 0 : i32
        %o = tir.const 1 : i32
        %0 = tir.add %n, %z : i32
        %1 = tir.mul %o, %n : i32
        %2 = tir.sub %z, %n : i32
        %3 = tir.lt %z, %o : i32
        tir.evaluate %0 : i32
        tir.evaluate %1 : i32
        tir.evaluate %2 : i32
        tir.evaluate %3 : i1"""
    )
    assert printed.split("\n") == [
        "T.evaluate(T.Add(n, 0))",
        "T.evaluate(T.Mul(1, n))",
        "T.evaluate(0 - n)",
        "T.evaluate(T.LT(0, 1))",
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [("min", "T.Min(7, 3)"), ("max", "T.Max(7, 3)"), ("truncmod", "T.Mod(7, 3)"), ("div", "T.Div(7, 3)")],
)
def test_constants_that_reading_would_compute_print_as_nodes(name: str, text: str) -> None:
    constants = "%a = tir.const 7 : i32\n%b = tir.const 3 : i32\n"
    assert (
        body_of(f"{constants}%c = tir.{name} %a, %b : i32\ntir.evaluate %c : i32", "%n: i32") == f"T.evaluate({text})"
    )


def test_vector_accesses_are_slices() -> None:
    printed = body_of(
        """%four = tir.const 4 : i32
        %one = tir.const 1 : i32
        %zero = tir.const 0 : i32
        %b = tir.mul %n, %four : i32
        %r = tir.ramp %b, %one : i32, i32 -> vector<4xi32>
        %s = tir.ramp %zero, %one : i32, i32 -> vector<4xi32>
        %t = tir.ramp %n, %four : i32, i32 -> vector<4xi32>
        %v = tir.load %A[%n, %r] : vector<4xf32>
        tir.store %v, %A[%zero, %s]
        tir.store %v, %A[%zero, %t]"""
    )
    assert printed == "A[0, 0:4] = A[n, n * 4:n * 4 + 4]\nA[0, n:n + 16:4] = A[n, n * 4:n * 4 + 4]"


def test_statements() -> None:
    printed = body_of(
        """%0 = tir.add %n, %n : i32
        %x = tir.let %0 : i32 -> i32
        %c = tir.lt %x, %n : i32
        tir.if %c { tir.evaluate %x : i32 } else { tir.evaluate %n : i32 }
        tir.while { %w = tir.gt %x, %n : i32 tir.yield %w : i1 } do { tir.evaluate %x : i32 }
        tir.assert %c, "message"
        tir.attr "key" %x { tir.evaluate %n : i32 }
        %d = tir.decl_buffer %h : !tir.buffer<[4], f16>
        %e = tir.buffer_data %d
        %k = tir.alloc_const <f32 [2] [1.0, 2.0]>
        %l = tir.call_extern "f"(%e) : i32
        tir.evaluate %l : i32
        tir.attr "last" %n {
          tir.return %x : i32
        }""".replace("tir.return %x : i32", "tir.evaluate %x : i32")
    )
    assert printed == (
        """x: T.int32 = n + n
if x < n:
    T.evaluate(x)
else:
    T.evaluate(n)
while x > n:
    T.evaluate(x)
assert x < n, "message"
with T.attr(0, "key", x):
    T.evaluate(n)
d = T.decl_buffer((T.int64(4),), "float16", data=h)
k = T.allocate_const([1.0, 2.0], "float32", [2])
T.call_extern("int32", "f", d.data)
T.attr(0, "last", n)
T.evaluate(x)"""
    )


NOTHING = "%0 = tir.const 0 : i32 tir.evaluate %0 : i32"


@pytest.mark.parametrize(
    ("body", "script"),
    [
        (NOTHING, "T.evaluate(0)"),
        ("%0 = tir.const false\ntir.evaluate %0 : i1", "T.evaluate(T.bool(False))"),
        (f"tir.evaluate %n : i32\n{NOTHING}", "T.evaluate(n)"),
        (f"%x = tir.let %n : i32 -> i32\n{NOTHING}", "x: T.int32 = n\nT.evaluate(0)"),
        ("%x = tir.let %n : i32 -> i32", "x: T.int32 = n\nT.evaluate(0)"),
        ('%c = tir.eq %n, %n : i32\ntir.assert %c, "m"', 'assert n == n, "m"\nT.evaluate(0)'),
        ("%p = tir.allocate [4] f32", 'p = T.allocate([T.int64(4)], "float32", "global")\nT.evaluate(0)'),
    ],
)
def test_nothing_is_printed_where_there_is_nothing_else(body: str, script: str) -> None:
    assert body_of(body) == script


def test_a_returned_value() -> None:
    assert body_of("tir.return %n : i32", "%n: i32") == "return n"


def test_deep_expressions_need_no_stack() -> None:
    chain = "\n".join(f"%v{i + 1} = tir.add %v{i}, %n : i32" for i in range(3000))
    printed = body_of(f"%v0 = tir.mul %n, %n : i32\n{chain}\ntir.evaluate %v3000 : i32")
    assert printed == f"T.evaluate(n * n{' + n' * 3000})"


def test_an_expression_that_explodes_is_refused() -> None:
    doubled = "\n".join(f"%v{i + 1} = tir.add %v{i}, %v{i} : i32" for i in range(60))
    with pytest.raises(UnsupportedError, match="give what is used often a name with tir.let"):
        body_of(f"%v0 = tir.mul %n, %n : i32\n{doubled}\ntir.evaluate %v60 : i32")


def test_the_default_types_can_be_chosen() -> None:
    body = "%0 = tir.const 1 : i64\n%1 = tir.const 2 : i32\ntir.evaluate %0 : i64\ntir.evaluate %1 : i32"
    assert body_of(body, int_dtype="int64") == "T.evaluate(1)\nT.evaluate(T.int32(2))"
    body = "%0 = tir.const 1.0 : f32\ntir.evaluate %0 : f32"
    assert body_of(body, float_dtype="float32") == "T.evaluate(1.0)"


def test_an_op_without_a_form_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="arith.constant has no form in TVMScript"):
        body_of("%c = arith.constant 1 : i32")


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (3.4028234663852886e38, "f32", "T.float32(340282346638528859811704183484516925440.0)"),
        (-0.0, "f32", "T.float32(-0.0)"),
        (1e10, "f64", "T.float64(10000000000.0)"),
        (1 / 120, "f32", "T.float32(0.0083333333333333332)"),
        (-1 / 3, "f16", "T.float16(-0.33333333333333331)"),
        (0.0083333337679505348, "f64", "T.float64(0.0083333337679505348)"),
    ],
)
def test_floats(value: float, dtype: str, text: str) -> None:
    assert body_of(f"%c = tir.const {value:.17e} : {dtype}\ntir.evaluate %c : {dtype}").endswith(f"T.evaluate({text})")


def test_names_at_the_end_have_a_statement_after_them() -> None:
    name = "%0 = tir.const 1 : i64\n%x = tir.let %0 : i64 -> i64"
    assert body_of(name) == "x: T.int64 = T.int64(1)\nT.evaluate(0)"
    assert body_of(f"{name}\ntir.evaluate %x : i64") == "x: T.int64 = T.int64(1)\nT.evaluate(x)"


def test_floats_of_annotations() -> None:
    loop = "tir.for %i = 0 to 8 annotations {a = 0.1 : f64} {\n%0 = tir.const 1 : i64\ntir.evaluate %0 : i64\n}"
    assert "T.float32(0.10000000000000001)" in body_of(loop)


def test_no_variable_is_called_as_what_scripts_import() -> None:
    for name in ("T", "R", "I"):
        text = print_script(function_of(f"tir.func @main(%{name}: !tir.buffer<[4], f32>) {{}}"))
        assert f"main({name}_1: T.Buffer(" in text


@pytest.mark.parametrize(("annotation", "shown"), [("", ""), (" -> T.int32", " -> T.int32")])
def test_a_result_whose_type_is_not_written_has_none_in_text(annotation: str, shown: str) -> None:
    """Its type is known all the same; what a pass makes of the function says it."""
    func = parse_function(f"@T.prim_func\ndef f(n: T.int32){annotation}:\n    return n + 1")
    text = print_script(func)
    assert f"def f(n: T.int32){shown}:\n" in text
    assert print_script(parse_function(text)) == text
    assert str(func.ret_type) == "i32" and "def f(n: T.int32) -> T.int32:\n" in print_script(func.clone())
