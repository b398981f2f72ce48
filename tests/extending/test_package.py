"""docs/extending/package: what `tirax new plugin` writes passes its own tests, which can fail; extensions are short."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from strength import only_full

from tirax.tools.new_plugin import new_plugin

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "extending" / "package"
PAGE = (FOLDER / "README.md").read_text()
ROWS = re.findall(r"^\| [^|]+ \| \[[\w.]+\]\(([^)]+)\) \| (\d+) \| (\d+) \| ", PAGE, re.MULTILINE)


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command in a fresh process."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = os.environ | {"PATH": tools, "XDG_CACHE_HOME": str(folder / "cache")} | variables
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False)


def install(package: Path) -> None:
    """The metadata of the package beside it, as an installer writes them."""
    project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
    metadata = package / f"{project['name']}-{project['version']}.dist-info"
    metadata.mkdir()
    head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (metadata / "METADATA").write_text(head)
    groups = ((f"[{group}]", *map(" = ".join, rows.items())) for group, rows in project["entry-points"].items())
    (metadata / "entry_points.txt").write_text("\n".join(line for group in groups for line in group))


def run_tests(package: Path) -> subprocess.CompletedProcess[str]:
    """The package's own tests, with it installed."""
    install(package)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"]
    return run(command, package, PYTHONPATH=str(package))


@only_full
def test_the_tests_of_a_new_package_pass(tmp_path):
    files = new_plugin("my_ops", str(tmp_path))
    package = tmp_path / "my_ops"
    done = run_tests(package)
    assert done.returncode == 0 and re.search(r"^\d+ passed", done.stdout, re.MULTILINE), done.stdout + done.stderr
    assert package / "my_ops" / "operator.py" in files
    assert "acme" not in "".join([path.as_posix() + path.read_text().lower() for path in files])


MUTANTS = {
    "operator": ("clip(x, -t, t)", "clip(x, -t, 2 * t)"),
    "relax_pass": ("inner.operands[0]", "op.operands[0]"),
    "tir_pass": ("(product.lhs, product.lhs)", "(product.lhs, product.rhs)"),
    "dialect": ("shape[0] - 1 - i", "shape[0] - i"),
    "kernel_rule": ("!= 3", "!= 4"),
    "primitive": ("checks.require_complete(blocks[0])", "pass"),
}
"""A fault in each file."""


@only_full
def test_the_tests_of_a_new_package_can_fail(tmp_path):
    new_plugin("my_ops", str(tmp_path))
    package = tmp_path / "my_ops"
    for name, (right, wrong) in MUTANTS.items():
        file = package / "my_ops" / f"{name}.py"
        assert right in file.read_text()
        file.write_text(file.read_text().replace(right, wrong))
    done = run_tests(package)
    assert set(re.findall(r"^FAILED tests/test_(\w+)\.py", done.stdout, re.MULTILINE)) == set(MUTANTS), done.stdout


@only_full  # those of the plug-in of one file are like these
def test_the_commands_of_the_page(tmp_path):
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    done = run(["bash", "-c", f"set -euo pipefail\n{commands}"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@only_full
def test_the_page_on_steps_of_schedules(tmp_path):
    page = (FOLDER.parent / "primitive" / "README.md").read_text()
    shown, programs, commands = (
        "".join(re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
        for language in ("py", "python", "sh")
    )
    new_plugin("acme", str(tmp_path))
    package = tmp_path / "acme"
    install(package)
    (package / "page.py").write_text(programs)
    script = f"set -euo pipefail\n{sys.executable} page.py\n{commands}"
    done = run(["bash", "-c", script], package, PYTHONPATH=str(package))
    assert done.returncode == 0 and "n - i - T.int64(1)" in done.stdout, done.stdout + done.stderr
    assert shown in (package / "acme" / "primitive.py").read_text()


@pytest.mark.parametrize(("path", "lines", "at_most"), ROWS, ids=[Path(row[0]).stem for row in ROWS])
def test_extensions_are_as_short_as_the_page_says(path, lines, at_most):
    text = (FOLDER / path).read_text()
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    below = "\n".join(text.splitlines()[imports[-1].end_lineno :]).strip()
    assert len(below.splitlines()) == int(lines) <= int(at_most)


def test_the_page_has_a_row_for_each_file_of_the_skeleton():
    named = {Path(path).name for path, _, _ in ROWS}
    skeleton = {path.name for path in (ROOT / "tools" / "plugin_skeleton" / "acme").glob("*.py")}
    assert skeleton - named == {"__init__.py", "universe.py"}


def test_links_lead_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE))
    assert links and all((FOLDER / link).exists() for link in links)
