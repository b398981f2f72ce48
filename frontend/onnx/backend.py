"""The ONNX backend interface, for running existing test suites: `prepare`, `run_model`, `run_node`.

    import tirax.frontend.onnx.backend as backend
    outputs = backend.prepare(model).run([x])

A model is compiled on its first run. An input that determines axes or a rank, which must be known at
compile time, becomes a constant of the program; another value of that input compiles another program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...driver.build import build
from ..importing.errors import InputError, ModelError
from ..importing.extras import require_onnx
from .importer import imported
from .node import NotConstant
from .tensors import STRING_KIND, dtype_name
from .values import MOST_KNOWN

require_onnx()
from onnx import ModelProto, NodeProto, defs, helper  # noqa: E402
from onnx.backend.base import Backend, BackendRep, namedtupledict  # noqa: E402

_KEPT = 16
"""The number of programs cached for a model, one for each recent value of its constant inputs."""


class Program(BackendRep):
    """A model that can be run."""

    def __init__(self, model: ModelProto, opset: int | None = None):
        self._model = model
        self._opset = opset
        weights = {t.name for t in model.graph.initializer}
        self._inputs = [v for v in model.graph.input if v.name not in weights]
        self._fixed: list[str] = []
        self._programs: dict[tuple[Any, ...], Any] = {}

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model on inputs in the order of the graph, or by name, and return the outputs; sequences are lists.

        Raises `InputError` for a wrong number of inputs or a wrong dtype, and as `from_onnx` does.
        """
        arrays = self._by_name(inputs)
        while True:
            try:
                program = self._program(arrays)
                break
            except NotConstant as error:
                if not self._fix(error.sources, arrays):
                    raise
            except ModelError:  # such as another rank than that of the input's numbers
                sizes = frozenset(n for n, v in arrays.items() if v is not None and v.dtype.kind == "i" and v.ndim <= 1)
                if not self._fix(sizes, arrays):
                    raise
        outputs = program["main"](*(v for n, v in arrays.items() if n not in self._fixed and v is not None))
        names = [o.name for o in self._model.graph.output]
        values = outputs if len(names) > 1 else (outputs,)
        return namedtupledict("Outputs", names)(*map(_numpy, values))

    def _fix(self, names: frozenset[str], arrays: Mapping[str, Any]) -> bool:
        """Make small inputs constants of later programs, and return whether any of them was not a constant before."""
        new = [n for n in arrays if n in names and n not in self._fixed]
        self._fixed += new
        return bool(new) and all(isinstance(arrays[n], np.ndarray) and arrays[n].size <= MOST_KNOWN for n in new)

    def _program(self, arrays: Mapping[str, Any]) -> Any:
        fixed = {n: arrays[n] for n in self._fixed}
        shapes = {v.name: _shapes(arrays[v.name]) for v in self._inputs if not v.type.HasField("tensor_type")}
        key = (*((v.shape, v.dtype.str, v.tobytes()) for v in fixed.values()), str(shapes))
        if key not in self._programs:
            module = imported(self._model, shapes, opset=self._opset, fixed=fixed)
            while len(self._programs) >= _KEPT:
                self._programs.pop(next(iter(self._programs)))
            self._programs[key] = build(module)
        return self._programs[key]

    def _by_name(self, inputs: Any) -> dict[str, Any]:
        names = [v.name for v in self._inputs]
        if isinstance(inputs, Mapping):
            arrays = dict(inputs)
        else:
            values: Sequence[Any] = inputs if isinstance(inputs, list | tuple) else [inputs]
            arrays = dict(zip(names, values, strict=False)) if len(values) == len(names) else dict.fromkeys(values)
        if set(arrays) != set(names):
            raise InputError("the inputs are not those of the model", expected=names, found=len(inputs))
        return {info.name: _checked(arrays[info.name], info) for info in self._inputs}


def _checked(value: Any, info: Any) -> Any:
    """Convert an input to an array of the model's dtype, a list of arrays, or None."""
    if value is None or isinstance(value, list):
        return None if value is None else tuple(np.asarray(v) for v in value)
    array = np.asarray(value)
    number = info.type.tensor_type.elem_type
    if number == STRING_KIND:
        return array.astype(object)
    if number and array.dtype.name != dtype_name(number, f"the input '{info.name}'"):
        raise InputError(
            f"the input '{info.name}' has another dtype",
            expected=dtype_name(number, f"the input '{info.name}'"),
            found=array.dtype.name,
        )
    return array


def _shapes(value: Any) -> Any:
    """Return the shape of an array, the shapes of a sequence, or None for an absent optional."""
    if value is None:
        return None
    return [v.shape for v in value] if isinstance(value, tuple) else value.shape


def _numpy(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_numpy(v) for v in value]
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


class TiraxBackend(Backend):
    """The backend that compiles ONNX models for this machine's CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Return whether all operators of a model can be converted."""
        from .coverage import coverage_of
        from .model import functions_of, model_versions, open_model

        proto = open_model(model).proto
        coverage = coverage_of(proto.graph, model_versions(proto, None), functions_of(proto))
        return cls.supports_device(device) and not coverage.unsupported

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Program:
        """Prepare a model to be run. Raises `InputError` for a device other than the CPU."""
        if not cls.supports_device(device):
            raise InputError("code is generated for CPUs", expected="CPU", found=device)
        return Program(model, kwargs.get("opset"))

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Run one node on inputs, by default with the newest operator set, and return its outputs."""
        names = [n for n in node.input if n]
        infos = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype), np.shape(v))
            for n, v in zip(names, inputs, strict=True)
        ]
        outputs = [helper.make_empty_tensor_value_info(n) for n in node.output if n]
        version = kwargs.get("opset_version", defs.onnx_opset_version())
        graph = helper.make_graph([node], "node", infos, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        return cls.prepare(model, device).run(list(inputs))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Return whether a device in ONNX's notation (`CPU`, `CUDA:1`) is the CPU."""
        return device.split(":")[0].upper() == "CPU"


is_compatible = TiraxBackend.is_compatible
prepare = TiraxBackend.prepare
run_model = TiraxBackend.run_model
run_node = TiraxBackend.run_node
supports_device = TiraxBackend.supports_device
