"""A candidate that crashes, hangs, takes too much memory or computes something else costs that candidate only."""

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from tuning_workloads import function, matmul, tiled

from tirax.diagnostics import NameLookupError
from tirax.runtime import Executable
from tirax.runtime.registry import register_func, remove_global_func
from tirax.schedule import Schedule
from tirax.target import Target
from tirax.tuning.builder import Builder, LocalBuilder
from tirax.tuning.processes import Limits, run_isolated
from tirax.tuning.runner import EvaluatorConfig, LocalRunner, Runner
from tirax.tuning.types import BuilderInput, RunnerInput, TensorInfo

TARGET = Target("llvm -num-cores=1")
ARGS = [TensorInfo("float32", (16, 16))] * 3
QUICK = EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0)


@pytest.fixture(scope="module")
def reference():
    return LocalBuilder().build_reference(BuilderInput(matmul(), TARGET)).artifact_path


def built(mod):
    result = LocalBuilder().build([BuilderInput(mod, TARGET)])[0]
    assert result.error_msg is None
    return result.artifact_path


def measured(mod, reference, **options):
    runner = LocalRunner(evaluator_config=QUICK, **options)
    return runner.run([RunnerInput(built(mod), "llvm", ARGS, reference)])[0].result()


def test_a_schedule_is_built_as_it_is_and_measured(reference):
    artifact = built(tiled(Schedule(matmul(), seed=1)).mod)
    a, b, c = (np.random.default_rng(0).random((16, 16), dtype=np.float32) for _ in range(3))
    Executable.load(artifact)["main"](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    future = LocalRunner(evaluator_config=QUICK).run([RunnerInput(artifact, "llvm", ARGS, reference)])[0]
    result = future.result()
    assert future.done() and result.error_msg is None
    assert len(result.run_secs) == 2 and min(result.run_secs) > 0


CRASH = 'T.evaluate(T.call_extern("int32", "memset", T.int64(8), 0, T.int64(8)))'
"""It writes where nothing is: `abort` and its like are not linked."""


@pytest.mark.parametrize(
    "body, limit, wrong",
    [
        (CRASH, 10.0, "crash: the process ended by signal 11"),
        ("while 1 > 0:\n    C[0, 0] = C[0, 0] + T.float32(1)", 0.5, "timeout: the time limit was reached"),
        ("C[3, 4] = T.float32(7)", 10.0, "wrong: wrong result: argument 2 differs at"),
    ],
    ids=["crash", "hang", "wrong"],
)
def test_failures_cost_the_candidate_only(body, limit, wrong, reference):
    result = measured(function(body), reference, timeout_sec=limit)
    assert result.run_secs is None and result.error_msg.startswith(wrong)
    assert measured(matmul(), reference).error_msg is None


def test_memory_is_limited(reference):
    """What the function asks for is more than it may have; it gets nothing, and ends there."""
    last = "C[0, 0] = D[T.Cast('int64', B[0, 0])]"
    body = f"D = T.alloc_buffer((1 << 34,))\nfor i in range(1 << 34):\n    D[i] = A[0, 0]\n{last}"
    result = measured(function(body), reference, memory_bytes=2 << 30)
    assert result.run_secs is None and result.error_msg.partition(":")[0] in ("crash", "memory", "error")
    assert measured(matmul(), reference).error_msg is None


def test_a_process_that_cannot_start_says_why(reference):
    """Its imports already take more memory than it may have."""
    result = measured(matmul(), reference, memory_bytes=60 << 20)
    assert "the process ended by" in result.error_msg and "Traceback" not in result.error_msg


def test_results_of_a_place_that_is_not_written_are_wrong(reference):
    body = "for i, j in T.grid(16, 16):\n    C[i, j] = C[i, j]"
    assert measured(function(body), reference).error_msg.startswith("wrong")
    assert measured(function(body), None).error_msg is None


def test_what_cannot_be_built_says_why():
    unknown = function('C[0, 0] = T.call_llvm_pure_intrin("float32", "llvm.no.such.thing", A[0, 0])')
    result = LocalBuilder().build([BuilderInput(unknown, TARGET)])[0]
    assert result.artifact_path is None
    assert result.error_msg.startswith("error: NameLookupError") and "llvm.no.such.thing" in result.error_msg


def test_what_may_not_be_linked_says_why():
    stranger = function('T.evaluate(T.call_extern("int32", "no_such_function_anywhere"))')
    result = LocalBuilder().build([BuilderInput(stranger, TARGET)])[0]
    assert result.error_msg.startswith("error: ExternError") and "'no_such_function_anywhere'" in result.error_msg


def test_a_worker_with_another_processor_refuses():
    payload = {"module": str(matmul().op), "target": "llvm", "processor": "another"}
    answer = run_isolated("build", payload, Limits())
    assert answer["kind"] == "error" and "another processor" in answer["error"]


EXECUTORS = {
    "threads": lambda: ThreadPoolExecutor(1),
    "processes": lambda: ProcessPoolExecutor(1, multiprocessing.get_context("spawn")),
}


@pytest.mark.parametrize("kind", EXECUTORS)
def test_any_executor_serves(kind, reference):
    with EXECUTORS[kind]() as executor:
        artifact = LocalBuilder(executor=executor).build([BuilderInput(matmul(), TARGET)])[0].artifact_path
        runner = LocalRunner(evaluator_config=QUICK, executor=executor)
        assert runner.run([RunnerInput(artifact, "llvm", ARGS, reference)])[0].result().error_msg is None
        crash = function(CRASH)
        bad = runner.run([RunnerInput(built(crash), "llvm", ARGS, reference)])[0].result()
        assert bad.error_msg.startswith("crash")
        assert runner.run([RunnerInput(artifact, "llvm", ARGS, reference)])[0].result().error_msg is None
    closed = LocalBuilder(executor=executor).build([BuilderInput(matmul(), TARGET)])[0]
    assert closed.error_msg.startswith("executor: the executor lost the job: RuntimeError")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "float64"])
