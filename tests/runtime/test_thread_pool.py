"""The pool that parallel loops run on: each iteration once, whoever calls, from wherever."""

import ctypes
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.hardware import cpu_quota
from tirax.runtime import num_threads, set_num_threads, thread_pool
from tirax.runtime.jit import link_text

# Adds 1 to each of its elements, `inner` times as a parallel loop of its own where that is not 0.
BODY = """
define void @add_one(ptr %cells, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [%begin, %entry], [%next, %loop]
  %at = getelementptr i64, ptr %cells, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @nested(ptr %job, i64 %begin, i64 %end) {
entry:
  %pool = load ptr, ptr %job
  %second = getelementptr ptr, ptr %job, i64 1
  %cells = load ptr, ptr %second
  %first = mul i64 %begin, 10
  %last = mul i64 %end, 10
  call void %pool(ptr @add_one, ptr %cells, i64 %first, i64 %last, i64 1, i64 0)
  ret void
}
"""


@pytest.fixture(scope="module")
def native():
    keep, addresses = link_text(BODY, ["add_one", "nested"])
    pointer, i64 = ctypes.c_void_p, ctypes.c_int64
    run = ctypes.CFUNCTYPE(None, pointer, pointer, i64, i64, i64, i64)(thread_pool.parallel_for_address())
    yield run, addresses
    del keep


@pytest.fixture(autouse=True)
def four_threads():
    set_num_threads(4)
    yield
    set_num_threads(None)


@pytest.mark.parametrize("grain", [-1, 1, 3, 10**9])
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_every_iteration_runs_once(native, grain, limit):
    run, addresses = native
    for begin, end in ((0, 0), (5, 3), (0, 1), (2, 9), (0, 1000)):
        cells = np.zeros(1000, np.int64)
        for _ in range(50):
            run(addresses["add_one"], cells.ctypes.data, begin, end, grain, limit)
        expected = np.zeros(1000, np.int64)
        expected[begin:end] = 50
        np.testing.assert_array_equal(cells, expected)


def test_a_loop_inside_of_a_loop_runs_on_its_thread(native):
    run, addresses = native
    cells = np.zeros(1000, np.int64)
    job = np.array([thread_pool.parallel_for_address(), cells.ctypes.data], np.int64)
    for _ in range(200):
        run(addresses["nested"], job.ctypes.data, 0, 100, 1, 0)
    np.testing.assert_array_equal(cells, np.full(1000, 200))


