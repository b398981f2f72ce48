"""The second half of a build, from the host passes on: entry points and kernels become the code of an executable.

Code that a cached program does not need is here, so that it need not be imported for one (`build.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ..dialects.quick import clone
from ..dialects.relax.external import external_functions
from ..ir.passes.extern import check_calls
from ..ir.passes.transform import PassContext, new_context, no_gc
from ..lowering.host.symbols import name_kernels
from ..runtime.executable import Executable, TargetInfo
from ..target import Target
from .kernel_partition import kernels_by_part
from .object_cache import Begun, begin, object_of_modules
from .pipelines import TO_HOST, make_passes
from .run import run_passes
from .timings import stage
from .worker_pool import PartWorkers


def from_host(
    op: ModuleOp,
    named: Sequence[str],
    target: Target,
    opt_level: int,
    workers: PartWorkers | None = None,
    profile: bool = False,
) -> Executable:
    """Return the executable of a module; `named` are the remaining passes, from those of the host on."""
    at = named.index(TO_HOST)
    below = named[at + 1 :]
    run_passes(make_passes(named[:at], target.text), new_context(), op, verify_each=False)
    begun = None
    if workers is not None and workers.count:  # they begin with the kernels while this process emits entry points
        name_kernels(op)
        begun = begin(kernels_by_part(op), below, target, opt_level, workers)
    from ..lowering.host.convert import ConvertHostToFunc  # imported while the workers run

    run_passes([ConvertHostToFunc(profile)], new_context(), op, verify_each=False)
    return assemble(op, target, opt_level, below, workers, begun)


def instrumented(
    op: ModuleOp, named: Sequence[str], target: Target, opt_level: int, context: PassContext
) -> Executable:
    """Return an executable instrumented for profiling; it shares the kernels of the other one."""
    with no_gc(), context:
        return from_host(clone(op), named, target, opt_level, profile=True)


def assemble(
    op: ModuleOp,
    target: Target | None = None,
    opt_level: int = 3,
    passes: Sequence[str] = (),
    workers: PartWorkers | None = None,
    begun: Begun | None = None,
) -> Executable:
    """Return the executable of a module with entry points, in the llvm dialect after `passes`.

    `passes` are the names of the passes after `convert-host-to-func`; they do not run if the object is in the cache.
    `begun` is the work already started for its kernels.
    """
    from ..lowering.host.convert import SITES, host_data
    from .partition import Part, divide, has_long_entry_point, lowered_text

    target = target or Target.host()
    data = host_data(op)
    check_calls(op)

    lowering = make_passes(passes, target.text)
    alone = {"fewest": 1} if SITES in op.attributes or has_long_entry_point(op) else {}  # kernels stay functions
    parts = divide(op, **alone) if passes else [Part(op)]
    exported = frozenset(name for part in parts for name in part.exported)

    def text_of(number: int) -> str:
        return lowered_text(parts[number], lowering, exported)

    code = object_of_modules([part.module for part in parts], text_of, target, opt_level, passes, workers, begun)
    info = TargetInfo(target.text, target.triple, target.cpu, tuple(sorted(target.features)))
    with stage("executable"):
        return Executable(
            code,
            data.functions,
            slots=data.slots,
            constants=data.constants,
            target=info,
            external=external_functions(op),
            sites=data.sites,
        )
