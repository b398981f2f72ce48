"""What LLVM makes of the default schedule for AArch64: nothing here can run it, but its instructions can be read."""

import re

import pytest

from tirax.driver.build import build, lower
from tirax.lowering.llvm_text import print_llvm
from tirax.lowering.machine import emit_assembly
from tirax.runtime.errors import LoadError
from tirax.target import Target
from tirax.tvm_api import relax

op = relax.op
NEON = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1 -num-cores=1")


def assembly(function, *shapes):
    builder = relax.BlockBuilder()
    params = [relax.Var(f"a{at}", relax.TensorStructInfo(shape, "float32")) for at, shape in enumerate(shapes)]
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(function(*params)))
        builder.emit_func_output(result)
    return emit_assembly(print_llvm(lower(builder.get(), NEON)), NEON)


def loops(text):
    """The instructions between a label and the jump back to it, where no other label is between."""
    return re.findall(r"^(\.LBB\w+):[^\n]*\n((?:\t.*\n)+?)\tb\.\w+\t\1$", text, re.MULTILINE)


def nt(x, w):
    return op.matmul(x, op.permute_dims(w))


@pytest.mark.parametrize(
    ("function", "shapes"),
    [(op.matmul, ((48, 64), (64, 256))), (nt, ((48, 64), (256, 64))), (op.matmul, ((6, 2048), (2048, 2048)))],
)
def test_a_product_keeps_24_vectors_in_registers(function, shapes):
    """6 rows of 4 vectors, 4 vectors of the other operand, one element: 29 of the 32 registers."""
    text = assembly(function, *shapes)
    kernels = [body for _, body in loops(text) if len(re.findall(r"\tfmla\tv\d+\.4s", body)) >= 24]
    assert kernels
    for body in kernels:
        sums = set(re.findall(r"\tfmla\t(v\d+)\.4s", body))
        assert len(sums) == 24
        assert "[sp" not in body and "bl\t" not in body
        assert not re.search(r"\tf(madd|mul|add)\ts\d", body)


@pytest.mark.parametrize("function", [op.nn.softmax, op.nn.gelu, op.exp, op.permute_dims, lambda x: op.sum(x, axis=1)])
def test_rows_are_vectors(function):
    text = assembly(function, (64, 80))
    assert len(re.findall(r"\t\w+\tv\d+\.(?:4s|2d)", text)) >= 6
    assert not re.search(r"\tbl\t(exp|erf|tanh)", text)


def test_it_cannot_run_here():
    """An executable for another processor is refused when it is loaded, not when it crashes."""
    if Target("llvm").triple.startswith("aarch64"):
        pytest.skip("this is such a machine")
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((8,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(op.add(x, x)))
    executable = build(builder.get(), NEON)
    with pytest.raises(LoadError, match="another platform"):
        executable["main"]
