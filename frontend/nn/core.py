"""Tensors, parameters and modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ...diagnostics import ShapeError, TiraxError, unknown_name
from ...ir.expr import Expr, ShapeExpr, TupleGetItem, Var, const
from ...ir.module import IRModule
from ...ir.relax_ops import to_expr
from ...ir.struct_info import Dim, TensorStructInfo, TupleStructInfo
from ..block_builder import BlockBuilder
from . import spec

if TYPE_CHECKING:
    from ...runtime import NDArray


class Tensor:
    """A value of the model that is being built. Operators emit bindings into the function that is being exported."""

    def __init__(self, *, _expr: Expr):
        self._expr: Expr = _expr

    @property
    def expr_handle(self) -> Expr:
        """The Relax expression behind it."""
        return self._expr

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """A constant."""
        return Tensor(_expr=const(data))

    @staticmethod
    def from_scalar(data: int | float, dtype: str) -> Tensor:
        """A constant of rank 0."""
        return Tensor(_expr=const(data, dtype))

    @property
    def _info(self) -> TensorStructInfo:
        return cast(TensorStructInfo, self._expr.struct_info)

    @property
    def shape(self) -> list[Dim]:
        """The extents. Raises `ShapeError` where they are unknown."""
        shape = cast("ShapeExpr | None", self._info.shape)
        if shape is None:
            raise ShapeError("the shape of the tensor is not known", found=self._info)
        return shape.values

    @property
    def ndim(self) -> int:
        return self._info.ndim

    @property
    def dtype(self) -> str:
        return self._info.dtype

    def __repr__(self) -> str:
        return f"Tensor({self._info})"

    def _binary(self, name: str, other: Any, swapped: bool = False) -> Tensor:
        from . import op

        function = getattr(op, name)
        return function(other, self) if swapped else function(self, other)

    def __add__(self, other: Any) -> Tensor:
        return self._binary("add", other)

    def __radd__(self, other: Any) -> Tensor:
        return self._binary("add", other, True)

    def __sub__(self, other: Any) -> Tensor:
        return self._binary("subtract", other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._binary("subtract", other, True)

    def __mul__(self, other: Any) -> Tensor:
        return self._binary("multiply", other)

    def __rmul__(self, other: Any) -> Tensor:
        return self._binary("multiply", other, True)

    def __truediv__(self, other: Any) -> Tensor:
        return self._binary("divide", other)

    def __rtruediv__(self, other: Any) -> Tensor:
        return self._binary("divide", other, True)

    def __matmul__(self, other: Any) -> Tensor:
        return self._binary("matmul", other)

    def __neg__(self) -> Tensor:
        from . import op

        return op.negative(self)

    def astype(self, dtype: str) -> Tensor:
        """The tensor converted to `dtype`."""
        from . import op

        return op.astype(self, dtype)

    def reshape(self, *shape: Any) -> Tensor:
        """The elements in another shape."""
        from . import op

        return op.reshape(self, shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)

    def permute_dims(self, *axes: Any) -> Tensor:
        """The dimensions in another order, reversed where none is given."""
        from . import op

        given = axes[0] if len(axes) == 1 and isinstance(axes[0], tuple | list) else axes
        return op.permute_dims(self, list(given) or None)


class Parameter(Tensor):
    """A parameter of a module: `Parameter((128, 784), "float32")`; `data` holds its contents where it has some."""

    def __init__(self, shape: Iterable[Any], dtype: str | None = None):
        super().__init__(_expr=Var("param", TensorStructInfo(tuple(shape), dtype or get_default_dtype())))
        self._data: NDArray | None = None

    @property
    def data(self) -> NDArray | None:
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        from ...runtime import array

        contents = None if value is None else array(value)
        if contents is not None and list(contents.shape) != self.shape:
            raise ShapeError("contents do not fit the parameter", expected=self.shape, found=list(contents.shape))
        self._data = contents

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of a parameter that has no contents yet."""
        if dtype is None:
            return
        if self._data is not None:
            raise TiraxError("the parameter has contents already", hint="change the dtype before loading them")
        self._expr = Var("param", TensorStructInfo(self.shape, dtype))


