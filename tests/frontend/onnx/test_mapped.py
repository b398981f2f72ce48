"""Weights that stay in their file: which are cut out of a model's message, and what becomes of the rest."""

from mmap import mmap

import numpy as np
import pytest

pytest.importorskip("onnx", reason="models are ONNX's")

from graphs import compile_model  # noqa: E402
from onnx import ModelProto, TensorProto, helper, numpy_helper  # noqa: E402

from tirax.frontend.importing.errors import ModelError  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.frontend.onnx.mapped import read_message  # noqa: E402

LARGE = np.arange(64 * 64, dtype=np.float32).reshape(64, 64) / 4096


def product(tensor):
    """The model of a product with a weight."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    small = numpy_helper.from_array(np.zeros(3, np.float32), "small")
    graph = helper.make_graph([node], "graph", [x], [y], [small, tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def written(tmp_path, data):
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    return path


def test_large_weights_are_cut_out_and_the_rest_is_as_it_was(tmp_path):
    proto = product(numpy_helper.from_array(LARGE, "w"))
    message, contents = read_message(written(tmp_path, proto.SerializeToString()))
    (raw,) = contents.values()
    assert list(contents) == [1] and bytes(raw) == LARGE.tobytes()
    rest = ModelProto.FromString(message)
    rest.graph.initializer[1].raw_data = LARGE.tobytes()
    assert rest == proto


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16", "uint8", "bool"])
def test_constants_are_views_of_the_file(tmp_path, dtype):
    values = (np.arange(64 * 128) % 2).astype(dtype).reshape(64, 128)
    node = helper.make_node("Identity", ["w"], ["y"])
    y = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(values.dtype), [64, 128])
    graph = helper.make_graph([node], "graph", [], [y], [numpy_helper.from_array(values, "w")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    (constant,) = [
        op for op in from_onnx(written(tmp_path, proto.SerializeToString())).op.walk() if op.name == "relax.constant"
    ]
    assert np.array_equal(constant.value.numpy(), values)
    owner = constant.value.data.raw
    while isinstance(owner, memoryview | np.ndarray):
        owner = owner.obj if isinstance(owner, memoryview) else owner.base
    assert isinstance(owner, mmap)


def test_numbers_are_those_of_the_model(tmp_path):
    path = written(tmp_path, product(numpy_helper.from_array(LARGE, "w")).SerializeToString())
    x = np.linspace(-1, 1, 128, dtype=np.float32).reshape(2, 64)
    np.testing.assert_allclose(compile_model(path)(x).numpy(), x @ LARGE, rtol=1e-4, atol=1e-5)


def listed():
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=LARGE.shape)
    tensor.float_data.extend(LARGE.reshape(-1).tolist())
    return product(tensor).SerializeToString()


def twice():
    """Both fields `raw_data`: the last one counts."""
    tensor = numpy_helper.from_array(LARGE, "w").SerializeToString()
    wrong = TensorProto(raw_data=bytes(LARGE.nbytes)).SerializeToString()
    return _with_weight(wrong + tensor)


def in_pieces():
    """The field `graph` twice, which is one graph."""
    proto = product(numpy_helper.from_array(LARGE, "w"))
    rest = ModelProto()
    rest.CopyFrom(proto)
    del rest.graph.initializer[:]
    weights = ModelProto()
    weights.graph.initializer.extend(proto.graph.initializer)
    return rest.SerializeToString() + weights.SerializeToString()


def _with_weight(tensor):
    proto = product(TensorProto(name="w"))
    del proto.graph.initializer[:]
    size = len(tensor)
    field = b"\x2a" + bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14]) + tensor
    graph = proto.graph.SerializeToString() + field
    proto.ClearField("graph")
    length = len(graph)
    head = b"\x3a" + bytes([length & 0x7F | 0x80, length >> 7 & 0x7F | 0x80, length >> 14])
    return proto.SerializeToString() + head + graph


@pytest.mark.parametrize("write", [listed, twice, in_pieces])
def test_what_is_written_in_another_way_is_read_by_protobuf(tmp_path, write):
    path = written(tmp_path, write())
    assert read_message(path)[1] == {}
    x = np.ones((2, 64), np.float32)
    np.testing.assert_allclose(compile_model(path)(x).numpy(), x @ LARGE, rtol=1e-4)


def test_contents_that_do_not_fill_the_shape(tmp_path):
    tensor = numpy_helper.from_array(LARGE, "w")
    tensor.dims[0] = 63
    with pytest.raises(ModelError, match="do not fill its shape"):
        from_onnx(written(tmp_path, product(tensor).SerializeToString()))


def test_every_file_that_was_cut_off_is_refused(tmp_path):
    data = product(numpy_helper.from_array(LARGE, "w")).SerializeToString()
    for size in (4097, len(data) // 2, len(data) - 40, len(data) - 1):
        with pytest.raises(ModelError):
            from_onnx(written(tmp_path, data[:size]))
