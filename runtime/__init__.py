"""The runtime: arrays, executables, packed functions. It knows nothing of the compiler; llvmlite is imported late."""

from . import builtins
from .cache import ObjectCache, cache_key
from .devices import Device, cpu, cuda, device
from .dtypes import dtype_name, to_dtype
from .executable import Executable, TargetInfo, VirtualMachine, load_module
from .metadata import FunctionInfo, ObjectInfo, Parameter, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from .module import Module
from .ndarray import NDArray, ShapeTuple, array, empty, from_dlpack
from .registry import get_global_func, list_global_func_names, register_func, remove_global_func
from .result_pool import held_memory, release_memory, set_held_memory
from .thread_pool import num_threads, set_num_threads
from .timing import BenchmarkResult

__all__ = [
    "BenchmarkResult", "Device", "Executable", "FunctionInfo", "Module", "NDArray", "ObjectCache", "ObjectInfo",
    "Parameter", "PrimInfo", "ShapeInfo", "ShapeTuple", "TargetInfo", "TensorInfo", "TupleInfo",
    "VirtualMachine", "array", "builtins", "cache_key", "cpu", "cuda", "device", "dtype_name", "empty",
    "from_dlpack", "get_global_func", "held_memory", "list_global_func_names", "load_module", "num_threads",
    "register_func", "release_memory", "remove_global_func", "set_held_memory", "set_num_threads", "to_dtype",
]  # fmt: skip
