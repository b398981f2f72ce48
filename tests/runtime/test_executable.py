"""Executables: calling, saving, loading, the virtual machine."""

import gc
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tirax.runtime import (
    Executable,
    FunctionInfo,
    NDArray,
    ObjectInfo,
    Parameter,
    TargetInfo,
    VirtualMachine,
    array,
    cpu,
    cuda,
    list_global_func_names,
    load_module,
    register_func,
    remove_global_func,
)
from tirax.runtime import container as files
from tirax.runtime.errors import (
    ArgumentError,
    DamagedFileError,
    DeviceError,
    DTypeError,
    ExecutableFileError,
    ForeignFileError,
    IncompatibleFileError,
    LoadError,
    NameLookupError,
    NewerFileError,
    ShapeError,
)
from tirax.runtime.metadata import MetadataError

X = np.arange(6, dtype=np.float32)


@pytest.fixture
def ex(native: SimpleNamespace) -> Executable:
    return native.add_executable()


@pytest.fixture
def saved(ex: Executable, tmp_path: Path) -> Path:
    ex.save(tmp_path / "add.tirax")
    return tmp_path / "add.tirax"


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    before = set(list_global_func_names())
    yield
    for name in set(list_global_func_names()) - before:
        remove_global_func(name)


def test_calls_by_name(ex: Executable):
    np.testing.assert_array_equal(ex["add"](X, X), X + X)
    assert ex.jit() is ex.jit() and ex.jit().function_names == ["add"] and "add" in ex.jit()
    assert ex["add"].__doc__ == "add(x: Tensor((n), float32), y: Tensor((n), float32))"
    with pytest.raises(NameLookupError, match="did you mean 'add'"):
        ex["ad"]


def test_results_and_functions_outlive_the_executable(ex: Executable):
    add = ex["add"]
    result = add(X, X)
    del ex
    gc.collect()
    np.testing.assert_array_equal(result, 2 * X)
    np.testing.assert_array_equal(add(X, result), 3 * X)


def test_save_and_load(ex: Executable, tmp_path: Path):
    path = tmp_path / "lib.tirax"
    ex.export_library(path)
    for loaded in (Executable.load(path), load_module(str(path))):
        np.testing.assert_array_equal(loaded["add"](X, X[::-1]), X + X[::-1])
        assert loaded.functions == ex.functions and loaded.target == ex.target and loaded.slots == ex.slots
        assert loaded.code == ex.code


def test_a_saved_executable_runs_in_another_process(saved: Path):
    program = (
        "import sys, numpy as np; from tirax.runtime import Executable\n"
        "x = np.arange(4, dtype=np.float32)\n"
        "r = Executable.load(sys.argv[1])['add'](x, x)\n"
        "print(r.tolist(), 'xdsl.ir' in sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", program, str(saved)], capture_output=True, text=True, check=True)
    assert output.stdout.startswith("[0.0, 2.0, 4.0, 6.0]")


def test_constants(native: SimpleNamespace, tmp_path: Path):
    info = FunctionInfo("sum", ())
    values = np.float32([[1.5], [2.5]])
    others = [np.int8([1, 2, 3]), array([1.0], dtype="bfloat16"), np.zeros((0, 3)), np.array(True)]
    code = native.compile_ll(native.CONSTANT_SUM)
    ex = Executable(code, [info], slots=[("constant", 0)], constants=[values, *others])
    values[:] = 0
    ex.save(tmp_path / "c")
    loaded = Executable.load(tmp_path / "c")
    assert ex["sum"]() == loaded["sum"]() == 4.0
    for before, after in zip(ex.constants, loaded.constants, strict=True):
        np.testing.assert_array_equal(before.astype("float64"), after.astype("float64"))
        assert before.dtype == after.dtype and before.shape == after.shape
        assert after.ctypes.data % 64 == 0 and not after.flags.writeable and not before.flags.writeable


def call_executable(native: SimpleNamespace, first: tuple[str, Any], second: tuple[str, Any]) -> Executable:
    code = native.compile_ll(native.CALL_PACKED)
    infos = [FunctionInfo("call", (Parameter("x", ObjectInfo()),)), FunctionInfo("second", ())]
    return Executable(code, infos, slots=[first, second], constants=[X])


def test_packed_functions(native: SimpleNamespace, tmp_path: Path):
    ex = call_executable(native, ("packed", "test.double"), ("value", ["a", [1, 2], None]))
    assert ex.packed_functions == ["test.double"]
    with pytest.raises(NameLookupError, match="unknown packed function 'test.double'"):
        VirtualMachine(ex, cpu())
    register_func("test.double", lambda x: x * 2)
    vm = VirtualMachine(ex, cpu())
    assert vm["call"](21) == 42 and vm["second"]() == ("a", (1, 2), None)
    register_func("test.double", lambda x: x * 3, override=True)
    assert vm["call"](21) == 42 and VirtualMachine(ex)["call"](21) == 63
    ex.save(tmp_path / "p")
    assert Executable.load(tmp_path / "p")["call"](1) == 3


