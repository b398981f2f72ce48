"""`tirax.extend` has all extension points, by name, and the pages on extensions import them from there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tirax
from tirax import extend

ROOT = Path(tirax.__file__).parent


@pytest.mark.parametrize("name", extend.__all__)
def test_each_name_is_there(name):
    assert getattr(extend, name) is not None


def test_an_unknown_name():
    with pytest.raises(AttributeError, match=r"'tirax\.extend' has no attribute 'Passs'"):
        extend.Passs  # noqa: B018
    assert dir(extend) == extend.__all__


def test_importing_it_imports_nothing_large():
    code = "import sys, tirax.extend; assert not {'numpy', 'xdsl', 'llvmlite'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pages_on_extensions_import_names_from_it():
    paths = [
        *ROOT.glob("docs/extending/**/*.py"),
        *ROOT.glob("docs/extending/**/*.md"),
        *ROOT.glob("tools/plugin_skeleton/**/*.py"),
    ]
    assert len(paths) > 20
    imports = re.compile(r"^from tirax\.([\w.]+) import ([\w, ]+)$", re.MULTILINE)
    others = [
        f"{path.relative_to(ROOT)}: {name} of {module}"
        for path in paths
        for module, names in imports.findall(path.read_text())
        for name in names.split(", ")
        if module != "extend" and extend.NAMES.get(name) == module
    ]
    assert not others
