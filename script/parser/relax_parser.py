"""Statements of a Relax function."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, TupleType, i1
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue

from ...diagnostics import DTypeError, ShapeError, suggestion
from ...dialects import relax
from ...dialects.dtypes import dtype_name
from ...dialects.names import name_of, set_name
from ...dialects.relax import (
    OBJECT,
    CallableType,
    PrimType,
    ShapeType,
    TensorDataAttr,
    TensorType,
    erase_unbound,
    free_symbolic_vars,
    is_base_of,
    least_common_ancestor,
)
from ...dialects.relax.signatures import BaseCheckResult, base_check, derive_result
from ...dialects.sym.expr import SymExpr, Var, logical_not
from ...ir.verification.as_written import declared_type, remember
from .attributes import attribute_dict
from .devices import read_vdevice
from .evaluator import refuse
from .folding import fold_symbolic, is_constant
from .relax_calls import (
    BINARY_OPERATORS,
    ModuleContext,
    RelaxEvaluator,
    call_operator,
    call_prim_func,
    call_relax,
    scalar_like,
    sinfo_of,
)
from .relax_types import StructInfoEvaluator, symbolic_call
from .scope import Environment, Scope
from .source import Source
from .tir_frames import check_plain_parameters
from .values import CallSite, FreshVar, GlobalRef, Imm, Method, Ref, describe


@dataclass(frozen=True)
class Signature:
    """What a Relax function declares; `ret` is None where it is to be inferred."""

    names: tuple[str, ...]
    params: tuple[Attribute, ...]
    ret: Attribute | None
    pure: bool


@dataclass
class DataflowFrame:
    """A dataflow block that is being read."""

    block: Block
    outputs: list[tuple[str, SSAValue, ast.AST]] | None = None
    names: dict[str, Any] = field(default_factory=dict[str, Any])


_KEEP_THEIR_TYPES = frozenset(
    (*relax.INLINE_OPS, relax.DataflowOp, relax.CallTIROp, relax.CallTIRInplaceOp, relax.CallDPSPackedOp)
)
"""Kinds of ops whose results are what they are, whatever an annotation says."""


class RelaxParser(RelaxEvaluator):
    """Reads one Relax function."""

    def __init__(self, source: Source, environment: Environment, module: ModuleContext):
        super().__init__(source, Scope(environment), module)
        self.dataflow: DataflowFrame | None = None
        self.attrs: list[DictionaryAttr | None] = []
        self.checked = True
        """Whether an annotation that does not hold is refused; else it is kept, and the program is not well formed."""
        self._used_names: set[str] = set()
        self._unwritten: set[SSAValue] = set()
        """What a declared result casts to, which is no binding."""
        self._branch_depth = 0

    # Functions

    def signature(self, function: ast.FunctionDef, pure: bool = True) -> Signature:
        """What the function declares of its parameters and its result."""
        check_plain_parameters(self.source, function.args)
        params: list[Attribute] = []
        for arg in function.args.args:
            if arg.annotation is None:
                raise self.error(arg, f"parameter '{arg.arg}' has no struct info", expected=f"{arg.arg}: R.Tensor(…)")
            params.append(self.struct_info(arg.annotation))
        ret = None
        if function.returns is not None and not (
            isinstance(function.returns, ast.Constant) and function.returns.value is None
        ):
            ret = self.struct_info(function.returns)
        return Signature(tuple(a.arg for a in function.args.args), tuple(params), ret, pure)

    def parse(self, function: ast.FunctionDef, signature: Signature, *, private: bool = False) -> relax.FuncOp:
        """The function as an op. Raises `ScriptError` or another located `TiraxError`."""
        symbolic = (v.name for v in free_symbolic_vars(signature.params) if isinstance(v.name, str))
        self._used_names = self.check_names(function, symbolic)
        body, ret, attrs = self._function_body(function, signature)
        self._name_the_rest(body.block)
        op = relax.FuncOp(function.name, body, ret, private=private, attrs=attrs, pure=signature.pure)
        op.location = self.source.attr(function)
        return op

    def _function_body(
        self, function: ast.FunctionDef, signature: Signature
    ) -> tuple[Region, Attribute, DictionaryAttr | None]:
        block = Block(arg_types=signature.params)
        self.attrs.append(None)
        outer_dataflow, self.dataflow = self.dataflow, None
        with self.into(block):
            for name, value, arg in zip(signature.names, block.args, function.args.args, strict=True):
                set_name(value, name)
                value.location = self.source.attr(arg)
                self.scope.define(name, value)
            self.body(function.body)
        self.dataflow = outer_dataflow
        last = block.last_op
        if not isinstance(last, relax.ReturnOp):
            raise self.error(function, f"function '{function.name}' does not return a value", expected="return …")
        found = self._result_type(last, signature, function)
        last = cast(relax.ReturnOp, block.last_op)
        attrs = self.attrs.pop()
        if attrs is not None and getattr(attrs.data.get("global_symbol"), "data", None) == function.name:
            kept = {k: v for k, v in attrs.data.items() if k != "global_symbol"}
            attrs = DictionaryAttr(kept) if kept else None
        return Region(block), found, attrs

    def _result_type(self, last: relax.ReturnOp, signature: Signature, function: ast.FunctionDef) -> Attribute:
        """What is known of the result: the body may say more than the declaration; where less, that is checked.

        Where the two contradict each other, the body is right: with a warning.
        """
        given = declared_type(last.value)
        known = erase_unbound(given, set(free_symbolic_vars(signature.params)))
        if signature.ret is None or is_base_of(signature.ret, known):
            return known
        if is_base_of(signature.ret, given):
            return signature.ret
        statement = function.body[-1]
        if base_check(signature.ret, given) is BaseCheckResult.FAIL_L0:
            text = f"function '{function.name}' returns {known}, not {signature.ret} as it declares"
            warnings.warn(f"{self.source.place(statement)}: {text}", stacklevel=2)
            return known
        block = last.parent_block()
        assert block is not None
        last.detach()
        with self.into(block):
            last.operands[0] = self.emit(relax.MatchCastOp(last.value, signature.ret), statement)
            self._unwritten.add(last.value)
        block.add_op(last)
        return signature.ret

    def _name_the_rest(self, block: Block) -> None:
        """Name the results of nested calls, as normal form has them: `lv…` in dataflow blocks, `gv…` outside."""
        counters = {"lv": 0, "gv": 0}
        for op in block.walk():
            if not op.results or relax.is_inline(op) or not op.name.startswith("relax."):
                continue
            prefix = "lv" if isinstance(op.parent_op(), relax.DataflowOp) else "gv"
            for result in op.results:
                if name_of(result) is None and result not in self._unwritten:
                    set_name(result, self._fresh(prefix, counters))

    def _fresh(self, prefix: str, counters: dict[str, int]) -> str:
        while True:
            n = counters[prefix]
            counters[prefix] += 1
            name = prefix if n == 0 else f"{prefix}{n}"
            if name not in self._used_names:
                return name

    # Values

    def binary(self, kind: str, a: Any, b: Any, node: ast.AST) -> Any:
        tensors = [v for v in (a, b) if isinstance(v, SSAValue)]
        if not tensors:
            symbolic = fold_symbolic(kind, a, b)
            return super().binary(kind, a, b, node) if symbolic is None else symbolic
        name = BINARY_OPERATORS.get(kind)
        if name is None:
            raise self.error(node, f"operator '{kind}' is not defined on tensors", hint="write R.logical_and(…), …")
        site = CallSite(cast(ast.Call, node), f"operator '{name}'", [], {}, self.source)
        operands = [v if isinstance(v, SSAValue) else self._beside(v, tensors[0], site) for v in (a, b)]
        return call_operator(self, name, operands, {}, site)

    def _beside(self, value: Any, tensor: SSAValue, site: CallSite) -> SSAValue:
        if is_constant(value) and isinstance(value, int | float) or isinstance(value, Imm):
            return scalar_like(self, value, tensor, site)
        return self.value(value, site.node)

    def unary(self, kind: str, value: Any, node: ast.AST) -> Any:
        if isinstance(value, SymExpr) and kind in ("neg", "not"):
            return -value if kind == "neg" else logical_not(value)
        if isinstance(value, Imm) and kind == "neg":
            return Imm(-value.value, value.dtype)
        name = {"neg": "relax.negative", "bitwise_not": "relax.bitwise_not"}.get(kind)
        if name is None or not isinstance(value, SSAValue):
            return super().unary(kind, value, node)
        return call_operator(self, name, [value], {}, CallSite(cast(ast.Call, node), name, [], {}, self.source))

    def attribute_of(self, value: Any, name: str, node: ast.AST) -> Any:
        if name == "astype" and isinstance(value, SSAValue):
            return Method(value, name)
        if name == "struct_info" and isinstance(value, SSAValue):
            return value.type
        parts = {k: v for k, v in _parts(value).items() if v is not None}
        if name not in parts:
            expected = ", ".join(parts) if isinstance(value, Attribute) else "astype, struct_info"
            raise self.error(node, f"there is no attribute '{name}'", expected=expected, found=describe(value))
        return parts[name]

    def member_of_module(self, name: str, node: ast.AST) -> Any:
        if not self.module.has_function(name):
            hint = suggestion(name, self.module.function_names())
            raise self.error(node, f"the module has no function '{name}'", hint=hint)
        packed = self.module.packed(name)
        if packed is None:
            return GlobalRef(name)
        return self.emit(relax.ExternFuncOp(packed.global_symbol.data, packed.callable_type), node)

    def subscript_of(self, value: SSAValue, indices: tuple[Any, ...], node: ast.AST) -> Any:
        t = value.type
        index = indices[0] if len(indices) == 1 else None
        if (
            isinstance(t, ShapeType)
            and t.dims is not None
            and isinstance(index, int)
            and -len(t.dims) <= index < len(t.dims)
        ):
            return t.dims[index]
        if not isinstance(t, TupleType) and t != OBJECT:
            raise self.error(node, "only tuples can be indexed in Relax", found=describe(value))
        if not isinstance(index, int):
            raise self.error(node, "the index of a tuple is a constant", found=describe(indices))
        size = len(t.types) if isinstance(t, TupleType) else None
        if size is not None and not -size <= index < size:
            raise self.error(node, "the index is out of range", expected=f"below {size}", found=index)
        if index < 0 and size is not None:
            index += size
        return self.emit(relax.TupleGetItemOp(value, index), node)

    # Calls

    def call_ref(self, target: Ref, site: CallSite) -> Any:
        if target.dialect == "tir":
            return symbolic_call(self, target, site)
        if target == Ref("ir", "vdevice"):
            return read_vdevice(site)
        if target.dialect != "relax":
            raise site.error("only functions of R and T can be called in a Relax function")
        return call_relax(self, target, site)

    def call_value(self, target: Any, site: CallSite) -> Any:
        if isinstance(target, Method):
            return call_operator(self, "relax.astype", [target.value, *site.args], site.kwargs, site)
        found = self.module.imported(target)
        if found is not None:
            target = found
        if isinstance(target, GlobalRef):
            return self._call_global(target.name, site)
        if isinstance(target, SSAValue):
            return self._call_value(target, site)
        return super().call_value(target, site)

    def _call_global(self, name: str, site: CallSite) -> SSAValue:
        t = self.module.callable_type(name)
        if t is None:
            found = None if self.dataflow is not None else call_prim_func(self, site, name, site.args)
            if found is None:
                hint = f"write R.call_tir(cls.{name}, (…), out_sinfo=…)"
                raise site.error("a prim_func is not called directly", expected="inputs and outputs", hint=hint)
            return found
        args = [self.value(a, site.node) for a in site.args]
        return self.emit(relax.CallOp(name, args, self._call_type(t, args, site)), site.node)

    def _call_value(self, target: SSAValue, site: CallSite) -> SSAValue:
        kwargs = dict(site.kwargs)
        sinfo = kwargs.pop("sinfo_args", None)
        if kwargs:
            raise site.error(f"no argument is called '{next(iter(kwargs))}'")
        args = [self.value(a, site.node) for a in site.args]
        if isinstance(target.type, CallableType):
            result = self._call_type(target.type, args, site) if sinfo is None else sinfo_of(self, site, sinfo)
        elif target.type == OBJECT:
            result = sinfo_of(self, site, sinfo)
        else:
            raise site.error("this value cannot be called", expected="a function", found=target.type)
        return self.emit(relax.CallValueOp(target, args, result), site.node)

    def _call_type(self, t: CallableType, args: Sequence[SSAValue], site: CallSite) -> Attribute:
        """The result of a call: the callee's symbolic variables replaced by what the arguments say."""
        try:
            return derive_result("the call", t, [a.type for a in args])
        except (ShapeError, DTypeError) as error:
            raise site.error(error.message, expected=error.expected, found=error.found) from None

    # Statements

    def body(self, statements: Sequence[ast.stmt]) -> str | None:
        """Read statements into the current block; gives the name that the last one binds."""
        bound: str | None = None
        for statement in statements:
            if isinstance(self.block.last_op, relax.ReturnOp):
                raise self.error(statement, "nothing may follow a return")
            visitor = self.visitors.get(type(statement))
            if visitor is None:
                raise refuse(self.source, statement, "a Relax function")
            bound = self.statement(visitor, statement)
        return bound

    def statement(self, visitor: Callable[..., str | None], node: ast.stmt) -> str | None:
        """Read a statement; gives the name that it binds."""
        with self.source.located(node):
            return visitor(self, node)

    @contextmanager
    def into(self, block: Block) -> Iterator[dict[str, Any]]:
        """Let ops go into `block`, with a frame of names of its own."""
        outer, self.block = self.block, block
        try:
            with self.scope.frame() as names:
                yield names
        finally:
            self.block = outer

    def _pass(self, node: ast.Pass | ast.Nonlocal) -> None:
        """Nothing; `nonlocal n` captures a name for Python, which is captured anyway."""

    def _assign(self, node: ast.Assign) -> str | None:
        if len(node.targets) != 1:
            raise self.error(node, "only one target may be assigned")
        return self._bind_target(node.targets[0], self.visit(node.value), node)

    def _bind_target(self, target: ast.expr, value: Any, node: ast.AST) -> str | None:
        if isinstance(target, ast.Name):
            self.bind(target.id, value, node)
            return target.id
        if not isinstance(target, ast.Tuple | ast.List):
            raise self.error(target, "this cannot be assigned", expected="a name")
        items = self._unpacked(value, len(target.elts), node)
        if len(items) != len(target.elts):
            raise self.error(
                node, "the numbers of names and values differ", expected=len(target.elts), found=len(items)
            )
        bound = None
        for name, item in zip(target.elts, items, strict=True):
            bound = self._bind_target(name, item, node)
        return bound

    def _unpacked(self, value: Any, count: int, node: ast.AST) -> list[Any]:
        if isinstance(value, tuple | list):
            return cast("list[Any]", list(value))
        if isinstance(value, SSAValue) and isinstance(value.type, TupleType):
            if name_of(value) is None:
                self.bind("lv" if self.dataflow is not None else "gv", value, node)
            return [self.emit(relax.TupleGetItemOp(value, i), node) for i in range(len(value.type.types))]
        raise self.error(node, f"this cannot be unpacked into {count} names", found=describe(value))

    def bind(self, name: str, value: Any, node: ast.AST, annotation: Attribute | None = None) -> None:
        """`name = value`"""
        if isinstance(value, FreshVar):
            self.scope.define(name, Var(name))
            return
        if annotation is None and not isinstance(value, SSAValue | tuple | list | TensorDataAttr):
            self.scope.define(name, value)  # a constant, a symbolic expression, the module, a function: an alias
            return
        ssa = self.value(value, node)
        named = name_of(ssa) is not None or isinstance(ssa, BlockArgument)
        if named and (annotation is None or is_base_of(annotation, ssa.type)):
            ssa = self.emit(relax.BindOp(ssa), node)
        if annotation is not None:
            ssa = self._annotate(ssa, annotation, node)
        set_name(ssa, name)
        self.scope.define(name, ssa)

    def _annotate(self, value: SSAValue, wanted: Attribute, node: ast.AST) -> SSAValue:
        """A binding's annotation: it may say less than is known, or more where nothing speaks against it.

        As in TVM it says no less of a call with calls as arguments, whose type is inferred when these are bound.
        """
        given = value.type
        if is_base_of(wanted, given):
            if type(value.owner) not in _KEEP_THEIR_TYPES and not _has_nested_operand(value):
                value._type = wanted  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
            elif isinstance(value.owner, relax.CallDPSPackedOp) and wanted not in (given, OBJECT):
                remember(value.owner).declared = wanted
            return value
        if base_check(wanted, given) is BaseCheckResult.FAIL_L0:
            if self.checked:
                raise self.error(node, "the annotation does not hold", expected=wanted, found=given)
            return self._declared_only(value, wanted, node)
        if isinstance(value.owner, relax.CallBase | relax.MatchCastOp):
            value._type = wanted  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
            return value
        return self.emit(relax.MatchCastOp(value, wanted), node)

    def _declared_only(self, value: SSAValue, wanted: Attribute, node: ast.AST) -> SSAValue:
        """Keep an annotation that does not hold as something that was written."""
        if name_of(value) is not None or not isinstance(value, OpResult):
            value = self.emit(relax.BindOp(value), node)
        remember(cast(OpResult, value).op).declared = wanted
        return value

    def _annotated(self, node: ast.AnnAssign) -> str | None:
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "only a name can be annotated")
        found = self.visit(node.annotation)
        if isinstance(found, Ref) and found.dialect == "tir" or isinstance(found, FreshVar):
            self.bind(node.target.id, FreshVar(PrimType.of(i1)), node)
            return None
        if node.value is None:
            raise self.error(node, "a binding needs a value", expected=f"{node.target.id}: … = …")
        wanted = self.as_struct_info(found, node.annotation)
        self.bind(node.target.id, self.visit(node.value), node, wanted)
        return node.target.id

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        value = self.visit(node.value)
        if value is not None:
            ssa = self.value(value, node)
            if not isinstance(ssa.owner, relax.LEAVES):
                set_name(ssa, "_")

    def _return(self, node: ast.Return) -> None:
        if self.dataflow is not None:
            raise self.error(node, "return may not stand in a dataflow block", hint="write it after the block")
        if self._branch_depth:
            raise self.error(node, "return may not stand in a branch", hint="bind the result and return it at the end")
        if node.value is None:
            raise self.error(node, "return needs a value")
        self.emit(relax.ReturnOp(self.value(self.visit(node.value), node)), node)

    def _with(self, node: ast.With) -> str | None:
        """A dataflow block; gives the name of its last binding, where that is an output."""
        call = node.items[0].context_expr
        target = self.visit(call.func) if isinstance(call, ast.Call) else None
        if target != Ref("relax", "dataflow") or len(node.items) != 1:
            raise self.error(node, "'with' cannot be used so", expected="with R.dataflow():", found=describe(target))
        if self.dataflow is not None:
            raise self.error(node, "a dataflow block may not stand in another")
        block = Block()
        self.dataflow = DataflowFrame(block)
        end = [s for s in node.body[-1:] if isinstance(s, ast.Return)]  # it may end the block, and stands after it
        with self.into(block) as names:
            self.body(node.body[: len(node.body) - len(end)])
            if end and self.dataflow.outputs is None:
                self._output_result(self.dataflow, end[0])
            self.dataflow.names = dict(names)
        frame, self.dataflow = self.dataflow, None
        last = self._close_dataflow(frame, node)
        self.body(end)
        return last

    def _output_result(self, frame: DataflowFrame, node: ast.Return) -> None:
        """A block that ends with a return and says no outputs gives the names that are returned."""
        names = {n.id: n for n in ast.walk(node) if isinstance(n, ast.Name)}
        values = [(name, self.scope.innermost(name), n) for name, n in names.items()]
        frame.outputs = [(name, value, n) for name, value, n in values if isinstance(value, SSAValue)]

    def _close_dataflow(self, frame: DataflowFrame, node: ast.With) -> str | None:
        outputs = [(name, value) for name, value, _ in frame.outputs or []]
        outputs = _without_trailing_binds(frame.block, outputs)
        end = relax.OutputOp([value for _, value in outputs])
        end.location = self.source.attr(node)
        frame.block.add_op(end)
        op = relax.DataflowOp(Region(frame.block))
        self.emit(op, node)
        visible: dict[SSAValue, SSAValue] = {}
        for (name, value), result in zip(outputs, op.outputs, strict=True):
            set_name(result, name)
            self.scope.define(name, result)
            visible.setdefault(value, result)
        exported = {name for name, _ in outputs}
        for name, value in frame.names.items():
            if name in exported:
                continue
            if isinstance(value, SSAValue):
                self.scope.define(name, visible.get(value, _Hidden(name)))
            else:
                self.scope.define(name, value)
        bound = [name for name, value in frame.names.items() if isinstance(value, SSAValue)]
        return bound[-1] if bound and bound[-1] in exported else None

    def visit_name(self, node: ast.Name) -> Any:
        found = super().visit_name(node)
        if isinstance(found, _Hidden):
            raise self.error(
                node,
                f"'{node.id}' is local to its dataflow block",
                hint=f"make it an output: R.output({node.id})",
            )
        return found

    def output(self, node: ast.Call) -> None:
        """`R.output(a, b)`"""
        frame = self.dataflow
        if frame is None or self.block is not frame.block:
            raise self.error(node, "R.output stands in a dataflow block only")
        if frame.outputs is not None:
            raise self.error(node, "R.output stands once in a dataflow block")
        frame.outputs = []
        for arg in node.args:
            value = self.visit(arg)
            if not isinstance(arg, ast.Name) or not isinstance(value, SSAValue):
                raise self.error(arg, "an output is the name of a value", found=describe(value))
            frame.outputs.append((arg.id, value, arg))

    special = {("relax", "output"): output}

    def _func_attr(self, site: CallSite) -> None:
        if self.attrs[-1] is not None:
            raise site.error("the attributes of a function are given once")
        self.attrs[-1] = attribute_dict(self.source, site.node, site.bind("attrs")[0])

    statements: ClassVar[dict[str, Callable[..., Any]]] = {"func_attr": _func_attr}

    def _if(self, node: ast.If) -> str | None:
        if self.dataflow is not None:
            raise self.error(node, "a branch may not stand in a dataflow block")
        cond = self.value(self.visit(node.test), node.test)
        self._check_condition(cond, node.test)
        if not node.orelse:
            raise self.error(node, "an if needs an else in Relax", hint="both branches bind the same name")
        (first, name), (second, other) = (self._branch(b, node) for b in (node.body, node.orelse))
        if name != other:
            raise self.error(
                node, "the branches must end with a binding of one name", expected=f"'{name}'", found=f"'{other}'"
            )
        result_type = least_common_ancestor(*(self._yield(b, name) for b in (first, second)))
        result = self.emit(relax.IfOp(cond, result_type, Region(first), Region(second)), node)
        set_name(result, name)
        self.scope.define(name, result)
        return name

    def _branch(self, statements: list[ast.stmt], node: ast.If) -> tuple[Block, str]:
        block = Block()
        self._branch_depth += 1
        with self.into(block):
            name = self.body(statements)
            value = None if name is None else self.scope.lookup(name)
            if name is None or not isinstance(value, SSAValue):
                raise self.error(statements[-1], "a branch must end with a binding", expected="y = …")
            self.emit(relax.YieldOp(value), statements[-1])
        self._branch_depth -= 1
        return block, name

    @staticmethod
    def _yield(branch: Block, name: str) -> Attribute:
        """The type that a branch declares for its value.

        A last `y = x`, or `y = 0`, says what the value is, and is no binding. Of a last `y = f(x)` the value is `f(x)`:
        `y` is what the branches give, the value has a name of its own.
        """
        last = cast(relax.YieldOp, branch.last_op)
        declared, copy = last.value.type, last.value.owner
        if isinstance(copy, relax.BindOp) and copy.next_op is last:
            copy.result.replace_all_uses_with(copy.value)
            copy.detach()
            copy.erase()
        elif copy is last.prev_op and not isinstance(copy, relax.DataflowOp) and name_of(last.value) == name:
            set_name(last.value, None)
        return declared

    def _check_condition(self, cond: SSAValue, node: ast.AST) -> None:
        t = cond.type
        tensor = isinstance(t, TensorType) and t.rank in (None, 0) and t.element in (None, i1)
        if not (tensor or (isinstance(t, PrimType) and t.dtype == i1) or t == OBJECT):
            raise self.error(node, "a condition must be a bool scalar", expected='R.Tensor((), "bool")', found=t)

    def _local_function(self, node: ast.FunctionDef) -> str:
        pure, _ = decorator_options(self, node)
        with self.scope.frame():
            signature = self.signature(node, pure)
            itself = self._itself(node.name, signature)
            depth, self._branch_depth = self._branch_depth, 0
            body, ret, attrs = self._function_body(node, signature)
            self._branch_depth = depth
        value = self.emit(relax.ClosureOp(body, ret, attrs=attrs, pure=pure), node)
        if itself is not None:
            itself.replace_all_uses_with(value)
        set_name(value, node.name)
        self.scope.define(node.name, value)
        return node.name

    def _itself(self, name: str, signature: Signature) -> SSAValue | None:
        """What stands for a local function in its own body, until it is made; where its result is declared."""
        if signature.ret is None:
            return None
        value = Block(arg_types=[CallableType.of(signature.params, signature.ret, signature.pure)]).args[0]
        self.scope.define(name, value)
        return value

    visitors: ClassVar[dict[type[ast.stmt], Callable[..., str | None]]] = {
        ast.Pass: _pass,
        ast.Nonlocal: _pass,
        ast.Assign: _assign,
        ast.AnnAssign: _annotated,
        ast.Expr: _expression,
        ast.Return: _return,
        ast.With: _with,
        ast.If: _if,
        ast.FunctionDef: _local_function,
    }


