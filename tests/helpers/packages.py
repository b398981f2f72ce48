"""Packages that `make test` does without: which tests need one, and so are those of `make test-models`.

A test says it in one of two ways. A file that needs a package as a whole has at its head

    torch = pytest.importorskip("torch", reason=...)

and a test or fixture of another file takes the package as a fixture: `def test_tensors_of_torch(torch)`. Nothing else
is found here, and so nothing else may ask for these packages: tests/packaging/test_optional_packages.py.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGES = (
    "jax", "jaxlib", "onnxruntime", "onnxscript", "safetensors", "skl2onnx", "tokenizers", "torch", "transformers",
)  # fmt: skip
"""What the Makefile's models.stamp installs, and what comes with it."""

_NAMED = re.compile(rf"\b(?:{'|'.join(PACKAGES)})\b")
_FILE_REQUIREMENT = re.compile(rf'^(?:\w+ = )?pytest\.importorskip\("(?:{"|".join(PACKAGES)})\b', re.MULTILINE)


def names_one(path: Path) -> bool:
    """Whether a file of tests can have one that needs a package: no other need be read."""
    return _NAMED.search(path.read_text()) is not None


def file_requirements(text: str) -> list[str]:
    """The lines of a file that ask for a package before any test of it."""
    return _FILE_REQUIREMENT.findall(text)


def needing_one(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of the tests that were collected, those that need a package."""
    requirements = {path: file_requirements(path.read_text()) for path in {item.path for item in items}}
    return [item for item in items if requirements[item.path] or set(PACKAGES) & set(getattr(item, "fixturenames", ()))]


def _fixture(name: str) -> object:
    @pytest.fixture(scope="session", name=name)
    def package() -> object:
        return pytest.importorskip(name, reason=f"`make test-models` installs {name}")

    return package


FIXTURES = {name: _fixture(name) for name in PACKAGES}
