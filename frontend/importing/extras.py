"""Optional packages that importers require."""

from __future__ import annotations

import importlib
from types import ModuleType

from ...diagnostics import TiraxError

EXTRAS: dict[str, str] = {
    "PIL": "images",
    "google": "onnx",
    "jax": "jax",
    "jaxlib": "jax",
    "jinja2": "language",
    "lsprotocol": "lsp",
    "markupsafe": "language",
    "matplotlib": "plot",
    "onnx": "onnx",
    "onnxmltools": "sklearn",
    "pygls": "lsp",
    "skl2onnx": "sklearn",
    "sklearn": "train",
    "textual": "gui",
    "tokenizers": "language",
    "torch": "torch",
    "xgboost": "xgboost",
}
"""The extra of tirax that installs a package, by the name that is imported; `google` is protobuf."""


class MissingPackage(TiraxError, ImportError):
    """A package for reading models of a framework is not installed."""


def pip_line(package: str) -> str:
    """Return the command that installs a package."""
    return f"pip install 'tirax[{EXTRAS[package]}]'" if package in EXTRAS else f"pip install {package}"


def require(package: str, extra: str) -> ModuleType:
    """Import and return a package. Raises `MissingPackage`, which names the extra that installs it.

    Errors raised inside an installed package are passed on, unless the same extra installs what it lacks.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package and EXTRAS.get(str(error.name).partition(".")[0]) != extra:
            raise
        raise MissingPackage(f"{error.name} is not installed", hint=f"pip install 'tirax[{extra}]'") from error


def require_onnx() -> None:
    """Raise `MissingPackage` if the packages for reading ONNX files are not installed."""
    require("onnx", "onnx")
    require("google.protobuf", "onnx")


def require_torch() -> None:
    """Raise `MissingPackage` if PyTorch is not installed."""
    require("torch", "torch")
