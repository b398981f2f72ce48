"""Scripts that are wrong: each gives a typed diagnostic with its place; hostile ones are refused, and nothing runs."""

import textwrap
from pathlib import Path

import pytest

from tirax.diagnostics import DTypeError, ShapeError, TiraxError
from tirax.script import ScriptError, parse_source

TIR = "@T.prim_func\ndef f(A: T.Buffer((16, 4), 'float32'), h: T.handle):\n"
RELAX = "@R.function\ndef f(x: R.Tensor(('n', 4), 'float32'), y: R.Tensor(('n', 8), 'float32')):\n"


def failure(head: str, body: str) -> TiraxError:
    with pytest.raises(TiraxError) as info:
        parse_source(head + textwrap.indent(body, "    "), "t.py")
    return info.value


def check(error: TiraxError, message: str, line: int, column: int) -> None:
    assert message in error.message
    assert error.location is not None
    assert (error.location.file, error.location.line, error.location.column) == ("t.py", line, column)
    shown = str(error).splitlines()
    assert shown[0].startswith(f"t.py:{line}:{column}: error: ")
    assert shown[2].index("^") - shown[1].index("|") - 2 == column - 1  # the caret is below the place


PRIM_FUNCS: list[tuple[str, str, int, int]] = [
    ("@T.macro\ndef m(i, *, j=0):\n    A[i, j] = 1.0\nm()", "missing a required argument: 'i'", 6, 5),
    ("for i, *j in T.grid():\n    A[i, 0] = 1", "T.grid takes extents only", 3, 18),
    ("for i, j, *k in T.grid(4):\n    A[i, 0] = 1", "loop variables and loops differ", 3, 9),
    ("A[0] = 1.0", "wrong number of indices", 3, 5),
    ("A[0, 0] = q + p", "undefined names 'q', 'p'", 3, 15),
    ("A[0, 0] = T.expp(1.0)", "T has no 'expp'", 3, 15),
    ("A[0, 0] = T.float33(1.0)", "T has no 'float33'", 3, 15),
    ("A[0, 0] = T.reads(A[0, 0])", "T.reads stands in a block only", 3, 15),
    ("for i in [1, 2]:\n    A[0, i] = 1", "a loop runs over a range", 3, 14),
    ("for i, j in T.grid(4):\n    A[i, 0] = 1", "loop variables and loops differ", 3, 9),
    ("for i in T.foo(4):\n    A[i, 0] = 1", "a loop cannot run over this", 3, 14),
    ("for i in T.thread_binding(4):\n    A[i, 0] = 1", "the thread is missing", 3, 14),
    ("for i in range(1.5):\n    A[i, 0] = 1", "must be an integer", 3, 14),
    ("for i in range(4):\n    A[i, 0] = i / 2", "'/' on integers is ambiguous", 4, 19),
    ("B = T.match_buffer(1, (4,))", "the first argument must be a handle", 3, 9),
    ("B = T.match_buffer(h, (4,), 'float31')", "unknown data type 'float31'", 3, 9),
    ("B = T.match_buffer(h, (4,), dtyp='float32')", "no argument is called 'dtyp'", 3, 9),
    ("B = T.match_buffer(h)", "argument 'shape' is missing", 3, 9),
    ("B = T.match_buffer(h, (A[0, 0],))", "an extent must be an integer", 3, 9),
    ("with T.block('x'):\n    vi = T.axis.remap('S', [3])", "this cannot be remapped", 4, 14),
    ("with T.block('x'):\n    vi = T.axis.remap('SS', [3])", "kinds and loop variables differ", 4, 14),
    ("vi = T.axis.spatial(3, 1)", "T.axis stands in a block only", 3, 10),
    ("with T.block('x'):\n    T.where(1)", "a condition must be bool", 4, 9),
    ("with T.init():\n    A[0, 0] = 1", "T.init stands in a block only", 3, 10),
    ("with T.block('x') as y:\n    A[0, 0] = 1.0", "a block has no value", 3, 26),
    (
        "with T.block('x'):\n    v = T.axis.S(4, 1)\n    v = T.axis.S(4, 2)",
        "'v' is an iterator of this block already",
        5,
        9,
    ),
    ("B = T.alloc_buffer((4,))\nB = T.alloc_buffer((4,))", "'B' is a buffer already", 4, 5),
    (
        "with T.block('x'):\n    with T.init():\n        A[0, 0] = 1.0\n    with T.init():\n        A[0, 0] = 2.0",
        "T.init stands once in a block",
        6,
        14,
    ),
    ("with T.block('x'):\n    T.where(True)\n    T.where(A[0, 0] > 0.0)", "T.where stands once in a block", 5, 9),
    ("B = T.match_buffer(h, (4,))\nA[0, 0] = h[0]", "a handle has no elements", 4, 15),
    ("B = T.match_buffer(h, (4,))\nh[0] = 1.0", "a handle has no elements", 4, 5),
    ("with T.block('x'):\n    B = T.match_buffer(A[0:2, 0:4], (2, 5))", "not that of the region", 4, 13),
    ("with T.block('x'):\n    B = T.match_buffer(A[0:2, 0:4], (4,))", "not that of the region", 4, 13),
    (
        "with T.block('x'):\n    T.writes(A[0, 0])\n    T.reads()\n    T.block_attr({'of': [A]})\n    A[0, 0] = 1.0",
        "an annotation names a buffer that the block does not read",
        3,
        10,
    ),
    ("with T.block('x'):\n    T.reads(A[0, 0])\n    T.reads(A[0, 1])", "is given once", 5, 9),
    ("with T.block('x'):\n    T.block_attr({'a': 1})\n    T.block_attr({'b': 1})", "are given once", 5, 9),
    ("with T.foo():\n    A[0, 0] = 1", "'with' cannot be used so", 3, 10),
    ("A[0, 0] = 'x'", "this is no TIR expression", 3, 5),
    ("x = 3\nx += 1", "a variable cannot be changed", 4, 5),
    ("x: T.int32 = T.float32(1.5)", "the value is not of the annotated type", 3, 18),
    ("x: T.float32 = T.int32(1) + A", "operator '+' cannot be applied", 3, 20),
    ("x: T.int32 = A[0, 0]", "the value is not of the annotated type", 3, 18),
    ("A[0, 0] = A", "a buffer stands where a value is expected", 3, 5),
    ("if A[0, 0]:\n    A[0, 0] = 1", "a condition must be bool", 3, 8),
    ("return", "return needs a value", 3, 5),
    ("A[0, 0:3] = T.Broadcast(T.float32(0), 4)", "the vector has another length", 3, 5),
    ("for i in range(4):\n    A[0, i:4] = A[1, 0:4]", "the length of a vector access must be a constant", 4, 9),
    ("T.func_attr({'a': A})", "this cannot be an attribute", 3, 5),
    ("T.func_attr({})\nT.func_attr({})", "given once", 4, 5),
    ("A[1.5, 0] = 1", "an index must be an integer", 3, 5),
    ("A[0, 0] = 1 // 0", "'//' on constants fails", 3, 15),
    ("n = T.int64()\nB = T.match_buffer(h, (n // 0,))", "by zero", 4, 28),
    ("A[0, 0] = T.if_then_else(A[0, 0] > 0, 1)", "takes a condition and two values", 3, 15),
    ("A[0, 0] = A.foo", "a buffer has no 'foo'", 3, 15),
    ("for i in range(4):\n    A[i, 0] = 1\nA[i, 1] = 2", "'i' is not defined here", 5, 7),
    ("A[0, 0] = T.reinterpret('int64', A[0, 0])", "the same number of bits", 3, 15),
    ("A[0, 0] = T.Select(A[0, 0] > 0, 1)", "argument 'false_value' is missing", 3, 15),
    ("A[0, 0] = min(A[0, 0], 1)", "Python's 'min' may only be applied to constants", 3, 15),
    ("with T.launch_thread(4, 4) as t:\n    A[0, 0] = 1", "threads are launched by their tag", 3, 10),
    ("r = T.comm_reducer(1)", "a reducer is a lambda and a list", 3, 9),
    ("r = T.realize(A[0:1, 0:1])", "T.realize is not supported", 3, 9),
    ("C = T.allocate_const([1, 2, 3], 'int32', [2])", "the data do not fill the shape", 3, 9),
]