def test_python_threads_share_the_pool(native):
    run, addresses = native
    arrays = [np.zeros(500, np.int64) for _ in range(6)]

    def work(cells):
        for _ in range(300):
            run(addresses["add_one"], cells.ctypes.data, 0, 500, 1, 0)

    threads = [threading.Thread(target=work, args=(cells,)) for cells in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for cells in arrays:
        np.testing.assert_array_equal(cells, np.full(500, 300))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_gets_workers_of_its_own(native):
    run, addresses = native
    cells = np.zeros(100, np.int64)
    run(addresses["add_one"], cells.ctypes.data, 0, 100, 1, 0)
    child = os.fork()
    if child == 0:
        for _ in range(100):
            run(addresses["add_one"], cells.ctypes.data, 0, 100, 1, 0)
        os._exit(0 if (cells == 101).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_workers_are_other_threads(native):
    run, addresses = native
    cells = np.zeros(1000, np.int64)
    run(addresses["add_one"], cells.ctypes.data, 0, 1000, 1, 0)
    if sys.platform == "linux" and os.uname().machine in ("x86_64", "aarch64"):
        assert len(os.listdir("/proc/self/task")) > threading.active_count()


class Sleeping:
    """Loops of 16 iterations that sleep: 2 ms each on the caller, `helper` seconds on other threads."""

    def __init__(self) -> None:
        self.caller, self.seen = threading.get_ident(), dict[int, list[int]]()
        """The threads, and where the parts began that they ran."""

    def threads(self, helper: float = 0.002) -> set[int]:
        """Run one; the threads that it ran on."""
        pointer, i64 = ctypes.c_void_p, ctypes.c_int64
        self.seen.clear()

        def part(_, begin, end):
            self.seen.setdefault(threading.get_ident(), []).append(begin)
            time.sleep(0.002 if threading.get_ident() == self.caller else helper)

        body = ctypes.CFUNCTYPE(None, pointer, i64, i64)(part)
        kind = ctypes.CFUNCTYPE(None, type(body), pointer, i64, i64, i64, i64)
        kind(thread_pool.parallel_for_address())(body, None, 0, 16, 1, 0)
        return set(self.seen)


@pytest.mark.skipif(sys.platform != "linux", reason="the pool is of Linux")
def test_a_thread_runs_neighbours():
    """The caller the first half, another thread the second; then what is left of the other one's."""
    loop = Sleeping()
    set_num_threads(2)
    loop.threads()
    for thread, begins in loop.seen.items():
        assert (begins[0] < 8) == (thread == loop.caller)
        halves = [begin // 8 for begin in begins]
        assert halves == sorted(halves, reverse=thread != loop.caller)


@pytest.mark.skipif(sys.platform != "linux", reason="the pool is of Linux")
def test_loops_do_without_threads_that_were_held_back():
    """As where the system gives their cores to others: loops that follow are the caller's."""
    loop = Sleeping()
    assert len(loop.threads()) > 1
    for _ in range(10):  # a machine that is busy indeed may hold this thread back, too
        set_num_threads(4)  # forgets what was before
        assert len(loop.threads(helper=0.1)) > 1
        if loop.threads() == {loop.caller}:
            break
    else:
        pytest.fail("threads that are held back are waited for again")


@pytest.mark.skipif(sys.platform != "linux", reason="the pool is of Linux")
def test_one_loss_counts_against_what_was_saved():
    """One thread that is late is no reason to do without all, where they have saved more."""
    loop = Sleeping()
    for _ in range(10):
        set_num_threads(4)
        for _ in range(6):
            loop.threads()
        loop.threads(helper=0.04)
        if len(loop.threads()) > 1:
            break
    else:
        pytest.fail("one loss stops threads that have saved more")


def test_how_many_threads():
    set_num_threads(3)
    assert num_threads() == 3
    for wrong, kind in ((0, ValueError), (-1, ValueError), (10**6, ValueError), ("2", TypeError), (True, TypeError)):
        with pytest.raises(kind) as caught:
            set_num_threads(wrong)
        assert isinstance(caught.value, TiraxError)
    assert num_threads() == 3


@pytest.mark.parametrize(
    ("name", "value", "threads"),
    [("TIRAX_NUM_THREADS", "3", 3), ("TVM_NUM_THREADS", "2", 2), ("OMP_NUM_THREADS", "5,1", 5)],
)
def test_the_environment_says_how_many(monkeypatch, name, value, threads):
    for other in ("TIRAX_NUM_THREADS", "TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv(name, value)
    assert thread_pool.default_threads() == threads
    for wrong in ("many", "0", "-1"):
        monkeypatch.setenv(name, wrong)
        with pytest.raises(ValueError, match=f"{name}.*"):
            thread_pool.default_threads()


def test_a_container_may_use_less_than_the_machine_has(tmp_path):
    file = tmp_path / "cpu.max"
    for text, cores in (("150000 100000\n", 2), ("max 100000\n", 1024), ("nonsense", 1024)):
        file.write_text(text)
        assert cpu_quota(file) == cores
    assert cpu_quota(tmp_path / "absent") == 1024


def test_without_a_futex_the_caller_does_all():
    serial = thread_pool.pool_text("darwin", "arm64").replace(thread_pool.SYMBOL, "serial_for")
    keep, addresses = link_text(serial + BODY, ["serial_for", "add_one"])
    pointer, i64 = ctypes.c_void_p, ctypes.c_int64
    run = ctypes.CFUNCTYPE(None, pointer, pointer, i64, i64, i64, i64)(addresses["serial_for"])
    cells = np.zeros(10, np.int64)
    run(addresses["add_one"], cells.ctypes.data, 2, 9, 1, 0)
    run(addresses["add_one"], cells.ctypes.data, 9, 2, 1, 0)
    np.testing.assert_array_equal(cells, [0, 0, 1, 1, 1, 1, 1, 1, 1, 0])
    del keep


def test_a_process_with_sleeping_workers_ends():
    code = f"""
import ctypes, numpy as np
from tirax.runtime import set_num_threads, thread_pool
from tirax.runtime.jit import link_text
set_num_threads(4)
keep, addresses = link_text('''{BODY}''', ["add_one"])
run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 4)(thread_pool.parallel_for_address())
cells = np.zeros(1000, np.int64)
run(addresses["add_one"], cells.ctypes.data, 0, 1000, 1, 0)
print(cells.sum())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "1000"), done.stderr


def test_tvms_names_for_it():
    tvm.get_global_func("runtime.config_threadpool")(1, 3)
    assert tvm.runtime.num_threads() == tvm.get_global_func("runtime.NumThreads")() == 3
    tvm.get_global_func("runtime.config_threadpool")(1, 0)
    assert num_threads() == thread_pool.default_threads()
