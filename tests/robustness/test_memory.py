"""Memory that runs out ends a call by an error, and nothing else: no crash, no leak, no result that nobody computed."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from failing_calls import MOST, outcomes
from strength import only_full, thinned

from tirax.driver.build import build
from tirax.runtime import result_pool
from tirax.runtime.errors import OutOfMemoryError, ShapeError
from tirax.runtime.failing_memory import failing_allocations
from tirax.script.mlir_text import parse_mlir
from tirax.tvm_api.script import from_source

_HEAD = """from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Program:
"""


def _relax(params: str, *lines: str) -> str:
    body = "\n".join(f"        {line}" for line in lines)
    return f"{_HEAD}    @R.function\n    def main({params}):\n{body}\n"


def _vector(line: str) -> str:
    return _relax('x: R.Tensor(("n",), "float32")', "n = T.int64()", f"y = {line}", "return y")


def _matrix(line: str) -> str:
    return _relax('x: R.Tensor(("n", "m"), "float32")', "n = T.int64()", "m = T.int64()", f"y = {line}", "return y")


_ATTENTION = _relax(
    ", ".join(f'{name}: R.Tensor((1, "n", 4, 32), "float32")' for name in "qkv"),
    "n = T.int64()",
    "y = R.nn.attention(q, k, v)",
    "return y",
)
_CONV = _relax(
    'x: R.Tensor((1, 16, 40, 40), "float32"), w: R.Tensor((32, 16, 3, 3), "float32")',
    "y = R.nn.conv2d(x, w, padding=[1, 1])",
    "return y",
)
_MATMUL = _relax(
    'a: R.Tensor(("n", "k"), "float32"), b: R.Tensor(("m", "k"), "float32")',
    "n = T.int64()",
    "m = T.int64()",
    "k = T.int64()",
    "y = R.matmul(a, R.permute_dims(b))",
    "return y",
)
_CHAIN = _relax(
    'x: R.Tensor(("n",), "float32")',
    "n = T.int64()",
    "a = R.sort(x)",
    "b = R.cumsum(R.sort(R.exp(a)))",
    "c = R.argsort(R.add(a, b))",
    "return (b, c)",
)
_LOOP = f"""{_HEAD}
    @R.function
    def loop(i: R.Tensor((), "int32"), x: R.Tensor((100000,), "float32")) -> R.Tensor((100000,), "float32"):
        c = R.less(i, R.const(3, "int32"))
        if c:
            y = R.sort(x)
            j = R.add(i, R.const(1, "int32"))
            r = Program.loop(j, y)
        else:
            r = x
        return r
    @R.function
    def main(x: R.Tensor((100000,), "float32")):
        y = Program.loop(R.const(0, "int32"), x)
        return y
"""
_PARALLEL = f"""{_HEAD}
    @T.prim_func
    def main(A: T.Buffer((64, 8192), "float32"), B: T.Buffer((64, 8192), "float32")):
        T.func_attr({{"tir.noalias": True}})
        for i in T.parallel(64):
            with T.block("row"):
                vi = T.axis.spatial(64, i)
                row = T.alloc_buffer((8192,), "float32")
                for j in range(8192):
                    row[j] = A[vi, j] * 2.0
                for j in range(8192):
                    B[vi, j] = row[8191 - j]
