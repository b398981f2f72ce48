"""Lowering of tensors to a `tir.func`: one loop nest with a block for each computed tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerType, i32, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ..diagnostics import DTypeError, TiraxError, nesting_checked
from ..dialects import tir
from ..dialects.dtypes import dtype_of
from ..dialects.names import name_of, set_name
from ..dialects.quick import operations
from ..dialects.sym import ValueOp
from ..dialects.sym.expr import Const, SymExpr, Var
from ..dialects.sym.rebuild import retyped
from ..handles.tir.place import place
from ..handles.tir.prim_expr import PrimExpr
from ..handles.tir.prim_func import PrimFunc
from ..handles.tir.variables import SizeVar
from ..handles.tir.variables import Var as FreeVar
from ..ir.buffers.regions import infer_regions
from ..ir.rewriting.edit import replace_op
from .axis import IterVar
from .extern_body import Statements
from .reduction import Reduce
from .tensor import ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor

Mappings = dict[SSAValue, SSAValue]
Stage = PlaceholderOp | ComputeOp | ExternOp | ScanOp
LAYOUT_FREE = "layout_free_placeholders"
"""The attribute of a compute that lists the inputs whose layout may be chosen freely."""


def create_prim_func(args: Sequence[Tensor | SizeVar | FreeVar], index_dtype_override: str | None = None) -> tir.FuncOp:
    """Return a public function `main` with parameters `args`: inputs, outputs and symbolic variables, in this order.

    Intermediate tensors become buffers of the function. `index_dtype_override` (`int64`) replaces the dtype of extents
    and indices. Raises `TiraxError` if `args` lack an input or a variable that no shape determines.
    """
    func = build_func("main", args, private=False, index_dtype=index_dtype_override)
    missing = [str(v.name) for v in undetermined_vars(func)]
    if missing:
        raise TiraxError(
            f"no argument determines {', '.join(missing)}",
            expected="each symbolic variable as an argument, or as a whole dimension of one",
            hint="list the variable in create_prim_func",
        )
    return func


def prim_func_of(ops: Sequence[Tensor | SizeVar | FreeVar], index_dtype_override: str | None = None) -> PrimFunc:
    """Return the result of `create_prim_func` as a handle, as TVM's API does."""
    return PrimFunc.on(create_prim_func(ops, index_dtype_override))


@nesting_checked()
def build_func(
    name: str, args: Sequence[Tensor | SizeVar | FreeVar], *, private: bool = True, index_dtype: str | None = None
) -> tir.FuncOp:
    """Run `create_prim_func` and name the function."""
    override = None if index_dtype is None else dtype_of(index_dtype)
    if override is not None and not isinstance(override, IntegerType):
        raise TiraxError("index_dtype_override must be an integer dtype", expected="int32 or int64", found=index_dtype)
    return _Builder(args, override).build(name, private)


def mentioned_vars(func: tir.FuncOp) -> list[Var]:
    """Return the symbolic variables that `func` mentions, in order of first occurrence, each once."""
    variables: dict[Var, None] = {}
    for param in func.params:
        if isinstance(param.type, tir.BufferType):
            variables.update((v, None) for e in param.type.exprs() for v in e.free_vars())
    for op in operations(func):
        if isinstance(op, ValueOp):
            variables.update((v, None) for v in op.expr.data.free_vars())
        elif isinstance(op, tir.AllocBufferOp) and isinstance(op.result.type, tir.BufferType):
            variables.update((v, None) for e in op.result.type.exprs() for v in e.free_vars())
        elif isinstance(op, tir.ForOp) and isinstance(op.extent, SymExpr):
            variables.update((v, None) for v in op.extent.free_vars())
    return list(variables)


def undetermined_vars(func: tir.FuncOp) -> list[Var]:
    """Return the symbolic variables that are neither a parameter nor a dimension of one by themselves."""
    known = {d for p in func.params if isinstance(p.type, tir.BufferType) for d in p.type.dims if isinstance(d, Var)}
    known |= {Var(name_of(p) or "", p.type) for p in func.params if isinstance(p.type, IntegerType)}
    return [v for v in mentioned_vars(func) if v not in known]


