"""Libraries for C: what they compute, refuse and say, from C and from Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from strength import only_full

from tirax.driver.build import build
from tirax.runtime import Executable, load_library, load_module, register_func, remove_global_func
from tirax.runtime.errors import ArgumentError, LibraryError, NameLookupError, ShapeError, UnsupportedError
from tirax.runtime.executable import TargetInfo
from tirax.runtime.library import toolchain
from tirax.runtime.library.export import interface_of
from tirax.runtime.library.source import Weights
from tirax.script import parse_mlir, parse_source
from tirax.tvm_api import relax as rx
from tirax.tvm_api.relax import VirtualMachine
from tirax.tvm_api.runtime import cpu
from tirax.tvm_api.script import relax as R

COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="libraries are built with a C compiler")

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:\n"
PROGRAM = (
    HEAD
    + """
    @T.prim_func
    def twice(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int32")
        B = T.match_buffer(b, (n,), "int32")
        for i in range(n):
            B[i] = A[i] * 2

    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        with R.dataflow():
            y = R.matmul(x, w)
            z = R.nn.relu(y)
            R.output(z)
        return z

    @R.function
    def several(x: R.Tuple(R.Tensor(("n",), "float16"), R.Tensor(("n",), "int64")), s: R.Prim("float32"),
                k: R.Prim(value="k"), b: R.Prim("bool"), shape: R.Shape(["p", "q"])):
        a = x[0]
        c = R.add(x[1], x[1])
        return (a, (c, k, s), b, shape)

    @R.function
    def twin(x: R.Tensor(("2 * n",), "float32"), y: R.Tensor(("n",), "bfloat16")) -> R.Tensor((2, "n"), "float32"):
        n = T.int64()
        return R.reshape(x, (2, n))

    @R.function
    def halves(x: R.Tensor(("n",), "float32")) -> R.Tensor((2, "n // 2"), "float32"):
        n = T.int64()
        return R.reshape(x, (2, n // 2))

    @R.function
    def anything(x: R.Object) -> R.Object:
        return x
"""
)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).random(shape, np.float32) - 0.5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.fixture(scope="module")
def executable() -> Executable:
    return build(parse_source(PROGRAM))


@pytest.fixture(scope="module")
def path(executable: Executable, folder: Path) -> Path:
    executable.export_library(folder / "libsome.so", header=folder / "some.h")
    return folder / "libsome.so"


def same(expected: object, actual: object) -> bool:
    if isinstance(expected, tuple):
        return len(expected) == len(actual) and all(map(same, expected, actual))
    if isinstance(expected, np.ndarray):
        return expected.dtype == actual.dtype and np.array_equal(expected, actual)
    return expected == actual and type(expected) is type(actual)


@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_functions_give_what_those_of_the_executable_do(executable, path, n):
    library = load_library(path)
    half, long = numbers(n).astype(np.float16), np.arange(n) - 2
    cases = {
        "main": (numbers(n, 64), numbers(64, 7)),
        "several": ((half, long), 2.5, -3, True, (4, 5)),
        "twin": (numbers(2 * n), numbers(n).astype(ml_dtypes.bfloat16)),
    }
    for name, args in cases.items():
        assert same(executable[name](*args), library[name](*args)), name
    written = np.zeros(n, np.int32)
    assert library["twice"](np.arange(n, dtype=np.int32), written) is None
    assert np.array_equal(written, 2 * np.arange(n))


def test_what_has_no_form_in_c_is_left_out_and_reported(path, folder):
    library = load_library(path)
    assert sorted(library.function_names) == ["halves", "main", "several", "twice", "twin"]
    header = (folder / "some.h").read_text()
    assert "/* anything has no form in C: 'x' is Object */" in header
    with pytest.raises(NameLookupError, match="anything"):
        library["anything"]


def test_errors_are_the_programs_own(path):
    library = load_library(path)
    with pytest.raises(ShapeError, match="wrong extent"):
        library["main"](numbers(3, 64), numbers(63, 2))
    with pytest.raises(LibraryError, match=r"wrong extent, expected .* = 4, found 5"):
        library["halves"](numbers(5))
    assert same(library["halves"](numbers(4)), numbers(4).reshape(2, 2))  # nothing of an error stays


def test_a_result_outlives_the_argument_that_it_is_and_the_library(path):
    argument = numbers(6)
    result = load_library(path)["twin"](argument, np.zeros(3, ml_dtypes.bfloat16))
    expected = argument.reshape(2, 3).copy()
    argument[:] = 0
    assert np.array_equal(result, expected)


def test_threads_call_at_the_same_time(executable, path):
    main = load_library(path)["main"]
    inputs = [(numbers(n, 64), numbers(64, 9)) for n in range(1, 25)]
    expected = [executable["main"](*args) for args in inputs]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(10):
            result = list(pool.map(lambda args: main(*args), inputs))
            assert all(map(np.array_equal, expected, result))


def test_tvm_loads_it(executable, path):
    args = numbers(2, 64), numbers(64, 3)
    machine = VirtualMachine(load_module(path), cpu())
    assert np.array_equal(machine["main"](*args), executable["main"](*args))


def test_memory_stays_as_it_is(path):
    library = load_library(path)
    args = numbers(50, 64), numbers(64, 50)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def calls(count: int) -> None:
        for _ in range(count):
            library["main"](*args)
            with pytest.raises(LibraryError):
                library["halves"](args[0][0, :5])

    calls(200)
    before = resident()
    calls(2000)
    assert resident() - before < 10 << 20  # a result is 10 KB: 2000 of them would be 20 MB


# From C.

MAIN = """
#include "some.h"
#include <stdio.h>
int main(void) {
  float x[3 * 64], w[64 * 2], y[3 * 2];
  for (int i = 0; i < 3 * 64; i++) x[i] = i % 5 - 2;
  for (int i = 0; i < 64 * 2; i++) w[i] = i % 3 - 1;
  if (some_main_raw(x, w, 3, 2, y)) return printf("%s", some_error()), 1;
  for (int i = 0; i < 6; i++) printf("%g ", y[i]);
  int64_t shape[] = {3, 64}, other[] = {64, 2}, strides[] = {1, 3};
  DLTensor X = {x, {kDLCPU, 0}, 2, {2, 32, 1}, shape, 0, 0}, W = {w, {kDLCPU, 0}, 2, {2, 32, 1}, other, 0, 0};
  DLManagedTensor *result;
  if (some_main(&X, &W, &result)) return printf("%s", some_error()), 1;
  printf("| %g %d\\n", ((float *)result->dl_tensor.data)[5], (int)result->dl_tensor.shape[1]);
  result->deleter(result);
  some_release_memory();
  X.strides = strides;
  printf("%d %s\\n", some_main(&X, &W, &result), some_error());
  X.strides = 0, X.device.device_type = 2;
  printf("%d %s\\n", some_main(&X, &W, &result), some_error());
  X.device.device_type = kDLCPU, W.dtype.bits = 64;
  printf("%d %s\\n", some_main(&X, &W, &result), some_error());
  W.dtype.bits = 32, other[0] = 63;
  printf("%d %s\\n", some_main(&X, &W, &result), some_error());
  printf("%d %s %d\\n", some_main(0, &W, &result), some_error(), result == 0);
  return 0;
}
"""


def run_c(folder: Path, source: str, *libraries: Path) -> str:
    program = folder / "program"
    (folder / "program.c").write_text(source)
    command = [
        str(COMPILER),
        "-Wall",
        "-Werror",
        "-Wno-enum-conversion",
        str(folder / "program.c"),
        *map(str, libraries),
    ]
    subprocess.run([*command, f"-Wl,-rpath,{folder}", "-lm", "-lpthread", "-o", str(program)], check=True, cwd=folder)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done
    return done.stdout


def test_a_program_in_c(path, folder):
    x = (np.arange(3 * 64) % 5 - 2).reshape(3, 64)
    w = (np.arange(64 * 2) % 3 - 1).reshape(64, 2)
    numbers_, *errors = run_c(folder, MAIN, path).splitlines()
    expected = np.maximum(x @ w, 0).reshape(-1)
    assert numbers_ == " ".join(f"{v}" for v in expected) + f" | {expected[-1]} 2"
    assert errors == [
        "-1 argument x is not dense: its strides are not those of its shape, expected float32",
        "-1 argument x is not in the processor's memory, expected float32",
        "-1 argument w has another data type, expected float32",
        "-1 the arguments do not fit main(x: Tensor((n, 64), float32), w: Tensor((64, m), float32)), found "
        "float32(3, 64), float32(63, 2)",
        "-1 argument x is null 1",
    ]


FAILING = """
#include "short.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
static long left = -1; /* allocations before the one that fails; -1: none does */
static bool fails(void) {
  if (left < 0 || left-- > 0) return false;
  errno = ENOMEM;
  return true;
}
void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *realloc(void *old, size_t size) { return fails() ? NULL : __libc_realloc(old, size); }
void *aligned_alloc(size_t to, size_t size) { return fails() ? NULL : __libc_memalign(to, size); }
void *calloc(size_t count, size_t size) {
  void *memory = fails() ? NULL : __libc_malloc(count * size);
  return memory == NULL ? NULL : memset(memory, 0, count * size);
}

enum { N = 300, K = 64 };
static float x[N * K], w[K * N], expected[N * N];
int main(void) {
  alarm(60);
  int64_t shape[] = {N, K}, other[] = {K, N};
  DLTensor X = {x, {kDLCPU, 0}, 2, {2, 32, 1}, shape, 0, 0}, W = {w, {kDLCPU, 0}, 2, {2, 32, 1}, other, 0, 0};
  for (int i = 0; i < N * K; i++) x[i] = i % 5 - 2, w[i] = i % 3 - 1;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++)
      for (int k = 0; k < K; k++) expected[i * N + j] += x[i * K + k] * w[k * N + j];
  int failed = 0, wrong = 0, unnamed = 0;
  for (long n = 0, done = 0; !done; n++) {
    some_release_memory(); /* what earlier calls kept would serve this one */
    DLManagedTensor *result = NULL;
    left = n;
    int status = some_main(&X, &W, &result);
    done = left >= 0;
    left = -1;
    failed += status != 0;
    unnamed += status != 0 && strstr(some_error(), "memory") == NULL;
    if (status != 0) continue;
    wrong += memcmp(result->dl_tensor.data, expected, sizeof expected) != 0;
    result->deleter(result);
  }
  printf("%d %d %d\\n", failed > 1, wrong, unnamed);
  return 0;
}
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's names for what malloc is by default")
def test_any_allocation_may_fail(tmp_path):
    """Each allocation of a call in turn is refused: the call is an error, or right without it."""
    program = """
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, "m"), "float32")) -> R.Tensor(("n", "m"), "float32"):
        with R.dataflow():
            h = R.concat((x, x), axis=1)
            v = R.concat((w, R.zeros_like(w)), axis=0)
            y = R.matmul(h, v)
            s = R.sort(y, axis=1)
            z = R.add(y, R.subtract(s, s))
            R.output(z)
        return z
"""
    library = tmp_path / "libshort.so"
    executable = build(parse_source(HEAD + program), "llvm -num-cores=2")
    executable.export_library(library, header=tmp_path / "short.h", name="some")
    assert run_c(tmp_path, FAILING, library) == "1 0 0\n"


UNASKED = """\
#include "some.h"
#include <stdio.h>

int main(void) {
  float x[4] = {1, 2, 3, 4}, *same = x;
  uint16_t y[2] = {0, 0};
  int64_t extents[2] = {4, 2};
  DLTensor X = {x, {kDLCPU, 0}, 1, {2, 32, 1}, &extents[0], NULL, 0};
  DLTensor Y = {y, {kDLCPU, 0}, 1, {4, 16, 1}, &extents[1], NULL, 0};
  printf("%d %d ", some_twin(&X, &Y, NULL), some_twin_raw(x, y, 2, NULL));
  printf("%d %g\\n", some_twin_raw(x, y, 2, same), x[3]);
  return 0;
}
"""


def test_results_that_are_not_requested_are_null(path, folder):
    """Of tensors and of plain memory; one that lies in its argument is where it was, and is not copied."""
    assert run_c(folder, UNASKED, path) == "0 0 0 4\n"


def test_the_header_is_one_of_cpp_too(path, folder):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = '#include "some.h"\nint main() { return some_error() == nullptr; }\n'
    (folder / "program.cpp").write_text(source)
    subprocess.run([compiler, "-Wall", "-Werror", "-fsyntax-only", str(folder / "program.cpp")], check=True)


MATRICES = (
    HEAD
    + """
    @R.function
    def main(x: R.Tensor((32, 64), "uint8"), w: R.Tensor((64, 32), "int8")) -> R.Tensor((32, 32), "int32"):
        return R.matmul(x, w, out_dtype="int32")
"""
)
MATRIX_MAIN = """
#include "matrices.h"
#include <stdio.h>
int main(void) {
  static uint8_t x[32 * 64];
  static int8_t w[64 * 32];
  static int32_t y[32 * 32];
  for (int i = 0; i < 32 * 64; i++) x[i] = (uint8_t)(i * 7), w[i] = (int8_t)(i * 5);
  if (matrices_main_raw(x, w, y) != 0) puts(matrices_error());
  for (int i = 0; i < 32 * 32; i++) printf("%d ", (int)y[i]);
  return 0;
}
"""


def test_matrix_registers_are_requested_in_c(tmp_path):
    """By the library itself: a program in C has no other one that would."""
    matrices = build(parse_source(MATRICES))
    matrices.export_library(tmp_path / "matrices.so", header=tmp_path / "matrices.h", name="matrices")
    actual = [int(number) for number in run_c(tmp_path, MATRIX_MAIN, tmp_path / "matrices.so").split()]
    count = np.arange(32 * 64)
    x, w = (count * 7).astype(np.uint8).reshape(32, 64), (count * 5).astype(np.int8).reshape(64, 32)
    assert actual == (x.astype(np.int64) @ w.astype(np.int64)).reshape(-1).tolist()


@pytest.mark.parametrize(
    ("triple", "features", "asks"),
    [
        ("x86_64-pc-linux-gnu", ("avx2", "amx-int8"), True),
        ("x86_64-pc-linux-gnu", ("avx2",), False),
        ("x86_64-apple-darwin", ("avx2", "amx-int8"), False),
    ],
)
def test_matrix_registers_are_requested_of_linux(triple, features, asks):
    matrices = build(parse_source(MATRICES))
    target = TargetInfo("llvm", triple, "some", features)
    interface = interface_of("some", matrices.functions.values(), matrices.slots, target, Weights([], 0, b""))
    assert ("ARCH_REQ" in interface.source(matrices.slots, [], None)) == asks


CONSTANT = (
    HEAD
    + """
    @R.function
    def main(x: R.Tensor(("n", 40), "float32")) -> R.Tensor(("n", 40), "float32"):
        return R.add(x, R.const(VALUE, "float32"))
"""
)


def with_constant(value: float) -> Executable:
    builder, x = rx.BlockBuilder(), rx.Var("x", rx.TensorStructInfo(("n", 40), "float32"))
    with builder.function("main", [x]):
        weights = np.full((40, 40), value, np.float32)
        builder.emit_func_output(builder.emit(rx.op.matmul(x, rx.const(weights))))
    return build(builder.get())


def test_loops_stack_what_iterations_give(tmp_path):
    builder, x = rx.BlockBuilder(), rx.Var("x", rx.TensorStructInfo(("n",), "float32"))
    with builder.function("main", [x]):
        doubled = builder.while_loop(
            lambda v: R.less(R.max(v), rx.const(40.0)), lambda v: (R.add(v, v), R.negative(v)), [x], collected=1
        )
        builder.emit_func_output(builder.emit(rx.Tuple(doubled)))
    executable = build(builder.get())
    executable.export_library(tmp_path / "loop.so")
    run = load_library(tmp_path / "loop.so")["main"]
    for values in ([1, 3], [50], [1.5, 2, 3]):
        argument = np.array(values, np.float32)
        assert same(executable["main"](argument), run(argument))


TWO = """
#include "one.h"
#include "two.h"
#include <stdio.h>
int main(void) {
  float x[40] = {1}, a[40], b[40];
  if (one_main_raw(x, 1, a) || two_main_raw(x, 1, b)) return printf("%s %s", one_error(), two_error()), 1;
  printf("%g %g", a[39], b[0]);
  return 0;
}
"""


@only_full
def test_two_libraries_in_one_program(tmp_path):
    for name, suffix, value in (("one", ".o", 2.0), ("two", ".a", 3.0)):
        with_constant(value).export_library(tmp_path / f"{name}{suffix}", header=tmp_path / f"{name}.h")
    assert run_c(tmp_path, TWO, tmp_path / "one.o", tmp_path / "two.a") == "2 3"


@only_full
def test_weights_in_a_file_that_is_mapped(tmp_path):
    executable = with_constant(4.0)
    executable.export_library(tmp_path / "big.so", weights=tmp_path / "big.weights", header=tmp_path / "big.h")
    with_constant(5.0).export_library(tmp_path / "other.so", weights=tmp_path / "other.weights")
    assert "int big_open(const char *path);" in (tmp_path / "big.h").read_text()
    x, run = numbers(3, 40), load_library(tmp_path / "big.so")["main"]
    (tmp_path / "big.weights").rename(tmp_path / "elsewhere")
    with pytest.raises(LibraryError, match="cannot read the weights in .*big.weights: No such file"):
        run(x)
    shutil.copyfile(tmp_path / "other.weights", tmp_path / "big.weights")
    with pytest.raises(LibraryError, match="does not hold the weights of this library"):
        run(x)
    (tmp_path / "elsewhere").rename(tmp_path / "big.weights")
    assert np.array_equal(run(x), executable["main"](x))


NAMES = """
relax.func @"f.x"(%items: !relax.tensor<[n], f32>, %object: !relax.prim<i64>, %int: !relax.tensor<[done], f32>)
    -> !relax.tensor<[n], f32> { relax.return %items : !relax.tensor<[n], f32> }
relax.func @f_x(%x: !relax.tensor<[x_object], f32>, %x_object: !relax.tensor<[x], f32>, %n0: !relax.prim<i1>)
    -> tuple<!relax.tensor<[x], f32>, !relax.prim<i1>> {
  %r = relax.tuple(%x_object, %n0)
  relax.return %r : tuple<!relax.tensor<[x], f32>, !relax.prim<i1>>
}
relax.func @f_x_raw(%result: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %result : !relax.tensor<[n], f32>
}
relax.func @error(%errno: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %errno : !relax.tensor<[n], f32>
}
"""


def test_names_that_c_has_for_other_things(tmp_path):
    executable = build(parse_mlir(NAMES))
    executable.export_library(tmp_path / "9 lives.so", header=tmp_path / "names.h")
    library, x, y = load_library(tmp_path / "9 lives.so"), numbers(3), numbers(4)
    for name, args in {"f.x": (x, 4, y), "f_x": (x, y, True), "f_x_raw": (x,), "error": (y,)}.items():
        assert same(executable[name](*args), library[name](*args)), name
    run_c(tmp_path, '#include "names.h"\nint main(void) { return 0; }\n')


# What is refused.


def test_options_of_libraries_are_of_libraries(executable, tmp_path):
    with pytest.raises(ArgumentError, match="header, name and weights are of libraries"):
        executable.export_library(tmp_path / "some.tirax", header=tmp_path / "some.h")
    assert not list(tmp_path.iterdir())


def test_packed_functions_are_named_at_once():
    source = HEAD + (
        "    @R.function\n    def main(x: R.Tensor((4,), 'float32')) -> R.Object:\n"
        "        a = R.call_packed('test.one', x, sinfo_args=R.Object)\n"
        "        b = R.call_packed('test.two', a, sinfo_args=R.Object)\n        return b\n"
    )
    for name in ("test.one", "test.two"):
        register_func(name, lambda x: x)
    try:
        with pytest.raises(UnsupportedError, match=r"test\.one, test\.two"):
            build(parse_source(source)).export_library("absent.so")
    finally:
        for name in ("test.one", "test.two"):
            remove_global_func(name)
    assert not Path("absent.so").exists()


def test_nothing_that_has_a_form_in_c():
    source = HEAD + "    @R.function\n    def main(x: R.Object) -> R.Object:\n        return x\n"
    with pytest.raises(UnsupportedError, match="no function of the program has a form in C") as error:
        build(parse_source(source)).export_library("absent.so")
    assert "main: 'x' is Object" in str(error.value)


def test_the_compiler_that_is_missing_is_named(executable, monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: None)
    monkeypatch.setattr(toolchain.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(LibraryError, match="expected: cc, gcc, clang, or the package ziglang"):
        executable.export_library(tmp_path / "x.so")
    with pytest.raises(LibraryError, match="expected: riscv64-linux-gnu-gcc, or the package ziglang"):
        toolchain.find_toolchain("riscv64-unknown-linux-gnu")
    monkeypatch.setenv("CC", sys.executable)
    with pytest.raises(LibraryError, match="failed"):
        executable.export_library(tmp_path / "x.so")
    monkeypatch.setenv("CC", "/absent/cc")
    with pytest.raises(LibraryError, match="'/absent/cc' cannot be run"):
        executable.export_library(tmp_path / "x.so")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("content", [b"\x7fELF and no more", b""])
def test_files_that_are_no_library(content, tmp_path):
    (tmp_path / "x.so").write_bytes(content)
    with pytest.raises(LibraryError, match="not a tirax library"):
        load_library(tmp_path / "x.so")
    libc = "libc.so.6"
    with pytest.raises(LibraryError, match="not a tirax library"):
        load_library(libc)


def test_a_library_that_took_the_place_of_a_loaded_one_is_read(tmp_path):
    """The system's loader knows libraries by their names: the first one answered for the second."""
    path, results = tmp_path / "libmodel.so", []
    for value in (1.0, 2.0):
        text = f"""
@R.function
def main(x: R.Tensor(("n",), "float32")):
    gv = R.add(x, R.const({value}, "float32"))
    return gv
"""
        build(parse_source(text)).export_library(path, weights=tmp_path / "weights")
        results.append(load_library(path))
    assert [library["main"](np.zeros(1, "float32")).tolist() for library in (*results, load_library(path))] == [
        [1.0],
        [2.0],
        [2.0],
    ]
    assert not (tmp_path / "weights").exists()  # there are none
