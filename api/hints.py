"""What to do about objects and files that are nearly a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_ONNX = "export it to ONNX: "
_EXPORT = "torch.export.save(torch.export.export(model, (x,)), 'model.pt2')"

EXTENSIONS: dict[str, str] = {
    ".pt": f"a .pt file holds weights or TorchScript; load the model in Python and pass it, or {_EXPORT}",
    ".pth": f"weights are not a model: load them into one, model.load_state_dict(torch.load(path)), or {_EXPORT}",
    ".ckpt": "load the model in Python, Model.load_from_checkpoint(path), and pass it with example inputs",
    ".bin": "the folder of a language model, with config.json, weights as *.safetensors",
    ".safetensors": "weights are not a model: the folder of a language model (config.json, *.safetensors), "
    "or load them into one, model.load_state_dict(safetensors.torch.load_file(path))",
    ".h5": f"{_ONNX}python -m tf2onnx.convert --keras model.h5 --output model.onnx",
    ".keras": f"{_ONNX}model.export('model.onnx', format='onnx') of Keras",
    ".pb": f"{_ONNX}python -m tf2onnx.convert --saved-model FOLDER --output model.onnx",
    ".tflite": f"{_ONNX}python -m tf2onnx.convert --tflite model.tflite --output model.onnx",
    ".pkl": "load the object in Python and pass it",
    ".joblib": "load the object in Python, joblib.load(path), and pass it",
    ".zip": "unpack it",
    ".ll": "LLVM's text is an output: tirax-opt model.mlir --pipeline default-cpu -t llvm",
    ".ort": "the .onnx file that it was made from",
    ".npz": "arrays are inputs: tirax run model.onnx --input x=x.npy",
    ".npy": "arrays are inputs: tirax run model.onnx --input x=x.npy",
}
"""By the extension of a file that is not supported."""

CLASSES: dict[tuple[str, str], str] = {
    ("torch", "Tensor"): "the model comes first: tirax.compile(model, inputs)",
    ("numpy", "ndarray"): "the model comes first: tirax.compile(model, inputs)",
    ("onnxruntime", "InferenceSession"): "the path of its model: tirax.compile('model.onnx')",
    ("onnx", "GraphProto"): "a whole model: onnx.helper.make_model(graph)",
    ("transformers", "Pipeline"): "the model of the pipeline: tirax.compile(pipeline.model, inputs)",
    ("transformers", "PreTrainedTokenizerBase"): "the model, not its tokenizer",
    ("keras", "Model"): "model.export('model.onnx', format='onnx'), then tirax.compile('model.onnx')",
    ("tensorflow", "Module"): "tf2onnx.convert, then tirax.compile('model.onnx')",
    ("flax", "Module"): "a function of its parameters and inputs: tirax.compile(model.apply, (params, x))",
}
"""By package and class, of which an object may be of a subclass."""


def hint_for(model: Any, is_of: Callable[[tuple[str, str]], bool]) -> str | None:
    """Return a hint for an object that is not a model; `is_of` tests whether its class is one of `CLASSES`."""
    return next(_hints(model, is_of), None)


def _hints(model: Any, is_of: Callable[[tuple[str, str]], bool]) -> Iterator[str]:
    yield from (hint for key, hint in CLASSES.items() if is_of(key))
    if model is None:
        yield "a function that makes a model may lack its return"
    if isinstance(model, type):
        yield f"an object of the class: {model.__name__}(…)"
    if callable(model):
        yield "a torch.nn.Module whose forward calls the function, with example inputs"
    if isinstance(model, dict):
        yield "weights are not a model: load them into one, model.load_state_dict(weights)"
    if isinstance(model, list | tuple):
        yield "one model at a time; of layers in a row: torch.nn.Sequential(*layers)"


def missing_file(name: str) -> str | None:
    """Return what to do about a path of no file: texts of programs, and names of models on a hub, are taken for one."""
    if "\n" in name or "relax.func" in name or "@R.function" in name:
        return "a program as text: tirax.compile(text.encode())"
    if name.count("/") == 1 and "." not in name.rpartition("/")[2][-6:] and not name.startswith((".", "/", "~")):
        return f"a model of a hub is downloaded first: tirax.load(huggingface_hub.snapshot_download({name!r}))"
    return "the home folder is not expanded: os.path.expanduser(path)" if name.startswith("~") else None


__all__ = ["CLASSES", "EXTENSIONS", "hint_for", "missing_file"]
