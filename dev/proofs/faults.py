"""Seeded faults: how many the proof and how many random inputs find, in the results of passes and primitives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import TiraxError
from ...dialects import tir
from ...driver.pipelines import PIPELINES, make_passes
from ...interpreter import compare
from ...interpreter.compare import Disagreement, functions_of, observe, symbolic_sizes
from ...interpreter.scalars import AssertionFailedError, InterpreterError
from ...ir.passes.transform import module_op, new_context
from ...ir.verification.verify import verify_module
from ...proof import Verdict, validate
from ...proof.inputs import candidates
from ...schedule import Schedule
from ...script import parse_source
from ...tools.checking import rename_as
from .mutants import Mutant, mutants

_GRAPH = """
@I.ir_module
class Module:
    @R.function
    def main({parameters}):
        with R.dataflow():
            y = {expression}
            R.output(y)
        return y
"""
_PROGRAMS = (
    ('x: R.Tensor((3, 5), "float32"), w: R.Tensor((5, 4), "float32"), b: R.Tensor((4,), "float32")',
     "R.nn.relu(R.add(R.matmul(x, w), b))"),
    ('x: R.Tensor((2, 7), "float32")', "R.nn.softmax(R.subtract(x, R.exp(x)), axis=-1)"),
    ('x: R.Tensor((2, 6), "float32"), g: R.Tensor((6,), "float32")', "R.nn.rms_norm(x, g, axes=[-1], epsilon=1e-5)"),
    ('x: R.Tensor((1, 2, 5, 5), "float32"), w: R.Tensor((2, 2, 3, 3), "float32")', "R.nn.conv2d(x, w, padding=1)"),
    ('x: R.Tensor((3, 4), "int8"), w: R.Tensor((4, 3), "int8")',
     'R.astype(R.clip(R.matmul(x, w, out_dtype="int32"), -128, 127), "int8")'),
    ('x: R.Tensor(("n", 4), "float32")', "R.permute_dims(R.strided_slice(R.concat([x, x], axis=1), [1], [1], [7]))"),
    ('i: R.Tensor((4,), "int64"), t: R.Tensor((6, 3), "float32")', "R.sum(R.take(t, i, axis=0), axis=0)"),
    ('x: R.Tensor(("n", 17), "float32")', "R.clip(R.mean(x, axis=1), -0.5, 20)"),
)  # fmt: skip

_SIZES = (5, 1)
_PRODUCT = """
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle, d: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n, 6), "float32")
        B = T.match_buffer(b, (6, 9), "float32")
        D = T.match_buffer(d, (n, 9), "float32")
        C = T.alloc_buffer((n, 9), "float32")
        for i, j, r in T.grid(n, 9, 6):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, r])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(n, 9):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = T.max(C[vi, vj] - B[0, vj], T.float32(0))
