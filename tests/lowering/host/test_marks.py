"""What a profile says of programs that run: each call, nearly all of the time; and what it costs where it is off."""

import threading

import numpy as np
import pytest
from xdsl.traits import is_side_effect_free

import tirax.tvm_api as tvm
from tirax.driver.build import build
from tirax.driver.pipelines import HOST, OPTIMIZE, make_passes
from tirax.ir.passes.transform import new_context
from tirax.lowering.host.convert import SITES, ConvertHostToFunc
from tirax.runtime import VirtualMachine, cpu, registry
from tirax.runtime.errors import ArgumentError, NameLookupError, ShapeError
from tirax.runtime.executable import Executable
from tirax.runtime.profiling.limits import Limits
from tirax.script import parse_source

LIMITS = Limits(2, 1e11, ((1 << 40, 1e10),))
SOURCE = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 64), "float32")
        B = T.match_buffer(b, (n, 64), "float32")
        for i, j in T.grid(n, 64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2) + T.float32(1)
    @R.function(private=True)
    def twice(x: R.Tensor(("n", 64), "float32")) -> R.Tensor(("n", 64), "float32"):
        n = T.int64()
        gv = R.call_tir(Module.scale, (x,), R.Tensor((n, 64), "float32"))
        return gv
    @R.function
    def main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((64, 32), "float32")):
        n = T.int64()
        y = Module.twice(x)
        z = R.call_tir(Module.scale, (y,), R.Tensor((n, 64), "float32"))
        with R.dataflow():
            lv = R.matmul(z, w)
            gv = R.nn.relu(lv)
            R.output(gv)
        o = R.call_packed("test.marks.say", gv, sinfo_args=R.Tensor((n, 32), "float32"))
        return o
"""


@pytest.fixture(scope="module", autouse=True)
def say():
    registry.register_func("test.marks.say", lambda x: x, override=True)
    yield
    registry.remove_global_func("test.marks.say")


@pytest.fixture(scope="module")
def executable(say):
    return build(parse_source(SOURCE))


def arguments(n):
    rng = np.random.default_rng(n)
    return rng.standard_normal((n, 64), np.float32), rng.standard_normal((64, 32), np.float32)


def expected(x, w):
    return np.maximum((4 * x + 3) @ w, 0)


@pytest.mark.parametrize("n", [0, 1, 300])
def test_each_call_is_a_row_with_what_it_does(executable, n):
    report = executable.profile("main", *arguments(n), limits=LIMITS)
    np.testing.assert_allclose(report.result, expected(*arguments(n)), rtol=1e-4, atol=1e-4)
    calls = {(row.function, row.result): row for row in report.by_call if row.kind == "kernel"}
    scale, matmul = calls["main", "z"], calls["main", "gv"]
    assert (scale.place, calls["twice", "gv"].place) == ("<string>:23:13", "<string>:17:14")
    assert (scale.operations, scale.bytes) == (n * 64 * 2, n * 64 * 8)
    assert matmul.operations == n * 32 * (64 * 2 + 1)
    assert matmul.bytes == 4 * (n * 64 + (64 * 32 if n else 0) + n * 32)
    kinds = sorted((row.kind, row.name.removeprefix("host code of ")) for row in report.rows)
    assert ("packed", "test.marks.say") in kinds and {("host", "main"), ("host", "twice")} < set(kinds)
    assert [row.count for row in report.rows if row.name == "scale"] == [2]


def test_nearly_all_of_the_time_is_attributed(executable):
    """In the best of some long runs: what else the machine does in between is nobody's."""
    reports = [executable.profile("main", *arguments(60000), repeat=3, limits=LIMITS) for _ in range(5)]
    report = max(reports, key=lambda each: each.attributed)
    assert report.attributed >= 0.99
    assert sum(row.share for row in report.rows) == pytest.approx(1.0)
    segments = list(report.segments())
    assert all(a.end == b.begin for a, b in zip(segments, segments[1:]))


def test_memory_is_that_of_tensors_that_are_needed(executable):
    report = executable.profile("main", *arguments(100), limits=LIMITS)
    live = {s.site.result: s.live for s in report.segments() if s.site.kind == "kernel" and s.site.function == "main"}
    assert live == {"z": 2 * 100 * 64 * 4, "gv": 100 * (64 + 32) * 4}
    assert report.peak_memory == live["z"]


def test_the_virtual_machine_has_it_by_tvms_name(executable):
    vm = VirtualMachine(executable, cpu(), profile=True)
    report = vm.profile("main", *arguments(4), limits=LIMITS)
    assert {"Name", "Duration (us)", "Percent", "Count", "Device"} <= report.calls[0].keys()
    assert isinstance(report, tvm.runtime.profiling.Report)
    assert "scale" in report.table() and report.json() and report.csv()
    assert report.device_metrics["cpu0"]["Duration (us)"] == report.seconds * 1e6
    with pytest.raises(ArgumentError, match="no program"):
        VirtualMachine(executable.jit()).profile("main")


