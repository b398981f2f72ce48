"""Functions that tests of tuning tune."""

from concurrent.futures import Executor, Future

from tirax.handles.module import IRModule
from tirax.schedule import Schedule
from tirax.tuning.builder import LocalBuilder
from tirax.tuning.runner import EvaluatorConfig, LocalRunner
from tirax.tuning.worker import JOBS
from tirax.tvm_api.script import from_source


class InThisProcess(Executor):
    """Builds and measures right here, which saves starting processes where a test is about something else."""

    def submit(self, fn, job, payload, limits):
        done = Future()
        done.set_result(JOBS[job](payload))
        return done


QUICK = {
    "builder": LocalBuilder(executor=InThisProcess()),
    "runner": LocalRunner(evaluator_config=EvaluatorConfig(1, 2, 0), executor=InThisProcess()),
    "strategy": "replay-trace",
    "cost_model": "none",
    "num_trials_per_iter": 4,
    "seed": 1,
}
"""Options of tuning for tests."""
_MATMUL = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, ({n}, {n}), "{dtype}")
        B = T.match_buffer(b, ({n}, {n}), "{dtype}")
        C = T.match_buffer(c, ({n}, {n}), "{dtype}")
        T.func_attr({{"tir.noalias": True}})
        for i, j, k in T.grid({n}, {n}, {n}):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.{dtype}(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
_BODY = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        T.func_attr({{"tir.noalias": True}})
        {body}
"""


def matmul(n: int = 16, dtype: str = "float32") -> IRModule:
    """The product of two square matrices."""
    return from_source(_MATMUL.format(n=n, dtype=dtype))


def function(body: str) -> IRModule:
    """A function of the signature of `matmul(16)`, of one or more statements."""
    return from_source(_BODY.format(body=body.replace("\n", "\n        ")))


def tiled(sch):
    """A design space made by hand."""
    block = sch.get_block("C", "main")
    i, j, k = sch.get_loops(block)
    j_0, j_1 = sch.split(j, sch.sample_perfect_tile(j, n=2))
    sch.reorder(i, j_0, k, j_1)
    sch.decompose_reduction(block, k)
    return sch


def numbered(mod, number):
    """A schedule of a square matrix product, another one for each of 25 numbers."""
    sch = Schedule(mod)
    for loop, size in zip(sch.get_loops(sch.get_block("C", "main"))[:2], divmod(number % 25, 5), strict=True):
        sch.split(loop, [None, size + 1])
    return sch
