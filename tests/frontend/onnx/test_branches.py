"""Branches whose sides give tensors of other ranks, or of which one cannot be."""

import numpy as np
import pytest

pytest.importorskip("onnx", reason="models are ONNX's")

from graphs import BOOL, FLOAT, INT64, assert_like_reference, compile_model, model_of  # noqa: E402
from onnx import helper  # noqa: E402

from tirax.frontend.importing.errors import ModelError, NotInferred, UnsupportedOperators  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.runtime.errors import AssertionFailedError  # noqa: E402

LENGTH = [
    helper.make_node("Shape", ["x"], ["shape"]),
    helper.make_node("Gather", ["shape", "last"], ["length"]),
    helper.make_node("Equal", ["length", "one"], ["is_one"]),
]
NUMBERS = {"last": np.int64(1), "one": np.int64(1), "axis": np.array([1]), "flat": np.array([-1])}


def body(name, *nodes):
    return helper.make_graph(nodes, name, [], [helper.make_empty_tensor_value_info(nodes[-1].output[0])])


def branch(condition, then, other, output="y"):
    return helper.make_node(
        "If", [condition], [output], then_branch=body("then", *then), else_branch=body("else", *other)
    )


def squeezed(*tail, output="z"):
    """A model in which the rank of `y` depends on the length of `x`, and what follows."""
    then = [helper.make_node("Squeeze", ["x", "axis"], ["a"])]
    other = [helper.make_node("Identity", ["x"], ["b"])]
    return model_of([*LENGTH, branch("is_one", then, other), *tail], {"x": ["n", "m"]}, [output], NUMBERS)


X = [np.arange(n * m, dtype=np.float32).reshape(n, m) for n, m in ((2, 1), (2, 3), (1, 1), (0, 1), (0, 3))]


def test_what_follows_is_part_of_both_sides():
    tail = helper.make_node("Reshape", ["y", "flat"], ["z"]), helper.make_node("Mul", ["z", "z"], ["w"])
    assert_like_reference(squeezed(*tail, output="w"), *([x] for x in X))


def test_two_of_them_after_one_another():
    then = [helper.make_node("Unsqueeze", ["y", "axis"], ["c"])]
    other = [helper.make_node("Identity", ["y"], ["d"])]
    tail = branch("is_one", then, other, "u"), helper.make_node("ReduceSum", ["u"], ["z"], keepdims=0)
    assert_like_reference(squeezed(*tail), *([x] for x in X))


def test_a_side_that_what_follows_forbids_ends_the_run():
    main = compile_model(squeezed(helper.make_node("Transpose", ["y"], ["z"], perm=[0])))
    for x in X:
        if x.shape[1] == 1:
            np.testing.assert_array_equal(main(x).numpy(), x[:, 0])
        else:
            with pytest.raises(AssertionFailedError, match="a branch that cannot be: Transpose"):
                main(x)


def products(rows):
    """A model with a product by a matrix of so many rows on each side."""
    sides = [[helper.make_node("MatMul", ["x", f"w{i}"], [f"p{i}"])] for i in range(2)]
    weights = {f"w{i}": np.full((n, 2), i + 1, np.float32) for i, n in enumerate(rows)}
    inputs = {"x": (FLOAT, [3, 4]), "taken": (BOOL, [])}
    return model_of([branch("taken", *sides)], inputs, ["y"], weights)


@pytest.mark.parametrize("possible", [True, False])
def test_a_side_that_contradicts_the_shapes_ends_the_run(possible):
    model = products([4, 5] if possible else [5, 4])
    x, main = np.ones((3, 4), np.float32), compile_model(model)
    weight = 1 if possible else 2
    np.testing.assert_array_equal(main(x, np.array(possible)).numpy(), np.full((3, 2), 4 * weight))
    with pytest.raises(AssertionFailedError, match="a branch that cannot be: MatMul"):
        main(x, np.array(not possible))
    assert not from_onnx(model)["main"].is_pure


def test_neither_side_can_be():
    with pytest.raises(ModelError, match="MatMul"):
        from_onnx(products([5, 6]))


def test_results_of_other_ranks():
    with pytest.raises(UnsupportedOperators, match="If"):
        from_onnx(squeezed(helper.make_node("Relu", ["y"], ["z"])))


def test_what_is_not_known_stays_an_error_of_the_import():
    side = [helper.make_node("Reshape", ["x", "sizes"], ["a"])]
    other = [helper.make_node("Identity", ["x"], ["b"])]
    inputs = {"x": (FLOAT, [3, 4]), "taken": (BOOL, []), "sizes": (INT64, ["k"])}
    with pytest.raises(NotInferred):
        from_onnx(model_of([branch("taken", side, other)], inputs, ["y"]))


def test_what_follows_a_branch_that_is_known_is_part_of_both_sides_of_one_in_it():
    inner = branch(
        "is_one", [helper.make_node("Squeeze", ["x", "axis"], ["a"])], [helper.make_node("Neg", ["x"], ["b"])]
    )
    tail = helper.make_node("ReduceSum", ["u"], ["z"], keepdims=0)
    outer = helper.make_node("If", ["known"], ["u"], then_branch=body("known", inner), else_branch=body("never", inner))
    model = model_of([*LENGTH, outer, tail], {"x": ["n", "m"]}, ["z"], {**NUMBERS, "known": np.array(True)})
    assert_like_reference(model, *([x] for x in X))


def test_what_follows_a_function_is_part_of_both_sides_of_a_branch_in_it():
    opset = [helper.make_opsetid("", 18)]
    length = [helper.make_node("Constant", [], [n], value_int=v) for n, v in (("last", 1), ("one", 1))]
    axis = helper.make_node("Constant", [], ["axis"], value_ints=[1])
    sides = [helper.make_node("Squeeze", ["x", "axis"], ["a"])], [helper.make_node("Neg", ["x"], ["b"])]
    nodes = [*length, axis, *LENGTH, branch("is_one", *sides)]
    function = helper.make_function("local", "Squeezed", ["x"], ["y"], nodes, opset)
    tail = helper.make_node("ReduceSum", ["u"], ["z"], keepdims=0)
    model = model_of([helper.make_node("Squeezed", ["x"], ["u"], domain="local"), tail], {"x": ["n", "m"]}, ["z"])
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))
    assert_like_reference(model, *([x] for x in X))


def test_of_a_branch_in_one_that_is_computed_too_the_ranks_must_be_known():
    inner = branch(
        "is_one", [helper.make_node("Squeeze", ["x", "axis"], ["a"])], [helper.make_node("Neg", ["x"], ["b"])]
    )
    outer = helper.make_node("If", ["taken"], ["u"], then_branch=body("t", inner), else_branch=body("e", inner))
    tail = helper.make_node("ReduceSum", ["u"], ["z"], keepdims=0)
    inputs = {"x": (FLOAT, ["n", "m"]), "taken": (BOOL, [])}
    with pytest.raises(UnsupportedOperators, match="If"):
        from_onnx(model_of([*LENGTH, outer, tail], inputs, ["z"], NUMBERS))
