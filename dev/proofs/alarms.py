"""Verdicts on what is right: passes on random programs, and random schedules, of the fuzzer's generators."""

from __future__ import annotations

import random
from collections import Counter

from ...driver.pipelines import make_passes
from ...ir.passes.transform import module_op
from ...proof import Validation, Verdict, validate_step
from ...proof.steps import summary_of
from ...tvm_api.script import from_source
from ..fuzz.checks import OPTIMIZE, TO_LOOPS
from ..fuzz.relax_programs import relax_program
from ..fuzz.sequences import Outcome, draw
from ..fuzz.workloads import WORKLOADS

_SIZES = (3, 1)
_STEPS = 6
_ATTEMPTS = 20


def alarms(count: int, seed: int) -> int:
    """Print the verdicts on `count` programs and `count` schedules; return 1 if one is wrong."""
    total = {"passes": Counter[str](), "schedules": Counter[str]()}
    for number in range(seed, seed + count):
        total["passes"] += _of_passes(random.Random(number))
        total["schedules"] += _of_schedule(random.Random(number))
    for what, counts in total.items():
        print(f"{what}: {counts.total()} findings: {dict(counts)}")
    return int(any(counts["wrong"] for counts in total.values()))


def _of_passes(rng: random.Random) -> Counter[str]:
    module, counts = relax_program(rng), Counter[str]()
    for each in make_passes((*OPTIMIZE, "default-schedule", *TO_LOOPS)):
        after = each(module)
        counts += _counted(each.name, validate_step(module, after, sizes=_SIZES))
        module = after
    return counts


def _of_schedule(rng: random.Random) -> Counter[str]:
    module = from_source(WORKLOADS[rng.choice(sorted(WORKLOADS))])
    out = Outcome.fresh(module, rng)
    draw(out, rng, _STEPS, _ATTEMPTS)
    steps = str([name for name, _ in out.taken])
    return _counted(steps, validate_step(module_op(module), out.sch.mod.op, sizes=_SIZES))


def _counted(what: str, result: Validation) -> Counter[str]:
    for finding in result.findings:
        if finding.verdict is Verdict.WRONG:
            print(f"{what}: {finding}", flush=True)
        elif finding.verdict is Verdict.NOT_COVERED:
            print(f"{what}: {str(finding)[:160]}")
    return Counter(f"{summary_of(f)}{' for all sizes' if f.all_sizes else ''}" for f in result.findings)
