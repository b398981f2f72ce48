"""Signatures of ops for verification: ops with the same signature are verified once.

Verifying an op takes about thirty times as long as computing its signature.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.traits import HasAncestor, SymbolOpInterface, SymbolUserOpInterface

from ...dialects import relax

Signature = tuple[object, ...]

_BY_SIGNATURE = (
    *("arith", "cf", "func", "host", "llvm", "math", "memref", "relax", "scf", "sym"),
    *("tir", "vector"),
)
"""Dialects whose verifiers depend only on the signature, except for `_CALLEES` and `_DEEP`."""

_DEEP = (
    *("func.return", "relax.constant", "relax.dataflow", "relax.function_ref", "relax.memory.alloc_tensor"),
    *("relax.vm.alloc_tensor", "scf.parallel", "scf.reduce", "tir.reduce"),
)
"""Operations whose verifiers look beyond types and the ends of their regions (references at their uses), or which are
large (constants).
"""

_LITERALS = (relax.DataTypeOp, relax.PrimValueOp)
"""Operations whose contents the verifiers of their users inspect."""

_CALLEES = {
    "func.call": "callee",
    "llvm.call": "callee",
    "relax.call": "callee",
    "relax.call_tir": "callee",
    "relax.call_tir_inplace": "callee",
    "relax.function_ref": "callee",
    "tir.call": "func",
}
"""Calls of functions of the module, which depend on the callee's interface: the property that names the function."""

_OURS = (__name__.partition(".")[0] + ".", "xdsl.")


@dataclass(frozen=True)
class Kind:
    """Properties of an op class that matter to verification."""

    by_signature: bool
    afar: bool
    """True if the verifier looks at other functions, or at all surrounding ops."""
    callee: str | None
    """The property that names the called function."""
    name: str | None
    """The property with the name under which others call the op."""
    reads_literals: bool

    @property
    def plain(self) -> bool:
        """True if ops of the class have a quick signature (`Signatures.unknown`)."""
        return self.by_signature and not (self.callee or self.name or self.reads_literals)


@cache
def kind_of(cls: type[Operation]) -> Kind:
    """Return the `Kind` of an op class."""
    ours = next(c.__module__ for c in cls.__mro__ if c.__module__ != "abc").startswith(_OURS)  # rows of tables: "abc"
    dialect, deep = cls.name.partition(".")[0], cls.name in _DEEP
    callee = _CALLEES.get(cls.name) if ours else None
    afar = callee is not None or any(isinstance(t, SymbolUserOpInterface | HasAncestor) for t in cls.traits)
    by_signature = ours and not deep and (callee is not None or not afar and dialect in _BY_SIGNATURE)
    name = "sym_name" if cls.has_trait(SymbolOpInterface) else None
    return Kind(by_signature, afar, callee, name, dialect == "relax")


class _Numbers(dict[int, int]):
    """Numbers of attributes by `id`, the same for equal attributes.

    Hashing an attribute is the most expensive step here.
    """

    def __init__(self) -> None:
        self._by_value: dict[Attribute, int] = {}
        self._held: list[Attribute] = []
        """So that no other attribute can have the `id` of one that is numbered."""

    def of(self, attributes: Iterable[Attribute]) -> Signature:
        try:
            return tuple(map(self.__getitem__, map(id, attributes)))
        except KeyError:
            for attribute in attributes:
                if id(attribute) not in self:
                    self._held.append(attribute)
                    self[id(attribute)] = self._by_value.setdefault(attribute, len(self._by_value))
            return tuple(map(self.__getitem__, map(id, attributes)))


