"""Edits of a reduction: sites in a program, and a change at each. Their rules are in `relax_rules.py` and others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from ...dialects import relax, tir
from ...dialects.names import name_of, set_name
from ...ir.functions.lookup import callee_names, functions, module_of
from ...ir.passes.transform import no_gc
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from ...ir.rewriting.edit import erase, erase_unused
from ...ir.verification.verify import Verifier
from .search import ReductionRule


@dataclass(frozen=True)
class Edit:
    """A change of a program at the sites that `sites` lists, always in the same order; `apply` makes it in place.

    A change that yields an ill-formed program, or one that is not smaller, is discarded.
    """

    sites: Callable[[ModuleOp], list[Any]]
    apply: Callable[[Any], None]
    runs: bool = True

    def rule(self) -> ReductionRule[ModuleOp]:
        """Return the edit as a rule of the search."""
        return ReductionRule(lambda module: len(self.sites(module)), self._smaller, self.runs)

    def _smaller(self, module: ModuleOp, start: int, size: int) -> ModuleOp | None:
        copy = module.clone()
        for site in self.sites(copy)[start : start + size]:
            if _is_attached(site):
                self.apply(site)
        return smaller_and_sound(copy, module)


def smaller_and_sound(copy: ModuleOp, module: ModuleOp) -> ModuleOp | None:
    """Return a changed copy without unused parts; None if it is ill-formed or not smaller."""
    try:
        tidy(copy)
        if _weight(copy) >= _weight(module):
            return None
        with no_gc():
            Verifier().verify(copy)
    except DiagnosticException:
        return None
    return copy


def _weight(module: ModuleOp) -> int:
    """Return the size of a program: small constants weigh less than computed values; parameters count."""
    inner = sum(1 if _is_small(op) else 2 for op in module.walk())
    return inner + sum(len(block.args) for op in module.walk() for region in op.regions for block in region.blocks)


def _is_small(op: Operation) -> bool:
    if isinstance(op, relax.ConstantOp):
        return len(op.value.data.raw) <= _SMALL
    return isinstance(op, (*relax.LEAVES, tir.ConstOp))


_SMALL = 64
"""Size in bytes up to which a constant is readable at a glance; a parameter is simpler than a larger one."""


def tidy(module: ModuleOp) -> None:
    """Remove unused bindings, expressions, buffers and private functions in place; update result types."""
    for func in functions(module).values():
        if isinstance(func, relax.FuncOp):
            remove_dead_bindings(func)
            func.ret_type = func.return_op.value.type
        else:
            erase_unused([op for op in func.walk() if op.results])
            _remove_buffers(func)
    while unused := _unreachable(module):
        for func in unused:
            erase(func)


def _remove_buffers(func: tir.FuncOp) -> None:
    for op in list(func.walk()):
        if isinstance(op, tir.AllocBufferOp | tir.DeclBufferOp) and not any(r.first_use for r in op.results):
            erase(op)


def _unreachable(module: ModuleOp) -> list[Operation]:
    """Return the private functions that no other function refers to."""
    table = functions(module)
    mentioned = {name for f in table.values() for op in f.walk() for name in callee_names(op) if name != symbol(f)}
    return [f for name, f in table.items() if f.private and name not in mentioned]


def symbol(func: relax.FuncOp | tir.FuncOp) -> str:
    """Return the name of a function."""
    return func.sym_name.data


def operations(module: ModuleOp) -> int:
    """Return the number of operations in a program, including functions and terminators."""
    return sum(1 for _ in module.walk()) - 1


def replace_value(old: SSAValue, new: SSAValue) -> None:
    """Replace the uses of `old` by `new`, which takes over its name if it has none."""
    if name_of(new) is None:
        set_name(new, name_of(old))
    old.replace_all_uses_with(new)


def _is_attached(site: Any) -> bool:
    """Return whether a site is still in the module, after edits at earlier sites."""
    owner = site.owner if isinstance(site, SSAValue) else site
    op = owner if isinstance(owner, Operation) else owner.parent_op() if hasattr(owner, "parent_op") else None
    return op is not None and module_of(op) is not None
