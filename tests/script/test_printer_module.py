"""Whole modules as TVMScript: the listings of TVM's tutorials, metadata, options."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser

from tirax.diagnostics import TiraxError
from tirax.dialects import relax
from tirax.dialects.relax import Relax
from tirax.dialects.sym import Sym
from tirax.dialects.tir import Tir
from tirax.ir.equality import assert_structural_equal
from tirax.script import ScriptError, parse_source
from tirax.script.metadata import CONSTANT_KEY, MetadataError, decode_metadata, encode_metadata
from tirax.script.printer import print_script, show


def module_of(text: str) -> ModuleOp:
    context = Context()
    for dialect in (Builtin, Sym, Relax, Tir):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def tensor(*dims: object) -> str:
    return f"!relax.tensor<[{', '.join(map(str, dims))}], f32>"


def buffer(*dims: object) -> str:
    return f"!tir.buffer<[{', '.join(map(str, dims))}], f32>"


PARAMS = ", ".join(
    f"%{name}: {tensor(*dims)}"
    for name, dims in (
        ("x", ("n", 784)),
        ("fc1_weight", (128, 784)),
        ("fc1_bias", (128,)),
        ("fc2_weight", (10, 128)),
        ("fc2_bias", (10,)),
    )
)
FORWARD = f"relax.func @forward({PARAMS}) -> {tensor('n', 10)} attributes {{num_input = 1 : i64}}"

MLP = f"""{FORWARD} {{
  %gv = relax.dataflow {{
    %permute_dims = relax.permute_dims %fc1_weight : {tensor(784, 128)}
    %matmul = relax.matmul %x, %permute_dims : {tensor("n", 128)}
    %add = relax.add %matmul, %fc1_bias : {tensor("n", 128)}
    %relu = relax.nn.relu %add : {tensor("n", 128)}
    %permute_dims1 = relax.permute_dims %fc2_weight : {tensor(128, 10)}
    %matmul1 = relax.matmul %relu, %permute_dims1 : {tensor("n", 10)}
    %add1 = relax.add %matmul1, %fc2_bias : {tensor("n", 10)}
    relax.output %add1 : {tensor("n", 10)}
  }}
  relax.return %gv : {tensor("n", 10)}
}}"""


def loops(names: tuple[str, ...], extents: tuple[object, ...], kinds: str, name: str, body: str) -> str:
    """A nest of loops around a block whose iterators are the loops' variables."""
    heads = "\n".join(f"tir.for %{n} = 0 to {e} {{" for n, e in zip(names, extents, strict=True))
    words = {"S": "spatial", "R": "reduce"}
    iters = ", ".join(f"%v_{n} = {words[k]}(%{n}, {e})" for n, e, k in zip(names, extents, kinds, strict=True))
    return f'{heads}\ntir.block "{name}" ({iters}) {{\n{body}\n}}{"}" * len(names)}'


def matmul(x: str, w: str, out: str, columns: int, depth: int) -> str:
    body = f"""tir.reads %{x}[%v_i0, %v_k]
      tir.reads %{w}[%v_k, %v_i1]
      tir.writes %{out}[%v_i0, %v_i1]
      tir.init {{
        %z = tir.const 0.0 : f32
        tir.store %z, %{out}[%v_i0, %v_i1]
      }}
      %a = tir.load %{out}[%v_i0, %v_i1] : f32
      %b = tir.load %{x}[%v_i0, %v_k] : f32
      %c = tir.load %{w}[%v_k, %v_i1] : f32
      %d = tir.mul %b, %c : f32
      %e = tir.add %a, %d : f32
      tir.store %e, %{out}[%v_i0, %v_i1]"""
    return loops(("i0", "i1", "k"), ("n", columns, depth), "SSR", "matmul", body)


def add(x: str, bias: str, out: str, columns: int) -> str:
    body = f"""tir.reads %{x}[%v_ax0, %v_ax1]
      tir.reads %{bias}[%v_ax1]
      tir.writes %{out}[%v_ax0, %v_ax1]
      %a = tir.load %{x}[%v_ax0, %v_ax1] : f32
      %b = tir.load %{bias}[%v_ax1] : f32
      %c = tir.add %a, %b : f32
      tir.store %c, %{out}[%v_ax0, %v_ax1]"""
    return loops(("ax0", "ax1"), ("n", columns), "SS", "T_add", body)


