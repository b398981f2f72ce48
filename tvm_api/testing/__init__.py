"""`tvm.testing`: comparison of results and modules, test parameters, and requirements of tests."""

from __future__ import annotations

import copy
import functools
import importlib.util
import inspect
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ... import script
from ...diagnostics import TiraxError
from ...handles.base_func import BaseFunc
from ...handles.module import IRModule
from ...handles.tir.prim_expr import PrimExpr
from ...handles.tir.prim_func import PrimFunc
from ...runtime import Device, cpu
from .._names import provide, refusing
from ..handles.arith.analyzer import Analyzer
from ..handles.from_script import from_source
from ..ir import assert_structural_equal
from .constraints import check_bool_expr_is_true, check_int_constraints_trans_consistency
from .packed import device_test, echo

# Comparing.


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """Like `numpy.testing.assert_allclose`, but also compare shapes."""
    left, right = np.asarray(actual), np.asarray(desired)
    np.testing.assert_allclose(left.shape, right.shape)
    np.testing.assert_allclose(left, right, rtol=rtol, atol=atol, verbose=verbose)


def assert_prim_expr_equal(lhs: PrimExpr, rhs: PrimExpr) -> None:
    """Raise `ValueError` if two scalar expressions are not provably equal."""
    if not Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"{lhs} and {rhs} are not equal")


def check_numerical_grads(
    function: Callable[..., float],
    input_values: Sequence[Any],
    grad_values: Sequence[Any],
    function_value: float | None = None,
    delta: float = 1e-3,
    atol: float = 1e-2,
    rtol: float = 0.1,
) -> None:
    """Compare the gradients of a scalar function, one for each argument, with central differences.

    The function receives arrays with the dtypes of the values, or float64 for non-floats. Raises
    `AssertionError`, which names the argument. `function_value` is accepted for compatibility with TVM.
    """
    arrays = [np.array(v) for v in input_values]
    inputs = [v if np.issubdtype(v.dtype, np.floating) else v.astype("float64") for v in arrays]
    for number, (value, gradient) in enumerate(zip(inputs, grad_values, strict=True)):
        numerical = np.zeros_like(value)
        for index in np.ndindex(value.shape):
            before = value[index]
            sides: list[float] = []
            for step in (delta, -delta):
                value[index] = before + step
                sides.append(float(function(*inputs)))
            value[index] = before
            numerical[index] = (sides[0] - sides[1]) / (2 * delta)
        np.testing.assert_allclose(
            np.asarray(gradient), numerical, rtol=rtol, atol=atol, err_msg=f"the gradient of argument {number}"
        )


class CompareBeforeAfter:
    """Base class of pass tests: a subclass defines `transform`, `before` and `expected`.

        class TestFold(CompareBeforeAfter):
            transform = relax.transform.FoldConstant()

            @I.ir_module
            class Before: ...

            @I.ir_module
            class Expected: ...

    Both (`before` or `Before`, `expected` or `Expected`) are modules, classes of tensor functions, TVMScript
    functions (tensor functions if undecorated), or methods and fixtures that return one and may use other
    fixtures. `transform` is a pass, or a method or fixture that returns one. If `expected` is an exception
    class the pass must raise it.
    """

    check_well_formed = True
    """Whether functions and classes parsed here must be well formed."""

    def __init_subclass__(cls) -> None:
        for name in ("before", "expected", "transform"):
            definition = _only_one(cls, name, name.capitalize())
            if definition is not None:
                setattr(cls, name, _as_fixture(definition))

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """Run the pass and compare. Raises a diagnostic that shows both modules."""
        import pytest

        if isinstance(expected, type) and issubclass(expected, Exception):
            with pytest.raises(expected):
                _applied(transform, before)
        else:
            assert_structural_equal(_applied(transform, before), _named(expected))


def _only_one(cls: type, *names: str) -> Any:
    """Return the attribute that a class defines under one of two spellings. Raises `TiraxError` if it defines both."""
    values = [cls.__dict__[n] for n in names if n in cls.__dict__]
    if len(values) > 1:
        raise TiraxError(f"{cls.__name__} says the same twice", found=" and ".join(names), hint="keep one of them")
    return values[0] if values else None


def _applied(transform: Any, subject: Any) -> Any:
    """Apply a pass to a module, or to a single function in a module."""
    if not isinstance(subject, BaseFunc):
        return transform(subject)
    return _named(transform(IRModule({"main": subject}))["main"])


def _named(func: Any) -> Any:
    """Rename a tensor function to `main`, since the test determines the names of before and after."""
    return func.with_attr("global_symbol", "main") if isinstance(func, PrimFunc) else func


