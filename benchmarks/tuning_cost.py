"""What a search costs beside measuring: candidates proposed, verified, featurised; a cost model learning and judging.

    python benchmarks/tuning_cost.py [--candidates 1000] [--only replay|evolution|model]

`cpu` is the time of this process alone, which other programs of a shared machine change less than `wall`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

MATMUL = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def main(
        A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")
    ):
        for i, j, k in T.grid(128, 128, 128):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def clocked(name: str, run: Callable[[], int]) -> None:
    """Run once and print the seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    count = run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    each = cpu / max(1, count) * 1e3
    print(f"{name:34} {count:6} candidates  {cpu:7.2f} s cpu  {wall:7.2f} s wall  {each:7.2f} ms each")


def task(kind: str, count: int, **options: object):
    """A search of a matmul on one core that has begun."""
    from tirax.tuning.context import TuneContext
    from tirax.tuning.search import SearchStrategy
    from tirax.tuning.space import PostOrderApply
    from tirax.tvm_api.script import from_source

    strategy = SearchStrategy.create(kind, **options)
    context = TuneContext(from_source(MATMUL), "llvm -num-cores=1", PostOrderApply(), strategy, rand_state=1)
    strategy.pre_tuning(count, count, context.generate_design_space())
    return context, strategy


def replay(count: int) -> None:
    """Candidates drawn from the design space, each applied, postprocessed and featurised."""
    from tirax.tuning.features import features_of

    _, strategy = task("replay-trace", count)

    def run() -> int:
        batch = strategy.generate_measure_candidates()
        return len([features_of(c.sch.mod) for c in batch])

    clocked("proposed, verified, featurised", run)


def evolution(count: int) -> None:
    """One round of the evolutionary search with its usual parameters, for 64 candidates."""
    from tirax.tuning.cost_model import CostModel

    context, strategy = task("evolutionary", 64)
    model = CostModel.create("boosting")
    strategy.trials.cost_model = model
    clocked("a round of evolution", lambda: len(strategy.generate_measure_candidates()))


def model(count: int) -> None:
    """Boosted trees: learning from so many samples, and judging as many."""
    from tirax.tuning.features import feature_count
    from tirax.tuning.trees import BoostedTrees

    rng = np.random.default_rng(0)
    x = np.floor(rng.uniform(0, 20, (count, feature_count())))
    y = np.sin(x[:, :5]).sum(axis=1)
    trees = BoostedTrees()
    clocked("learnt", lambda: trees.fit(x, y) or count)
    clocked("judged", lambda: len(trees.predict(x)))


PARTS = {"replay": replay, "evolution": evolution, "model": model}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    for name, part in PARTS.items():
        if options.only in (None, name):
            part(options.candidates)


if __name__ == "__main__":
    main()
