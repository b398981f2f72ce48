"""Small passes on single operators: what they rewrite, what they leave, that the meaning stays."""

import numpy as np
import pytest
from relax_programs import dataflow_program

import tirax.tvm_api as tvm
from tirax.interpreter import assert_same_meaning, interpret, random_inputs
from tirax.ir.functions.lookup import functions
from tirax.transforms.operators.decompose_ops import DecomposeOpsForInference
from tirax.transforms.operators.remove_redundant_reshape import RemoveRedundantReshape
from tirax.tvm_api import IRModule, relax
from tirax.tvm_api.passes.operators.expand_matmul_of_sum import ExpandMatmulOfSum
from tirax.tvm_api.passes.operators.reorder_permute_dims_after_concat import ReorderPermuteDimsAfterConcat
from tirax.tvm_api.passes.operators.reorder_take_after_matmul import ReorderTakeAfterMatmul
from tirax.tvm_api.relax import transform


def names(module):
    kept = (op.name for op in module.walk() if op.name.startswith("relax.") and not op.regions)
    return [n[6:] for n in kept if n[6:] not in ("return", "output", "shape", "tuple", "constant")]


X = 'x: R.Tensor(("n", 4), "float32")'
W = 'a: R.Tensor((4, 6), "float32"), b: R.Tensor((4, 6), "float32")'
CASES = {
    "reshapes": (
        RemoveRedundantReshape,
        (X, "p = R.reshape(x, (4, n))", "q = R.reshape(p, (n * 4,))", "r = R.reshape(q, (2, n, 2))", "r"),
        ["reshape"],
    ),
    "there and back": (
        RemoveRedundantReshape,
        (X, "p = R.reshape(x, (4, n))", "q = R.reshape(p, (n, 4))", "r = R.exp(q)", "r"),
        ["exp"],
    ),
    "a reshape used twice": (
        RemoveRedundantReshape,
        (X, "p = R.reshape(x, (4, n))", "q = R.exp(p)", "r = R.reshape(p, (n * 4,))", "q, r"),
        ["reshape", "exp", "reshape"],
    ),
    "nothing left": (RemoveRedundantReshape, (X, "p = R.reshape(x, (n, 4))", "p"), []),
    "one reshape": (RemoveRedundantReshape, (X, "p = R.reshape(x, (4, n))", "p"), None),
    "matmul of sum": (
        ExpandMatmulOfSum,
        (f"{X}, {W}", "s = R.add(a, b)", "y = R.matmul(x, s)", "y"),
        ["matmul", "matmul", "add"],
    ),
    "matmul of transposed sum": (
        ExpandMatmulOfSum,
        (
            f'{X}, c: R.Tensor((6, 4), "float32"), d: R.Tensor((6, 4), "float32")',
            "s = R.add(c, d)",
            "t = R.permute_dims(s)",
            "y = R.matmul(x, t)",
            "y",
        ),
        ["permute_dims", "matmul", "permute_dims", "matmul", "add"],
    ),
    "matmul of three terms": (
        ExpandMatmulOfSum,
        (
            f'{X}, {W}, c: R.Tensor((4, 6), "float32")',
            "s = R.add(c, b)",
            "t = R.add(a, s)",
            "y = R.matmul(x, t)",
            "y",
        ),
        ["matmul", "matmul", "add", "matmul", "add"],
    ),
    "matmul of broadcast": (
        ExpandMatmulOfSum,
        (f'{X}, {W}, v: R.Tensor((6,), "float32")', "s = R.add(a, v)", "y = R.matmul(x, s)", "y"),
        None,
    ),
    "concat": (
        ReorderPermuteDimsAfterConcat,
        (
            f"{X}, {W}",
            "p = R.permute_dims(a)",
            "q = R.permute_dims(b, axes=[1, 0])",
            "y = R.concat((p, q), axis=0)",
            "y",
        ),
        ["concat", "permute_dims"],
    ),
    "concat of three dimensions": (
        ReorderPermuteDimsAfterConcat,
        (
            'a: R.Tensor(("n", 2, 3), "float32"), b: R.Tensor(("n", 5, 3), "float32")',
            "p = R.permute_dims(a, axes=[2, 0, 1])",
            "q = R.permute_dims(b, axes=[2, 0, 1])",
            "y = R.concat((p, q), axis=-1)",
            "y",
        ),
        ["concat", "permute_dims"],
    ),
    "concat of other orders": (
        ReorderPermuteDimsAfterConcat,
        (
            'a: R.Tensor((2, 2, 2), "float32"), b: R.Tensor((2, 2, 2), "float32")',
            "p = R.permute_dims(a, axes=[2, 0, 1])",
            "q = R.permute_dims(b, axes=[1, 0, 2])",
            "y = R.concat((p, q), axis=0)",
            "y",
        ),
        None,
    ),
    "concat of one that is not transposed": (
        ReorderPermuteDimsAfterConcat,
        ('a: R.Tensor((4, 4), "float32")', "p = R.permute_dims(a)", "y = R.concat((p, a), axis=0)", "y"),
        None,
    ),
    "take": (
        ReorderTakeAfterMatmul,
        (f'{X}, {W}, i: R.Tensor((3,), "int64")', "t = R.take(a, i, axis=1)", "y = R.matmul(x, t)", "y"),
        ["matmul", "take"],
    ),
    "take of matrices": (
        ReorderTakeAfterMatmul,
        (
            'x: R.Tensor(("n", 2, 4), "float32"), w: R.Tensor((3, 4, 5), "float32"), i: R.Tensor(("n",), "int64")',
            "t = R.take(w, i, axis=0)",
            "y = R.matmul(x, t)",
            "y",
        ),
        ["permute_dims", "reshape", "matmul", "reshape", "take", "einsum"],
    ),
    "take of columns of a batch": (
        ReorderTakeAfterMatmul,
        (
            'x: R.Tensor((3, "n", 4), "float32"), w: R.Tensor((3, 4, 5), "float32"), i: R.Tensor((2,), "int64")',
            "t = R.take(w, i, axis=-1)",
            "y = R.matmul(x, t)",
            "y",
        ),
        ["matmul", "take"],
    ),
    "take of columns of a batch for one": (
        ReorderTakeAfterMatmul,
        (
            'x: R.Tensor(("n", 4), "float32"), w: R.Tensor((3, 4, 5), "float32"), i: R.Tensor((2,), "int64")',
            "t = R.take(w, i, axis=-1)",
            "y = R.matmul(x, t)",
            "y",
        ),
        None,
    ),
    "take of rows": (
        ReorderTakeAfterMatmul,
        (f'{X}, {W}, i: R.Tensor((4,), "int64")', "t = R.take(a, i, axis=0)", "y = R.matmul(x, t)", "y"),
        None,
    ),
    "batch norm": (
        DecomposeOpsForInference,
        (
            'x: R.Tensor((2, 3, "n"), "float32"), g: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), '
            'm: R.Tensor((3,), "float32"), w: R.Tensor((3,), "float32")',
            "v = R.abs(w)",
            "y = R.nn.batch_norm(x, g, b, m, v, axis=1, training=False)",
            "z = R.nn.batch_norm(x, g, b, m, v, axis=1, scale=False, center=False, training=False)",
            "o = (y[0], z[0], y[1])",
            "o",
        ),
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rules(case):
    one, text, after_names = CASES[case]
    before = dataflow_program(*text).op
    after = one()(before)
    assert_same_meaning(before, after)
    made = getattr(transform, one.__name__)()
    assert one() in (made, *getattr(made, "passes", ()))
    if one is DecomposeOpsForInference:
        assert "nn.batch_norm" not in names(after)
        assert names(after).count("multiply") == 1
    elif after_names is None:
        assert str(after) == str(before)
    else:
        assert names(after) == after_names
        assert str(one()(after)) == str(after)


def test_decompose_in_one_function():
    before = dataflow_program(*CASES["batch norm"][1]).op
    assert "nn.batch_norm" not in names(DecomposeOpsForInference("main")(before))
    with pytest.raises(LookupError, match="did you mean 'main'"):
        DecomposeOpsForInference("mian")(before)


def test_a_type_that_says_less_is_kept(parse):
    text = """relax.func @f(%x: !relax.tensor<[2, 3], f32>) -> !relax.tensor<ndim = 1, f32> {
      %0 = relax.shape [3, 2]
      %y = relax.reshape %x, %0 : !relax.tensor<[3, 2], f32>
      %1 = relax.shape [6]
      %z = relax.reshape %y, %1 : !relax.tensor<ndim = 1, f32>
      relax.return %z : !relax.tensor<ndim = 1, f32> }"""
    module = parse(text)
    module.verify()
    after = RemoveRedundantReshape()(module)
    assert names(after) == ["reshape", "bind"]
    assert_same_meaning(module, after)


def test_a_sum_of_constants_is_left_to_folding(parse):
    text = """relax.func @f(%x: !relax.tensor<[n, 1], f32>) -> !relax.tensor<[n, 2], f32> {
      %a = relax.constant <f32 [1, 2] [[1.0, 2.0]]>
      %b = relax.constant <f32 [1, 2] [[3.0, 4.0]]>
      %s = relax.add %a, %b : !relax.tensor<[1, 2], f32>
      %y = relax.matmul %x, %s : !relax.tensor<[n, 2], f32>
      relax.return %y : !relax.tensor<[n, 2], f32> }"""
    assert str(ExpandMatmulOfSum()(parse(text))) == str(parse(text))


def test_take_of_matrices_native():
    _, text, _ = CASES["take of matrices"]
    before = dataflow_program(*text).op
    vm = relax.VirtualMachine(relax.build(IRModule(ReorderTakeAfterMatmul()(before)), target="llvm"), tvm.cpu())
    for n in (4, 1, 0):
        inputs = random_inputs(functions(before)["main"], {"n": n})
        result = vm["main"](*map(tvm.nd.array, inputs)).numpy()
        np.testing.assert_allclose(result, interpret(before, "main", inputs), rtol=1e-5, atol=1e-6)
