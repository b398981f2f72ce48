"""The peers: how each compiles a program, and calls it. A peer that is not installed is left out."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .programs import Program

Call = Callable[[], Any]


@dataclass(frozen=True)
class Peer:
    """`compile(program, threads)` gives a call without arguments; None where the peer cannot run the program."""

    name: str
    package: str
    compile: Callable[[Program, int], Call | None]

    @property
    def installed(self) -> bool:
        top = self.package.split(".")[0]
        return importlib.util.find_spec(top) is not None and importlib.util.find_spec(self.package) is not None


def _tirax(program: Program, threads: int) -> Call:
    import tirax.tvm_api as tvm
    from tirax.runtime import set_num_threads
    from tirax.tvm_api import relax

    set_num_threads(threads)
    forward = relax.VirtualMachine(relax.build(program.mod, target="llvm"), tvm.cpu())["forward"]
    inputs = [tvm.nd.from_dlpack(x) for x in program.inputs]  # the memory that numpy and torch read, too
    return lambda: forward(*inputs)


def _numpy(program: Program, threads: int) -> Call | None:
    array = program.array
    return None if array is None else lambda: array(np, *program.inputs)


@functools.lru_cache(maxsize=1)
def _onnx(program: Program) -> Any:
    from .onnx_export import export

    return export(program.mod, "forward").SerializeToString()


def _onnxruntime(program: Program, threads: int) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(_onnx(program), options, providers=["CPUExecutionProvider"])
    feed = dict(zip((i.name for i in session.get_inputs()), program.inputs, strict=True))
    return lambda: session.run(None, feed)[0]


def _openvino(program: Program, threads: int) -> Call:
    import openvino

    config = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    core = openvino.Core()
    request = core.compile_model(core.read_model(_onnx(program)), "CPU", config).create_infer_request()
    inputs = dict(enumerate(program.inputs))
    return lambda: request.infer(inputs, share_inputs=True)[0]


def _jax(program: Program, threads: int) -> Call | None:
    if program.array is None:
        return None
    import jax
    import jax.numpy as jnp

    compiled = jax.jit(functools.partial(program.array, jnp))
    inputs = [jnp.asarray(x) for x in program.inputs]
    return lambda: compiled(*inputs).block_until_ready()


def _torch(program: Program, threads: int, *, compiled: bool = False) -> Call | None:
    if program.array is None:
        return None
    import torch

    torch.set_num_threads(threads)
    inputs = [torch.from_numpy(x) for x in program.inputs]
    function = functools.partial(program.array, torch)
    without_gradients = torch.inference_mode
    if compiled:  # guards of torch.compile refuse weights that were first seen in inference mode
        torch.compiler.reset()  # the programs before this one are no reason to give up
        function, without_gradients = torch.compile(function), torch.no_grad

    def call() -> Any:
        with without_gradients():
            return function(*inputs)

    return call


def _iree(program: Program, threads: int) -> Call | None:
    """IREE's compiler and runtime, through its importer of ONNX; one thread only."""
    if threads > 1:
        return None
    from iree import compiler, runtime

    with tempfile.TemporaryDirectory() as folder:
        model, imported = Path(folder, "program.onnx"), Path(folder, "program.mlir")
        model.write_bytes(_onnx(program))
        command = [sys.executable, "-m", "iree.compiler.tools.import_onnx", str(model), "-o", str(imported)]
        subprocess.run(command, check=True, capture_output=True)
        flags = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"]
        code = compiler.compile_file(
            str(imported), input_type="onnx", target_backends=["llvm-cpu"], extra_args=flags, strip_source_map=True
        )
    config = runtime.Config("local-sync")
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(config.vm_instance, code))
    function = context.modules.module[_function_name(context)]
    inputs = [runtime.asdevicearray(config.device, x) for x in program.inputs]
    return lambda: function(*inputs)


def _function_name(context: Any) -> str:
    return next(
        name
        for name in context.modules.module.vm_module.function_names
        if not name.startswith("__") and "$" not in name
    )


def _tvm(program: Program, threads: int) -> Call | None:
    """TVM without tuning, through its importer of ONNX; programs of more than 10 GFLOP would take minutes."""
    if program.flop > 10**10:
        return None
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    os.environ["TVM_NUM_THREADS"] = str(threads)
    mod = from_onnx(onnx.load_from_string(_onnx(program)))
    machine = relax.VirtualMachine(tvm.compile(mod, target=tvm.target.Target.from_device(tvm.cpu())), tvm.cpu())
    inputs = [tvm.runtime.tensor(x) for x in program.inputs]
    return lambda: _array(machine["main"](*inputs))


def _array(result: Any) -> Any:
    """The result, or the only one of several."""
    return (result[0] if not hasattr(result, "numpy") else result).numpy()


PEERS = (
    Peer("tirax", "tirax", _tirax),
    Peer("numpy", "numpy", _numpy),
    Peer("ONNX Runtime", "onnxruntime", _onnxruntime),
    Peer("OpenVINO", "openvino", _openvino),
    Peer("jax", "jax", _jax),
    Peer("torch", "torch", _torch),
    Peer("torch.compile", "torch", functools.partial(_torch, compiled=True)),
    Peer("IREE", "iree.compiler", _iree),
    Peer("TVM", "tvm", _tvm),
)


def one_thread(threads: int) -> None:
    """What libraries read when they are loaded."""
    flags = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    os.environ.update({"XLA_FLAGS": flags, "NPROC": str(threads), "JAX_PLATFORMS": "cpu"})
