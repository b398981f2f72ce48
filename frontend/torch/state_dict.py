"""Weight files saved by PyTorch."""

from __future__ import annotations

import os
import pickle
from typing import Any

import numpy as np

from ...untrusted import checked_path
from ..importing.errors import ModelError
from ..importing.extras import require_torch
from .tensors import array_of


def read_state_dict(path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the tensors of a state dict, as arrays that share the memory-mapped file.

    PyTorch's weights-only mode is used: no code of the file is executed. Raises `ModelError` for any other
    file, and `OSError`.
    """
    checked_path(path)
    require_torch()
    import torch

    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except (RuntimeError, ValueError, EOFError, KeyError, pickle.UnpicklingError) as error:
        raise ModelError(f"'{os.fspath(path)}' is no file of weights: {error}") from error
    tensors = state.items() if isinstance(state, dict) else ()
    if not tensors or not all(isinstance(t, torch.Tensor) for _, t in tensors):
        raise ModelError(f"'{os.fspath(path)}' is no state dict", expected="names and tensors")
    return {str(name): _read_only(array_of(tensor, str(name))) for name, tensor in tensors}


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.flags.writeable = False
    return view
