"""What becomes of one model: exported, imported, built, run at two sizes beside PyTorch."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

from ...api import compile as compile_model
from ...diagnostics import TiraxError
from ...frontend.importing.errors import UnsupportedOperators
from ...frontend.torch.exported_program import coverage_of, from_exported_program
from ...interpreter import interpret
from .cases import NoCase, case_of, tensors_of

TOLERANCE = 1e-4
_ILL = 0.05
"""The largest difference that rounding explains, in a model that carries it far."""
Line = dict[str, Any]
_SIZED = ("input_ids", "attention_mask", "decoder_input_ids", "bbox")
"""Arguments whose second dimension varies, too."""
_VANISHING = 1e-3


class Tensors(torch.nn.Module):
    """A model called by position, whose results are its tensors."""

    def __init__(self, model: torch.nn.Module, arguments: dict[str, Any]):
        super().__init__()
        self.model = model
        self.names = [n for n, v in arguments.items() if isinstance(v, torch.Tensor)]
        self.others = {n: v for n, v in arguments.items() if n not in self.names}

    def forward(self, *args: Any) -> Any:
        return tuple(tensors_of(self.model(**dict(zip(self.names, args, strict=True)), **self.others)))[:6]


def checked(name: str, modes: Sequence[str], line: Line) -> None:
    """Fill the line of the model `name`: `native` and `static`, `dynamic`, `compile` for the modes."""
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    try:
        model, arguments = case_of(name)
    except Exception as error:  # noqa: BLE001 - the tool or the library cannot make it
        line["case"] = f"{'' if isinstance(error, NoCase) else type(error).__name__ + ': '}{str(error)[:400]}"
        return
    module = Tensors(model, arguments).eval()
    _draw(module)
    args = tuple(arguments[n] for n in module.names)
    line["case"] = "ok"
    for mode in modes:
        start = time.process_time()
        with torch.no_grad():
            own = tuple(a.clone() for a in args)  # an export marks the dimensions of its arguments as dynamic
            line[mode] = _outcome(lambda m=mode, a=own: _MODES[m](module, a, line))
        line[f"{mode} s"] = round(time.process_time() - start, 1)


def _outcome(run: Callable[[], str]) -> str:
    try:
        return run()
    except UnsupportedOperators as error:
        return "refused: " + "; ".join(error.notes or [error.message])[:600]
    except TiraxError as error:
        return f"refused: {error.message} {error.found or ''}"[:600]
    except Exception as error:  # noqa: BLE001 - a mistake of ours is a line of the report
        return f"crashed: {type(error).__name__}: {error}"[:600]


def _export(module: Any, args: Any, shapes: Any = None) -> Any:
    return torch.export.export(module, args, dynamic_shapes=shapes, strict=False)


def _static(module: Any, args: Any, line: Line) -> str:
    if line.get("dynamic", "").startswith("agrees"):
        line["native"] = line["dynamic native"]
        return "agrees: as with symbolic sizes"
    try:
        program = _export(module, args)
    except Exception as error:  # noqa: BLE001 - PyTorch cannot export it
        return f"not exported: {type(error).__name__}: {str(error)[:200]}"
    if line.get("import only"):
        line["native"] = _missing(program)
        return "imported"
    function, line["native"] = _function(program, line)
    return _of_program(function, program, module, [args])


def _dynamic(module: Any, args: Any, line: Line) -> str:
    for sized in (True, False):
        shapes, other = _varied(module.names, args, sized)
        try:
            program = _export(module, args, (shapes,))
        except Exception as error:  # noqa: BLE001 - PyTorch cannot export it with these
            reason = f"{type(error).__name__}: {str(error)[:120]}"
            continue
        line["sizes"] = "batch, length" if sized else "batch"
        function, line["dynamic native"] = _function(program, line)
        return _of_program(function, program, module, [args, other])
    return f"not exported: {reason}"


def _missing(program: Any) -> str:
    return "; ".join(f"{u.operator}: {u.reason}" for u in coverage_of(program).unsupported) or "ok"


def _of_program(function: Any, program: Any, module: Any, cases: Sequence[Any]) -> str:
    """Compare with the module; where that differs, with the program, which PyTorch may have traced another way."""
    outcome = _compared(function, module, cases)
    if outcome.startswith("wrong") and _compared(function, program.module(), cases).startswith("agrees"):
        return "exported otherwise: PyTorch's program differs from the model"
    return outcome


def _function(program: Any, line: Line) -> tuple[Callable[..., Any], str]:
    """Return what computes a program, machine code or the interpreter, and "ok" or what has no converter."""
    if not line.get("interpret"):
        return compile_model(program), _missing(program)
    missing = "ok"
    try:
        imported = from_exported_program(program, fallback="error")
    except UnsupportedOperators as error:
        missing = "; ".join(error.notes or [error.message])[:600]
        imported = from_exported_program(program, fallback="torch")

    def run(*args: Any) -> Any:
        arrays = [a.numpy() for a in args]
        return interpret(imported, "main", arrays)

    return run, missing


def _varied(names: list[str], args: Any, sized: bool) -> tuple[Any, Any]:
    """Return dynamic shapes of arguments, and arguments of other sizes."""
    shapes, other = [], []
    for name, value in zip(names, args, strict=True):
        axes = [a for a in range(min(value.ndim, 2)) if a == 0 or (sized and name in _SIZED)]
        if name in ("edge_index", "pos_edge_index", "neg_edge_index", "hyperedge_index"):
            axes = [1]
        for axis in axes:
            more = 5 if axis else 1
            value = torch.cat([value, value.narrow(axis, 0, min(more, value.shape[axis]))], axis)
        shapes.append(dict.fromkeys(axes, torch.export.Dim.DYNAMIC))
        other.append(value)
    return tuple(shapes), tuple(other)


def _compiled(module: Any, args: Any, line: Line) -> str:
    torch._dynamo.reset()
    function = torch.compile(module, backend="tirax")
    for sized in (True, False):
        other = _varied(module.names, args, sized)[1]
        try:
            module(*other)
            break
        except Exception:  # noqa: BLE001, S112 - the model has no such sizes
            continue
    else:
        other = args
    try:
        return _compared(function, module, [args, other])
    except Exception:
        torch._dynamo.reset()
        traced = torch.compile(module, backend="eager")
        try:
            for some in (args, other):
                traced(*some)
        except Exception as error:  # noqa: BLE001 - TorchDynamo cannot trace it
            return f"not traced: {type(error).__name__}: {str(error)[:200]}"
        raise


def _compared(function: Any, module: Any, cases: Sequence[Any]) -> str:
    worst = 0.0
    for number, args in enumerate(cases):
        try:
            expected = module(*args)
        except Exception:  # noqa: BLE001 - the model cannot take this size
            continue
        if _distance(module(*args), expected) > 0:
            return "random: each call of the model gives other results"
        result = function(*args)
        distance = _distance(result, expected)
        if distance > TOLERANCE and _orders_equal_elements(module, args):
            return "random: which of equal elements comes first decides"
        if distance > TOLERANCE:
            exact = _exact(module, args)
            if exact is None or distance > min(_ILL, 20 * _distance(expected, exact)):
                return f"wrong: {distance:.2g} at size {number}"
        worst = max(worst, distance)
    line = f"agrees: {worst:.1g}"
    return line + (f" fallbacks {function.fallbacks}" if getattr(function, "fallbacks", None) else "")


class _Orders(TorchFunctionMode):
    """Looks whether elements that are put in order are equal, but for rounding."""

    equal = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in ("topk", "sort"):
            values = result[0].double()
            gaps = values.diff(
                dim=(kwargs or {}).get("dim", args[-1] if func.__name__ == "sort" and len(args) > 1 else -1)
            )
            self.equal |= bool((gaps.abs() <= 1e-6 * values.abs().max()).any())
        return result


def _orders_equal_elements(module: Any, args: Any) -> bool:
    with _Orders() as orders:
        module(*args)
    return orders.equal


def _exact(module: Any, args: Any) -> Any:
    import copy

    try:
        return copy.deepcopy(module).double()(*(a.double() if a.is_floating_point() else a for a in args))
    except Exception:  # noqa: BLE001 - not every model runs in float64
        return None


def _distance(values: Sequence[Any], reference: Sequence[Any]) -> float:
    """The largest difference, as a part of the greatest magnitude; infinite for other shapes."""
    if len(values) != len(reference):
        return float("inf")
    return max((_one(np.asarray(v), np.asarray(r)) for v, r in zip(values, reference, strict=True)), default=0.0)


def _one(value: Any, reference: Any) -> float:
    if value.shape != reference.shape:
        return float("inf")
    v, r = value.astype("float64"), reference.astype("float64")
    same = (v == r) | (np.isnan(v) & np.isnan(r))
    if bool(np.all(same)):
        return 0.0
    finite = np.abs(r[np.isfinite(r)])
    difference = np.abs(np.where(same, 0, v - r))
    return float(np.nan_to_num(np.max(difference), nan=np.inf) / max(float(np.max(finite, initial=0)), 1e-6))


def _draw(module: torch.nn.Module) -> None:
    """Draw weights that begin as 0 or next to it, and statistics of batch norms."""
    for name, parameter in module.named_parameters():
        if name.endswith("bias") or not parameter.is_floating_point() or parameter.numel() == 0:
            continue
        if parameter.abs().max() <= _VANISHING:
            spread = (0.5, 1.5) if parameter.numel() == max(parameter.shape, default=1) else (-0.1, 0.1)
            torch.nn.init.uniform_(parameter.data, *spread)
    for norm in module.modules():
        if isinstance(norm, torch.nn.modules.batchnorm._BatchNorm) and norm.running_mean is not None:
            torch.nn.init.normal_(norm.running_mean, 0, 0.1)
            torch.nn.init.uniform_(norm.running_var, 0.5, 1.5)


_MODES: dict[str, Callable[[Any, Any, Line], str]] = {"static": _static, "dynamic": _dynamic, "compile": _compiled}
