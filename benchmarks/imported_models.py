"""The five models of `models/` as they come in from outside, beside themselves as they are written with nn.

    python benchmarks/imported_models.py [--models bert,vit] [--rounds 7] [--small] [--peers]
    python benchmarks/imported_models.py --again [--models bert]
    python benchmarks/imported_models.py --dynamic [--models bert,resnet]

`onnx` is the model as an ONNX file, with the same weights; `torch` the model of the same sizes that transformers has
for PyTorch, exported, with random weights. Times are of one thread, by the process's own clock, in turns. `import_s`
and `build_s` are seconds of the process for `from_onnx` and the build after it, the cache off. Results are compared in
the same run: `onnx` with nn's, `torch` with PyTorch's. `--peers` times ONNX Runtime and OpenVINO on the file.

`--again`: seconds of import and build of the ONNX file in fresh processes, with the first import of what they need:
`first` without objects in the cache, `again` with them; `_s` by the clock, `_cpu_s` of all threads and processes, which
have all cores. `--dynamic`: one build for all batches and lengths beside a
build for each (`SIZES`), as nn has the model and, where PyTorch is installed, as torch.export has it; the greatest of
`dynamic / static` over the sizes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure

if "--again" not in sys.argv:  # builds have all cores
    measure.quiet()

import models  # noqa: E402
import numpy as np  # noqa: E402
from models import workload as workloads  # noqa: E402
from models.workload import Workload  # noqa: E402

import tirax.tvm_api as tvm  # noqa: E402
from tirax.frontend.onnx import from_onnx  # noqa: E402
from tirax.tvm_api import relax  # noqa: E402

TOLERANCE = 1e-4
"""Of the greatest magnitude of the result."""


def compiled(mod: Any, function: str, inputs: list[np.ndarray]) -> Callable[[], np.ndarray]:
    """A call of a module's function on arrays that are on the device already; its first result."""
    forward = relax.VirtualMachine(relax.build(mod, target="llvm"), tvm.cpu())[function]
    arguments = [tvm.nd.array(x) for x in inputs]

    def call() -> np.ndarray:
        result = forward(*arguments)
        return (result if hasattr(result, "numpy") else result[0]).numpy()

    return call


# PyTorch's models of the same sizes.


def _bert(w: Any) -> Any:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=w.vocabulary, max_position_embeddings=w.positions, type_vocab_size=w.segments, hidden_size=w.hidden,
        num_attention_heads=w.heads, intermediate_size=w.inner, num_hidden_layers=w.layers, layer_norm_eps=w.epsilon,
    )  # fmt: skip
    return _first(
        BertModel(config, add_pooling_layer=False), lambda m, tokens, segments: m(tokens, token_type_ids=segments)
    )


def _gpt2(w: Any) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=w.vocabulary, n_positions=w.positions, n_embd=w.hidden, n_head=w.heads, n_layer=w.layers,
        layer_norm_epsilon=w.epsilon,
    )  # fmt: skip
    return _first(GPT2LMHeadModel(config), lambda m, tokens: m(tokens, use_cache=False))


def _llama(w: Any) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=w.vocabulary, max_position_embeddings=w.positions, hidden_size=w.hidden, num_attention_heads=w.heads,
        num_key_value_heads=w.groups, intermediate_size=w.inner, num_hidden_layers=w.layers, rms_norm_eps=w.epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": w.theta},
    )  # fmt: skip
    return _first(LlamaForCausalLM(config), lambda m, tokens: m(tokens, use_cache=False))


def _vit(w: Any) -> Any:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        image_size=w.size, patch_size=w.patch, hidden_size=w.hidden, num_attention_heads=w.heads,
        num_hidden_layers=w.layers, intermediate_size=4 * w.hidden, num_labels=w.classes, layer_norm_eps=w.epsilon,
    )  # fmt: skip
    return _first(ViTForImageClassification(config), lambda m, image: m(image))


def _resnet(w: Any) -> Any:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        embedding_size=w.width, hidden_sizes=[4 * w.width * 2**i for i in range(len(w.depths))], depths=list(w.depths),
        num_labels=w.classes,
    )  # fmt: skip
    return _first(ResNetForImageClassification(config), lambda m, image: m(image))


TORCH: dict[str, Callable[[Any], Any]] = {
    "bert": _bert,
    "gpt2": _gpt2,
    "llama": _llama,
    "vit": _vit,
    "resnet": _resnet,
}
"""Name -> the module of PyTorch with a workload's sizes."""


