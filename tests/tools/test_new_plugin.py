"""`tirax new plugin`: what it refuses, and that it leaves nothing behind then."""

from __future__ import annotations

import pytest

from tirax.tools.new_plugin import SKELETON, new_plugin, renamed


def test_it_writes_each_file_of_the_skeleton(cli, tmp_path):
    result = cli("new", "plugin", "waves", "--in", tmp_path / "a" / "b")
    assert (result.code, result.err) == (0, "")
    package = tmp_path / "a" / "b" / "waves"
    written = sorted(path.relative_to(package).as_posix() for path in package.rglob("*") if path.is_file())
    skeleton = (path for path in SKELETON.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    assert written == sorted(renamed(path.relative_to(SKELETON).as_posix(), "waves") for path in skeleton)
    assert all(str(package / path) in result.out for path in written)
    assert "pip install" in result.out.splitlines()[-1]


@pytest.mark.parametrize(
    "name", ["", "Waves", "2d", "a-b", "a__b", "_a", "a_", "class", "a.b", "../up", "a b", "wäves"]
)
def test_a_name_that_is_no_package_s_is_refused(cli, tmp_path, name):
    result = cli("new", "plugin", name, "--in", tmp_path)
    assert result.code == 2 and "this cannot be the name of a package" in result.err
    assert f"found: {name!r}" in result.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["tir", "relax", "arith", "nn", "image"])
def test_a_name_that_programs_use_already_is_refused(cli, tmp_path, name):
    result = cli("new", "plugin", name, "--in", tmp_path)
    assert result.code == 2 and f"'{name}' is a dialect or a group of operators already" in result.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["json", "numpy", "tirax", "tests"])
def test_a_name_that_is_imported_already_is_refused(cli, tmp_path, name):
    result = cli("new", "plugin", name, "--in", tmp_path)
    assert result.code == 2 and f"'{name}' is a module of Python or of an installed package" in result.err
    assert not list(tmp_path.iterdir())


def test_nothing_is_written_over(cli, tmp_path):
    (tmp_path / "waves").mkdir()
    (tmp_path / "waves" / "mine.py").write_text("mine")
    (tmp_path / "ripples").symlink_to(tmp_path / "nowhere")
    for name in ("waves", "ripples"):
        result = cli("new", "plugin", name, "--in", tmp_path)
        assert result.code == 1 and f"{name}' exists" in result.err
    assert [path.name for path in (tmp_path / "waves").iterdir()] == ["mine.py"]


def test_a_folder_that_is_a_file_is_reported(cli, tmp_path):
    (tmp_path / "file").write_text("")
    result = cli("new", "plugin", "waves", "--in", tmp_path / "file")
    assert result.code == 1 and "cannot write" in result.err


def test_what_cannot_be_finished_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tirax.tools.new_plugin.shutil.copymode", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        new_plugin("waves", str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_name_takes_the_form_of_its_place():
    text = "acme/acme.py: LowerAcme, lower-acme, acme-double, ACME, relax.acme.shrink"
    renamed_text = "my_acme/my_acme.py: LowerMyAcme, lower-my-acme, my-acme-double, MY_ACME, relax.my_acme.shrink"
    assert renamed(text, "my_acme") == renamed_text
