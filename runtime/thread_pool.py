"""The threads that parallel loops run on: one pool a process, in native code, without any library.

A parallel loop calls `tirax_parallel_for(function, context, begin, end, grain, limit)`, which calls
`function(context, from, to)` on disjoint parts that make up `begin … end` and returns when all are done. The caller
works, too. Parts are handed out one after another (a fetch-and-add each), so a thread that the system holds back delays
nothing but the part it has. There are fewer threads where a part would be smaller than `grain` iterations, and one (the
caller, by a plain call) where

- the whole range is not longer than `grain`,
- the caller is itself inside of a parallel loop, or another Python thread is: the pool belongs to one loop at a time.

How many threads: `set_num_threads`, else the environment's TIRAX_NUM_THREADS, TVM_NUM_THREADS or OMP_NUM_THREADS, else
the cores that this process may use. `limit` is the target's `-num-cores`, 0 for none. Workers start with the first loop
that needs them; idle ones spin for some microseconds, then sleep in the kernel (a futex), and so does a caller that
waits. After a fork the child begins without workers. Where there is no futex (not Linux on x86-64 or AArch64)
everything runs on the caller.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

from ..hardware import usable_cores
from .errors import ArgumentError, TiraxError

SYMBOL = "tirax_parallel_for"
"""The function that compiled objects call: void (ptr, ptr, i64 begin, i64 end, i64 grain, i64 limit)."""

_ENVIRONMENT = ("TIRAX_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS")
_MAX_THREADS = 1024
_SPINS = 4000
"""How often a waiting thread looks before it sleeps: 20 to 50 microseconds."""
_PARTS = 4
"""Into how many parts the share of a thread is cut, so that threads which are held back do not decide the time."""


class ThreadCountError(TiraxError, ValueError):
    """A number of threads that cannot be."""


def num_threads() -> int:
    """How many threads a parallel loop may use, the caller's among them."""
    return _pool().threads()


