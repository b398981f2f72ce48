"""Relax functions as TVMScript: each construct, and the listings of TVM's tutorials."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Operation
from xdsl.parser import Parser

from tirax.diagnostics import UnsupportedError
from tirax.dialects.relax import Relax
from tirax.dialects.sym import Sym
from tirax.dialects.tir import Tir
from tirax.ir.equality import structural_equal
from tirax.script import parse_function, parse_source
from tirax.script.printer import print_script

T2 = "!relax.tensor<[2], f32>"
HEADER = "# from tvm.script import relax as R\n\n"
TIR_HEADER = "# from tvm.script import tir as T\n# from tvm.script import relax as R\n\n"


def module_of(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Sym, Relax, Tir, Arith):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def function_of(text: str) -> Operation:
    (func,) = module_of(text).body.block.ops
    return func


def body_of(body: str, params: str = f"%x: {T2}, %y: {T2}", ret: str = T2, **options: object) -> str:
    """The printed body of a function `main` with a `body` in MLIR text, without indentation."""
    text = print_script(function_of(f"relax.func @main({params}) -> {ret} {{\n{body}\n}}"), **options)
    lines = text.split("):\n" if "-> " not in text else ":\n", 1)[1].split("\n")
    return "\n".join(line[4:] for line in lines)


def tensor(*dims: object) -> str:
    return f"!relax.tensor<[{', '.join(map(str, dims))}], f32>"


def test_the_first_tutorial_function() -> None:
    t = tensor(16, 16)
    func = function_of(
        f"""relax.func @main(%x: {t}) -> {t} {{
        %x4 = relax.dataflow {{
          %x2 = relax.add %x, %x : {t}
          %x4 = relax.add %x2, %x2 : {t}
          relax.output %x4 : {t}
        }}
        relax.return %x4 : {t}
        }}"""
    )
    assert print_script(func) == HEADER + (
        """@R.function
def main(x: R.Tensor((16, 16), dtype="float32")) -> R.Tensor((16, 16), dtype="float32"):
    with R.dataflow():
        x2: R.Tensor((16, 16), dtype="float32") = R.add(x, x)
        x4: R.Tensor((16, 16), dtype="float32") = R.add(x2, x2)
        R.output(x4)
    return x4"""
    )


def test_the_attention_tutorial() -> None:
    t = tensor(2, 4096, 8, 40)
    s = tensor(16, 4096, 40)
    func = function_of(
        f"""relax.func @main(%Q: {t}, %K: {t}) -> {t} {{
        %lv72 = relax.dataflow {{
          %lv58 = relax.permute_dims %Q {{axes = [0, 2, 1, 3]}} : {tensor(2, 8, 4096, 40)}
          %0 = relax.shape [16, 4096, 40]
          %lv59 = relax.reshape %lv58, %0 : {s}
          %lv62_transposed = relax.permute_dims %lv59 {{axes = [0, 2, 1]}} : {tensor(16, 40, 4096)}
          %lv3.1 = relax.matmul %lv59, %lv62_transposed : {tensor(16, 4096, 4096)}
          %1 = relax.constant <f32 [] 0.15811388194561005>
          %lv68 = relax.multiply %lv3.1, %1 : {tensor(16, 4096, 4096)}
          %lv69 = relax.nn.softmax %lv68 : {tensor(16, 4096, 4096)}
          %lv72 = relax.nn.attention %Q, %K, %K : {t}
          relax.output %lv72 : {t}
        }}
        relax.return %lv72 : {t}
        }}"""
    )
    assert print_script(func).split("\n")[4:] == [
        "    with R.dataflow():",
        '        lv58: R.Tensor((2, 8, 4096, 40), dtype="float32") = R.permute_dims(Q, axes=[0, 2, 1, 3])',
        '        lv59: R.Tensor((16, 4096, 40), dtype="float32") = R.reshape(lv58, R.shape([16, 4096, 40]))',
        '        lv62_transposed: R.Tensor((16, 40, 4096), dtype="float32") = R.permute_dims(lv59, axes=[0, 2, 1])',
        '        lv3_1: R.Tensor((16, 4096, 4096), dtype="float32") = R.matmul(lv59, lv62_transposed, out_dtype="void")',  # noqa: E501
        '        lv68: R.Tensor((16, 4096, 4096), dtype="float32") = '
        'R.multiply(lv3_1, R.const(0.15811388194561005, "float32"))',
        '        lv69: R.Tensor((16, 4096, 4096), dtype="float32") = R.nn.softmax(lv68, axis=-1)',
        '        lv72: R.Tensor((2, 4096, 8, 40), dtype="float32") = '
        "R.nn.attention(Q, K, K, scale=None, causal_mask=None, window_size=None)",
        "        R.output(lv72)",
        "    return lv72",
    ]


def test_an_unknown_dtype_is_left_out_and_private_is_printed() -> None:
    t = "!relax.tensor<[1024]>"
    func = function_of(
        f"""relax.func private @main(%x: {t}) -> {t} {{
        %out = relax.dataflow {{
          %y = relax.add %x, %x : {t}
          %0 = relax.constant <f32 [] 1.0>
          %out = relax.add %0, %y : {t}
          relax.output %out : {t}
        }}
        relax.return %out : {t}
        }}"""
    )
    assert print_script(func) == HEADER + (
        """@R.function(private=True)
