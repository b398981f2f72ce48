"""What kind of file is it? Google's magika, a convolutional network over bytes, imported from ONNX and compiled.

    python examples/filetypes/classify.py [FILE …]

The model and its labels are those of the package `magika`, of which only these two files are used: none of its code.
Without arguments the files of this repository are classified.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MODEL = "models/standard_v3_3"
BATCH = 16


@dataclass(frozen=True)
class Settings:
    """What the model was trained with: so many bytes of both ends of a file, of blocks; its labels."""

    begin: int
    end: int
    block: int
    padding: int
    least: int
    labels: Sequence[str]

    @staticmethod
    def read(path: Path) -> Settings:
        """The settings of a `config.min.json`."""
        values = json.loads(path.read_text())
        names = ("beg_size", "end_size", "block_size", "padding_token", "min_file_size_for_dl", "target_labels_space")
        return Settings(*(values[name] for name in names))


def features(content: bytes, settings: Settings) -> np.ndarray:
    """The bytes that the model sees, (begin + end): both ends without white space, the rest is padding."""
    first = content[: settings.block].lstrip()[: settings.begin]
    last = content[-settings.block :].rstrip()[-settings.end :]
    out = np.full(settings.begin + settings.end, settings.padding, np.int32)
    out[: len(first)] = np.frombuffer(first, np.uint8)
    out[len(out) - len(last) :] = np.frombuffer(last, np.uint8)
    return out


def is_enough(row: np.ndarray, settings: Settings) -> bool:
    """Whether a file has enough bytes to say anything of it."""
    return bool(row[settings.least - 1] != settings.padding)


def classified(
    paths: Iterable[Path], settings: Settings, model: Callable[[np.ndarray], np.ndarray]
) -> list[tuple[Path, str, float]]:
    """The label of each file, and how sure the model is of it; files of a few bytes are `tiny`."""
    rows = [(path, features(path.read_bytes(), settings)) for path in paths]
    actual = [(path, row) for path, row in rows if is_enough(row, settings)]
    results = [(path, "tiny", 1.0) for path, row in rows if not is_enough(row, settings)]
    for start in range(0, len(actual), BATCH):
        part = actual[start : start + BATCH]
        scores = model(np.stack([row for _, row in part]))
        for (path, _), row in zip(part, scores, strict=True):
            results.append((path, settings.labels[int(row.argmax())], float(row.max())))
    return sorted(results)


def package_folder() -> Path:
    """Where the package `magika` is. Raises `SystemExit` where it is not installed."""
    spec = importlib.util.find_spec("magika")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the model is in the package magika: `make example-filetypes` installs it")
    return Path(spec.submodule_search_locations[0])


def compiled(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """The model as native code, for any number of files at once."""
    from tirax.driver.build import build
    from tirax.frontend.onnx import from_onnx

    main = build(from_onnx(path))["main"]
    return lambda rows: np.asarray(main(rows))


def own_files(root: Path, most: int = 200) -> list[Path]:
    """Files of the repository, a few of each folder."""
    inner = [p.relative_to(root) for p in sorted(root.rglob("*")) if p.is_file() and p.stat().st_size]
    hidden = ("build", "__pycache__")
    paths = [root / p for p in inner if not any(part.startswith(".") or part in hidden for part in p.parts)]
    return paths[:: max(1, len(paths) // most)]


def main() -> None:
    """Classify files and print what they are."""
    parser = argparse.ArgumentParser(description="what kinds of files these are")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    folder = package_folder() / MODEL
    settings = Settings.read(folder / "config.min.json")
    start = time.perf_counter()
    model = compiled(folder / "model.onnx")
    built = time.perf_counter()
    paths = arguments.files or own_files(Path(__file__).resolve().parents[2])
    results = classified(paths, settings, model)
    seconds = time.perf_counter() - built
    for path, label, score in results if arguments.files else results[:: max(1, len(results) // 20)]:
        print(f"{score:6.1%}  {label:<12} {path}")
    print(f"\n{len(results)} files in {seconds:.1f} s; the model was imported and compiled in {built - start:.1f} s")
    print(", ".join(f"{n} {label}" for label, n in Counter(label for _, label, _ in results).most_common(12)))


if __name__ == "__main__":
    main()
