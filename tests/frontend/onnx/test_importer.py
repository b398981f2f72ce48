"""`from_onnx`: inputs, weights, shapes, functions of the model, and what is wrong with a model."""

from __future__ import annotations

import gc
from itertools import pairwise

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from graphs import FLOAT, INT64, assert_like_reference, compile_model, model_of  # noqa: E402
from onnx import helper  # noqa: E402

from tirax.diagnostics import TiraxError  # noqa: E402
from tirax.driver.pipelines import make_passes  # noqa: E402
from tirax.frontend.importing.errors import InputError, ModelError, UnsupportedOperators  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.frontend.params import detach_params  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402
from tirax.ir.passes.limits import LimitError  # noqa: E402
from tirax.ir.passes.transform import Sequential  # noqa: E402
from tirax.script import parse_source  # noqa: E402

rng = np.random.default_rng(0)


def _dense(opset: int = 20) -> onnx.ModelProto:
    return model_of(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="dense"), helper.make_node("Relu", ["y"], ["z"])],
        {"x": ["n", 4]},
        ["z"],
        {"w": np.arange(12, dtype=np.float32).reshape(4, 3) - 6},
        opset,
    )


@pytest.mark.parametrize("opset", [7, 13, 20, 23])
def test_a_layer_at_several_sizes(opset):
    assert_like_reference(_dense(opset), *([rng.standard_normal((n, 4), np.float32)] for n in (0, 1, 5)))


def test_nothing_is_looked_for_among_unfinished_values() -> None:
    """The garbage collector finds nothing there, and takes a sixth of the time of an import."""
    model, seen, thresholds = _dense(), [], gc.get_threshold()
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    gc.set_threshold(10, 2, 2)
    try:
        imported = from_onnx(model)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.pop()
    assert len(seen) < 20  # around the call; else hundreds
    assert gc.isenabled()
    assert imported["main"].attrs["num_input"] == 1


def test_attributes_that_an_operator_lacks_are_reported() -> None:
    nodes = [helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop"), helper.make_node("Cast", ["x"], ["y"])]
    for node, name in zip(nodes, ("body", "to"), strict=True):
        model = model_of([node], {"x": [2]}, ["y"], {"n": np.array(2)})
        with pytest.raises(ModelError, match=f"(?s){node.op_type}.*lacks attributes.*{name}"):
            from_onnx(model)


def test_names_that_are_no_text_are_reported(tmp_path) -> None:
    model = model_of([helper.make_node("Relu", ["x"], ["y"], name="zzzz")], {"x": [2]}, ["y"])
    for old in (b"zzzz", b"Relu"):
        path = tmp_path / "model.onnx"
        path.write_bytes(model.SerializeToString().replace(old, b"\xff\xfe\xff\xfe"))
        with pytest.raises(ModelError, match=r"(?s)is corrupted.*onnx\.NodeProto"):
            from_onnx(path)


def test_weights_are_parameters_on_request():
    mod, params = detach_params(from_onnx(_dense(), keep_params_in_input=True))
    assert [p.name_hint for p in mod["main"].params] == ["x", "w"]
    assert mod["main"].attrs["num_input"] == 1
    np.testing.assert_array_equal(params["main"][0].numpy(), np.arange(12, dtype=np.float32).reshape(4, 3) - 6)


def test_shapes_and_names_of_inputs():
    mod = from_onnx(_dense(), shape_dict={"x": [2, 4]})
    assert str(mod["main"].params[0].struct_info) == "!relax.tensor<[2, 4], f32>"
    model = model_of([helper.make_node("Add", [".", "123"], ["y"])], {".": [2], "123": [2]}, ["y"])
    assert [p.name_hint for p in from_onnx(model)["main"].params] == ["_", "input_123"]
    keyword = model_of([helper.make_node("Relu", ["in"], ["y"])], {"in": [2]}, ["y"])
    assert [p.name_hint for p in from_onnx(keyword)["main"].params] == ["in"]
    assert_like_reference(keyword, [rng.standard_normal(2, np.float32)])


def test_a_layer_norm_that_is_written_out():
    """As models before opset 17 have it."""
    rows = [
        ("ReduceMean", "x", "m"), ("Sub", "x m", "c"), ("Pow", "c two", "s"), ("ReduceMean", "s", "v"),
        ("Add", "v epsilon", "e"), ("Sqrt", "e", "d"), ("Div", "c d", "q"), ("Mul", "q gamma", "z"),
        ("Add", "z beta", "y"),
    ]  # fmt: skip
    axes = {"ReduceMean": {"axes": [-1]}}
    nodes = [helper.make_node(kind, names.split(), [y], **axes.get(kind, {})) for kind, names, y in rows]
    weights = {name: rng.standard_normal(6, np.float32) for name in ("gamma", "beta")}
    numbers = {"two": np.float32(2), "epsilon": np.float32(1e-5)}
    model = model_of(nodes, {"x": ["n", 6]}, ["y"], {**weights, **{k: np.array(v) for k, v in numbers.items()}}, 11)
    assert "R.nn.layer_norm" in Sequential(make_passes(["fuse-layers"]))(from_onnx(model)).script()
    assert_like_reference(model, *([rng.standard_normal((n, 6), np.float32)] for n in (0, 1, 5)))


def test_shape_arithmetic_leaves_sizes():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"], axis=0),
        helper.make_node("Unsqueeze", ["n", "axes"], ["n1"]),
        helper.make_node("Concat", ["n1", "rest"], ["t"], axis=0),
        helper.make_node("Reshape", ["x", "t"], ["y"]),
    ]
    weights = {"zero": np.int64(0), "axes": np.array([0]), "rest": np.array([2, -1])}
    model = model_of(nodes, {"x": ["n", 4, "m"]}, ["y"], weights)
    assert "match_cast" not in from_onnx(model).script()
    assert_like_reference(model, *([rng.standard_normal(s, np.float32)] for s in ((1, 4, 1), (2, 4, 3))))


