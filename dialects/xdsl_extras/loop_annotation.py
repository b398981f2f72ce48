"""`#llvm.loop_annotation`, which xDSL lacks: hints for LLVM's loop passes on a branch back, or on `scf.for`.

    #llvm.loop_annotation<vectorize = <disable = true>, unroll = <count = 4 : i32>>

Options are those of MLIR; `metadata` names the ones that LLVM text is written for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Self, cast

from xdsl.dialects.builtin import BoolAttr, DictionaryAttr, IntegerAttr, UnitAttr, i1, i32
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...diagnostics import UnsupportedError
from .type_guards import is_integer_attr

Option = bool | int | Mapping[str, "Option"]


def _attribute(option: Option) -> Attribute:
    if isinstance(option, bool):
        return BoolAttr.from_bool(option)
    if isinstance(option, int):
        return IntegerAttr(option, i32)
    return DictionaryAttr({name: _attribute(value) for name, value in option.items()})


@irdl_attr_definition
class LoopAnnotationAttr(ParametrizedAttribute):
    """Hints for a loop: a dictionary of options, groups of them are dictionaries."""

    name = "llvm.loop_annotation"

    options: DictionaryAttr

    @classmethod
    def of(cls, **options: Option) -> Self:
        """Return hints: `LoopAnnotationAttr.of(unroll={"count": 4})`."""
        return cls(cast(DictionaryAttr, _attribute(options)))

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        return [_parse_group(parser)]

    def print_parameters(self, printer: Printer) -> None:
        _print_group(printer, self.options)

    def metadata(self) -> Iterator[tuple[str, IntegerAttr | UnitAttr]]:
        """Yield the nodes of LLVM's metadata, their names without `llvm.loop.`. Raises `UnsupportedError`."""
        for name, value in self.options.data.items():
            group = value.data if isinstance(value, DictionaryAttr) else {"": value}
            for option, number in group.items():
                key = f"{name}.{option}" if option else name
                if key not in _METADATA or not is_integer_attr(number):
                    raise UnsupportedError(f"loop annotation '{key} = {number}'", expected=", ".join(_METADATA))
                yield from _METADATA[key](number)


def _parse_group(parser: AttrParser) -> DictionaryAttr:
    def option() -> tuple[str, Attribute]:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        if parser.parse_optional_punctuation("<") is None:
            return name, parser.parse_attribute()
        rest = parser.parse_comma_separated_list(parser.Delimiter.NONE, option)
        parser.parse_punctuation(">")
        return name, DictionaryAttr(dict(rest))

    return DictionaryAttr(dict(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, option)))


def _print_group(printer: Printer, group: DictionaryAttr) -> None:
    def option(item: tuple[str, Attribute]) -> None:
        printer.print_string(f"{item[0]} = ")
        if isinstance(item[1], DictionaryAttr):
            _print_group(printer, item[1])
        else:
            printer.print_attribute(item[1])

    with printer.in_angle_brackets():
        printer.print_list(group.data.items(), option)


_Nodes = Callable[[IntegerAttr], list[tuple[str, IntegerAttr | UnitAttr]]]


def _flag(yes: str, no: str | None = None) -> _Nodes:
    def nodes(value: IntegerAttr) -> list[tuple[str, IntegerAttr | UnitAttr]]:
        key = yes if value.value.data else no
        return [] if key is None else [(key, UnitAttr())]

    return nodes


def _number(key: str) -> _Nodes:
    return lambda value: [(key, value)]


_METADATA: dict[str, _Nodes] = {
    "disableNonforced": _flag("disable_nonforced"),
    "mustProgress": _flag("mustprogress"),
    "vectorize.disable": lambda value: [("vectorize.enable", IntegerAttr(int(not value.value.data), i1))],
    "vectorize.width": _number("vectorize.width"),
    "interleave.count": _number("interleave.count"),
    "unroll.disable": _flag("unroll.disable", "unroll.enable"),
    "unroll.full": _flag("unroll.full"),
    "unroll.count": _number("unroll.count"),
    "unroll.runtimeDisable": _flag("unroll.runtime.disable"),
}
