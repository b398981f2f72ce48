"""Trains the digit classifier and writes `digits.npz` (held-out images) and `weights.npz` beside this file.

    pip install 'tirax[train]' && python train.py

Plain numpy: Adam on the cross entropy, with weight decay and images shifted at random by up to a pixel. Seeded, so that
it gives the same accuracy again. scikit-learn is needed only as the source of the images.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
LAYERS = (64, 128, 128, 10)
EPOCHS, BATCH, RATE, DECAY = 120, 64, 2e-3, 1e-4


def split(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images `[n, 64]` (uint8, 0 to 16) and labels `[n]`, for training and held out (a fifth of all)."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit(f"scikit-learn is not installed ({error}): pip install 'tirax[train]'") from error
    data = load_digits()
    order = rng.permutation(len(data.target))
    images, labels = data.data[order].astype(np.uint8), data.target[order].astype(np.uint8)
    cut = len(labels) * 4 // 5
    return images[:cut], labels[:cut], images[cut:], labels[cut:]


def initial(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """He-initialised weights `w1 [64, 128]`, `b1 [128]` and so on."""
    params: dict[str, np.ndarray] = {}
    for i, (rows, columns) in enumerate(zip(LAYERS, LAYERS[1:], strict=False), 1):
        params[f"w{i}"] = rng.standard_normal((rows, columns), dtype=np.float32) * np.float32(np.sqrt(2 / rows))
        params[f"b{i}"] = np.zeros(columns, np.float32)
    return params


def shifted(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The images, each moved by -1, 0 or 1 pixel in both directions, as float32 between 0 and 1."""
    padded = np.pad(images.reshape(-1, 8, 8), ((0, 0), (1, 1), (1, 1)))
    down, right = rng.integers(0, 3, (2, len(images)))
    rows, columns = down[:, None] + np.arange(8), right[:, None] + np.arange(8)
    moved = padded[np.arange(len(images))[:, None, None], rows[:, :, None], columns[:, None, :]]
    return moved.reshape(-1, 64).astype(np.float32) / 16


def forward(x: np.ndarray, params: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The input, the hidden activations and the logits of a batch `[n, 64]`."""
    hidden1 = np.maximum(x @ params["w1"] + params["b1"], 0)
    hidden2 = np.maximum(hidden1 @ params["w2"] + params["b2"], 0)
    return [x, hidden1, hidden2, hidden2 @ params["w3"] + params["b3"]]


def gradients(x: np.ndarray, labels: np.ndarray, params: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The gradient of the mean cross entropy by each parameter."""
    layers = forward(x, params)
    logits = layers[-1]
    delta = np.exp(logits - logits.max(1, keepdims=True))
    delta /= delta.sum(1, keepdims=True)
    delta[np.arange(len(labels)), labels] -= 1
    delta /= len(labels)
    by_name: dict[str, np.ndarray] = {}
    for i in (3, 2, 1):
        by_name[f"w{i}"] = layers[i - 1].T @ delta
        by_name[f"b{i}"] = delta.sum(0)
        delta = (delta @ params[f"w{i}"].T) * (layers[i - 1] > 0)
    return by_name


def train(images: np.ndarray, labels: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Adam, its rate falling to nothing along a cosine."""
    params = initial(rng)
    moments = {name: (np.zeros_like(p), np.zeros_like(p)) for name, p in params.items()}
    steps = EPOCHS * (len(labels) // BATCH)
    step = 0
    for _ in range(EPOCHS):
        order = rng.permutation(len(labels))
        for start in range(0, len(labels) - BATCH + 1, BATCH):
            step += 1
            batch = order[start : start + BATCH]
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / steps)) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for name, g in gradients(shifted(images[batch], rng), labels[batch], params).items():
                first, second = moments[name]
                first += np.float32(0.1) * (g - first)
                second += np.float32(0.001) * (g * g - second)
                params[name] -= np.float32(rate) * first / (np.sqrt(second) + np.float32(1e-8))
                params[name] -= np.float32(RATE * DECAY) * params[name]
    return params


def main() -> None:
    """Train, write both files, print the accuracy."""
    rng = np.random.default_rng(2025)
    images, labels, held_out, held_out_labels = split(rng)
    params = train(images, labels, rng)
    for name, x, y in (("training", images, labels), ("held out", held_out, held_out_labels)):
        right = forward(x.astype(np.float32) / 16, params)[-1].argmax(1) == y
        print(f"{name}: {right.sum()} of {len(y)} right, {right.mean():.2%}")
    np.savez_compressed(HERE / "digits.npz", images=held_out, labels=held_out_labels)
    np.savez_compressed(HERE / "weights.npz", **{name: p.astype(np.float32) for name, p in params.items()})


if __name__ == "__main__":
    main()
