"""Relax operators: their common base, and how they are declared.

    @operator("relax.permute_dims", "x", axes=INTS)
    class PermuteDims(Operator):
        \"\"\"Transpose: dimension i of the result is dimension axes[i] of x; all reversed if axes is None.\"\"\"

        def infer(self) -> Attribute: ...

An operand specification is a list of names: `x` is one value, `xs*` a tuple of values, `bias?` an optional value, and
`xs*?` an optional tuple, which is nonempty if present.
Attributes are declared by name with a kind and a default; they print in TVMScript in this order. The text form is

    %y = relax.permute_dims %x {axes = [0, 2, 1]} : !relax.tensor<[4, 3, 5], f32>

where attributes with their default value are omitted.

Core operators have their reference semantics and their legalization in tables of other packages. An operator of a
plug-in (`plugins`) defines them itself: `reference` computes in numpy, `compute` in `te`. `docs/extending/` has an
example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, ClassVar, NoReturn, Self, cast

from xdsl.dialects.builtin import IntegerType, NoneAttr, StringAttr, TupleType, i1
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ...diagnostics import ArgumentsError, DTypeError, ShapeError, TiraxError
from ...tables import Table
from ..assembly import (
    parse_name,
    parse_type,
    parse_typed_literal,
    parse_value,
    parse_values,
    print_literal,
    print_type,
    print_values,
)
from ..attributes import PyValue, from_attr, to_attr
from ..dtypes import dtype_of, is_float, is_narrow
from ..names import name_of
from ..quick import make
from ..sym.analyzer import Analyzer
from ..sym.expr import Const, SymExpr
from ..sym.operators import minimum, ne
from .devices import device_text
from .parameters import PARAMETERS, REQUIRED
from .plugins import load_plugins
from .types import (
    OBJECT,
    NamedShape,
    PrimType,
    ShapeType,
    TensorType,
    VariableBlock,
    dims_attr,
    is_base_of,
    on_device,
)


@dataclass(frozen=True)
class Domain:
    """A set of data types, and its name in diagnostics."""

    text: str
    examples: str
    holds: Callable[[Attribute], bool]


NUMBERS = Domain("a numeric type", "float32, int64, …", lambda t: t != i1)
FLOATS = Domain("a floating point type", "float16, float32, …", is_float)
INTEGERS = Domain("an integer type", "int32, int64, …", lambda t: isinstance(t, IntegerType) and t != i1)
INTEGERS_AND_BOOL = Domain("an integer type or bool", "int32, bool, …", lambda t: isinstance(t, IntegerType))
BOOL = Domain("the type bool", "bool", lambda t: t == i1)

_MOVES = (
    "astype wrap_param permute_dims reshape flatten broadcast_to expand_dims squeeze concat split stack repeat tile "
    "flip take strided_slice dynamic_strided_slice gather_elements gather_nd index_tensor slice_scatter where "
    "layout_transform zeros_like ones_like full_like full shape_of to_vdevice hint_on_device print memory.view "
    "memory.ensure_zero_offset memory.kill_tensor vm.kill_object"
)
MOVES = frozenset(f"relax.{name}" for name in _MOVES.split())
"""Operators that only move or convert elements: they also support storage-only data types."""


class Kind(StrEnum):
    """Kinds of operator attributes, which determine how they print in TVMScript."""

    VALUE = "value"
    DTYPE = "dtype"
    STRING = "string"
    DEVICE = "device"
    """A string such as `cpu:0`, which prints as `R.device(…)`."""
    FLOAT = "float"
    """A number or a list of them that prints as `T.float32(…)`."""
    NUMBER = "number"
    """A number of the dtype of the first operand."""


@dataclass(frozen=True)
class Attr:
    """A declared attribute of an operator: its kind, its default and the types of its Python value.

    Without `types`, they are derived from the default; a default of None accepts anything. None is accepted if it is
    the default, and an int for a float. The elements of a list are ints or lists of them. If `listed`, one int is
    converted to a list.
    """

    kind: Kind = Kind.VALUE
    default: Any = None
    types: tuple[type[Any], ...] = ()
    listed: bool = False

    @property
    def allowed(self) -> tuple[type[Any], ...]:
        """The types of a value; empty if any is allowed."""
        if self.types or self.default is None:
            return self.types
        return (cast("type[Any]", type(self.default)),)

    def accepts(self, value: PyValue) -> bool:
        """Return whether `value` has one of the attribute's types."""
        if value is None:
            return self.default is None or type(None) in self.types
        if self.kind is Kind.DTYPE:
            return isinstance(value, str | TypeAttribute)
        types = self.allowed
        if not types:
            return True
        if isinstance(value, bool):
            return bool in types
        return isinstance(value, (*types, int) if float in types else types) and _of_ints(value)

    def expected(self) -> str:
        """The accepted values, for a diagnostic."""
        if self.kind is Kind.DTYPE:
            return "a data type"
        return " or ".join(
            {"NoneType": "None", "list": "a list of ints", "IndexMapAttr": "an index map"}.get(t.__name__, t.__name__)
            for t in self.allowed
        )

    def stored(self, value: PyValue) -> Attribute | None:
        """Return a value as the attribute stored in the operator: a dtype's name becomes the type."""
        if self.kind is Kind.DEVICE and isinstance(value, str | StringAttr):
            return StringAttr(device_text(value if isinstance(value, str) else value.data))
        if self.kind is Kind.DTYPE and isinstance(value, str | StringAttr):
            return as_dtype(value if isinstance(value, str) else value.data)
        attr = to_attr(value)
        number = from_attr(attr)
        if type(number) is int and float in self.allowed and int not in self.allowed:
            return to_attr(float(number))
        return to_attr([number]) if self.listed and isinstance(number, int) else attr


