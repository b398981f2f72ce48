"""What C programs may pass by mistake: every pointer null, extents, types, strides and places that do not fit."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tirax.driver.build import build
from tirax.runtime.errors import ArgumentError
from tirax.script import parse_source

COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="libraries are built with a C compiler")

PROGRAM = """from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n",), "int64")) -> R.Tensor(("n", 4), "float32"):
        z = R.add(x, R.expand_dims(R.astype(y, "float32"), 1))
        return z

    @R.function
    def several(x: R.Tensor(("n",), "float16"), s: R.Prim("float32"), k: R.Prim(value="k"), shape: R.Shape(["p", "q"])):
        return (x, s, k, shape)

    @T.prim_func
    def twice(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "int32")
        B = T.match_buffer(b, (n,), "int32")
        for i in range(n):
            B[i] = A[i] * 2
"""

HEAD = """
#include "some.h"
#include <stdio.h>
#include <string.h>
static float memory[64];
static int64_t whole[64];
static float *x = memory;
static int64_t *y = whole;
static void report(const char *row, int status) {
  printf("%s | %d %s\\n", row, status, status ? some_error() : "");
}
static int tensors(DLTensor *X, DLTensor *Y) {
  DLManagedTensor *result = NULL;
  int status = some_main(X, Y, &result);
  if (result != NULL) result->deleter(result);
  return status;
}
int main(void) {
  float z[64];
  int64_t shape[2] = {3, 4}, one[1] = {3}, strides[2] = {4, 1}, odd[2] = {1, 3}, step[1] = {2};
  int64_t many[80] = {0}, negative[2] = {-3, 4}, huge[2] = {INT64_MAX / 2, 4}, none[2] = {0, 4}, nothing[1] = {0};
  double s; int64_t k, extents[2] = {5, 6}, given[2];
  uint16_t h[4] = {0};
  (void)odd, (void)step, (void)many, (void)negative, (void)huge, (void)none, (void)nothing, (void)strides;
"""

FINE = ""
NULL = "is null, and has elements"
NEGATIVE = "has a negative extent"
LARGE = "is larger than any memory"
MISMATCH = "the arguments do not fit"

CALLS: list[tuple[str, str]] = [
    ("some_main_raw(x, y, 3, z)", FINE),
    ("some_main_raw(NULL, y, 3, z)", f"argument x {NULL}"),
    ("some_main_raw(x, NULL, 3, z)", f"argument y {NULL}"),
    ("some_main_raw(NULL, NULL, 3, NULL)", f"argument x {NULL}"),
    ("some_main_raw(x, y, 3, NULL)", FINE),
    ("some_main_raw(NULL, NULL, 0, NULL)", FINE),
    ("some_main_raw(x, y, -1, z)", NEGATIVE),
    ("some_main_raw(x, y, INT64_MIN, z)", NEGATIVE),
    ("some_main_raw(x, y, INT64_MAX, z)", LARGE),
    ("some_main_raw(x, y, INT64_MAX / 16 + 1, z)", LARGE),
    ("some_main_raw((float *)((char *)memory + 1), y, 3, z)", "argument x is not aligned"),
    ("some_main_raw(x, (int64_t *)((char *)whole + 4), 3, z)", "argument y is not aligned"),
    ("some_several_raw(NULL, 1, 2, extents, 3, 5, 6, NULL, &s, &k, given)", "argument x is null"),
    ("some_several_raw(h, 1, 2, NULL, 3, 5, 6, NULL, &s, &k, given)", "argument shape is null"),
    ("some_several_raw(h, 1, 2, extents, 3, 5, 6, NULL, NULL, NULL, NULL)", FINE),
    ("some_several_raw(h, 1, 2, extents, 3, 5, 6, h, &s, &k, given)", FINE),
    ("some_several(NULL, 1, 2, extents, NULL, NULL, NULL, NULL)", "argument x is null"),
    ("some_twice_raw(NULL, NULL, 3)", "argument A is null"),
    ("some_twice_raw((int32_t *)x, NULL, 3)", "argument B is null"),
    ("some_twice_raw(NULL, NULL, 0)", FINE),
    ("some_twice(NULL, NULL)", "argument A is null"),
    ("some_main(NULL, NULL, NULL)", "argument x is null"),
    ("tensors(NULL, &Y)", "argument x is null"),
    ("tensors(&X, NULL)", "argument y is null"),
    ("some_main(&X, &Y, NULL)", FINE),
    ("tensors(&X, &Y)", FINE),
]
"""Calls, and a part of what they say."""

CHANGES: list[tuple[str, str]] = [
    ("X.data = NULL", f"argument x {NULL}"),
    ("X.data = NULL, X.byte_offset = 64", f"argument x {NULL}"),
    ("X.data = NULL, X.shape = none, Y.data = NULL, Y.shape = nothing", FINE),
    ("X.data = NULL, X.byte_offset = 64, X.shape = none, Y.data = NULL, Y.shape = nothing", FINE),
    ("X.shape = NULL", "argument x has no shape"),
    ("X.ndim = 1", MISMATCH),
    ("X.ndim = 0", MISMATCH),
    ("X.ndim = -1", "no possible number of dimensions"),
    ("X.ndim = 65, X.shape = many", "no possible number of dimensions"),
    ("X.ndim = INT32_MAX, X.shape = many", "no possible number of dimensions"),
    ("X.shape = negative", NEGATIVE),
    ("X.shape = huge", LARGE),
    ("X.shape = huge, X.strides = strides", LARGE),
    ("X.strides = strides", FINE),
    ("X.strides = odd", "is not dense"),
    ("Y.strides = step", "argument y is not dense"),
    ("X.shape = none, X.strides = odd, Y.shape = nothing", FINE),
    ("X.byte_offset = 2", "not aligned"),
    ("X.byte_offset = 4", FINE),
    ("X.data = (char *)x + 1", "not aligned"),
    ("X.dtype.bits = 64", "another data type"),
    ("X.dtype.code = 0", "another data type"),
    ("X.dtype.lanes = 2", "another data type"),
    ("X.dtype.lanes = 0", "another data type"),
    ("X.device.device_type = 2", "not in the processor's memory"),
    ("Y.shape[0] = 2", MISMATCH),
]
"""What is changed of tensors that fit, and a part of what the call says."""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What a program in C with all rows prints, by row."""
    folder: Path = tmp_path_factory.mktemp("arguments")
    build(parse_source(PROGRAM)).export_library(folder / "libsome.so", header=folder / "some.h")
    body = [HEAD]
    for row, change in [*((call, "") for call, _ in CALLS), *(("tensors(&X, &Y)", change) for change, _ in CHANGES)]:
        body += [
            "  {",
            "    DLTensor X = {x, {kDLCPU, 0}, 2, {2, 32, 1}, shape, NULL, 0};",
            "    DLTensor Y = {y, {kDLCPU, 0}, 1, {0, 64, 1}, one, NULL, 0};",
            "    (void)X, (void)Y, shape[0] = 3, one[0] = 3;",
            f"    {change or row};",
            f'    report("{change or row}", {row});',
            "  }",
        ]
    (folder / "program.c").write_text("\n".join([*body, "  return 0;", "}"]))
    program = folder / "program"
    command = [str(COMPILER), "-Wall", str(folder / "program.c"), str(folder / "libsome.so")]
    subprocess.run([*command, f"-Wl,-rpath,{folder}", "-o", str(program)], check=True, cwd=folder)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout[-500:])
    return dict(line.split(" | ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("row, message", [*CALLS, *CHANGES])
def test_a_call_from_c(lines, row, message):
    """0 where the arguments fit; else -1, and why."""
    status, _, text = lines[row].partition(" ")
    assert status == ("-1" if message else "0"), lines[row]
    assert message in text


WAYS = ["same", "relative", "symlink", "hardlink", "folder"]


def _alias(path: Path, way: str) -> Path:
    """Another path of a file."""
    if way == "same":
        return path
    if way == "relative":
        return path.parent / "sub" / ".." / path.name
    if way == "folder":
        (path.parent / "link").symlink_to(path.parent)
        return path.parent / "link" / path.name
    other = path.with_name("other.weights")
    if way == "symlink":
        other.symlink_to(path)
    else:
        path.write_bytes(b"")
        other.hardlink_to(path)
    return other


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("pair", [("path", "weights"), ("path", "header"), ("header", "weights")])
def test_outputs_that_are_one_file(tmp_path, pair, way):
    """Nothing is written where two outputs are one file, by whatever paths."""
    executable = build(parse_source(PROGRAM))
    (tmp_path / "sub").mkdir()
    outputs = {"path": tmp_path / "libsome.so", pair[0]: tmp_path / "libsome.so"}
    outputs[pair[1]] = _alias(outputs[pair[0]], way)
    if pair[0] == "header":
        outputs["path"] = tmp_path / "libother.so"
    before = {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    with pytest.raises(ArgumentError, match="are the same file"):
        executable.export_library(**outputs)
    assert {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before