@pytest.mark.parametrize(("body", "message", "line", "column"), PRIM_FUNCS)
def test_prim_func(body: str, message: str, line: int, column: int) -> None:
    check(failure(TIR, body), message, line, column)


FUNCTIONS: list[tuple[str, str, int, int]] = [
    ("return z", "undefined name 'z'", 3, 12),
    ("a = R.addd(x, y)\nreturn a", "R has no 'addd'", 3, 9),
    ("a = R.add(x, y)\nreturn a", "arguments x1 and x2 do not broadcast", 3, 9),
    ("a = R.sum(x, axs=[1])\nreturn a", "no argument is called 'axs'", 3, 9),
    ("a = R.sum(x, axis=[5])\nreturn a", "axis is out of range", 3, 9),
    ("a = R.sum(x, axis=y)\nreturn a", "attribute 'axis' must be a constant", 3, 9),
    ("a: R.Tensor((3, 4), 'float16') = R.nn.relu(x)\nreturn a", "the annotation does not hold", 3, 5),
    ("a: R.Foo = R.nn.relu(x)\nreturn a", "struct info is expected", 3, 8),
    ("a = R.call_dps_packed('f', x, R.Tensor(ndim=2))\nreturn a", "an output must be a tensor of known shape", 3, 9),
    ("a = R.call_dps_packed(x, x, R.Tensor((2,), 'float32'))\nreturn a", "the name of a packed function", 3, 9),
    ("t = (x, y)\nreturn t[2]", "the index is out of range", 4, 12),
    ("return x[0]", "only tuples can be indexed", 3, 12),
    ("if x:\n    a = x\nelse:\n    a = y\nreturn a", "a condition must be a bool scalar", 3, 8),
    ("if R.const(True):\n    a = x\nelse:\n    b = y\nreturn a", "end with a binding of one name", 3, 5),
    ("if R.const(True):\n    a = x\nreturn a", "an if needs an else", 3, 5),
    ("a = x", "does not return a value", 2, 1),
    ("return x\ny = x", "nothing may follow a return", 4, 5),
    ("a, b, c = (x, y)\nreturn a", "the numbers of names and values differ", 3, 5),
    ("a = R.reshape(x, (-1, -1))\nreturn a", "one dimension may be -1", 3, 9),
    ("a = R.reshape(x, (n, 4))\nreturn a", "undefined name 'n'", 3, 23),
    ("a = R.astype(x, 'flot32')\nreturn a", "unknown data type 'flot32'", 3, 9),
    ("a = R.const('x')\nreturn a", "a constant must be a number", 3, 9),
    ("return x + 'a'", "argument x2 must be a tensor", 3, 12),
    ("return x + None", "this is no Relax value", 3, 12),
    ("return not x", "operator 'not' cannot be applied", 3, 12),
    ("return R.nn.relu(x, y, 3)", "too many arguments", 3, 12),
    ("a = T.exp(x)\nreturn a", "T.exp may not be used in a Relax function", 3, 9),
    ("R.output(x)\nreturn x", "R.output is allowed in a dataflow block only", 3, 5),
    ("with R.dataflow():\n    return x\n    R.output(x)", "return may not stand in a dataflow block", 4, 9),
    ("with R.dataflow():\n    a = R.exp(x)\n    R.output(a)\n    R.output(a)\nreturn a", "stands once", 6, 9),
    (
        "with R.dataflow():\n    a = R.exp(x)\n    b = R.exp(a)\n    R.output(b)\nreturn a",
        "'a' is local to its dataflow block",
        7,
        12,
    ),
    ("a = R.match_cast(x, R.Tensor((2,), 'float32'))\nreturn a", "this can never hold", 3, 9),
    ("a = metadata['relax.expr.Constant'][0]\nreturn a", "the constants of this script are not in it", 3, 9),
    ("for i in range(3):\n    a = x\nreturn a", "may not stand in a Relax function", 3, 5),
    ("def g(a: R.Object):\n    return a\nreturn x", "may not stand in a Relax function", 3, 5),
]


