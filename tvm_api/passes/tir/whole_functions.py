"""`bind-target`, `annotate-entry-func` and `Filter`: attributes of tensor functions, and their removal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import Attribute

from ....dialects import tir
from ....handles.tir.prim_func import PrimFunc
from ....ir.passes.transform import Pass
from ....transforms.tir.walk import erase_with_tree, functions, with_attr

HOST_FUNC = "tir.is_host_func"


@dataclass(frozen=True)
class BindTarget(Pass):
    """Set the attribute `target` of tensor functions.

    Functions with `tir.is_host_func` get the target's host (by default `llvm`), and that attribute is removed; private
    ones get the target without its host. A function that has a target keeps it, but a public one gets the host, if
    its target has none.
    """

    name = "bind-target"
    target: str = "llvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        described = getattr(self.target, "__tirax_script_value__", None)
        config = (tir.TargetAttr.of(self.target) if described is None else described()).config
        host = config.get("host")
        alone = {k: v for k, v in config.items() if k != "host"}
        for func in functions(op):
            attrs: Mapping[str, Attribute] = {} if func.func_attrs is None else func.func_attrs.data
            kept = DictionaryAttr({k: v for k, v in attrs.items() if k != HOST_FUNC})
            func.func_attrs = kept if kept.data else None
            own = attrs.get("target")
            if own is not None:  # of another kind: the text of a target
                if isinstance(own, tir.TargetAttr) and host and "host" not in own.config and not func.private:
                    with_attr(func, "target", tir.TargetAttr.of(own.config, host))
            elif HOST_FUNC in attrs:
                of_host = host or {"kind": "llvm"}
                with_attr(func, "target", tir.TargetAttr.of(of_host, of_host))
            else:
                with_attr(func, "target", tir.TargetAttr.of(alone, None if func.private else host))


ENTRY = "tir.is_entry_func"


@dataclass(frozen=True)
class AnnotateEntryFunc(Pass):
    """Set the attribute `tir.is_entry_func` of the only tensor function, or the only public one.

    With several public functions nothing changes.
    """

    name = "annotate-entry-func"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        funcs = functions(op)
        public = funcs if len(funcs) == 1 else [f for f in funcs if not f.private]
        if len(public) == 1:
            with_attr(public[0], ENTRY, True)


def _always(_func: PrimFunc) -> bool:
    return True


@dataclass(frozen=True)
class Filter(Pass):
    """Remove the tensor functions for which `fcond(func)` is false. Their callers must be removed, too."""

    name = "filter"
    fcond: Callable[[PrimFunc], bool] = field(default=_always)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions(op):
            if not self.fcond(PrimFunc.on(func)):
                erase_with_tree(func)