def main(x: R.Tensor((1024,))) -> R.Tensor((1024,)):
    with R.dataflow():
        y: R.Tensor((1024,)) = R.add(x, x)
        out: R.Tensor((1024,)) = R.add(R.const(1.0, "float32"), y)
        R.output(out)
    return out"""
    )


@pytest.mark.parametrize(
    ("mlir", "script"),
    [
        ("!relax.tensor<ndim = 2, f32>", 'R.Tensor(dtype="float32", ndim=2)'),
        ("!relax.tensor<*>", "R.Tensor"),
        ("!relax.tensor<*, f16>", 'R.Tensor(dtype="float16")'),
        ("!relax.tensor<[], i1>", 'R.Tensor((), dtype="bool")'),
        ('!relax.tensor<[3], f32, vdevice = "cuda:0">', 'R.Tensor((3,), dtype="float32", vdevice="cuda:0")'),
        ('!relax.tensor<ndim = 2, f32, vdevice = "cuda:0">', 'R.Tensor(dtype="float32", ndim=2, vdevice="cuda:0")'),
        ("!relax.tensor<[n, n * 2 + 1], f32>", 'R.Tensor(("n", "n * 2 + 1"), dtype="float32")'),
        ("!relax.tensor<[min(n, 8)], f32>", 'R.Tensor(("T.min(n, 8)",), dtype="float32")'),
        ("!relax.shape<[n, 4]>", 'R.Shape(["n", 4])'),
        ("!relax.shape<ndim = 2>", "R.Shape(ndim=2)"),
        ("!relax.shape<*>", "R.Shape(ndim=-1)"),
        ("!relax.prim<i64>", 'R.Prim("int64")'),
        ("!relax.prim<i64, n>", 'R.Prim(value="n")'),
        ("!relax.object", "R.Object"),
        ("tuple<!relax.object, !relax.tensor<*>>", "R.Tuple(R.Object, R.Tensor)"),
        ("tuple<>", "R.Tuple"),
        ("!relax.callable<* -> !relax.object, impure>", "R.Callable"),
        ("!relax.callable<* -> !relax.tensor<*>, impure>", "R.Callable(ret=R.Tensor)"),
        ("!relax.callable<* -> !relax.object>", "R.Callable(ret=R.Object, purity=True)"),
        ("!relax.callable<(!relax.tensor<*>) -> !relax.object>", "R.Callable((R.Tensor,), R.Object, True)"),
    ],
)
def test_struct_info(mlir: str, script: str) -> None:
    func = function_of(f"relax.func @main(%x: {mlir}) -> {mlir} {{\n relax.return %x : {mlir}\n}}")
    assert f"def main(x: {script}) -> {script}:" in print_script(func)


def test_symbolic_variables_are_declared_in_order_before_the_attributes() -> None:
    func = function_of(
        """relax.func @main(%x: !relax.tensor<[1, m], f32>, %w: !relax.tensor<[n, m]>) -> !relax.tensor<[k], f32>
        attributes {num_input = 1 : i64, b = true, a = "s", list = [1, 2], f = 0.5 : f64} {
        %y = relax.call_dps_packed "f"(%x) : !relax.tensor<[n + 1], f32>
        %z = relax.match_cast %y : !relax.tensor<[n + 1], f32> -> !relax.tensor<[k], f32>
        relax.return %z : !relax.tensor<[k], f32>
        }"""
    )
    assert print_script(func) == TIR_HEADER + (
        """@R.function
