"""The printer of Relax functions: one function for each kind of statement and expression."""

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
from ...dialects.relax.base import VIEW, view_type
from ...dialects.relax.devices import device_numbers, place_of_vdevice
from ...dialects.relax.types import tuple_type
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
"""Ops that print at their use, unless they have a name."""
Free = Callable[["RelaxPrinter", SSAValue], str]
"""Returns the text of a value that is not bound in the printed program."""


class _Values(dict[SSAValue, str]):
    """The texts of values; a value that is not bound in the text is free."""

    def __init__(self, printer: RelaxPrinter, free: Free):
        super().__init__()
        self._printer, self._free = printer, free

    def __missing__(self, value: SSAValue) -> str:
        return self._free(self._printer, value)


class RelaxPrinter:
    """The state of printing a Relax function and its local functions."""

    def __init__(self, doc: Document, ops: Iterable[Operation], free: Free | None = None):
        """Print `ops`; synthetic names avoid the hints of the values in them.

        `free` returns the text of a value that is not bound in them.
        """
        config = doc.config
        reserved = [config.relax_prefix, config.tir_prefix, config.ir_prefix, "metadata"]
        self.doc = doc
        self.alias = (config.module_alias or config.module_name) if doc.in_module else ""
        self.alias_used = False
        self.names = NameScope("", [*reserved, self.alias], _hints_in(ops))
        self.values: dict[SSAValue, str] = {} if free is None else _Values(self, free)
        self.symbols: dict[str, str] = {}
        self.prologue: tuple[list[str], int] = (doc.lines, 0)
        """Where variables are declared, and how deep."""
        self.hints: dict[SSAValue, str] = {}
        """Names for values that ask for none."""
        self.result_names: dict[SSAValue, str] = {}
        """The names of values at the ends of branches, which are those of the results."""
        self.externs: dict[str, OpResult] = {}
        self._undeclared: list[str] = []
        self._in_signature = False
        self._own_symbols: set[str] = set()

    def literal(self, value: int, dtype: Attribute) -> Expr:
        return atom(f"{self.doc.tir('bool')}({bool(value)})") if dtype == i1 else atom(str(value))

    def symbol(self, var: Var) -> Expr:
        return atom(self.variable(str(var.name), var.dtype))

    def variable(self, key: str, dtype: Attribute) -> str:
        name = self.symbols.get(key)
        if name is None:
            name = self.symbols[key] = self.names.define(key)
            self._own_symbols.add(key)
            declaration = f"{name} = {self.doc.tir(dtype_name(dtype))}()"
            if self._in_signature:
                self._undeclared.append(declaration)
            else:
                lines, depth = self.prologue
                lines.append(self.doc.indent(depth) + declaration)
        return name

    def dim(self, e: SymExpr) -> str:
        """Return a dimension; in a signature a string if it mentions a variable of the function itself."""
        text = symbolic(self, e).text
        own = self._in_signature and any(str(v.name) in self._own_symbols for v in e.free_vars())
        return string(text) if own else text

    def number(self, value: int, dtype: Attribute) -> str:
        """Return a number with its type, so that parsing restores it."""
        if dtype == i64:
            return str(value)
        return self.doc.tir(f"{dtype_name(dtype)}({bool(value) if dtype == i1 else value})")

    def device(self, name: str) -> str:
        return place_of_vdevice(name, self.doc.vdevices)

    def declare(self) -> None:
        for line in self._undeclared:
            self.doc.line(line)
        self._undeclared.clear()

    @contextmanager
    def signature(self) -> Iterator[None]:
        outer, self._own_symbols = self._own_symbols, set[str]()
        self._in_signature = True
        yield
        self._in_signature = False
        self._own_symbols = outer

    def callee(self, name: str) -> str:
        if not self.alias:
            return name
        self.alias_used = True
        return f"{self.alias}.{name}"

    def define(self, value: SSAValue, fallback: str | None = None) -> str:
        """Return the name of a value that is bound at this point."""
        name = self.result_names.get(value)
        if name is None:
            hint = name_of(value) or self.hints.get(value) or fallback
            name = self.names.define(hint or _fallback(value), synthetic=hint is None)
        self.values[value] = name
        return name


