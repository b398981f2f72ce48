"""Indices that are data cannot reach outside of a buffer in native code, and are reported; so is every access of code
that is built to check all."""

import numpy as np
import pytest

from tirax.diagnostics import TiraxError
from tirax.driver.build import build
from tirax.ir.passes.transform import PassContext
from tirax.runtime.errors import OutsideError
from tirax.script import parse_source

GATHER = """
tir.func @gather(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  tir.for %i = 0 to m {
    %k = tir.load %I[%i] : i64
    %x = tir.load %A[%k] : f32
    tir.store %x, %B[%i]
  }
}
tir.func @scatter(%A: !tir.buffer<[n], f32>, %I: !tir.buffer<[m], i64>, %B: !tir.buffer<[m], f32>) {
  tir.for %i = 0 to m {
    %k = tir.load %I[%i] : i64
    %x = tir.load %B[%i] : f32
    tir.store %x, %A[%k]
  }
}
relax.func @take(%x: !relax.tensor<[n], f32>, %i: !relax.tensor<[m], i64>) -> !relax.tensor<[m], f32> {
  %y = relax.take %x, %i {axis = 0} : !relax.tensor<[m], f32>
  relax.return %y : !relax.tensor<[m], f32>
}
"""
FAR = [0, 2, 3, -1, 2**40, -(2**62), 2**63 - 1]


@pytest.fixture(scope="module")
def executable():
    from xdsl.parser import Parser

    from tirax.ir.passes.transform import new_context

    return build(Parser(new_context(), GATHER).parse_module())


def test_a_gather_stays_inside(executable):
    """What is outside is read at the edge, and the run fails at its end."""
    a, b = np.arange(3, dtype="float32"), np.zeros(len(FAR), "float32")
    with pytest.raises(OutsideError, match="gather: an index is outside of A: 0 <= index < n"):
        executable["gather"](a, np.array(FAR), b)
    np.testing.assert_array_equal(b, [0, 2, 2, 0, 2, 0, 2])


@pytest.mark.parametrize("outside", FAR[2:])
@pytest.mark.parametrize("count", [1, 40])
def test_take_fails(executable, outside, count):
    indices = np.zeros(count, np.int64)
    np.testing.assert_array_equal(executable["take"](np.arange(3, dtype="float32"), indices), np.zeros(count, "f4"))
    indices[-1] = outside
    with pytest.raises(IndexError):
        executable["take"](np.arange(3, dtype="float32"), indices)


def test_a_scatter_leaves_out_what_is_outside(executable):
    a, b = np.zeros(3, "float32"), np.arange(1, len(FAR) + 1, dtype="float32")
    with pytest.raises(OutsideError, match="scatter: an index is outside of A"):
        executable["scatter"](a, np.array(FAR), b)
    np.testing.assert_array_equal(a, [1, 0, 2])