def _of_ints(value: PyValue) -> bool:
    """Return whether a list contains only ints and lists of them; True for other values."""
    if not isinstance(value, list | tuple):
        return True
    return all((isinstance(v, int) and not isinstance(v, bool)) or isinstance(v, list | tuple) for v in value) and all(
        map(_of_ints, value)
    )


VALUE = Attr()
DTYPE = Attr(Kind.DTYPE)
AXIS = Attr(types=(int,))
"""One axis, or None."""
AXES = Attr(types=(int, list), listed=True)
"""An axis or a list of axes, stored as a list, or None."""

Arg = SSAValue | Sequence[SSAValue] | None

_ASSUMED: ContextVar[list[tuple[SymExpr, SymExpr]] | None] = ContextVar("assumed", default=None)
"""The list that `Operator.assumptions` collects; None during type inference."""


class Nothing:
    """The Python default of an operand that is an empty tuple if omitted."""


NOTHING = Nothing()


@cache
def _parameters(cls: type[Operator]) -> Mapping[str, str]:
    fields = (*(n.rstrip("*?") for n in cls.ARG_NAMES), *cls.ATTR_SPECS)
    return MappingProxyType(dict(PARAMETERS.get(cls.name) or {n: n for n in fields}))


def certainly_differ(a: SymExpr, b: SymExpr) -> bool:
    """Return whether two extents are different for all values of their variables."""
    difference = (a - b).constant
    return Analyzer().can_prove(ne(a, b)) if difference is None else difference != 0


