"""`IRModule`, `GlobalVar`, `PrimFunc`."""

import pytest

from tirax.diagnostics import NameLookupError, TiraxError
from tirax.handles.module import IRModule
from tirax.handles.relax.names import Function, GlobalVar, TensorStructInfo, Var
from tirax.handles.tir.buffers import Buffer, decl_buffer
from tirax.handles.tir.prim_func import PrimFunc
from tirax.ir.equality import structural_equal
from tirax.script import parse_source
from tirax.tvm_api import relax as rx
from tirax.tvm_api.script import ir as I
from tirax.tvm_api.script import relax as R

SOURCE = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def scale(a: T.handle, B: T.Buffer((4,), "float32"), s: T.float32):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float16")
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = B[vi] * s

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.add(x, x)
"""


@pytest.fixture
def module():
    return IRModule(parse_source(SOURCE))


def identity(name="f"):
    x = Var("x", TensorStructInfo((4,), "float32"))
    return Function([x], x, attrs={"global_symbol": name})


def test_functions_are_looked_up_by_name_and_by_variable(module):
    gv = module.get_global_var("main")
    assert isinstance(module["main"], Function) and module[gv] == module["main"]
    assert isinstance(module["scale"], PrimFunc)
    assert "main" in module and gv in module and "nothing" not in module and 3 not in module
    assert {g.name_hint for g in module.get_global_vars()} == {"main", "scale"}
    assert [g.name_hint for g, _ in module.functions_items()] == ["main", "scale"]
    assert len(module) == 2 and set(module.functions) == set(module)


def test_an_unknown_function(module):
    with pytest.raises(NameLookupError, match="did you mean 'main'"):
        module["mian"]
    with pytest.raises(TiraxError, match="found by name"):
        module[3]


def test_functions_are_put_in(module):
    module["extra"] = identity()
    assert module["extra"].name == "extra"
    old = module["main"]
    module.update_func(module.get_global_var("main"), identity())
    assert module["main"].body.body.name_hint == "x" and old.name == "main" and old != module["main"]
    module.update({"extra": old, "more": identity()})
    assert module["extra"].op is old.op and "more" in module
    del module["more"]
    assert "more" not in module
    with pytest.raises(TiraxError, match="holds functions"):
        module["main"] = 3


def test_a_function_of_another_module_is_copied(module):
    other = IRModule({"f": module["main"]})
    assert other["f"].op is not module["main"].op and other["f"].name == "f" and module["main"].name == "main"


def test_a_module_of_one_function(module):
    assert IRModule.from_expr(identity("g")).names == ["g"]
    assert IRModule.from_expr(identity("g").without_attr("global_symbol")).names == ["main"]
    assert IRModule.from_expr(module["scale"].with_attr("global_symbol", "main"))["main"].private is False


def test_copies_share_nothing(module):
    copy = module.clone()
    assert structural_equal(copy.op, module.op) and copy["main"].op is not module["main"].op
    del copy["main"]
    assert "main" in module


def test_attributes(module):
    new = module.with_attr("a", 1).with_attrs({"b": "x", "c": [1, 2]})
    assert dict(new.attrs) == {"a": 1, "b": "x", "c": [1, 2]} and new.attrs.b == "x" and not module.attrs
    assert new.get_attr("a") == 1 and new.without_attr("a").get_attr("a") is None


def test_script_parses_back(module):
    assert structural_equal(parse_source(module.script()), module.op)
    assert str(module) == module.script() and repr(module) == str(module)


def test_a_tensor_function(module):
    func = module["scale"]
    a, b, s = func.params
    assert (a.dtype, b.dtype, s.dtype) == ("handle", "handle", "float32")
    assert func.buffer_map[func.params[0]].dtype == "float16" and func.params[2] not in func.buffer_map
    assert func.handle_names == ["a", "var_B", "s"] and s.name == "s"
    assert func.private and "global_symbol" not in func.attrs and func.ret_type == ""
    assert [p.dtype for p in func.struct_info.params[:2]] == ["float16", "float32"]
    loop = func.body.block.body
    (block,) = loop.children
    assert (loop.op.name, block.op.name) == ("tir.for", "tir.block")


def test_a_buffer():
    buffer = decl_buffer((4, "n"), "int8", "A", strides=[8, 1], elem_offset=2, scope="local", data_alignment=128)
    assert isinstance(buffer, Buffer) and buffer.name == "A" and buffer.dtype == "int8" and buffer.scope() == "local"
    assert buffer.shape[0] == 4 and buffer.strides == [8, 1] and buffer.elem_offset == 2
    assert buffer.data_alignment == 128 and buffer == Buffer(buffer.ssa) and buffer != decl_buffer(4)


def test_global_vars_are_names():
    assert GlobalVar("f") == GlobalVar("f") and GlobalVar("f") != GlobalVar("g") and GlobalVar("f") != "f"


@pytest.mark.parametrize("value", [5, rx.const(1.0), None])
def test_what_no_module_holds_is_reported(value) -> None:
    put = {
        "by name": lambda: IRModule({"f": value}),
        "alone": lambda: IRModule.from_expr(value),
        "by a builder": lambda: rx.BlockBuilder().add_func(value, "f"),
    }
    for way in put.values():
        with pytest.raises(TiraxError, match="a module holds functions") as error:
            way()
        assert type(value).__name__ in str(error.value)


def test_the_python_name_is_that_of_the_decorated_class():
    @I.ir_module
    class Named:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            return x

    assert Named.__name__ == "Named" and IRModule.__name__ == "IRModule"
    assert not hasattr(Named.clone(), "__name__")