"""
_CALLED = """
tir.func private @scaled(%x: f32) -> f32 {
  %big = tir.alloc_buffer : !tir.buffer<[100000], f32>
  tir.for %i = 0 to 100000 { tir.store %x, %big[%i] }
  %last = tir.const 77777 : i64
  %a = tir.load %big[%last] : f32
  tir.return %a : f32
}
tir.func @main(%A: !tir.buffer<[n], f32>, %B: !tir.buffer<[n], f32>) attributes {tir.noalias = true} {
  %own = tir.alloc_buffer : !tir.buffer<[100000], f32>
  tir.for %i = 0 to n {
    %a = tir.load %A[%i] : f32
    %b = tir.call @scaled(%a) : f32
    tir.store %b, %own[%i]
    %c = tir.load %own[%i] : f32
    tir.store %c, %B[%i]
  }
}
"""


def _floats(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape, np.float32)


LARGE = 1 << 18
PROGRAMS: dict[str, tuple[str, tuple[np.ndarray, ...], Callable[..., np.ndarray] | None]] = {
    "sort": (_vector("R.sort(x)"), (_floats(LARGE),), np.sort),
    "chain": (_CHAIN, (_floats(LARGE),), None),
    "parallel": (_PARALLEL, (_floats(64, 8192), np.zeros((64, 8192), np.float32)), None),
    "argsort": (_vector("R.argsort(x)"), (_floats(LARGE),), None),
    "topk": (_matrix("R.topk(x, k=500, axis=1)"), (_floats(8, 40000),), None),
    "softmax": (_matrix("R.nn.softmax(x, axis=0)"), (_floats(3000, 50),), None),
    "rows": (_matrix("R.nn.log_softmax(x, axis=1)"), (_floats(5, 50001),), None),
    "einsum": (_matrix("R.einsum((x, x), 'ij,kj->ik')"), (_floats(300, 200),), lambda x: x @ x.T),
    "convolution": (_CONV, (_floats(1, 16, 40, 40), _floats(32, 16, 3, 3)), None),
    "matmul": (_MATMUL, (_floats(150, 200), _floats(170, 200)), lambda a, b: a @ b.T),
    "attention": (_ATTENTION, (_floats(1, 300, 4, 32),) * 3, None),
    "unique": (_vector("R.unique(x)"), (_floats(LARGE),), np.unique),
    "cumsum": (_matrix("R.cumsum(x, axis=0)"), (_floats(700, 300),), lambda x: np.cumsum(x, 0)),
    "loop": (_LOOP, (_floats(100000),), np.sort),
}


@thinned("name", [name for name in PROGRAMS if name != "unique"], 4)  # numpy's function allocates by itself
def test_every_allocation_may_fail(name):
    """Each allocation of a call in turn: an error that says so, everything freed, and the next call is right."""
    text, arrays, oracle = PROGRAMS[name]
    function = build(from_source(text).op)["main"]
    result_pool.set_held_memory(0)
    try:
        actual = outcomes(function, *arrays)
    finally:
        result_pool.set_held_memory(None)
    assert len(actual) > 1 and (actual[-1] == "done" or len(actual) == MOST)
    result = function(*arrays)
    if oracle is not None:
        np.testing.assert_allclose(result, oracle(*arrays), 1e-4)


def test_kernels_that_call_kernels_pass_it_on():
    """What a kernel with a result could not allocate ends the one that calls it, which frees what it has."""
    function = build(parse_mlir(_CALLED))["main"]
    x, y = _floats(7), np.zeros(7, np.float32)
    actual = outcomes(function, x, y)
    assert actual[-1] == "done" and len(actual) > 7
    function(x, y)
    np.testing.assert_array_equal(x, y)


def test_the_error_says_how_much_and_where():
    """A kernel, by its name, and the size: at least that of the array; vectors need more."""
    function = build(from_source(PROGRAMS["sort"][0]).op)["main"]
    result_pool.release_memory()
    with failing_allocations(1), pytest.raises(OutOfMemoryError, match=r"'sort': \d+ KiB of memory cannot") as error:
        function(_floats(LARGE))
    assert isinstance(error.value, MemoryError)
    (size,) = re.findall(r"(\d+) KiB", str(error.value))
    assert int(size) >= 4 * LARGE >> 10


_WRAPPING = """
tir.func @main(%n: i64, %m: i64, %A: !tir.buffer<[1], f32>) attributes {tir.noalias = true} {
  %big = tir.alloc_buffer : !tir.buffer<[SIZE], f32>
  tir.for %i = 0 to 1 {
    %one = tir.const 1.0 : f32
    tir.store %one, %big[%i]
    %a = tir.load %big[%i] : f32
    tir.store %a, %A[%i]
  }
}
"""


_BEYOND = [(1 << 44, 1 << 44), (1 << 62, 1), (1 << 61, 2), (-1, 1), (-(1 << 40), 1), ((1 << 63) - 1, (1 << 63) - 1)]


@pytest.mark.parametrize("size", ["n", "n * m", "n + m", "n * 4611686018427387904 + m"])
def test_sizes_that_wrap_are_no_small_ones(size):
    """Bytes beyond 64 bits, beyond all memory, or below 0: an error, whichever check is first."""
    function = build(parse_mlir(_WRAPPING.replace("SIZE", size)))["main"]
    for n, m in _BEYOND:
        if size != "n + m" or n > 0:
            with pytest.raises((ShapeError, MemoryError)):
                function(n, m, np.zeros(1, np.float32))


_AT_THE_LIMIT = """
import resource, sys
sys.path[:0] = {paths!r}
import numpy as np
from test_memory import PROGRAMS
from tirax.driver.build import build
from tirax.tvm_api.script import from_source
failed = done = 0
for name in {names!r}:
    text, arrays, _ = PROGRAMS[name]
    function = build(from_source(text).op)["main"]
    large = [np.concatenate([a] * 24) if a.ndim < 3 and name not in ("parallel", "loop") else a for a in arrays]
    function(*arrays)
    for more in (0, 1, 4, 16, 64, 256):
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (more << 20), resource.RLIM_INFINITY))
        try:
            function(*large)
            done += 1
        except MemoryError:
            failed += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(failed > 0, failed + done)
"""


@only_full  # calls whose allocations fail are tried one by one
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS, /proc/self/statm")
def test_a_process_at_its_limit_lives():
    """The system's own limit, in a process of its own: calls end by `MemoryError` or by their result."""
    names = ["sort", "argsort", "softmax", "matmul", "cumsum", "unique", "parallel"]
    code = _AT_THE_LIMIT.format(paths=[str(__file__).rpartition("/")[0], *filter(None, sys.path)], names=names)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.split() == ["True", str(6 * len(names))]