def main(x: R.Tensor((1, "m"), dtype="float32"), w: R.Tensor(("n", "m"))) -> R.Tensor(("k",), dtype="float32"):
    k = T.int64()
    m = T.int64()
    n = T.int64()
    R.func_attr({"a": "s", "b": True, "f": 0.5, "list": [1, 2], "num_input": 1})
    y = R.call_dps_packed("f", (x,), out_sinfo=R.Tensor((n + 1,), dtype="float32"))
    z: R.Tensor((k,), dtype="float32") = R.match_cast(y, R.Tensor((k,), dtype="float32"))
    return z"""
    )


def test_variables_of_a_match_cast_in_a_dataflow_block_stand_before_it() -> None:
    u = "!relax.tensor<ndim = 1, f32>"
    printed = body_of(
        f"""%gv = relax.dataflow {{
          %lv = relax.match_cast %x : {u} -> !relax.tensor<[n], f32>
          %gv = relax.add %lv, %lv : !relax.tensor<[n], f32>
          relax.output %gv : !relax.tensor<[n], f32>
        }}
        relax.return %gv : !relax.tensor<[n], f32>""",
        f"%x: {u}",
        u,
    )
    assert printed == (
        """n = T.int64()
with R.dataflow():
    lv: R.Tensor((n,), dtype="float32") = R.match_cast(x, R.Tensor((n,), dtype="float32"))
    gv: R.Tensor((n,), dtype="float32") = R.add(lv, lv)
    R.output(gv)
return gv"""
    )


def test_an_output_of_another_name_is_a_binding() -> None:
    printed = body_of(
        f"""%gv, %gv1 = relax.dataflow {{
          %add = relax.add %x, %y : {T2}
          relax.output %add, %x : {T2}, {T2}
        }}
        relax.return %gv : {T2}"""
    )
    assert printed == (
        """with R.dataflow():
    add: R.Tensor((2,), dtype="float32") = R.add(x, y)
    gv: R.Tensor((2,), dtype="float32") = add
    gv1: R.Tensor((2,), dtype="float32") = x
    R.output(gv, gv1)
