"""`tvm.runtime`: arrays, devices, modules and packed functions."""

from ..runtime import (
    Device,
    Executable,
    Module,
    NDArray,
    ShapeTuple,
    cpu,
    cuda,
    device,
    get_global_func,
    list_global_func_names,
    load_module,
    num_threads,
    register_func,
    remove_global_func,
)
from . import nd as ndarray

__all__ = [
    "Device",
    "Executable",
    "Module",
    "NDArray",
    "ShapeTuple",
    "cpu",
    "cuda",
    "device",
    "get_global_func",
    "list_global_func_names",
    "load_module",
    "ndarray",
    "num_threads",
    "register_func",
    "remove_global_func",
]
