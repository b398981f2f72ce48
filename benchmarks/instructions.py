"""How many instructions a call takes, counted by valgrind: a guard against regressions that noise cannot touch.

    python benchmarks/instructions.py            # counts beside those of benchmarks/instructions.json; fails above +2 %
    python benchmarks/instructions.py --update   # writes them there

The code is compiled for AVX2 (`-mcpu=haswell`), which valgrind knows. A loop in Python around each call is part of the
count; the row `nothing`, a call of a built-in function, says how much of it. Needs `valgrind`.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from itertools import repeat
from pathlib import Path

BASELINE = Path(__file__).with_suffix(".json")
TOLERANCE = 1.02
CALLS = 1000
TARGET = "llvm -mcpu=haswell -num-cores=1"

# long request(long *words): valgrind knows the rotations and the exchange, which together do nothing elsewhere.
REQUEST = bytes.fromhex(
    "4889f8"  # mov rax, rdi
    "31d2"  # xor edx, edx
    "48c1c703 48c1c70d 48c1c73d 48c1c733"  # rol rdi, 3; 13; 61; 51
    "4887db"  # xchg rbx, rbx
    "4889d0"  # mov rax, rdx
    "c3"  # ret
)
_CALLGRIND = 0x43540000  # the letters C and T
ZERO, DUMP_AT, START, STOP = (_CALLGRIND + n for n in (1, 3, 4, 5))


def count() -> dict[str, float]:
    """Instructions a call, by name: this file is run once more, under callgrind."""
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "TIRAX_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder}/counts"]
        command = ["valgrind", "-q", *options, sys.executable, __file__, "--inside"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"valgrind failed:\n{done.stdout}{done.stderr}")
        dumps = sorted(Path(folder).glob("counts.*"), key=lambda path: int(path.suffix[1:]))
        actual = [_read(path) for path in dumps]
    return {name: total / CALLS for name, total in actual if name}


def _read(path: Path) -> tuple[str, int]:
    """The name of a dump, and its instructions."""
    text = path.read_text()
    name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
    total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
    return (name.group(1) if name else ""), int(total.group(1)) if total else 0


def inside() -> None:
    """Under callgrind: call each case, and dump what it took."""
    code = mmap.mmap(-1, len(REQUEST), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(REQUEST)
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(ctypes.addressof(ctypes.c_char.from_buffer(code)))

    def request(kind: int, text: bytes = b"") -> None:
        name = ctypes.create_string_buffer(text)
        words = (ctypes.c_uint64 * 6)(kind, ctypes.addressof(name))
        call(ctypes.addressof(words))

    for name, function in cases().items():
        function()
        request(START)
        request(ZERO)
        for _ in repeat(None, CALLS):
            function()
        request(DUMP_AT, name.encode())
        request(STOP)


def cases() -> Mapping[str, Callable[[], object]]:
    """What is counted: functions without arguments."""
    import numpy as np

    import tirax.tvm_api as tvm
    from tirax.tvm_api import relax, te, topi

    rng = np.random.default_rng(0)

    def kernel(*tensors: object, n: int = 8) -> Callable[[], object]:
        shapes = [[int(d) if isinstance(d, int | tvm.tir.IntImm) else n for d in t.shape] for t in tensors]
        arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        native = tvm.build(tvm.IRModule({"main": te.create_prim_func(list(tensors))}), TARGET)["main"]
        return lambda: native(*arrays)

    def tensor(*shape: object) -> object:
        return te.placeholder(shape, name="x")

    rows = te.var("n", "int64")
    a, b, wide = tensor(rows, 64), tensor(64, 64), tensor(rows, 256)
    image, filters = tensor(1, 14, 14, 16), tensor(3, 3, 16, 32)
    column = tensor(256, 1)
    by_name: dict[str, Callable[[], object]] = {
        "nothing": lambda: len(()),
        "add 4 arrays of 1": kernel(x := tensor(1), y := tensor(1), te.compute((1,), lambda i: x[i] + y[i])),
        "matmul 8x64x64, symbolic rows": kernel(a, b, topi.matmul(a, b)),
        "matmul 64x256x1": kernel(w := tensor(64, 256), column, topi.matmul(w, column)),
        "conv2d NHWC 14x14x16, 3x3x32": kernel(image, filters, topi.nn.conv2d_nhwc(image, filters, 1, 1, 1)),
        "softmax 8x256": kernel(wide, topi.nn.softmax(wide)),
        "sum of rows 8x256": kernel(wide, topi.sum(wide, axis=1)),
        "exp 8x256": kernel(wide, topi.exp(wide)),
    }
    by_name["MLP 784-128-10, batch 1"] = _mlp(np, tvm, relax)
    return by_name


def _mlp(np, tvm, relax) -> Callable[[], object]:
    from models import MLP

    rng = np.random.default_rng(0)
    shapes = {"fc1_weight": (128, 784), "fc1_bias": (128,), "fc2_weight": (10, 128), "fc2_bias": (10,)}
    params = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    mod = relax.transform.BindParams("forward", params)(tvm.script.from_source(MLP))
    forward = relax.VirtualMachine(relax.build(mod, target=TARGET), tvm.cpu())["forward"]
    x = tvm.nd.array(rng.standard_normal((1, 784)).astype(np.float32))
    return lambda: forward(x)


def compare(actual: Mapping[str, float], before: Mapping[str, float]) -> list[str]:
    """Print the table; the names of what takes more than before."""
    print(f"{'':34}{'instructions':>14}{'before':>14}{'ratio':>8}")
    worse: list[str] = []
    for name, value in actual.items():
        old = before.get(name)
        print(f"{name:34}{value:14.0f}" + (f"{old:14.0f}{value / old:8.3f}" if old else ""))
        if old and value > old * TOLERANCE:
            worse.append(name)
    return worse


def main() -> int:
    options = argparse.ArgumentParser(description="instructions a call, counted by valgrind")
    options.add_argument("--update", action="store_true", help=f"write {BASELINE.name}")
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.inside:
        inside()
        return 0
    actual = count()
    before = json.loads(BASELINE.read_text()) if BASELINE.is_file() else {}
    worse = compare(actual, before)
    if arguments.update:
        BASELINE.write_text(json.dumps({name: round(value) for name, value in actual.items()}, indent=1) + "\n")
    elif worse:
        print(f"more than {TOLERANCE - 1:.0%} above before: {', '.join(worse)}")
    return 1 if worse and not arguments.update else 0


if __name__ == "__main__":
    sys.exit(main())