def add_scalar_params(func: tir.FuncOp, variables: Sequence[Var]) -> None:
    """Append symbolic variables as scalar parameters of the same names, and replace the variables' uses by them."""
    block = func.body.block
    params: dict[SymExpr, SSAValue] = {}
    for v in variables:
        params[v] = param = block.insert_arg(v.dtype, len(block.args))
        set_name(param, str(v.name))
    for op in operations(func) if params else ():
        param = params.get(op.expr.data) if isinstance(op, ValueOp) else None
        if param is not None:
            replace_op(op, param, renamed=False)


class _Builder:
    """Builder of one function."""

    def __init__(self, args: Sequence[Tensor | SizeVar | FreeVar], override: IntegerType | None):
        self.args = args
        self.override = override
        self.block = Block()
        self.buffers: Mappings = {}
        self.names: set[str] = set()
        self.at_offsets: set[SSAValue] = set()

    def build(self, name: str, private: bool) -> tir.FuncOp:
        stages = _stages([a for a in self.args if isinstance(a, Tensor)])
        self.at_offsets = {t.buffer for s in stages if isinstance(s, ExternOp) for t in s.at_offsets}
        for arg in self.args:
            self._parameter(arg)
        for stage in stages:
            self._allocate(stage)
        for stage in stages:
            if isinstance(stage, ComputeOp):
                self._stage(stage)
            elif isinstance(stage, ExternOp):
                self._extern(stage)
        return tir.FuncOp(name, Region(self.block), private=private, attrs=self._attrs(stages))

    def _parameter(self, arg: Tensor | SizeVar | FreeVar) -> None:
        scalar = isinstance(arg, SizeVar | FreeVar)
        dtype = arg.type if scalar else self._buffer_type(arg)
        param = self.block.insert_arg(dtype, len(self.block.args))
        set_name(param, arg.name)
        if isinstance(arg, FreeVar):
            self.buffers[arg.ssa] = param
        if not scalar:
            if arg.buffer in self.buffers:
                raise TiraxError(f"the tensor '{arg.name}' is given twice")
            self.buffers[arg.buffer] = param

    def _buffer_type(self, tensor: Tensor) -> Attribute:
        t = tensor.buffer_type
        if self.override is not None:
            t = t.with_shape([self._sym(d) for d in tensor.dims])
        return t.at_any_offset() if tensor.buffer in self.at_offsets else t

    def _sym(self, expr: SymExpr) -> SymExpr:
        """Return `expr` with its constants in the overriding dtype."""
        if self.override is None or expr.dtype == self.override:
            return expr
        return retyped(expr, self.override, {v: Var(v.name, self.override) for v in expr.free_vars()})

    def _allocate(self, stage: Stage) -> None:
        if isinstance(stage, PlaceholderOp):
            return
        for tensor in stage.outputs:
            if tensor.buffer not in self.buffers:
                t = tir.BufferType.of([self._sym(d) for d in tensor.dims], tensor.type)
                anywhere = isinstance(stage, ExternOp) and tensor.buffer in self.at_offsets
                alloc = tir.AllocBufferOp(t.at_any_offset() if anywhere else t)
                set_name(alloc.result, tensor.name)
                self.block.add_op(alloc)
                self.buffers[tensor.buffer] = alloc.result

    def _attrs(self, stages: Sequence[Stage]) -> dict[str, Any]:
        free = [t for s in stages if isinstance(s, ComputeOp) for t in s.attrs.get(LAYOUT_FREE, ())]
        positions = [i for i, a in enumerate(self.args) if any(a is t for t in free)]
        return {"layout_free_buffers": positions or None, "tir.noalias": True}

    def _unique(self, name: str) -> str:
        out, count = name, 0
        while out in self.names:
            count += 1
            out = f"{name}_{count}"
        self.names.add(out)
        return out

    def _stage(self, stage: ComputeOp) -> None:
        axes = (*stage.axis, *stage.reduce_axis)
        inner, loop_vars = self._loops(axes)
        bodies = [stage.body] if isinstance(stage.body, Reduce) else [(e,) for e in stage.body]
        for i, body in enumerate(bodies):
            name = self._unique(stage.outputs[i].name if len(bodies) > 1 else stage.name)
            outputs = stage.outputs if isinstance(body, Reduce) else (stage.outputs[i],)
            inner.add_op(self._tir_block(name, stage, body, outputs, axes, loop_vars, inner))

    def _extern(self, stage: ExternOp) -> None:
        """Add a block without iterators around the statements; it reads and writes full tensors."""
        inner = Block()
        for cls, tensors in ((tir.ReadsOp, stage.input_tensors), (tir.WritesOp, stage.outputs)):
            for tensor in tensors:
                dims = [self._sym(d) for d in tensor.dims]
                zeros = [tir.ConstOp(0, d.dtype) for d in dims]
                inner.add_ops(zeros)
                inner.add_op(cls(self.buffers[tensor.buffer], [z.result for z in zeros], dims))
        stage.body(Statements(inner, self.buffers))
        notes = dict(stage.attrs)
        self.block.add_op(tir.BlockOp(self._unique(stage.name), [], Region(inner), annotations=notes or None))

    def _loops(self, axes: Sequence[IterVar]) -> tuple[Block, list[SSAValue]]:
        """Add nested loops over `axes` at the end of the function; return the innermost body and the loop variables."""
        block, loop_vars = self.block, list[SSAValue]()
        for axis in axes:
            extent = self._sym(axis.extent)
            body = Block(arg_types=[extent.dtype])
            set_name(body.args[0], axis.name)
            block.add_op(tir.ForOp(self._sym(axis.min), extent, Region(body)))
            loop_vars.append(body.args[0])
            block = body
        return block, loop_vars

    def _tir_block(
        self,
        name: str,
        stage: ComputeOp,
        body: tuple[PrimExpr, ...] | Reduce,
        outputs: Sequence[Tensor],
        axes: Sequence[IterVar],
        loop_vars: Sequence[SSAValue],
        parent: Block,
    ) -> tir.BlockOp:
        iters = [
            (
                tir.IterKind.REDUCE if a.is_reduction else tir.IterKind.SPATIAL,
                v,
                (self._sym(a.min), self._sym(a.extent)),
            )
            for a, v in zip(axes, loop_vars, strict=True)
        ]
        names = [f"v_{a.name}" for a in axes]
        if not axes:
            zero = tir.ConstOp(0, self.override or i32)  # the domain stays int32, as in TVM: no index depends on it
            parent.add_op(zero)
            iters, names = [(tir.IterKind.SPATIAL, zero.result, (Const(0, i32), Const(1, i32)))], ["vi"]
        inner = Block(arg_types=[v.type for _, v, _ in iters])
        for arg, arg_name in zip(inner.args, names, strict=True):
            set_name(arg, arg_name)
        mapping = self.buffers | {a.ssa: arg for a, arg in zip(axes, inner.args, strict=False)}
        indices: list[SSAValue] = list(inner.args[: len(stage.axis)])
        targets = [self.buffers[t.buffer] for t in outputs]
        _fill(inner, body, targets, indices, mapping)
        _drop_overridden(inner)
        notes = {k: v for k, v in stage.attrs.items() if k != LAYOUT_FREE}
        block = tir.BlockOp(name, iters, Region(inner), annotations=notes or None)
        infer_regions(block)
        self._note_layout_free(block, stage)
        return block

    def _note_layout_free(self, block: tir.BlockOp, stage: ComputeOp) -> None:
        """Annotate a block with the layout-free tensors that it reads and that are not inputs of the function."""
        free = [self.buffers[t.buffer] for t in stage.attrs.get(LAYOUT_FREE, ()) if not isinstance(t.op, PlaceholderOp)]
        places = {region.buffer: k for k, region in enumerate(block.reads)}
        noted = [tir.ReadBufferAttr(places[b]) for b in free if b in places]
        if noted:
            annotations = {} if block.annotations is None else block.annotations.data
            block.properties["annotations"] = DictionaryAttr({**annotations, LAYOUT_FREE: ArrayAttr(noted)})


