"""Children of fork: what another thread of the parent did at that moment is no reason to wait for ever."""

from __future__ import annotations

from strength import only_full

HEAD = """
import os, signal, threading, time
TEXT = '''relax.func @main(%x: !T) -> !T {
  %y = relax.call_tir @inc(%x) : !T
  relax.return %y : !T
}'''
x = np.ones((3, 4), np.float32)

def ends_well(work):
    "Whether `work()` is true in a child; one that hangs ends by a signal."
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(0 if work() else 1)
    return os.waitpid(child, 0)[1] == 0

def holding(lock):
    "A thread that has entered, and the event that lets it leave."
    entered, leave = threading.Event(), threading.Event()
    def hold():
        with lock:
            entered.set()
            leave.wait()
    thread = threading.Thread(target=hold)
    thread.start()
    entered.wait()
    return thread, leave
"""

LOCKS = """
from tirax.dialects.relax.operator import OPERATORS
from tirax.handles.module import IRModule
from tirax.ir import python_text
from tirax.runtime import jit, registry
from tirax.runtime.profiling import recorder
from tirax.transforms.codegen import fusion_pattern
from tirax.tuning.database import MemoryDatabase
base, loaded, fresh = MemoryDatabase(), compiled(TEXT), compiled(TEXT)
LOCKS = {
    "an executable": (fresh._lock, lambda: (fresh["main"](x) == x + 1).all()),
    "linking": (jit._lock, lambda: jit.link_native(["checksum"], [])),
    "packed functions": (registry.FUNCTIONS._lock, lambda: registry.register_func("forks.f", print, True) is print),
    "texts": (python_text._reading, lambda: python_text.python_tree("x")),
    "plug-ins": (OPERATORS._lock, lambda: len(OPERATORS) > 0),
    "recordings": (recorder._lock, lambda: loaded.profile("main", x)),
    "fusion patterns": (fusion_pattern.PATTERNS._lock, lambda: fusion_pattern.get_patterns_with_prefix("none") == []),
    "tuning": (base._lock, lambda: base.commit_workload(IRModule(parse(TEXT)))),
}
assert all(work() for name, (_, work) in LOCKS.items() if name not in ("an executable", "plug-ins"))
for name, (lock, work) in LOCKS.items():
    thread, leave = holding(lock)
    in_child, held = ends_well(work), thread.is_alive()
    leave.set()
    thread.join()
    print(name, in_child, held, ends_well(work), bool(work()))
print(len(LOCKS))
"""


def test_a_child_takes_locks_that_other_threads_hold(in_process):
    """Each lock in turn, held by a thread that the child does not have; the parent's is as it was."""
    *rows, count = in_process(HEAD + LOCKS).splitlines()
    assert len(rows) == int(count) and all(row.endswith(" True True True True") for row in rows), rows


BUILDS = """
import warnings
from tirax.tvm_api.script import from_source
PROGRAM = '''from tvm.script import ir as I, relax as R
@I.ir_module
class Program:
    @R.function
    def main(x: R.Tensor((3, 4), "float32")):
        y = R.nn.softmax(R.add(x, R.const(SHIFT)), axis=1)
        return y
'''
warnings.simplefilter("ignore")
def right(shift):
    e = np.exp(x)
    run = build(from_source(PROGRAM.replace("SHIFT", str(shift))).op)["main"]
    return np.allclose(run(x), e / e.sum(1, keepdims=True))
done, stop = [right(0.5)], threading.Event()
def work(first):
    shift = first
    while not stop.is_set():
        shift += 1.0
        done.append(right(shift))
threads = [threading.Thread(target=work, args=(1000.0 * i,)) for i in range(2)]
for t in threads:
    t.start()
ends = []
for i in range(FORKS):
    time.sleep(0.037 * i)
    ends.append(ends_well(lambda: right(-1.0 - i)))
stop.set()
for t in threads:
    t.join()
print(all(ends), all(done), right(0.5))
"""


@only_full
def test_a_child_builds_while_threads_build_and_load(in_process):
    """Each program is new: the threads are in Python, in LLVM or in the linker when the process forks."""
    assert in_process(HEAD + BUILDS.replace("FORKS", "5")) == "True True True\n"


def test_a_child_leaves_the_processes_of_tuning_to_its_parent(in_process):
    """It would read the answers of its parent's jobs, and end these processes with itself."""
    code = """
from tirax.tuning import processes
limits = processes.Limits(30.0)
child = processes._take(limits)
processes._give_back(limits, child)
print(ends_well(lambda: not any(processes._idle.values())), child._process.poll(), processes._take(limits) is child)
processes._give_back(limits, child)
"""
    assert in_process(HEAD + code) == "True None True\n"
