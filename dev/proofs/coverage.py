"""The share of pairs of a pass and a function that are proved, over narrow models through `default-cpu`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ...driver.pipelines import PIPELINES, make_passes
from ...ir.passes.transform import naming_pass, new_context
from ...proof import Finding, Verdict, validate_step
from ...proof.steps import UNTIL, Lowerings, summary_of
from ...target import Target
from ...tools.checking import rename_as
from .models import MODELS

SIZES = (3,)


def findings_of(module: ModuleOp) -> list[tuple[str, Finding]]:
    """Return what is proved of each pass that changes something; the module is consumed."""
    lowerings, found = Lowerings(SIZES), list[tuple[str, Finding]]()
    for each in make_passes(PIPELINES["default-cpu"], Target.host().text):
        if each.name in UNTIL:
            break
        before = module.clone()
        with naming_pass(each):
            each.apply(new_context(), module)
        if before.is_structurally_equivalent(module):
            continue
        rename_as(before, module)
        result = validate_step(before, module, sizes=SIZES)
        result.findings += lowerings.validate(before, module).findings
        found += [(each.name, f) for f in result.findings]
    return found


def coverage(names: Sequence[str]) -> int:
    """Print the findings of models; return 1 if one is wrong."""
    total = Counter[str]()
    for name in names or MODELS:
        start, counts = time.monotonic(), Counter[str]()
        for what, finding in findings_of(MODELS[name](name)):
            counts[summary_of(finding)] += 1
            if finding.verdict is not Verdict.PROVED:
                print(f"  {name}, {what}: {finding}")
        total += counts
        print(f"{name}: {dict(counts)} in {time.monotonic() - start:.0f} s", flush=True)
    proved = sum(n for kind, n in total.items() if kind.startswith("proved"))
    print(f"proved: {proved} of {total.total()} pairs of a pass and a function; {dict(total)}")
    return int(bool(total["wrong"]))
