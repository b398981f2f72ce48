"""Decorated classes and functions of a running program: names are captured from around them."""

from typing import Any

import numpy as np
import pytest

from tirax.dialects import relax, tir
from tirax.dialects.sym.expr import Const
from tirax.script import ScriptError, in_module_class, parse_class, parse_decorated
from tirax.tvm_api.handles.from_script import function_decorator


class Dialect:
    """A stand-in for the script modules: annotations are evaluated by Python and must do no harm."""

    def __init__(self, dialect: str):
        self.__tirax_script_dialect__ = dialect

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: args[0] if len(args) == 1 and callable(args[0]) else None


Dialect.__tirax_script_dialect__ = ""
R, T, I = Dialect("relax"), Dialect("tir"), Dialect("ir")
WIDTH = 4
SIZES = {"rows": 3}


@R.function
def scaled(x: R.Tensor((SIZES["rows"], WIDTH), "float32")):
    return R.multiply(x, R.const(2.0))


def test_global_names_are_captured() -> None:
    module = parse_decorated(scaled)
    (op,) = module.body.block.ops
    assert op.sym_name.data == "scaled"
    assert [d.constant for d in op.params[0].type.dims] == [3, 4]
    multiply = next(o for o in op.walk() if o.name == "relax.multiply")
    line = scaled.__code__.co_firstlineno + 2
    assert multiply.location.line.data == line
    assert multiply.location.column.data == 12
    assert multiply.location.filename.data == __file__


def test_local_names_are_captured_even_where_only_annotations_use_them() -> None:
    rows, value, dtype, shape = np.int64(5), 0.5, np.dtype("float16"), (7, 2)

    @T.prim_func
    def kernel(A: T.Buffer((rows, shape[1]), dtype)):
        for i in range(rows):
            A[i, 0] = value

    (op,) = parse_decorated(kernel).body.block.ops
    assert isinstance(op, tir.FuncOp)
    assert op.params[0].type.dims == (Const(5, op.params[0].type.dims[0].dtype), op.params[0].type.dims[1])
    assert str(op.params[0].type.dtype) == "f16"


def test_class() -> None:
    width = 8

    class Module:
        @T.prim_func
        def twice(A: T.Buffer((width,), "float32"), B: T.Buffer((width,), "float32")):
            for i in range(width):
                B[i] = A[i] * 2

        @R.function
        def main(x: R.Tensor((width,), "float32")):
            cls = Module
            return R.call_tir(cls.twice, x, R.Tensor((width,), "float32"))

    module = parse_class(Module)
    module.verify()
    assert [op.sym_name.data for op in module.body.block.ops] == ["twice", "main"]


def test_two_classes_of_one_name_are_distinguished() -> None:
    class Module:
        @R.function
        def first(x: R.Object):
            return x

    one = parse_class(Module)

    class Module:  # noqa: F811
        @R.function
        def second(x: R.Object):
            return x

    two = parse_class(Module)
    names = [next(iter(m.body.block.ops)).sym_name.data for m in (one, two)]
    assert names == ["first", "second"]


class Handle:
    """A stand-in for the handle on a function."""

    def __init__(self, op: tir.FuncOp):
        self.op = op


def test_captured_functions_come_along() -> None:
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    source = "@T.prim_func\ndef kernel(A: T.Buffer((4,), 'float32'), B: T.Buffer((4,), 'float32')):\n    B[0] = A[0]"
    from tirax.script import parse_function

    kernel = Handle(parse_function(source))

    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return R.call_tir(kernel, x, R.Tensor((4,), "float32"))

    module = parse_decorated(main)
    module.verify()
    assert [op.sym_name.data for op in module.body.block.ops] == ["kernel", "main"]
    call = next(o for o in module.walk() if isinstance(o, relax.CallTIROp))
    assert call.callee_name == "kernel"


def test_errors_show_the_line_of_the_file() -> None:
    @R.function
    def wrong(x: R.Object):
        return R.add(x, undefined)  # noqa: F821

    with pytest.raises(ScriptError) as info:
        parse_decorated(wrong)
    assert info.value.location.file == __file__
    assert info.value.location.line == wrong.__code__.co_firstlineno + 2
    assert "return R.add(x, undefined)" in str(info.value)


def test_missing_source() -> None:
    def gone(x: Any) -> Any:
        return x

    gone.__code__ = gone.__code__.replace(co_filename="<gone>")
    with pytest.raises(ScriptError, match="cannot be found"):
        parse_decorated(gone)
    with pytest.raises(ScriptError, match="cannot be found"):
        parse_class(type("C", (), {}))


def read_by_another_function(cls: type) -> Any:
    width = "not what the class sees"
    assert width
    return parse_class(cls)


def test_a_decorator_of_a_decorator_sees_the_names_around_the_class() -> None:
    width = 8

    @read_by_another_function
    class Module:
        @R.function
        def main(x: R.Tensor((width,), "float32")):
            return x

    (op,) = Module.body.block.ops
    assert str(op.params[0].type) == "!relax.tensor<[8], f32>"


class Plain:
    @T.prim_func
    def alone(A: T.Buffer((WIDTH,), "float32")):
        A[0] = 1.0


@Dialect("ir").ir_module
class Complete:
    @T.prim_func
    def part(A: T.Buffer((WIDTH,), "float32")):
        A[0] = 1.0


def test_only_classes_of_tvmscript_are_read_completely() -> None:
    assert not in_module_class(Plain.alone)
    assert in_module_class(Complete.part)
    assert not in_module_class(scaled)


def test_names_that_a_notebook_changes():
    """In marimo's cells `_local` is `_cell_Xy_local`, in the text it is not."""

    @T.prim_func
    def _local(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)

    @I.ir_module
    class _Local:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = T.float32(2)

    _local.__code__ = _local.__code__.replace(co_name="_cell_Xy_local")
    _local.__name__, _Local.__name__ = "_cell_Xy_local", "_cell_Xy_Local"
    (op,) = parse_decorated(_local).body.block.ops
    assert op.sym_name.data == "_local"
    assert function_decorator("tensor functions")(_local).script().count("def _local(") == 1
    (op,) = parse_class(_Local).body.block.ops
    assert op.sym_name.data == "main"
