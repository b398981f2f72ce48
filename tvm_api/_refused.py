"""Unsupported modules of TVM 0.19 and 0.20, with the reason and the replacement.

`import tirax.tvm_api.rpc` raises a `ModuleNotFoundError` with this text, and `tvm.rpc` an `AttributeError`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import NoReturn

from ..diagnostics import UnsupportedError

_GPU = "code is generated for CPUs", "tvm.build"
_GPU_RULES = "code is generated for CPUs", "tvm.dlight.cpu"
_LIBRARIES = "libraries of vendors are not called: operators are compiled", "tvm.build"
_TUNERS = "templates and sketches were left by TVM itself", "tvm.meta_schedule"
_BUILD = "no compiler and no linker of the system is called: a module writes its library itself", "tvm.runtime.Module"
_SCRIPTS = "scripts are read and never run", "tvm.script.from_source"
_SCHEDULES = "operators are scheduled by what they compute, not by a function for each", "tvm.tir.Schedule"
_ELSEWHERE = "programs run in the process, on this machine", "tvm.relax.VirtualMachine"

REFUSED = {
    "auto_scheduler": _TUNERS,
    "autotvm": _TUNERS,
    "contrib.cblas": _LIBRARIES,
    "contrib.cc": _BUILD,
    "contrib.coreml_runtime": _LIBRARIES,
    "contrib.cublas": _LIBRARIES,
    "contrib.cudnn": _LIBRARIES,
    "contrib.cutlass": _LIBRARIES,
    "contrib.dnnl": _LIBRARIES,
    "contrib.download": ("nothing is loaded from the network", "tvm.contrib.utils.tempdir"),
    "contrib.emcc": _BUILD,
    "contrib.graph_executor": ("the executor of Relay's graphs", "tvm.relax.VirtualMachine"),
    "contrib.hexagon": _GPU,
    "contrib.hipblas": _LIBRARIES,
    "contrib.mkl": _LIBRARIES,
    "contrib.mps": _LIBRARIES,
    "contrib.msc": ("the converter between frameworks is not here", "tvm.relax.frontend.nn"),
    "contrib.ndk": _BUILD,
    "contrib.nnpack": _LIBRARIES,
    "contrib.nvcc": _GPU,
    "contrib.pickle_memoize": ("results are kept by who computes them", "tvm.contrib.utils.tempdir"),
    "contrib.popen_pool": ("measurements have their own processes", "tvm.meta_schedule.runner.LocalRunner"),
    "contrib.random": _LIBRARIES,
    "contrib.rocblas": _LIBRARIES,
    "contrib.rocm": _GPU,
    "contrib.rpc": _ELSEWHERE,
    "contrib.sdaccel": _GPU,
    "contrib.spirv": _GPU,
    "contrib.tar": _BUILD,
    "contrib.tflite_runtime": _LIBRARIES,
    "contrib.thrust": _LIBRARIES,
    "contrib.tvmjs": _BUILD,
    "contrib.xcode": _BUILD,
    "dlight.benchmark": ("kernels are measured by who runs them", "tvm.runtime.Module.time_evaluator"),
    "dlight.gpu": _GPU_RULES,
    "driver.tvmc": ("models are not compiled from a shell by this name: `tirax` does it", "tvm.relax.build"),
    "exec": _ELSEWHERE,
    "meta_schedule.runner.rpc_runner": _ELSEWHERE,
    "meta_schedule.schedule": _GPU,
    "micro": ("no code for microcontrollers", "tvm.build"),
    "relax.backend.adreno": _GPU,
    "relax.backend.gpu_generic": _GPU,
    "relax.distributed": ("tensors lie on one machine", "tvm.relax.build"),
    "relax.exec_builder": ("there is no bytecode: graphs become native code", "tvm.relax.build"),
    "relax.frontend.nn.llm.tree_attn": ("trees of tokens are not attended to", "tvm.relax.frontend.nn.llm.kv_cache"),
    "relax.frontend.tflite": (
        "models of TFLite are not imported: ONNX, PyTorch and StableHLO are",
        "tvm.relax.frontend.onnx",
    ),
    "relay": ("TVM itself dropped Relay", "tvm.relax"),
    "rpc": _ELSEWHERE,
    "runtime.disco": _ELSEWHERE,
    "runtime.executor": ("the executors of Relay's graphs", "tvm.relax.VirtualMachine"),
    "script.highlight": ("`show()` prints with colours where it can", "tvm.IRModule.show"),
    "script.parser.core.dispatch": _SCRIPTS,
    "script.parser.core.doc": _SCRIPTS,
    "script.parser.core.entry": _SCRIPTS,
    "script.parser.core.parser": _SCRIPTS,
    "script.parser.core.utils": _SCRIPTS,
    "support": ("it says how TVM itself was built", "tvm.target.Target"),
    "te.hybrid": ("loops are written in TVMScript", "tvm.script.tir.prim_func"),
    "te.schedule": ("schedules of tensor expressions were left by TVM itself", "tvm.tir.Schedule"),
    "tir.tensor_intrin.metal": ("own intrinsics are registered by hand", "tvm.tir.TensorIntrin"),
    "tir.usmp": ("memory is planned by `static-plan-block-memory`", "tvm.relax.transform.StaticPlanBlockMemory"),
    "topi.adreno": _SCHEDULES,
    "topi.arm_cpu": _SCHEDULES,
    "topi.cuda": _SCHEDULES,
    "topi.generic": _SCHEDULES,
    "topi.gpu": _SCHEDULES,
    "topi.hexagon": _SCHEDULES,
    "topi.mali": _SCHEDULES,
    "topi.rocm": _SCHEDULES,
    "topi.x86": _SCHEDULES,
}
"""The reason and the replacement, by module path without `tvm.`."""

IMPORTED = ("relay",)
"""Modules of `REFUSED` that can be imported, since programs import them without a use; their names are refused."""


def why_refused(path: str) -> str | None:
    """Return why a TVM module or a submodule of it is unsupported, or None if the table does not contain it."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        row = REFUSED.get(".".join(parts[:end]))
        if row is not None:
            return f"tvm.{path} is not provided: {row[0]}; instead: {row[1]}"
    return None


class _WithoutNames(ModuleType):
    """A module that can be imported; access to its names raises `UnsupportedError`."""

    def __init__(self, path: str):
        super().__init__(f"{__package__}.{path}", why_refused(path))
        self.__path__: list[str] = []  # its parts are searched, and refused, by the finder

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        path = self.__name__.removeprefix(f"{__package__}.")
        reason, instead = REFUSED[path]
        raise UnsupportedError(f"tvm.{path}.{name} is not provided: {reason}", hint=f"instead: {instead}")


class _Finder:
    """The last import finder, which explains why a module is missing."""

    @staticmethod
    def find_spec(fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> None:
        """Raise `ModuleNotFoundError` for a module of the table."""
        inside = fullname.removeprefix(f"{__package__}.")
        reason = None if inside == fullname else why_refused(inside)
        if reason is not None:
            raise ModuleNotFoundError(reason)  # with a name, `from tvm import …` would continue and report less


def install() -> None:
    """Install the finder, and the modules that can be imported."""
    for path in IMPORTED:
        module = _WithoutNames(path)
        sys.modules[module.__name__] = module
        setattr(sys.modules[__package__ or ""], path, module)
    if _Finder not in sys.meta_path:
        sys.meta_path.append(_Finder)  # pyright: ignore[reportArgumentType] (never gives a module)
