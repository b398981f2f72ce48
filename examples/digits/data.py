"""Reads what `train.py` wrote; the classifier in numpy, to compare with; images as text."""

from __future__ import annotations

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SHADES = " .:-=+*#%@"


def load_images() -> tuple[np.ndarray, np.ndarray]:
    """The held-out images, float32 `[360, 64]` between 0 and 1, and their labels, uint8 `[360]`."""
    with np.load(HERE / "digits.npz", allow_pickle=False) as file:
        return file["images"].astype(np.float32) / 16, file["labels"]


def load_weights() -> dict[str, np.ndarray]:
    """The trained parameters by name: `w1 [64, 128]`, `b1 [128]`, `w2`, `b2`, `w3 [128, 10]`, `b3 [10]`, float32."""
    with np.load(HERE / "weights.npz", allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def classify(x: np.ndarray, p: dict[str, np.ndarray]) -> np.ndarray:
    """The logits `[n, 10]` of images `[n, 64]`."""
    hidden = np.maximum(x @ p["w1"] + p["b1"], 0)
    hidden = np.maximum(hidden @ p["w2"] + p["b2"], 0)
    return hidden @ p["w3"] + p["b3"]


def draw(image: np.ndarray) -> list[str]:
    """One image `[64]` as eight lines of sixteen characters, darker where there is more ink."""
    levels = np.clip(image * (len(SHADES) - 1) + 0.5, 0, len(SHADES) - 1).astype(int).reshape(8, 8)
    return ["".join(SHADES[level] * 2 for level in row) for row in levels]


def gallery(images: np.ndarray, captions: list[str], columns: int = 5) -> str:
    """Images `[n, 64]` side by side with a caption below each, in rows of `columns`."""
    lines: list[str] = []
    for start in range(0, len(images), columns):
        drawn = [draw(image) for image in images[start : start + columns]]
        lines += ["  ".join(row).rstrip() for row in zip(*drawn, strict=True)]
        lines += ["  ".join(f"{caption:<16}" for caption in captions[start : start + columns]).rstrip(), ""]
    return "\n".join(lines)
