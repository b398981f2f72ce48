"""The sizes of tiles: how many vectors by how many rows are summed at once, beside what they are made of."""

import pytest
from xdsl.dialects.builtin import i64
from xdsl.ir import Block

from tirax.dialects.sym.expr import Const
from tirax.schedule.cpu.microkernel import tile_size
from tirax.schedule.cpu.plan import Machine
from tirax.schedule.cpu.stages import Iter
from tirax.target import Target

AVX2, AVX512 = "llvm -mcpu=x86-64-v3", "llvm -mcpu=skylake-avx512 -vector-width=512"
SIZES = [
    (AVX2, 8, (1, 14)),
    (AVX2, 16, (2, 6)),
    (AVX2, 20, (3, 4)),
    (AVX2, 24, (3, 4)),
    (AVX2, 32, (2, 6)),
    (AVX2, 40, (2, 6)),
    (AVX2, 48, (2, 6)),
    (AVX2, 72, (3, 4)),
    (AVX2, None, (2, 6)),
    (AVX512, 16, (1, 16)),
    (AVX512, 48, (3, 9)),
    (AVX512, 80, (4, 6)),
    (AVX512, 96, (3, 9)),
    (AVX512, 128, (4, 6)),
    (AVX512, None, (4, 6)),
]


@pytest.mark.parametrize(("target", "columns", "size"), SIZES)
def test_sums_and_operands_fit_the_registers(target, columns, size):
    machine = Machine.of(Target(target))
    row = Iter(Block(arg_types=[i64]).args[0], Const(100), reduce=False)
    vectors, rows = tile_size(machine, columns, machine.vector_bits // 32, row)
    assert (vectors, rows) == size
    assert vectors * rows + vectors + 1 <= machine.registers