# name: lines of a function of A (4 elements), n and B (8 elements), the greatest n for which all is inside, what is
# reported for more: the buffer, whether it is read, the line
ACCESSES = {
    "read": ("for i in range(n):\n  B[i] = A[i + 1]", 3, "A", "read", 2),
    "written": ("for i in range(n):\n  B[i * 2] = A[0]", 4, "B", "written", 2),
    "local_written": (
        """C = T.alloc_buffer((4,), "float32")
for i in range(n):
  C[i] = A[0]
B[0] = C[0]""",
        4,
        "C",
        "written",
        3,
    ),
    "local_read": (
        """C = T.alloc_buffer((4,), "float32")
for i in range(4):
  C[i] = A[0]
B[0] = C[n]""",
        3,
        "C",
        "read",
        4,
    ),
    "vectorized_written": ("for i in T.vectorized(4):\n  B[i + n] = A[i]", 4, "B", "written", 2),
    "vectorized_read": ("for i in T.vectorized(4):\n  B[i] = A[3 - i + n]", 0, "A", "read", 2),
    "vectorized_choice": ("for i in T.vectorized(4):\n  if i < 3:\n    B[i] = A[i + n]", 1, "A", "read", 3),
    "vectors_read": ("B[T.Ramp(0, 2, 2)] = A[T.Ramp(n, 1, 2)]", 2, "A", "read", 1),
    "vectors_written": ("B[T.Ramp(n, 2, 2)] = A[T.Ramp(0, 1, 2)]", 5, "B", "written", 1),
    "vectors_of_rows": (
        """C = T.alloc_buffer((2, 4), "float32")
C[0, T.Ramp(n - 2, 1, 8)] = T.Broadcast(A[0], 8)
B[T.Ramp(0, 1, 8)] = C[0, T.Ramp(0, 1, 8)]""",
        2,
        "C",
        "written",
        2,
    ),
    "parallel_read": ("for i in T.parallel(n):\n  B[i] = A[i]", 4, "A", "read", 2),
    "parallel_written": ("for i in T.parallel(n * 4):\n  B[i] = A[0]", 2, "B", "written", 2),
    "chosen": ("for i in range(8):\n  B[i] = T.if_then_else(i < n, A[i], T.float32(0))", 4, "A", "read", 2),
    "named": ("k: T.int32 = n * 2\nB[0] = A[k]", 1, "A", "read", 2),
    "awaited": (
        """i = T.alloc_buffer((1,), "int32")
i[0] = 0
while A[i[0]] < 3:
  i[0] = i[0] + n
B[0] = A[0]""",
        1,
        "A",
        "read",
        3,
    ),
    "block": (
        """for i, j in T.grid(2, 4):
  with T.block("B"):
    vi, vj = T.axis.remap("SS", [i, j])
    B[vi * 4 + vj] = A[vj + n] + A[vj]""",
        0,
        "A",
        "read",
        4,
    ),
}


def _module(body: str):
    params = 'A: T.Buffer((4,), "float32"), n: T.int32, B: T.Buffer((8,), "float32")'
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return parse_source(f"@T.prim_func\ndef f({params}):\n{lines}", "model.py")


def _run(executable, n: int) -> None:
    """Call it with arrays that lie in larger ones, so that what is outside does no harm."""
    a, b = np.full(64, 7, "float32"), np.full(64, 7, "float32")
    a[16:20], b[16:24] = np.arange(4), 0
    executable["f"](a[16:20], n, b[16:24])
    assert (b[:16] == 7).all() and (b[24:] == 7).all()


@pytest.mark.parametrize("name", ACCESSES)
def test_every_access_is_checked_on_request(name, monkeypatch):
    body, most, buffer, verb, line = ACCESSES[name]
    monkeypatch.setenv("TIRAX_SANITIZE", "address")
    executable = build(_module(body))
    _run(executable, most)
    with pytest.raises(
        OutsideError, match=f"f: an index is outside of {buffer}, which is {verb} at model.py:{line + 2}:"
    ):
        _run(executable, 5 if name == "awaited" else most + 1)


def test_checked_code_and_code_without_checks_are_different_objects(monkeypatch):
    """What was stored of one is not found for the other, whoever asks for checks."""
    body = "for i in range(n):\n  B[i] = A[i + 1]"
    for _ in range(2):
        _run(build(_module(body)), 4)
        with PassContext(config={"tirax.sanitize": "address"}):
            executable = build(_module(body))
        with pytest.raises(OutsideError):
            _run(executable, 4)
        monkeypatch.setenv("TIRAX_SANITIZE", "address")
        with pytest.raises(OutsideError):
            _run(build(_module(body)), 4)
        monkeypatch.delenv("TIRAX_SANITIZE")


def test_a_function_with_a_result_is_guarded():
    source = """
@I.ir_module
class M:
    @T.prim_func(private=True)
    def last(A: T.Buffer((4,), "float32"), n: T.int64) -> T.float32:
        return A[n]
    @T.prim_func
    def f(A: T.Buffer((4,), "float32"), n: T.int64, B: T.Buffer((8,), "float32")):
        B[0] = M.last(A.data, n)
"""
    with PassContext(config={"tirax.sanitize": "address"}):
        executable, b = build(parse_source(source)), np.zeros(8, "float32")
    executable["f"](np.arange(4, dtype="float32"), 2**50, b)
    assert b[0] == 3


@pytest.mark.parametrize("word", ["memory", "all"])
def test_an_unknown_sanitizer_is_reported(word, monkeypatch):
    monkeypatch.setenv("TIRAX_SANITIZE", word)
    with pytest.raises(TiraxError, match=r"unknown value of tirax\.sanitize"):
        build(_module("B[0] = A[0]"))
