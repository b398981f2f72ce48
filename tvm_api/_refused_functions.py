"""Functions of TVM that can be imported but not called, so that programs that mention them still run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..diagnostics import UnsupportedError


def _refused(name: str, reason: str, instead: str) -> Callable[..., NoReturn]:
    def call(*_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(f"{name} is not provided: {reason}", hint=f"instead: {instead}")

    call.__name__ = call.__qualname__ = name.rpartition(".")[2]
    call.__doc__ = f"Left out: {reason}; instead: {instead}."
    return call


_BYOC = "it is for a library of a vendor, which is not called", "FuseOpsByPattern with patterns of one's own"
_CLANG = "no compiler of the system is called", "tensor functions in TVMScript, or T.call_llvm_intrin"
_GPU = "it is for rules for GPUs", "tvm.dlight.cpu"
_GPU_CODE = "code is generated for CPUs", "tvm.relax.backend.cpu_generic"
_XGBOOST = "the model's inside is another", "tvm.meta_schedule.cost_model.XGBModel"

partition_for_clml = _refused("partition_for_clml", *_BYOC)
partition_for_coreml = _refused("partition_for_coreml", *_BYOC)
partition_for_cudnn = _refused("partition_for_cudnn", *_BYOC)
partition_for_hipblas = _refused("partition_for_hipblas", *_BYOC)
dataflow_lower_passes = _refused("dataflow_lower_passes", *_GPU_CODE)
finalize_passes = _refused("finalize_passes", *_GPU_CODE)
get_default_pipeline = _refused("get_default_pipeline", *_GPU_CODE)
legalize_passes = _refused("legalize_passes", *_GPU_CODE)
library_dispatch_passes = _refused("library_dispatch_passes", *_GPU_CODE)
get_max_shared_memory_per_block = _refused("get_max_shared_memory_per_block", *_GPU)
get_max_threads_per_block = _refused("get_max_threads_per_block", *_GPU)
create_llvm = _refused("tvm.contrib.clang.create_llvm", *_CLANG)
find_clang = _refused("tvm.contrib.clang.find_clang", *_CLANG)
PackSum = _refused("PackSum", *_XGBOOST)
_get_custom_call_back = _refused("_get_custom_call_back", *_XGBOOST)