@pytest.mark.parametrize(("body", "message", "line", "column"), FUNCTIONS)
def test_function(body: str, message: str, line: int, column: int) -> None:
    check(failure(RELAX, body), message, line, column)


def test_kinds_and_hints() -> None:
    assert isinstance(failure(RELAX, "return R.add(x, y)"), ShapeError)
    assert isinstance(failure(RELAX, "return R.astype(x, 'flot32')"), DTypeError)
    assert isinstance(failure(RELAX, "return z"), SyntaxError)
    assert "did you mean 'float32'" in str(failure(RELAX, "return R.astype(x, 'flot32')"))
    assert failure(RELAX, "return R.addd(x, x)").hint == "did you mean 'add'?"
    assert failure(RELAX, "return R.sum(x, axs=1)").hint == "did you mean 'axis'?"
    assert failure(RELAX, "return R.zeros((n, 4), 'float32')").hint == "declare it: n = T.int64()"
    error = failure(TIR, "A[0] = 1.0")
    assert (error.expected, error.found) == ("2, for a buffer of rank 2", 1)


SIGNATURES: list[tuple[str, str, str]] = [
    ("@R.function\ndef f(x: R.Tensor(('n +', 4))):", "return x", "this is no symbolic expression"),
    ("@R.function\ndef f(x: R.Tensor((1.5, 4))):", "return x", "a dimension must be an integer"),
    ("@R.function\ndef f(x: R.Tensor((1, 4), ndim=3)):", "return x", "ndim does not agree"),
    ("@R.function\ndef f(x: R.Tensor(ndim=True)):", "return x", "ndim must be an integer"),
    ("@R.function\ndef f(x: R.Tensor(('__import__(1)', 4))):", "return x", "in the dimension"),
    ("@R.function\ndef f(x):", "return x", "parameter 'x' has no struct info"),
    ("@R.function\ndef f(x: 3):", "return x", "struct info is expected"),
    ("@R.function\ndef f(*x):", "return x", "plain parameters only"),
    ("@R.function\ndef f(x: R.Object = 3):", "return x", "plain parameters only"),
    ("@T.prim_func\ndef f(A):", "A[0] = 1", "parameter 'A' has no type"),
    ("@T.prim_func\ndef f(A: T.Bufer((4,))):", "A[0] = 1", "T has no 'Bufer'"),
    ("@T.prim_func\ndef f(A: T.Buffer(4, 'float32', foo=1)):", "A[0] = 1", "no argument is called 'foo'"),
    ("@foo\ndef f(A: T.handle):", "pass", "'f' is decorated by @foo"),
    ("@T.prim_func\n@I.foo\ndef f(A: T.handle):", "pass", "needs one decorator"),
    ("@I.ir_module\n@foo\nclass Foo:", "pass", "class 'Foo' needs one decorator"),
    ("@T.foo\ndef f(A: T.handle):", "pass", "this is no decorator of TVMScript"),
    ("@T.prim_func(privat=True)\ndef f(A: T.handle):", "pass", "no argument is called 'privat'"),
    ("def f(A: T.handle):", "pass", "'f' is decorated by nothing"),
    ("class Foo:", "pass", "'Foo' is decorated by nothing"),
    ("@I.ir_module\nclass Foo(Base):", "pass", "a module has no base classes"),
    ("@I.ir_module\nclass Foo:", "x = 3", "may not stand in a module"),
    ("@I.ir_module\nclass Foo:", "I.foo()", "this may not stand in a module"),
    ("x = = 3", "", "this is not Python"),
    ("", "", "neither a module nor a function"),
]


