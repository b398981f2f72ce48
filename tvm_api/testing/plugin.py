"""`tvm.testing.plugin`: a plug-in of pytest for tests that are written with `tvm.testing`.

    pytest_plugins = ["tirax.tvm_api.testing.plugin"]

Parameters that change together work without it; it adds the fixtures `target` and `dev`, and the marks of devices.
"""

from __future__ import annotations

from typing import Any

import pytest

from ...runtime import Device, device
from . import enabled_targets, parametrize_groups

_MARKS = ("gpu", "tensorcore", "cuda", "opencl", "rocm", "vulkan", "metal", "llvm", "hexagon", "corstone300")


def pytest_addoption(parser: Any) -> None:
    """`--gtest_args`, which TVM's scripts pass, is taken and has no effect: there are no tests in C++."""
    parser.addoption("--gtest_args", action="store", default="", help="taken for TVM's sake, without effect")


def pytest_configure(config: Any) -> None:
    """The marks that TVM's tests bear."""
    for name in _MARKS:
        config.addinivalue_line("markers", f"{name}: a test for {name}")


def pytest_generate_tests(metafunc: Any) -> None:
    """Spread parameters that change together, and `target` over the targets that are there."""
    parametrize_groups(metafunc)
    if "target" in metafunc.fixturenames and "target" not in _chosen(metafunc):
        metafunc.parametrize("target", [name for name, _ in enabled_targets()], scope="session")


def _chosen(metafunc: Any) -> set[str]:
    """The names that marks of a test give values to."""
    names = (mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    return {part.strip() for marked in names for part in (marked.split(",") if isinstance(marked, str) else marked)}


@pytest.fixture
def dev(target: Any) -> Device:
    """The device that a test's target is for."""
    return device(str(target).split(" ")[0], 0)


__all__ = ["dev", "pytest_addoption", "pytest_configure", "pytest_generate_tests"]
