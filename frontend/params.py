"""Parameters that a module brings along: in the attribute `params` of its functions, as importers leave them."""

from __future__ import annotations

from ..handles.module import IRModule
from ..runtime.ndarray import NDArray

_ATTRIBUTE = "params"


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[NDArray]]]:
    """The module without the attribute `params` of its functions, and what these held, by the functions' names."""
    params = {g.name_hint: f.attrs[_ATTRIBUTE] for g, f in mod.functions_items() if _ATTRIBUTE in f.attrs}
    functions = {g.name_hint: f.without_attr(_ATTRIBUTE) for g, f in mod.functions_items()}
    return IRModule(functions), params
