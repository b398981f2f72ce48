"""The passes that `tirax-opt` runs: `-p` and `--pipeline`, with `--insert` applied, up to `--stop-after`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.passes import ModulePass

from ..diagnostics import unknown_name
from .guard import UsageError, as_usage
from .specs import find_pass, make_pass, parse_specs

Passes = Mapping[str, Callable[[], type[ModulePass]]]


@dataclass(frozen=True)
class Step:
    """A pass, and the pipeline that it belongs to, if any."""

    run: ModulePass
    pipeline: str | None = None


def steps_of(steps: Sequence[tuple[str, str]], known: Passes) -> list[Step]:
    """Return the passes of `-p` and `--pipeline`, as (`passes` or `pipeline`, text), in order. Raises `UsageError`."""
    return [
        Step(make_pass(spec, known), text if kind == "pipeline" else None)
        for kind, text in steps
        for spec in parse_specs(_pipeline(text) if kind == "pipeline" else text, f"--{kind}")
    ]


def _pipeline(name: str) -> str:
    from ..driver.pipelines import PIPELINES

    if name not in PIPELINES:
        raise as_usage(unknown_name("pipeline", name, PIPELINES))
    return ",".join(PIPELINES[name])


def inserted(steps: list[Step], text: str, known: Passes) -> list[Step]:
    """Insert `after=NAME:PASSES` after the last pass called NAME, `before=NAME:PASSES` before the first.

    Raises `UsageError`.
    """
    place, _, rest = text.partition("=")
    name, colon, specs = rest.partition(":")
    if place not in ("after", "before") or not (name and colon and specs):
        raise UsageError("--insert is not understood", expected="after=PASS:PASSES or before=PASS:PASSES", found=text)
    positions = [i for i, step in enumerate(steps) if step.run.name == running(name, steps, known)]
    at = positions[-1] + 1 if place == "after" else positions[0]
    new = [Step(make_pass(spec, known)) for spec in parse_specs(specs, "--insert")]
    return [*steps[:at], *new, *steps[at:]]


def stopped(steps: list[Step], name: str, known: Passes) -> list[Step]:
    """Return the steps up to and including the first one called `name`. Raises `UsageError`."""
    names = [step.run.name for step in steps]
    return steps[: names.index(running(name, steps, known)) + 1]


def running(name: str, steps: Sequence[Step], known: Passes) -> str:
    """Return the name of a pass that runs. Raises `UsageError` if it does not run."""
    resolved, names = find_pass(name, known), {step.run.name for step in steps}
    if resolved not in names:
        expected = ", ".join(sorted(names)) or "a pass"
        raise UsageError(f"pass '{resolved}' is not among those that run", expected=expected)
    return resolved


def pipeline_text(steps: Sequence[Step]) -> str:
    """Return the passes in the syntax of `-p`."""
    return ",".join(str(step.run.pipeline_pass_spec()) for step in steps)
