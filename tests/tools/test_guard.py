"""Closed outputs, full disks, packages that are missing: a message and an exit code, never a traceback."""

import subprocess
import sys

import pytest
from strength import thinned

from tirax.tools import guard

TIRAX = f"{sys.executable} -m tirax.tools.tirax_cli"
CLOSED = [
    (">&-", 0, ""),
    ("2>&-", 0, ""),
    (">&- 2>&- <&-", 0, ""),
    ("> /dev/full", 1, "error: No space left on device"),
    ("| true; exit ${PIPESTATUS[0]}", None, ""),
]
PROGRAM = "import sys; from tirax.tools.{0} import main; sys.exit(main(sys.argv[1:]))"


@thinned("command", ["tirax_cli --version", "tirax_opt --version", "tirax_cli env"], 1)
@pytest.mark.parametrize("redirection, code, message", CLOSED)
def test_outputs_that_are_closed(command, redirection, code, message):
    module, _, argument = command.partition(" ")
    line = f"{sys.executable} -c '{PROGRAM.format(module)}' {argument} {redirection}"
    done = subprocess.run(["bash", "-c", line], stderr=subprocess.PIPE, text=True)
    assert done.stderr.strip() == message
    assert done.returncode == code if code is not None else done.returncode in (0, 141)


def test_a_package_that_is_missing_anywhere():
    """The extra that installs it is named, or pip's own name of it."""
    for package, line in (
        ("google.protobuf", "'tirax[onnx]'"),
        ("markupsafe", "'tirax[language]'"),
        ("black", "black"),
    ):
        message = guard.message_of(ModuleNotFoundError(f"No module named '{package}'", name=package))
        assert message == f"error: a package is not installed: {package}\n  hint: pip install {line}"
