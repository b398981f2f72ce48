"""The machine by LLVM's names, from LLVM and from the disk."""

from __future__ import annotations

from pathlib import Path

import llvmlite.binding as llvm
import pytest

from tirax.runtime import host as module
from tirax.runtime.host import Host


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing known."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TIRAX_CACHE", "1")
    return tmp_path


def query() -> Host:
    return module.host.__wrapped__()


def test_the_disk_says_what_llvm_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features = tuple(sorted(dict(llvm.get_host_cpu_features()).items()))
    monkeypatch.setattr(module, "has_matrix_registers", lambda: True)
    expected = Host(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)
    assert query() == expected and len(list(folder.rglob("*.o"))) == 1
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: pytest.fail("LLVM was asked again"))
    assert query() == expected


def test_another_start_is_another_machine(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_start", lambda: "one")
    query()
    monkeypatch.setattr(module, "_start", lambda: "another")
    monkeypatch.setattr(llvm, "get_host_cpu_name", lambda: "another one")
    assert query().processor == "another one"


def test_without_a_boot_identifier_nothing_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_start", lambda: None)
    assert query().triple == llvm.get_process_triple() and not list(folder.rglob("*.o"))


def test_a_cache_that_cannot_be_written_is_no_matter(folder: Path, recwarn: pytest.WarningsRecorder) -> None:
    (folder / "tirax").write_text("no folder")
    assert query().triple == llvm.get_process_triple() and not recwarn.list


@pytest.mark.parametrize("inputs", [True, False])
def test_registers_that_the_system_does_not_give_are_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch, inputs: bool
) -> None:
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {"avx2": True, "amx-tile": True, "amx-int8": True})
    monkeypatch.setattr(module, "has_matrix_registers", lambda: inputs)
    for _ in range(2):  # from LLVM, then from the disk
        actual = dict(query().features)
        assert actual == {"avx2": True, "amx-tile": inputs, "amx-int8": inputs}
        assert query().flags[0] == ("+amx-int8" if inputs else "-amx-int8")
