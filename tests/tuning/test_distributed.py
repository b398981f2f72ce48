"""Tuning on a cluster: a worker is killed in mid-run, and nothing is lost."""

import os
import signal
import threading

import pytest
from tuning_workloads import matmul

from tirax.tuning.builder import LocalBuilder
from tirax.tuning.runner import EvaluatorConfig, LocalRunner
from tirax.tuning.types import BuilderInput
from tirax.tvm_api import meta_schedule as ms

distributed = pytest.importorskip("distributed", reason="tirax[distributed] is not installed")


class KillsAWorker(LocalBuilder):
    """Builds; a moment after the work was sent, the first worker that has some is killed."""

    def __init__(self, client, executor):
        super().__init__(executor=executor)
        self.client, self.pids = client, []

    def build(self, build_inputs: list[BuilderInput]):
        if not self.pids:
            self.pids = sorted(self.client.run(os.getpid).values())
            threading.Timer(0.5, os.kill, (self.pids[0], signal.SIGKILL)).start()
        return super().build(build_inputs)


def test_a_worker_is_killed_in_mid_run(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        executor = client.get_executor()
        builder = KillsAWorker(client, executor)
        config = EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0)
        database = ms.tune_tir(
            matmul(64),
            "llvm -num-cores=1",
            tmp_path,
            12,
            num_trials_per_iter=6,
            strategy="replay-trace",
            cost_model="none",
            builder=builder,
            runner=LocalRunner(executor=executor, evaluator_config=config),
            seed=1,
        )
        left = set(client.run(os.getpid).values())
    assert builder.pids[0] not in left, "the worker was not killed: the test shows nothing"
    records = database.get_all_tuning_records()
    assert len(records) == 12 and all(r.run_secs for r in records)
    assert len((tmp_path / "logs" / "trials.jsonl").read_text().splitlines()) == 12


def test_only_the_executor_is_passed(tmp_path):
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        database = ms.tune_tir(
            matmul(16),
            "llvm -num-cores=1",
            tmp_path,
            2,
            strategy="replay-trace",
            cost_model="none",
            executor=client.get_executor(),
            seed=1,
        )
    assert len(database) == 2
