"""Einstein sums of several tensors: pairs where that saves products, with the results of numpy."""

import numpy as np
import pytest
from relax_programs import dataflow_program, tensor
from xdsl.dialects.builtin import ModuleOp

from tirax.dialects.relax.linear_algebra import Einsum
from tirax.driver.build import build
from tirax.ir.passes.transform import Sequential, module_op
from tirax.transforms.operators.split_einsums import SplitEinsums

RNG = np.random.default_rng(7)
# Subscripts, shapes, and into how many sums they are split.
ROWS = {
    "a chain": ("ij,jk,kl->il", [(5, 7), (7, 3), (3, 4)], 2),
    "a chain of four": ("ij,jk,kl,lm->im", [(4, 5), (5, 6), (6, 7), (7, 3)], 3),
    "the order by cost": ("ij,jk,kl->il", [(2, 3), (3, 50), (50, 2)], 2),
    "batches": ("bij,bjk,bkl->bil", [(3, 4, 5), (3, 5, 6), (3, 6, 2)], 2),
    "dots": ("...ij,...jk,kl->...il", [(2, 3, 4, 5), (3, 5, 6), (6, 7)], 2),
    "without a result": ("ij,jk,kl", [(4, 5), (5, 6), (6, 7)], 2),
    "a scalar": ("ij,jk,ki->", [(4, 5), (5, 6), (6, 4)], 1),
    "a diagonal": ("ii,ij,jk->k", [(4, 4), (4, 5), (5, 6)], 2),
    "an extent that broadcasts": ("ij,jk,kl->il", [(4, 1), (5, 6), (6, 7)], 2),
    "no rows": ("ij,jk,kl->il", [(0, 5), (5, 6), (6, 7)], None),
    "nothing to sum over": ("ij,jk,kl->il", [(4, 5), (5, 0), (0, 7)], None),
    "scaled": ("ij,i,j->ij", [(4, 5), (4,), (5,)], 1),
    "outer product": ("i,j,k->ijk", [(4,), (5,), (6,)], 1),
    "two": ("ij,jk->ik", [(4, 5), (5, 6)], 1),
    "one": ("ij->j", [(4, 5)], 1),
}


def program(subscripts, shapes, names=None, dtype="float32"):
    dims = [[f'"{names[d]}"' if names and d in names else d for d in shape] for shape in shapes]
    params = [tensor(f"x{n}", *each, dtype=dtype) for n, each in enumerate(dims)]
    operands = ", ".join(f"x{n}" for n in range(len(shapes)))
    return dataflow_program(params, f'y = R.einsum(({operands},), subscripts="{subscripts}")', "y", sizes="")


def split(module) -> ModuleOp:
    return module_op(Sequential([SplitEinsums()])(module))


@pytest.mark.parametrize("name", ROWS)
def test_results_are_those_of_numpy(name):
    subscripts, shapes, count = ROWS[name]
    module = program(subscripts, shapes)
    arrays = [RNG.integers(-4, 5, shape).astype(np.float32) for shape in shapes]
    broadcast = [np.repeat(a, 5, 1) if name.endswith("broadcasts") and n == 0 else a for n, a in enumerate(arrays)]
    np.testing.assert_array_equal(np.asarray(build(module)["main"](*arrays)), np.einsum(subscripts, *broadcast))
    if count is not None:
        assert sum(isinstance(op, Einsum) for op in split(module).walk()) == count


@pytest.mark.parametrize("dtype", ["int8", "int32", "float64", "float16"])
def test_dtypes(dtype):
    subscripts, shapes, _ = ROWS["a chain"]
    arrays = [RNG.integers(-2, 3, shape).astype(dtype) for shape in shapes]
    expected = np.einsum(subscripts, *(a.astype(np.float64) for a in arrays)).astype(dtype)
    np.testing.assert_array_equal(
        np.asarray(build(program(subscripts, shapes, dtype=dtype))["main"](*arrays)), expected
    )


def test_symbolic_extents():
    subscripts, shapes, _ = ROWS["a chain"]
    module = program(subscripts, shapes, {5: "n", 7: "m"})
    assert sum(isinstance(op, Einsum) for op in split(module).walk()) == 2
    function = build(module)["main"]
    for n, m in ((0, 3), (1, 1), (5, 0), (17, 9)):
        arrays = [RNG.integers(-4, 5, shape).astype(np.float32) for shape in ((n, m), (m, 3), (3, 4))]
        np.testing.assert_array_equal(np.asarray(function(*arrays)), np.einsum(subscripts, *arrays))


def test_the_cheaper_pair_comes_first():
    text = str(split(program(*ROWS["the order by cost"][:2])))
    assert 'subscripts = "jk,kl->jl"' in text
