"""What passes on graphs cost as the graph grows: pattern rewriting, legalization with fusion of a transformer, and
reading, printing, verifying and every pass of `default-cpu` on up to 100,000 operations; and how much of `tirax-opt`'s
time is verification.

    python benchmarks/graph_passes.py [--repeats 3] [--only patterns|transformer|operations|verification]

Each figure is of a fresh copy of the module. `cpu` is the time of this process alone, which other programs of a shared
machine change less than `wall`.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import measure

BINDINGS = (1_000, 4_000, 16_000)
PATTERNS = 50
LAYERS = (12, 24, 48)
OPERATIONS = (1_000, 10_000, 100_000)

Row = dict[str, float]


def clocked(make: Callable[[], object], run: Callable[[object], object], repeats: int) -> Row:
    """Seconds of `run(make())`, `make` not counted: the least of `repeats`, by the clock and by the process."""
    best: Row = {}
    for _ in range(repeats):
        program = make()
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        run(program)
        spent = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
        best = {k: min(v, best.get(k, v)) for k, v in spent.items()}
    return best


def chain(bindings: int) -> object:
    """A function of one dataflow block: groups of four bindings, one of which two of the patterns match."""
    from tirax.tvm_api import relax
    from tirax.tvm_api.relax import op

    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("n", 16), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value = x
            for _ in range(bindings // 4):
                one = bb.emit(op.exp(value))
                two = bb.emit(op.add(one, value))
                three = bb.emit(op.nn.relu(two))
                value = bb.emit(op.multiply(three, value))
            result = bb.emit_output(value)
        bb.emit_func_output(result)
    return bb.get()


def rewriters() -> object:
    """50 rules as one: of them two match, each in every fourth binding; the others nearly do."""
    from tirax.tvm_api.relax import op
    from tirax.tvm_api.relax.dpl import PatternMatchingRewriter, is_op, wildcard

    inner = ["sin", "cos", "tanh", "sigmoid", "sqrt", "negative", "abs", "log", "floor", "ceil", "round", "square"]
    outer = ["add", "multiply", "exp", "nn.relu"]
    x = wildcard()
    rules = [
        (is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), x)), lambda _, m: op.nn.gelu(m[x])),
        (is_op("relax.multiply")(is_op("relax.nn.gelu")(x), wildcard()), lambda _, m: op.nn.silu(m[x])),
    ]
    for i in range(PATTERNS - len(rules)):
        within = is_op(f"relax.{inner[i % len(inner)]}")(wildcard())
        name = outer[i % len(outer)]
        args = [within, wildcard()] if name in ("add", "multiply") else [within]
        rules.append((is_op(f"relax.{name}")(*args), lambda expr, _: expr))
    pattern = PatternMatchingRewriter.from_pattern(*rules[0])
    for rule in rules[1:]:
        pattern = pattern | PatternMatchingRewriter.from_pattern(*rule)
    return pattern


def fusion_patterns() -> list[tuple[str, object]]:
    """50 patterns for `FuseOpsByPattern`, of which the last one matches."""
    from tirax.tvm_api.relax.dpl import is_op, wildcard

    inner = ["sin", "cos", "tanh", "sigmoid", "sqrt", "negative", "abs"]
    relu = is_op("relax.nn.relu")
    near = [relu(is_op(f"relax.{inner[i % len(inner)]}")(wildcard())) for i in range(PATTERNS - 1)]
    pattern = relu(is_op("relax.add")(is_op("relax.exp")(wildcard()), wildcard()))
    return [(f"lib.p{i}", p) for i, p in enumerate([*near, pattern])]


def transformer(layers: int, size: int = 256, heads: int = 4) -> object:
    """Encoder layers (attention written out, 36 operators each) over a batch and a length that are symbolic."""
    from tirax.tvm_api import relax
    from tirax.tvm_api.relax import op

    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(("b", "n", size), "float32"))
    mask = relax.Var("mask", relax.TensorStructInfo(("b", 1, "n", "n"), "float32"))
    batch, length = x.struct_info.shape.values[:2]
    params = [x, mask]

    def param(*shape: int) -> object:
        params.append(relax.Var(f"p{len(params)}", relax.TensorStructInfo(shape, "float32")))
        return params[-1]

    def linear(value: object, inputs: int, outputs: int) -> object:
        weight = bb.emit(op.permute_dims(param(outputs, inputs)))
        return bb.emit(op.add(bb.emit(op.matmul(value, weight)), param(outputs)))

    def head(value: object, axes: list[int]) -> object:
        parts = bb.emit(op.reshape(linear(value, size, size), (batch, length, heads, size // heads)))
        return bb.emit(op.permute_dims(parts, axes))

    def norm(value: object) -> object:
        return bb.emit(op.nn.layer_norm(value, param(size), param(size), axes=[-1]))

    def layer(value: object) -> object:
        h = norm(value)
        q, k, v = head(h, [0, 2, 1, 3]), head(h, [0, 2, 3, 1]), head(h, [0, 2, 1, 3])
        scores = bb.emit(op.multiply(bb.emit(op.matmul(q, k)), relax.const((size // heads) ** -0.5, "float32")))
        weights = bb.emit(op.nn.softmax(bb.emit(op.add(scores, mask))))
        mixed = bb.emit(op.permute_dims(bb.emit(op.matmul(weights, v)), [0, 2, 1, 3]))
        value = bb.emit(op.add(value, linear(bb.emit(op.reshape(mixed, (batch, length, size))), size, size)))
        wide = bb.emit(op.nn.gelu(linear(norm(value), size, 4 * size)))
        return bb.emit(op.add(value, linear(wide, 4 * size, size)))

    with bb.function("main"):
        with bb.dataflow():
            value = x
            for _ in range(layers):
                value = layer(value)
            result = bb.emit_output(norm(value))
        bb.emit_func_output(result, params)
    return bb.get()


def operators(mod: object) -> int:
    """The number of operators in a module."""
    from tirax.dialects.relax import Operator

    return sum(isinstance(op, Operator) for op in mod.op.walk())


def measure_patterns(repeats: int) -> list[Row]:
    """`rewrite_call` of 50 patterns, and `FuseOpsByPattern`, on chains."""
    from tirax.tvm_api.relax.transform import FuseOpsByPattern

    rewriter, fuse = rewriters(), FuseOpsByPattern(fusion_patterns())
    rewriter(chain(100))
    print(f"{PATTERNS} patterns, seconds: cpu (wall), and cpu microseconds for each binding\n")
    print(f"{'bindings':>10} {'rewrite':>20} {'µs':>6} {'FuseOpsByPattern':>20} {'µs':>6}")
    rows: list[Row] = []
    for bindings in BINDINGS:
        mod = chain(bindings)
        actual = {"rewrite": clocked(mod.clone, rewriter, repeats), "fuse": clocked(mod.clone, fuse, repeats)}
        print(f"{bindings:>10} " + " ".join(cell(row, bindings, 20) for row in actual.values()), flush=True)
        rows.append({"bindings": bindings, **flat(actual)})
    return rows


def measure_transformer(repeats: int) -> list[Row]:
    """LegalizeOps, FuseOps and FuseTIR of a transformer, with the kinds of loops annotated between them."""
    from tirax.interpreter import assert_same_meaning
    from tirax.tvm_api.relax import transform
    from tirax.tvm_api.transform import Sequential

    names = ("LegalizeOps", "AnnotateTIROpPattern", "FuseOps", "FuseTIR")
    passes = {name: getattr(transform, name)() for name in names}
    assert_same_meaning((small := transformer(1, size=8, heads=2)).op, Sequential(list(passes.values()))(small).op)
    print("a transformer, seconds: cpu (wall), and cpu milliseconds for each operator\n")
    print(f"{'layers':>7} {'operators':>10} " + " ".join(f"{n[:12]:>14} {'ms':>6}" for n in (*passes, "all")))
    rows: list[Row] = []
    for layers in LAYERS:
        mod = transformer(layers)
        count = operators(mod)
        by_name: dict[str, Row] = {}
        inputs = mod
        for name, one in passes.items():
            by_name[name] = clocked(inputs.clone, one, repeats)
            inputs = one(inputs)
        by_name["all"] = clocked(mod.clone, Sequential(list(passes.values())), repeats)
        cells = " ".join(cell(row, count * 1000, 14) for row in by_name.values())
        print(f"{layers:>7} {count:>10} {cells}", flush=True)
        rows.append({"layers": layers, "operators": count, **flat(by_name)})
    return rows


def additions(count: int) -> str:
    """TVMScript of a chain of operators; there is no dataflow block, so nothing is fused."""
    tensor = 'R.Tensor((16,), dtype="float32")'
    names = ["x", *(f"lv{i}" for i in range(count))]
    lines = [f"        {b}: {tensor} = R.add({a}, x)" for a, b in zip(names, names[1:], strict=False)]
    head = f"    @R.function\n    def main(x: {tensor}) -> {tensor}:"
    return "\n".join(["@I.ir_module", "class Module:", head, *lines, f"        return {names[-1]}"])


def measure_operations(_: int) -> list[Row]:
    """Each step of `default-cpu` on a chain of operators, once: what is read, printed and verified, and its passes."""
    from tirax.driver.pipelines import pipeline_passes
    from tirax.ir.passes.transform import new_context
    from tirax.ir.verification.verify import Verifier
    from tirax.script.mlir_text import parse_mlir
    from tirax.tvm_api import script

    def steps(count: int) -> dict[str, Row]:
        by_name: dict[str, Row] = {}
        held: dict[str, object] = {}

        def step(name: str, run: Callable[[], object]) -> object:
            by_name[name] = clocked(lambda: None, lambda _: held.__setitem__("result", run()), 1)
            return held["result"]

        text = additions(count)
        mod = step("parse TVMScript", lambda: script.from_source(text))
        step("print TVMScript", mod.script)
        mlir = step("print MLIR", lambda: str(mod.op))
        op, verifier, context = step("parse MLIR", lambda: parse_mlir(mlir)), Verifier(), new_context()
        step("verify", lambda: verifier.verify(op))
        for number, one in enumerate(pipeline_passes("default-cpu"), 1):
            step(f"{number}. {one.name}", lambda one=one: one.apply(context, op))
            step(f"verify {number}.", lambda: verifier.verify(op))
        return by_name

    steps(10)
    print("a chain of operators, the slowest steps, seconds: cpu (wall), and cpu microseconds for each operator\n")
    rows: list[Row] = []
    for count in OPERATIONS:
        actual = steps(count)
        slowest = sorted(actual, key=lambda name: -actual[name]["cpu"])[:8]
        print("\n".join(f"{count:>10} {name:<28} {cell(actual[name], count, 16)}" for name in slowest), flush=True)
        rows.append({"operations": count, **flat(actual)})
    return rows


NETWORK = """
import sys, time
from tirax.ir.verification.verify import Verifier
from tirax.tools.tirax_opt import main
spent, own = [], Verifier.verify
def verify(*args, **options):
    start = time.process_time()
    own(*args, **options)
    spent.append(time.process_time() - start)
