"""`from_exported_program`: convert the result of `torch.export.export` to a Relax module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...diagnostics import ArgumentsError, TiraxError, UnsupportedError
from ...dialects import relax
from ...handles.module import IRModule
from ...handles.relax.calls import to_expr
from ...handles.relax.expr import Expr, NullValue, StringImm, Tuple, Var
from ...handles.struct_info import PrimStructInfo, TensorStructInfo
from ...ir.passes.transform import no_gc
from ..block_builder import BlockBuilder
from ..importing.errors import ModelError, UnsupportedOperators
from ..importing.extras import require_torch
from ..importing.random_numbers import RandomNumbers, Seed
from ..importing.report import Coverage, warn_of_fallbacks
from .arguments import dtype_name
from .expansion import expanded
from .fallback import as_pairs
from .graph import CustomConverter, GraphReader
from .guards import Guards
from .pairs import Pairs
from .quotients import Quotients
from .symbols import finite_bounds, is_symbolic
from .tensors import array_of, constant


@no_gc()
def from_exported_program(
    exported_program: Any,
    *,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    no_bind_return_tuple: bool = False,
    custom_convert_map: Mapping[str, CustomConverter] | None = None,
    seed: Seed = None,
    dimension_names: Mapping[str, str] | None = None,
    fallback: str = "error",
) -> IRModule:
    """Convert a program traced by `torch.export.export` to a module with the function `main`.

    Its parameters are the tensor inputs, in order and with the program's names; dynamic dimensions are
    symbolic, with their declared ranges. Its result is the tuple of the program's outputs (nested ones
    flattened), followed by the new values of mutated buffers and inputs that are not outputs already. Weights
    are constants that share the program's memory: later changes affect the module.

    `keep_params_as_input`: weights are parameters, after the inputs, whose values `detach_params` removes from
    the module. `unwrap_unit_return_tuple`: return a single output itself instead of a tuple.
    `no_bind_return_tuple`: each output is an output of the dataflow block, and the tuple is built after it.
    `custom_convert_map`: converters by overload name, `{"add.Tensor": convert}`, called with the torch.fx node
    and the reader (`GraphReader`).

    Outputs that are None, strings or numbers are kept as such in the result. Complex inputs, weights and outputs are
    real tensors with a last dimension of pairs.

    `seed` is the seed of random numbers, such as dropout in training. None uses the state of the runtime: each
    call draws different numbers, reproducible with `runtime.manual_seed`. With an integer all calls draw the
    same numbers. `"input"` adds the parameters `seed` and `offset`, int64 of rank 0, after the inputs.

    `fallback` "torch" lets PyTorch compute operators without a converter when the program runs, with a
    `FallbackWarning` that lists them; "error" reports them.

    `dimension_names` gives symbolic sizes other names than PyTorch's: `{"s77": "batch"}`.

    Raises `UnsupportedOperators` with all operators without a converter and their places; `ModelError` for an
    invalid program, and `ArgumentsError` for objects that are not programs.
    """
    _require_program(exported_program, custom_convert_map)
    if fallback not in ("error", "torch"):
        raise ArgumentsError(f"unknown fallback '{fallback}'", expected="error or torch")
    custom, falls_back = frozenset(custom_convert_map or ()), fallback == "torch"
    program = expanded(exported_program, custom, falls_back)

    def importer(program: Any, fallback: str) -> _Importer:
        return _Importer(program, custom_convert_map, keep_params_as_input, seed, dimension_names, fallback)

    try:
        return importer(program, "error").module(unwrap_unit_return_tuple, no_bind_return_tuple)
    except (UnsupportedError, ModelError) as error:
        better = _decomposed(program, error, lambda p: importer(p, "error"), custom, falls_back)
        if better is program and not falls_back:
            raise
    return importer(better, fallback).module(unwrap_unit_return_tuple, no_bind_return_tuple)


def _decomposed(
    program: Any, error: TiraxError, read: Callable[[Any], _Importer], custom: frozenset[str], falls_back: bool
) -> Any:
    """Return a program that was refused without the operators that were, if fewer of these remain; else itself."""
    if not isinstance(error, UnsupportedOperators):
        return program
    missing = frozenset(error.operators)
    again = expanded(program, custom, falls_back, missing)
    return again if _unsupported(read(again)) < missing else program


def _unsupported(importer: _Importer) -> set[str]:
    """Return the operators of a program that cannot be converted."""
    try:
        importer.module(unwrap=False, no_bind=False)
    except UnsupportedOperators as error:
        return set(error.operators)
    return set()


def _require_program(program: Any, custom: Any) -> None:
    """Raise `ArgumentsError` for objects that are not exported programs, and for invalid converter maps."""
    require_torch()
    import torch

    if not isinstance(program, torch.export.ExportedProgram):
        is_model = isinstance(program, torch.nn.Module)
        raise ArgumentsError(
            "this is no exported program", expected="a torch.export.ExportedProgram", found=type(program).__name__,
            hint="export the model first: torch.export.export(model, example_inputs)" if is_model else
            "torch.export.export makes one, tirax.frontend.torch.archive.load_exported_program reads a file",
        )  # fmt: skip
    if custom is None:
        return
    if not isinstance(custom, Mapping) or not all(isinstance(k, str) and callable(v) for k, v in custom.items()):
        raise ArgumentsError("custom_convert_map has no converters by name", expected="overload names and functions",
                             found=custom)  # fmt: skip


def coverage_of(exported_program: Any) -> Coverage:
    """Return the support status of a program's operators, after decomposing those without a converter."""
    importer = _Importer(expanded(exported_program), None, keep_params=False)
    missing = _unsupported(importer)
    if missing:
        again = _Importer(expanded(exported_program, refused=frozenset(missing)), None, keep_params=False)
        importer = again if _unsupported(again) < missing else importer
    return importer.coverage


