"""The options of `torch.compile(model, backend="tirax", options={…})`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ....diagnostics import ArgumentsError, TiraxError, unknown_name
from ....driver.pipelines import PIPELINES
from ....handles.module import IRModule
from ....target import Target
from .report import GraphReport, print_report

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
"""The modes of `torch.compile`, which select optimizations of PyTorch's own compiler."""
_PRECISIONS = ("float32", "bfloat16", "float16")


def check_mode(mode: object) -> None:
    """Warn of an unknown mode of `torch.compile`; it has no effect."""
    if mode is not None and mode not in MODES:
        _warn("mode of torch.compile", [str(mode)], MODES)


def _warn(kind: str, names: Sequence[str], known: Collection[str]) -> None:
    for name in names:
        error = unknown_name(kind, name, known)
        hint = f"{error.hint}; " if error.hint and error.hint.startswith("did") else ""
        text = f"tirax ignores an {error.message} ({hint}known: {', '.join(sorted(known))})"
        warnings.warn(text, UserWarning, stacklevel=3)


@dataclass(frozen=True)
class Options:
    """The options of a compilation.

    `target`: a target string, by default this machine. `threads`: the maximal number of cores. `precision`: the
    dtype of products, convolutions and attention; sums are always float32. `pipeline`: a name in
    `driver.pipelines.PIPELINES`. `freeze`: make weights constants of inference graphs, laid out for their
    kernels at compile time; later changes of a weight do not affect the model. `report`: True prints a report
    of each graph; a function is called with it (`GraphReport`). `transform`: a pass, or another function of
    modules, applied to each module before it is built.
    """

    target: str | None = None
    threads: int | None = None
    precision: str = "float32"
    pipeline: str = "default-cpu"
    freeze: bool = False
    report: bool | Callable[[GraphReport], object] = False
    transform: Callable[[IRModule], IRModule] | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any] | None) -> Options:
        """Create options by name. Raises `TiraxError` for invalid values; unknown names are ignored with a warning."""
        if options is not None and not isinstance(options, Mapping):
            raise ArgumentsError("the options of the backend", expected="a dictionary", found=options)
        known = {field.name for field in fields(cls)}
        _warn("option of the backend", [str(name) for name in options or {} if name not in known], known)
        chosen = cls(**{name: value for name, value in (options or {}).items() if name in known})
        if chosen.precision not in _PRECISIONS:
            raise TiraxError("the precision is unknown", expected=" or ".join(_PRECISIONS), found=chosen.precision)
        if chosen.threads is not None and (not isinstance(chosen.threads, int) or chosen.threads < 1):
            raise TiraxError("the number of threads", expected="1 or more", found=chosen.threads)
        if chosen.pipeline not in PIPELINES:
            raise unknown_name("pipeline", str(chosen.pipeline), PIPELINES)
        if chosen.transform is not None and not callable(chosen.transform):
            raise ArgumentsError("the option transform", expected="a function of modules", found=chosen.transform)
        _ = chosen.resolved_target
        return chosen

    @property
    def resolved_target(self) -> Target:
        """The target with the number of cores to use. Raises `TargetError`."""
        text = Target(self.target).text if self.target else Target.host().text
        return Target(text if self.threads is None else f"{text} -num-cores={self.threads}")

    def tell(self, report: GraphReport) -> None:
        """Print a report, or pass it to the user's function."""
        if callable(self.report):
            self.report(report)
        elif self.report:
            print_report(report)
