"""What a process does beside calls: signals, threads, other interpreters, its end; and memory over many calls."""

import contextlib
import ctypes
import gc
import signal
import subprocess
import sys

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.driver.build import build
from tirax.runtime import abi, registry, set_num_threads
from tirax.runtime.errors import AbiError, ArgumentError, OutsideError, ShapeError
from tirax.script import parse_source

MODULE = """
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor(("n", "n"), "float32")):
        gv = R.nn.softmax(R.matmul(R.nn.relu(x), x))
        return gv
"""


@pytest.fixture(scope="module")
def executable():
    return build(parse_source(MODULE))


def test_a_signal_ends_a_function_between_long_kernels() -> None:
    after: list[object] = []
    registry.register_func("process.after", after.append, override=True)
    full, long = "R.nn.softmax(R.matmul(R.nn.relu(x), x))", "R.matmul(R.matmul(R.matmul(x, x), x), x)"
    call = f'R.call_pure_packed("process.after", {long}, sinfo_args=R.Tensor(("n", "n"), "float32"))'
    text = MODULE.replace(full, call)
    run, x = build(parse_source(text))["main"], np.zeros((1500, 1500), "float32")
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.02)  # SIGINT is ignored in a shell's background
            run(x)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not after


def test_results_are_the_same_for_any_number_of_threads(executable) -> None:
    x = np.random.default_rng(0).standard_normal((257, 257)).astype("float32")
    results = []
    for threads in (1, 2, 3, 4, 7):
        set_num_threads(threads)
        results.append(executable["main"](x).tobytes())
    set_num_threads(None)
    assert len(set(results)) == 1


CALLS_IN_A_PROCESS = """
import gc, os
run, x = build(parse_source(MODULE))["main"], np.ones((3, 3), "float32")
def growth(calls):
    gc.collect()
    with open("/proc/self/statm") as status:
        before = int(status.read().split()[1])
    for _ in range(calls):
        run(x)
    with open("/proc/self/statm") as status:
        return (int(status.read().split()[1]) - before) * os.sysconf("SC_PAGESIZE")
growth(2000)
print(min(growth(CALLS) for _ in range(2)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/statm")
@thinned("calls", [50_000, 1_000_000], 1)
def test_memory_stays_over_many_calls(calls: int) -> None:
    """Less than any object each call; what else the process does may grow once, a leak grows each time.

    In a process of its own: where others have left free memory whose pages the system has taken back, malloc goes
    through that, and the process grows by all of it though nothing is held.
    """
    head = "import numpy as np\nfrom tirax.driver.build import build\nfrom tirax.script import parse_source\n"
    done = _python(head + CALLS_IN_A_PROCESS.replace("MODULE", repr(MODULE)).replace("CALLS", str(calls)))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 16 * calls


class _Bytes(ctypes.Structure):
    """glibc's struct mallinfo2."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "used"]
    ] + [("rest", ctypes.c_size_t * 2)]


def _held() -> tuple[int, int]:
    """Bytes that C code holds, and objects that Python holds."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = _Bytes
    gc.collect()
    info = mallinfo2()
    return info.used + info.hblkhd, sys.getallocatedblocks()


def _fails(x):
    raise ZeroDivisionError


CALLS = {
    "kernels": ("gv = R.nn.softmax(R.matmul(R.nn.relu(x), x))", np.ones((3, 3), "float32"), None),
    "large": ("gv = R.nn.softmax(R.matmul(R.nn.relu(x), x))", np.ones((600, 600), "float32"), None),
    "shape": ("gv = R.add(x, R.zeros((3, 3), 'float32'))", np.ones((4, 4), "float32"), ShapeError),
    "kind": ("gv = R.nn.relu(x)", "text", ArgumentError),
    "index": ("gv = R.take(x, R.const([0, 9]), axis=0)", np.ones((3, 3), "float32"), OutsideError),
    "callback": (
        'gv = R.call_packed("process.fails", R.matmul(x, x), sinfo_args=R.Tensor(("n", "n"), "float32"))',
        np.ones((3, 3), "float32"),
        ZeroDivisionError,
    ),
}


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="only glibc counts what it has given")
@thinned("name", CALLS, lambda name: CALLS[name][2])
def test_a_call_leaves_nothing(name: str) -> None:
    """Each call that forgets an object or a piece of memory, also where it fails, would be seen 400 times."""
    body, x, error = CALLS[name]
    registry.register_func("process.fails", _fails, override=True)
    text = "gv = R.nn.softmax(R.matmul(R.nn.relu(x), x))"
    run = build(parse_source(MODULE.replace(text, body)))["main"]

    def call(times: int) -> None:
        for _ in range(times):
            with contextlib.nullcontext() if error is None else pytest.raises(error):
                run(x)

    call(400)
    memory, objects = _held()
    call(400)
    after, objects_after = _held()
    assert objects_after - objects < 200 and after - memory < 400 * 16


def _python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=300)


@only_full
def test_calls_while_the_interpreter_ends() -> None:
    done = _python(f"""
import atexit, weakref, numpy as np
from tirax.driver.build import build
from tirax.script import parse_source
ex = build(parse_source({MODULE!r}))
run, x = ex["main"], np.ones((300, 300), "float32")
class Late:
    def __init__(self): self.run, self.x, self.print = run, x, print
    def __del__(self): self.print("late", self.run(self.x).nbytes)
atexit.register(lambda: print("exit", run(x).shape))
late, kept = Late(), run(x)
""")
    assert (done.returncode, done.stdout, done.stderr) == (0, "exit (300, 300)\nlate 360000\n", "")


def test_another_interpreter_is_refused() -> None:
    module = "_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters"
    done = _python(f"""
import {module} as interpreters, sys
inside = '''
try:
    import tirax.runtime.abi as abi
    abi.fixed_slots()
except Exception as error:  # numpy refuses it, too
    print(type(error).__name__)
'''
other = interpreters.create()
interpreters.run_string(other, f"import sys; sys.path[:] = {{sys.path!r}}" + inside)
""")
    assert done.stdout.strip() in ("ImportError", "AbiError"), done.stderr


def test_free_threaded_python_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(abi.sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED")
    with pytest.raises(AbiError, match="free-threaded"):
        abi.require_gil()


FORKS = """
import os, threading, signal
run, stop = compiled(TEXT), threading.Event()
x = np.ones((100000, 4), np.float32)  # the GIL is released, so that others call meanwhile
run["main"](x)
def work():
    while not stop.is_set():
        run["main"](x)
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads:
    t.start()
codes = []
for _ in range(6):
    child = os.fork()
    if not child:
        signal.alarm(20)  # one that hangs ends by a signal
        os._exit(0 if np.array_equal(run["main"](x), x + 1) else 1)
    codes.append(os.waitpid(child, 0)[1])
stop.set()
for t in threads:
    t.join()
print(codes == [0] * 6)
"""


def test_a_child_of_fork_while_threads_call(in_process) -> None:
    """No lock is held for ever by a thread that the child does not have."""
    text = """relax.func @main(%x: !T) -> !T {
  %y = relax.call_tir @inc(%x) : !T
  relax.return %y : !T
}"""
    assert in_process(FORKS.replace("TEXT", repr(text))) == "True\n"
