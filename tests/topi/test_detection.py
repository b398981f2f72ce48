"""Boxes and regions of images beside ONNX Runtime."""

import numpy as np
import pytest

from tirax.frontend.block_builder import BlockBuilder
from tirax.handles.relax import names as rx
from tirax.handles.tir.prim_expr import const
from tirax.interpreter import interpret
from tirax.lowering.build import build
from tirax.topi import detection

onnx = pytest.importorskip("onnx", reason="models are written with the package onnx")
runtime = pytest.importorskip("onnxruntime", reason="the operators that are compared with are ONNX Runtime's")


def reference(op_type, feeds, version=18, **attributes):
    """What ONNX Runtime gives for one node."""
    node = onnx.helper.make_node(op_type, list(feeds), ["out"], **attributes)
    kinds = {n: onnx.helper.np_dtype_to_tensor_dtype(v.dtype) for n, v in feeds.items()}
    inputs = [onnx.helper.make_tensor_value_info(n, kinds[n], v.shape) for n, v in feeds.items()]
    kind = onnx.TensorProto.INT64 if op_type == "NonMaxSuppression" else onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.helper.make_tensor_value_info("out", kind, None)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", version)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
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


def random_boxes(images, count, seed=0):
    rng = np.random.default_rng(seed)
    corners = rng.uniform(0, 10, (images, count, 2, 2)).astype("float32")
    return corners.transpose(0, 1, 3, 2).reshape(images, count, 4)


@pytest.mark.parametrize(
    ("centered", "most", "iou", "least"), [(0, 3, 0.5, 0.2), (1, 100, 0.1, None), (0, 0, 0.5, 0.9)]
)
def test_boxes_that_are_kept(centered, most, iou, least):
    boxes = random_boxes(2, 12)
    scores = np.random.default_rng(1).choice(np.linspace(0, 1, 12), (2, 3, 12)).astype("float32")
    feeds = {"boxes": boxes, "scores": scores, "most": np.array([most], "int64"), "iou": np.array([iou], "float32")}
    if least is not None:
        feeds["least"] = np.array([least], "float32")
    expected = reference("NonMaxSuppression", feeds, 11, center_point_box=centered)

    def function(boxes, scores, most, iou, *least):
        return detection.non_max_suppression(boxes, scores, most, iou, *(least or [None]), bool(centered))

    for kept, counts in results(function, *feeds.values()):
        rows = [(i, c, kept[i, c, k]) for i in range(2) for c in range(3) for k in range(counts[i, c])]
        np.testing.assert_array_equal(np.array(rows, "int64").reshape(-1, 3), expected)


REGIONS = np.array([[1, 1, 6, 4], [-3, 2, 4, 9], [5, 5, 5, 5], [2, 7, 3, 7.5]], "float32")
IMAGES = np.array([0, 1, 1, 0], "int64")
DATA = np.random.default_rng(2).normal(size=(2, 2, 6, 7)).astype("float32")


@pytest.mark.parametrize(("mode", "samples", "aligned"), [("avg", 2, True), ("avg", 0, False), ("max", 3, True)])
def test_regions_that_are_interpolated(mode, samples, aligned):
    how = "half_pixel" if aligned else "output_half_pixel"
    attributes = {"output_height": 2, "output_width": 3, "sampling_ratio": samples, "spatial_scale": 0.75}
    feeds = {"X": DATA, "rois": REGIONS, "batch": IMAGES}
    expected = reference("RoiAlign", feeds, 16, mode=mode, coordinate_transformation_mode=how, **attributes)

    def function(x, rois, images):
        return detection.roi_align(x, rois, images, (2, 3), samples, 0.75, aligned, mode)

    for result in results(function, DATA, REGIONS, IMAGES):
        np.testing.assert_allclose(result, expected, atol=1e-5)


def test_regions_that_are_pooled():
    rois = np.concatenate([IMAGES[:, None].astype("float32"), REGIONS], axis=1)
    expected = reference("MaxRoiPool", {"X": DATA, "rois": rois}, pooled_shape=[3, 2], spatial_scale=0.75)
    for result in results(lambda x, rois: detection.roi_pool(x, rois, (3, 2), 0.75), DATA, rois):
        np.testing.assert_array_equal(result, expected)


def test_no_boxes_and_no_regions():
    empty = np.zeros((1, 0, 4), "float32"), np.zeros((1, 2, 0), "float32")
    for kept, counts in results(lambda b, s: detection.non_max_suppression(b, s, const(5, "int64"), 0.5), *empty):
        assert np.shape(kept) == (1, 2, 0)
        np.testing.assert_array_equal(counts, np.zeros((1, 2)))
    rois = np.zeros((0, 5), "float32")
    for result in results(lambda x, rois: detection.roi_pool(x, rois, (1, 1), 1.0), DATA, rois, symbolic=[1]):
        assert np.shape(result) == (0, 2, 1, 1)
