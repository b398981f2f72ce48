"""Names of packages that are imported at their first use."""

from __future__ import annotations

import importlib

import pytest

LAZY = ["tirax.lowering.convert_to_llvm", "tirax.lowering.tir_to_scf", "tirax.schedule", "tirax.script.printer"]


@pytest.mark.parametrize("name", LAZY)
def test_all_public_names_are_there(name):
    package = importlib.import_module(name)
    for public in package.__all__:
        assert getattr(package, public).__module__.startswith(name)
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018
