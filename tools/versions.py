"""Versions of tirax and its dependencies."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def version_of(package: str) -> str:
    """Return the installed version of a package, `-` if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"


def version_line() -> str:
    """Return the line for `--version`."""
    return (
        f"tirax {version_of('tirax')} (xDSL {version_of('xdsl')}, llvmlite {version_of('llvmlite')}, "
        f"Python {platform.python_version()})"
    )
