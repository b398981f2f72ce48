"""docs/extending: the plug-in is installed and found by its entry point, and all that its page shows is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from strength import only_full, thinned

from tirax.diagnostics import TiraxError
from tirax.dialects.relax import OPERATORS, operator
from tirax.dialects.relax.elementwise import UnaryOp

EXTENDING = Path(__file__).resolve().parents[2] / "docs" / "extending"
PLUGIN = EXTENDING / "plugin"
PAGE = (EXTENDING / "README.md").read_text()


def install(folder: Path, name: str, group: dict[str, str]) -> None:
    """The metadata of a distribution, as an installer writes them."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {value}" for key, value in group.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[tirax.plugins]", *lines, ""]))


@pytest.fixture
def site(tmp_path):
    """A folder of packages with the plug-in of the page."""
    project = tomllib.loads((PLUGIN / "pyproject.toml").read_text())
    folder = tmp_path / "site"
    install(folder, project["project"]["name"], project["project"]["entry-points"]["tirax.plugins"])
    for module in project["tool"]["setuptools"]["py-modules"]:
        (folder / f"{module}.py").write_text((PLUGIN / f"{module}.py").read_text())
    return folder


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command in a fresh process that has the packages of `folder`/site."""
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {"PATH": tools, "PYTHONPATH": str(folder / "site"), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=100, check=False
    )


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_program_of_the_page(site, tmp_path):
    (tmp_path / "program.py").write_text("".join(blocks("python")))
    done = run([sys.executable, "program.py"], tmp_path)
    assert done.returncode == 0, done.stderr


@only_full
def test_the_commands_of_the_page(site, tmp_path):
    done = run(["bash", "-c", "set -euo pipefail\n" + "".join(blocks("sh"))], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@only_full
def test_the_test_of_the_plugin(site, tmp_path):
    done = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PLUGIN)], tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


@only_full
def test_the_test_of_the_plugin_can_fail(site, tmp_path):
    module = site / "acme_operators.py"
    module.write_text(module.read_text().replace("topi.clip(x, -t, t)", "topi.clip(x, -t, 2 * t)"))
    done = run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PLUGIN)], tmp_path)
    assert done.returncode == 1
    assert "MeaningError" in done.stdout


def test_the_page_shows_what_the_files_hold():
    files = "".join(path.read_text() for path in sorted(PLUGIN.iterdir()) if path.is_file())
    for text in [*blocks("py"), *blocks("toml")]:
        assert text in files


def test_links_lead_somewhere():
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert links and all((EXTENDING / link).exists() for link in links)


def test_an_operator_takes_no_more_than_25_lines():
    declared = (PLUGIN / "acme_operators.py").read_text().partition("@operator")[2]
    tested = (PLUGIN / "test_acme_operators.py").read_text()
    assert len((declared + tested).splitlines()) <= 25


IDENTITY = """
relax.func @f(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
  relax.return %x : !relax.tensor<[n], f32>
}
"""


@thinned(
    ("text", "actual"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (None, "ModuleNotFoundError: No module named 'broken_operators'"),
    ],
    1,
)
def test_a_broken_plugin_is_named(tmp_path, text, actual):
    install(tmp_path / "site", "broken-package", {"broken": "broken_operators"})
    if text is not None:
        (tmp_path / "site" / "broken_operators.py").write_text(text)
    (tmp_path / "model.mlir").write_text(IDENTITY)
    done = run(["tirax-opt", "model.mlir"], tmp_path)
    assert done.returncode == 1
    assert "error: the plug-in 'broken' of the package broken-package cannot be loaded" in done.stderr
    assert f"found: {actual}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plugin_may_not_take_a_name_of_the_core(tmp_path):
    install(tmp_path / "site", "greedy", {"greedy": "greedy"})
    text = (PLUGIN / "acme_operators.py").read_text().replace("relax.acme.shrink", "relax.exp")
    (tmp_path / "site" / "greedy.py").write_text(text)
    (tmp_path / "model.mlir").write_text(IDENTITY)
    done = run(["tirax-opt", "model.mlir"], tmp_path)
    assert done.returncode == 1
    assert "operator 'relax.exp' is already registered" in done.stderr


def test_importing_the_dialect_imports_no_plugin(site, tmp_path):
    code = "import sys, tirax.dialects.relax as r; assert 'acme_operators' not in sys.modules; "
    code += "assert 'relax.acme.shrink' in r.OPERATORS and 'acme_operators' in sys.modules"
    done = run([sys.executable, "-c", code], tmp_path)
    assert done.returncode == 0, done.stderr


def test_an_operator_belongs_to_the_dialect():
    with pytest.raises(TiraxError, match="expected: relax.acme.f"):
        operator("acme.f", "x")(UnaryOp)
    assert "acme.f" not in OPERATORS


def test_what_a_plugin_raises_names_its_line(tmp_path):
    """While it is loaded, and inside of a pass."""
    install(tmp_path / "site", "broken", {"broken": "broken_operators"})
    (tmp_path / "site" / "broken_operators.py").write_text("\n\n1 / 0\n")
    (tmp_path / "model.mlir").write_text(IDENTITY)
    done = run(["tirax-opt", "model.mlir"], tmp_path)
    assert re.search(r"broken_operators\.py:3:1: error: the plug-in 'broken'", done.stderr), done.stderr


BAD_COMPUTE = [
    ("return [][1]", r"acme_operators\.py:\d+:1: error: IndexError.*in the pass legalize-ops"),
    (
        'return topi.cast(x, "float64")',
        r"relax\.acme\.shrink does not give what the operator infers.*f64",
    ),
    ("return topi.sum(x, axis=0)", r"relax\.acme\.shrink does not give what the operator infers"),
]


@thinned("body, message", BAD_COMPUTE, 1)
def test_a_compute_that_is_wrong_is_named(site, tmp_path, body, message):
    module = site / "acme_operators.py"
    module.write_text(module.read_text().replace("return topi.subtract(x, topi.clip(x, -t, t))", body))
    (tmp_path / "model.py").write_text(
        '@R.function\ndef main(x: R.Tensor((4, 5), "float32")):\n    return R.acme.shrink(x, threshold=0.25)\n'
    )
    done = run(["tirax-opt", "model.py", "-p", "legalize-ops"], tmp_path)
    assert done.returncode == 1 and re.search(message, done.stderr, re.DOTALL), done.stderr
    assert "please report" not in done.stderr
