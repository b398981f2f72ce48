"""LLVM on a separate thread: it compiles parts that are already lowered while Python lowers the next ones.

One thread suffices: llvmlite serializes calls into LLVM, and releases the GIL for them.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from ..hardware import build_threads
from ..target import Target

_ENTRY = "define ptr @entry_"
_KERNEL = "define internal i32 @kernel."
_LONG, _VERY_LONG = 10_000, 40_000
"""Lines of LLVM text."""


class Compiler:
    """Compiles LLVM text for a target, on a thread if requested: `with Compiler(…) as c: c.submit(text)`.

    At the end of the block, running work is awaited and pending work is cancelled.
    """

    def __init__(self, target: Target, opt_level: int):
        self._target = target
        self._opt_level = opt_level
        self._threads = build_threads()
        self._executor: ThreadPoolExecutor | None = None

    def __enter__(self) -> Compiler:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def submit(self, text: str) -> Future[bytes]:
        """Return a future of the object of LLVM text; its `result()` raises `LLVMError`."""
        if self._threads > 1:
            self._executor = self._executor or ThreadPoolExecutor(1, "tirax-llvm")
            return self._executor.submit(self._compile, text)
        done: Future[bytes] = Future()
        done.set_result(self._compile(text))
        return done

    def _compile(self, text: str) -> bytes:
        from ..lowering.machine import compile_object

        if _only_calls(text):
            return compile_object(text, self._target, self._opt_level, run_passes=False, codegen_level=0)
        return compile_object(text, self._target, _level(text, self._opt_level))


def _only_calls(text: str) -> bool:
    """Return whether a part consists of entry points so long that LLVM's time, quadratic in their blocks, is too
    much.
    """
    return _ENTRY in text and _KERNEL not in text and text.count("\n") > _VERY_LONG


def _level(text: str, opt_level: int) -> int:
    """Return the optimization level of a part: for long entry points, which only call, LLVM's passes do not pay off."""
    return min(opt_level, 1) if _ENTRY in text and text.count("\n") > _LONG else opt_level