return gv"""
    )


def test_values_without_names_get_them() -> None:
    printed = body_of(
        f"""%0 = relax.dataflow {{
          %1 = relax.add %x, %y : {T2}
          %2 = relax.add %1, %y : {T2}
          %3 = relax.add %2, %y : {T2}
          relax.output %3 : {T2}
        }}
        %4 = relax.add %0, %y : {T2}
        relax.return %4 : {T2}"""
    )
    names = [line.strip().split(":")[0] for line in printed.split("\n") if "R.add" in line]
    assert names == ["lv", "lv1", "gv", "gv1"]


def test_clashing_names_are_numbered_and_keywords_avoided() -> None:
    func = function_of(f"relax.func @main(%x: {T2}, %y: {T2}) -> {T2} {{\n relax.return %x : {T2}\n}}")
    for value, name in zip(func.regions[0].block.args, ("lambda", "lambda"), strict=True):
        value.name_hint = name
    assert "def main(lambda1: R.Tensor" in print_script(func)
    assert ", lambda2: R.Tensor" in print_script(func)


def test_generated_names_leave_alone_what_has_a_name() -> None:
    printed = body_of(
        f"""%gv = relax.dataflow {{
          %0 = relax.add %x, %y : {T2}
          %lv = relax.add %0, %y : {T2}
          %1 = relax.add %lv, %y : {T2}
          %lv2 = relax.add %1, %y : {T2}
          %gv = relax.add %lv2, %y : {T2}
          relax.output %gv : {T2}
        }}
        relax.return %gv : {T2}"""
    )
    names = [line.strip().split(":")[0] for line in printed.split("\n") if "R.add" in line]
    assert names == ["lv1", "lv", "lv3", "lv2", "gv"]


def test_the_symbol_is_an_attribute_only_where_it_is_another() -> None:
    def printed(symbol: str) -> str:
        attrs = f'attributes {{global_symbol = "{symbol}"}}'
        func = function_of(f"relax.func @main(%x: {T2}) -> {T2} {attrs} {{\n relax.return %x : {T2}\n}}")
        assert f"def {symbol}(" in print_script(func) and "func_attr" not in print_script(func)  # alone, by its symbol
        func.detach()
        return print_script(ModuleOp([func]))

    assert "func_attr" not in printed("main")
    assert 'R.func_attr({"global_symbol": "other"})' in printed("other")


def test_a_dimension_that_is_called_like_a_parameter_is_renamed() -> None:
    t = tensor("n")
    printed = print_script(function_of(f"relax.func @main(%n: {t}) -> {t} {{\n relax.return %n : {t}\n}}"))
    assert 'def main(n: R.Tensor(("n1",), dtype="float32"))' in printed
    assert "    n1 = T.int64()\n    return n" in printed


@pytest.mark.parametrize(
    ("mlir", "script"),
    [
        ("relax.constant <i32 [] 1>", 'R.const(1, "int32")'),
        ("relax.constant <i1 [] true>", 'R.const(True, "bool")'),
        ("relax.constant <f64 [] 0.1>", 'R.const(0.10000000000000001, "float64")'),
        ("relax.constant <f32 [] 1.0e30>", 'R.const(1000000015047466219876688855040.0, "float32")'),
        ('relax.constant <f32 [] "0x0000807f">', 'R.const("inf", "float32")'),
        ('relax.constant <f32 [] "0x000080ff">', 'R.const("-inf", "float32")'),
        ("relax.shape [4, 2]", "R.shape([4, 2])"),
        ("relax.prim_value 3", "R.prim_value(3)"),
        ("relax.prim_value float 1.5 : f32", "R.prim_value(T.float32(1.5))"),
        ('relax.string "a\\"b"', 'R.str("a\\"b")'),
        ("relax.dtype f16", 'R.dtype("float16")'),
        ("relax.null_value : !relax.object", "R.null_value()"),
        ('relax.extern_func "f" : !relax.callable<* -> !relax.object, impure>', 'R.ExternFunc("f")'),
        (
            'relax.extern_func "f" : !relax.callable<() -> !relax.object>',
            'R.ExternFunc("f", R.Callable((), R.Object, True))',
        ),
        ("relax.function_ref @g : !relax.callable<() -> !relax.object>", "g"),
        ("relax.tuple(%x, %y)", "(x, y)"),
        ("relax.tuple(%x)", "(x,)"),
        ("relax.tuple()", "R.tuple()"),
    ],
)
def test_leaves_stand_where_they_are_used(mlir: str, script: str) -> None:
    printed = body_of(
        f'%0 = {mlir}\n%r = relax.call_packed "f"(%0) : {T2}\nrelax.return %r : {T2}',
    )
    note = 'R.Tensor((2,), dtype="float32")'
    assert printed == f'r: {note} = R.call_packed("f", {script}, sinfo_args=({note},))\nreturn r'


def test_leaves_with_a_name_are_bindings() -> None:
    printed = body_of(
        f"""%c = relax.constant <f32 [] 2.0>
        %t = relax.tuple(%c, %x)
        %a = relax.tuple_get_item %t[1] : {T2}
        %b = relax.bind %a : {T2} -> {T2}
        relax.return %b : {T2}"""
    )
    t2 = 'R.Tensor((2,), dtype="float32")'
    assert printed.split("\n") == [
        'c: R.Tensor((), dtype="float32") = R.const(2.0, "float32")',
        f't: R.Tuple(R.Tensor((), dtype="float32"), {t2}) = c, x',
        f"a: {t2} = t[1]",
        f"b: {t2} = a",
        "return b",
    ]


@pytest.mark.parametrize(
    ("mlir", "ret", "script"),
    [
        (
            f"relax.call_tir @f(%x, %y) tir_vars [n] : {T2}",
            T2,
            'R.call_tir(f, (x, y), out_sinfo=R.Tensor((2,), dtype="float32"), tir_vars=R.shape([n]))',
        ),
        (
            f"relax.call_tir @f() : tuple<{T2}, {T2}>",
            f"tuple<{T2}, {T2}>",
            'R.call_tir(f, R.tuple(), out_sinfo=[R.Tensor((2,), dtype="float32"), R.Tensor((2,), dtype="float32")])',
        ),
        (
            f"relax.call_tir_inplace @f(%x) inplace [0] : {T2}",
            T2,
            'R.call_tir_inplace(f, (x,), out_sinfo=R.Tensor((2,), dtype="float32"), inplace_indices=[0])',
        ),
        ('relax.call_packed "f"(%x) : !relax.object', "!relax.object", 'R.call_packed("f", x, sinfo_args=(R.Object,))'),
        (
            'relax.call_pure_packed "f"(%x, %y) attributes {a = 1 : i64} : !relax.object',
            "!relax.object",
            'R.call_pure_packed("f", x, y, a=1, sinfo_args=(R.Object,))',
        ),
        (f"relax.call @g(%x) : {T2}", T2, "g(x)"),
        (
            f"relax.concat (%x, %y) : {tensor(4)}",
            tensor(4),
            "R.concat((x, y), axis=0)",
        ),
        (
            "relax.astype %x {dtype = f16} : !relax.tensor<[2], f16>",
            "!relax.tensor<[2], f16>",
            'R.astype(x, dtype="float16")',
        ),
        (f"relax.sum %x {{axis = [0]}} : {tensor()}", tensor(), "R.sum(x, axis=[0], keepdims=False)"),
        (
            f"relax.nn.layer_norm %x, %y, %y {{axes = [-1]}} : {T2}",
            T2,
            "R.nn.layer_norm(x, y, y, axes=[-1], epsilon=1.0000000000000001e-05, center=True, scale=True)",
        ),
        (f"relax.take %x, %x {{axis = 0}} : {T2}", T2, "R.take(x, x, axis=0)"),
    ],
)
def test_calls_and_operators(mlir: str, ret: str, script: str) -> None:
    params = f"%x: {T2}, %y: {T2}, %k: !relax.prim<i64, n>"
    module_text = f"relax.func @main({params}) -> {ret} {{\n%r = {mlir}\nrelax.return %r : {ret}\n}}"
    context = Context()
    for dialect in (Builtin, Sym, Relax):
        context.load_dialect(dialect)
    (func,) = Parser(context, module_text).parse_module().body.block.ops
    (line,) = [line.strip() for line in print_script(func).split("\n") if line.strip().startswith("r")][:1]
    name, value = line.split(" = ", 1)
    assert value == script
    assert (":" in name) == (not script.startswith(("R.call_tir(", "R.call_dps_packed(")))


def test_branches() -> None:
    printed = body_of(
        f"""%r = relax.if %c : {T2} {{
          %w = relax.add %x, %x : {T2}
          %r = relax.multiply %w, %w : {T2}
          relax.yield %r : {T2}
        }} else {{
          %w = relax.add %x, %x : {T2}
          relax.yield %w : {T2}
        }}
        relax.return %r : {T2}""",
        f"%x: {T2}, %c: !relax.tensor<[], i1>",
    )
    assert printed == (
        """if c:
    w: R.Tensor((2,), dtype="float32") = R.add(x, x)
    r: R.Tensor((2,), dtype="float32") = R.multiply(w, w)
