"""What the language server takes from a change of a text to its problems, in programs of 1,000 lines.

    python benchmarks/editor.py          # also a part of benchmarks/tools.py

A line in the middle is changed again and again; the time is the processor's, the median of all changes. `opened` is the
first reading, which is of everything. One function of 1,000 lines is read whole at each change, of many only one.
"""

from __future__ import annotations

import sys
import time
from statistics import median

import measure

measure.quiet()

from tirax.script import parse_source  # noqa: E402
from tirax.tools.lsp.mlir_reader import MlirReader  # noqa: E402
from tirax.tools.lsp.script_reader import ScriptReader  # noqa: E402

GOAL = 0.2
"""Seconds from a change to the problems."""
LINES = 1000
_HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n\n@I.ir_module\nclass Module:\n"
_RELAX = """\
    @R.function
    def f{number}(x: R.Tensor(("n", 128), "float32"), w: R.Tensor((128, 128), "float32")):
        n = T.int64()
        with R.dataflow():
{body}
            R.output(v{last})
        return v{last}
"""
_TIR = """\
    @T.prim_func
    def g{number}(x: T.handle, Y: T.Buffer((128, 64), "float32")):
        n = T.int64()
        X = T.match_buffer(x, (n, 64), "float32")
        for i, j in T.grid(128, 64):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.reads(X[vi, vj])
                T.writes(Y[vi, vj])
                Y[vi, vj] = T.max(X[vi, vj] * T.float32({number}), T.float32(0))
"""


def relax_functions(lines: int, count: int) -> str:
    """So many functions of together about so many bindings."""
    calls = ("R.matmul({}, w)", "R.add({}, x)", "R.nn.relu({})", "R.multiply({}, R.const({}, 'float32'))")
    functions: list[str] = []
    for number in range(count):
        each = lines // count - 6
        body = [f"            v{i} = " + calls[i % 4].format(f"v{i - 1}" if i else "x", i) for i in range(each)]
        functions.append(_RELAX.format(number=number, body="\n".join(body), last=each - 1))
    return _HEAD + "\n".join(functions)


def tensor_functions(lines: int) -> str:
    """Tensor functions of together about so many lines."""
    return _HEAD + "\n".join(_TIR.format(number=number) for number in range(lines // 11))


def row(name: str, text: str, change: str, rounds: int = 15) -> dict[str, float | str]:
    """Seconds of readings; `change` is what a change writes another number into."""
    reader = MlirReader("program.mlir") if "MLIR" in name else ScriptReader("program.py")
    before, what, after = text.partition(change)
    if not what:
        raise RuntimeError(f"{name}: '{change}' does not occur")
    times: list[float] = []
    for number in range(rounds + 1):
        typed = f"{before}{what.replace('7', str(number))}{after}"
        start = time.process_time()
        reading = reader.read(typed)
        times.append(time.process_time() - start)
        if list(reading.problems()):
            raise RuntimeError(f"{name}: {next(reading.problems())}")
    return {"program": name, "lines": text.count("\n"), "opened": times[0], "typed": median(times[1:])}


def rows() -> list[dict[str, float | str]]:
    """A row for each program and language."""
    programs = {
        "one Relax function": relax_functions(LINES, 1),
        "20 Relax functions": relax_functions(LINES, 20),
        "90 tensor functions": tensor_functions(LINES),
    }
    results: list[dict[str, float | str]] = []
    for name, text in programs.items():
        tensor = "tensor" in name
        results.append(row(f"{name}, TVMScript", text, "T.float32(7)" if tensor else "R.const(7,"))
        mlir = str(parse_source(text))
        results.append(row(f"{name}, MLIR", mlir, "7.000000e+00" if tensor else "[] 7.0>"))
    return results


def main() -> int:
    """Print the rows; 1 where one misses the goal."""
    table = rows()
    print(f"{'program':<32}{'lines':>7}{'opened, ms':>12}{'typed, ms':>12}")
    for r in table:
        print(f"{r['program']:<32}{r['lines']:>7}{float(r['opened']) * 1e3:>12.0f}{float(r['typed']) * 1e3:>12.0f}")
    measure.write("editor", table)
    return int(any(float(r["typed"]) > GOAL for r in table))


if __name__ == "__main__":
    sys.exit(main())
