"""Parameters stored in a module: in the attribute `params` of its functions, as importers create it."""

from __future__ import annotations

from ..handles.module import IRModule
from ..runtime.ndarray import NDArray

_ATTRIBUTE = "params"


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[NDArray]]]:
    """Return the module without the attribute `params` of its functions, and the removed values by function name."""
    params = {g.name_hint: f.attrs[_ATTRIBUTE] for g, f in mod.functions_items() if _ATTRIBUTE in f.attrs}
    functions = {g.name_hint: f.without_attr(_ATTRIBUTE) for g, f in mod.functions_items()}
    return IRModule(functions), params