"""


def _c(s: Schedule) -> list:
    return s.get_loops(s.get_block("C"))


def _tile(s: Schedule) -> None:
    i, j, k = _c(s)
    io, ii = s.split(i, [None, 4])
    jo, ji = s.split(j, [None, 4])
    s.reorder(io, jo, k, ii, ji)


def _compute_at(s: Schedule) -> None:
    i, _ = s.get_loops(s.get_block("D"))
    io, _ = s.split(i, [None, 4])
    s.compute_at(s.get_block("C"), io)


def _decompose(s: Schedule) -> None:
    s.decompose_reduction(s.get_block("C"), _c(s)[2])


PRIMITIVES: dict[str, Callable[[Schedule], object]] = {
    "split": lambda s: s.split(_c(s)[0], [None, 4]),
    "reorder": lambda s: s.reorder(*_c(s)[::-1]),
    "fuse": lambda s: s.split(s.fuse(*s.get_loops(s.get_block("D"))), [None, 4]),
    "tile": _tile,
    "compute_at": _compute_at,
    "reverse_compute_at": lambda s: s.reverse_compute_at(s.get_block("D"), s.split(_c(s)[0], [None, 4])[0]),
    "decompose_reduction": _decompose,
    "cache_read": lambda s: s.compute_at(s.cache_read(s.get_block("C"), 0, "global"), _c(s)[0]),
    "cache_write": lambda s: s.reverse_compute_at(s.cache_write(s.get_block("C"), 0, "global"), _c(s)[0]),
    "rfactor": lambda s: s.rfactor(s.split(_c(s)[2], [None, 3])[1], 0),
    "transform_layout": lambda s: s.transform_layout("C", ("write", 0), lambda i, j: (j, i)),
    "vectorize": lambda s: s.vectorize(s.split(_c(s)[1], [None, 3])[1]),
    "unroll": lambda s: s.unroll(_c(s)[2]),
    "pad_einsum": lambda s: s.pad_einsum(s.get_block("C"), [4, 4, 4]),
    "blockize": lambda s: s.blockize(_c(s)[1]),
    "reindex": lambda s: s.reindex(s.get_block("C"), ("read", 1)),
}


@dataclass(frozen=True)
class Base:
    """A transformation: a module before and after it."""

    name: str
    before: ModuleOp
    after: ModuleOp


def bases() -> Iterator[Base]:
    """Yield the passes of `default-cpu` that change tensor functions of small programs, and primitives."""
    for name, step in PRIMITIVES.items():
        schedule = Schedule(parse_source(_PRODUCT))
        step(schedule)
        yield Base(name, module_op(parse_source(_PRODUCT)), schedule.mod.op)
    names = PIPELINES["default-cpu"]
    for parameters, expression in _PROGRAMS:
        module = module_op(parse_source(_GRAPH.format(parameters=parameters, expression=expression)))
        for each in make_passes(names[: names.index("convert-tir-to-scf")], "llvm -mcpu=x86-64-v3 -num-cores=2"):
            before = module.clone()
            each.apply(new_context(), module)
            if not before.is_structurally_equivalent(module) and any(isinstance(f, tir.FuncOp) for f in before.ops):
                rename_as(before, module)
                yield Base(each.name, before, module.clone())


def faults(count: int, seed: int) -> int:
    """Print what is found of `count` faults, as many of each kind; return 1 if the proof passes a real one."""
    rng, found = random.Random(seed), dict[str, Counter[str]]()
    pairs = [(base, mutant) for base in bases() for mutant in mutants(base.after)]
    rng.shuffle(pairs)
    kinds = Counter[str]()
    most = -(-count // len({mutant.kind for _, mutant in pairs}))
    passed = 0
    for base, mutant in _fairly(pairs, most):
        faulty = mutant.make()
        if faulty is None or kinds[mutant.kind] >= most or not _is_valid(faulty):
            continue
        kinds[mutant.kind] += 1
        if not kinds.total() % 50:
            print(f"… {kinds.total()} faults", flush=True)
        outcome = _outcome(base, mutant, faulty)
        if outcome.startswith(("passed", "refused", "found by the proof only", "not the same")):
            print(f"{base.name}, {mutant.kind} in @{mutant.function}: {outcome}", flush=True)
        passed += outcome == "passed by the proof, found by random inputs"
        found.setdefault(mutant.kind, Counter())[outcome] += 1
    total = sum(found.values(), Counter[str]())
    for kind, counts in found.items():
        print(f"{kind}: {dict(counts)}")
    print(f"{total.total()} faults: {dict(total)}")
    return int(passed > 0)


def _fairly(pairs: list[tuple[Base, Mutant]], most: int) -> Iterator[tuple[Base, Mutant]]:
    """Yield mutants of kinds that are not full, at most a few times as many as are needed."""
    tried = Counter[str]()
    for pair in pairs:
        tried[pair[1].kind] += 1
        if tried[pair[1].kind] <= 400 * most:
            yield pair


def _is_valid(module: ModuleOp) -> bool:
    try:
        verify_module(module)
    except (TiraxError, VerifyException):
        return False
    return True


def _outcome(base: Base, mutant: Mutant, faulty: ModuleOp) -> str:
    is_compared = isinstance(functions_of(base.before).get(mutant.function), tir.FuncOp)
    name = mutant.function if is_compared else "main"
    oracle = compare(base.before, faulty, functions=[name], sizes=_SIZES)
    (finding,) = validate(base.before, faulty, functions=[name], sizes=_SIZES).findings
    by_samples = oracle.disagreement is not None
    if finding.disagreement is not None and not _reproduces(base.before, faulty, finding.disagreement):
        return "not the same in another run"
    match finding.verdict, by_samples:
        case Verdict.WRONG, True:
            return "found by both"
        case Verdict.WRONG, False:
            return "found by the proof only"
        case Verdict.PROVED, True:
            return "passed by the proof, found by random inputs"
        case Verdict.PROVED, False:
            return "no fault: proved equal"
        case _, True:
            return "refused by the proof, found by random inputs"
        case _:
            return "refused by the proof only" if _is_reached(base, mutant, name) else "in code that no input reaches"


def _reproduces(before: ModuleOp, after: ModuleOp, found: Disagreement) -> bool:
    """Return whether the inputs of a counterexample show a difference again: results, or a failure on one side."""
    ends = [_end(m, found.function, list(found.inputs)) for m in (before, after)]
    return isinstance(ends[0], str) != isinstance(ends[1], str) or str(ends[0]) != str(ends[1])


def _end(module: ModuleOp, name: str, values: list[Any]) -> Any:
    try:
        return observe(module, name, values)
    except InterpreterError as error:
        return error.message


def _is_reached(base: Base, mutant: Mutant, name: str) -> bool:
    """Return whether a call with any of the inputs that proofs try runs the operation of a mutant."""
    func, trapped = functions_of(base.before)[name], mutant.trapped()
    for sizes in symbolic_sizes(func, _SIZES):
        for seed, inputs in candidates(func):
            try:
                observe(trapped, name, inputs(func, sizes, seed))
            except AssertionFailedError as error:
                if "reached" in error.message:
                    return True
            except InterpreterError:
                continue
    return False
