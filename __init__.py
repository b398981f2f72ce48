"""tirax: TIR + Relax as xDSL dialects, lowered to native CPU code.

import tirax

f = tirax.compile(model, x)  # a torch.nn.Module, an ONNX file, an IRModule, …
f(x)
"""

from typing import TYPE_CHECKING, Any

from .moved import install_finder

if TYPE_CHECKING:
    from .api import Compiled, compile, load

    __version__: str

install_finder()

__all__ = ["Compiled", "__version__", "compile", "load"]


def __getattr__(name: str) -> Any:
    """Import the front door at its first use: `import tirax` imports next to nothing."""
    if name == "__version__":
        from importlib.metadata import version

        return version("tirax")
    if name in ("Compiled", "compile", "load"):
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module 'tirax' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
