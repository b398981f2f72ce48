"""Run by `check_wheel.py` with the Python of a fresh environment, from an empty folder: does what was installed work?

Imports every module, then compiles a small program with a symbolic batch and compares what it computes with numpy.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path

OPTIONAL = {"torch", "onnx", "pytest", "lsprotocol", "pygls", "model_explorer", "jinja2"}
"""Third-party packages that an extra brings: a module that needs one may fail to import without it."""


def import_all(name: str) -> int:
    """Import all modules below package `name` and return how many there are."""
    package = importlib.import_module(name)
    count = 1
    for info in pkgutil.walk_packages(package.__path__, name + ".", onerror=_raise):
        if not info.name.endswith(".__main__"):
            count += _import(info.name)
    return count


def _raise(name: str) -> None:
    error = sys.exc_info()[1]
    if not (isinstance(error, ImportError) and _missing_package(error) in OPTIONAL):
        raise RuntimeError(f"{name} cannot be imported")


def _missing_package(error: ImportError) -> str | None:
    """The package that is not installed: tirax's own error, which names the extra, has Python's as its cause."""
    cause = error if isinstance(error, ModuleNotFoundError) else error.__cause__
    return cause.name if isinstance(cause, ModuleNotFoundError) else None


def _import(name: str) -> int:
    try:
        importlib.import_module(name)
    except ImportError as error:
        if _missing_package(error) not in OPTIONAL:
            raise
        return 0
    return 1


def compile_and_run() -> None:
    """A fused matmul, bias and relu at three batch sizes, one of them none."""
    import numpy as np

    import tirax.tvm_api as tvm
    from tirax.tvm_api import relax

    mod = tvm.script.from_source(PROGRAM)
    vm = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())
    rng = np.random.default_rng(0)
    w = rng.standard_normal((8, 5), dtype=np.float32)
    b = rng.standard_normal(5, dtype=np.float32)
    for n in (3, 1, 0):
        x = rng.standard_normal((n, 8), dtype=np.float32)
        result = vm["main"](*(tvm.nd.array(a) for a in (x, w, b))).numpy()
        np.testing.assert_allclose(result, np.maximum(x @ w + b, 0), rtol=1e-5, atol=1e-5)


PROGRAM = """
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 8), "float32"), w: R.Tensor((8, 5), "float32"), b: R.Tensor((5,), "float32")
    ) -> R.Tensor(("n", 5), "float32"):
        n = T.int64()
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.add(lv, b)
            gv = R.nn.relu(lv1)
            R.output(gv)
        return gv
"""


def main() -> None:
    """Check that it is the installed package which is tested, then all of the above."""
    spec = importlib.util.find_spec("tirax")
    if spec is None or spec.origin is None or not Path(spec.origin).is_relative_to(sys.prefix):
        sys.exit(f"tirax was to come from {sys.prefix}, found {spec and spec.origin}")
    print(f"imported {import_all('tirax')} modules")
    compile_and_run()
    print("compiled and ran a program")


if __name__ == "__main__":
    main()
