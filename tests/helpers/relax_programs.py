"""Programs of one function with one dataflow block, from the lines that tests are about."""

from __future__ import annotations

from collections.abc import Sequence

from tirax.tvm_api import IRModule
from tirax.tvm_api.script import from_source

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n@I.ir_module\nclass Module:\n    @R.function\n"


def tensor(name: str, *dims: object, dtype: str = "float32") -> str:
    """The text of a parameter; dimensions of symbolic size are quoted, `'"n"'`."""
    return f'{name}: R.Tensor(({", ".join(map(str, dims))},), "{dtype}")'


def dataflow_program(
    params: str | Sequence[str], *bindings: str, outputs: str | None = None, sizes: str = "n"
) -> IRModule:
    """`main` with these bindings in one dataflow block; the last one names the outputs where `outputs` does not.

    Each letter of `sizes` is a symbolic size that they may name.
    """
    signature = params if isinstance(params, str) else ", ".join(params)
    if outputs is None:
        *bindings, outputs = bindings
    lines = [f"def main({signature}):", *(f"    {size} = T.int64()" for size in sizes), "    with R.dataflow():"]
    lines += [f"        {b}" for b in bindings]
    lines += [f"        R.output({outputs})", f"    return {outputs}"]
    return from_source(HEAD + "".join(f"    {line}\n" for line in lines))
