"""Tensors of strings in ONNX models: each operator that takes or gives them, beside onnx's reference implementation."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="models are read with the package onnx: tirax[onnx]")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from tirax.driver.build import build  # noqa: E402
from tirax.frontend.importing.extras import MissingPackage  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.interpreter import interpret  # noqa: E402

ML = "ai.onnx.ml"
WORDS = np.array([["b", "7"], ["a", "42"], ["c", "b"]], object)
TABLE = numpy_helper.from_array(np.array(["x", "y", "z"], object), "table")
CASES = {
    "cast to strings": ("Cast", [np.arange(4)], {"to": TensorProto.STRING}, ""),
    "cast from strings": ("Cast", [WORDS[:2, 1]], {"to": TensorProto.FLOAT}, ""),
    "equal": ("Equal", [WORDS, WORDS[:1]], {}, ""),
    "concat of axes": ("Concat", [WORDS, WORDS], {"axis": 1}, ""),
    "concat of strings": ("StringConcat", [WORDS, WORDS], {}, ""),
    "gather": ("Gather", [WORDS, np.array([2, -3])], {}, ""),
    "reshape": ("Reshape", [WORDS, np.array([-1])], {}, ""),
    "transpose": ("Transpose", [WORDS], {}, ""),
    "match": ("RegexFullMatch", [WORDS], {"pattern": "[0-9]+"}, ""),
    "normalize": ("StringNormalizer", [WORDS[:, 0]], {"case_change_action": "UPPER", "stopwords": ["b"]}, ""),
    "numbers of strings": ("LabelEncoder", [WORDS], {"keys_strings": ["a", "b"], "values_int64s": [3, 4]}, ML),
    "strings of numbers": ("LabelEncoder", [np.arange(3)], {"keys_int64s": [0, 2], "values_strings": ["n", "m"]}, ML),
    "one hot": ("OneHotEncoder", [WORDS], {"cats_strings": ["a", "b", "c"]}, ML),
    "columns": ("ArrayFeatureExtractor", [WORDS, np.array([1])], {}, ML),
}


def model_of(name, inputs, attributes, domain, symbolic=True):
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(name, names, ["y"], domain=domain, **attributes)
    infos = [
        helper.make_tensor_value_info(
            n,
            helper.np_dtype_to_tensor_dtype(a.dtype),
            [f"{n}_{i}" if symbolic and a.dtype == object and i == 0 else s for i, s in enumerate(a.shape)],
        )
        for n, a in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "graph", infos, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(ML, 3)])


@pytest.mark.parametrize("case", CASES)
def test_operators_are_like_the_reference(case):
    name, inputs, attributes, domain = CASES[case]
    model = model_of(name, inputs, attributes, domain)
    (expected,) = ReferenceEvaluator(model).run(None, {f"x{i}": a for i, a in enumerate(inputs)})
    found = interpret(from_onnx(model), "main", inputs)
    np.testing.assert_array_equal(np.asarray(found), expected)


def test_strings_between_compiled_operators():
    nodes = [
        helper.make_node("Equal", ["s", "word"], ["same"]),
        helper.make_node("Where", ["same", "x", "zero"], ["kept"]),
        helper.make_node("ArgMax", ["x"], ["best"], axis=0, keepdims=0),
        helper.make_node("Gather", ["table", "best"], ["label"]),
    ]
    inputs = [
        helper.make_tensor_value_info("s", TensorProto.STRING, ["n"]),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"]),
    ]
    outputs = [helper.make_empty_tensor_value_info(n) for n in ("kept", "label")]
    constants = [TABLE, numpy_helper.from_array(np.array(["b"], object), "word")]
    constants.append(numpy_helper.from_array(np.zeros(1, np.float32), "zero"))
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    main = build(from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])))["main"]
    for words, x in ((["a", "b", "b"], [1.0, 2.0, 4.0]), (["b"], [3.0])):
        kept, label = main(np.array(words, object), np.array(x, np.float32))
        np.testing.assert_array_equal(kept, [v if w == "b" else 0 for w, v in zip(words, x, strict=True)])
        assert label == "xyz"[int(np.argmax(x))]
    with pytest.raises(Exception, match="n"):
        main(np.array(["a", "b"], object), np.zeros(1, np.float32))


def test_images_need_pillow(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(MissingPackage, match="PIL"):
        from_onnx(model_of("ImageDecoder", [np.zeros(4, np.uint8)], {}, ""))