def _as_fixture(definition: Any) -> Any:
    """Return a fixture for a module, function, pass or exception; methods are evaluated for each test."""
    import pytest

    if type(definition).__name__ == "FixtureFunctionDefinition":
        return definition
    if isinstance(definition, FunctionType):
        method = "self" in inspect.signature(definition).parameters
        return pytest.fixture(definition if method else lambda self: _parsed(definition, self.check_well_formed))
    if isinstance(definition, type) and not issubclass(definition, Exception):
        return pytest.fixture(lambda self: _module_of_class(definition, self.check_well_formed))
    return pytest.fixture(lambda self: definition)


def _module_of_class(cls: type, well_formed: bool) -> IRModule:
    """Return the module of an undecorated class, with the names of its functions in the class."""
    members = {n: f for n, f in vars(cls).items() if not n.startswith("_")}
    functions = {n: f if isinstance(f, BaseFunc) else _parsed(f, well_formed) for n, f in members.items()}
    return IRModule({n: f.with_attr("global_symbol", n) for n, f in functions.items()})


def _parsed(function: FunctionType, well_formed: bool) -> BaseFunc:
    """Parse a function in a test class; undecorated ones are tensor functions."""

    source = textwrap.dedent(inspect.getsource(function))
    names = {**function.__globals__, **inspect.getclosurevars(function).nonlocals}
    if source.startswith("@"):
        module = IRModule(script.parse_decorated(function))
        return module[module.names[0]]
    return from_source(f"@T.prim_func\n{source}", names, well_formed)


# Parameters.


def parameter(*values: Any, ids: Iterable[str] | None = None, by_dict: dict[str, Any] | None = None) -> Any:
    """Return a fixture with one value for each test: `size = parameter(1, 16)`, or named, `by_dict={"small": 1}`."""
    import pytest

    if by_dict is not None:
        if values or ids is not None:
            raise TiraxError("parameter takes values with ids, or by_dict")
        values, ids = tuple(by_dict.values()), list(by_dict)

    @pytest.fixture(params=values, ids=None if ids is None else list(ids))
    def chosen(*_instance: Any, request: Any) -> Any:
        return request.param

    return chosen


def parameters(*value_sets: Sequence[Any], ids: Iterable[str] | None = None) -> list[Any]:
    """Return fixtures that vary together: `a, b = parameters((1, 2), (3, 4))` runs (1, 2) and (3, 4).

    Assign them to names of a module or of a test class. A test that uses some of them runs once for each set,
    with an ID from its values or from `ids`. Raises `TiraxError` for sets of different sizes.
    """
    import pytest

    if len({len(values) for values in value_sets}) != 1:
        raise TiraxError("each set holds a value for each parameter", found=[len(v) for v in value_sets])
    group = Group(None if ids is None else list(ids))
    # pytest calls a module's hook for each of its tests; if the plug-in has run already, nothing is left to do.
    sys._getframe(1).f_globals.setdefault("pytest_generate_tests", parametrize_groups)
    return [pytest.fixture(group.member(values)) for values in zip(*value_sets, strict=True)]


class Group:
    """Parameters that vary together, with the names of their sets."""

    def __init__(self, ids: list[str] | None):
        self.ids = ids

    def member(self, values: Sequence[Any]) -> Any:
        """Return the fixture function of one parameter, whose value `parametrize_groups` selects."""

        def chosen(*_instance: Any, request: Any) -> Any:
            return request.param

        vars(chosen).update(parametrize_group=self, parametrize_values=values)
        return chosen


def parametrize_groups(metafunc: Any) -> None:
    """Implement `pytest_generate_tests`: run a test that uses parameters of a group once for each set of values."""
    groups: dict[Group, dict[str, Sequence[Any]]] = {}
    for name, definitions in metafunc.definition._fixtureinfo.name2fixturedefs.items():
        member = definitions[-1].func
        if isinstance(getattr(member, "parametrize_group", None), Group):
            groups.setdefault(member.parametrize_group, {})[name] = member.parametrize_values
    done = metafunc.definition.stash.setdefault(_stash_key(), set())
    for group, members in groups.items():
        if group not in done:
            done.add(group)
            sets = list(zip(*members.values(), strict=True))
            values = [v for (v,) in sets] if len(members) == 1 else sets
            metafunc.parametrize(",".join(members), values, indirect=True, ids=group.ids)


@functools.cache
def _stash_key() -> Any:
    """Return the key under which a test records its parametrized groups: both the plug-in and the module's hook run."""
    import pytest

    return pytest.StashKey()


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """Like `pytest.fixture`; with `cache_return_value` it runs once for equal arguments, and each test gets a copy."""
    import pytest

    if func is None:
        return functools.partial(fixture, cache_return_value=cache_return_value)
    return pytest.fixture(_cached(func) if cache_return_value else func)


