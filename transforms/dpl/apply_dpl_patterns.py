"""The pass `apply-dpl-patterns{file=patterns.py}`: rewriters from a Python file that the user names.

The file is executed: the one exception to the rule that files passed to a tool do not run code.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ...diagnostics import TiraxError
from ...ir.passes.transform import Pass
from .eqsat import EqsatRewrite
from .rewriter import PatternMatchingRewriter, rewrite_module


@dataclass(frozen=True)
class ApplyDplPatterns(Pass):
    """Apply the `PatternMatchingRewriter`s that a Python file defines, in order of definition.

    `file`: the path of the file. `only`: the names of the rewriters to apply, by default all. `eqsat`: use the
    rewriters as equality rules, and replace dataflow blocks by the cheapest equal ones (`EqsatRewrite`).
    """

    name = "apply-dpl-patterns"
    file: str
    only: tuple[str, ...] = ()
    eqsat: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewriters = load_rewriters(self.file, self.only)
        if self.eqsat:
            EqsatRewrite(rewriters).apply(ctx, op)
        else:
            rewrite_module(rewriters, op)


def load_rewriters(file: str, only: tuple[str, ...] = ()) -> PatternMatchingRewriter:
    """Run a Python file and return the composition of its rewriters, or of those in `only`.

    Raises `TiraxError` if the file cannot be read, fails, or defines no rewriter.
    """
    rewriters = _rewriters(file)
    missing = [name for name in only if name not in rewriters]
    if missing or not rewriters:
        raise TiraxError(
            f"{file} defines no rewriter{' called ' + ', '.join(missing) if missing else ''}",
            expected="a global variable that is a PatternMatchingRewriter",
            found=", ".join(rewriters) or "none",
            hint="name = PatternMatchingRewriter.from_pattern(pattern, rewriter)",
        )
    return reduce(PatternMatchingRewriter.__or__, [rewriters[name] for name in only or rewriters])


def _rewriters(file: str) -> dict[str, PatternMatchingRewriter]:
    path = Path(file)
    spec = importlib.util.spec_from_file_location(f"tirax_patterns_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise TiraxError(f"there is no Python file '{file}'", hint="file=patterns.py, relative to where the tool runs")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 (whatever the user's program raises is reported as that)
        raise TiraxError(f"{file} failed: {type(error).__name__}", found=str(error)) from error
    return {name: value for name, value in vars(module).items() if isinstance(value, PatternMatchingRewriter)}
