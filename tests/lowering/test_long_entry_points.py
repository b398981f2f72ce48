"""Entry points that are very long are compiled without LLVM's passes, and kernels without them."""

from __future__ import annotations

import pytest

from tirax.dev.fuzz.checks import native_main
from tirax.dev.fuzz.structures import STRUCTURES
from tirax.driver import llvm_thread
from tirax.driver import partition as parts
from tirax.driver.build import build
from tirax.lowering import machine
from tirax.tvm_api.script import from_source


@pytest.mark.parametrize("name", ["loops", "functions", "branches", "symbols", "kernels"])
def test_they_compute_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("TIRAX_CACHE", "0")
    monkeypatch.setattr(parts, "_LONG", 0)
    monkeypatch.setattr(llvm_thread, "_VERY_LONG", 0)
    texts: dict[bool, list[str]] = {False: [], True: []}

    def compiled(text: str, *options: object, **more: object) -> bytes:
        texts["codegen_level" in more].append(text)
        return compile_object(text, *options, **more)

    compile_object = machine.compile_object
    monkeypatch.setattr(machine, "compile_object", compiled)
    module = from_source(STRUCTURES[name](3)).op
    assert native_main(module, build(module, "llvm -num-cores=1")["main"], sizes=(2, 5))
    assert all("define internal i32 @kernel." not in text for text in texts[True])
    assert all("define ptr @entry_" not in text for text in texts[False])
    assert texts[True] and texts[False]


def test_which_parts_only_call() -> None:
    text = "define ptr @entry_main(ptr %v0) {\n" + "\n" * llvm_thread._VERY_LONG
    assert llvm_thread._only_calls(text + "\n")
    assert not llvm_thread._only_calls(text[: len(text) // 2])
    assert not llvm_thread._only_calls(text + "\ndefine internal i32 @kernel.add() {\n")
