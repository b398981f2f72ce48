"""Relax functions as TVMScript."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr, TupleType, f32, i1, i32, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, SSAValue

from ...diagnostics import UnsupportedError
from ...dialects import relax
from ...dialects.attributes import from_attr
from ...dialects.dtypes import dtype_name, is_float
from ...dialects.names import name_of
from ...dialects.relax.devices import device_numbers, place_of_vdevice
from ...dialects.sym import IndexMapAttr, IndexMapping, SymAttr, ValueOp
from ...dialects.sym.expr import SymExpr, Var
from ...ir.names import is_declared
from ...ir.verification.as_written import as_written
from .document import Document, Expr, atom
from .literals import dictionary, parenthesized, python_value, relax_constant, shown_attrs, string, tir_float
from .names import NameScope
from .struct_info import struct_info
from .symbolic import symbolic

INLINE = relax.INLINE_OPS
"""Ops that print where they are used, unless they have a name."""


def _hides_struct_info(op: Operation) -> bool:
    """Whether a call says what it gives, so that its binding has no annotation."""
    return isinstance(op, relax.CallDPSPackedOp) or (isinstance(op, relax.CallTIROp) and op.te_grad_name is None)


_NOTHING = TupleType(())
"""What a call gives that is made for its effect: it is a statement."""


def _last_copies(block: Block) -> set[SSAValue]:
    """The bindings `y = x` at the end of a region: read back, they would name a result, and be no bindings."""
    found: set[SSAValue] = set()
    op = block.last_op.prev_op if block.last_op is not None else None
    while isinstance(op, relax.BindOp):
        found.add(op.result)
        op = op.prev_op
    return found


class RelaxPrinter:
    """Prints a Relax function, with the functions in it, into a document."""

    def __init__(self, doc: Document, ops: Iterable[Operation]):
        """`ops` are what is printed: a name that is made up is none that a value in them asks for."""
        config = doc.config
        reserved = [config.relax_prefix, config.tir_prefix, config.ir_prefix, "metadata"]
        self.doc = doc
        self._alias = (config.module_alias or config.module_name) if doc.in_module else ""
        self._alias_used = False
        self._names = NameScope("", [*reserved, self._alias], _hints_in(ops))
        self._values: dict[SSAValue, str] = {}
        self._symbols: dict[str, str] = {}
        self._undeclared: list[str] = []
        self._in_signature = False
        self._own_symbols: set[str] = set()
        self._prologue: tuple[list[str], int] = (doc.lines, 0)
        self._hints: dict[SSAValue, str] = {}
        self._given: dict[SSAValue, str] = {}
        self._externs: dict[str, OpResult] = {}

    # Symbolic dimensions

    def literal(self, value: int, dtype: Attribute) -> Expr:
        return atom(str(bool(value))) if dtype == i1 else atom(str(value))

    def symbol(self, var: Var) -> Expr:
        return atom(self.variable(str(var.name), var.dtype))

    def variable(self, key: str, dtype: Attribute) -> str:
        name = self._symbols.get(key)
        if name is None:
            name = self._symbols[key] = self._names.define(key)
            self._own_symbols.add(key)
            declaration = f"{name} = {self.doc.tir(dtype_name(dtype))}()"
            if self._in_signature:
                self._undeclared.append(declaration)
            else:
                lines, depth = self._prologue
                lines.append(self.doc.indent(depth) + declaration)
        return name

    def dim(self, e: SymExpr) -> str:
        """A dimension; in a signature a string where it mentions a variable of the function's own."""
        text = symbolic(self, e).text
        own = self._in_signature and any(str(v.name) in self._own_symbols for v in e.free_vars())
        return string(text) if own else text

    def number(self, value: int, dtype: Attribute) -> str:
        """With its type, by which the program is read back."""
        if dtype == i64:
            return str(value)
        return self.doc.tir(f"{dtype_name(dtype)}({bool(value) if dtype == i1 else value})")

    def device(self, name: str) -> str:
        return place_of_vdevice(name, self.doc.vdevices)

    def _declare(self) -> None:
        for line in self._undeclared:
            self.doc.line(line)
        self._undeclared.clear()

    @contextmanager
    def _signature(self) -> Iterator[None]:
        outer, self._own_symbols = self._own_symbols, set[str]()
        self._in_signature = True
        yield
        self._in_signature = False
        self._own_symbols = outer

    # Functions

    def function(self, func: relax.FuncOp) -> None:
        """Print `@R.function` and the function."""
        options = ([] if func.pure else ["pure=False"]) + (["private=True"] if func.private else [])
        self._function(func, self.doc.function_name(func), options)

    def closure(self, op: relax.ClosureOp) -> None:
        name = self._define(op.result)
        self._function(op, name, [] if op.impure is None else ["pure=False"])
        self.doc.line()

    def _function(self, op: relax.FuncOp | relax.ClosureOp, name: str, options: list[str]) -> None:
        block = op.body.block
        with self._names.frame():
            with self._signature():
                names = [self._define(p, "param") for p in block.args]
                ret = struct_info(self, op.ret_type)  # its variables are declared first, as TVM does
                params = [f"{name}: {struct_info(self, p.type)}" for name, p in zip(names, block.args, strict=True)]
            decorator = self.doc.relax("function") + (f"({', '.join(options)})" if options else "")
            self.doc.line("@" + decorator)
            self.doc.line(f"def {name}({', '.join(params)}) -> {ret}:", op)
            with self.doc.indented():
                self._declare()
                attrs = shown_attrs(op.func_attrs, name)
                if attrs:
                    text = dictionary(self.doc, attrs, tir=False)
                    self.doc.line(f"{self.doc.relax('func_attr')}({text})")
                body: list[str] = []
                with self.doc.collecting(body):
                    self._bindings(block)
                self._alias_line(isinstance(op, relax.FuncOp))
                self.doc.lines.extend(body)

    def _alias_line(self, at_top: bool) -> None:
        if at_top and self._alias_used and self._alias != self.doc.config.module_name:
            self.doc.line(f"{self._alias} = {self.doc.config.module_name}")

    def _callee(self, name: str) -> str:
        if not self._alias:
            return name
        self._alias_used = True
        return f"{self._alias}.{name}"

    # Bindings

    def _define(self, value: SSAValue, fallback: str | None = None) -> str:
        """The name of a value that is bound here."""
        name = self._given.get(value)
        if name is None:
            hint = name_of(value) or self._hints.get(value) or fallback
            name = self._names.define(hint or _fallback(value), made_up=hint is None)
        self._values[value] = name
        return name

    def _bindings(self, block: Block) -> None:
        """The bindings of a block. Variables new in a dataflow block, or in a run of bindings, stand before it."""
        outer = self._prologue
        prologue: list[str] = []
        run: list[str] = []
        self._prologue = (prologue, self.doc.depth)
        for op in block.ops:
            if isinstance(op, relax.DataflowOp):
                self._flush(prologue, run)
            with self.doc.collecting(run):
                self._statement(op)
            if isinstance(op, relax.DataflowOp):
                self._flush(prologue, run)
        self._flush(prologue, run)
        self._prologue = outer

    def _flush(self, *parts: list[str]) -> None:
        for lines in parts:
            self.doc.lines.extend(lines)
            lines.clear()

    def _statement(self, op: Operation) -> None:
        statement = _STATEMENTS.get(type(op))
        if statement is not None:
            statement(self, op)
        elif len(op.results) == 1:
            self._binding(op)
        else:
            raise UnsupportedError(f"{op.name} has no form in TVMScript", found=str(op).split("\n", 1)[0])

    def _binding(self, op: Operation) -> None:
        result = op.results[0]
        inline = isinstance(op, INLINE) and result.name_hint is None
        text = self._expression(op, bare_tuple=not inline)
        if inline or isinstance(op, ValueOp):
            self._values[result] = text
            return
        if is_declared(op):
            self._values[result] = self._values[op.operands[0]]
            return
        if result.type == _NOTHING and result.first_use is None and isinstance(op, relax.Operator | relax.CallBase):
            self.doc.line(text, op)
            return
        declared = _declared(op)
        hidden = (_hides_struct_info(op) and declared == result.type) or self._says_struct_info(op)
        note = "" if hidden else ": " + struct_info(self, declared)
        self.doc.line(f"{self._define(result)}{note} = {text}", op)
        if isinstance(op, relax.ExternFuncOp):
            self._externs[op.global_symbol.data] = op.result

    def _says_struct_info(self, op: Operation) -> bool:
        """Whether the annotation may be left out: only where asked, and where inference gives the same."""
        if self.doc.config.show_all_struct_info or not isinstance(op, relax.Operator):
            return False
        return op.inferred() == op.result_type

    def _expression(self, op: Operation, bare_tuple: bool) -> str:
        if isinstance(op, relax.TupleOp):
            return self._tuple(op.fields_, bare_tuple)
        printed = _EXPRESSIONS.get(type(op))
        if printed is not None:
            return printed(self, op)
        if isinstance(op, relax.Operator):
            return self._operator(op)
        raise UnsupportedError(f"{op.name} has no form in TVMScript", found=str(op).split("\n", 1)[0])

    def _merges(self, result: SSAValue, source: SSAValue, block: Block) -> bool:
        """Whether a value of a region and the result that it becomes are one variable in TVMScript."""
        owner, outer, inner = source.owner, name_of(result), name_of(source)
        if not isinstance(owner, Operation) or owner.parent is not block or source in self._hints:
            return False
        if isinstance(owner, INLINE) and inner is None:
            return False
        return outer is None or inner is None or outer == inner

    def dataflow(self, op: relax.DataflowOp) -> None:
        pairs = list(zip(op.outputs, op.output_op.values_, strict=True))
        merged: set[SSAValue] = set()
        for result, source in pairs:
            if self._merges(result, source, op.body.block):
                merged.add(result)
                self._hints[source] = name_of(source) or name_of(result) or "gv"
        self.doc.line(f"with {self.doc.relax('dataflow')}():", op)
        with self.doc.indented():
            for inner in op.body.block.ops:
                if not isinstance(inner, relax.OutputOp):
                    self._statement(inner)
            for result, source in pairs:
                if result in merged:
                    self._values[result] = self._values[source]
                else:
                    note, text = struct_info(self, result.type), self._values[source]
                    self.doc.line(f"{self._define(result)}: {note} = {text}", op)
            self.doc.line(f"{self.doc.relax('output')}({', '.join(self._values[r] for r, _ in pairs)})")

    def branch(self, op: relax.IfOp) -> None:
        sources = [cast(relax.YieldOp, r.block.last_op).value for r in (op.then_region, op.else_region)]
        name = self._define(op.result, name_of(sources[0]))
        note = struct_info(self, op.result.type)
        heads = (f"if {self._values[op.cond]}:", "else:")
        for head, source, region in zip(heads, sources, (op.then_region, op.else_region), strict=True):
            merged = source not in _last_copies(region.block) and self._merges(op.result, source, region.block)
            if merged:
                self._hints[source] = self._given[source] = name
                if isinstance(source.owner, relax.DataflowOp):
                    self._given[source.owner.output_op.values_[cast(OpResult, source).index]] = name
            self.doc.line(head, op if region is op.then_region else None)
            with self.doc.indented(), self._names.frame():
                for inner in region.block.ops:
                    if not isinstance(inner, relax.YieldOp):
                        self._statement(inner)
                if not merged:
                    self.doc.line(f"{name}: {note} = {self._values[source]}")

    def give(self, op: relax.ReturnOp) -> None:
        self.doc.line(f"return {self._values[op.value]}", op)

    # Expressions

    def _tuple(self, fields: Sequence[SSAValue], bare: bool = False) -> str:
        if not fields:
            return self.doc.relax("tuple") + "()"
        items = [self._values[f] for f in fields]
        return ", ".join(items) if bare and len(items) > 1 else parenthesized(items)

    def _operator(self, op: relax.Operator) -> str:
        args: list[str] = []
        skipped = False
        for name, arg in zip(op.ARG_NAMES, op.args, strict=True):
            if arg is None:
                skipped = True
            elif isinstance(arg, SSAValue):
                args.append((f"{name.rstrip('?')}=" if skipped else "") + self._values[arg])
            elif op.SPREAD:
                args += [self._values[v] for v in arg]
            else:
                args.append(self._argument_tuple(arg))
        for name, spec in op.ATTR_SPECS.items():
            if name in op.ADDED and op.attr(name) == spec.default:
                continue
            value = self.device(op.attr(name)) if op.name == "relax.to_vdevice" else op.attr(name)
            text = self._attribute(op, value, spec.kind)
            args.append(text if spec.kind is relax.Kind.DEVICE else f"{name}={text}")
        return f"{self.doc.relax(op.script_name)}({', '.join(args)})"

    def _attribute(self, op: relax.Operator, value: object, kind: relax.Kind) -> str:
        if isinstance(value, IndexMapAttr):
            return self._index_map(value.data)
        if kind is relax.Kind.NUMBER and isinstance(value, int | float):
            return self._number(op, value)
        if kind is relax.Kind.FLOAT and value is not None:
            return self._float32(value)
        if kind is relax.Kind.DEVICE:
            device_type, index = device_numbers(str(value))
            return f"{self.doc.relax('device')}(device_type={device_type}, index={index})"
        if kind is relax.Kind.STRING:
            return f"{self.doc.relax('str')}({python_value(value)})"
        return string("void") if value is None and kind is relax.Kind.DTYPE else python_value(value)

    def _float32(self, value: object) -> str:
        if isinstance(value, list):
            return f"[{', '.join(self._float32(v) for v in cast('list[object]', value))}]"
        return tir_float(self.doc, cast(float, value), f32).text

    def _number(self, op: relax.Operator, value: int | float) -> str:
        """A number of the dtype of the first operand, as a prim value where its dtype can be one."""
        t = op.operands[0].type
        element = t.element if isinstance(t, relax.TensorType) else None
        if element is not None and is_float(element):
            return f"{self.doc.relax('prim_value')}({tir_float(self.doc, float(value), element).text})"
        text = str(value) if element in (None, i64) else f"{self.doc.tir(dtype_name(element or i64))}({value})"
        return f"{self.doc.relax('prim_value')}({text})" if element in (None, i1, i32, i64) else text

    def _index_map(self, mapping: IndexMapping) -> str:
        """`T.index_map(lambda i: (i // 4, i % 4))`; parameters that hide a name in use get another one."""
        text = self._lambda(mapping)
        if mapping.inverse_map is not None:
            text += f", inverse_index_map={self._lambda(mapping.inverse_map)}"
        return f"{self.doc.tir('index_map')}({text})"

    def _lambda(self, mapping: IndexMapping) -> str:
        for var in mapping.free_vars():
            self.symbol(var)
        outer = self._symbols
        with self._names.frame():
            names = [self._names.define(str(p.name)) for p in mapping.params]
            self._symbols = outer | {str(p.name): n for p, n in zip(mapping.params, names, strict=True)}
            results = [symbolic(self, r).text for r in mapping.results]
        self._symbols = outer
        return f"lambda {', '.join(names)}: {parenthesized(results)}"

    def _argument_tuple(self, values: Sequence[SSAValue]) -> str:
        if len(values) == 1 and isinstance(values[0].type, TupleType):
            return self._values[values[0]]
        return self._tuple(values)

    def _outputs(self, t: Attribute) -> str:
        if isinstance(t, TupleType):
            return f"out_sinfo=[{', '.join(struct_info(self, f) for f in t.types)}]"
        return f"out_sinfo={struct_info(self, t)}"

    def call_tir(self, op: relax.CallTIROp | relax.CallTIRInplaceOp) -> str:
        args = [self._callee(op.callee_name), self._tuple(op.args), self._outputs(op.result_type)]
        if isinstance(op, relax.CallTIRInplaceOp):
            args.append(f"inplace_indices={op.indices}")
        else:
            args += self._gradient(op)
        if op.tir_vars is not None:
            args.append(f"tir_vars={self._shape(op.tir_vars)}")
        grad = "" if isinstance(op, relax.CallTIRInplaceOp) or op.te_grad_name is None else "_with_grad"
        return f"{self.doc.relax(op.name.removeprefix('relax.') + grad)}({', '.join(args)})"

    def _gradient(self, op: relax.CallTIROp) -> list[str]:
        args = [] if op.te_grad_name is None else [f"te_grad_name={string(op.te_grad_name.data)}"]
        if op.te_grad_kwargs is not None:
            args.append(f"te_grad_kwargs={dictionary(self.doc, op.te_grad_kwargs.data, tir=True)}")
        return args

    def call_dps_packed(self, op: relax.CallDPSPackedOp) -> str:
        args = [self._packed_callee(op), self._tuple(op.args), self._outputs(op.result_type)]
        return f"{self.doc.relax('call_dps_packed')}({', '.join(args)})"

    def _packed_callee(self, op: relax.CallDPSPackedOp) -> str:
        """The variable that is bound to the packed function and seen from here, or the function's name."""
        bound = self._externs.get(op.func.data)
        if bound is not None and cast(Block, bound.owner.parent_block()).is_ancestor(op):
            return self._values[bound]
        return string(op.func.data)

    def call_packed(self, op: relax.CallPackedOp | relax.CallPurePackedOp | relax.CallInplacePackedOp) -> str:
        args = [string(op.func.data), *(self._values[a] for a in op.args)]
        if op.call_attrs is not None:
            entries = op.call_attrs.data
            args += [f"{k}={python_value(from_attr(entries[k]))}" for k in sorted(entries)]
        result = op.result_type
        types = result.types.data if op.several and isinstance(result, TupleType) else (result,)
        args.append(f"sinfo_args={parenthesized([struct_info(self, t) for t in types])}")
        return f"{self.doc.relax(op.name.removeprefix('relax.'))}({', '.join(args)})"

    def call_builtin_with_ctx(self, op: relax.CallBuiltinWithCtxOp) -> str:
        args = f"{string(op.func.data)}, {self._tuple(op.args)}, sinfo_args=({struct_info(self, op.result_type)},)"
        return f"{self.doc.relax('call_builtin_with_ctx')}({args})"

    def call(self, op: relax.CallOp) -> str:
        if op.tir_vars is not None:
            values = [*(self._values[a] for a in op.args), self._shape(op.tir_vars)]
            return f"{self.doc.relax('vm.call_tir_dyn')}({self._callee(op.callee_name)}, {parenthesized(values)})"
        return f"{self._callee(op.callee_name)}({', '.join(self._values[a] for a in op.args)})"

    def call_value(self, op: relax.CallValueOp) -> str:
        return f"{self._values[op.func]}({', '.join(self._values[a] for a in op.args)})"

    def match_cast(self, op: relax.MatchCastOp) -> str:
        return f"{self.doc.relax('match_cast')}({self._values[op.value]}, {struct_info(self, op.result.type)})"

    def _shape(self, dims: ArrayAttr[SymAttr]) -> str:
        return f"{self.doc.relax('shape')}([{', '.join(self.dim(d.data) for d in dims)}])"

    def prim_value(self, op: relax.PrimValueOp) -> str:
        value = op.value
        if isinstance(value, FloatAttr):
            text = tir_float(self.doc, value.value.data, value.type).text
        else:
            text = symbolic(self, value.data).text
        return f"{self.doc.relax('prim_value')}({text})"

    def extern_func(self, op: relax.ExternFuncOp) -> str:
        return self.packed(op.global_symbol.data, op.result.type)

    def packed(self, name: str, t: Attribute) -> str:
        """`R.ExternFunc("f")`, with its struct info where that is not any function's."""
        note = "" if t == relax.CallableType.of(None, relax.OBJECT, pure=False) else ", " + struct_info(self, t)
        return f"{self.doc.relax('ExternFunc')}({string(name)}{note})"

    def shape(self, op: relax.ShapeOp) -> str:
        return self._shape(op.values_)

    def function_ref(self, op: relax.FunctionRefOp) -> str:
        return self._callee(op.callee.root_reference.data)

    def named(self, value: SSAValue) -> str:
        return self._values[value]


