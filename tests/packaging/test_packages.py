"""pyproject.toml says what the tree holds; the full check of a wheel is `make wheel`."""

import tomllib

import pytest
from repository import ROOT, package_files, packages_in_tree, packages_listed


def test_the_list_of_packages_is_the_tree():
    assert set(packages_listed()) == packages_in_tree()


def test_no_package_is_listed_twice():
    assert len(packages_listed()) == len(set(packages_listed()))


def test_every_package_has_an_init_file():
    without = {
        f.parent.relative_to(ROOT).as_posix() for f in package_files() if not (f.parent / "__init__.py").exists()
    }
    assert not without


@pytest.mark.parametrize("name", ["tvm", "torch", "onnx", "numpy", "xdsl", "llvmlite", "build", "test"])
def test_no_room_shadows_a_package_that_users_import(name: str):
    """The root is on the path of whoever runs Python there."""
    assert f"tirax.{name}" not in packages_in_tree()
    assert not (ROOT / f"{name}.py").exists()


def test_xdsl_is_pinned_to_one_minor_version():
    with (ROOT / "pyproject.toml").open("rb") as file:
        needed = tomllib.load(file)["project"]["dependencies"]
    assert [n for n in needed if n.startswith("xdsl==") and n.endswith(".*")]