def _hints_in(ops: Iterable[Operation]) -> Iterator[str]:
    """Yield the name hints of the values in ops."""
    for op in (inner for outer in ops for inner in outer.walk()):
        values = [*op.results, *(a for region in op.regions for block in region.blocks for a in block.args)]
        yield from (name for v in values if (name := name_of(v)) is not None)


def _fallback(value: SSAValue) -> str:
    """Return the name of an unnamed value as in TVM's block builder: `lv` in a dataflow block, `gv` outside."""
    owner = value.owner
    inside = isinstance(owner, Operation) and isinstance(owner.parent_op(), relax.DataflowOp)
    return "lv" if inside else "gv"


# Functions


def print_relax_function(p: RelaxPrinter, func: relax.FuncOp) -> None:
    """Print a function with its `@R.function` decorator."""
    options = ([] if func.pure else ["pure=False"]) + (["private=True"] if func.private else [])
    _function(p, func, p.doc.function_name(func), options)


def _closure(p: RelaxPrinter, op: relax.ClosureOp) -> None:
    name = p.define(op.result)
    for line in (*p.doc.imports(), ""):  # TVM repeats the header, as of a function by itself
        p.doc.line(line)
    _function(p, op, name, [] if op.impure is None else ["pure=False"])
    p.doc.line()


def _function(p: RelaxPrinter, op: relax.FuncOp | relax.ClosureOp, name: str, options: list[str]) -> None:
    block = op.body.block
    with p.names.frame():
        with p.signature():
            names = [p.define(v, "param") for v in block.args]
            ret = struct_info(p, op.ret_type)  # its variables are declared first, as in TVM
            params = [f"{name}: {struct_info(p, v.type)}" for name, v in zip(names, block.args, strict=True)]
        decorator = p.doc.relax("function") + (f"({', '.join(options)})" if options else "")
        p.doc.line("@" + decorator)
        p.doc.line(f"def {name}({', '.join(params)}) -> {ret}:", op)
        with p.doc.indented():
            p.declare()
            attrs = shown_attrs(op.func_attrs, name)
            if attrs:
                text = dictionary(p.doc, attrs, tir=False)
                p.doc.line(f"{p.doc.relax('func_attr')}({text})")
            body: list[str] = []
            with p.doc.collecting(body):
                bindings(p, block, lambda end: statement(p, end))
            _alias_line(p, isinstance(op, relax.FuncOp))
            p.doc.lines.extend(body)


def _alias_line(p: RelaxPrinter, at_top: bool) -> None:
    if at_top and p.alias_used and p.alias != p.doc.config.module_name:
        p.doc.line(f"{p.alias} = {p.doc.config.module_name}")


# Bindings


_NOTHING = TupleType(())
"""The result type of a call that is only executed for its effect and prints as a statement."""


def bindings(p: RelaxPrinter, block: Block, end: Callable[[Operation], object]) -> None:
    """Print the bindings of a block; `end` prints its last operation.

    New variables of a dataflow block, or of a run of bindings, are declared before it.
    """
    outer = p.prologue
    prologue: list[str] = []
    run: list[str] = []
    p.prologue = (prologue, p.doc.depth)
    for op in block.ops:
        if isinstance(op, relax.DataflowOp):
            _flush(p, prologue, run)
        with p.doc.collecting(run):
            if op is block.last_op:
                end(op)
            else:
                statement(p, op)
        if isinstance(op, relax.DataflowOp):
            _flush(p, prologue, run)
    _flush(p, prologue, run)
    p.prologue = outer


def _flush(p: RelaxPrinter, *parts: list[str]) -> None:
    for lines in parts:
        p.doc.lines.extend(lines)
        lines.clear()


def statement(p: RelaxPrinter, op: Operation) -> None:
    statement = _STATEMENTS.get(type(op))
    if statement is not None:
        statement(p, op)
    elif len(op.results) == 1:
        _binding(p, op)
    else:
        raise UnsupportedError(f"{op.name} has no form in TVMScript", found=str(op).split("\n", 1)[0])