else:
    w: R.Tensor((2,), dtype="float32") = R.add(x, x)
    r: R.Tensor((2,), dtype="float32") = w
return r"""
    )


@pytest.mark.parametrize(
    ("name", "inputs", "ret", "printed"),
    [
        ("%0", "!relax.object", T2, ["return x"]),
        ("%0", "!relax.tensor<ndim = 1, f32>", T2, ["return x"]),
        ("%y", "!relax.object", T2, ["y: {0} = R.match_cast(x, {0})", "return y"]),  # a binding that somebody wrote
        ("%0", T2, T2, ["gv: {0} = R.match_cast(x, {0})", "return gv"]),  # the parser would make none
        ("%0", "!relax.tensor<[3], f32>", T2, ["gv: {0} = R.match_cast(x, {0})", "return gv"]),  # nor here
        ("%0", "!relax.object", "!relax.tensor<ndim = 1, f32>", ["gv: {0} = R.match_cast(x, {0})", "return gv"]),
    ],
)
def test_a_cast_to_the_declared_result_is_not_written(name: str, inputs: str, ret: str, printed: list[str]) -> None:
    text = body_of(f"{name} = relax.match_cast %x : {inputs} -> {T2}\nrelax.return {name} : {T2}", f"%x: {inputs}", ret)
    assert text.split("\n") == [line.format('R.Tensor((2,), dtype="float32")') for line in printed]


def test_local_functions() -> None:
    t = tensor("n")
    printed = body_of(
        f"""%f = relax.closure(%a: {t}, %b: {tensor("m")}) -> {t} {{
          %s = relax.add %a, %x : {t}
          relax.return %s : {t}
        }}
        %y = relax.call_value %f(%x, %x) : {t}
        relax.return %y : {t}""",
        f"%x: {t}",
        t,
    )
    assert printed == (
        """n = T.int64()
