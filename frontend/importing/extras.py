"""Packages that importers need and tirax does not install by itself."""

from __future__ import annotations

import importlib
from types import ModuleType

from ...diagnostics import TiraxError


class MissingPackage(TiraxError, ImportError):
    """A package that reads the models of a framework is not installed."""


def require(package: str, extra: str) -> ModuleType:
    """The package, imported. Raises `MissingPackage` that names the extra which installs it.

    An error inside of an installed package is its own.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise MissingPackage(f"{package} is not installed", hint=f"pip install 'tirax[{extra}]'") from error


def require_onnx() -> None:
    """Raises `MissingPackage` where what reads ONNX files is not installed."""
    require("onnx", "onnx")


def require_torch() -> None:
    """Raises `MissingPackage` where PyTorch is not installed."""
    require("torch", "torch")
