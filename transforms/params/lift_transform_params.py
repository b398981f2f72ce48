"""Compute values that depend only on weights ahead of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region, SSAValue

from ...diagnostics import TiraxError, unknown_name
from ...dialects import relax
from ...dialects.names import name_of, set_name
from ...dialects.relax.types import free_symbolic_vars, tuple_type
from ...dialects.sym.expr import Const, Var, i32
from ...ir.functions.lookup import relax_functions
from ...ir.functions.symbolic_vars import definable_vars, mentioned_by_body
from ...ir.locations import location_of
from ...ir.names import NameSupply, function_names, make_unique
from ...ir.passes.transform import Pass, PassContext
from ...ir.rewriting.dead_bindings import remove_dead_bindings
from .bundle_model_params import bundle_params
from .lifting import STOP, Liftable, ancestors, liftable
from .weights import NUM_INPUT, add_param, num_input, remove_params

_CONSUME = "relax.lift_transform_params.consume_params"


@dataclass(frozen=True, init=False)
class LiftTransformParams(Pass):
    """Move computations on weights, the parameters after the first `num_input`, to a separate function.

    main(x, w) {num_input = 1} {… t = permute_dims(w); y = matmul(x, t); …}
    ->  main(x, t) {… y = matmul(x, t); …}; main_transform_params(model_params) {… t = permute_dims(w); … (t,)}

    `main_transform_params` takes the weights as one tuple and returns the new parameters of `main`: first a shape of
    the symbolic variables that nothing else would determine, then the weights that are still used, then computed ones.
    Only bindings of dataflow blocks are lifted. Values that do not depend on weights are kept.

    `shared_transform`: True for one function `transform_params` for all functions with the attribute, or a list of
    function names: it performs the computations common to all. With the option `consume_params` of the context
    (`relax.lift_transform_params.consume_params`) the tuple releases each weight once it is read. In text
    `shared_transform=true`, or `functions="main","other"`. A function of the name that is there from an earlier run
    is extended. Raises `NameLookupError` for an unknown function, `TiraxError` if the weights have
    different types.
    """

    name = "lift-transform-params"
    shared_transform: bool = False
    functions: tuple[str, ...] = ()
    listed_names: tuple[str, ...] | None = field(init=False, default=None)

    def __init__(self, shared_transform: bool | Sequence[str] = False, *, functions: Sequence[str] = ()):
        if isinstance(shared_transform, str):
            raise TiraxError("shared_transform is a bool or a list of names", found=repr(shared_transform))
        names = tuple(functions) if isinstance(shared_transform, bool) else tuple(shared_transform)
        object.__setattr__(self, "shared_transform", bool(shared_transform) or bool(names))
        object.__setattr__(self, "functions", names)
        listed = bool(functions) or not isinstance(shared_transform, bool)
        object.__setattr__(self, "listed_names", names if listed else None)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        targets = self._targets(op)
        if self.shared_transform or self.listed_names is not None:
            if targets:
                _lift(targets, op, "transform_params")
            return
        for func in targets:
            _lift([func], op, f"{func.sym_name.data}_transform_params")

    def _targets(self, module: ModuleOp) -> list[relax.FuncOp]:
        if self.listed_names is None:
            every = (f for f in relax_functions(module) if not f.sym_name.data.endswith("transform_params"))
            return [f for f in every if num_input(f) is not None]
        known = {f.sym_name.data: f for f in relax_functions(module)}
        for name in self.listed_names:
            if name not in known:
                raise unknown_name("Relax function", name, known)
            if num_input(known[name]) is None:
                raise TiraxError(
                    f"@{name} does not say which parameters are weights",
                    location=location_of(known[name]),
                    hint=f"it needs the attribute {NUM_INPUT}",
                )
        return [known[n] for n in self.listed_names]


def _lift(functions: Sequence[relax.FuncOp], module: ModuleOp, name: str) -> None:
    earlier = next((f for f in relax_functions(module) if f.sym_name.data == name), None)
    if earlier is None:
        name = NameSupply(function_names(module)).fresh(name)
    lifted = liftable(functions, [list(f.params)[num_input(f) :] for f in functions])
    numbers = sorted(set[int]().union(*(each.required() for each in lifted)))
    transform = _Transform(lifted[0], numbers)
    undetermined = dict[Var, None]()
    for each in lifted:
        _use(each, numbers)
        undetermined |= dict.fromkeys(_undetermined(each))
    variables = list(undetermined)
    if variables:
        for each in lifted:
            _take_symbols(each, variables)
    block = functions[0].parent
    assert block is not None
    new = transform.finish(name, variables)
    if earlier is not None:
        new = _composed(earlier, new)
    if (PassContext.current().config or {}).get(_CONSUME, False):
        _consume(new)
    block.insert_op_after(new, functions[0])


def _composed(first: relax.FuncOp, second: relax.FuncOp) -> relax.FuncOp:
    """Return one function for the transforms of weights that were lifted earlier and those lifted now."""
    block, following = first.body.block, second.body.block
    end = block.last_op
    if following.first_op is following.last_op or not isinstance(end, relax.ReturnOp):  # nothing is lifted now
        first.detach()
        return first
    value, bundle = end.value, following.args[0]
    end.detach()
    end.erase()
    if bundle.type != value.type:
        block.add_op(cast := relax.MatchCastOp(value, bundle.type))
        value = cast.result
    bundle.replace_all_uses_with(value)
    for op in list(following.ops):
        op.detach()
        block.add_op(op)
    first.detach()
    region = Region(first.body.detach_block(block))
    result = relax.FuncOp(second.sym_name.data, region, second.ret_type, attrs={NUM_INPUT: 0})
    make_unique(result)
    return result


def _consume(func: relax.FuncOp) -> None:
    """Release each weight from the tuple of all once it is read."""
    (bundle,) = func.params
    for read in [use.operation for use in bundle.uses]:
        if isinstance(read, relax.TupleGetItemOp) and read.parent is not None:
            number = relax.PrimValueOp(Const(read.index.data, i32))
            release = relax.CallPurePackedOp("vm.builtin.tuple_reset_item", [bundle, number.result], tuple_type([]))
            set_name(release.result, "_")
            read.parent.insert_ops_after([number, release], read)


class _Transform:
    """Builder of the function that transforms weights."""

    def __init__(self, lifted: Liftable, numbers: Sequence[int]):
        self.block = Block(arg_types=[w.type for w in lifted.weights])
        self.inner = Block()
        copies: dict[SSAValue, SSAValue] = dict(zip(lifted.weights, self.block.args, strict=True))
        for weight, arg in copies.items():
            set_name(arg, name_of(weight))
        for op in ancestors(lifted, numbers):
            for v in op.operands:
                copies[v] = copies[lifted.value[lifted.number[v]]]
            copy = op.clone(copies)
            self.inner.add_op(copy)
            copies[op.results[0]] = copy.results[0]
        self.outputs = [copies[lifted.value[n]] for n in numbers]

    def finish(self, name: str, variables: Sequence[Var]) -> relax.FuncOp:
        """Return the function; its result is a shape of `variables`, if there are any, followed by the values."""
        if self.outputs and self.outputs == list(self.block.args) and not variables:
            return self._identity(name)
        if variables:
            shape = relax.ShapeOp(variables)
            self.inner.add_op(shape)
            self.outputs.insert(0, shape.result)
        result = relax.TupleOp(self.outputs)
        if self.outputs:
            self.inner.add_ops([result, relax.OutputOp([result.result])])
            dataflow = relax.DataflowOp(Region(self.inner))
            for value in (result.result, dataflow.outputs[0]):
                set_name(value, "output_tuple")
            self.block.add_ops([dataflow, relax.ReturnOp(dataflow.outputs[0])])
        else:
            self.block.add_ops([result, relax.ReturnOp(result.result)])
        func = relax.FuncOp(name, Region(self.block), result.result.type, attrs={NUM_INPUT: 0})
        bundle_params(func, 0)
        return func

    def _identity(self, name: str) -> relax.FuncOp:
        bundle_type = tuple_type(v.type for v in self.outputs)
        block = Block(arg_types=[bundle_type])
        set_name(block.args[0], "model_params")
        block.add_op(relax.ReturnOp(block.args[0]))
        return relax.FuncOp(name, Region(block), bundle_type, attrs={NUM_INPUT: 0})


def _use(lifted: Liftable, numbers: Sequence[int]) -> None:
    """Replace the weights of a function by parameters for these values, in place."""
    block = lifted.func.body.block
    unused = {op for op in lifted.func.walk() if op.results and all(r.first_use is None for r in op.results)}
    keep = {op for op in unused if not relax.is_inline(op) and lifted.number.get(op.results[0]) not in lifted.derived}
    passed = {n: add_param(block, lifted.value[n].type, name_of(lifted.value[n])) for n in numbers}
    for value, n in lifted.number.items():
        if n in passed:
            value.replace_all_uses_with(passed[n])
    for op in [op for op in lifted.func.walk() if op.name == STOP]:
        op.results[0].replace_all_uses_with(op.operands[0])
    remove_dead_bindings(lifted.func, keep)
    remove_params(block, lifted.weights)


def _undetermined(lifted: Liftable) -> list[Var]:
    """Return the symbolic variables that the parameters no longer determine, under the first function's names."""
    params = [p.type for p in lifted.func.params]
    determined = definable_vars(params)
    mentioned = [*free_symbolic_vars(params), *mentioned_by_body(lifted.func)]
    here = [lifted.symbols.get(v) for v in dict.fromkeys(mentioned) if v not in determined]
    return [v for v in here if isinstance(v, Var)]


def _take_symbols(lifted: Liftable, variables: Sequence[Var]) -> None:
    """Add a parameter for a shape of symbolic variables after the inputs."""
    own = {there: here for here, there in lifted.symbols.items()}
    shape = relax.ShapeType.of([own[v] for v in variables])
    add_param(lifted.func.body.block, shape, "vars_from_compile_time_params", num_input(lifted.func))
