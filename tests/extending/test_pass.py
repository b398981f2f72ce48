"""docs/extending/pass: the passes of the page are found, run and tested as it says, from outside of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from strength import only_full

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "extending" / "pass"
PAGE = (FOLDER / "README.md").read_text()
PASSES = (FOLDER / "acme_passes.py").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run_page(folder: Path, passes: str = PASSES) -> subprocess.CompletedProcess[str]:
    """The commands of the page, then its tests, with the passes installed as their entry point says."""
    (folder / "acme_passes.py").write_text(passes)
    (folder / "test_acme_passes.py").write_text("".join(blocks("python")))
    metadata = folder / "acme_passes-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme_passes\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[xdsl.universe]\nacme = acme_passes:UNIVERSE\n")
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {"PATH": tools, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    script = (
        "set -euo pipefail\n" + "".join(blocks("sh")) + "python -m pytest -q -p no:cacheprovider test_acme_passes.py\n"
    )
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@only_full
def test_the_passes_of_the_page(tmp_path):
    done = run_page(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


@only_full
@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("emit.constant(c + d", "emit.constant(c - d", "Couldn't match"),
        ("(bound_expr(loop.min), loop", "(bound_expr(loop.min) + 1, loop", "MeaningError"),
    ],
)
def test_its_tests_can_fail(tmp_path, right, wrong, message):
    assert right in PASSES
    done = run_page(tmp_path, PASSES.replace(right, wrong))
    assert done.returncode != 0 and message in done.stdout + done.stderr


def test_the_page_shows_what_the_file_holds():
    assert all(text in PASSES for text in blocks("py"))


def test_links_lead_somewhere():
    links = re.findall(r"\]\((?!https?:)([^)#]+)", re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE))
    assert links and all((FOLDER / link).exists() for link in links)