@pytest.mark.parametrize(("head", "body", "message"), SIGNATURES)
def test_declarations(head: str, body: str, message: str) -> None:
    error = failure(head + "\n", body)
    assert message in str(error)
    assert error.location is not None


MODULE = """
@I.ir_module
class Module:
    @T.prim_func
    def add(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + 1.0
    @R.function
    def helper(x: R.Tensor(("k",), "float32")):
        return x
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        cls = Module
        {}
        return y
"""
CALLS = [
    ("y = R.call_tir(cls.ad, (x,), R.Tensor((4,), 'float32'))", "the module has no function 'ad'"),
    ("y = R.call_tir(cls.add, (x, x), R.Tensor((4,), 'float32'))", "another number of parameters"),
    ("y = R.call_tir('add', (x,), R.Tensor((4,), 'float32'))", "must be a function of the module"),
    ("y = cls.add(x)", "a prim_func is not called directly"),
    ("y = cls.helper(x, x)", "wrong number of arguments"),
    ("y = cls.helper(R.const(1))", "argument 0 of the call does not fit"),
    ("y = x(x)", "this value cannot be called"),
]


@pytest.mark.parametrize(("line", "message"), CALLS)
def test_calls(line: str, message: str) -> None:
    with pytest.raises(TiraxError, match=message) as info:
        parse_source(MODULE.format(line), "t.py")
    assert info.value.location is not None
    assert info.value.location.line == 14


