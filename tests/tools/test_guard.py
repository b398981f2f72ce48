"""Closed outputs, full disks, packages that are missing: a message and an exit code, never a traceback."""

import subprocess
import sys

import pytest
from strength import thinned

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


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ModuleNotFoundError("No module named " + name, name=name.partition(".")[0])

sys.meta_path.insert(0, Blocked())
from tirax.diagnostics import TiraxError
failed = []
for text in {doors}:
    try:
        {run}(text)
    except TiraxError as error:
        failed += [] if "{hint}" in str(error) else [(text, str(error))]
    except BaseException as error:
        failed.append((text, repr(error)))
    else:
        failed.append((text, "no error"))
print(failed)
"""
DOORS = {
    "onnx": (("onnx", "google"), [
        "from tirax.frontend.onnx import from_onnx; from_onnx('x.onnx')",
        "from tirax.frontend.onnx import summary_of; summary_of('x.onnx')",
        "from tirax.frontend.onnx import converter_stub; converter_stub('Foo')",
        "import tirax.frontend.onnx.backend",
        "from tirax.tvm_api.relax.frontend.onnx import from_onnx; from_onnx('x.onnx')",
        "from tirax.tools.models import FORMATS; FORMATS['.onnx'].summary('x.onnx')",
    ]),
    "torch": (("torch",), [
        "from tirax.frontend.torch.exported_program import from_exported_program; from_exported_program(None)",
        "from tirax.frontend.torch.archive import load_exported_program; load_exported_program('x.pt2')",
        "from tirax.frontend.torch.fx import from_fx; from_fx(None, [])",
        "from tirax.frontend.torch.state_dict import read_state_dict; read_state_dict('x.pt')",
        "from tirax.frontend.torch.stub import converter_stub; converter_stub('aten.add.Tensor')",
        "from tirax.tools.models import FORMATS; FORMATS['.pt2'].summary('x.pt2')",
    ]),
}  # fmt: skip


@pytest.mark.parametrize("extra", DOORS)
def test_packages_that_are_missing(extra, tmp_path):
    blocked, doors = DOORS[extra]
    steps = "\n".join(f"def door{i}():\n    {text}" for i, text in enumerate(doors))
    names = "[" + ", ".join(f"door{i}" for i in range(len(doors))) + "]"
    program = BLOCKED.format(blocked=blocked, doors=names, run="(lambda door: door())", hint=f"tirax[{extra}]")
    head, _, tail = program.partition("failed = []")
    done = subprocess.run([sys.executable, "-c", f"{head}{steps}\nfailed = []{tail}"], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