def _binding(p: RelaxPrinter, op: Operation) -> None:
    result = op.results[0]
    inline = isinstance(op, INLINE) and result.name_hint is None
    text = expression(p, op, bare_tuple=not inline)
    if inline or isinstance(op, ValueOp):
        p.values[result] = text
        return
    if is_declared(op):
        p.values[result] = p.values[op.operands[0]]
        return
    if result.type == _NOTHING and result.first_use is None and isinstance(op, relax.Operator | relax.CallBase):
        p.doc.line(text, op)
        return
    declared = _declared(op)
    hidden = (_specifies_struct_info(op) and declared == result.type) or _can_omit_struct_info(p, op)
    note = "" if hidden else ": " + struct_info(p, declared)
    p.doc.line(f"{p.define(result)}{note} = {text}", op)
    if isinstance(op, relax.ExternFuncOp):
        p.externs[op.global_symbol.data] = op.result


def _declared(op: Operation) -> Attribute:
    """Return the annotation of the variable that an op is bound to: as declared in the source, or else the inferred
    type.
    """
    memory = as_written(op)
    declared = None if memory is None else memory.declared
    return op.results[0].type if declared in (None, relax.OBJECT) else cast(Attribute, declared)


def _specifies_struct_info(op: Operation) -> bool:
    """Return whether the call itself specifies its struct info, so that the binding needs no annotation."""
    return isinstance(op, relax.CallDPSPackedOp) or (isinstance(op, relax.CallTIROp) and op.te_grad_name is None)


def _can_omit_struct_info(p: RelaxPrinter, op: Operation) -> bool:
    """Return whether the annotation may be omitted, because it was not requested and inference yields the same."""
    inferred = None if p.doc.config.show_all_struct_info else _INFERRED.get(_inference_of(op))
    return inferred is not None and inferred(op) == _declared(op)


def _inference_of(op: Operation) -> type[Operation]:
    return relax.Operator if isinstance(op, relax.Operator) else type(op)


_INFERRED: dict[type[Operation], Callable[[Any], Attribute]] = {
    relax.Operator: lambda op: op.inferred(),
    relax.BindOp: lambda op: op.value.type,
    relax.CallTIRInplaceOp: lambda op: op.result_type,
    relax.CallPurePackedOp: lambda op: op.result_type,
    relax.CallInplacePackedOp: lambda op: op.result_type,
    relax.MatchCastOp: lambda op: op.result.type,
    relax.TupleOp: lambda op: tuple_type(f.type for f in op.fields_),
    relax.TupleGetItemOp: lambda op: op.tuple_.type.types.data[op.index.data],
}
"""The type that inference yields, by the operation."""


def _merges(p: RelaxPrinter, result: SSAValue, source: SSAValue, block: Block) -> bool:
    """Return whether a value yielded by a region and the result that it becomes are the same variable in TVMScript."""
    owner, outer, inner = source.owner, name_of(result), name_of(source)
    if not isinstance(owner, Operation) or owner.parent is not block or source in p.hints:
        return False
    if isinstance(owner, INLINE) and inner is None:
        return False
    return outer is None or inner is None or outer == inner


def _last_copies(block: Block) -> set[SSAValue]:
    """Return the bindings `y = x` at the end of a region, which would be parsed as names of a result and not as
    bindings.
    """
    copies: set[SSAValue] = set()
    op = block.last_op.prev_op if block.last_op is not None else None
    while isinstance(op, relax.BindOp):
        copies.add(op.result)
        op = op.prev_op
    return copies


def _dataflow(p: RelaxPrinter, op: relax.DataflowOp) -> None:
    pairs = list(zip(op.outputs, op.output_op.values_, strict=True))
    place: dict[Any, int] = {inner: n for n, inner in enumerate(op.body.block.ops)} if len(pairs) > 1 else {}
    merged: set[SSAValue] = set()
    for result, source in pairs:
        if _merges(p, result, source, op.body.block):
            merged.add(result)
            p.hints[source] = name_of(source) or name_of(result) or "gv"
    p.doc.line(f"with {p.doc.relax('dataflow')}():", op)
    with p.doc.indented():
        for inner in op.body.block.ops:
            if not isinstance(inner, relax.OutputOp):
                statement(p, inner)
        for result, source in pairs:
            note, text = struct_info(p, result.type), p.values[source]
            if result in merged:
                p.values[result] = text
            else:
                p.doc.line(f"{p.define(result)}: {note} = {text}", op)
        order = sorted(pairs, key=lambda pair: place.get(pair[1].owner, -1) if pair[0] in merged else len(place))
        p.doc.line(f"{p.doc.relax('output')}({', '.join(p.values[r] for r, _ in order)})")