def _first(model: Any, call: Callable[..., Any]) -> Any:
    """A module whose result is the first that `call` of the model gives."""
    import torch

    class First(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> Any:
            return call(self.model, *inputs)[0]

    torch.manual_seed(0)
    return First().eval()


# A row.


def measure_model(name: str, options: argparse.Namespace) -> dict[str, object]:
    """The row of one model. Raises `AssertionError` where a result is wrong."""
    workload: Workload = models.make(name, **(models.SMALL[name] if options.small else {}))
    length = min(workload.default_length, workload.positions) if workload.default_length else None
    inputs = workload.inputs(1, length)
    native = workloads.bind(workloads.export(workload, 1, length), workloads.random_weights(workload))
    calls = {"nn": compiled(native, "forward", inputs)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.onnx"
        path.write_bytes(exported(native))
        start = time.process_time()
        imported = from_onnx(path)
        imported_at = time.process_time()
        calls["onnx"] = compiled(imported, "main", inputs)
        row = {"import_s": imported_at - start, "build_s": time.process_time() - imported_at}
        if options.peers:
            calls |= peers(path, inputs)
    expected = calls["nn"]()
    differences = {way: workloads.difference(call(), expected) for way, call in calls.items() if way != "nn"}
    if has_torch():
        calls["torch"], differences["torch"] = torch_call(name, workload, inputs)
    assert max(differences.values()) < TOLERANCE, differences
    times = measure.interleaved(calls, options.rounds, sample=0, clock=time.process_time)
    row |= {f"{way}_ms": t.median / 1e3 for way, t in times.items()}
    row |= {f"nn/{way}": times["nn"].median / t.median for way, t in times.items() if way != "nn"}
    return {"model": name, **row, "difference": max(differences.values())}


def exported(native: Any) -> bytes:
    """A module as an ONNX file."""
    from peers.onnx_export import export

    return export(native, "forward").SerializeToString()


def has_torch() -> bool:
    """Whether PyTorch and transformers are installed."""
    return all(importlib.util.find_spec(package) for package in ("torch", "transformers"))


def torch_call(name: str, workload: Workload, inputs: list[np.ndarray]) -> tuple[Callable[[], np.ndarray], float]:
    """A call of PyTorch's model, exported and compiled, and how far its result is from PyTorch's."""
    import torch

    from tirax.frontend.torch.exported_program import from_exported_program

    module = TORCH[name](workload)
    tensors = tuple(map(torch.from_numpy, inputs))
    with torch.no_grad():
        program = torch.export.export(module, tensors)
        call = compiled(from_exported_program(program), "main", inputs)
        return call, workloads.difference(call(), module(*tensors).numpy())


def peers(path: Path, inputs: list[np.ndarray]) -> dict[str, Callable[[], np.ndarray]]:
    """The runtimes that are installed, on the ONNX file, each with one thread."""
    calls: dict[str, Callable[[], np.ndarray]] = {}
    if importlib.util.find_spec("onnxruntime"):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        feed = dict(zip((i.name for i in session.get_inputs()), inputs, strict=True))
        calls["onnxruntime"] = lambda: session.run(None, feed)[0]
    if importlib.util.find_spec("openvino"):
        import openvino

        config = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        core = openvino.Core()
        request = core.compile_model(core.read_model(path.read_bytes()), "CPU", config).create_infer_request()
        calls["openvino"] = lambda: request.infer(dict(enumerate(inputs)), share_inputs=True)[0]
    return calls


# The same file again.

_BUILD = """
import json, os, sys, time
def now():
    times = os.times()
    return time.monotonic(), times.user + times.system + times.children_user + times.children_system
def since(start):
    return [after - before for before, after in zip(start, now())]
started = now()
from tirax.frontend.onnx import from_onnx
from tirax.tvm_api import relax
row, started = {"tirax": since(started)}, now()
mod = from_onnx(sys.argv[1])
row["import"], started = since(started), now()
relax.build(mod, target="llvm")
row["build"] = since(started)
print(json.dumps(row))
"""


def measure_again(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Seconds of import and build of a model, in a process with an empty cache and in one with a full one."""
    workload: Workload = models.make(name, **(models.SMALL[name] if options.small else {}))
    length = min(workload.default_length, workload.positions) if workload.default_length else None
    native = workloads.bind(workloads.export(workload, 1, length), workloads.random_weights(workload))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{name}.onnx"
        path.write_bytes(exported(native))
        environment = {k: v for k, v in os.environ.items() if k not in ("TIRAX_CACHE", "PYTHONDONTWRITEBYTECODE")}
        environment |= {"XDG_CACHE_HOME": folder, "PYTHONPYCACHEPREFIX": folder}
        row: dict[str, object] = {"model": name}
        for which in ("unmeasured", "first", "again"):  # the first of all compiles Python's files
            if which == "first":
                shutil.rmtree(Path(folder) / "tirax")
            done = subprocess.run(
                [sys.executable, "-c", _BUILD, path], check=True, stdout=subprocess.PIPE, text=True, env=environment
            )
            for i, unit in enumerate(("s", "cpu_s")):
                seconds = {phase: both[i] for phase, both in json.loads(done.stdout).items()}
                row[f"tirax_{unit}"] = seconds.pop("tirax")
                row |= {f"{which}_{phase}_{unit}": value for phase, value in seconds.items()}
                row[f"{which}_{unit}"] = sum(seconds.values())
    return {k: v for k, v in row.items() if not k.startswith("unmeasured")}


# One build for all sizes.

SIZES: dict[str, list[tuple[int, int | None]]] = {
    "bert": [(1, 128), (4, 32), (1, 200)],
    "resnet": [(1, None), (4, None)],
}
"""Batch and length."""


def measure_dynamic(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Times of one build for all sizes as parts of those of a build for each. Raises `AssertionError` where a result
    differs."""
    workload: Workload = models.make(name, **(models.SMALL[name] if options.small else {}))
    weights = workloads.random_weights(workload)
    sizes = [(b, None if n is None else min(n, workload.positions)) for b, n in SIZES[name]]
    ways: dict[str, Callable[[Any, Any], tuple[Any, str]]] = {
        "nn": lambda b, n: (workloads.bind(workloads.export(workload, b, n), weights), "forward")
    }
    if has_torch():
        module = TORCH[name](workload)
        ways["torch"] = lambda b, n: (program_of(module, workload, b, n), "main")
    row: dict[str, object] = {"model": name}
    for way, make in ways.items():
        ratios = [ratio(make, workload, size, options.rounds) for size in sizes]
        row |= {f"{way} {b}x{n}" if n else f"{way} {b}": r for (b, n), r in zip(sizes, ratios, strict=True)}
        row[f"{way}_dynamic/static"] = max(ratios)
    return row


def ratio(make: Callable[[Any, Any], tuple[Any, str]], workload: Workload, size: tuple[int, Any], rounds: int) -> float:
    """The time of the build for all sizes by that of the build for one, called with inputs of that size."""
    inputs = workload.inputs(*size)
    symbolic = ("batch", "length" if size[1] else None)
    calls = {which: compiled(*make(*sizes), inputs) for which, sizes in (("dynamic", symbolic), ("static", size))}
    assert workloads.difference(calls["dynamic"](), calls["static"]()) < TOLERANCE
    times = measure.interleaved(calls, rounds, sample=0, clock=time.process_time)
    return times["dynamic"].median / times["static"].median


def program_of(module: Any, workload: Workload, batch: int | str, length: int | str | None) -> Any:
    """PyTorch's model as torch.export has it, imported; extents that are names are symbolic."""
    import torch

    from tirax.frontend.torch.exported_program import from_exported_program

    most = {"batch": 64, "length": getattr(workload, "positions", None)}
    example = workload.inputs(*(most[n] // 4 if isinstance(n, str) else n for n in (batch, length)))
    dims = [torch.export.Dim(n, max=most[n]) if isinstance(n, str) else None for n in (batch, length)]
    named = {i: dim for i, dim in enumerate(dims) if dim is not None}
    shapes = (tuple({i: d for i, d in named.items() if i < x.ndim} for x in example),) if named else None
    with torch.no_grad():
        tensors = tuple(map(torch.from_numpy, example))
        return from_exported_program(torch.export.export(module, tensors, dynamic_shapes=shapes))


# All rows.


def main() -> None:
    """Print the rows and write them to build/benchmarks/imported_models.json."""
    parser = argparse.ArgumentParser(description="imported models, one thread, batch 1")
    parser.add_argument("--models", default=",".join(models.WORKLOADS), help="names, with commas")
    parser.add_argument("--rounds", type=int, default=7, help="calls of each")
    parser.add_argument("--small", action="store_true", help="narrow models")
    parser.add_argument("--peers", action="store_true", help="ONNX Runtime and OpenVINO, too")
    parser.add_argument("--again", action="store_true", help="import and build, also from the cache")
    parser.add_argument("--dynamic", action="store_true", help="one build for all batches and lengths")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = [name for name in options.models.split(",") if not options.dynamic or name in SIZES]
    if options.child:
        measured = measure_dynamic if options.dynamic else measure_again if options.again else measure_model
        print(json.dumps(measured(names[0], options)))
        return
    rows = [in_child(name, options) for name in names]
    print(f"{measure.processor()}, {'build' if options.again else 'one thread'}, batch 1\n")
    for row in rows:
        print(" ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in row.items()))
    measure.write("imported_models" + "_again" * options.again + "_dynamic" * options.dynamic, rows)


def in_child(name: str, options: argparse.Namespace) -> dict[str, object]:
    """The row of a model, measured in a process of its own with the cache of objects off."""
    flags = [f"--{flag}" for flag in ("small", "peers", "again", "dynamic") if getattr(options, flag)]
    command = [sys.executable, __file__, "--child", "--models", name, "--rounds", str(options.rounds), *flags]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "TIRAX_CACHE": "0"}
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
