"""Run passes on a module, each as a stage of the timings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..ir.passes.transform import PassContext, Sequential, run_pass, verifying
from .pipelines import LOWERING
from .timings import at_pass, stage


def run_passes(passes: Sequence[Any], context: Context, op: ModuleOp, *, verify_each: bool = True) -> None:
    """Run passes in place, each as a stage of `Timings`.

    The module is verified after each of them or, without `verify_each`, only when it has left relax and tir: from there
    on LLVM verifies the result, and xDSL's verifier is slow for functions with many blocks.
    """
    with verifying(op) as verifier:  # one for all passes: unchanged functions are not verified again
        for i, p in enumerate(passes):
            name = getattr(p, "name", type(p).__name__)
            if not verify_each and name == LOWERING[0]:
                with stage("verify"):
                    verifier.verify(op, after=passes[i - 1].name if i else None)
            at_pass(i + 1, len(passes))
            with stage(name):
                _run(p, context, op, verify_each)


def _run(p: Any, context: Context, op: ModuleOp, verify_each: bool) -> None:
    where = PassContext.current()
    with where.quietly(verify=where.verify and verify_each):
        if verify_each or getattr(p, "name", "") not in LOWERING:
            Sequential([p]).apply(context, op)
        else:
            run_pass(p, context, op)
