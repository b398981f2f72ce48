"""Optional packages that importers require."""

from __future__ import annotations

import importlib
from types import ModuleType

from ...diagnostics import TiraxError


class MissingPackage(TiraxError, ImportError):
    """A package for reading models of a framework is not installed."""


def require(package: str, extra: str) -> ModuleType:
    """Import and return a package. Raises `MissingPackage`, which names the extra that installs it.

    Errors raised inside an installed package are passed on.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingPackage(f"{package} is not installed", hint=f"pip install 'tirax[{extra}]'") from error


def require_onnx() -> None:
    """Raise `MissingPackage` if the packages for reading ONNX files are not installed."""
    require("onnx", "onnx")


def require_torch() -> None:
    """Raise `MissingPackage` if PyTorch is not installed."""
    require("torch", "torch")
