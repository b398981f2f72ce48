"""Passes for debugging: print the module between two passes, or run a pass on selected functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region

from ...diagnostics import NameLookupError
from ...dialects import relax, tir
from ...handles.module import IRModule
from ...ir.functions.lookup import FunctionOp, callee_names, functions
from ...ir.passes.transform import Pass, run_pass

_VISIBILITY = "sym_visibility"


@dataclass(frozen=True)
class PrintIR(Pass):
    """Prints the module, preceded by `header`, without changing it; with `show_meta_data` also its constants."""

    name = "print-ir"
    header: str = ""
    show_meta_data: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        print(f"PrintIR({self.header}):\n{IRModule(op).script(show_meta=self.show_meta_data)}")


@dataclass(frozen=True)
class ApplyPassToFunction(Pass):
    """Runs a pass on the functions whose full name matches a regular expression, with only signatures of the others.

    Matching functions that others call are public during the pass, which does not see these calls.

    Raises `NameLookupError` if no name matches and `error_if_no_function_matches_regex` is set.
    """

    name = "apply-pass-to-function"
    transform: Any = None
    func_name_regex: str = ""
    error_if_no_function_matches_regex: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        matches = re.compile(self.func_name_regex).fullmatch
        table = functions(op)
        if self.error_if_no_function_matches_regex and not any(map(matches, table)):
            raise NameLookupError(f"no function is called like '{self.func_name_regex}'", found=", ".join(table))
        others = {name: func for name, func in table.items() if not matches(name)}
        called = {n for func in others.values() for inner in func.walk() for n in callee_names(inner)}
        opened = [name for name, func in table.items() if name in called and matches(name) and func.private]
        for name in opened:
            del table[name].properties[_VISIBILITY]
        for func in others.values():
            op.body.block.insert_op_before(_stub(func), func)
            func.detach()
        try:
            run_pass(self.transform, ctx, op)
        finally:
            self._restore(op, others)
            for name, func in functions(op).items():
                if name in opened:
                    func.properties[_VISIBILITY] = StringAttr("private")

    @staticmethod
    def _restore(op: ModuleOp, others: dict[str, FunctionOp]) -> None:
        for name, stub in functions(op).items():
            func = others.pop(name, None)
            if func is not None:
                op.body.block.insert_op_before(func, stub)
                stub.detach()
                stub.erase()
        op.body.block.add_ops(others.values())


def _stub(func: Operation) -> Operation:
    """Return a function of the same signature whose body calls an unknown function."""
    if isinstance(func, tir.FuncOp):
        stub = func.clone_without_regions()
        stub.add_region(Region(Block(arg_types=[p.type for p in func.params])))
        return stub
    assert isinstance(func, relax.FuncOp)
    block = Block(arg_types=[p.type for p in func.params])
    call = relax.CallPurePackedOp(func.sym_name.data, list(block.args), func.ret_type)
    block.add_ops([call, relax.ReturnOp(call.result)])
    attrs = func.func_attrs
    return relax.FuncOp(
        func.sym_name.data, Region(block), func.ret_type, private=func.private, attrs=attrs, pure=func.pure
    )