def _fill(
    block: Block,
    body: tuple[PrimExpr, ...] | Reduce,
    targets: Sequence[SSAValue],
    indices: list[SSAValue],
    mapping: Mappings,
) -> None:
    """Add the init region and the stores of a block."""
    if not isinstance(body, Reduce):
        block.add_op(tir.StoreOp(place(body[0], block, mapping), targets[0], indices))
        _normalize_comparisons(block)
        return
    init = Block()
    scope = dict(mapping)
    for value, target in zip(body.initial(), targets, strict=True):
        init.add_op(tir.StoreOp(place(value, init, scope), target, indices))
    block.add_op(tir.InitOp(Region(init)))
    _update(block, body, targets, indices, mapping)


def _drop_overridden(block: Block) -> None:
    """Remove unused duplicates of constants and no-op conversions, which an overridden dtype leaves."""
    for op in list(block.walk()):
        if isinstance(op, tir.CastOp) and op.result.type == op.value.type:
            replace_op(op, op.value, renamed=False)
        elif isinstance(op, tir.ConstOp) and not op.result.uses:
            op.detach()
            op.erase()


def _update(
    block: Block, body: Reduce, targets: Sequence[SSAValue], indices: list[SSAValue], mapping: Mappings
) -> None:
    """Add the update of a reduction at one point; several values are computed before the first of them is stored."""
    loads = [tir.LoadOp(t, indices) for t in targets]
    before = tuple(PrimExpr(load.result) for load in loads)
    after = [place(v, block, mapping) for v in body.combiner.combine(before, body.sources)]
    for load in loads:  # `place` copies: the originals must not remain uses of the buffers
        load.drop_all_references()
    if len(after) > 1:
        after = [_let(block, v, target) for v, target in zip(after, targets, strict=True)]
    for value, target in zip(after, targets, strict=True):
        block.add_op(tir.StoreOp(value, target, indices))