Verifier.verify = verify
main([sys.argv[1], "--pipeline", "default-cpu", "-o", sys.argv[2]])
print(time.process_time(), sum(spent), file=sys.stderr)
"""
"""A run of `tirax-opt` that says what it took, from the start of Python on, and what of it verification."""


def measure_verification(repeats: int) -> list[Row]:
    """Verification after each pass of `default-cpu` as a part of a whole process of `tirax-opt`; the least of some."""
    rows: list[Row] = []
    print("tirax-opt --pipeline default-cpu of a transformer, cpu seconds, and the part that is verification\n")
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "in.mlir"), Path(folder, "out.mlir")
        for layers in LAYERS[:2]:
            source.write_text(str(transformer(layers).op))
            command = [sys.executable, "-c", NETWORK, str(source), str(output)]
            runs = [subprocess.run(command, check=True, capture_output=True, text=True) for _ in range(repeats)]
            full, spent = min(tuple(map(float, run.stderr.split()[-2:])) for run in runs)
            print(f"{layers:>4} layers {full:>8.2f} s {spent / full:>7.1%}", flush=True)
            rows.append({"layers": layers, "seconds": full, "verification": spent})
    return rows


def cell(row: Row, parts: int, width: int) -> str:
    """Seconds, and how many millionths of them for each part."""
    seconds = f"{row['cpu']:.2f} ({row['wall']:.2f})"
    return f"{seconds:>{width}} {row['cpu'] * 1e6 / parts:>6.2f}"


def flat(by_name: dict[str, Row]) -> Row:
    """Rows as one, its keys joined."""
    return {f"{name} {clock}": value for name, row in by_name.items() for clock, value in row.items()}


KINDS = {
    "patterns": measure_patterns,
    "transformer": measure_transformer,
    "operations": measure_operations,
    "verification": measure_verification,
}


def main() -> None:
    """Print the tables and write them to build/benchmarks/graph_passes.json."""
    options = argparse.ArgumentParser(description="passes on graphs as these grow")
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--only", choices=KINDS)
    chosen = options.parse_args()
    print(f"{measure.processor()}\n")
    rows = {}
    for name in [chosen.only] if chosen.only else KINDS:
        rows[name] = KINDS[name](chosen.repeats)
        print()
    measure.write("graph_passes", rows)


if __name__ == "__main__":
    main()
