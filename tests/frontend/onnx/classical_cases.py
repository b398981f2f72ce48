"""Models of one operator of ai.onnx.ml, and forests of random trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tirax.driver.build import build
from tirax.frontend.onnx import from_onnx
from tirax.interpreter import interpret

ML = "ai.onnx.ml"
ROWS = (0, 1, 7)
FEATURES = 4


def model_of(op_type: str, x: Any, outputs: int = 1, version: int = 3, **attributes: Any) -> onnx.ModelProto:
    """A model of one operator for inputs like x, with a symbolic number of rows."""
    names = ["y", "z"][:outputs]
    node = helper.make_node(op_type, ["x"], names, domain=ML, **attributes)
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node],
        "graph",
        [helper.make_tensor_value_info("x", element, ["rows", *x.shape[1:]])],
        [helper.make_empty_tensor_value_info(n) for n in names],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def by_reference(model: onnx.ModelProto) -> Any:
    """ONNX's reference implementation of a model."""
    reference = ReferenceEvaluator(model)
    return lambda x: reference.run(None, {"x": x})


def by_ort(model: onnx.ModelProto) -> Any:
    """ONNX Runtime's implementation of a model."""
    pytest.importorskip("onnxruntime", reason="the oracle is ONNX Runtime, which `make test-models` installs")
    from beside_ort import ort_session

    session = ort_session(model)
    return lambda x: session.run(None, {"x": x})


def assert_like(model: onnx.ModelProto, oracle: Any, *feeds: Any, native: bool = False, rtol: float = 1e-5) -> None:
    """One import of the model gives what the oracle gives, with the dtypes of ONNX's schema."""
    module = from_onnx(model)
    main = build(module)["main"] if native else (lambda x: interpret(module, "main", [x]))
    expected_of = oracle(model)
    for feed in feeds:
        outputs = main(feed)
        outputs = outputs if isinstance(outputs, tuple) else [outputs]
        if not len(feed):
            assert all(len(np.asarray(o)) == 0 for o in outputs)
            continue
        for actual, expected in zip(outputs, expected_of(feed), strict=True):
            array = actual.numpy() if hasattr(actual, "numpy") else np.asarray(actual)
            assert array.shape == expected.shape
            np.testing.assert_allclose(array, expected, rtol=rtol, atol=1e-6)


def features(rng: Any, rows: int, dtype: str = "float32", missing: bool = False) -> Any:
    """Small halves: some equal the splits of trees."""
    x = (rng.integers(-6, 7, (rows, FEATURES)) / 2).astype(dtype)
    if missing:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def classic_forest(rng: Any, trees: int, depth: int, modes: Any, targets: int, of: str, tracks: bool) -> dict[str, Any]:
    """The attributes of random trees: of a regressor for `of` "target", of a classifier for "class"."""
    columns = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    nodes: list[tuple[Any, ...]] = []
    leaves: list[tuple[Any, ...]] = []
    for tree in range(trees):
        pending, count = [(0, 0)], 1
        while pending:
            place, level = pending.pop()
            if level == depth or (level and rng.random() < 0.2):
                nodes.append((tree, place, "LEAF", 0, 0.0, 0, 0))
                entries = range(targets) if tree % 2 else [int(rng.integers(targets))]
                leaves += [(tree, place, t, float(rng.integers(-8, 9)) / 4) for t in entries]
                continue
            value = float(rng.integers(-6, 7)) / 2
            mode = f"BRANCH_{modes[int(rng.integers(len(modes)))]}"
            nodes.append((tree, place, mode, int(rng.integers(FEATURES)), value, count, count + 1))
            pending += [(count, level + 1), (count + 1, level + 1)]
            count += 2
    nodes.sort(key=lambda n: n[:2])
    result: dict[str, Any] = {f"nodes_{c}": [n[k] for n in nodes] for k, c in enumerate(columns)}
    names = ("treeids", "nodeids", "ids", "weights")
    result |= {f"{of}_{c}": [leaf[k] for leaf in leaves] for k, c in enumerate(names)}
    return result | {"nodes_missing_value_tracks_true": [int(tracks and rng.random() < 0.5) for _ in nodes]}
