"""`tvm.testing.plugin`: a pytest plug-in for tests that use `tvm.testing`.

    pytest_plugins = ["tirax.tvm_api.testing.plugin"]

It adds the fixtures `target` and `dev`, and the marks of devices; `tvm.testing.parameters` works without
it.
"""

from __future__ import annotations

from typing import Any

import pytest

from ...runtime import Device, device
from . import enabled_targets, parametrize_groups

_MARKS = ("gpu", "tensorcore", "cuda", "opencl", "rocm", "vulkan", "metal", "llvm", "hexagon", "corstone300")


def pytest_addoption(parser: Any) -> None:
    """Accept and ignore `--gtest_args`, which TVM's scripts pass: there are no C++ tests."""
    parser.addoption("--gtest_args", action="store", default="", help="taken for TVM's sake, without effect")


def pytest_configure(config: Any) -> None:
    """Register the marks of TVM's tests."""
    for name in _MARKS:
        config.addinivalue_line("markers", f"{name}: a test for {name}")


def pytest_generate_tests(metafunc: Any) -> None:
    """Parametrize tests over groups of parameters, and `target` over the available targets."""
    parametrize_groups(metafunc)
    if "target" in metafunc.fixturenames and "target" not in _chosen(metafunc):
        metafunc.parametrize("target", [name for name, _ in enabled_targets()], scope="session")


def _chosen(metafunc: Any) -> set[str]:
    """Return the parameter names that a test's marks set."""
    names = (mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    return {part.strip() for marked in names for part in (marked.split(",") if isinstance(marked, str) else marked)}


@pytest.fixture
def dev(target: Any) -> Device:
    """Return the device of a test's target."""
    return device(str(target).split(" ")[0], 0)


__all__ = ["dev", "pytest_addoption", "pytest_configure", "pytest_generate_tests"]