def set_num_threads(count: int | None) -> None:
    """Let parallel loops use `count` threads from now on; None: what the environment says.

    Raises `ArgumentError` where it is no integer, `ThreadCountError` where it is not 1 … 1024.
    """
    if count is None:
        count = default_threads()
    if not isinstance(count, int) or isinstance(count, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError("the number of threads", expected="an integer", found=type(count).__name__)
    _pool().set_threads(_checked(count, "the number of threads"))


def parallel_for_address() -> int:
    """The address of `tirax_parallel_for`; the pool is compiled at the first call."""
    return _pool().parallel_for


def default_threads() -> int:
    """The number of threads by the environment, else the cores that this process may use.

    Raises `ThreadCountError` for a variable that holds no number from 1 to 1024.
    """
    for name in _ENVIRONMENT:
        value = os.environ.get(name, "").split(",")[0].strip()
        if value:
            return _checked(int(value) if value.isdecimal() else 0, f"environment variable {name}", value)
    return min(_MAX_THREADS, usable_cores())


def _checked(count: int, what: str, found: object = None) -> int:
    if not 1 <= count <= _MAX_THREADS:
        raise ThreadCountError(what, expected=f"an integer from 1 to {_MAX_THREADS}", found=repr(found or count))
    return count


@dataclass(frozen=True)
class _System:
    """What the pool's code needs of the system: the number of the futex call and the hint inside of a spinning loop."""

    futex: int
    pause: str


_SYSTEMS = {
    ("linux", "x86_64"): _System(202, "call void @llvm.x86.sse2.pause()"),
    ("linux", "aarch64"): _System(98, "call void @llvm.aarch64.hint(i32 1)"),
}

_POOL = """
@job = internal global i32 0, align 128        ; counts the loops; workers wait for it to change
@tickets = internal global i32 0, align 128    ; how many workers may still join the loop
@next = internal global i64 0, align 128       ; the first iteration that is not handed out
@finished = internal global i32 0, align 128   ; how many workers joined the loop and are through
@sleepers = internal global i32 0, align 128   ; how many workers sleep, or are about to
@busy = internal global i32 0, align 128       ; whether a loop has the pool
@waiting = internal global i32 0               ; whether the caller sleeps, or is about to
@threads = internal global i32 1
@started = internal global i32 0               ; how many workers there are
@function = internal global ptr null           ; these four: the loop
@context = internal global ptr null
@end = internal global i64 0
@part = internal global i64 1

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i64 @syscall(i64, ...)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i32 @llvm.smin.i32(i32, i32)

define internal void @sleep_while(ptr %word, i32 %value) {
  call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 128, i32 %value, ptr null, ptr null, i32 0)
  ret void
}

define internal void @wake(ptr %word) {
  call i64 (i64, ...) @syscall(i64 FUTEX, ptr %word, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}

; Run parts until none is left.
define internal void @work() {
entry:
  %f = load ptr, ptr @function
  %c = load ptr, ptr @context
  %end = load i64, ptr @end
  %part = load i64, ptr @part
  br label %take
take:
  %from = atomicrmw add ptr @next, i64 %part monotonic
  %some = icmp slt i64 %from, %end
  br i1 %some, label %run, label %done
run:
  %after = add i64 %from, %part
  %to = call i64 @llvm.smin.i64(i64 %after, i64 %end)
  call void %f(ptr %c, i64 %from, i64 %to)
  br label %take
done:
  ret void
}

; Whether this worker may join the loop: takes a ticket.
define internal i1 @join() {
entry:
  %first = load atomic i32, ptr @tickets acquire, align 4
  br label %try
try:
  %have = phi i32 [%first, %entry], [%found, %take]
  %some = icmp sgt i32 %have, 0
  br i1 %some, label %take, label %none
take:
  %less = sub i32 %have, 1
  %pair = cmpxchg ptr @tickets, i32 %have, i32 %less acq_rel acquire
  %found = extractvalue {i32, i1} %pair, 0
  %taken = extractvalue {i32, i1} %pair, 1
  br i1 %taken, label %yes, label %try
yes:
  ret i1 true
none:
  ret i1 false
}

; Spin, then sleep, until the word is no longer this value; %flag counts or says who sleeps.
define internal void @wait_while(ptr %word, i32 %value, ptr %flag) {
entry:
  br label %look
look:
  %count = phi i32 [0, %entry], [%count1, %spin]
  %now = load atomic i32, ptr %word acquire, align 4
  %same = icmp eq i32 %now, %value
  br i1 %same, label %again, label %done
again:
  PAUSE
  %count1 = add i32 %count, 1
  %long = icmp sgt i32 %count1, SPINS
  br i1 %long, label %sleep, label %spin
spin:
  br label %look
sleep:
  atomicrmw add ptr %flag, i32 1 seq_cst
  br label %check
check:
  %last = load atomic i32, ptr %word seq_cst, align 4
  %still = icmp eq i32 %last, %value
  br i1 %still, label %rest, label %up
rest:
  call void @sleep_while(ptr %word, i32 %value)
  br label %check
up:
  atomicrmw sub ptr %flag, i32 1 seq_cst
  br label %done
done:
  ret void
}

define internal ptr @worker(ptr %unused) {
entry:
  %signals = alloca [256 x i8], align 8
  call i32 @sigfillset(ptr %signals)
  call i32 @pthread_sigmask(i32 0, ptr %signals, ptr null)   ; signals are the Python threads'
  br label %loop
loop:
  %seen = load atomic i32, ptr @job acquire, align 4
  %joined = call i1 @join()
  br i1 %joined, label %run, label %idle
run:
  call void @work()
  atomicrmw add ptr @finished, i32 1 seq_cst
  %asleep = load atomic i32, ptr @waiting seq_cst, align 4
  %someone = icmp ne i32 %asleep, 0
  br i1 %someone, label %signal, label %loop
signal:
  call void @wake(ptr @finished)
  br label %loop
idle:
  call void @wait_while(ptr @job, i32 %seen, ptr @sleepers)
  br label %loop
}

; Start workers until there are so many; returns how many there are.
define internal i32 @start(i32 %wanted) {
entry:
  %thread = alloca i64
  br label %check
check:
  %have = load i32, ptr @started
  %enough = icmp sge i32 %have, %wanted
  br i1 %enough, label %done, label %more
more:
  %failed = call i32 @pthread_create(ptr %thread, ptr null, ptr @worker, ptr null)
  %ok = icmp eq i32 %failed, 0
  br i1 %ok, label %count, label %done
count:
  %id = load i64, ptr %thread
  call i32 @pthread_detach(i64 %id)
  %have1 = add i32 %have, 1
  store i32 %have1, ptr @started
  br label %check
done:
  %now = load i32, ptr @started
  %usable = call i32 @llvm.smin.i32(i32 %now, i32 %wanted)
  ret i32 %usable
}

; How many workers a loop of so many iterations gets beside the caller.
define internal i32 @helpers(i64 %count, i64 %grain, i64 %limit) {
  %threads = load atomic i32, ptr @threads monotonic, align 4
  %all = sext i32 %threads to i64
  %unlimited = icmp sle i64 %limit, 0
  %bound = select i1 %unlimited, i64 %all, i64 %limit
  %most = call i64 @llvm.smin.i64(i64 %all, i64 %bound)
  %more = add i64 %count, %grain
  %less = sub i64 %more, 1
  %parts = sdiv i64 %less, %grain
  %used = call i64 @llvm.smin.i64(i64 %most, i64 %parts)
  %others = sub i64 %used, 1
  %result = trunc i64 %others to i32
  ret i32 %result
}

define internal void @publish(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain, i32 %helpers) {
entry:
  %count = sub i64 %end, %begin
  %several = add i32 %helpers, 1
  %wide = sext i32 %several to i64
  %parts = mul i64 %wide, PARTS
  %more = add i64 %count, %parts
  %less = sub i64 %more, 1
  %even = sdiv i64 %less, %parts
  %part = call i64 @llvm.smax.i64(i64 %even, i64 %grain)
  store ptr %f, ptr @function
  store ptr %c, ptr @context
  store i64 %end, ptr @end
  store i64 %part, ptr @part
  store atomic i64 %begin, ptr @next monotonic, align 8
  store atomic i32 0, ptr @finished monotonic, align 4
  store atomic i32 %helpers, ptr @tickets seq_cst, align 4
  atomicrmw add ptr @job, i32 1 seq_cst
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %some = icmp ne i32 %asleep, 0
  br i1 %some, label %rouse, label %done
rouse:
  call void @wake(ptr @job)
  br label %done
done:
  ret void
}

; Wait for the workers that joined; no other may join any more.
define internal void @collect(i32 %helpers) {
entry:
  %left = atomicrmw xchg ptr @tickets, i32 0 acq_rel
  %joined = sub i32 %helpers, %left
  br label %check
check:
  %now = load atomic i32, ptr @finished acquire, align 4
  %all = icmp eq i32 %now, %joined
  br i1 %all, label %done, label %wait
wait:
  call void @wait_while(ptr @finished, i32 %now, ptr @waiting)
  br label %check
done:
  ret void
}

define void @tirax_parallel_for(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain0, i64 %limit) {
entry:
  %grain = call i64 @llvm.smax.i64(i64 %grain0, i64 1)
  %count = sub i64 %end, %begin
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %size, label %nothing
nothing:
  ret void
size:
  %wanted = call i32 @helpers(i64 %count, i64 %grain, i64 %limit)
  %several = icmp sgt i32 %wanted, 0
  br i1 %several, label %claim, label %alone
claim:
  %pair = cmpxchg ptr @busy, i32 0, i32 1 acq_rel monotonic
  %mine = extractvalue {i32, i1} %pair, 1
  br i1 %mine, label %together, label %alone
together:
  %helpers = call i32 @start(i32 %wanted)
  call void @publish(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain, i32 %helpers)
  call void @work()
  call void @collect(i32 %helpers)
  store atomic i32 0, ptr @busy release, align 4
  ret void
alone:
  call void %f(ptr %c, i64 %begin, i64 %end)
  ret void
}

define void @pool_set_threads(i32 %count) {
  store atomic i32 %count, ptr @threads monotonic, align 4
  ret void
}

define i32 @pool_threads() {
  %count = load atomic i32, ptr @threads monotonic, align 4
  ret i32 %count
}

; In the child of a fork, where no worker exists.
define void @pool_reset() {
  store i32 0, ptr @started
  store i32 0, ptr @busy
  store i32 0, ptr @tickets
  store i32 0, ptr @sleepers
  store i32 0, ptr @waiting
  ret void
}
"""
_WITHOUT_THREADS = """
define void @tirax_parallel_for(ptr %f, ptr %c, i64 %begin, i64 %end, i64 %grain, i64 %limit) {
entry:
  %some = icmp slt i64 %begin, %end
  br i1 %some, label %run, label %done
run:
  call void %f(ptr %c, i64 %begin, i64 %end)
  br label %done
done:
  ret void
}
define void @pool_set_threads(i32 %count) {
  ret void
}
define i32 @pool_threads() {
  ret i32 1
}
define void @pool_reset() {
  ret void
}
"""


def pool_text(system: str = sys.platform, machine: str = platform.machine()) -> str:
    """The pool as LLVM text for a system (`linux`, `darwin`, …) and a machine (`x86_64`, `aarch64`, …)."""
    found = _SYSTEMS.get((system, machine))
    if found is None:
        return _WITHOUT_THREADS
    text = f"{_POOL}declare void @{found.pause.partition('@')[2]}\n".replace("(i32 1)\n", "(i32)\n")
    for name, value in (("FUTEX", found.futex), ("SPINS", _SPINS), ("PARTS", _PARTS), ("PAUSE", found.pause)):
        text = text.replace(name, str(value))
    return text


class _Pool:
    """The compiled pool. It is never unloaded: its workers run in it."""

    def __init__(self) -> None:
        from .engine import link_text

        names = (SYMBOL, "pool_set_threads", "pool_threads", "pool_reset")
        tracker, addresses = link_text(pool_text(), names)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
        self.parallel_for: int = addresses[SYMBOL]
        self.set_threads: Any = ctypes.CFUNCTYPE(None, ctypes.c_int32)(addresses["pool_set_threads"])
        self.threads: Any = ctypes.CFUNCTYPE(ctypes.c_int32)(addresses["pool_threads"])
        self.set_threads(default_threads())
        reset = ctypes.CFUNCTYPE(None)(addresses["pool_reset"])
        os.register_at_fork(after_in_child=lambda: reset())


@functools.cache
def _pool() -> _Pool:
    return _Pool()