def test_functions_of_the_model_are_expanded():
    function = helper.make_function(
        "mine",
        "scaled",
        ["a"],
        ["b"],
        [
            helper.make_node("Constant", [], ["k"], value_float=3.0),
            helper.make_node("Mul", ["a", "k"], ["c"]),
            _referring("LeakyRelu", "c", "b", "alpha", "slope"),
        ],
        [helper.make_opsetid("", 20)],
        ["slope"],
    )
    node = helper.make_node("scaled", ["x"], ["y"], domain="mine", slope=0.5)
    model = model_of([node], {"x": ["n"]}, ["y"], functions=[function])
    main = compile_model(model)
    for n in (0, 1, 4):
        x = rng.standard_normal(n, np.float32)
        np.testing.assert_allclose(main(x).numpy(), np.where(x < 0, x * 1.5, x * 3), rtol=1e-6)


def _referring(op_type, x, y, attribute, name):
    node = helper.make_node(op_type, [x], [y])
    node.attribute.append(onnx.AttributeProto(name=attribute, ref_attr_name=name, type=onnx.AttributeProto.FLOAT))
    return node


def test_data_dependent_shapes_have_sizes_of_their_own():
    nodes = [helper.make_node("NonZero", ["x"], ["i"]), helper.make_node("Shape", ["i"], ["s"])]
    assert_like_reference(model_of(nodes, {"x": ["n"]}, ["i", "s"]), [np.array([0, 1, 2], np.float32)])


def test_a_constant_condition_takes_its_branch():
    branches = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(kind, ["x"], [name])], name, [], [helper.make_empty_tensor_value_info(name)]
        )
        for name, kind in (("then", "Neg"), ("else", "Unknown"))
    }
    del branches["else_branch"].node[:]
    branches["else_branch"].node.append(helper.make_node("Abs", ["x"], ["else"]))
    node = helper.make_node("If", ["c"], ["y"], **branches)
    assert_like_reference(model_of([node], {"x": ["n"]}, ["y"], {"c": np.array(True)}), [np.ones(2, np.float32)])


# What is wrong with a model.


def test_all_unsupported_operators_are_named_at_once():
    nodes = [
        helper.make_node("Mystery", ["x"], ["y"], name="first"),
        helper.make_node("Riddle", ["y", "y"], ["z"], name="second"),
    ]
    with pytest.raises(UnsupportedOperators) as error:
        from_onnx(model_of(nodes, {"x": [1]}, ["z"]))
    assert error.value.operators == ("Mystery", "Riddle")
    assert "first" in str(error.value) and "second" in str(error.value)


def _bad(nodes, **options):
    return lambda: from_onnx(model_of(nodes, {"x": [2, 3]}, ["y"], **options))


