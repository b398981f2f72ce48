"""`torch.export.export`, with errors that say what to change."""

from __future__ import annotations

import re
import warnings
from typing import Any

from ..diagnostics import TiraxError
from ..runtime.errors import ArgumentError


class ExportError(TiraxError, RuntimeError):
    """PyTorch cannot export a model, or the model itself fails for the example inputs."""


def exported(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any) -> Any:
    """Return the `ExportedProgram` of a model.

    Raises `ArgumentError` for example inputs of numpy, `ExportError` for what the model or PyTorch raises.
    """
    import torch
    from torch.utils._pytree import tree_leaves

    wrong = [v for v in tree_leaves((args, kwargs)) if type(v).__module__.partition(".")[0] in ("numpy", "jaxlib")]
    if wrong:
        raise ArgumentError(
            "an example input is not a tensor of PyTorch",
            expected="torch.Tensor",
            found=f"{type(wrong[0]).__module__}.{type(wrong[0]).__name__}",
            hint="torch.from_numpy(x); the compiled model takes arrays of numpy as well",
        )
    try:
        with warnings.catch_warnings():  # PyTorch warns of what it calls itself
            warnings.filterwarnings("ignore", ".*(LeafSpec|create_unbacked_symint).*deprecated", FutureWarning)
            return torch.export.export(model, args, kwargs, dynamic_shapes=shapes)
    except TiraxError:
        raise
    except Exception as error:  # whatever PyTorch or the model raises, the user reads what to change
        raise _explained(error, model, args, kwargs) from error


def _explained(error: Exception, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExportError:
    own = _own_error(model, args, kwargs)
    if own is not None:
        return ExportError(
            f"the model fails for the example inputs: {_first_line(own)}",
            found=", ".join(_brief(value) for value in (*args, *kwargs.values())),
            hint="inputs with which model(*inputs) works",
        )
    text = str(error)
    hint = next((h for pattern, h in _HINTS if re.search(pattern, text) or pattern == type(error).__name__), _OTHER)
    fixes = re.findall(r"^\s+(\w+ = .+)$", text.partition("Suggested fixes:")[2], re.MULTILINE)
    notes = [f"PyTorch suggests {fix.strip()}" for fix in fixes]
    return ExportError(f"PyTorch cannot export the model: {_first_line(error)}", hint=hint, notes=notes)


_HINTS = (
    (r"specialized it to be a constant|[Cc]onstraints violated", "leave out the sizes that the model fixes"),
    (r"dynamic_shapes", "dynamic_shapes={'x': {0: 'batch'}}: the names of the parameters of forward, and axes"),
    (r"IndexError", "an axis of dynamic_shapes is not among those of its input"),
    (r"[Dd]ata-dependent|GuardOnDataDependent", "torch.where or torch.cond in place of `if` on values of tensors"),
)
"""What to do, by a pattern in PyTorch's message or the name of the exception."""
_OTHER = "torch.compile(model, backend='tirax') leaves to PyTorch what cannot be exported"


def _own_error(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    """Return the exception that a call of the model raises, or None."""
    import torch

    try:
        with torch.no_grad():
            model(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - whatever a model raises is shown to its user
        return error
    return None


def _first_line(error: Exception) -> str:
    """Return the first sentence of a message, or the name of the exception without one."""
    text = str(error).strip()
    return re.split(r"\.\s|\n", text)[0].rstrip(".") or type(error).__name__


def _brief(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"{str(value.dtype).removeprefix('torch.')}{list(shape)}"