# from tvm.script import tir as T
# from tvm.script import relax as R

@R.function
def f(a: R.Tensor((n,), dtype="float32"), b: R.Tensor(("m",), dtype="float32")) -> R.Tensor((n,), dtype="float32"):
    m = T.int64()
    s: R.Tensor((n,), dtype="float32") = R.add(a, x)
    return s

y: R.Tensor((n,), dtype="float32") = f(x, x)
return y"""
    )


@pytest.mark.parametrize(
    ("op", "text"),
    [
        ("relax.add %x, %y", "R.add(x, y)"),
        (f"relax.match_cast %x : {T2} -> ", "R.match_cast(x, {})"),
        ('relax.call_pure_packed "f"(%x)', 'R.call_pure_packed("f", x, sinfo_args=({},))'),
    ],
)
def test_annotations_are_hidden_on_request_and_inferred(op: str, text: str) -> None:
    arrow = "" if op.endswith("-> ") else " : "
    body = f"%r = {op}{arrow}{T2}\n%s = relax.add %r, %y : {T2}\nrelax.return %s : {T2}"
    first = body_of(body, show_all_struct_info=False).split("\n")[0]
    assert first == "r = " + text.format('R.Tensor((2,), dtype="float32")')


def test_an_op_without_a_form_is_refused_by_name() -> None:
    func = function_of(
        f"relax.func @main(%x: {T2}) -> {T2} {{\n%c = arith.constant 1 : i32\nrelax.return %x : {T2}\n}}"
    )
    with pytest.raises(UnsupportedError, match="arith.constant has no form in TVMScript"):
        print_script(func)


@pytest.mark.parametrize(
    ("inner", "printed"),
    [
        ("%y = relax.nn.relu %x : {0}\n%z = relax.bind %y : {0} -> {0}", ["y = R.nn.relu(x)", "z = y", "output(z)"]),
        ("%z = relax.bind %x : {0} -> {0}", ["z = x", "output(z)"]),
    ],
)
def test_a_copy_at_the_end_of_a_dataflow_block_prints_once(inner: str, printed: list[str]) -> None:
    body = f"%z = relax.dataflow {{\n{inner.format(T2)}\nrelax.output %z : {T2}\n}}\nrelax.return %z : {T2}"
    text = print_script(function_of(f"relax.func @main(%x: {T2}) -> {T2} {{\n{body}\n}}"))
    lines = [line.strip() for line in text.split("\n") if " = " in line or "output" in line]
    plain = [line.replace(': R.Tensor((2,), dtype="float32")', "").replace("R.output", "output") for line in lines]
    assert plain == printed


def test_a_second_name_like_the_first_is_a_copy() -> None:
    source = """@R.function
