"""The pass `RunCodegen`: compile functions with the attribute `Codegen` by the code generators that it names.

A code generator is a packed function `relax.ext.<name>`. It is called once with its functions, its options and the
names of their constants, and returns a list of objects that hold the compiled functions by name:

- a mapping, or a module (`get_function(name)`, None if missing), of callables in destination-passing style,
- a tirax executable, whose functions return their results,
- or the callables themselves, one for each function, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, TupleType
from xdsl.ir import Attribute

from ...diagnostics import NameLookupError, TiraxError, UnsupportedError, unknown_name
from ...dialects import relax
from ...dialects.relax.external import EXTERNAL_MODS, ExternalFunctions, ExternalModsAttr, external_functions
from ...dialects.relax.types import TensorType
from ...handles.relax.expr import Constant, expr_of
from ...handles.relax.function import Function
from ...ir.functions.lookup import callee_names, relax_functions
from ...ir.locations import location_of
from ...ir.passes.transform import Pass
from ...ir.rewriting.edit import replace_op
from ...runtime.executable import Executable
from ...runtime.registry import PackedFunction, get_global_func, list_global_func_names
from ..bindings.dead_code_elimination import DeadCodeElimination
from .fuse_ops_by_pattern import CODEGEN

CONSTANTS = "const_name_to_constant"
PREFIX = "relax.ext."


@dataclass(frozen=True)
class RunCodegen(Pass):
    """Compile the functions with the attribute `Codegen`, and call the compiled functions instead.

    y = relax.call @fused_lib(x) : T  ->  y = relax.call_dps_packed "fused_lib"(x) : T

    `target_options`: options by code generator. `entry_functions`: entry points besides the public functions; functions
    that become unreachable are removed. The module gets the attributes `external_mods` (the compiled functions, which
    `build` puts into the executable) and `const_name_to_constant`.

    Raises `NameLookupError` for code generators that are not registered, `TiraxError` for functions that they do not
    return, `UnsupportedError` for results without a shape and for functions used as values.
    """

    name: ClassVar[str] = "run-codegen"
    target_options: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    entry_functions: tuple[str, ...] = ()

    def __init__(
        self, target_options: Mapping[str, Any] | None = None, entry_functions: Iterable[str] | None = None
    ) -> None:
        object.__setattr__(self, "target_options", dict(target_options or {}))
        object.__setattr__(self, "entry_functions", tuple(entry_functions or ()))

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        by_codegen: dict[str, list[relax.FuncOp]] = {}
        for func in relax_functions(op):
            if (codegen := _codegen(func)) is not None:
                by_codegen.setdefault(codegen, []).append(func)
        external = {f.sym_name.data for funcs in by_codegen.values() for f in funcs}
        calls = _calls(op, external)
        compiled: dict[str, PackedFunction] = {}
        constants: dict[str, Attribute] = {}
        for (codegen, funcs), backend in zip(by_codegen.items(), _backends(by_codegen), strict=True):
            names = _constant_names(funcs, codegen)
            constants |= {name: cast(relax.ConstantOp, c.ssa.owner).value for c, name in names.items()}
            output = backend(list(map(Function.on, funcs)), dict(self.target_options.get(codegen) or {}), names)
            compiled |= _compiled(codegen, [f.sym_name.data for f in funcs], output)
        for call in calls:
            _call_compiled(call)
        for func in [f for funcs in by_codegen.values() for f in funcs]:
            func.detach()
        _attach(op, compiled, constants)
        if self.entry_functions:
            DeadCodeElimination(self.entry_functions).apply(ctx, op)


def _codegen(func: relax.FuncOp) -> str | None:
    codegen = None if func.func_attrs is None else func.func_attrs.data.get(CODEGEN)
    return codegen.data if isinstance(codegen, StringAttr) else None


def _backends(codegens: Iterable[str]) -> list[PackedFunction]:
    """Return the code generators of these names. Raises one `NameLookupError` for all that are missing."""
    backends = {c: get_global_func(PREFIX + c, allow_missing=True) for c in codegens}
    missing = [c for c, f in backends.items() if f is None]
    if missing:
        known = [n.removeprefix(PREFIX) for n in list_global_func_names() if n.startswith(PREFIX)]
        error = unknown_name("code generator", missing[0], known)
        notes = [f"nor is '{c}' known" for c in missing[1:]]
        notes.append(f'a code generator is a packed function: @register_func("{PREFIX}{missing[0]}")')
        raise NameLookupError(error.message, expected=error.expected, hint=error.hint, notes=notes)
    return cast("list[PackedFunction]", list(backends.values()))


def _calls(module: ModuleOp, external: set[str]) -> list[relax.CallOp]:
    """Return all calls of these functions. Raises `UnsupportedError` for uses that cannot become calls by name."""
    calls: list[relax.CallOp] = []
    for op in module.walk():
        if not any(name in external for name in callee_names(op)):
            continue
        if not isinstance(op, relax.CallOp):
            message = f"a function for a code generator is not called, but used as a value: {next(callee_names(op))}"
            raise UnsupportedError(message, location=location_of(op))
        for t in _outputs(op):
            if not (isinstance(t, TensorType) and t.dims is not None and t.element is not None):
                raise UnsupportedError(
                    f"a function for a code generator gives what cannot be made before the call: {op.callee_name}",
                    location=location_of(op),
                    expected="tensors of known shape and dtype",
                    found=t,
                )
        calls.append(op)
    return calls


def _outputs(call: relax.CallOp) -> Sequence[Attribute]:
    t = call.result.type
    return t.types.data if isinstance(t, TupleType) else (t,)


def _constant_names(funcs: Sequence[relax.FuncOp], codegen: str) -> dict[Constant, str]:
    """Return a name for each constant in the functions."""
    names: dict[Constant, str] = {}
    for func in funcs:
        constants = [op for op in func.walk() if isinstance(op, relax.ConstantOp)]
        for i, op in enumerate(constants):
            names[cast(Constant, expr_of(op.result))] = f"{func.sym_name.data}_{codegen}_const_{i}"
    return names


def _compiled(codegen: str, names: Sequence[str], output: Any) -> dict[str, PackedFunction]:
    """Return the results of a code generator, by name of function. Raises `TiraxError` for missing functions."""
    if not isinstance(output, list | tuple):
        raise TiraxError(
            f"the code generator '{codegen}' gave no list", expected="a list of modules", found=type(output).__name__
        )
    modules = list(cast("Sequence[Any]", output))
    if len(modules) == len(names) and all(_is_function(m) for m in modules):
        return dict(zip(names, modules, strict=True))
    by_name = {n: next((f for m in modules if (f := _function_of(m, n)) is not None), None) for n in names}
    missing = [n for n, f in by_name.items() if f is None]
    if missing:
        raise TiraxError(
            f"the code generator '{codegen}' did not compile {', '.join(missing)}",
            expected="a mapping, a module or an executable with each function, or as many callables",
            found=", ".join(type(m).__name__ for m in modules) or "nothing",
        )
    return cast("dict[str, PackedFunction]", by_name)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, Executable | Mapping) and not hasattr(value, "get_function")


def _function_of(module: Any, name: str) -> PackedFunction | None:
    """Return a function from the result of a code generator, in destination-passing style."""
    if isinstance(module, Executable):
        return _in_destinations(module, name) if name in module.functions else None
    if isinstance(module, Mapping):
        return cast("Mapping[str, PackedFunction]", module).get(name)
    return module.get_function(name) if hasattr(module, "get_function") else None


def _in_destinations(executable: Executable, name: str) -> Callable[..., None]:
    """Wrap a function of an executable to write its results into its last arguments."""
    count, run = len(executable.functions[name].params), executable[name]

    def call(*args: Any) -> None:
        results = run(*args[:count])
        outputs = args[count:]
        for output, result in zip(outputs, (results,) if len(outputs) == 1 else results, strict=True):
            output[...] = result

    return call


def _call_compiled(call: relax.CallOp) -> None:
    new = relax.CallDPSPackedOp(call.callee_name, list(call.args), call.result.type)
    replace_op(call, new)


def _attach(module: ModuleOp, compiled: dict[str, PackedFunction], constants: dict[str, Attribute]) -> None:
    """Add the compiled functions and the constants to the attributes of the module."""
    if compiled:
        known = dict(external_functions(module))
        module.attributes[EXTERNAL_MODS] = ExternalModsAttr(ExternalFunctions(known | compiled))
    if constants:
        before = module.attributes.get(CONSTANTS)
        named = dict(before.data) if isinstance(before, DictionaryAttr) else {}
        module.attributes[CONSTANTS] = DictionaryAttr(named | constants)
