"""docs/extending/default_schedule: the rules of the page are used as the page shows it, from outside of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from strength import only_full

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "extending" / "default_schedule"
PAGE = (FOLDER / "README.md").read_text()
RULE = (ROOT / "tools" / "plugin_skeleton" / "acme" / "kernel_rule.py").read_text()
MICROKERNEL = (FOLDER / "columns.py").read_text()
# Of another size: by time and size Python knows whether a compiled file is still true.
REFUSED = RULE.replace("sch.unroll(i_1)", "sch.parallel(k)  # refused")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def run(folder: Path, command: list[str], rule: str = RULE) -> subprocess.CompletedProcess[str]:
    (folder / "kernel_rule.py").write_text(rule)
    (folder / "columns.py").write_text(MICROKERNEL)
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    variables = {"PATH": tools, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=100, check=False
    )


def run_program(folder: Path, rule: str = RULE) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text("".join(blocks("python")))
    return run(folder, [sys.executable, "program.py"], rule)


@only_full
def test_the_program_of_the_page(tmp_path):
    done = run_program(tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_rule_that_is_refused_is_not_taken(tmp_path):
    done = run_program(tmp_path, REFUSED)
    assert "AssertionError" in done.stderr


@only_full
def test_the_commands_of_the_page_find_the_plugin(tmp_path):
    metadata = tmp_path / "kernel_rule-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: kernel_rule\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[tirax.plugins]\nkernel_rule = kernel_rule\n")
    done = run(tmp_path, ["bash", "-c", "set -euo pipefail\n" + "".join(blocks("sh"))])
    assert done.returncode == 0, done.stdout + done.stderr


@only_full
def test_a_rule_that_is_refused_says_at_which_step(tmp_path):
    (tmp_path / "product.py").write_text(blocks("sh")[0].split("EOF_PY")[1].split("\n", 1)[1])
    code = "import kernel_rule; from tirax.tools.tirax_opt import main; raise SystemExit(main())"
    command = [sys.executable, "-c", code, "product.py", "--pipeline", "optimize", "-p", "plan-schedule"]
    done = run(tmp_path, [*command, "--explain"], REFUSED)
    assert done.returncode == 0, done.stderr
    reason = "note: the rule 'acme row tile' does not fit the block 'matmul' of 'matmul': a step is refused: parallel: "
    assert reason in done.stderr
    done = run(tmp_path, command, RULE)
    assert done.stderr == "note: the rule 'acme row tile' writes the block 'matmul' of 'matmul'\n"


def test_the_page_shows_what_the_files_hold():
    assert all(text in RULE or text in MICROKERNEL for text in blocks("py"))


def test_links_lead_somewhere():
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", prose)
    assert links and all((FOLDER / link).exists() for link in links)


def test_rules_are_short():
    rule, microkernel = (text.partition("\n\n\n")[2].splitlines() for text in (RULE, MICROKERNEL))  # below the imports
    assert 0 < len(rule) <= 25 and 0 < len(microkernel) <= 60