def relu(x: str, out: str) -> str:
    body = f"""tir.reads %{x}[%v_i0, %v_i1]
      tir.writes %{out}[%v_i0, %v_i1]
      %a = tir.load %{x}[%v_i0, %v_i1] : f32
      %b = tir.const 0.0 : f32
      %c = tir.max %a, %b : f32
      tir.store %c, %{out}[%v_i0, %v_i1]"""
    return loops(("i0", "i1"), ("n", 128), "SS", "compute", body)


def transpose(name: str, x: str, rows: int, columns: int, attrs: str = "") -> str:
    body = f"""tir.reads %{x}[%v_ax1, %v_ax0]
      tir.writes %T_transpose[%v_ax0, %v_ax1]
      %a = tir.load %{x}[%v_ax1, %v_ax0] : f32
      tir.store %a, %T_transpose[%v_ax0, %v_ax1]"""
    params = f"%{x}: {buffer(columns, rows)}, %T_transpose: {buffer(rows, columns)}"
    nest = loops(("ax0", "ax1"), (rows, columns), "SS", "T_transpose", body)
    return f"tir.func private @{name}({params}) attributes {{{attrs}tir.noalias = true}} {{\n{nest}\n}}"


def prim_func(name: str, params: list[tuple[str, tuple[object, ...]]], body: str, handles: str = "") -> str:
    text = ", ".join(f"%{p}: {buffer(*dims)}" for p, dims in params)
    return f"tir.func private @{name}({text}) {handles} attributes {{tir.noalias = true}} {{\n{body}\n}}"


def call(result: str, name: str, args: str, t: str) -> str:
    return f"%{result} = relax.call_tir @{name}({args}) : {t}"


def main_of(calls: list[str], output: str) -> str:
    t = tensor("n", 10)
    bindings = "\n".join(calls)
    dataflow = f"%gv = relax.dataflow {{\n{bindings}\nrelax.output %{output} : {t}\n}}"
    return f"{FORWARD} {{\n{dataflow}\nrelax.return %gv : {t}\n}}"


LEGALIZED = "\n".join(
    [
        main_of(
            [
                call("permute_dims", "transpose", "%fc1_weight", tensor(784, 128)),
                call("matmul", "matmul", "%x, %permute_dims", tensor("n", 128)),
                call("add", "add", "%matmul, %fc1_bias", tensor("n", 128)),
                call("relu", "relu", "%add", tensor("n", 128)),
                call("permute_dims1", "transpose1", "%fc2_weight", tensor(128, 10)),
                call("matmul1", "matmul1", "%relu, %permute_dims1", tensor("n", 10)),
                call("add1", "add1", "%matmul1, %fc2_bias", tensor("n", 10)),
            ],
            "add1",
        ),
        transpose("transpose1", "fc2_weight", 128, 10),
        transpose("transpose", "fc1_weight", 784, 128),
        prim_func("relu", [("add", ("n", 128)), ("compute", ("n", 128))], relu("add", "compute")),
        prim_func(
            "matmul1",
            [("relu", ("n", 128)), ("permute_dims1", (128, 10)), ("matmul", ("n", 10))],
            matmul("relu", "permute_dims1", "matmul", 10, 128),
        ),
        prim_func(
            "matmul",
            [("x", ("n", 784)), ("permute_dims", (784, 128)), ("matmul", ("n", 128))],
            matmul("x", "permute_dims", "matmul", 128, 784),
        ),
        prim_func(
            "add1",
            [("matmul1", ("n", 10)), ("fc2_bias", (10,)), ("T_add", ("n", 10))],
            add("matmul1", "fc2_bias", "T_add", 10),
        ),
        prim_func(
            "add",
            [("matmul", ("n", 128)), ("fc1_bias", (128,)), ("T_add", ("n", 128))],
            add("matmul", "fc1_bias", "T_add", 128),
        ),
    ]
)