def _has_nested_operand(value: SSAValue) -> bool:
    """Whether a call is written as an argument of the one that gives a value: a binding without a name yet."""
    owner = value.owner
    return isinstance(owner, Operation) and any(
        _has_nested_operand(v) if relax.is_inline(v.owner) else name_of(v) is None
        for v in owner.operands
        if isinstance(v, OpResult) and not isinstance(v.owner, relax.LEAVES)
    )


def _parts(value: Any) -> dict[str, Any]:
    """What struct info says: `shape`, `dtype`, `ndim`, `vdevice` of tensors, `fields` of tuples, …"""
    if isinstance(value, TensorType):
        device = value.vdevice.data if isinstance(value.vdevice, StringAttr) else None
        dtype = None if value.element is None else dtype_name(value.element)
        return {"shape": value.dims, "dtype": dtype, "ndim": _ndim(value), "vdevice": device}
    if isinstance(value, ShapeType):
        return {"values": value.dims, "ndim": _ndim(value)}
    if isinstance(value, PrimType):
        return {"dtype": dtype_name(value.dtype), "value": value.expr}
    if isinstance(value, TupleType):
        return {"fields": tuple(value.types)}
    if not isinstance(value, CallableType):
        return {}
    params = tuple(value.params) if isinstance(value.params, ArrayAttr) else None
    return {"params": params, "ret": value.ret}