def _branch(p: RelaxPrinter, op: relax.IfOp) -> None:
    sources = [cast(relax.YieldOp, r.block.last_op).value for r in (op.then_region, op.else_region)]
    name = p.define(op.result, name_of(sources[0]))
    note = struct_info(p, op.result.type)
    heads = (f"if {p.values[op.cond]}:", "else:")
    for head, source, region in zip(heads, sources, (op.then_region, op.else_region), strict=True):
        merged = source not in _last_copies(region.block) and _merges(p, op.result, source, region.block)
        if merged:
            p.hints[source] = p.result_names[source] = name
            if isinstance(source.owner, relax.DataflowOp):
                p.result_names[source.owner.output_op.values_[cast(OpResult, source).index]] = name
        p.doc.line(head, op if region is op.then_region else None)
        with p.doc.indented(), p.names.frame():
            for inner in region.block.ops:
                if not isinstance(inner, relax.YieldOp):
                    statement(p, inner)
            if not merged:
                p.doc.line(f"{name}: {note} = {p.values[source]}")


def _return(p: RelaxPrinter, op: relax.ReturnOp) -> None:
    p.doc.line(f"return {p.values[op.value]}", op)


# Expressions


def expression(p: RelaxPrinter, op: Operation, bare_tuple: bool) -> str:
    if isinstance(op, relax.TupleOp):
        return _tuple(p, op.fields_, bare_tuple)
    printed = _EXPRESSIONS.get(type(op))
    if printed is not None:
        return printed(p, op)
    if isinstance(op, relax.Operator):
        return _operator(p, op)
    raise UnsupportedError(f"{op.name} has no form in TVMScript", found=str(op).split("\n", 1)[0])


def _tuple(p: RelaxPrinter, fields: Sequence[SSAValue], bare: bool = False) -> str:
    if not fields:
        return p.doc.relax("tuple") + "()"
    items = [p.values[f] for f in fields]
    return ", ".join(items) if bare and len(items) > 1 else parenthesized(items)


def _operator(p: RelaxPrinter, op: relax.Operator) -> str:
    args: list[str] = []
    skipped = False
    for name, arg in zip(op.ARG_NAMES, op.args, strict=True):
        if arg is None:
            skipped = True
        elif isinstance(arg, SSAValue):
            args.append((f"{name.rstrip('?')}=" if skipped else "") + p.values[arg])
        elif op.SPREAD:
            args += [p.values[v] for v in arg]
        else:
            args.append(_argument_tuple(p, arg))
    for name, spec in op.ATTR_SPECS.items():
        if name in op.ADDED and op.attr(name) == spec.default:
            continue
        value = p.device(op.attr(name)) if op.name == "relax.to_vdevice" else op.attr(name)
        text = _attribute(p, op, value, spec.kind)
        args.append(text if spec.kind is relax.Kind.DEVICE else f"{name}={text}")
    return f"{p.doc.relax(op.script_name)}({', '.join(args)})"


def _attribute(p: RelaxPrinter, op: relax.Operator, value: object, kind: relax.Kind) -> str:
    if isinstance(value, IndexMapAttr):
        return _index_map(p, value.data)
    if kind is relax.Kind.NUMBER and isinstance(value, int | float):
        return _number(p, op, value)
    if kind is relax.Kind.FLOAT and value is not None:
        return _float32(p, value)
    if kind is relax.Kind.DEVICE:
        device_type, index = device_numbers(str(value))
        return f"{p.doc.relax('device')}(device_type={device_type}, index={index})"
    if kind is relax.Kind.STRING:
        return f"{p.doc.relax('str')}({python_value(value)})"
    return string("void") if value is None and kind is relax.Kind.DTYPE else python_value(value)


def _float32(p: RelaxPrinter, value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_float32(p, v) for v in cast('list[object]', value))}]"
    return tir_float(p.doc, cast(float, value), f32).text


def _number(p: RelaxPrinter, op: relax.Operator, value: int | float) -> str:
    """Return a number in the dtype of the first operand, as a prim value if the dtype permits."""
    t = op.operands[0].type
    element = t.element if isinstance(t, relax.TensorType) else None
    if element is not None and is_float(element):
        return f"{p.doc.relax('prim_value')}({tir_float(p.doc, float(value), element).text})"
    text = str(value) if element in (None, i64) else f"{p.doc.tir(dtype_name(element or i64))}({value})"
    return f"{p.doc.relax('prim_value')}({text})" if element in (None, i1, i32, i64) else text