def test_missing_packed_functions_are_named_at_once(native: SimpleNamespace):
    ex = call_executable(native, ("packed", "test.one"), ("packed", "test.two"))
    register_func("test.tow", print)
    with pytest.raises(NameLookupError) as caught:
        ex.jit()
    assert "test.one" in str(caught.value) and "'test.two': did you mean 'test.tow'" in str(caught.value)


def test_constants_as_objects_are_read_only(native: SimpleNamespace):
    ex = call_executable(native, ("value", 1), ("constant_object", 0))
    result = ex["second"]()
    assert type(result) is NDArray and not result.flags.writeable
    np.testing.assert_array_equal(result, X)


def test_failures_with_numbers(native: SimpleNamespace):
    fail = {"error": "shape", "message": "rows of 'lv'", "expected": "n = {0}", "found": "{1} {x} {0.real} {7}"}
    ex = call_executable(native, ("fail", fail), ("value", 0))
    with pytest.raises(ShapeError) as caught:
        ex["call"](3, 4)
    assert "rows of 'lv'\n  expected: n = 3\n  found: 4 {x} {0.real} {7}" in str(caught.value)


def test_casts(native: SimpleNamespace):
    info = {"kind": "tensor", "shape": [["var", "n"], 2], "dtype": "float32"}
    cast = {"name": "lv", "info": info, "vars": ["n"]}
    call = call_executable(native, ("cast", cast), ("value", 0))["call"]
    assert call(np.zeros((3, 2), np.float32), 3).shape == (3, 2)
    with pytest.raises(ShapeError, match="'lv', dimension 0"):
        call(np.zeros((3, 2), np.float32), 4)


def test_malformed_slots(native: SimpleNamespace):
    with pytest.raises(MetadataError, match="malformed table slot"):
        call_executable(native, ("nothing", 0), ("value", 0))
    for slot in [("constant", 3), ("explain", "nobody"), ("cast", {}), ("fail", {"error": "x"}), ("constant", "a")]:
        with pytest.raises(MetadataError, match="malformed table slot"):
            call_executable(native, slot, ("value", 0)).jit()


# Files


def rewrite(path: Path, change: Any, version: int = files.FORMAT_VERSION) -> None:
    """Write the file again with a changed header and a right checksum."""
    header, blobs = files.read_container(path)
    del header["blobs"]
    change(header)
    files.write_container(path, header, [blob.data for blob in blobs])


def test_foreign_files(tmp_path: Path):
    for content in (b"", b"\x7fELF" + bytes(100), b"hello", bytes(200)):
        path = tmp_path / "foreign"
        path.write_bytes(content)
        with pytest.raises(ForeignFileError, match="is not an executable of tirax"):
            Executable.load(path)
    with pytest.raises(FileNotFoundError):
        Executable.load(tmp_path / "absent")
    with pytest.raises(IsADirectoryError):
        Executable.load(tmp_path)


def test_truncated_files(saved: Path):
    data = saved.read_bytes()
    for size in (1, 8, 20, 63, 64, 100, len(data) // 2, len(data) - 1):
        saved.write_bytes(data[:size])
        with pytest.raises(DamagedFileError, match="truncated"):
            Executable.load(saved)
    saved.write_bytes(data + b"\0")
    with pytest.raises(DamagedFileError, match="too long"):
        Executable.load(saved)


def test_every_altered_byte_is_noticed(saved: Path):
    data = saved.read_bytes()
    positions = [*range(100), *range(100, len(data), 37), len(data) - 1]
    for position in positions:
        damaged = bytearray(data)
        damaged[position] ^= 0x41
        saved.write_bytes(damaged)
        with pytest.raises(ExecutableFileError):
            Executable.load(saved)


def test_other_versions_of_the_format(saved: Path):
    data = bytearray(saved.read_bytes())
    struct.pack_into("<I", data, 8, files.FORMAT_VERSION + 1)
    saved.write_bytes(data)
    with pytest.raises(NewerFileError, match="newer"):
        Executable.load(saved)
    struct.pack_into("<I", data, 8, 0)
    saved.write_bytes(data)
    with pytest.raises(IncompatibleFileError, match="old"):
        Executable.load(saved)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda h: h["abi"].update(abi=0), "ABI"),
        (lambda h: h["abi"].update(nd=40), "Python or numpy"),
        (lambda h: h["target"].update(triple="aarch64-apple-darwin"), "platform"),
        (lambda h: h["target"].update(features=["warp-drive"]), "warp-drive"),
    ],
)
def test_files_for_other_machines(saved: Path, change: Any, what: str):
    rewrite(saved, change)
    with pytest.raises(IncompatibleFileError, match=what):
        Executable.load(saved)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h.pop("functions"),
        lambda h: h.update(functions=[1]),
        lambda h: h.update(target=None),
        lambda h: h.update(slots=[["nothing", 1]]),
        lambda h: h.update(slots=3),
        lambda h: h.update(constants=[{"dtype": "float32", "shape": [2]}]),
    ],
)
def test_malformed_metadata(saved: Path, change: Any):
    rewrite(saved, change)
    with pytest.raises(DamagedFileError, match="malformed"):
        Executable.load(saved)


