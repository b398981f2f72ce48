"""What to do about objects and files that are nearly a model."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
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
    **dict.fromkeys((".zip", ".gz", ".tar", ".7z", ".tgz"), "unpack it"),
    **dict.fromkeys((".json", ".ubj"), "xgboost's: load it into an estimator, model.load_model(path), and pass that"),
    ".txt": "lightgbm's: onnxmltools.convert_lightgbm(lightgbm.Booster(model_file=path), initial_types=…); pass that",
    ".cbm": f"{_ONNX}model.save_model('model.onnx', format='onnx') of catboost",
    ".pmml": "the estimator that it was made from",
    ".pdmodel": f"{_ONNX}paddle2onnx --model_dir FOLDER --save_file model.onnx",
    ".msgpack": "weights of flax are parameters of a function: tirax.compile(model.apply, (params, x))",
    ".data": "the .onnx file whose weights it holds",
    **dict.fromkeys((".engine", ".trt", ".plan", ".xml", ".mlmodel"), "the .onnx file that it was made from"),
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
    ("tensorflow", "Function"): "tf2onnx.convert.from_function, then tirax.compile(model)",
    ("tensorflow", "Tensor"): "the model comes first: tirax.compile(model, inputs)",
    ("jaxlib", "ArrayImpl"): "the model comes first: tirax.compile(model, inputs)",
    ("pandas", "DataFrame"): "the model comes first: tirax.compile(model, rows)",
    ("torch", "Optimizer"): "the model, not its optimizer",
    ("torch", "Graph"): "a module of it: torch.fx.GraphModule(model, graph)",
    ("xgboost", "Booster"): "an estimator: model = xgboost.XGBClassifier(), model.load_model(path)",
    ("lightgbm", "Booster"): "onnxmltools.convert_lightgbm(booster, initial_types=…), then tirax.compile(model)",
    ("catboost", "CatBoost"): "model.save_model('model.onnx', format='onnx'), then tirax.compile('model.onnx')",
    ("openvino", "Model"): "the path of the .onnx file that it was made from",
    ("diffusers", "DiffusionPipeline"): "one model of the pipeline: tirax.compile(pipeline.unet, inputs)",
    ("llama_cpp", "Llama"): "tirax.load('model.gguf')",
    ("tvm", "IRModule"): "its text: tirax.compile(mod.script().encode())",
    ("_io", "TextIOWrapper"): "its path: tirax.compile(file.name)",
    ("_io", "_BufferedIOBase"): "its contents: tirax.compile(file.read())",
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
        yield "one model at a time, tirax.compile(model, inputs); of layers in a row: torch.nn.Sequential(*layers)"
    if isinstance(model, ModuleType):
        yield "a model, not the module of Python that defines it"


def missing_file(name: str) -> str | None:
    """Return what to do about a path of no file: texts of programs, and names of models on a hub, are taken for one."""
    if "\n" in name or "relax.func" in name or "@R.function" in name:
        return "a program as text: tirax.compile(text.encode())"
    if "://" in name:
        return "download it, and give the path of the file"
    if name.count("/") == 1 and "." not in name.rpartition("/")[2][-6:] and not name.startswith((".", "/", "~")):
        return f"a model of a hub is downloaded first: tirax.load(huggingface_hub.snapshot_download({name!r}))"
    return "the home folder is not expanded: os.path.expanduser(path)" if name.startswith("~") else None


_FOLDERS = (
    ("model_index.json", "the parts of a diffusers model one by one: tirax.compile(pipeline.unet, inputs)"),
    (
        "adapter_config.json",
        "an adapter is merged into its model first: peft's model.merge_and_unload().save_pretrained",
    ),
    ("saved_model.pb", EXTENSIONS[".pb"]),
    ("*.onnx", "the file in it: tirax.compile({!r})"),
    ("*.gguf", "the file in it: tirax.load({!r})"),
    ("*.bin", "weights as *.safetensors: load the model in Python, model.save_pretrained(folder)"),
    ("*.safetensors", "config.json of the model beside its weights"),
)
"""What to do about a folder that has such a file, and is not that of a language model."""


def folder_hint(name: str, files: Sequence[str]) -> str | None:
    """Return what to do about a folder with these files."""
    for pattern, hint in _FOLDERS:
        found = fnmatch.filter(sorted(files), pattern)
        if found:
            return hint.format(os.path.join(name, found[0]))
    return None


_BEGINNINGS = (
    (b"version https://git-lfs", "a pointer of Git LFS in place of the file", "git lfs pull"),
    (b"<!doctype html", "a page in place of the file", "download the file itself"),
    (b"<html", "a page in place of the file", "download the file itself"),
)


def wrong_contents(begin: bytes) -> tuple[str, str] | None:
    """Return what a file with this beginning is, and what to do, or None if it may be a model."""
    if not begin:
        return "empty", "write or download it again"
    return next((row[1:] for row in _BEGINNINGS if begin.lower().startswith(row[0])), None)


__all__ = ["CLASSES", "EXTENSIONS", "folder_hint", "hint_for", "missing_file", "wrong_contents"]
