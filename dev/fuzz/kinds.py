"""The kinds of fuzzing, one row each: how to draw a case, as text, and how to check it.

A check returns how many results it compared, 0 if a diagnostic rejected the case; any other exception is a
finding. A case is just text, so that a finding can be kept as a test and outlives its generator.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, f32, i1, i32, i64
from xdsl.utils.arg_spec import ArgSpec, ParameterListType
from xdsl.utils.exceptions import DiagnosticException, ParseError

from ...diagnostics import TiraxError, UnsupportedError
from ...driver.build import build
from ...driver.pipelines import make_passes
from ...interpreter import MeaningError, compare
from ...ir.equality import structural_equal
from ...ir.passes.transform import new_context, run_pass
from ...ir.verification.verify import verify_module
from ...script import parse_mlir, parse_source, print_script
from ...tools.specs import make_pass, parse_specs
from ...tvm_api.script import from_source
from ...universe import TIRAX_UNIVERSE
from . import checks, sequences
from .files import check_database, check_executable, check_gguf, draw_database, draw_executable, draw_gguf
from .linalg_programs import check_linalg, linalg_program
from .mutations import mutated_text
from .nnsmith_graphs import check_model, draw_model
from .onnx_graphs import check_graph, check_malformed, draw_graph, draw_malformed
from .operator_programs import operator_program
from .relax_programs import relax_program
from .statement_programs import statement_program
from .structures import structure
from .tape import Tape
from .tensor_programs import tensor_program
from .torch_programs import check_torch_program, torch_program
from .torch_reference import check_against_torch
from .workloads import WORKLOADS

REFUSALS = (TiraxError, DiagnosticException, ParseError, RecursionError)
"""The exceptions with which an invalid program may be rejected."""


@dataclass(frozen=True)
class Kind:
    """A fuzzer."""

    about: str
    draw: Callable[[random.Random], str]
    check: Callable[[str], int]
    needs: tuple[str, ...] = ()
    """The packages that it requires besides those of tirax."""

    @property
    def missing(self) -> list[str]:
        """Return the packages of `needs` that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]


def _module(text: str) -> ModuleOp:
    module = parse_mlir(text)
    verify_module(module)
    return module


def _drawn(generate: Callable[[random.Random], ModuleOp]) -> Callable[[random.Random], str]:
    return lambda rng: checks.mlir_text(generate(rng), generic=False)


def _check_native(text: str) -> int:
    module = _module(text)
    checks.texts(module)
    return checks.native(module)


def _check_structure(text: str) -> int:
    module = from_source(text).op
    return checks.native_main(module, build(module, opt_level=1)["main"])


def _check_tensor(text: str) -> int:
    module = _module(text)
    checks.texts(module)
    return checks.native_tensor_both(module)


def _check_torch(text: str) -> int:
    return check_against_torch(_module(text))


def _draw_for_torch(rng: random.Random) -> str:
    return _drawn(lambda rng: relax_program(rng, dtypes=(f32, i32, i64)))(rng)


_PROGRAMS = 60
"""The number of distinct programs to mutate: generating one takes longer than reading it."""


@cache
def _program(number: int) -> ModuleOp:
    rng = random.Random(number)
    generate = rng.choice((relax_program, operator_program, tensor_program))
    module = generate(rng, most=2)
    for p in make_passes(checks.OPTIMIZE[: rng.choice((0, 0, 2, len(checks.OPTIMIZE)))]):
        module = p(module)
    return module


@cache
def _text(number: int, form: str) -> str:
    module = _program(number)
    return print_script(module, show_meta=True) if form == "script" else checks.mlir_text(module, form == "generic")


# Texts that are wrong: refused, or a program that comes back from its text and goes through the pipeline.


def _draw_mlir(rng: random.Random) -> str:
    return mutated_text(rng, _text(rng.randrange(_PROGRAMS), rng.choice(("mlir", "mlir", "mlir", "generic"))))


def _draw_script(rng: random.Random) -> str:
    return mutated_text(rng, _text(rng.randrange(_PROGRAMS), "script"))


def _check_text(read: Callable[[str], ModuleOp]) -> Callable[[str], int]:
    def check(text: str) -> int:
        try:
            module = read(text)
            verify_module(module)
        except REFUSALS:
            return 0
        checks.texts(module, checks.has_script(module))
        try:
            for p in make_passes(checks.OPTIMIZE):
                module = p(module)
        except REFUSALS as error:
            if isinstance(error, MeaningError):
                raise
        return 1

    return check


# Passes in any order: each gives a verified module of the same meaning, or refuses.

_FILE_READERS = frozenset({"apply-dpl-patterns"})
"""Passes that read files."""
OPTIONS: dict[str, dict[str, ParameterListType]] = {
    "gradient": {"func_name": ("main",)},
    "meta-schedule-tune-tir": {"max_trials_global": (1,)},
    "meta-schedule-tune-irmod": {"max_trials_global": (1,)},
}
"""Options that passes require, or without which they take minutes."""
_TRAINING = {"decompose-ops-for-inference": False, "decompose-ops-for-training": True}
"""Passes that override the attribute `training` of batch norms, with their value of it."""


def _draw_passes(rng: random.Random) -> str:
    names = sorted(set(TIRAX_UNIVERSE.all_passes) - _FILE_READERS)
    line = ",".join(rng.choice(names) for _ in range(rng.randint(1, 8)))
    return f"// {line}\n{_text(rng.randrange(_PROGRAMS), 'mlir')}"


