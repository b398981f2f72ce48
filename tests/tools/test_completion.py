"""`tirax completion`: the scripts of the shells complete commands, options and values."""

import shutil
import subprocess

import pytest

from tirax.tools import tirax_cli, tirax_opt
from tirax.tools.commands import COMMANDS
from tirax.tools.completion import SHELLS, commands_of, script

PROGRAMS = {"tirax": tirax_cli.command_line(), "tirax-opt": tirax_opt.command_line()}


def test_all_commands_and_options_are_there():
    commands = commands_of(PROGRAMS["tirax"])
    assert {c.name for c in commands} == {"", *COMMANDS}
    run = next(c for c in commands if c.name == "run")
    pipeline = next(o for o in run.options if "--pipeline" in o.flags)
    assert pipeline.takes_value and "default-cpu" in pipeline.values
    completion = next(c for c in commands if c.name == "completion")
    assert completion.words == SHELLS


def shell(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed")
    return path


@pytest.mark.parametrize("name", SHELLS)
def test_the_command_prints_a_script_that_the_shell_reads(name, cli):
    done = cli("completion", name)
    assert (done.code, done.err) == (0, "") and done.out == script(name, PROGRAMS)
    before = "compdef() { :; }\n" if name == "zsh" else ""
    read = subprocess.run([shell(name), "-c", before + done.out], capture_output=True, text=True)
    assert (read.returncode, read.stderr) == (0, "")


WORDS = {
    "tirax ch": {"chat"},
    "tirax b": {"bench", "bisect", "build"},
    "tirax run --prof": {"--profile"},
    "tirax run --pipeline default": {"default-cpu"},
    "tirax bench model.onnx --against open": {"openvino"},
    "tirax-opt --list-p": {"--list-passes", "--list-pipelines"},
    "tirax-opt -p legal": {"legalize", "legalize-ops"},
}


@pytest.mark.parametrize("line", WORDS)
def test_bash(line, tmp_path):
    words = line.split()
    function = f"_{words[0].replace('-', '_')}"
    code = f"{script('bash', PROGRAMS)}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; {function}\n"
    ask = code + 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run([shell("bash"), "-c", ask], capture_output=True, text=True, cwd=tmp_path)
    assert set(done.stdout.split()) & WORDS[line] and all(w.startswith(words[-1]) for w in done.stdout.split())


@pytest.mark.parametrize("line", WORDS)
def test_fish(line, tmp_path):
    code = f"{script('fish', PROGRAMS)}\ncomplete -C '{line}'"
    done = subprocess.run([shell("fish"), "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert {row.split("\t")[0] for row in done.stdout.splitlines()} & WORDS[line], done.stderr
