"""Modules of one Relax operator, or of a few, that tests of the default schedule build; planned ones, read again."""

from xdsl.parser import Parser

from tirax.dialects.sched import Sched
from tirax.ir.passes.transform import new_context
from tirax.tvm_api import relax, tir


def module(function, *shapes, dtypes="float32"):
    """`main` computes `function` of tensors; names in shapes are symbolic sizes, `dtypes` is one for all, or a list."""
    names = sorted({d for shape in shapes for d in shape if isinstance(d, str)})
    variables = {name: tir.Var(name, "int64") for name in names}
    dtypes = [dtypes] * len(shapes) if isinstance(dtypes, str) else dtypes
    params = [
        relax.Var(f"a{i}", relax.TensorStructInfo([variables.get(d, d) for d in shape], dtype))
        for i, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(function(*params)))
        builder.emit_func_output(result)
    return builder.get()


def parsed(text):
    """A module that may hold planned schedules."""
    context = new_context()
    context.load_dialect(Sched)
    return Parser(context, text, "<planned>").parse_module()