_NODE = helper.make_node
BAD = {
    "a circle": (_bad([_NODE("Add", ["x", "b"], ["a"], "p"), _NODE("Neg", ["a"], ["b"]), _NODE("Neg", ["b"], ["y"])]),
                 ModelError, "circle"),
    "an input that nothing gives": (_bad([_NODE("Add", ["x", "w"], ["y"], "sum")]), ModelError, "'w' (node 'sum')"),
    "an output that nothing gives": (_bad([_NODE("Neg", ["x"], ["z"])]), ModelError, "the output 'y'"),
    "a name that is given twice": (_bad([_NODE("Neg", ["x"], ["y"]), _NODE("Abs", ["x"], ["y"], "again")]),
                                   ModelError, "(node 'again')"),
    "shapes that do not fit": (_bad([_NODE("MatMul", ["x", "x"], ["y"], "product")]), ModelError, "(node 'product')"),
    "too many inputs": (_bad([_NODE("Relu", ["x", "x"], ["y"], "r")]), ModelError, "number of inputs (node 'r')"),
    "an unknown attribute": (_bad([_NODE("Relu", ["x"], ["y"], "r", alpha=1.0)]), ModelError, "no attribute 'alpha'"),
    "an attribute of another type": (_bad([_NODE("Concat", ["x"], ["y"], "c", axis=1.5)]), ModelError, "'axis'"),
    "a word that means nothing": (
        _bad([_NODE("Pad", ["x", "p"], ["y"], "padded", mode="mirror")], weights={"p": np.zeros(4, "int64")}),
        ModelError, "Pad: an attribute has a value that means nothing here (node 'padded')\n  found: mirror",
    ),
    "an old opset": (_bad([_NODE("Pad", ["x"], ["y"], paddings=[0, 1])], opset=1), ModelError, "Version $1 for Pad"),
    "an opset of the future": (_bad([_NODE("Relu", ["x"], ["y"])], opset=1000), ModelError, "opset 1000"),
    "no such input": (lambda: from_onnx(_dense(), shape_dict={"q": [1]}), InputError, "'q'"),
    "another rank": (lambda: from_onnx(_dense(), shape_dict={"x": [1]}), InputError, "another rank"),
    "no model": (lambda: from_onnx(3), InputError, "not a model"),
    "no file": (lambda: from_onnx("/nowhere.onnx"), ModelError, "no such file"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_models_are_refused(case):
    load, kind, text = BAD[case]
    with pytest.raises(kind) as error:
        load()
    assert text in str(error.value)


def test_damaged_files_are_refused(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(_dense().SerializeToString()[:-7])
    with pytest.raises(ModelError, match=r"damaged|nothing gives|fill"):
        from_onnx(path)


def _external(tmp_path, location: str, length: int = 48):
    model = _dense()
    weight = model.graph.initializer[0]
    (tmp_path / "weights.bin").write_bytes(weight.raw_data)
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", str(length))):
        weight.external_data.add(key=key, value=value)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights.bin").write_bytes((tmp_path / "weights.bin").read_bytes())
    onnx.save(model, folder / "m.onnx")
    return folder / "m.onnx"


def test_external_weights_are_read(tmp_path):
    x = rng.standard_normal((2, 4), np.float32)
    main = compile_model(_external(tmp_path, "weights.bin"))
    np.testing.assert_allclose(main(x).numpy(), compile_model(_dense())(x).numpy())


@pytest.mark.parametrize(
    "location, length, text",
    [
        ("../weights.bin", 48, "outside"),
        ("/etc/passwd", 48, "outside"),
        ("", 48, "outside"),
        ("none.bin", 48, "missing"),
        ("weights.bin", 44, "does not hold"),
    ],
)
def test_external_weights_elsewhere_are_refused(tmp_path, location, length, text):
    with pytest.raises(ModelError, match=text):
        from_onnx(_external(tmp_path, location, length))


def test_external_weights_need_a_folder(tmp_path):
    model = onnx.load(_external(tmp_path, "weights.bin"), load_external_data=False)
    with pytest.raises(ModelError, match="where the model lies"):
        from_onnx(model)


def test_contents_that_do_not_fill_a_shape():
    model = _dense()
    model.graph.initializer[0].dims[0] = 5
    with pytest.raises(ModelError, match="'w'"):
        from_onnx(model)


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Pad", ["x", "pads"], ["y"], mode="sideways"),
        helper.make_node("Split", ["x"], ["y"], axis=7, num_outputs=2),
        helper.make_node("ReduceLogSumExp", ["x", "far"], ["y"]),
        helper.make_node("Transpose", ["x"], ["y"], perm=[0, 9]),
        helper.make_node("Concat", ["x", "x"], ["y"], axis=5),
    ],
    ids=lambda node: node.op_type,
)
def test_attributes_that_no_operator_takes_are_errors_of_the_node(node):
    node.name = "wrong"
    model = model_of([node], {"x": [2, 3]}, ["y"], {"pads": np.zeros(4, "int64"), "far": np.array([9])})
    with pytest.raises(ModelError, match="wrong"):
        from_onnx(model)


@pytest.mark.parametrize(
    ("kind", "inputs", "named"),
    [
        ("Gather", ["x", ""], "indices"),
        ("Reshape", ["", "x"], "x"),
        ("ReduceLogSumExp", [""], "x"),
        ("Concat", ["x", "", "x"], "number 1"),
    ],
)
def test_inputs_that_are_absent_and_needed_are_reported(kind: str, inputs: list[str], named: str) -> None:
    node = helper.make_node(kind, inputs, ["y"], **({"axis": 0} if kind == "Concat" else {}))
    with pytest.raises(ModelError, match=f"the input {named} is absent"):
        from_onnx(model_of([node], {"x": (INT64, [3])}, ["y"]))


def test_inputs_that_may_be_absent_may() -> None:
    node = helper.make_node("Clip", ["x", "", "most"], ["y"])
    assert_like_reference(
        model_of([node], {"x": [5]}, ["y"], {"most": np.float32(1)}), [np.arange(5, dtype=np.float32)]
    )


def _relu(*dims):
    """Relu of an input for each list of dimensions."""
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(len(dims))]
    inputs = {f"x{i}": (FLOAT, each) for i, each in enumerate(dims)}
    return model_of(nodes, inputs, [f"y{i}" for i in range(len(dims))])


