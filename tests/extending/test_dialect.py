"""docs/extending/dialect: the dialect, pass and target of the page are installed, and all that it shows is run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from strength import only_full, thinned

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "extending" / "dialect"
PAGE, PLUGIN = (FOLDER / "README.md").read_text(), (FOLDER / "acme_dialect.py").read_text()


def blocks(language: str) -> str:
    return "".join(re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def run(folder: Path, command: str, plugin: str = PLUGIN, entry: str = "acme_dialect:UNIVERSE") -> tuple[int, str, str]:
    """A command in a fresh process that has the plug-in."""
    metadata = folder / "acme-1.0.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[xdsl.universe]\nacme = {entry}\n")
    (folder / "acme_dialect.py").write_text(plugin)
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {"PATH": tools, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{command}"],
        cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@only_full
def test_the_commands_and_the_program_of_the_page(tmp_path):
    (tmp_path / "program.py").write_text(blocks("python"))
    code, out, err = run(tmp_path, blocks("sh") + f"{sys.executable} program.py")
    assert code == 0, out + err


def test_the_page_shows_what_the_file_holds():
    shown = re.findall(r"^```py\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert shown and all(text in PLUGIN for text in shown)


@only_full
def test_the_check_sees_a_wrong_pass(tmp_path):
    text = blocks("sh").split("EOF")[1].split("\n", 1)[1]
    (tmp_path / "twice.mlir").write_text(text)
    wrong = PLUGIN.replace('emit("add", op.x, op.x)', 'emit("multiply", op.x, op.x)')
    code, _, err = run(tmp_path, "tirax-opt twice.mlir --check-each -p lower-acme", wrong)
    assert code == 1 and "lower-acme" in err


@only_full
def test_lists_say_whose_is_what(tmp_path):
    code, out, _ = run(tmp_path, "tirax-opt --list-passes --list-dialects --list-targets")
    assert code == 0
    assert re.search(r"^passes of plug-ins:\n  lower-acme\n      Operations of acme become", out, re.MULTILINE)
    assert re.search(r"^dialects of plug-ins:\n  acme: 1 operations", out, re.MULTILINE)
    assert re.search(
        r"^targets of plug-ins:\n  acme-count\n      The number .*\n      at_least: int = 1", out, re.MULTILINE
    )
    for kind in ("passes", "dialects", "targets"):
        assert "acme" not in out.split(f"{kind} of xDSL:")[1].split(":")[0]


RUN, LIST = "tirax run x.mlir", "tirax-opt --list-passes"


@thinned(
    ("command", "plugin", "entry", "message"),
    [
        (RUN, "\n\n1 / 0\n", "acme_dialect:UNIVERSE", r"acme_dialect\.py:3:1: error: the plug-in 'acme' of the pack"),
        (LIST, PLUGIN, "acme_dialect:MULTIVERSE", "the plug-in 'acme' of the package acme cannot be loaded"),
        (RUN, PLUGIN, "acme_dialect:TwiceOp", "the plug-in 'acme' is not a universe"),
        (
            LIST,
            PLUGIN.replace('"lower-acme": lambda', '"fuse-ops": lambda'),
            "acme_dialect:UNIVERSE",
            "has the pass .fuse-ops., which another one has, too",
        ),
    ],
    1,
)
def test_a_universe_that_cannot_be_loaded_is_named(tmp_path, command, plugin, entry, message):
    (tmp_path / "x.mlir").write_text("func.func @f() { func.return }")
    code, _, err = run(tmp_path, command, plugin, entry)
    assert code == 1 and re.search(message, err), err
    assert "please report" not in err