_HINT = "custom_convert_map takes converters by the names of overloads; converter_stub(name) writes one to fill in"


@dataclass
class _Inputs:
    """The inputs of a program: variables by placeholder name, and the values of other inputs."""

    variables: dict[str, Var] = field(default_factory=dict[str, Var])
    weights: dict[str, Var] = field(default_factory=dict[str, Var])
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    arrays: dict[str, Any] = field(default_factory=dict[str, Any])


class ProgramReader(GraphReader):
    """Reads the graph of a traced module."""

    def __init__(
        self,
        builder: BlockBuilder,
        module: Any,
        custom: Mapping[str, CustomConverter] | None = None,
        random: RandomNumbers | None = None,
        fallback: bool = False,
    ):
        super().__init__(builder, custom, root=module, random=random, fallback=fallback)


class _Importer:
    def __init__(
        self,
        program: Any,
        custom: Mapping[str, CustomConverter] | None,
        keep_params: bool,
        seed: Seed = None,
        names: Mapping[str, str] | None = None,
        fallback: str = "error",
    ):
        self._program = program
        self._keep_params = keep_params
        self._builder = BlockBuilder()
        self._random = RandomNumbers(self._builder, seed)
        self._reader = ProgramReader(self._builder, program.graph_module, custom, self._random, fallback == "torch")
        self._reader.symbols.names.update(names or {})
        self._placeholders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
        self._complex_inputs: set[str] = set()
        self._inputs = self._read_inputs()

    @property
    def coverage(self) -> Coverage:
        """The operators read so far."""
        return self._reader.coverage

    # Inputs.

    def _read_inputs(self) -> _Inputs:
        from torch.export.graph_signature import InputKind

        inputs = _Inputs()
        self._reader.symbols.bind(n.meta.get("val") for n in self._placeholders.values())
        for spec in self._program.graph_signature.input_specs:
            name = spec.arg.name
            if spec.kind is InputKind.USER_INPUT:
                self._read_input(spec.arg, inputs)
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                tensor = self._tensor_of(spec)
                if self._keep_params:
                    inputs.weights[name] = Var(name, self._info(tensor))
                    inputs.arrays[name] = array_of(as_pairs(tensor), spec.target)
                    self._complex_inputs.update([name] * tensor.is_complex())
                else:
                    weight = constant(as_pairs(tensor), spec.target)
                    inputs.values[name] = Pairs(whole=weight) if tensor.is_complex() else weight
            elif spec.kind is InputKind.TOKEN:  # a token for ordering effects, which is not needed here
                inputs.values[name] = None
            else:
                raise ModelError(f"an input is of a kind that is not supported: {spec.kind.name}", node=name)
        return inputs

    def _tensor_of(self, spec: Any) -> Any:
        """Return a weight of the program. Raises `ModelError` if it is missing."""
        for tensors in (self._program.state_dict, self._program.constants):
            if spec.target in tensors:
                return tensors[spec.target]
        raise ModelError(f"the weight {spec.target} is missing", node=spec.arg.name)

    def _read_input(self, argument: Any, inputs: _Inputs) -> None:
        name = argument.name
        value = self._placeholders[name].meta.get("val")
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            inputs.variables[name] = Var(name, self._info(value))
            self._complex_inputs.update([name] * value.is_complex())
        elif hasattr(value, "node"):
            inputs.variables[name] = Var(name, PrimStructInfo(value=self._reader.symbols.extent(value)))
            inputs.values[name] = self._reader.symbols.extent(value)
        else:
            inputs.values[name] = value

    def _info(self, tensor: Any) -> TensorStructInfo:
        extents = [self._reader.symbols.extent(s) for s in tensor.shape]
        if tensor.is_complex():
            return TensorStructInfo([*extents, 2], dtype_name(tensor.dtype.to_real()))
        return TensorStructInfo(extents, dtype_name(tensor.dtype))

    # The module.

    def module(self, unwrap: bool, no_bind: bool) -> IRModule:
        inputs, bb = self._inputs, self._builder
        variables = [*inputs.variables.values(), *self._random.params]
        with bb.function("main", [*variables, *inputs.weights.values()], attrs=self._attributes(len(variables))):
            with self._reader.blocks():
                guards = Guards(self._reader.symbols, self._program)
                quotients = Quotients(bb, self._reader.symbols, guards)
                self._enter(inputs, quotients.inputs(inputs.variables))
                guards.emit(bb, quotients.equal)
                self._reader.read(n for n in self._program.graph.nodes if n.op in ("call_function", "get_attr"))
                self._reader.coverage.require_supported(hint=_HINT)
                warn_of_fallbacks(self._reader.coverage, "torch")
                output = self._emit_output([quotients.output(v) for v in self._outputs()], unwrap, no_bind)
            bb.emit_func_output(output)
        mod = bb.get()
        if self._keep_params:
            mod["main"] = mod["main"].with_attr("params", [inputs.arrays[name] for name in inputs.weights])
        return mod

    def _attributes(self, num_inputs: int) -> dict[str, Any] | None:
        lower, upper = finite_bounds(self._program.range_constraints)
        attrs: dict[str, Any] = {"num_input": num_inputs} if self._keep_params else {}
        types = [var.ssa.type for var in self._inputs.variables.values()]
        names = {str(v) for v in relax.free_symbolic_vars(types)}
        for attr, bounds in (("tir_var_lower_bound", lower), ("tir_var_upper_bound", upper)):
            known = {n: bound for symbol, bound in bounds.items() if (n := self._reader.symbols.name(symbol)) in names}
            if known:
                attrs[attr] = known
        return attrs or None

    def _enter(self, inputs: _Inputs, multiples: Mapping[str, Var]) -> None:
        known = {**inputs.variables, **inputs.weights, **inputs.values, **multiples}
        for name, node in self._placeholders.items():
            size = node.meta.get("val")
            if is_symbolic(size):
                self._reader.env[node] = self._reader.symbols.extent(size)
            else:
                self._reader.env[node] = Pairs(whole=known[name]) if name in self._complex_inputs else known[name]

    # Outputs.

    def _outputs(self) -> list[Expr]:
        return [self._output(v) for v in self._results()]

    def _emit_output(self, outputs: list[Expr], unwrap: bool, no_bind: bool) -> Any:
        if unwrap and len(outputs) == 1:
            return self._builder.emit_output(outputs[0])
        if no_bind:
            return [self._builder.emit_output(v) for v in outputs]
        return self._builder.emit_output(Tuple(outputs))

    def _results(self) -> list[Any]:
        """Return the outputs of the user's program, followed by the mutated values."""
        from torch.export.graph_signature import OutputKind

        (node,) = (n for n in self._program.graph.nodes if n.op == "output")
        specs = self._program.graph_signature.output_specs
        pairs = list(zip(specs, node.args[0], strict=True))
        outputs = [v for spec, v in pairs if spec.kind is OutputKind.USER_OUTPUT]
        changed = [v for spec, v in pairs if spec.kind is not OutputKind.USER_OUTPUT and v not in outputs]
        return [self._reader.value(v) for v in [*outputs, *changed]]

    def _output(self, value: Any) -> Expr:
        if isinstance(value, Pairs):
            return value.joined(self._builder.emit)
        if isinstance(value, Expr):
            return value
        if value is None:
            return NullValue()
        return StringImm(value) if isinstance(value, str) else to_expr(value)