def _index_map(p: RelaxPrinter, mapping: IndexMapping) -> str:
    """Return `T.index_map(lambda i: (i // 4, i % 4))`; parameters that would shadow a name in use are renamed."""
    text = _lambda(p, mapping)
    if mapping.inverse_map is not None:
        text += f", inverse_index_map={_lambda(p, mapping.inverse_map)}"
    return f"{p.doc.tir('index_map')}({text})"


def _lambda(p: RelaxPrinter, mapping: IndexMapping) -> str:
    for var in mapping.free_vars():
        p.symbol(var)
    outer = p.symbols
    with p.names.frame():
        names = [p.names.define(str(v.name)) for v in mapping.params]
        p.symbols = outer | {str(v.name): n for v, n in zip(mapping.params, names, strict=True)}
        results = [symbolic(p, r).text for r in mapping.results]
    p.symbols = outer
    return f"lambda {', '.join(names)}: {parenthesized(results)}"


def _argument_tuple(p: RelaxPrinter, values: Sequence[SSAValue]) -> str:
    if len(values) == 1 and isinstance(values[0].type, TupleType):
        return p.values[values[0]]
    return _tuple(p, values)


def _outputs(p: RelaxPrinter, t: Attribute) -> str:
    if isinstance(t, TupleType):
        return f"out_sinfo=[{', '.join(struct_info(p, f) for f in t.types)}]"
    return f"out_sinfo={struct_info(p, t)}"


def _call_tir(p: RelaxPrinter, op: relax.CallTIROp | relax.CallTIRInplaceOp) -> str:
    args = [p.callee(op.callee_name), _tuple(p, op.args), _outputs(p, op.result_type)]
    if isinstance(op, relax.CallTIRInplaceOp):
        args.append(f"inplace_indices={op.indices}")
    else:
        args += _gradient(p, op)
    if op.tir_vars is not None:
        args.append(f"tir_vars={_shape(p, op.tir_vars)}")
    grad = "" if isinstance(op, relax.CallTIRInplaceOp) or op.te_grad_name is None else "_with_grad"
    return f"{p.doc.relax(op.name.removeprefix('relax.') + grad)}({', '.join(args)})"


def _gradient(p: RelaxPrinter, op: relax.CallTIROp) -> list[str]:
    args = [] if op.te_grad_name is None else [f"te_grad_name={string(op.te_grad_name.data)}"]
    if op.te_grad_kwargs is not None:
        args.append(f"te_grad_kwargs={dictionary(p.doc, op.te_grad_kwargs.data, tir=True)}")
    return args


def _call_dps_packed(p: RelaxPrinter, op: relax.CallDPSPackedOp) -> str:
    args = [_packed_callee(p, op), _tuple(p, op.args), _outputs(p, op.result_type)]
    return f"{p.doc.relax('call_dps_packed')}({', '.join(args)})"


def _packed_callee(p: RelaxPrinter, op: relax.CallDPSPackedOp) -> str:
    """Return the variable bound to the packed function if it is visible here, otherwise the function's name."""
    bound = p.externs.get(op.func.data)
    if bound is not None and cast(Block, bound.owner.parent_block()).is_ancestor(op):
        return p.values[bound]
    return string(op.func.data)


def _call_packed(p: RelaxPrinter, op: relax.CallPackedOp | relax.CallPurePackedOp | relax.CallInplacePackedOp) -> str:
    args = [string(op.func.data), *(p.values[a] for a in op.args)]
    if op.func.data == VIEW and op.call_attrs is None and view_type(op.args) == op.result_type:
        return f"{p.doc.relax('call_packed')}({', '.join(args)})"
    if op.call_attrs is not None:
        entries = op.call_attrs.data
        args += [f"{k}={python_value(from_attr(entries[k]))}" for k in sorted(entries)]
    result = op.result_type
    types = result.types.data if op.several and isinstance(result, TupleType) else (result,)
    args.append(f"sinfo_args={parenthesized([struct_info(p, t) for t in types])}")
    return f"{p.doc.relax(op.name.removeprefix('relax.'))}({', '.join(args)})"