def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
    with R.dataflow():
        y = R.nn.relu(x)
        y = y
        R.output(y)
    return y"""
    text = print_script(parse_function(source))
    assert 'y1: R.Tensor((2,), dtype="float32") = y\n        R.output(y1)\n    return y1' in text


PACKED = """# from tvm.script import relax as R

@R.function
def f(x: R.Tensor((2,), dtype="float32")) -> R.Tensor(dtype="float32", ndim=1):
    g: R.Callable = R.ExternFunc("packed")
    with R.dataflow():
        h: R.Callable = R.ExternFunc("inner")
        a = R.call_dps_packed(g, (x,), out_sinfo=R.Tensor((2,), dtype="float32"))
        b = R.call_dps_packed(h, (a,), out_sinfo=R.Tensor((2,), dtype="float32"))
        R.output(b)
    c = R.call_dps_packed("inner", (b,), out_sinfo=R.Tensor((2,), dtype="float32"))
    d: R.Tensor(dtype="float32", ndim=1) = R.call_dps_packed(g, (c,), out_sinfo=R.Tensor((2,), dtype="float32"))
    return d"""


def test_a_call_of_a_packed_function_names_the_variable_that_is_bound_to_it() -> None:
    func = parse_function(PACKED.split("\n", 2)[2])
    assert print_script(func) == PACKED


def test_a_call_in_place_is_of_its_type_where_the_annotation_says_less() -> None:
    func = parse_function(PACKED.split("\n", 2)[2])
    (call,) = [op for op in func.walk() if op.results and op.results[0].name_hint == "d"]
    assert str(call.results[0].type) == T2
    assert print_script(func.clone()).count("d = R.call_dps_packed") == 1


SEVERAL = """# from tvm.script import relax as R

@R.function
def f(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
    a: R.Tuple(R.Tensor((2,), dtype="float32"), R.Object) = R.call_pure_packed("g", x, sinfo_args=SINFO)
    b: R.Tensor((2,), dtype="float32") = a[0]
    return b"""


def test_a_packed_function_that_gives_a_tuple_says_so_as_it_was_written() -> None:
    types = 'R.Tensor((2,), dtype="float32"), R.Object'
    written = [SEVERAL.replace("SINFO", s) for s in (f"({types})", f"(R.Tuple({types}),)")]
    funcs = [parse_function(text.split("\n", 2)[2]) for text in written]
    assert [print_script(func) for func in funcs] == written
    assert print_script(funcs[0].clone()) == written[0]
    assert structural_equal(*funcs)


def test_outputs_are_printed_in_order_of_definition() -> None:
    """As in TVM, whatever order a program lists them in: the text is the same after it is read."""
    source = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    with R.dataflow():
        first = R.exp(x)
        second = R.tanh(first)
        third = R.abs(x)
        R.output(third, first, second)
    return R.add(third, R.add(second, first))
"""
    text = print_script(parse_source(source))
    assert "R.output(first, second, third)" in text
    assert print_script(parse_source(text)) == text
