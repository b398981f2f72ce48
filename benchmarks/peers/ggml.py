"""Products with blocks by ggml, the library of llama.cpp, through ctypes: where llama-cpp-python is installed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

TYPES = {"q4_0": 2, "q4_1": 3, "q8_0": 8, "q4_k": 12, "q6_k": 14}
"""GGML_TYPE_…; float32 is 0."""
REORDERED = frozenset({"q4_0", "q4_k"})
"""What llama.cpp reorders on x86; a product with others in such memory is not checked, and reads nowhere."""
_REPACKED = "_Z35ggml_backend_cpu_repack_buffer_typev"
_MEMORY = 1 << 20


class _Parameters(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


def folder(path: str | None = None) -> Path | None:
    """Where the libraries are: at `path`, or in the package llama_cpp; None where it is not installed."""
    if path is not None:
        return Path(path)
    spec = find_spec("llama_cpp")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent / "lib"


class Ggml:
    """The functions that are used, with their types."""

    def __init__(self, libraries: Path):
        self.base, self.cpu = (
            ctypes.CDLL(str(libraries / f"libggml{part}.so"), ctypes.RTLD_GLOBAL) for part in ("-base", "-cpu")
        )
        for name in ("ggml_init", "ggml_new_tensor_2d", "ggml_mul_mat", "ggml_new_graph", "ggml_get_data"):
            getattr(self.base, name).restype = ctypes.c_void_p
        self.base.ggml_backend_alloc_ctx_tensors_from_buft.restype = ctypes.c_void_p
        self.cpu.ggml_backend_cpu_buffer_type.restype = ctypes.c_void_p
        self.cpu.ggml_backend_cpu_init.restype = ctypes.c_void_p

    def context(self) -> ctypes.c_void_p:
        """A context for tensors whose memory is given by a buffer."""
        return ctypes.c_void_p(self.base.ggml_init(_Parameters(_MEMORY, None, True)))

    def tensor(self, context: ctypes.c_void_p, kind: int, shape: tuple[int, int]) -> ctypes.c_void_p:
        """A matrix of `shape` (rows, columns)."""
        rows, columns = (ctypes.c_int64(n) for n in shape)
        return ctypes.c_void_p(self.base.ggml_new_tensor_2d(context, kind, columns, rows))

    def allocated(self, context: ctypes.c_void_p, repacked: bool) -> None:
        """Give the tensors of a context memory; `repacked` is the kind that llama.cpp keeps weights in."""
        function: Any = getattr(self.cpu, _REPACKED) if repacked else self.cpu.ggml_backend_cpu_buffer_type
        function.restype = ctypes.c_void_p
        if not self.base.ggml_backend_alloc_ctx_tensors_from_buft(context, ctypes.c_void_p(function())):
            raise MemoryError("ggml cannot allocate the tensors")

    def set(self, tensor: ctypes.c_void_p, data: np.ndarray) -> None:
        """The contents of a tensor."""
        self.base.ggml_backend_tensor_set(tensor, data.ctypes.data_as(ctypes.c_void_p), 0, ctypes.c_size_t(data.nbytes))


def product(libraries: Path, kind: str, packed: np.ndarray, x: np.ndarray, threads: int) -> Callable[[], np.ndarray]:
    """A call that multiplies x (m, k) with the rows of blocks: (m, n)."""
    ggml, (m, k), n = Ggml(libraries), x.shape, len(packed)
    weights, values = ggml.context(), ggml.context()
    matrix = ggml.tensor(weights, TYPES[kind], (n, k))
    ggml.allocated(weights, kind in REORDERED)
    ggml.set(matrix, packed)
    rows = ggml.tensor(values, 0, (m, k))
    result = ctypes.c_void_p(ggml.base.ggml_mul_mat(values, matrix, rows))
    graph = ctypes.c_void_p(ggml.base.ggml_new_graph(values))
    ggml.base.ggml_build_forward_expand(graph, result)
    ggml.allocated(values, False)
    ggml.set(rows, np.ascontiguousarray(x, np.float32))
    backend = ctypes.c_void_p(ggml.cpu.ggml_backend_cpu_init())
    ggml.cpu.ggml_backend_cpu_set_n_threads(backend, threads)
    out = np.empty((m, n), np.float32)
    address, size = out.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(out.nbytes)

    def call() -> np.ndarray:
        if ggml.base.ggml_backend_graph_compute(backend, graph):
            raise RuntimeError("ggml cannot compute the product")
        ggml.base.ggml_backend_tensor_get(result, address, 0, size)
        return out

    return call