def _check_passes(text: str) -> int:
    module = _module(text)
    compared = 0
    for name in text.partition("\n")[0].removeprefix("// ").split(","):
        try:
            after = module.clone()
            spec = ArgSpec(name, OPTIONS.get(name, {}))
            run_pass(make_pass(spec, TIRAX_UNIVERSE.all_passes), new_context(), after)
        except REFUSALS:
            continue
        if _signatures(after) == _signatures(module):
            compared += _compared(_as_taken(module, name), after)
        module = after
    return compared


def _as_taken(module: ModuleOp, name: str) -> ModuleOp:
    """Return the program as a pass interprets it."""
    if name not in _TRAINING:
        return module
    taken = module.clone()
    for op in taken.walk():
        if op.name == "relax.nn.batch_norm":
            op.properties["training"] = IntegerAttr(int(_TRAINING[name]), i1)
    return taken


def _compared(before: ModuleOp, after: ModuleOp) -> int:
    """Return on how many inputs the functions agree. Raises `MeaningError` if they differ."""
    if str(before) == str(after):
        return 0
    try:
        return _equal_results(before, after, sizes=(5, 0), private=True)
    except UnsupportedError:  # they are lowered below what is interpreted
        return 0


def _equal_results(before: ModuleOp, after: ModuleOp, sizes: Sequence[int], private: bool = False) -> int:
    """Return how many results were compared. Raises `MeaningError` if one differs."""
    comparison = compare(before, after, private=private, sizes=sizes)
    checks.demand(comparison.disagreement is None, str(comparison.disagreement))
    return sum(comparison.compared.values())


# Rewriting of arithmetic and of what has no effect, with their options.

_REWRITING = {
    "simplify": (
        "transitively_prove_inequalities", "convert_boolean_to_and_of_ors", "apply_constraints_to_boolean_branches",
    ),
    "remove-no-op": ("use_dataflow_analysis",),
    "tir-simplify": (),
}  # fmt: skip


def _draw_rewriting(rng: random.Random) -> str:
    name = rng.choice(sorted(_REWRITING))
    options = [f"{option}=true" for option in _REWRITING[name] if rng.choice((True, False))]
    spec = f"{name}{{{' '.join(options)}}}" if options else name
    return f"# {spec}\n{statement_program(rng)}"


def _check_rewriting(text: str) -> int:
    try:
        module = parse_source(text)
        verify_module(module)
    except REFUSALS:  # what constants alone come to may be wrong: a division by zero
        return 0
    after = module.clone()
    (spec,) = parse_specs(text.partition("\n")[0].removeprefix("# "), "-p")
    run_pass(make_pass(spec, TIRAX_UNIVERSE.all_passes), new_context(), after)
    verify_module(after)
    again = parse_source(print_script(after))
    compared = _equal_results(module, after, sizes=(5, 0, 1))
    if not structural_equal(after, again):  # what became constant by the pass is computed where it is read
        compared += _equal_results(after, again, sizes=(5, 0, 1))
    return compared


def _signatures(module: ModuleOp) -> dict[str, str]:
    """Return the public functions and their parameters, if inputs can be generated for all of them."""
    from ...ir.functions.lookup import functions

    return {n: str([p.type for p in f.params]) for n, f in functions(module).items() if not f.private}


# Schedules: a case is the choices that make it.


def _draw_schedule(rng: random.Random) -> str:
    return " ".join(str(rng.getrandbits(32)) for _ in range(rng.choice((100, 200, 400))))


def _check_schedule(text: str) -> int:
    rng = Tape(played=[int(word) for word in text.split()])
    module = from_source(WORKLOADS[rng.choice(sorted(WORKLOADS))])
    outcome = sequences.Outcome.fresh(module, rng)
    sequences.draw(outcome, rng, rng.randint(1, 10), attempts=40)
    sequences.check(module, outcome.sch, native=rng.random() < 0.1)
    return 1 + len(outcome.taken)


KINDS = {
    "relax": Kind("random Relax modules: native code, texts", _drawn(relax_program), _check_native),
    "operators": Kind("programs of all operators: native code, texts", _drawn(operator_program), _check_native),
    "torch": Kind("random Relax modules: the interpreter beside torch", _draw_for_torch, _check_torch, ("torch",)),
    "torch-programs": Kind("programs of PyTorch's beside eager ones", torch_program, check_torch_program, ("torch",)),
    "structures": Kind("programs that grow in one way each: native code", structure, _check_structure),
    "tensor": Kind("random tensor functions, with a schedule and without", _drawn(tensor_program), _check_tensor),
    "passes": Kind("passes in any order, each compared with what it was given", _draw_passes, _check_passes),
    "rewriting": Kind("arithmetic and statements, rewritten with all options", _draw_rewriting, _check_rewriting),
    "schedules": Kind("sequences of schedule primitives, compared, and replayed", _draw_schedule, _check_schedule),
    "onnx": Kind("random ONNX graphs beside ONNX Runtime", draw_graph, check_graph, ("onnx", "onnxruntime")),
    "nnsmith": Kind("models of NNSmith beside PyTorch", draw_model, check_model, ("nnsmith", "torch")),
    "onnx-files": Kind("ONNX models with wrong bytes or fields", draw_malformed, check_malformed, ("onnx",)),
    "linalg": Kind("random functions of linalg.generic beside numpy", linalg_program, check_linalg),
    "mlir": Kind("MLIR with mistakes", _draw_mlir, _check_text(lambda t: parse_mlir(t))),
    "tvmscript": Kind("TVMScript with mistakes", _draw_script, _check_text(parse_source)),
    "executables": Kind("saved executables with wrong bytes or metadata", draw_executable, check_executable),
    "gguf": Kind("language models in GGUF with wrong bytes", draw_gguf, check_gguf),
    "databases": Kind("tuning databases with wrong bytes", draw_database, check_database),
}
"""The fuzzers by name."""