class Signatures:
    """Signatures of ops: equal if verification cannot distinguish the ops."""

    def __init__(self) -> None:
        self._numbers = _Numbers()
        self._interfaces: dict[Signature, int] = {}

    def of(self, op: Operation, functions: Functions | None = None) -> Signature | None:
        """Return the types, attributes and context of an op, and the first and last ops of its regions.

        For a call, with the `functions` of the module: the interface of the callee instead of its name. For a function:
        everything but its name. None for detached ops, ops with multi-block regions, and calls of functions that are
        not in the module.
        """
        cls, block, properties = type(op), op.parent, op.properties
        if block is None or block.parent is None:
            return None
        kind, more = kind_of(cls), ()
        name = kind.callee or kind.name
        if name in properties:
            called = type(properties[name]) if name == kind.name else None
            if name == kind.callee and functions is not None:
                called = functions.called_by(op)
            if called is None:
                return None
            more = (called,)
            properties = {k: v for k, v in properties.items() if k != name}
        if op.regions:
            if any(r.first_block is not r.last_block for r in op.regions):
                return None
            more += tuple([self._ends(region) for region in op.regions])
        attributes = [v._type for v in op._operands]
        attributes += [r._type for r in op.results]
        attributes += properties.values()
        if op.attributes:
            more += tuple(op.attributes)
            attributes += op.attributes.values()
        if kind.reads_literals:
            more += self._literals(op)
        last = op._next_op is None and self._end(op, block)
        names = (*properties, len(op._operands), len(op.results))
        return cls, type(block.parent.parent), last, *names, *self._numbers.of(attributes), *more

    @staticmethod
    def unknown(ops: Iterable[Operation], known: Container[Signature]) -> Iterator[tuple[Operation, Signature]]:
        """Yield the ops whose quick signature is not in `known`, with the signature.

        Empty for ops that need a full one. It consists of `id`s, valid as long as the attributes live. Those of ops
        with a full signature live as long as the `Signatures`.
        """
        for op in ops:
            block = op.parent
            if op.regions or op._successors or block is None or block.parent is None:
                yield op, ()
                continue
            operands, properties = op._operands, op.properties
            key: list[object] = [type(op), type(block.parent.parent), len(operands), *properties]
            for value in operands:
                key.append(id(value._type))
            for value in op.results:
                key.append(id(value._type))
            for attribute in properties.values():
                key.append(id(attribute))
            if op.attributes:
                key += op.attributes
                key += map(id, op.attributes.values())
            if op._next_op is None:
                key.append(block._prev_block is block._next_block)
            signature = tuple(key)
            if signature not in known:
                yield op, signature

    @staticmethod
    def _end(op: Operation, block: Block) -> Signature:
        alone = block.prev_block is None and block.next_block is None
        return alone, tuple([(b.parent is block.parent, b.arg_types) for b in op._successors])

    def _literals(self, op: Operation) -> Signature:
        owners = [v.owner for v in op._operands]
        return tuple([self._numbers.of([o.properties["value"]]) if isinstance(o, _LITERALS) else None for o in owners])

    def _ends(self, region: Region) -> Signature:
        block = region.first_block
        last = None if block is None else block.last_op
        if block is None or last is None:
            return (block is None,)
        return self._numbers.of(block.arg_types), type(last), self._numbers.of([v._type for v in last._operands])

    def interface(self, op: Operation) -> int:
        """Return a number for a function's interface, without name and body; equal interfaces share it."""
        blocks = [region.first_block for region in op.regions]
        kept = {k: v for k, v in op.properties.items() if k != "sym_name"}
        arguments = tuple([b and self._numbers.of(b.arg_types) for b in blocks])
        signature = type(op), *kept, *self._numbers.of(kept.values()), arguments
        return self._interfaces.setdefault(signature, len(self._interfaces))


@cache
def _symbol_trait(cls: type[Operation]) -> SymbolOpInterface | None:
    return cls.get_trait(SymbolOpInterface)


class Functions(dict[str, Operation]):
    """The functions of a module by name, with the interfaces of those that are called."""

    def __init__(self, module: ModuleOp, signatures: Signatures):
        super().__init__()
        self._signatures = signatures
        self._interfaces: dict[str, int] = {}
        for op in module.body.block.ops:
            trait = _symbol_trait(type(op))
            name = None if trait is None else trait.get_sym_attr_name(op)
            if name is not None:
                self.setdefault(name.data, op)

    def interface(self, name: str) -> int:
        """Return the number of a function's interface, or -1 if the module does not have the function."""
        number = self._interfaces.get(name)
        if number is None:
            op = self.get(name)
            number = self._interfaces[name] = -1 if op is None else self._signatures.interface(op)
        return number

    def called_by(self, op: Operation) -> Signature | None:
        """Return how a call names its function, and the function's interface; None if it is not in the module."""
        name = called_name(op)
        number = -1 if name is None else self.interface(name)
        return None if number < 0 else (type(op.properties[_CALLEES[op.name]]), number)


def called_name(op: Operation) -> str | None:
    """Return the name of the function that an op calls, or "" for a call through a pointer.

    None if its verifier looks at something else outside the op.
    """
    key = kind_of(type(op)).callee
    match op.properties.get(key) if key is not None else op:
        case None:
            return ""
        case (
            StringAttr(data=name)
            | SymbolRefAttr(root_reference=StringAttr(data=name), nested_references=ArrayAttr(data=()))
        ):
            return name
        case _:
            return None