_default_dtype = ["float32"]


def get_default_dtype() -> str:
    """The dtype of parameters that are given none."""
    return _default_dtype[-1]


class Module:
    """A part of a model; attributes that are modules or parameters are its parts. Override `forward`."""

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """The parameters by name, such as `fc1.weight`, in the order of their definition."""
        for name, value in self._parts():
            if isinstance(value, Parameter):
                yield prefix + name, value
            else:
                yield from cast(Module, value).named_parameters(f"{prefix}{name}.")

    def _parts(self) -> Iterator[tuple[str, Parameter | Module]]:
        return ((n, v) for n, v in vars(self).items() if isinstance(v, Parameter | Module))

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        return (p for _, p in self.named_parameters())

    def modules(self) -> Iterator[Module]:
        """This module and all inside of it."""
        yield self
        for _, part in self._parts():
            if isinstance(part, Module):
                yield from part.modules()

    def state_dict(self) -> OrderedDict[str, Parameter]:
        """The parameters by name."""
        return OrderedDict(self.named_parameters())

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> tuple[list[str], list[str]]:
        """Give parameters their contents; returns the names missing and those not known.

        Raises `NameLookupError` for either where `strict`, `ShapeError` for contents that do not fit.
        """
        own = self.state_dict()
        missing, unknown = [n for n in own if n not in state_dict], [n for n in state_dict if n not in own]
        if strict and unknown:
            raise unknown_name("parameter", unknown[0], own)
        if strict and missing:
            raise unknown_name("parameter in the state", missing[0], state_dict)
        for name, value in state_dict.items():
            if name in own:
                own[name].data = value.data if isinstance(value, Parameter) else value
        return missing, unknown

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters."""
        for parameter in self.parameters():
            parameter.to(dtype)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return cast(Any, self).forward(*args, **kwargs)

    def export_tvm(
        self, spec: Mapping[str, Mapping[str, Any]], debug: bool = False
    ) -> tuple[IRModule, list[tuple[str, Parameter]]]:
        """The methods named in `spec` as functions of a module, and the parameters, which are their last arguments."""
        from .exporter import export

        if debug:
            raise TiraxError("effects are not exported", expected="debug=False")
        return export(self, spec), list(self.named_parameters())


class ModuleList(Module):
    """A list of modules; called, it applies them in order."""

    def __init__(self, modules: Iterable[Module]):
        self._list = list(modules)

    def _parts(self) -> Iterator[tuple[str, Parameter | Module]]:
        return ((str(i), m) for i, m in enumerate(self._list))

    def __iter__(self) -> Iterator[Module]:
        return iter(self._list)

    def __getitem__(self, index: int) -> Module:
        return self._list[index]

    def __setitem__(self, index: int, module: Module) -> None:
        self._list[index] = module

    def __len__(self) -> int:
        return len(self._list)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self._list.append(module)

    def forward(self, x: Any) -> Any:
        """Apply the modules one after the other."""
        for module in self._list:
            x = module(x)
        return x


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None):
        self._dict = dict(modules or {})

    def _parts(self) -> Iterator[tuple[str, Parameter | Module]]:
        yield from self._dict.items()

    def __getitem__(self, name: str) -> Module:
        return self._dict[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self._dict[name] = module

    def __iter__(self) -> Iterator[str]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def items(self) -> Iterable[tuple[str, Module]]:
        return self._dict.items()


def wrap_nested(expr: Any, name: str) -> Any:
    """Bind an expression to a variable called like `name`: a `Tensor`, or a tuple of them.

    Raises `TiraxError` outside of an export.
    """
    builder = BlockBuilder.current()
    if builder is None:
        raise TiraxError("operators of nn emit into a function", hint="they are called while a module is exported")
    bound = builder.emit(to_expr(expr), name)
    info = bound.struct_info
    if isinstance(info, TupleStructInfo):
        return tuple(wrap_nested(TupleGetItem(bound, i), f"{name}_{i}") for i in range(len(info.fields)))
    return Tensor(_expr=bound)


__all__ = [
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "Tensor",
    "get_default_dtype",
    "spec",
    "wrap_nested",
]
