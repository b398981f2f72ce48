"""The data of the digits example, and the numpy side that the demo compares with."""

import runpy
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def data() -> dict:
    """The names of data.py."""
    return runpy.run_path(str(FOLDER / "data.py"))


@pytest.fixture(scope="module")
def training() -> dict:
    """The names of train.py (which trains nothing on import)."""
    return runpy.run_path(str(FOLDER / "train.py"))


def test_images_and_weights_have_the_shapes_of_the_model(data: dict):
    images, labels = data["load_images"]()
    assert images.shape == (360, 64) and images.dtype == np.float32
    assert images.min() == 0 and images.max() == 1
    assert labels.shape == (360,) and set(labels) == set(range(10))
    shapes = {name: p.shape for name, p in data["load_weights"]().items()}
    assert shapes == {"w1": (64, 128), "b1": (128,), "w2": (128, 128), "b2": (128,), "w3": (128, 10), "b3": (10,)}
    assert all(p.dtype == np.float32 for p in data["load_weights"]().values())


def test_the_weights_classify_the_held_out_images(data: dict):
    images, labels = data["load_images"]()
    result = data["classify"](images, data["load_weights"]()).argmax(1)
    assert (result == labels).mean() > 0.97


def test_training_and_demo_have_the_same_model(data: dict, training: dict):
    images, _ = data["load_images"]()
    weights = data["load_weights"]()
    np.testing.assert_array_equal(training["forward"](images, weights)[-1], data["classify"](images, weights))


def test_gradients_are_those_of_the_loss(training: dict):
    rng = np.random.default_rng(0)
    params = {name: p.astype(np.float64) for name, p in training["initial"](rng).items()}
    x, labels = rng.random((5, 64)), rng.integers(0, 10, 5)

    def loss() -> float:
        logits = training["forward"](x, params)[-1]
        return float((np.log(np.exp(logits).sum(1)) - logits[np.arange(5), labels]).mean())

    result = training["gradients"](x, labels, params)
    for name, p in params.items():
        at = tuple(rng.integers(0, size) for size in p.shape)
        values = []
        for step in (1e-6, -1e-6):
            p[at] += step
            values.append(loss())
            p[at] -= step
        assert (values[0] - values[1]) / 2e-6 == pytest.approx(result[name][at], rel=1e-4, abs=1e-8)


def test_shifting_moves_by_at_most_a_pixel(training: dict):
    image = np.zeros((200, 64), np.uint8)
    image[:, 3 * 8 + 4] = 16
    moved = training["shifted"](image, np.random.default_rng(0))
    places = {divmod(int(i), 8) for i in moved.argmax(1)}
    assert moved.sum() == 200
    assert places == {(row, column) for row in (2, 3, 4) for column in (3, 4, 5)}


def test_drawing(data: dict):
    image = np.zeros(64, np.float32)
    image[0], image[63] = 1, 0.5
    lines = data["draw"](image)
    assert [len(line) for line in lines] == [16] * 8
    assert lines[0].startswith("@@ ") and lines[7].endswith(" ++")
    text = data["gallery"](np.stack([image] * 3), ["1", "2, but is 3", "4"], columns=2)
    assert "1                 2, but is 3" in text and text.count("@@") == 3