FUSED = "\n".join(
    [
        prim_func(
            "fused_matmul1_add1",
            [
                ("relu", ("n", 128)),
                ("permute_dims1", (128, 10)),
                ("fc2_bias", (10,)),
                ("T_add_intermediate", ("n", 10)),
            ],
            f"%matmul_intermediate = tir.alloc_buffer : {buffer('n', 10)}\n"
            + matmul("relu", "permute_dims1", "matmul_intermediate", 10, 128)
            + add("matmul_intermediate", "fc2_bias", "T_add_intermediate", 10),
            'handles ["p_relu", "permute_dims1", "fc2_bias", "p_output0"]',
        ),
        prim_func(
            "fused_matmul_add_relu",
            [
                ("x", ("n", 784)),
                ("permute_dims", (784, 128)),
                ("fc1_bias", (128,)),
                ("compute_intermediate", ("n", 128)),
            ],
            f"%matmul_intermediate = tir.alloc_buffer : {buffer('n', 128)}\n"
            + f"%T_add_intermediate = tir.alloc_buffer : {buffer('n', 128)}\n"
            + matmul("x", "permute_dims", "matmul_intermediate", 128, 784)
            + add("matmul_intermediate", "fc1_bias", "T_add_intermediate", 128)
            + relu("T_add_intermediate", "compute_intermediate"),
            'handles ["p_x", "permute_dims", "fc1_bias", "p_output0"]',
        ),
        transpose("transpose", "fc1_weight", 784, 128, "op_pattern = 2 : i64, "),
        transpose("transpose1", "fc2_weight", 128, 10, "op_pattern = 2 : i64, "),
        main_of(
            [
                call("permute_dims", "transpose", "%fc1_weight", tensor(784, 128)),
                call("lv", "fused_matmul_add_relu", "%x, %permute_dims, %fc1_bias", tensor("n", 128)),
                call("permute_dims1", "transpose1", "%fc2_weight", tensor(128, 10)),
                call("gv", "fused_matmul1_add1", "%lv, %permute_dims1, %fc2_bias", tensor("n", 10)),
            ],
            "gv",
        ),
    ]
)

WITH_PARAMS = f"""relax.func @main(%x: {tensor(1, 2)}) -> {tensor(1, 2)} {{
  %out = relax.dataflow {{
    %0 = relax.constant <f32 [2, 2] [[1.0, 2.0], [3.0, 4.0]]>
    %1 = relax.constant <f32 [2] [0.5, 0.25]>
    %lv0 = relax.call_dps_packed "linear0"(%x, %0, %1) : {tensor(1, 2)}
    %lv1 = relax.call_dps_packed "env.relu"(%lv0) : {tensor(1, 2)}
    %2 = relax.constant <f32 [2, 2] [[4.0, 3.0], [2.0, 1.0]]>
    %3 = relax.constant <f32 [2] [0.5, 0.25]>
    %out = relax.call_dps_packed "env.linear"(%lv1, %2, %3) : {tensor(1, 2)}
    relax.output %out : {tensor(1, 2)}
  }}
  relax.return %out : {tensor(1, 2)}
}}"""


@pytest.mark.parametrize(
    ("name", "text"), [("mlp", MLP), ("mlp_legalized", LEGALIZED), ("mlp_fused", FUSED), ("mlp_bound", WITH_PARAMS)]
)
def test_the_listings_of_the_tutorials(name: str, text: str, golden: Callable[[str, str], None]) -> None:
    golden(f"script/{name}.txt", print_script(module_of(text)))


def test_each_constant_is_kept_once() -> None:
    printed = print_script(module_of(WITH_PARAMS))
    assert [printed.count(f'metadata["relax.expr.Constant"][{i}]') for i in range(5)] == [1, 1, 1, 1, 0]
    assert printed.endswith("\n\n# Metadata omitted. Use show_meta=True in script() method to show it.")


def test_a_constant_of_two_operations_is_kept_once() -> None:
    func = module_of(WITH_PARAMS)
    constants = [op for op in func.walk() if isinstance(op, relax.ConstantOp)]
    constants[3].properties["value"] = constants[1].properties["value"]
    printed = print_script(func)
    assert [printed.count(f'metadata["relax.expr.Constant"][{i}]') for i in range(4)] == [1, 2, 1, 0]


def test_metadata_can_be_shown_and_read() -> None:
    printed = print_script(module_of(WITH_PARAMS), show_meta=True)
    head, _, rest = printed.partition('metadata = tvm.ir.load_json("""')
    assert head == "# from tvm.script import ir as I\n# from tvm.script import relax as R\n"
    tables = decode_metadata(rest.partition('"""')[0])
    contents = [c.numpy().tolist() for c in tables["relax.expr.Constant"]]
    assert contents == [[[1.0, 2.0], [3.0, 4.0]], [0.5, 0.25], [[4.0, 3.0], [2.0, 1.0]], [0.5, 0.25]]
    assert "Metadata omitted" not in printed


def test_metadata_of_every_dtype_is_read_as_it_was() -> None:
    texts = ["f16 [2] [1.0, -2.0]", "bf16 [1] [1.5]", "i1 [2] [true, false]", "ui8 [2, 1] [[1], [255]]", "f32 [0] []"]
    module = module_of("\n".join(f"%c{i} = relax.constant <{t}>" for i, t in enumerate(texts)))
    constants = [op.properties["value"] for op in module.body.block.ops]
    assert decode_metadata(encode_metadata({CONSTANT_KEY: constants}))["relax.expr.Constant"] == constants


