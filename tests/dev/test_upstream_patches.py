"""The patches for xDSL apply to the release that is installed, and pass their tests there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirax.dev.upstream.patches import added_tests, apply_patch, copied, main, patches
from tirax.diagnostics import TiraxError


def test_each_patch_has_tests() -> None:
    files = patches()
    assert [file.name[:4] for file in files] == [f"{n + 1:04}" for n in range(len(files))]
    assert [file.name for file in files if not added_tests([file])] == []


def test_patches_apply_and_pass_their_tests(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "0006-linalg-results.patch" in capfd.readouterr().out


def test_a_patch_that_does_not_fit_is_named(tmp_path: Path) -> None:
    (tmp_path / "xdsl").mkdir()
    with pytest.raises(TiraxError, match="0001-arith-compare-shaped.patch does not apply"):
        apply_patch(patches()[0], tmp_path)


def test_sources_without_xdsl_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(TiraxError, match="has no sources of xDSL"):
        copied(tmp_path, tmp_path / "copy")