def test_what_is_off_costs_nothing(executable):
    """The object of an executable does not depend on whether anybody profiles it, and does not know of the recorder."""
    code = executable.code
    executable.profile("main", *arguments(1), limits=LIMITS)
    with executable.profiling() as session:
        session["main"](*arguments(1))
    assert executable.code is code and b"tirax_lap" not in code and b"tirax_enter" not in code
    assert b"tirax_lap" in executable.instrumented.code
    assert build(parse_source(SOURCE)).code == code


def test_marks_are_all_that_profiling_adds():
    """main: way in, two kernels in a row and after them, a packed function and after it, way out. twice: one kernel.

    A mark counts, and calls the recorder where the call is measured.
    """
    mark = ["llvm.load", "llvm.store", "scf.if", "@tirax_lap"]

    def effects(profile):
        module = parse_source(SOURCE)
        for each in [*make_passes((*OPTIMIZE, *HOST[:-1])), ConvertHostToFunc(profile)]:
            each.apply(new_context(), module)
        called = [op for op in module.walk() if not is_side_effect_free(op)]
        assert profile == (SITES in module.attributes)
        return [str(op.properties.get("callee", op.name)) for op in called if op.name != "func.func"]

    plain, marked = effects(False), effects(True)
    assert (marked.count("@tirax_enter"), marked.count("@tirax_leave")) == (2, 2)
    assert marked.count("@tirax_lap") == (3 + 2) + 2
    rest = " ".join(marked).replace("llvm.load @tirax_enter ", "").replace("@tirax_leave ", "")
    assert rest.replace(" ".join(mark) + " ", "").split() == plain


def test_errors_are_those_of_the_function(executable):
    with pytest.raises(ShapeError):
        executable.profile("main", np.zeros((2, 3), np.float32), arguments(2)[1], limits=LIMITS)
    with pytest.raises(NameLookupError):
        executable.profile("mian", limits=LIMITS)
    with pytest.raises(ArgumentError, match="how often"):
        executable.profile("main", *arguments(2), repeat=0, limits=LIMITS)
    report = executable.profile("main", *arguments(2), limits=LIMITS)
    assert report.rows[-1].seconds >= 0


def test_an_executable_of_a_file_has_no_program(executable, tmp_path):
    executable.save(tmp_path / "m.tirax")
    with pytest.raises(ArgumentError, match="from a file has no program"):
        Executable.load(tmp_path / "m.tirax").profile("main", *arguments(1))


def test_threads_wait_for_each_other(executable):
    counts = []

    def run():
        report = executable.profile("main", *arguments(50), limits=LIMITS)
        counts.append(sum(row.count for row in report.rows if row.kind == "kernel"))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [3] * 4


LOOP = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4096, 256), "float32"), B: T.Buffer((4096, 256), "float32")):
        for i in T.parallel(4096):
            for j in range(256):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = T.exp(A[vi, vj]) + A[vi, vj]
"""


def test_parallel_loops_say_how_busy_their_threads_were():
    executable = build(parse_source(LOOP), pipeline="lower-cpu-unscheduled")
    a, b = np.ones((4096, 256), np.float32), np.zeros((4096, 256), np.float32)
    report = executable.profile("main", a, b, repeat=3, limits=LIMITS)
    row = next(row for row in report.rows if row.kind == "kernel")
    alone = row.threads == 1 and row.balance is None  # the machine had no other free, and the loop was not cut up
    assert alone or (row.threads >= 1 and 0 < row.balance <= 1)
    assert (row.operations, row.bytes) == (4096 * 256, 2 * 4096 * 256 * 4)
    np.testing.assert_allclose(b, np.exp(a) + a, rtol=1e-6)


def test_an_own_pipeline_is_profiled_as_it_is():
    executable = build(parse_source(SOURCE), pipeline=make_passes(OPTIMIZE))
    report = executable.profile("main", *arguments(7), limits=LIMITS)
    np.testing.assert_allclose(report.result, expected(*arguments(7)), rtol=1e-4, atol=1e-4)


WHILE = """
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((8,), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.add(x, x)
            r = R.multiply(y, x)
        else:
            z = R.subtract(x, x)
            r = R.exp(z)
        return r
"""


@pytest.mark.parametrize(("truth", "results"), [(True, {"y", "gv"}), (False, {"z", "gv1"})])
def test_only_the_branch_that_runs_is_recorded(truth, results):
    """The value of a branch has a name of its own."""
    report = build(parse_source(WHILE)).profile("main", np.ones(8, np.float32), np.array(truth), limits=LIMITS)
    kernels = [row for row in report.by_call if row.kind == "kernel"]
    assert {row.result for row in kernels} <= results and kernels