@pytest.mark.parametrize(
    "name", ["2*n", "a+b", "-1", "1", "n//0", "batch size", "lambda: x", "2**999**999", "n" * 5000]
)
def test_dimensions_are_names(name):
    module = from_onnx(_relu([name, name]))
    assert parse_source(module.script()) is not None
    assert compile_model(_relu([name, name]))(np.ones((3, 3), "float32")).shape == (3, 3)


def test_arithmetic_on_dimensions_that_others_have():
    for dims in ([["n"], ["2*n"]], [["2*n"], ["n"]]):
        shapes = [[10 if text == ["2*n"] else 5] for text in dims]
        results = compile_model(_relu(*dims))(*(np.ones(shape, "float32") for shape in shapes))
        assert [list(r.shape) for r in results] == shapes
        with pytest.raises(TiraxError):
            compile_model(_relu(*dims))(*(np.ones(7, "float32") for _ in shapes))


def _calls(times, count):
    """A function that calls another `times` times, which does so again, `count` functions in all."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("l", 1)]
    names = ["x", *(f"t{k}" for k in range(times - 1)), "y"]
    functions = [helper.make_function("l", "f0", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])], opsets)]
    for i in range(1, count):
        nodes = [helper.make_node(f"f{i - 1}", [a], [b], domain="l") for a, b in pairwise(names)]
        functions.append(helper.make_function("l", f"f{i}", ["x"], ["y"], nodes, opsets))
    model = _relu(["n"])
    model.graph.node[0].CopyFrom(helper.make_node(f"f{count - 1}", ["x0"], ["y0"], domain="l"))
    model.functions.extend(functions)
    model.opset_import.append(opsets[1])
    return model


def test_functions_that_call_each_other_twice_are_bounded():
    assert from_onnx(_calls(2, 4)).script().count("relu") == 8
    for times, count in ((2, 31), (50, 31), (1000, 60)):
        with pytest.raises(LimitError, match="too many nodes"):
            from_onnx(_calls(times, count))


def nested_loops(depth: int) -> onnx.ModelProto:
    """Loops of two iterations in each other; the innermost adds one to what it carries."""
    node = helper.make_node("Add", ["v0", "one"], ["r0"])
    for k in range(depth):
        names = {f"i{k}": (INT64, []), f"going{k}": (onnx.TensorProto.BOOL, []), f"v{k}": (FLOAT, [2])}
        params = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in names.items()]
        results = [helper.make_empty_tensor_value_info(n) for n in (f"again{k}", f"r{k}")]
        again = helper.make_node("Identity", [f"going{k}"], [f"again{k}"])
        body = helper.make_graph([again, node], f"body{k}", params, results)
        node = helper.make_node("Loop", ["two", "", f"v{k + 1}"], [f"r{k + 1}"], body=body)
    weights = {"one": np.ones(2, np.float32), "two": np.array(2)}
    return model_of([node], {f"v{depth}": [2]}, [f"r{depth}"], weights)


def test_loops_in_loops_are_written_so_often_at_most() -> None:
    mod = from_onnx(nested_loops(5)).op
    assert sum(op.name == "relax.add" and "f32" in str(op.results[0].type) for op in mod.walk()) <= 16
    np.testing.assert_array_equal(interpret(mod, "main", [np.zeros(2, np.float32)]), 32)
