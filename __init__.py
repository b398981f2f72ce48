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
    raise AttributeError(_without(name))


_ELSEWHERE = {
    "build": "tirax.compile(model), or tirax.driver.build.build(module)",
    "lower": "tirax.driver.build.lower",
    "nd": "tirax.tvm_api.nd",
    "relax": "from tirax.tvm_api import relax",
    "script": "import tirax.script, or tirax.tvm_api.script for TVMScript",
    "te": "from tirax.tvm_api import te",
    "tir": "from tirax.tvm_api import tir",
    "tvm": "import tirax.tvm_api as tvm",
    "from_onnx": "tirax.compile('model.onnx'), or tirax.frontend.onnx.from_onnx",
    "from_exported_program": "tirax.compile(program), or tirax.frontend.torch.exported_program.from_exported_program",
    "chat": "tirax.load('model.gguf'), or in a shell: tirax chat model.gguf",
    "export_library": "tirax.compile(model).export_library(path)",
}
"""Where names are that users of TVM and of other compilers look for here."""


def _without(name: str) -> str:
    """Return the message for an attribute that the package does not have."""
    message = f"module 'tirax' has no attribute '{name}'"
    if name in _ELSEWHERE:
        return f"{message}; it is {_ELSEWHERE[name]}"
    from .diagnostics import suggestion

    hint = suggestion(name, __all__)
    return f"{message}; {hint}" if hint else message


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