def test_blobs_out_of_bounds(saved: Path, monkeypatch: pytest.MonkeyPatch):
    header, blobs = files.read_container(saved)
    dumps = json.dumps
    monkeypatch.setattr(json, "dumps", lambda h, **o: dumps(h | {"blobs": [[0, 2**40]]}, **o))
    files.write_container(saved, header, [blobs[0].data])
    with pytest.raises(DamagedFileError, match="malformed"):
        Executable.load(saved)


def test_saving_replaces_at_once_and_leaves_nothing(ex: Executable, saved: Path):
    before = saved.read_bytes()
    ex.save(saved)
    assert saved.read_bytes() == before and os.listdir(saved.parent) == [saved.name]
    with pytest.raises(FileNotFoundError):
        ex.save(saved.parent / "absent" / "x")


def test_a_damaged_object_in_a_sound_file(ex: Executable, tmp_path: Path):
    broken = Executable(b"\x7fELF rubbish", ex.functions.values(), slots=ex.slots)
    broken.save(tmp_path / "b")
    with pytest.raises(LoadError):
        Executable.load(tmp_path / "b").jit()


# The virtual machine


def test_virtual_machine(ex: Executable):
    for vm in (VirtualMachine(ex, cpu()), VirtualMachine(ex, [cpu()]), VirtualMachine(ex.jit())):
        np.testing.assert_array_equal(vm["add"](X, array(X)), X + X)
    with pytest.raises(DeviceError):
        VirtualMachine(ex, cuda())
    with pytest.raises(ArgumentError, match="executable"):
        VirtualMachine("file")  # type: ignore[arg-type]
    with pytest.raises(NameLookupError, match="did you mean 'add'"):
        VirtualMachine(ex)["addd"]


def test_stateful_calls(ex: Executable):
    vm = VirtualMachine(ex)
    x = X.copy()
    vm.set_input("add", x, y=X)
    x[:] = 100
    vm.invoke_stateful("add")
    np.testing.assert_array_equal(vm.get_outputs("add"), X + X)
    with pytest.raises(DTypeError):
        vm.set_input("add", X, X.astype("int32"))
    with pytest.raises(ArgumentError):
        vm.set_input("add", X, z=X)
    other = VirtualMachine(ex)
    for method in (other.invoke_stateful, other.get_outputs):
        with pytest.raises(ArgumentError):
            method("add")
        with pytest.raises(NameLookupError):
            method("sub")


def test_saved_functions(ex: Executable):
    vm = VirtualMachine(ex)
    vm.save_function("add", "add_x", X, X)
    np.testing.assert_array_equal(vm["add_x"](), X + X)
    assert vm.time_evaluator("add_x", cpu(), number=2)().mean > 0


def test_time_evaluator(ex: Executable):
    vm = VirtualMachine(ex)
    result = vm.time_evaluator("add", cpu(), number=3, repeat=4, cache_flush_bytes=1000, cooldown_interval_ms=1)(X, X)
    assert len(result.results) == 4
    assert 0 < result.min <= result.median <= result.max and result.min <= result.mean <= result.max
    assert result.std >= 0 and "mean (ms)" in str(result)
    vm.module.time_evaluator("add", cpu(), min_repeat_ms=2)(X, X)
    with pytest.raises(ShapeError):
        vm.time_evaluator("add", cpu())(X, X[1:])
    with pytest.raises(DeviceError):
        vm.time_evaluator("add", cuda())
    with pytest.raises(NameLookupError):
        vm.time_evaluator("sub", cpu())
    with pytest.raises(ArgumentError, match="'repeat'"):
        vm.time_evaluator("add", cpu(), repeat=0)


def test_min_repeat_ms_raises_the_number_of_calls():
    from tirax.runtime.timing import Evaluator

    calls: list[int] = []
    Evaluator(lambda: calls.append(1), number=1, min_repeat_ms=1)()
    assert len(calls) > 10


def test_a_target_is_optional(native: SimpleNamespace, tmp_path: Path):
    ex = native.add_executable(target=TargetInfo())
    ex.save(tmp_path / "t")
    assert Executable.load(tmp_path / "t").target == TargetInfo()