def _ndim(value: TensorType | ShapeType) -> int:
    return -1 if value.rank is None else value.rank


class _Hidden:
    """A name of a dataflow block that is no output."""

    def __init__(self, name: str):
        self.name = name


def decorator_options(evaluator: StructInfoEvaluator, function: ast.FunctionDef) -> tuple[bool, bool]:
    """`(pure, private)` of `@R.function(…)` on a local function. Raises `ScriptError` for any other decorator."""
    if len(function.decorator_list) != 1:
        raise refuse(evaluator.source, function, "a Relax function")
    node = function.decorator_list[0]
    target = evaluator.visit(node.func if isinstance(node, ast.Call) else node)
    if target != Ref("relax", "function"):
        raise evaluator.error(node, "a local function is an @R.function", found=describe(target))
    if not isinstance(node, ast.Call):
        return True, False
    pure, private, _ = evaluator.call_site(node, target).bind("pure= private= check_well_formed=")
    return pure is not False, bool(private)


def _without_trailing_binds(block: Block, outputs: list[tuple[str, SSAValue]]) -> list[tuple[str, SSAValue]]:
    """`gv = add1` at the end of a dataflow block, for the sake of the output's name alone, is no binding of its own.

    `add1 = add1` is one.
    """
    given = {value: i for i, (_, value) in enumerate(outputs)}
    inner = [value for _, value in outputs]
    while (op := block.last_op) is not None:
        if not isinstance(op, relax.BindOp) or op.result not in given or op.result.uses:
            break
        if op.result.type != op.value.type or inner.count(op.result) != 1:
            break
        if isinstance(op.value, OpResult) and name_of(op.value) == outputs[given[op.result]][0]:
            break
        inner[given[op.result]] = op.value
        op.detach()
        op.erase()
    return [(name, value) for (name, _), value in zip(outputs, inner, strict=True)]


__all__ = ["ModuleContext", "RelaxParser", "Signature"]
