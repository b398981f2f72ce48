"""Functions rebuilt by copying: a pass that is a `Copier` replaces statements and expressions while it copies."""

from __future__ import annotations

from xdsl.ir import Block

from ....dialects import tir
from ....dialects.names import name_of, set_name
from ....ir.rewriting.copy import Copier


def rebuild(func: tir.FuncOp, copier: Copier) -> None:
    """Replace the body of a function by what a copier makes of it; parameters keep their names."""
    old = func.body.block
    new = Block(arg_types=[p.type for p in old.args])
    for before, after in zip(old.args, new.args, strict=True):
        set_name(after, name_of(before))
    copier.statements(old.ops, new, dict(zip(old.args, new.args, strict=True)))
    func.body.add_block(new)
    func.body.detach_block(old)
    old.erase(safe_erase=False)
