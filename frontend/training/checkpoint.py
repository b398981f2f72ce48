"""Gradient checkpointing: mark parts of a model that the gradient recomputes, so that only their inputs are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ...diagnostics import TiraxError
from ...handles.relax.calls import call_operator
from ...handles.relax.expr import Expr, Var
from ..block_builder import BlockBuilder


def checkpoint(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `func(*args, **kwargs)` as a checkpoint that the gradient recomputes.

    Expressions among the arguments and in the result are marked with `grad.start_checkpoint` and
    `grad.end_checkpoint`.
    """
    marked = [_marked("start", a) for a in args]
    named = {k: _marked("start", v) for k, v in kwargs.items()}
    return _marked("end", func(*marked, **named))


def emit_checkpoint(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Like `checkpoint`, with the marks bound to variables: `x_scp` of `x`, `y_ecp` of the result `y`.

    Raises `TiraxError` if no `BlockBuilder` is building a function.
    """
    bb = BlockBuilder.current()
    if bb is None:
        raise TiraxError("there is no function to emit into", hint="with bb.function(…):")
    marked = [_emitted(bb, "start", a) for a in args]
    named = {k: _emitted(bb, "start", v) for k, v in kwargs.items()}
    return _emitted(bb, "end", func(*marked, **named))


def emit_checkpoint_sequential(
    functions: Sequence[Callable[..., Any]],
    segments: int | Sequence[int],
    input: Any,  # noqa: A002 (TVM's name)
    checkpoint_last: bool = False,
) -> Any:
    """Apply `functions` in sequence to `input`, with a checkpoint for each segment.

    `segments` is the start of each segment, or a number by which the length of all but the last is divided: as in TVM,
    5 functions in 2 segments are 2, 2 and 1. The last one is not a checkpoint unless `checkpoint_last`. Raises
    `TiraxError` for starts that are not increasing or out of range.
    """
    starts = _starts(len(functions), segments)
    value = input
    for start, end in zip(starts, [*starts[1:], len(functions)], strict=True):
        part = functions[start:end]
        last = end == len(functions) and not checkpoint_last
        value = _sequence(part, value) if last else emit_checkpoint(lambda x, part=part: _sequence(part, x), value)
    return value


def _sequence(functions: Sequence[Callable[..., Any]], value: Any) -> Any:
    for function in functions:
        value = function(value)
    return value


def _starts(count: int, segments: int | Sequence[int]) -> list[int]:
    if isinstance(segments, int):
        if not 0 < segments <= count:
            raise TiraxError("there are too few functions", expected=f"from 1 to {count} segments", found=segments)
        return list(range(0, count, count // segments))
    starts = list(segments)
    if not starts or starts[0] != 0 or any(a >= b for a, b in zip(starts, [*starts[1:], count], strict=True)):
        raise TiraxError("segments begin at increasing places", expected=f"[0, …] below {count}", found=starts)
    return starts


def _mark(which: str, value: Expr) -> Expr:
    return call_operator(f"relax.grad.{which}_checkpoint", value)


def _marked(which: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_marked(which, v) for v in cast("Sequence[Any]", value)]
    return _mark(which, value) if isinstance(value, Expr) else value


def _emitted(bb: BlockBuilder, which: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_emitted(bb, which, v) for v in cast("Sequence[Any]", value)]
    if not isinstance(value, Expr):
        return value
    var = value if isinstance(value, Var) else bb.emit(value)
    return bb.emit(_mark(which, var), f"{var.name_hint}_{which[0]}cp")
