"""Which versions of what are at work."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def version_of(package: str) -> str:
    """The installed version of a package, `-` where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "-"


def version_line() -> str:
    """One line for `--version`."""
    return (
        f"tirax {version_of('tirax')} (xDSL {version_of('xdsl')}, llvmlite {version_of('llvmlite')}, "
        f"Python {platform.python_version()})"
    )