def _let(block: Block, value: SSAValue, target: SSAValue) -> SSAValue:
    let = tir.LetOp(value)
    set_name(let.result, f"v_{target.name_hint}")
    block.add_op(let)
    return let.result


_MIRROR: dict[type[Operation], type[tir.BinaryExpr]] = {tir.GtOp: tir.LtOp, tir.GeOp: tir.LeOp}


def _normalize_comparisons(block: Block) -> None:
    """`a > b -> b < a`, `a >= b -> b <= a`, `a - 1 < 14 -> a < 15`: the forms that TVM's simplifier leaves."""
    for op in list(block.walk()):
        cls = _MIRROR.get(type(op))
        if cls is not None:
            op = _replaced(op, cls(op.operands[1], op.operands[0]))
        if isinstance(op, tir.LtOp | tir.LeOp) and op.lhs.type in (i32, i64):
            sides = _without_offset(op)
            if sides is not None:
                _replaced(op, type(op)(*sides))


def _replaced(op: Operation, new: tir.BinaryExpr) -> tir.BinaryExpr:
    parent = op.parent_block()
    if parent is not None:
        parent.insert_op_before(new, op)
    op.results[0].replace_all_uses_with(new.result)
    op.detach()
    op.erase()
    return new


def _without_offset(op: tir.BinaryExpr) -> tuple[SSAValue, SSAValue] | None:
    """Return the sides of `x + constant < constant` with the offset moved to the right; None for other comparisons."""
    bounds = [side.owner.py_value if isinstance(side.owner, tir.ConstOp) else None for side in op.operands]
    position = 0 if bounds[0] is None else 1
    bound, added = bounds[1 - position], op.operands[position].owner
    if bound is None or not isinstance(added, tir.AddOp | tir.SubOp) or not isinstance(added.rhs.owner, tir.ConstOp):
        return None
    offset = added.rhs.owner.py_value if isinstance(added, tir.AddOp) else -added.rhs.owner.py_value
    if not -(1 << 31) <= bound - offset < 1 << 31:  # may overflow the constant's dtype
        return None
    moved = tir.ConstOp(bound - offset, op.lhs.type)
    parent = op.parent_block()
    if parent is not None:
        parent.insert_op_before(moved, op)
    return (added.lhs, moved.result) if position == 0 else (moved.result, added.lhs)


def _stages(roots: Sequence[Tensor]) -> list[Stage]:
    """Return the operations that compute `roots`, producers first.

    Raises `TiraxError` for a placeholder that is not among `roots`, and `DTypeError` (TVM's TypeError) for a scan.
    """
    inputs = {t.op for t in roots}
    done: dict[Stage, None] = {}
    stack: list[tuple[Stage, bool]] = [(t.op, False) for t in reversed(roots)]
    while stack:
        op, ready = stack.pop()
        if ready:
            done[op] = None
        elif op not in done:
            if isinstance(op, PlaceholderOp) and op not in inputs:
                raise TiraxError(
                    f"the input '{op.name}' is not among the arguments", hint="list it in create_prim_func"
                )
            if isinstance(op, ScanOp):
                raise DTypeError(
                    f"Unsupported Operation: ScanOp. '{op.name}' is a description, no kernel is made of it",
                    expected="te.placeholder, te.compute, te.extern",
                    hint="write its loop as a tensor function in TVMScript, or as an R.while_loop",
                )
            stack.append((op, True))
            stack.extend((t.op, False) for t in reversed(op.input_tensors))
    return list(done)
