"""Programs as TVMScript, and what came of their dataflow blocks: `tools` has the functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax import tvm_api as tvm
from tirax.interpreter import interpret
from tirax.script import parse_source, print_script


def parse(text: str) -> ModuleOp:
    """A verified module."""
    module = parse_source(text)
    assert isinstance(module, ModuleOp)
    module.verify()
    return module


def main(params: str, body: str, result: str, functions: str = "") -> ModuleOp:
    """A module whose `main` has the bindings `body` in a dataflow block; `functions` stand before it."""
    outputs = [r.strip() for r in result.strip("()").split(",") if r.strip()]
    lines = [line.strip() for line in body.strip().splitlines()]
    text = "\n".join(f"            {line}" for line in lines)
    return parse(
        f"""
@I.ir_module
class Module:
{functions}
    @R.function
    def main({params}):
        cls = Module
        with R.dataflow():
{text}
            R.output({", ".join(outputs)})
        return {result}
"""
    )


def bindings(module: ModuleOp) -> list[str]:
    """The bindings of the dataflow block of `main`, without their struct info."""
    lines = [line.strip() for line in print_script(module).splitlines()]
    first = lines.index("with R.dataflow():")
    last = next(i for i in range(first, len(lines)) if lines[i].startswith("R.output"))
    out: list[str] = []
    for line in lines[first + 1 : last]:
        name, _, value = line.partition(" = ")
        out.append(f"{name.partition(':')[0]} = {value}")
    return out


def random_arrays(*shapes: Sequence[int]) -> list[Any]:
    """Arrays of small numbers, the same ones every time."""
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, s).astype("float32") for s in shapes]


def compiled(module: ModuleOp) -> Callable[..., Any]:
    """The compiled `main`, from numpy arrays to numpy arrays."""
    vm = tvm.relax.VirtualMachine(tvm.compile(tvm.IRModule(module), target="llvm"), tvm.cpu())

    def call(*arrays: Any) -> Any:
        out = vm["main"](*[tvm.nd.array(a) for a in arrays])
        return [o.numpy() for o in out] if isinstance(out, tuple | list) else out.numpy()

    return call


def run(module: ModuleOp, *arrays: Any) -> Any:
    """What the compiled `main` gives."""
    return compiled(module)(*arrays)


def agrees_natively(module: ModuleOp, *arrays: Any, tolerance: float = 1e-4) -> None:
    """Compiled code gives what the interpreter does."""
    got, want = run(module, *arrays), interpret(module, "main", arrays)
    pairs = zip(got, want, strict=True) if isinstance(got, list) else [(got, want)]
    for a, b in pairs:
        assert a.shape == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


class Tools:
    """What tests of this folder share."""

    parse = staticmethod(parse)
    main = staticmethod(main)
    bindings = staticmethod(bindings)
    random_arrays = staticmethod(random_arrays)
    compiled = staticmethod(compiled)
    run = staticmethod(run)
    agrees_natively = staticmethod(agrees_natively)


@pytest.fixture
def tools() -> type[Tools]:
    return Tools