def test_strings_of_several_lines_are_metadata() -> None:
    text = """@T.prim_func
def f():
    T.func_attr({"one": "a\\tb", "two": "a\\nb"})
    T.call_extern("int32", "g", "a\\nb", "a\\n\\"\\\\c", "a\\nb")
"""
    module = parse_source(text)
    printed = print_script(module, show_meta=True)
    assert '"one": "a\\tb", "two": metadata["runtime.String"][0]' in printed
    assert [printed.count(f'metadata["tir.StringImm"][{i}]') for i in range(3)] == [2, 1, 0]
    assert_structural_equal(parse_source(printed), module)
    with pytest.raises(ScriptError, match="show_meta=True"):
        parse_source(print_script(module))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "the metadata is not JSON"),
        ("[]", "must be a JSON object"),
        ('{"root": 1}', "another format"),
        ('{"format": "tirax.metadata", "version": 1, "relax.expr.Constant": 3}', "must be a list"),
        ('{"format": "tirax.metadata", "version": 1, "relax.expr.Constant": [{}]}', "constant 0 of the metadata must"),
        ('{"format": "tirax.metadata", "version": 1, "runtime.String": ["@"]}', "string 0 of the metadata must"),
    ],
)
def test_metadata_that_cannot_be_read_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MetadataError, match=problem):
        decode_metadata(text)


def test_metadata_of_a_wrong_size_is_refused() -> None:
    table = {"dtype": "float32", "shape": [2], "data": "AAAA"}
    text = json.dumps({"format": "tirax.metadata", "version": 1, "relax.expr.Constant": [table]})
    with pytest.raises(MetadataError, match="wrong size\n  expected: 8\n  found: 3"):
        decode_metadata(text)


def test_an_empty_module() -> None:
    assert print_script(module_of("builtin.module {}")) == (
        "# from tvm.script import ir as I\n\n@I.ir_module\nclass Module:\n    pass"
    )


def test_names_and_prefixes_can_be_chosen() -> None:
    printed = print_script(
        module_of(LEGALIZED), name="Mod", ir_prefix="ir", tir_prefix="tir", relax_prefix="rx", module_alias="self"
    )
    assert printed.startswith("# from tvm.script import ir as ir\n# from tvm.script import tir as tir\n")
    assert (
        "# from tvm.script import relax as rx\n\n@ir.ir_module\nclass Mod:\n    @tir.prim_func(private=True)" in printed
    )
    assert "        self = Mod\n        with rx.dataflow():" in printed
    assert "rx.call_tir(self.transpose, (fc1_weight,), out_sinfo=rx.Tensor" in printed
    assert "I." not in printed and "R." not in printed and " T." not in printed


def test_without_an_alias_the_module_is_named() -> None:
    printed = print_script(module_of(LEGALIZED), module_alias="")
    assert "R.call_tir(Module.transpose, (fc1_weight,)" in printed
    assert "cls" not in printed


def test_a_value_called_cls_gives_way() -> None:
    t = tensor(2)
    printed = print_script(
        module_of(
            f"""relax.func @f(%cls: {t}) -> {t} {{
            %y = relax.call @g(%cls) : {t}
            relax.return %y : {t}
            }}
            relax.func @g(%x: {t}) -> {t} {{
            relax.return %x : {t}
            }}"""
        )
    )
    assert "def f(cls_1: R.Tensor" in printed
    assert 'cls = Module\n        y: R.Tensor((2,), dtype="float32") = cls.g(cls_1)' in printed


def test_underlined_ops_and_their_context() -> None:
    module = module_of(MLP)
    (func,) = module.body.block.ops
    relus = [op for op in func.walk() if op.name == "relax.nn.relu"]
    printed = print_script(module, obj_to_underline=relus)
    lines = printed.split("\n")
    mark = next(i for i, line in enumerate(lines) if "^" in line)
    assert lines[mark - 1].strip() == 'relu: R.Tensor((n, 128), dtype="float32") = R.nn.relu(add)'
    assert lines[mark] == " " * 12 + "^" * len(lines[mark - 1].strip())
    near = print_script(module, obj_to_underline=relus, num_context_lines=1).split("\n")
    assert [near[0], near[-1]] == [
        f"(... {mark - 2} lines skipped ...)",
        f"(... {len(lines) - mark - 2} lines skipped ...)",
    ]
    assert near[1:-1] == lines[mark - 2 : mark + 2]