def _cached(func: Callable[..., Any]) -> Callable[..., Any]:
    known: list[tuple[dict[str, Any], Any]] = []

    @functools.wraps(func)
    def wrapper(**arguments: Any) -> Any:
        result = next((value for key, value in known if key == arguments), None)
        if result is None:
            result = func(**arguments)
            known.append((arguments, result))
        return copy.deepcopy(result)

    return wrapper


# Targets and features.


def enabled_targets() -> list[tuple[str, Device]]:
    """Return the targets for which code can be generated here, each with a device."""
    return [("llvm", cpu())]


def device_enabled(target: Any) -> bool:
    """Return whether code can be generated for a target here: only for CPUs, with LLVM."""
    return str(target).split(" ")[0] in ("llvm", "cpu")


def parametrize_targets(*targets: Any) -> Any:
    """Return a decorator that runs a test with the arguments `target` and `dev` for the available targets."""
    import pytest

    if len(targets) == 1 and callable(targets[0]):
        return parametrize_targets("llvm")(targets[0])
    values = [
        pytest.param(t, cpu(), marks=() if device_enabled(t) else pytest.mark.skip(reason=f"{t} is not there"))
        for t in targets or ("llvm",)
    ]
    return pytest.mark.parametrize(("target", "dev"), values, ids=[str(t) for t in targets or ("llvm",)])


class Feature:
    """A requirement of tests: `@requires_cuda` skips a test with the reason if it is not met."""

    def __init__(self, name: str, is_there: bool, why_not: str):
        self.name = name
        self.is_there = is_there
        self.why_not = why_not

    def marks(self) -> list[Any]:
        """Return the pytest marks that skip a test if the feature is missing."""
        import pytest

        return [pytest.mark.skipif(not self.is_there, reason=f"needs {self.name}: {self.why_not}")]

    def __call__(self, test: Any = None) -> Any:
        if test is None:
            return self
        for mark in self.marks():
            test = mark(test)
        return test


def _device(name: str) -> Feature:
    return Feature(name, False, "code is generated for CPUs only")


_MACHINE = platform.machine().lower()
requires_llvm = Feature("llvm", True, "")
requires_x86 = Feature("x86", _MACHINE in ("x86_64", "amd64"), f"this machine is {_MACHINE}")
requires_aarch64 = Feature("aarch64", _MACHINE in ("aarch64", "arm64"), f"this machine is {_MACHINE}")
requires_gpu, requires_cuda, requires_cudnn, requires_cublas = map(_device, ("gpu", "cuda", "cudnn", "cublas"))
requires_rocm, requires_vulkan, requires_opencl = map(_device, ("rocm", "vulkan", "opencl"))
requires_metal, requires_hexagon, requires_tensorcore = map(_device, ("metal", "hexagon", "tensorcore"))


def requires_package(*packages: str) -> Feature:
    """Return a feature that is met if all packages can be imported."""
    missing = [p for p in packages if importlib.util.find_spec(p) is None]
    return Feature(", ".join(packages), not missing, f"not installed: {', '.join(missing)}")


def skip_if_32bit(reason: str = "not for 32 bits") -> Feature:
    """Return a decorator that skips a test on 32-bit machines."""
    return Feature("64 bits", sys.maxsize > 2**32, reason)


def strtobool(value: str) -> bool:
    """Parse a boolean such as `yes`, `on` or `0`. Raises `TiraxError` for other text."""
    lowered = value.lower()
    if lowered not in _TRUTHS:
        raise TiraxError(f"'{value}' is no truth value", expected=", ".join(_TRUTHS))
    return _TRUTHS[lowered]


_TRUTHS = {
    **dict.fromkeys(("y", "yes", "t", "true", "on", "1"), True),
    **dict.fromkeys(("n", "no", "f", "false", "off", "0"), False),
}

slow = Feature("slow tests", not strtobool(os.environ.get("SKIP_SLOW_TESTS") or "0"), "SKIP_SLOW_TESTS is set")


def main() -> None:
    """Run the tests of the calling file with pytest."""
    import pytest

    sys.exit(pytest.main([sys._getframe(1).f_code.co_filename, *sys.argv[1:]]))


provide(__name__, {"utils": {"tvm_api.testing": "*"}})

__getattr__ = refusing(__name__)

__all__ = [
    "CompareBeforeAfter", "Feature", "assert_allclose", "assert_prim_expr_equal", "check_bool_expr_is_true",
    "check_int_constraints_trans_consistency", "check_numerical_grads",
    "device_enabled", "device_test", "echo", "enabled_targets", "fixture", "main", "parameter", "parameters",
    "parametrize_targets",
    "requires_aarch64", "requires_cublas", "requires_cuda", "requires_cudnn", "requires_gpu",
    "requires_hexagon", "requires_llvm", "requires_metal", "requires_opencl", "requires_package",
    "requires_rocm", "requires_tensorcore", "requires_vulkan", "requires_x86", "skip_if_32bit", "slow",
    "strtobool",
]  # fmt: skip
