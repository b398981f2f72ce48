"""Random sequences of primitives by the thousand: `python tests/schedule/fuzz.py [first seed] [count]`.

Each seed chooses a workload and a sequence; the module is verified after every step, the outcome is compared with the
unscheduled function, the trace is replayed from all of its forms, and every 20th outcome is compiled. A failure is
printed with the fewest steps that still show it; it belongs into `test_random_sequences.py`, then.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Sequence

from sequences import Outcome, Step, check, draw, run, shrunk
from workloads import WORKLOADS

from tirax.handles.module import IRModule
from tirax.tvm_api.script import from_source

LONGEST, ATTEMPTS, COMPILED = 10, 40, 20


def main(first: int = 0, count: int = 1000) -> int:
    """Try the seeds from `first` on; gives the number of failures."""
    modules = {name: from_source(text) for name, text in WORKLOADS.items()}
    tried, refused, failures, start = Counter[str](), 0, 0, time.perf_counter()
    for seed in range(first, first + count):
        rng = random.Random(seed)
        name = rng.choice(list(modules))
        module, native = modules[name], seed % COMPILED == 0
        outcome = Outcome.fresh(module, rng)
        try:
            draw(outcome, rng, rng.randint(1, LONGEST), ATTEMPTS)
            check(module, outcome.sch, native=native)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a finding)
            failures += 1
            _report(seed, name, module, outcome.steps, error)
        tried.update(step[0] for step in outcome.taken)
        refused += outcome.refused
        if (seed - first) % 100 == 99:
            print(f"{seed - first + 1} sequences, {failures} failures, {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{count} sequences, {tried.total()} steps taken, {refused} refused, {failures} failures")
    print(", ".join(f"{name} {times}" for name, times in tried.most_common()))
    return failures


def _report(seed: int, name: str, module: IRModule, steps: Sequence[Step], error: Exception) -> None:
    print(f"seed {seed}, {name}: {type(error).__name__}: {str(error).splitlines()[0]}")
    for step in shrunk(module, steps, lambda m, fewer: _fails(m, fewer, type(error))):
        print("   ", step)
    sys.stdout.flush()


def _fails(module: IRModule, steps: Sequence[Step], kind: type[Exception]) -> bool:
    try:
        check(module, run(module, steps))
    except kind:
        return True
    except Exception:  # noqa: BLE001 (another finding than the one that is looked for)
        return False
    return False


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])) > 0)