def _call_builtin_with_ctx(p: RelaxPrinter, op: relax.CallBuiltinWithCtxOp) -> str:
    args = f"{string(op.func.data)}, {_tuple(p, op.args)}, sinfo_args=({struct_info(p, op.result_type)},)"
    return f"{p.doc.relax('call_builtin_with_ctx')}({args})"


def _call(p: RelaxPrinter, op: relax.CallOp) -> str:
    if op.tir_vars is not None:
        values = [*(p.values[a] for a in op.args), _shape(p, op.tir_vars)]
        return f"{p.doc.relax('vm.call_tir_dyn')}({p.callee(op.callee_name)}, {parenthesized(values)})"
    return f"{p.callee(op.callee_name)}({', '.join(p.values[a] for a in op.args)})"


def _call_value(p: RelaxPrinter, op: relax.CallValueOp) -> str:
    return f"{p.values[op.func]}({', '.join(p.values[a] for a in op.args)})"


def _match_cast(p: RelaxPrinter, op: relax.MatchCastOp) -> str:
    return f"{p.doc.relax('match_cast')}({p.values[op.value]}, {struct_info(p, op.result.type)})"


def _shape(p: RelaxPrinter, dims: ArrayAttr[SymAttr]) -> str:
    return f"{p.doc.relax('shape')}([{', '.join(p.dim(d.data) for d in dims)}])"


def _prim_value(p: RelaxPrinter, op: relax.PrimValueOp) -> str:
    value = op.value
    if isinstance(value, FloatAttr):
        text = tir_float(p.doc, value.value.data, value.type).text
    else:
        text = symbolic(p, value.data).text
    return f"{p.doc.relax('prim_value')}({text})"


def _extern_func(p: RelaxPrinter, op: relax.ExternFuncOp) -> str:
    return packed_function(p, op.global_symbol.data, op.result.type)


def packed_function(p: RelaxPrinter, name: str, t: Attribute) -> str:
    """Return `R.ExternFunc("f")`, with its struct info unless it is the generic one."""
    note = "" if t == relax.CallableType.of(None, relax.OBJECT, pure=False) else ", " + struct_info(p, t)
    return f"{p.doc.relax('ExternFunc')}({string(name)}{note})"


def _shape_value(p: RelaxPrinter, op: relax.ShapeOp) -> str:
    return _shape(p, op.values_)


def _function_ref(p: RelaxPrinter, op: relax.FunctionRefOp) -> str:
    return p.callee(op.callee.root_reference.data)


_STATEMENTS: dict[type[Operation], Callable[[RelaxPrinter, Any], None]] = {
    relax.DataflowOp: _dataflow,
    relax.IfOp: _branch,
    relax.ClosureOp: _closure,
    relax.ReturnOp: _return,
}


_EXPRESSIONS: dict[type[Operation], Callable[[RelaxPrinter, Any], str]] = {
    relax.CallTIROp: _call_tir,
    relax.CallTIRInplaceOp: _call_tir,
    relax.CallDPSPackedOp: _call_dps_packed,
    relax.CallPackedOp: _call_packed,
    relax.CallBuiltinWithCtxOp: _call_builtin_with_ctx,
    relax.CallPurePackedOp: _call_packed,
    relax.CallInplacePackedOp: _call_packed,
    relax.CallOp: _call,
    relax.CallValueOp: _call_value,
    relax.MatchCastOp: _match_cast,
    relax.BindOp: lambda p, op: p.values[op.value],
    relax.TupleGetItemOp: lambda p, op: f"{p.values[op.tuple_]}[{op.index.data}]",
    relax.ConstantOp: lambda p, op: relax_constant(p.doc, op.value),
    relax.ShapeOp: _shape_value,
    relax.PrimValueOp: _prim_value,
    relax.StringOp: lambda p, op: f"{p.doc.relax('str')}({string(op.value.data)})",
    relax.DataTypeOp: lambda p, op: f"{p.doc.relax('dtype')}({string(op.text)})",
    relax.NullValueOp: lambda p, op: f"{p.doc.relax('null_value')}()",
    relax.FunctionRefOp: _function_ref,
    relax.ExternFuncOp: _extern_func,
    ValueOp: lambda p, op: symbolic(p, op.expr.data).text,
}
