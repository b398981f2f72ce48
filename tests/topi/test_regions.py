"""Regions of images beside ONNX Runtime."""

import numpy as np
import pytest

from tirax.driver.build import build
from tirax.frontend.block_builder import BlockBuilder
from tirax.frontend.onnx import from_onnx
from tirax.handles.relax import names as rx
from tirax.interpreter import interpret
from tirax.topi.regions import roi_pool

onnx = pytest.importorskip("onnx", reason="models are written with the package onnx")
runtime = pytest.importorskip("onnxruntime", reason="the operators that are compared with are ONNX Runtime's")


def model(op_type, feeds, version=18, **attributes):
    """A model of one node."""
    node = onnx.helper.make_node(op_type, list(feeds), ["out"], **attributes)
    kinds = {n: onnx.helper.np_dtype_to_tensor_dtype(v.dtype) for n, v in feeds.items()}
    inputs = [onnx.helper.make_tensor_value_info(n, kinds[n], v.shape) for n, v in feeds.items()]
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.helper.make_tensor_value_info("out", 1, None)])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)], ir_version=8)


def reference(op_type, feeds, **attributes):
    """What ONNX Runtime gives for one node."""
    text = model(op_type, feeds, **attributes).SerializeToString()
    session = runtime.InferenceSession(text, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def results(function, *arrays, symbolic=()):
    """What a tensor function gives natively, and in the interpreter; `symbolic` are first extents that are sizes."""
    params = []
    for i, a in enumerate(arrays):
        dims = [f"d{i}" if i in symbolic and k == 0 else n for k, n in enumerate(a.shape)]
        params.append(rx.Var(f"x{i}", rx.TensorStructInfo(dims, a.dtype.name)))
    bb = BlockBuilder()
    with bb.function("main", params):
        bb.emit_func_output(bb.emit_te(function, *params))
    mod = bb.get()
    return build(mod)["main"](*arrays), interpret(mod, "main", list(arrays))


REGIONS = np.array([[1, 1, 6, 4], [-3, 2, 4, 9], [5, 5, 5, 5], [2, 7, 3, 7.5]], "float32")
IMAGES = np.array([0, 1, 1, 0], "int64")
DATA = np.random.default_rng(2).normal(size=(2, 2, 6, 7)).astype("float32")


def test_regions_that_are_pooled():
    rois = np.concatenate([IMAGES[:, None].astype("float32"), REGIONS], axis=1)
    expected = reference("MaxRoiPool", {"X": DATA, "rois": rois}, pooled_shape=[3, 2], spatial_scale=0.75)
    for result in results(lambda x, rois: roi_pool(x, rois, (3, 2), 0.75), DATA, rois):
        np.testing.assert_array_equal(result, expected)


def test_no_regions():
    rois = np.zeros((0, 5), "float32")
    for result in results(lambda x, rois: roi_pool(x, rois, (1, 1), 1.0), DATA, rois, symbolic=[1]):
        assert np.shape(result) == (0, 2, 1, 1)


@pytest.mark.parametrize(("mode", "samples"), [("avg", 2), ("max", 0)])
def test_regions_that_are_aligned(mode, samples):
    """One of them is a point: of it there are no samples where these are as many as it has pixels."""
    feeds = {"X": DATA, "rois": REGIONS, "batch": IMAGES}
    sizes = {"output_height": 2, "output_width": 3, "sampling_ratio": samples, "spatial_scale": 0.75}
    result = build(from_onnx(model("RoiAlign", feeds, mode=mode, **sizes)))["main"](*feeds.values())
    expected = reference("RoiAlign", feeds, mode=mode, **sizes)
    np.testing.assert_allclose(result[0] if isinstance(result, tuple) else result, expected, atol=1e-5)


def test_the_operator_of_onnx():
    rois = np.concatenate([IMAGES[:, None].astype("float32"), REGIONS], axis=1)
    result = build(from_onnx(model("MaxRoiPool", {"X": DATA, "rois": rois}, pooled_shape=[2, 2])))["main"](DATA, rois)
    expected = reference("MaxRoiPool", {"X": DATA, "rois": rois}, pooled_shape=[2, 2])
    np.testing.assert_array_equal(result[0] if isinstance(result, tuple) else result, expected)