class Operator(IRDLOperation):
    """Base of Relax operators: `args` and `attr` read them, `infer` computes the result type."""

    ARG_NAMES: ClassVar[tuple[str, ...]] = ()
    """Names of the operands with their mark: `x`, `xs*` (a tuple), `bias?` (optional), `xs*?` (an optional tuple)."""
    ATTR_SPECS: ClassVar[Mapping[str, Attr]] = {}
    PRIM_ARGS: ClassVar[frozenset[str]] = frozenset()
    """Scalar operands: a Python number for one becomes a prim value, for others a constant tensor."""
    OPTIONAL: ClassVar[frozenset[str]] = frozenset()
    """Operands that `fill_defaults` fills in if they are omitted."""
    ARG_DEFAULTS: ClassVar[Mapping[str, bool | int | float | str | Nothing]] = {}
    """Defaults of operands that are omitted in Python and in TVMScript."""
    DOMAINS: ClassVar[Mapping[str, Domain]] = {}
    """The supported data types of tensor operands, by name; `*` applies to all others."""
    ADDED: ClassVar[frozenset[str]] = frozenset()
    """Attributes that TVM 0.20 lacks: they only print in TVMScript if they differ from their defaults."""
    WRITTEN: ClassVar[tuple[str, ...]] = ()
    """Beginnings of messages on what is wrong for operands of any type: they are raised where the call is written."""
    PURE: ClassVar[bool] = True
    SPREAD: ClassVar[bool] = False
    """True if the fields of `xs*`, the last operand, are separate arguments in Python: attributes are then
    keyword-only.
    """

    def infer(self) -> Attribute:
        """Return the struct info of the result. Raises `ShapeError` or `DTypeError` naming the operator and the
        argument.
        """
        raise NotImplementedError(self.name)

    def inferred(self) -> Attribute:
        """Return the struct info of the result, on the virtual device of the first tensor that has one: see `infer`."""
        result = self.infer()
        for value in self.operands:
            t = value.type
            if isinstance(t, TensorType) and isinstance(t.vdevice, StringAttr):
                return on_device(result, t.vdevice)
        return result

    @classmethod
    def is_flag(cls, arg: str) -> bool:
        """Return whether an operand is a flag: in TVM it is a number, 1 or 0."""
        return isinstance(cls.ARG_DEFAULTS.get(arg), bool)

    def check_operands(self) -> None:
        """Raise if operands do not match although the result is known; called by the verifier, not by inference."""

    def reference(self, *args: Any, **_: Any) -> Any:
        """Return the result on numpy arrays, for an operator without an entry in the interpreter's tables."""
        raise NotImplementedError(self.name)

    def compute(self, *args: Any, **_: Any) -> Any:
        """Return the result on `te` tensors, for an operator without an entry in the legalization tables."""
        raise NotImplementedError(self.name)

    @classmethod
    def brings(cls, method: str) -> bool:
        """Return whether the class defines its own `reference` or `compute`."""
        return getattr(cls, method) is not getattr(Operator, method)

    @classmethod
    def make(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Build the operator and infer its result; omitted operands and attributes take their defaults."""
        unknown = set(attrs) - set(cls.ATTR_SPECS)
        if unknown:
            raise TiraxError(f"{cls.name} has no attribute {', '.join(sorted(unknown))}", found=", ".join(attrs))
        op = cls._create_with(args, attrs, PrimType.of(i1))
        op.results[0]._type = op.inferred()  # pyright: ignore[reportPrivateUsage]
        return op

    @classmethod
    def unchecked(cls, *args: Arg, **attrs: PyValue) -> Self:
        """Return the operator for operands that do not match: its result type is unknown. Inferring it raises
        the error.
        """
        return cls._create_with(args, attrs, OBJECT)

    @classmethod
    def _create_with(cls, args: Sequence[Arg], attrs: Mapping[str, PyValue], result: Attribute) -> Self:
        if len(args) > len(cls.ARG_NAMES):
            raise ArgumentsError(f"{cls.name} takes {len(cls.ARG_NAMES)} arguments", found=len(args))
        groups: list[Sequence[SSAValue]] = []
        for i, name in enumerate(cls.ARG_NAMES):
            arg = args[i] if i < len(args) else None
            if arg is None and not name.endswith("?"):
                raise ArgumentsError(f"{cls.name}: argument {name.rstrip('*')} is missing")
            groups.append(() if arg is None else (arg,) if isinstance(arg, SSAValue) else tuple(arg))
        values = {n: s.stored(attrs.get(n, s.default)) for n, s in cls.ATTR_SPECS.items()}
        cls._check_attrs(values)
        properties = {n: v for n, v in values.items() if v is not None}
        if not _has_segments(cls):
            return make(cls, [v for group in groups for v in group], [result], properties)
        return cls(operands=groups, properties=properties, result_types=[result])

    @classmethod
    def _check_attrs(cls, values: Mapping[str, Attribute | None]) -> None:
        """Raise `DTypeError` if an attribute has the wrong type."""
        for name, spec in cls.ATTR_SPECS.items():
            value = from_attr(values.get(name))
            if not spec.accepts(value):
                raise DTypeError(
                    f"{cls.name}: attribute {name} is of the wrong type", expected=spec.expected(), found=value
                )

    @classmethod
    def parameters(cls) -> Mapping[str, str]:
        """Return the Python parameters, in order, each with its operand or attribute."""
        return _parameters(cls)

    @classmethod
    def is_required(cls, name: str) -> bool:
        """Return whether the parameter `name` has no default."""
        field = cls.parameters()[name]
        has_default = field in cls.OPTIONAL or field in cls.ARG_DEFAULTS
        return (field in cls.ARG_NAMES and not has_default) or name in REQUIRED.get(cls.name, ())

    @classmethod
    def fill_defaults(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return Python arguments by operand and attribute name, with defaults for omitted operands.

        Raises `TiraxError` if a required argument is missing.
        """
        out = {**arguments, **{n: v for n, v in cls.ARG_DEFAULTS.items() if arguments.get(n) is None}}
        for name, field in cls.parameters().items():
            if field not in out and cls.is_required(name):
                raise ArgumentsError(f"{cls.name}: argument {name} is missing", expected=", ".join(cls.parameters()))
        return out

    @classmethod
    def use_parameter_names(cls, message: str) -> str:
        """Return a message with operands called by their Python parameter names."""
        for name, field in PARAMETERS.get(cls.name, {}).items():
            message = re.sub(rf"\b{field}\b", name, message) if name != field else message
        return message

    @classmethod
    def collect_varargs(cls, args: Sequence[Any]) -> list[Any]:
        """Return the positional arguments of a Python call, one for each operand, with spread arguments
        collected into a tuple.
        """
        last = len(cls.ARG_NAMES) - 1
        if not cls.SPREAD or len(args) < last:
            return list(args)
        rest = args[last:]
        return [*args[:last], rest[0] if len(rest) == 1 and isinstance(rest[0], list | tuple) else tuple(rest)]

    @property
    def args(self) -> list[Arg]:
        """The operands: a value, a tuple of values (for `xs*`) or None (an absent optional one)."""
        out: list[Arg] = []
        for name in self.ARG_NAMES:
            value = getattr(self, name.rstrip("*?"))
            out.append(value if "*" not in name else tuple(value) if value or name.endswith("*") else None)
        return out

    def attr(self, name: str) -> Any:
        """Return the Python value of an attribute, or None if it is absent."""
        return from_attr(self.properties.get(name))

    @property
    def script_name(self) -> str:
        """Return the operator's name in TVMScript, after `R.`"""
        return self.name.removeprefix("relax.")

    @property
    def result_type(self) -> Attribute:
        return self.results[0].type

    def tensor(self, arg: str) -> TensorType:
        """Return the type of the operand `arg`, which must be a tensor."""
        value = cast(SSAValue, getattr(self, arg))
        return self.as_tensor(value, arg)

    def as_tensor(self, value: SSAValue, arg: str) -> TensorType:
        if not isinstance(value.type, TensorType):
            self.fail_dtype(f"argument {arg} must be a tensor", "a tensor", value.type)
        self.check_domain(value.type, arg, f"argument {arg}")
        return value.type

    def check_domain(self, t: TensorType, arg: str, place: str) -> None:
        """Raise `DTypeError` if the operand `arg`, at position `place`, has an unsupported data type."""
        if t.element is not None and is_narrow(t.element) and self.name not in MOVES:
            expected = "a type that is computed with: R.astype converts"
            self.fail_dtype(f"{place} is of a type that is only stored and converted", expected, t.element)
        domain = self.DOMAINS.get(arg) or self.DOMAINS.get("*")
        if domain is not None and t.element is not None and not domain.holds(t.element):
            self.fail_dtype(f"{place} must be of {domain.text}", domain.examples, t.element)

    def tensors(self, arg: str) -> list[TensorType]:
        """Return the types of the operand `arg`, a tuple of tensors, given as values or as one tuple value."""
        values = cast(Sequence[SSAValue], getattr(self, arg))
        if len(values) == 1 and isinstance(values[0].type, TupleType):
            types = list(values[0].type.types)
        else:
            types = [v.type for v in values]
        for i, t in enumerate(types):
            if not isinstance(t, TensorType):
                self.fail_dtype(f"{arg}[{i}] must be a tensor", "a tensor", t)
            self.check_domain(t, arg, f"{arg}[{i}]")
        return cast(list[TensorType], types)

    def shape_arg(self, arg: str) -> ShapeType:
        value = cast(SSAValue, getattr(self, arg))
        if not isinstance(value.type, ShapeType):
            self.fail_dtype(f"argument {arg} must be a shape", "a shape", value.type)
        return value.type

    def of_shape_arg(self, arg: str, dtype: Attribute | None) -> TensorType:
        """Return a tensor of the shape operand; a variable that is in no program is named, and a parameter of unknown
        extents.
        """
        shape = self.shape_arg(arg)
        value = cast(SSAValue, getattr(self, arg))
        if isinstance(value, BlockArgument) and (name := name_of(value)) is not None:
            if shape.dims is None:
                return TensorType.of(name, dtype, shape.rank)
            if isinstance(value.block, VariableBlock):
                named = NamedShape(StringAttr(name), dims_attr(shape.dims))
                return TensorType(named, shape.ndim, dtype or NoneAttr(), NoneAttr())
        return TensorType.of(shape.dims, dtype, shape.rank)

    def fail_shape(self, what: str, expected: object = None, found: object = None) -> NoReturn:
        raise ShapeError(f"{self.name}: {self.use_parameter_names(what)}", expected=expected, found=found)

    def require_equal(self, a: SymExpr, b: SymExpr, what: str, expected: object = None, found: object = None) -> None:
        """Require two extents to be equal: `ShapeError` if they certainly differ; an assumption if unknown."""
        difference = (a - b).constant
        if difference == 0:
            return
        if certainly_differ(a, b):
            self.fail_shape(what, expected, found)
        assumed = _ASSUMED.get()
        if assumed is not None:
            assumed.append((a, b))

    def require_at_least(self, extent: SymExpr, least: int, what: str) -> None:
        """Require an extent to be at least `least`: `ShapeError` if it certainly is less; an assumption if unknown."""
        self.require_equal(minimum(extent, least), Const(least, extent.dtype), what, f"at least {least}", extent)

    def assumptions(self) -> list[tuple[SymExpr, SymExpr]]:
        """Return pairs of extents that must be equal at run time, but are not known to be."""
        assumed: list[tuple[SymExpr, SymExpr]] = []
        before = _ASSUMED.set(assumed)
        try:
            self.infer()
            self.check_operands()
        finally:
            _ASSUMED.reset(before)
        return assumed

    def fail_dtype(self, what: str, expected: object = None, found: object = None) -> NoReturn:
        raise DTypeError(f"{self.name}: {self.use_parameter_names(what)}", expected=expected, found=found)

    def verify_(self) -> None:
        try:
            self._check_attrs(self.properties)
            inferred = self.inferred()
            self.check_operands()
        except TiraxError as error:
            raise VerifyException(str(error)) from error
        if not is_base_of(self.result_type, inferred):
            raise VerifyException(f"{self.name}: result type {self.result_type} does not hold; inferred {inferred}")

    def print(self, printer: Printer) -> None:
        first = True
        for name, arg in zip(self.ARG_NAMES, self.args, strict=True):
            if arg is None:
                continue
            printer.print_string(" " if first else ", ")
            first = False
            if isinstance(arg, SSAValue):
                if name.endswith("?"):
                    printer.print_string(f"{name.rstrip('?')} = ")
                printer.print_ssa_value(arg)
            else:
                printer.print_string(f"{name.rstrip('*?')} = " if name.endswith("?") else "")
                print_values(printer, arg)
        self._print_attrs(printer)
        print_type(printer, self.result_type)

    def _print_attrs(self, printer: Printer) -> None:
        shown = [(n, v) for n, s in self.ATTR_SPECS.items() if (v := self.attr(n)) != s.default]
        if not shown:
            return
        printer.print_string(" {")
        for i, (name, value) in enumerate(shown):
            printer.print_string((", " if i else "") + f"{name} = ")
            print_literal(printer, value)
        printer.print_string("}")

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        args = [cls._parse_arg(parser, name, first=i == 0) for i, name in enumerate(cls.ARG_NAMES)]
        attrs: dict[str, PyValue] = {n: s.default for n, s in cls.ATTR_SPECS.items()}

        def parse_one() -> None:
            name = parse_name(parser, f"{cls.name} has no attribute", cls.ATTR_SPECS)
            attrs[name] = parse_typed_literal(parser)

        parser.parse_optional_comma_separated_list(parser.Delimiter.BRACES, parse_one)
        return cls._create_with(args, attrs, parse_type(parser))

    @classmethod
    def _parse_arg(cls, parser: Parser, name: str, first: bool) -> Arg:
        if name.endswith("?"):
            return cls._parse_optional_arg(parser, name, first)
        if not first:
            parser.parse_punctuation(",")
        return cls._parse_plain_arg(parser, name)

    @staticmethod
    def _parse_plain_arg(parser: Parser, name: str) -> Arg:
        return parse_values(parser) if "*" in name else parse_value(parser)

    @classmethod
    def _parse_optional_arg(cls, parser: Parser, name: str, first: bool) -> Arg:
        with_comma = not first and parser.parse_optional_punctuation(",") is not None
        if not (first or with_comma):
            return None
        if parser.parse_optional_keyword(name.rstrip("*?")) is None:
            if with_comma:
                later = [n.rstrip("*?") for n in cls.ARG_NAMES if n.endswith("?")]
                parser.raise_error(f"expected one of {', '.join(later)}, in this order")
            return None
        parser.parse_punctuation("=")
        return cls._parse_plain_arg(parser, name)


OPERATORS: Table[type[Operator]] = Table("operator", load_plugins)
"""All operators by name, e.g. `relax.nn.relu`: those of the core and those declared by plug-ins."""

_FIELDS: dict[str, Callable[[], Any]] = {"": operand_def, "*": var_operand_def, "?": opt_operand_def}
_FIELDS["*?"] = var_operand_def


def operator(name: str, args: str = "", **attrs: Attr | PyValue) -> Callable[[type[Any]], type[Any]]:
    """Declare the decorated class as the operator `name`, with the operands of `args` and `attrs`.

    An attribute given as a plain value has that default and the kind `VALUE`. Raises `TiraxError` for a name outside of
    `relax` and for one that another module has declared.
    """
    if not name.startswith("relax."):
        raise TiraxError("an operator's name begins with the dialect", expected=f"relax.{name}", found=name)
    names = tuple(args.split())
    specs = {n: a if isinstance(a, Attr) else Attr(default=a) for n, a in attrs.items()}
    return lambda cls: define_operator(cls, name, names, specs)


def define_operator(cls: type[Any], name: str, names: tuple[str, ...], specs: Mapping[str, Attr]) -> type[Operator]:
    """Turn a class into the operator `name`, with operands by `names` and attributes by `specs`."""
    fields: dict[str, Any] = {n.rstrip("*?"): _FIELDS[n.removeprefix(n.rstrip("*?"))]() for n in names}
    fields |= {n: opt_prop_def(Attribute) for n in specs}
    fields |= {"name": name, "result": result_def()}
    if sum(n[-1] in "*?" for n in names) > 1:
        fields["irdl_options"] = (AttrSizedOperandSegments(as_property=True),)
    if cls.PURE and "traits" not in vars(cls):
        fields["traits"] = traits_def(Pure())
    for field, value in fields.items():
        setattr(cls, field, value)
    defined: type[Operator] = irdl_op_definition(cls)
    defined.ARG_NAMES, defined.ATTR_SPECS = names, specs
    OPERATORS.add(name, defined, override=_is_declared_in(name, cls.__module__))
    return defined


def _is_declared_in(name: str, module: str) -> bool:
    """Return whether an operator of the name is declared, by this module: it runs again, or its attributes changed."""
    existing = OPERATORS.declared(name)
    return existing is not None and existing.__module__ == module


def as_dtype(value: str | Attribute | None) -> Attribute | None:
    """Return the type for a dtype's name or type; None for `void` and None, which are unknown."""
    if value is None or value == "void" or value == "":
        return None
    return dtype_of(value) if isinstance(value, str) else value


def describe(op: Operation, value: SSAValue) -> str:
    """Return the description of an operand in diagnostics: its name, or its position."""
    name = name_of(value)
    return f"'{name}'" if name else f"operand {list(op.operands).index(value)}"


@cache
def _has_segments(cls: type[Operator]) -> bool:
    """Return whether operations of a class store the sizes of their operand groups."""
    return any(isinstance(option, AttrSizedOperandSegments) for option in cls.get_irdl_definition().options)
