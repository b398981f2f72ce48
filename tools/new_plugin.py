"""`tirax new plugin`: create a plug-in package with tests from the template in `plugin_skeleton/`.

The template is a working package called `acme`, whose name is replaced everywhere.
"""

from __future__ import annotations

import keyword
import re
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

from ..diagnostics import TiraxError
from ..dialects.relax import OPERATORS
from ..universe import full_universe
from .guard import UsageError

SKELETON = Path(__file__).parent / "plugin_skeleton"


def new_plugin(name: str, folder: str = ".") -> list[Path]:
    """Write the package `name` below `folder`, atomically, and return its files.

    Raises `UsageError` for an invalid name, and `TiraxError` if the path exists or cannot be written.
    """
    check_name(name)
    target = Path(folder) / name
    if target.exists() or target.is_symlink():
        raise TiraxError(f"'{target}' exists", hint="another name, or --in another folder: nothing is written over")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{name}-") as scratch:
            package = Path(scratch) / name
            _write(name, package)
            package.rename(target)
    except OSError as error:
        raise TiraxError(f"cannot write '{target}': {error.strerror}") from error
    return sorted(path for path in target.rglob("*") if path.is_file())


def check_name(name: str) -> None:
    """Raise `UsageError` if a package cannot have this name, or it is taken."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or keyword.iskeyword(name):
        expected = "a module's name of lower-case letters, digits and underscores that is no keyword"
        raise UsageError("this cannot be the name of a package", expected=expected, found=repr(name))
    namespaces = {part for operator in OPERATORS for part in operator.split(".")[:-1]}
    if name in full_universe().all_dialects or name in namespaces:
        raise UsageError(f"'{name}' is a dialect or a group of operators already", hint="another name")
    if name in ("test", "tests") or find_spec(name) is not None:
        raise UsageError(f"'{name}' is a module of Python or of an installed package", hint="another name")


def _write(name: str, target: Path) -> None:
    """Write the template as the package `name` to a folder that does not exist yet."""
    for source in sorted(SKELETON.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            path = target / renamed(source.relative_to(SKELETON).as_posix(), name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(renamed(source.read_text(encoding="utf-8"), name), encoding="utf-8")
            shutil.copymode(source, path)


def renamed(text: str, name: str) -> str:
    """Replace the name in a text of the template: with dashes in pass names, in camel case in class names."""
    forms = {"acme": name, "Acme": "".join(map(str.capitalize, name.split("_"))), "ACME": name.upper()}
    dashed = name.replace("_", "-")
    return re.sub("((?<=-)acme|acme(?=-))|[aA]cme|ACME", lambda m: dashed if m[1] else forms[m[0]], text)
