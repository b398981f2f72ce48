"""ONNX's interface of backends, so that anyone's tests of models run: `prepare`, `run_model`, `run_node`.

    import tirax.frontend.onnx.backend as backend
    outputs = backend.prepare(model).run([x])

A model is compiled when it is first run: an input that decides axes or a rank, which a program has to know beforehand,
is then a constant of it, and another value of it another program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, defs, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from ...lowering.build import build
from ..importing.errors import InputError
from .importer import imported
from .node import NotConstant
from .tensors import dtype_name

_KEPT = 16
"""Programs of one model: those for the last values of inputs that are constants of them."""


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
        """The outputs for inputs in the order of the graph, or by name; sequences are lists.

        Raises `InputError` where there are too few or too many, or of another dtype, and as `from_onnx` does.
        """
        given = self._by_name(inputs)
        while True:
            try:
                program = self._program(given)
                break
            except NotConstant as error:
                if error.source is None or error.source in self._fixed:
                    raise
                self._fixed.append(error.source)
        outputs = program["main"](*(v for n, v in given.items() if n not in self._fixed))
        names = [o.name for o in self._model.graph.output]
        values = outputs if len(names) > 1 else (outputs,)
        return namedtupledict("Outputs", names)(*map(_numpy, values))

    def _program(self, given: Mapping[str, Any]) -> Any:
        fixed = {n: given[n] for n in self._fixed}
        key = tuple((v.shape, v.dtype.str, v.tobytes()) for v in fixed.values())
        if key not in self._programs:
            module = imported(self._model, opset=self._opset, fixed=fixed)
            while len(self._programs) >= _KEPT:
                self._programs.pop(next(iter(self._programs)))
            self._programs[key] = build(module)
        return self._programs[key]

    def _by_name(self, inputs: Any) -> dict[str, Any]:
        names = [v.name for v in self._inputs]
        if isinstance(inputs, Mapping):
            given = dict(inputs)
        else:
            values: Sequence[Any] = inputs if isinstance(inputs, list | tuple) else [inputs]
            given = dict(zip(names, values, strict=False)) if len(values) == len(names) else dict.fromkeys(values)
        if set(given) != set(names):
            raise InputError("the inputs are not those of the model", expected=names, found=len(inputs))
        return {info.name: _checked(given[info.name], info) for info in self._inputs}


def _checked(value: Any, info: Any) -> Any:
    array = np.asarray(value)
    number = info.type.tensor_type.elem_type
    if number and array.dtype.name != dtype_name(number, f"the input '{info.name}'"):
        raise InputError(
            f"the input '{info.name}' has another dtype",
            expected=dtype_name(number, f"the input '{info.name}'"),
            found=array.dtype.name,
        )
    return array


def _numpy(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_numpy(v) for v in value]
    return value.numpy() if hasattr(value, "numpy") else np.asarray(value)


class TiraxBackend(Backend):
    """ONNX models compiled for this machine's CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether all operators of a model can be converted."""
        from .coverage import coverage_of
        from .model import functions_of, model_versions

        coverage = coverage_of(model.graph, model_versions(model, None), functions_of(model))
        return cls.supports_device(device) and not coverage.unsupported

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> Program:
        """A model that can be run. Raises `InputError` for a device that is not the CPU."""
        if not cls.supports_device(device):
            raise InputError("code is generated for CPUs", expected="CPU", found=device)
        return Program(model, kwargs.get("opset"))

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """The outputs of one node for inputs of these shapes and dtypes, of the newest operators by default."""
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
        """Whether a device, as ONNX names it (`CPU`, `CUDA:1`), is the CPU."""
        return device.split(":")[0].upper() == "CPU"


is_compatible = TiraxBackend.is_compatible
prepare = TiraxBackend.prepare
run_model = TiraxBackend.run_model
run_node = TiraxBackend.run_node
supports_device = TiraxBackend.supports_device
