"""Passes on products of matrices: what they rewrite, what they leave, that the meaning stays."""

from functools import partial

import numpy as np
import pytest
from relax_programs import dataflow_program, tensor
from strength import thinned

import tirax.tvm_api as tvm
from tirax.interpreter import assert_same_meaning, interpret, random_inputs
from tirax.ir.functions.lookup import functions
from tirax.tvm_api import relax
from tirax.tvm_api.relax.transform import (
    AdjustMatmulOrder,
    CombineParallelMatmul,
    ExpandMatmulOfSum,
    FuseTransposeMatmul,
)

program = partial(dataflow_program, sizes="nk")


def block_of(mod):
    """The bindings of the dataflow block of `main`, without struct info."""
    lines = [line.strip() for line in mod["main"].script().splitlines()]
    actual = lines[lines.index("with R.dataflow():") + 1 :]
    actual = actual[: next(i for i, line in enumerate(actual) if line.startswith("R.output"))]
    return [f"{line.split(':')[0]} = {line.split(' = ', 1)[1]}".replace(', out_dtype="void"', "") for line in actual]


X, A, B = tensor("x", '"n"', 16), tensor("a", 16, 4), tensor("b", 16, 8)
C, D = tensor("c", 4), tensor("d", 8)
PARALLEL = {
    "two": (
        ([X, A, B], "p = R.matmul(x, a)", "q = R.matmul(x, b)", "p, q"),
        [
            "lv = R.concat((a, b), axis=1)",
            'lv1 = R.matmul(x, lv, out_dtype="float32")',
            "lv2 = R.split(lv1, indices_or_sections=[4], axis=1)",
            "p = lv2[0]",
            "q = lv2[1]",
        ],
    ),
    "with bias and activation": (
        (
            [X, A, B, C, D],
            "p = R.matmul(x, a)", "p1 = R.add(p, c)", "p2 = R.nn.relu(p1)",
            "q = R.matmul(x, b)", "q1 = R.add(d, q)", "q2 = R.nn.relu(q1)", "p2, q2",
        ),
        [
            "lv = R.concat((a, b), axis=1)",
            'lv1 = R.matmul(x, lv, out_dtype="float32")',
            "lv2 = R.concat((c, d), axis=0)",
            "lv3 = R.add(lv1, lv2)",
            "lv4 = R.nn.relu(lv3)",
            "lv5 = R.split(lv4, indices_or_sections=[4], axis=1)",
            "p2 = lv5[0]",
            "q2 = lv5[1]",
        ],
    ),
    "other activations": (
        (
            [X, A, B],
            "p = R.matmul(x, a)", "p1 = R.nn.relu(p)", "q = R.matmul(x, b)", "q1 = R.nn.silu(q)", "p1, q1",
        ),
        [
            "lv = R.concat((a, b), axis=1)",
            'lv1 = R.matmul(x, lv, out_dtype="float32")',
            "lv2 = R.split(lv1, indices_or_sections=[4], axis=1)",
            "p = lv2[0]",
            "p1 = R.nn.relu(p)",
            "q = lv2[1]",
            "q1 = R.nn.silu(q)",
        ],
    ),
    "a product that is used besides": (
        (
            [X, A, B],
            "p = R.matmul(x, a)", "p1 = R.nn.relu(p)", "q = R.matmul(x, b)", "q1 = R.nn.relu(q)", "p1, q1, p",
        ),
        None,
    ),
    "weights that come later": (
        (
            [X, A, B],
            "p = R.matmul(x, a)", "p1 = R.exp(p)", "w = R.exp(b)", "q = R.matmul(x, w)", "p1, q",
        ),
        [
            "w = R.exp(b)",
            "lv = R.concat((a, w), axis=1)",
            'lv1 = R.matmul(x, lv, out_dtype="float32")',
            "lv2 = R.split(lv1, indices_or_sections=[4], axis=1)",
            "p = lv2[0]",
            "p1 = R.exp(p)",
            "q = lv2[1]",
        ],
    ),
    "batches": (
        (
            [tensor("x", 3, "'n'", 16), A, tensor("b", 3, 16, 8), tensor("c", 16, 2), tensor("d", 3, 16, 2)],
            "p = R.matmul(x, a)", "q = R.matmul(x, b)", "r = R.matmul(x, c)", "s = R.matmul(x, d)", "p, q, r, s",
        ),
        [
            "lv = R.concat((a, c), axis=1)",
            'lv1 = R.matmul(x, lv, out_dtype="float32")',
            "lv2 = R.split(lv1, indices_or_sections=[4], axis=2)",
            "p = lv2[0]",
            "lv3 = R.concat((b, d), axis=2)",
            'lv4 = R.matmul(x, lv3, out_dtype="float32")',
            "lv5 = R.split(lv4, indices_or_sections=[8], axis=2)",
            "q = lv5[0]",
            "r = lv2[1]",
            "s = lv5[1]",
        ],
    ),
    "columns of unknown number": (
        ([X, tensor("a", 16, '"k"'), B, tensor("c", 16, 3)],
         "p = R.matmul(x, a)", "q = R.matmul(x, b)", "r = R.matmul(x, c)", "p, q, r"),
        [
            "lv = R.concat((b, c, a), axis=1)",
            'lv1 = R.matmul(x, lv, out_dtype="float32")',
            "lv2 = R.split(lv1, indices_or_sections=[8, 11], axis=1)",
            "p = lv2[2]",
            "q = lv2[0]",
            "r = lv2[1]",
        ],
    ),
    "one of two unknown numbers": (
        ([X, tensor("a", 16, '"k"'), B, tensor("c", 16, '"m"')],
         "p = R.matmul(x, a)", "q = R.matmul(x, b)", "r = R.matmul(x, c)", "p, q, r"),
        [
            "lv = R.concat((b, a), axis=1)",
            'lv1 = R.matmul(x, lv, out_dtype="float32")',
            "lv2 = R.split(lv1, indices_or_sections=[8], axis=1)",
            "p = lv2[1]",
            "q = lv2[0]",
            "r = R.matmul(x, c)",
        ],
    ),
    "the same product twice": (([X, A], "p = R.matmul(x, a)", "q = R.matmul(x, a)", "p, q"), []),
    "products of products": (
        (
            [tensor("x", 16, 16), tensor("a", 16, 16)],
            "p = R.matmul(x, a)", "q = R.matmul(x, p)", "e = R.exp(q)", "r = R.matmul(x, e)", "p, r",
        ),
        [],
    ),
    "a bias of another product": (
        (
            [tensor("x", 4, 16), tensor("a", 16, 4), tensor("b", 16, 4)],
            "p = R.matmul(x, a)", "p1 = R.add(p, p)",
            "q = R.matmul(x, b)", "q1 = R.add(q, p1)", "p1, q1",
        ),
        None,
    ),
    "dtypes": (
        (
            [tensor("x", "'n'", 16, dtype="int8"), tensor("a", 16, 4, dtype="int8"), tensor("b", 16, 8, dtype="int8"),
             tensor("c", 16, 8, dtype="int8")],
            "p = R.matmul(x, a, out_dtype='int32')", "q = R.matmul(x, b, out_dtype='int32')", "r = R.matmul(x, c)",
            "p, q, r",
        ),
        None,
    ),
    "sizes that a cast binds": (
        (
            [X, A, B, 'y: R.Tensor(ndim=1, dtype="float32")'],
            "p = R.matmul(x, a)", 'z = R.match_cast(y, R.Tensor((k,), "float32"))',
            "s = R.sum(R.ones(R.shape([k]), 'float32'))", "w = R.add(b, s)", "u = R.add(s, R.sum(z))",
            "q = R.matmul(x, w)", "p, q, u",
        ),
        [],
    ),
    "a vector": (
        ([tensor("x", 16), A, B], "p = R.matmul(x, a)", "q = R.matmul(x, b)", "p, q"),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARALLEL)
def test_combine_parallel_matmul(case):
    text, expected = PARALLEL[case]
    before = program(*text)
    after = CombineParallelMatmul()(before)
    assert_same_meaning(before.op, after.op)
    if expected == []:
        assert after.script() == before.script()
    elif expected is None:
        assert after.script().count("R.matmul") == before.script().count("R.matmul") - 1
    else:
        assert block_of(after) == expected


def test_products_with_mixed_batches_may_be_left():
    matrices = [tensor("a", 2, 16, 4), tensor("b", 3, 16, 4), tensor("c", 2, 16, 4), A.replace("a", "d", 1)]
    before = program(
        [X, *matrices, tensor("e", 16, 2)],
        *(f"{p} = R.matmul(x, {m})" for p, m in zip("pqrst", "abcde", strict=True)),
        "p, q, r, s, t",
    )
    counts = []
    for mixed in (True, False):
        after = CombineParallelMatmul(mixed_batches=mixed)(before)
        assert_same_meaning(before.op, after.op)
        counts.append(after.script().count("R.matmul"))
    assert counts == [3, 4]


def test_combine_is_called():
    text = (
        [X, tensor("y", "'n'", 16), A, B, C, D],
        "p = R.matmul(x, a)", "q = R.matmul(x, b)", "r = R.matmul(y, a)", "r1 = R.add(r, c)", "s = R.matmul(y, b)",
        "s1 = R.add(s, d)", "p, q, r1, s1",
    )  # fmt: skip
    before, requests = program(*text), []

    def check(x, weights, biases, bindings):
        requests.append((x.name_hint, [w.name_hint for w in weights], [b.name_hint for b in biases]))
        assert {v.name_hint for v in bindings} >= {"p", "q", "r"}
        return x.name_hint == "y"

    after = CombineParallelMatmul(check)(before)
    assert requests == [("x", ["a", "b"], []), ("y", ["a", "b"], ["c", "d"])]
    assert block_of(after)[:2] == ["p = R.matmul(x, a)", "q = R.matmul(x, b)"]
    assert after.script().count("R.matmul") == 3


BIG = tensor("x", 2, 64), tensor("a", 64, 4), tensor("b", 4, 64)
ORDERS = {
    "to the left": ((BIG, "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o"),
                    ["lv = R.matmul(x, a)", "o = R.matmul(lv, b)"]),
    "to the right": (
        ([tensor("x", 64, 8), tensor("a", 8, 64), tensor("b", 64, 8)], "p = R.matmul(x, a)", "o = R.matmul(p, b)", "o"),
        ["lv = R.matmul(a, b)", "o = R.matmul(x, lv)"],
    ),
    "best as it is": (
        ([tensor("x", 64, 8), tensor("a", 8, 64), tensor("b", 64, 8)], "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o"),
        [],
    ),
    "equal": (
        ([tensor(v, 4, 4) for v in "xab"], "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o"), [],
    ),
    "a size that may be any": (
        ([tensor("x", '"n"', 64), tensor("a", 64, '"k"'), tensor("b", '"k"', 64)],
         "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o"), [],
    ),
    "provable for any size": (
        ([tensor("x", 2, 64), tensor("a", 64, '"k"'), tensor("b", '"k"', 64)],
         "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o"),
        ["lv = R.matmul(x, a)", "o = R.matmul(lv, b)"],
    ),
    "low rank": (
        ([tensor("x", '"n"', 64), tensor("a", 64, 4), tensor("b", 4, 64)],
         "p = R.matmul(a, b)", "o = R.matmul(x, p)", "e = R.exp(p)", "o, e"),
        ["p = R.matmul(a, b)", "lv = R.matmul(x, a)", "o = R.matmul(lv, b)", "e = R.exp(p)"],
    ),
    "a product that is there anyway": (
        ([tensor("x", '"n"', 8), tensor("a", 8, 6), tensor("b", 6, 8)],
         "p = R.matmul(a, b)", "o = R.matmul(x, p)", "e = R.exp(p)", "o, e"), [],
    ),
    "transposed": (
        ([tensor("x", 2, 64), tensor("a", 4, 64), tensor("b", 64, 4)],
         "p = R.matmul(b, a)", "q = R.permute_dims(p)", "o = R.matmul(x, q)", "o"),
        ["lv = R.permute_dims(a, axes=None)", "lv1 = R.matmul(x, lv)", "lv2 = R.permute_dims(b, axes=None)",
         "o = R.matmul(lv1, lv2)"],
    ),
    "transposed on the left": (
        ([tensor("x", 5, 64, 2), tensor("a", 5, 2, 64), tensor("b", 64, 4)],
         "p = R.matmul(x, a)", "q = R.permute_dims(p, [0, 2, 1])", "o = R.matmul(q, b)", "o"),
        ["lv = R.permute_dims(a, axes=[0, 2, 1])", "lv1 = R.permute_dims(x, axes=[0, 2, 1])",
         "lv2 = R.matmul(lv1, b)", "o = R.matmul(lv, lv2)"],
    ),
    "turned otherwise": (
        ([tensor("x", 2, 5, 64), tensor("a", 5, 2, 4), tensor("b", 5, 4, 64)],
         "p = R.matmul(a, b)", "q = R.permute_dims(p, [1, 2, 0])", "o = R.exp(q)",
         "o"), [],
    ),
    "a row": (
        ([tensor("x", 64), tensor("a", 64, 32), tensor("b", 32, 8)], "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o"),
        ["lv = R.matmul(x, a)", "o = R.matmul(lv, b)"],
    ),
    "a column": (
        ([tensor("x", 8, 16), tensor("a", 16, 32), tensor("b", 32)], "p = R.matmul(x, a)", "o = R.matmul(p, b)", "o"),
        ["lv = R.matmul(a, b)", "o = R.matmul(x, lv)"],
    ),
    "a row and batches": (
        ([tensor("x", 16), tensor("a", 16, 16, 16), tensor("b", 16, 16, 8)],
         "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o"), [],
    ),
    "three": (
        ([*BIG, tensor("c", 64, 8)], "p = R.matmul(a, b)", "q = R.matmul(p, c)", "o = R.matmul(x, q)", "o"),
        ["lv1 = R.matmul(x, a)", "lv = R.matmul(lv1, b)", "o = R.matmul(lv, c)"],
    ),
    "an accumulator of another dtype": (
        ([tensor(n, *s, dtype="int8") for n, s in (("x", (2, 64)), ("a", (64, 4)), ("b", (4, 64)))],
         "p = R.matmul(a, b)", "o = R.matmul(x, p, out_dtype='int32')", "o"), [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDERS)
def test_adjust_matmul_order(case):
    text, expected = ORDERS[case]
    before = program(*text)
    after = AdjustMatmulOrder()(before)
    assert_same_meaning(before.op, after.op)
    assert block_of(after) == (expected or block_of(before))
    assert AdjustMatmulOrder()(after).script() == after.script()


@pytest.mark.parametrize(("bound", "order"), [(None, "x (a b)"), (32, "(x a) b"), (33, "x (a b)")])
def test_bounds_of_sizes_say_which_order_is_cheaper(bound, order):
    """x a b of n x 64 x k x 64: (n + k) * 64 * 64 multiplications one way, (64 + 64) * n * k the other."""
    sizes = [tensor("x", '"n"', 64), tensor("a", 64, '"k"'), tensor("b", '"k"', 64)]
    before = program(sizes, "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o")
    if bound is not None:
        before.update_func(before.get_global_var("main"), before["main"].with_attr("tir_var_upper_bound", {"k": bound}))
    after = AdjustMatmulOrder()(before)
    assert_same_meaning(before.op, after.op)
    first = "lv = R.matmul(x, a)" if order == "(x a) b" else "p = R.matmul(a, b)"
    assert block_of(after)[0] == first


def test_batches_may_be_left_out_of_the_costs():
    """As TVM counts: x (a b) of `n` products of one row takes 64 * k * 64 and more, (x a) b 128 * k."""
    sizes = [tensor("x", '"n"', 1, 64), tensor("a", 64, '"k"'), tensor("b", '"k"', 64)]
    before = program(sizes, "p = R.matmul(a, b)", "o = R.matmul(x, p)", "o")
    assert block_of(AdjustMatmulOrder(batches=True)(before)) == block_of(before)
    after = AdjustMatmulOrder(batches=False)(before)
    assert block_of(after)[0] == "lv = R.matmul(x, a)"
    assert_same_meaning(before.op, after.op)


TRANSPOSED = {
    "matrix": ([X, tensor("w", 8, 16)], "t = R.permute_dims(w)", "o = R.matmul(x, t)", "o"),
    "axes": ([X, tensor("w", 8, 16)], "t = R.permute_dims(w, [-1, 0])", "o = R.matmul(x, t)", "o"),
    "batches": (
        [tensor("x", 3, '"n"', 16), tensor("w", 1, 8, 16)],
        "t = R.permute_dims(w, [0, 2, 1])", "o = R.matmul(x, t)", "o",
    ),
    "vector": ([tensor("x", 16), tensor("w", '"n"', 16)], "t = R.permute_dims(w)", "o = R.matmul(x, t)", "o"),
    "dtypes": (
        [tensor("x", 4, 16, dtype="int8"), tensor("w", 8, 16, dtype="int8")],
        "t = R.permute_dims(w)", "o = R.matmul(x, t, out_dtype='int32')", "o",
    ),
    "halves": (
        [X, tensor("w", 8, 16, dtype="bfloat16")],
        "f = R.astype(w, 'float32')", "t = R.permute_dims(f)", "o = R.matmul(x, t)", "o",
    ),
    "used twice": ([X, tensor("w", 8, 16)], "t = R.permute_dims(w)", "o = R.matmul(x, t)", "o, t"),
}  # fmt: skip
NOT_TRANSPOSED = {
    "other axes": (
        [tensor("x", 3, '"n"', 16), tensor("w", 16, 3, 8)],
        "t = R.permute_dims(w, [1, 0, 2])", "o = R.matmul(x, t)", "o",
    ),
    "the left one": ([tensor("x", 16, '"n"'), B], "t = R.permute_dims(x)", "o = R.matmul(t, b)", "o"),
    "sizes to be checked": (
        [tensor("x", 4, '"n"'), tensor("w", 8, '"k"')], "t = R.permute_dims(w)", "o = R.matmul(x, t)", "o",
    ),
    "all reversed": (
        [tensor("x", 2, 5, 4), tensor("w", 3, 4, 2)], "t = R.permute_dims(w)", "o = R.matmul(x, t)", "o",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TRANSPOSED)
def test_fuse_transpose_matmul(case):
    before = program(*TRANSPOSED[case])
    after = FuseTransposeMatmul()(before)
    assert_same_meaning(before.op, after.op)
    assert "R.call_tir(cls.NT_matmul, (x, w)" in after.script()
    assert ("permute_dims" in after.script()) is (case == "used twice")


@pytest.mark.parametrize("case", NOT_TRANSPOSED)
def test_fuse_transpose_matmul_leaves(case):
    before = program(*NOT_TRANSPOSED[case])
    assert FuseTransposeMatmul()(before).script() == before.script()


def test_only_what_is_widened_exactly_is_widened_in_the_product():
    """Integers beyond 2**24 are rounded by a cast: it stays, as does one to another type than the product's."""
    for source, to in (("int32", "float32"), ("float16", "float64")):
        before = program(
            [tensor("x", 4, 16, dtype=to), tensor("w", 8, 16, dtype=source)],
            f"f = R.astype(w, '{to}')", "t = R.permute_dims(f)", "o = R.matmul(x, t)", "o",
        )  # fmt: skip
        assert "R.call_tir(cls.NT_matmul, (x, f)" in FuseTransposeMatmul()(before).script()


def test_fuse_transpose_matmul_shares():
    after = FuseTransposeMatmul()(
        program(
            [tensor("x", 8, 8), tensor("w", 8, 8), tensor("v", 4, 8)],
            "t = R.permute_dims(w)", "o = R.matmul(x, t)", "p = R.matmul(o, t)", "u = R.permute_dims(v)",
            "q = R.matmul(p, u)", "q",
        )
    )  # fmt: skip
    assert set(functions(after.op)) == {"main", "NT_matmul", "NT_matmul1"}


@thinned("one", [CombineParallelMatmul, AdjustMatmulOrder, FuseTransposeMatmul], 1)
def test_native(one):
    before = program(
        [X, A, B, tensor("w", 4, 16)],
        "p = R.matmul(x, a)", "q = R.matmul(x, b)", "t = R.permute_dims(w)", "r = R.matmul(x, t)",
        "s = R.matmul(a, w)", "u = R.matmul(x, s)", "p, q, r, u",
    )  # fmt: skip
    after = one()(before)
    vm = relax.VirtualMachine(relax.build(after, target="llvm"), tvm.cpu())
    for n in (3, 1, 0):
        inputs = random_inputs(functions(before.op)["main"], {"n": n})
        expected = interpret(before.op, "main", inputs)
        for actual, value in zip(vm["main"](*map(tvm.nd.array, inputs)), expected, strict=True):
            np.testing.assert_allclose(actual.numpy(), value, rtol=1e-4, atol=1e-5)


WEIGHTS = {
    "products": (AdjustMatmulOrder(), "w = R.matmul(a, b)", "y = R.matmul(w, x)", (16,), (32, 2), (2, 16)),
    "sums": (ExpandMatmulOfSum(), "w = R.add(a, b)", "y = R.matmul(x, w)", (16,), (16, 4), (16, 4)),
}


@pytest.mark.parametrize("case", WEIGHTS)
@pytest.mark.parametrize("number", [None, 1, 2])
def test_what_is_computed_of_weights_stays(case, number):
    each, first, second, *shapes = WEIGHTS[case]
    params = ", ".join(f'{name}: R.Tensor({shape}, "float32")' for name, shape in zip("xab", shapes, strict=True))
    attrs = "" if number is None else f'        R.func_attr({{"num_input": {number}}})\n'
    module = tvm.script.from_source(
        "from tvm.script import ir as I, relax as R\n\n@I.ir_module\nclass Module:\n    @R.function\n"
        f"    def main({params}):\n{attrs}        {first}\n        {second}\n        return y\n"
    )
    changed = each(module)
    assert (changed.script() == module.script()) == (number == 1)
    assert_same_meaning(module.op, changed.op)