def test_functions_are_unique_and_results_not_circular() -> None:
    function = "@R.function\ndef f(x: R.Object):\n    return x\n"
    with pytest.raises(ScriptError, match="defined twice"):
        parse_source(function + function)
    with pytest.raises(ScriptError, match="depends on itself"):
        parse_source("@R.function\ndef f(x: R.Object):\n    return f(x)\n")


HOSTILE = [
    "@R.function\ndef f(x: R.Object):\n    open({path!r}, 'w')\n    return x",
    "@R.function\ndef f(x: R.Object):\n    eval('1')\n    return x",
    "@R.function\ndef f(x: R.Object):\n    __import__('os').system('touch {path}')\n    return x",
    "@R.function\ndef f(x: R.Object):\n    import os\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = (lambda: x)()\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = [x for x in (1, 2)]\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = (1).__class__.__bases__\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = R.__class__\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = x.__class__\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = f'{x}'\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = 10 ** 10 ** 10\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = 1 << 10 ** 9\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = (1,) * 10 ** 9\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = 'a' * 10 ** 9\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = " + "-" * 5000 + "1\n    return x",
    "@R.function\ndef f(x: R.Object):\n    y = " + "(" * 150 + "1" + ")" * 150 + " + None\n    return x",
    "@R.function\ndef f(x: open({path!r}, 'w')):\n    return x",
    "@open({path!r}, 'w')\ndef f(x: R.Object):\n    return x",
    "@R.function\ndef f(x: R.Object = open({path!r}, 'w')):\n    return x",
    "@I.ir_module\nclass M:\n    open({path!r}, 'w')",
    "@I.ir_module\nclass M:\n    import os",
    "@I.ir_module\nclass M(metaclass=print):\n    pass",
    "@I.ir_module\nclass M:\n    def f(self):\n        pass",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[open({path!r}, 'w')] = 1.0",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    with open({path!r}, 'w'):\n        A[0] = 1.0",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    try:\n        A[0] = 1.0\n    except E:\n        pass",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    del A",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    global x",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    print('x')",
    "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    A[0] = (y := 1.0)",
    "if True:\n    open({path!r}, 'w')",
    "x = open({path!r}, 'w')\n@R.function\ndef f(y: R.Tensor((x,))):\n    return y",
    "metadata = tvm.ir.load_json('nonsense')\n@R.function\ndef f(x: R.Object):\n    return metadata['a'][0]",
    "while True:\n    pass",
    "@R.function\ndef f(x: R.Object):\n    return x\n\0",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_scripts_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "made"
    if "{path" in text:
        text = text.format(path=str(path))
    with pytest.raises(TiraxError):
        parse_source(text, "hostile.py")
    assert not path.exists()


def test_captured_objects_run_no_code() -> None:
    class Trap:
        touched = False

        @property
        def size(self) -> int:
            Trap.touched = True
            return 4

        def __call__(self) -> int:
            Trap.touched = True
            return 4

    for expression in ("trap.size", "trap()", "trap[0]", "trap + 1", "trap.__dict__"):
        with pytest.raises(TiraxError):
            parse_source(
                f"@R.function\ndef f(x: R.Object):\n    y = {expression}\n    return x", extra_vars={"trap": Trap()}
            )
    assert not Trap.touched
