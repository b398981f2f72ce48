"""Objects are linked without LLVM where they are of known parts, and LLVM gets all others."""

from __future__ import annotations

import ctypes
import gc
import math
import os
import platform
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tirax.diagnostics import TiraxError
from tirax.runtime import elf, jit

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="elf.py is for x86-64 Linux"
)


def compile_ll(text: str) -> bytes:
    """`.ll` text -> position-independent object bytes."""
    return jit._compiled(text)


CALLER = """
declare double @sin(double)
declare i64 @given(i64)
declare i64 @other(i64)
@counter = global i64 5
@zeros = global [4 x i64] zeroinitializer
@hidden = internal global i64 7
@pointer = global ptr @hidden
@text = private constant [4 x i8] c"abc\\00"
define double @sine(double %x) {
  %y = call double @sin(double %x)
  ret double %y
}
define i64 @count(i64 %by) {
  %was = load i64, ptr @counter
  %now = add i64 %was, %by
  store i64 %now, ptr @counter
  store i64 %now, ptr getelementptr ([4 x i64], ptr @zeros, i64 0, i64 3)
  ret i64 %now
}
define i64 @both(i64 %x) {
  %a = call i64 @given(i64 %x)
  %b = call i64 @other(i64 %a)
  ret i64 %b
}
define ptr @where() {
  ret ptr @text
}
define i64 @of_pointer() {
  %p = load ptr, ptr @pointer
  %x = load i64, ptr %p
  ret i64 %x
}
define i64 @chosen(i64 %i) {
  switch i64 %i, label %none [
    i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e
  ]
a: ret i64 17
b: ret i64 3
c: ret i64 99
d: ret i64 -4
e: %x = call i64 @other(i64 1)
  ret i64 %x
none: ret i64 0
}
"""
OTHER = """
@factor = global i64 10
define i64 @other(i64 %x) {
  %f = load i64, ptr @factor
  %y = mul i64 %x, %f
  ret i64 %y
}
"""
I64 = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
plus_one = I64(lambda x: x + 1)
IMPORTS = {"given": ctypes.cast(plus_one, ctypes.c_void_p).value or 0}


def linked() -> elf.LinkedCode:
    result = elf.link([compile_ll(CALLER), compile_ll(OTHER)], IMPORTS, ["sine", "factor"])
    assert result is not None
    return result


def test_functions_reach_each_other_the_process_and_imports() -> None:
    code = linked()
    function = {name: I64(at) for name, at in code.addresses.items()}
    sine = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(code.addresses["sine"])
    assert sine(0.5) == math.sin(0.5)
    assert function["both"](4) == 50
    assert [function["chosen"](i) for i in range(-1, 7)] == [0, 17, 3, 99, -4, 10, 0, 0]
    assert function["of_pointer"](0) == 7
    assert ctypes.string_at(ctypes.CFUNCTYPE(ctypes.c_void_p)(code.addresses["where"])()) == b"abc"


def test_each_has_data_of_its_own() -> None:
    one, other = linked(), linked()
    count = I64(one.addresses["count"])
    assert (count(1), count(2), I64(other.addresses["count"])(0)) == (6, 8, 5)
    assert list((ctypes.c_int64 * 4).from_address(one.addresses["zeros"])) == [0, 0, 0, 8]


def rights(address: int) -> str:
    """Of the page that an address is in; nothing where there is none."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(number, 16) for number in line.split()[0].split("-"))
        if begin <= address < end:
            return line.split()[1][:3]
    return ""


def test_code_cannot_be_written_and_data_cannot_be_run() -> None:
    code = linked()
    text = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.addresses["where"])()
    assert text is not None
    assert [rights(at) for at in (code.addresses["both"], text, code.addresses["zeros"])] == ["r-x", "r--", "rw-"]


def test_memory_goes_with_the_object() -> None:
    code = linked()
    size, memory = len(code.memory), code.memory
    assert size <= 4 * elf.mmap.PAGESIZE and sys.getrefcount(memory) == 3
    del code, memory
    gc.collect()


@pytest.mark.parametrize(
    "text",
    [
        "@x = thread_local global i64 1\ndefine ptr @f() {\n ret ptr @x\n}",
        "@x = common global i64 0\ndefine ptr @f() {\n ret ptr @x\n}",
        "define weak i64 @f() {\n ret i64 1\n}",
        "declare void @no_such_thing()\ndefine void @f() {\n call void @no_such_thing()\n ret void\n}",
        "declare extern_weak void @no_such_thing()\ndefine ptr @f() {\n ret ptr @no_such_thing\n}",
        "@llvm.global_ctors = appending global [1 x {i32, ptr, ptr}] [{i32, ptr, ptr} {i32 1, ptr @f, ptr null}]\n"
        "define void @f() {\n ret void\n}",
        "define void @g() {\n ret void\n}",
    ],
    ids=["threads", "common", "weak", "nowhere", "perhaps nowhere", "constructors", "not what is wanted"],
)
def test_what_is_not_known_is_left_to_llvm(text: str) -> None:
    assert elf.link([compile_ll(text)], {}, ["f"]) is None


def test_what_is_there_twice_is_left_to_llvm() -> None:
    assert elf.link([compile_ll(OTHER), compile_ll(OTHER)], {}, ["other"]) is None


def test_objects_of_other_machines_are_left_to_llvm() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("aarch64-unknown-linux-gnu").create_target_machine(reloc="pic")
    assert elf.link([machine.emit_object(llvm.parse_assembly(OTHER))], {}, ["other"]) is None


def test_damaged_objects_are_left_to_llvm() -> None:
    code = compile_ll(OTHER)
    assert all(elf.link([code[:size]], {}, ["other"]) is None for size in range(0, len(code), 7))
    assert elf.link([b"no object"], {}, []) is None


def test_llvm_links_what_is_left_to_it() -> None:
    kept, addresses = jit.link([compile_ll("define weak i64 @f(i64 %x) {\n ret i64 %x\n}")], {}, ["f"])
    assert I64(addresses["f"])(3) == 3 and kept is not None
    with pytest.raises(TiraxError, match="cannot be loaded"):
        jit.link([compile_ll(OTHER)], {}, ["none"])


_PROGRAM = """
import sys
import numpy as np
from tirax.runtime import num_threads, set_num_threads
from tirax.runtime.checksum import checksum
from tirax.runtime.host import host
from tirax.runtime.result_pool import held_memory
set_num_threads(2)
print(num_threads(), held_memory(), checksum(b"x" * 100_000, b"secret").hex(), host())
print("llvmlite.binding" in sys.modules)
"""


def test_llvm_is_not_loaded_where_the_disk_has_what_it_says(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TIRAX_CACHE": "1"}
    runs = [
        subprocess.run(
            [sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for _ in range(2)
    ]
    assert runs[0][0] == runs[1][0] and [run[1] for run in runs] == ["True", "False"]