def test_an_expression_is_underlined_with_its_statement() -> None:
    module = module_of(LEGALIZED)
    (maximum,) = [op for op in module.walk() if op.name == "tir.max"]
    lines = print_script(module, obj_to_underline=[maximum], num_context_lines=0).split("\n")
    assert lines[1].strip() == "compute[v_i0, v_i1] = T.max(add[v_i0, v_i1], T.float32(0.0))"
    assert set(lines[2].strip()) == {"^"}


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TiraxError, match="printing has no option colour"):
        print_script(module_of("builtin.module {}"), colour=True)


def test_show_prints_plain_text_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    module = module_of(MLP)
    show(module)
    assert capsys.readouterr().out == print_script(module) + "\n"


def test_show_highlights_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    show(module_of(MLP), style="ansi")
    assert "\x1b[" in capsys.readouterr().out


def test_formatting_with_black(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    black = SimpleNamespace(Mode=lambda line_length: None, format_str=lambda text, mode: "formatted")
    monkeypatch.setitem(sys.modules, "black", black)  # pyright: ignore[reportArgumentType]
    show(module_of("builtin.module {}"), black_format=True)
    assert capsys.readouterr().out == "formatted\n"
    monkeypatch.setitem(sys.modules, "black", None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TiraxError, match="needs black\n  hint: pip install black"):
        show(module_of("builtin.module {}"), black_format=True)


ATTRIBUTES = """
@I.ir_module
class Module:
    I.module_attrs({"b": "x", "a": 1, "c": [True, 2.5]})
    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return x
"""


def test_attributes_of_a_module() -> None:
    text = print_script(parse_source(ATTRIBUTES))
    assert '    I.module_attrs({"a": 1, "b": "x", "c": [True, 2.5]})\n    @R.function\n' in text
    assert print_script(parse_source(text)) == text
    module = module_of("builtin.module attributes {a = dense<1.0> : tensor<1xf32>} {}")
    assert "module_attrs" not in print_script(module)  # what has no form in TVMScript is left out


def test_a_module_inside_of_a_module_is_refused() -> None:
    """Its functions would be left out without a word."""
    module = module_of("builtin.module { builtin.module { tir.func @f() {} } }")
    with pytest.raises(TiraxError, match="builtin.module has no form in TVMScript"):
        print_script(module)


def test_constants_are_numbered_as_the_text_mentions_them() -> None:
    module = module_of(f"""
    relax.func @main(%x: {tensor(2)}) -> {tensor(2)} {{
      %0 = relax.constant <f32 [2] [1.0, 2.0]>
      %c = relax.constant <f32 [2] [3.0, 4.0]>
      %2 = relax.constant <f32 [2] [5.0, 6.0]>
      %y = relax.maximum %x, %c : {tensor(2)}
      %z = relax.maximum %y, %0 : {tensor(2)}
      relax.return %z : {tensor(2)}
    }}""")
    text = print_script(module, show_meta=True)
    assert 'c: R.Tensor((2,), dtype="float32") = metadata["relax.expr.Constant"][0]' in text
    assert 'R.maximum(y, metadata["relax.expr.Constant"][1])' in text and "[2]" not in text.split("class")[1]
    assert print_script(parse_source(text), show_meta=True) == text


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_floats_that_have_no_literal(value: str) -> None:
    module = module_of(
        f"""
    relax.func @main(%x: {tensor(2)}) -> {tensor(2)} {{
      %0 = relax.constant <f32 [] {{0}}>
      %y = relax.maximum %x, %0 : {tensor(2)}
      relax.return %y : {tensor(2)}
    }}""".replace("{0}", {"inf": '"0x0000807f"', "-inf": '"0x000080ff"', "nan": '"0x0000c07f"'}[value])
    )
    text = print_script(module)
    assert f'R.const("{value}", "float32")' in text
    assert print_script(parse_source(text)) == text
    with pytest.raises(TiraxError, match="a constant must be a number"):
        parse_source(text.replace(f'"{value}", "float32"', f'"{value}", "int32"'))


def test_main_is_the_last_function() -> None:
    module = module_of(
        f"tir.func @main() {{\n}}\ntir.func @b() {{\n}}\n"
        f"relax.func @a(%x: {tensor(2)}) -> {tensor(2)} {{\n relax.return %x : {tensor(2)}\n}}"
    )
    lines = [line.strip() for line in print_script(module).split("\n")]
    assert [line[4] for line in lines if line.startswith("def ")] == ["b", "a", "m"]