def _declared(op: Operation) -> Attribute:
    """What is said of the variable that an op is bound to: what it was made with, or else what is known."""
    memory = as_written(op)
    declared = None if memory is None else memory.declared
    return op.results[0].type if declared in (None, relax.OBJECT) else cast(Attribute, declared)


def _fallback(value: SSAValue) -> str:
    """The name of a value without one, as TVM's block builder gives it: `lv` in a dataflow block, `gv` outside."""
    owner = value.owner
    inside = isinstance(owner, Operation) and isinstance(owner.parent_op(), relax.DataflowOp)
    return "lv" if inside else "gv"


def _hints_in(ops: Iterable[Operation]) -> Iterator[str]:
    """The names that the values in ops ask for."""
    for op in (inner for outer in ops for inner in outer.walk()):
        values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
        yield from (name for v in values if (name := name_of(v)) is not None)


_STATEMENTS: dict[type[Operation], Callable[[RelaxPrinter, Any], None]] = {
    relax.DataflowOp: RelaxPrinter.dataflow,
    relax.IfOp: RelaxPrinter.branch,
    relax.ClosureOp: RelaxPrinter.closure,
    relax.ReturnOp: RelaxPrinter.give,
}
_EXPRESSIONS: dict[type[Operation], Callable[[RelaxPrinter, Any], str]] = {
    relax.CallTIROp: RelaxPrinter.call_tir,
    relax.CallTIRInplaceOp: RelaxPrinter.call_tir,
    relax.CallDPSPackedOp: RelaxPrinter.call_dps_packed,
    relax.CallPackedOp: RelaxPrinter.call_packed,
    relax.CallBuiltinWithCtxOp: RelaxPrinter.call_builtin_with_ctx,
    relax.CallPurePackedOp: RelaxPrinter.call_packed,
    relax.CallInplacePackedOp: RelaxPrinter.call_packed,
    relax.CallOp: RelaxPrinter.call,
    relax.CallValueOp: RelaxPrinter.call_value,
    relax.MatchCastOp: RelaxPrinter.match_cast,
    relax.BindOp: lambda p, op: p.named(op.value),
    relax.TupleGetItemOp: lambda p, op: f"{p.named(op.tuple_)}[{op.index.data}]",
    relax.ConstantOp: lambda p, op: relax_constant(p.doc, op.value),
    relax.ShapeOp: RelaxPrinter.shape,
    relax.PrimValueOp: RelaxPrinter.prim_value,
    relax.StringOp: lambda p, op: f"{p.doc.relax('str')}({string(op.value.data)})",
    relax.DataTypeOp: lambda p, op: f"{p.doc.relax('dtype')}({string(op.text)})",
    relax.NullValueOp: lambda p, op: f"{p.doc.relax('null_value')}()",
    relax.FunctionRefOp: RelaxPrinter.function_ref,
    relax.ExternFuncOp: RelaxPrinter.extern_func,
    ValueOp: lambda p, op: symbolic(p, op.expr.data).text,
}
