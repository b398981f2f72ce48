"""The runtime: arrays, executables, packed functions. It does not depend on the compiler; llvmlite is imported
lazily.
"""

from . import builtins, fft, linear_algebra, shape_builtins, symmetric_systems
from .cache import ObjectCache, cache_key
from .devices import Device, cpu, cuda, device, metal, opencl, rocm, vulkan
from .dtypes import dtype_name, to_dtype
from .executable import Executable, TargetInfo, VirtualMachine, load_module
from .library.load import Library, load_library
from .metadata import FunctionInfo, ObjectInfo, Parameter, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from .module import Module
from .ndarray import NDArray, ShapeTuple, array, empty, from_dlpack
from .random_state import manual_seed
from .registry import (
    PackedFunc,
    convert,
    get_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)
from .result_pool import held_memory, release_memory, set_held_memory
from .thread_pool import num_threads, set_num_threads
from .timing import BenchmarkResult

__all__ = [
    "BenchmarkResult", "Device", "Executable", "FunctionInfo", "Library", "Module", "NDArray", "ObjectCache",
    "ObjectInfo", "PackedFunc", "Parameter", "PrimInfo", "ShapeInfo", "ShapeTuple", "TargetInfo", "TensorInfo",
    "TupleInfo", "VirtualMachine", "array", "builtins", "cache_key", "convert", "cpu", "cuda", "device", "dtype_name",
    "empty", "fft", "from_dlpack", "get_global_func", "held_memory", "linear_algebra", "list_global_func_names",
    "load_library", "load_module", "manual_seed", "metal", "num_threads", "opencl", "register_func", "release_memory",
    "remove_global_func", "rocm", "set_held_memory", "set_num_threads", "shape_builtins", "symmetric_systems",
    "to_dtype", "vulkan",
]  # fmt: skip