def test_dtypes_are_compared_as_exactly_as_they_are(dtype):
    mod = matmul(dtype=dtype)
    args = [TensorInfo(dtype, (16, 16))] * 3
    good = LocalBuilder().build_reference(BuilderInput(mod, TARGET)).artifact_path
    result = LocalRunner(evaluator_config=QUICK).run([RunnerInput(built(mod), "llvm", args, good)])[0].result()
    assert result.error_msg is None


def test_medians_of_runs_and_flushed_caches(reference):
    config = EvaluatorConfig(number=1, repeat=3, min_repeat_ms=0, enable_cpu_cache_flush=True)
    assert config.as_options()["cache_flush_bytes"] > 2**24
    runner = LocalRunner(evaluator_config=config, alloc_repeat=2)
    result = runner.run([RunnerInput(built(matmul()), "llvm", ARGS, reference)])[0].result()
    assert len(result.run_secs) == 6


def test_kinds_by_name():
    assert isinstance(Builder.create("local", max_workers=1), LocalBuilder)
    assert isinstance(Runner.create("local"), LocalRunner)
    for kind in (Builder, Runner):
        with pytest.raises(NameLookupError, match="did you mean 'local'"):
            kind.create("loca")


def test_artifacts_are_files_of_their_own(reference):
    results = LocalBuilder(max_workers=2).build([BuilderInput(matmul(), TARGET)] * 2)
    paths = [Path(r.artifact_path) for r in results]
    assert len({*paths, Path(reference)}) == 3 and all(p.exists() for p in paths)


def test_functions_of_ones_own():
    """They build and write in this process, by themselves or by the names that an initializer registers."""
    seen = []

    def build(mod, target, params):
        seen.append((target, params))
        return Executable.load(built(tiled(Schedule(mod, seed=1)).mod))

    def broken(executable):
        raise ValueError("no room")

    def slow(executable):
        time.sleep(1)

    inputs = [BuilderInput(matmul(), TARGET)]
    ours = LocalBuilder(f_build=build).build(inputs)[0]
    assert seen == [(TARGET, None)] and "main" in Executable.load(ours.artifact_path).functions
    assert "ValueError: no room" in LocalBuilder(f_export=broken).build(inputs)[0].error_msg
    late = LocalBuilder(f_export=slow, timeout_sec=0.1).build(inputs)[0]
    assert late.artifact_path is None and "Timeout" in late.error_msg
    try:
        named = LocalBuilder(
            f_export="tests.broken", initializer=lambda: register_func("tests.broken", broken, override=True)
        )
        assert "no room" in named.build(inputs)[0].error_msg
    finally:
        remove_global_func("tests.broken")
    with pytest.raises(ValueError, match="unknown packed function"):
        LocalBuilder(f_build="tests.broken")
