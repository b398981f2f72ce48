"""Grouping, outlining and names: what TVM 0.27 makes of the same programs, but where noted; and the meaning stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block

from tirax.dialects import relax, tir
from tirax.dialects.names import name_of, set_name
from tirax.interpreter import assert_same_meaning, interpret, random_inputs
from tirax.ir.passes.transform import PassContext
from tirax.transforms.fusion.fuse_ops import FuseOps
from tirax.transforms.fusion.fuse_tir import FuseTIR
from tirax.transforms.fusion.graph import BindingGraph, PostDominators
from tirax.transforms.fusion.groups import Groups
from tirax.transforms.fusion.outline import Outliner
from tirax.transforms.fusion.pattern import AnnotateTIROpPattern, OpPattern

Program = Callable[[str, str, str], ModuleOp]
Parse = Callable[[str], ModuleOp]
Shape = Callable[[ModuleOp], dict[str, list[str]]]

SQUARE = "x: f32[8, 8]; w: f32[8, 8]"
SPLIT = "%s = relax.split %x {indices_or_sections = 2, axis = 1} : tuple<f32[8, 4], f32[8, 4]>"

CASES: list[tuple[str, str, str, str, dict[str, list[str]]]] = [
    (
        "element-wise into a reduction",
        SQUARE,
        """%a = relax.add %x, %w : f32[8, 8]
        %b = relax.add %a, %w : f32[8, 8]
        %o = relax.sum %b {axis = [1]} : f32[8]""",
        "o: f32[8]",
        {"main": ["fused_add_add_sum"], "fused_add_add_sum": ["add", "add", "sum"]},
    ),
    (
        "nothing after a reduction",
        SQUARE,
        "%e = relax.exp %x : f32[8, 8] %s = relax.sum %e {axis = [1]} : f32[8] %o = relax.exp %s : f32[8]",
        "o: f32[8]",
        {"main": ["fused_tir_exp_sum", "tir_exp1"], "fused_tir_exp_sum": ["tir_exp", "sum"]},
    ),
    (
        "softmax takes nothing in, and takes its epilogue",
        SQUARE,
        """%a = relax.add %x, %w : f32[8, 8]
        %s = relax.nn.softmax %a : f32[8, 8]
        %b = relax.add %s, %w : f32[8, 8]
        %o = relax.exp %b : f32[8, 8]""",
        "o: f32[8, 8]",
        {
            "main": ["add", "fused_softmax_add_tir_exp"],
            "fused_softmax_add_tir_exp": ["softmax", "add", "tir_exp"],
        },
    ),
    (
        "matmul, bias, relu; matmul and residual",
        "x: f32[n, 8]; w: f32[8, 8]; b: f32[8]",
        """%m = relax.matmul %x, %w : f32[n, 8]
        %a = relax.add %m, %b : f32[n, 8]
        %r = relax.nn.relu %a : f32[n, 8]
        %m2 = relax.matmul %r, %w : f32[n, 8]
        %o = relax.add %m2, %x : f32[n, 8]""",
        "o: f32[n, 8]",
        {
            "main": ["fused_matmul_add_relu", "fused_matmul_add1"],
            "fused_matmul_add_relu": ["matmul", "add", "relu"],
            "fused_matmul_add1": ["matmul", "add1"],
        },
    ),
    (
        "two matmuls never",
        SQUARE,
        "%m = relax.matmul %x, %w : f32[8, 8] %o = relax.matmul %m, %w : f32[8, 8]",
        "o: f32[8, 8]",
        {"main": ["matmul", "matmul"]},
    ),
    (
        "diamond",
        SQUARE,
        """%a = relax.exp %x : f32[8, 8]
        %b = relax.nn.relu %a : f32[8, 8]
        %c = relax.tanh %a : f32[8, 8]
        %o = relax.add %b, %c : f32[8, 8]""",
        "o: f32[8, 8]",
        {
            "main": ["fused_tir_exp_relu_tir_tanh_add"],
            "fused_tir_exp_relu_tir_tanh_add": ["tir_exp", "relu", "tir_tanh", "add"],
        },
    ),
    (
        "diamond below matmul",
        SQUARE,
        """%a = relax.matmul %x, %w : f32[8, 8]
        %b = relax.nn.relu %a : f32[8, 8]
        %c = relax.tanh %a : f32[8, 8]
        %o = relax.add %b, %c : f32[8, 8]""",
        "o: f32[8, 8]",
        {
            "main": ["fused_matmul_relu_tir_tanh_add"],
            "fused_matmul_relu_tir_tanh_add": ["matmul", "relu", "tir_tanh", "add"],
        },
    ),
    (
        "matmul not into a transposition",
        SQUARE,
        "%m = relax.matmul %x, %w : f32[8, 8] %t = relax.permute_dims %m : f32[8, 8] %o = relax.exp %t : f32[8, 8]",
        "o: f32[8, 8]",
        {"main": ["matmul", "fused_transpose_tir_exp"], "fused_transpose_tir_exp": ["transpose", "tir_exp"]},
    ),
    (
        "a transposition not into matmul",
        SQUARE,
        "%e = relax.exp %x : f32[8, 8] %t = relax.permute_dims %e : f32[8, 8] %o = relax.matmul %t, %w : f32[8, 8]",
        "o: f32[8, 8]",
        {"main": ["fused_tir_exp_transpose", "matmul"], "fused_tir_exp_transpose": ["tir_exp", "transpose"]},
    ),
    (
        "a transposition into add, not into softmax",
        SQUARE,
        """%t = relax.permute_dims %x : f32[8, 8]
        %a = relax.add %t, %w : f32[8, 8]
        %o = relax.nn.softmax %a : f32[8, 8]""",
        "o: f32[8, 8]",
        {"main": ["fused_transpose_add", "softmax"], "fused_transpose_add": ["transpose", "add"]},
    ),
    (
        "two branches into concat",
        SQUARE,
        """%a = relax.exp %x : f32[8, 8]
        %b = relax.nn.relu %x : f32[8, 8]
        %c = relax.concat (%a, %b) {axis = 0} : f32[16, 8]
        %o = relax.tanh %c : f32[16, 8]""",
        "o: f32[16, 8]",
        {
            "main": ["fused_tir_exp_relu_concatenate_tir_tanh"],
            "fused_tir_exp_relu_concatenate_tir_tanh": ["tir_exp", "relu", "concatenate", "tir_tanh"],
        },
    ),
    (
        "a branch that begins before what it joins",
        SQUARE,
        """%e = relax.exp %x : f32[8, 8]
        %s = relax.nn.softmax %x : f32[8, 8]
        %t = relax.tanh %e : f32[8, 8]
        %o = relax.add %t, %s : f32[8, 8]""",
        "o: f32[8, 8]",
        {
            "main": ["fused_tir_exp_softmax_tir_tanh_add"],
            "fused_tir_exp_softmax_tir_tanh_add": ["tir_exp", "softmax", "tir_tanh", "add"],
        },
    ),
    (
        "a group waits for what it needs",
        SQUARE,
        """%e = relax.exp %x : f32[8, 8]
        %m = relax.call_dps_packed "f"(%x) : f32[8, 8]
        %t = relax.tanh %e : f32[8, 8]
        %o = relax.add %t, %m : f32[8, 8]""",
        "o: f32[8, 8]",
        {
            "main": ["call_dps_packed", "fused_tir_exp_tir_tanh_add"],
            "fused_tir_exp_tir_tanh_add": ["tir_exp", "tir_tanh", "add"],
        },
    ),
    (
        "one field of a split",
        SQUARE,
        f"{SPLIT} %a = relax.tuple_get_item %s[0] : f32[8, 4] %o = relax.nn.relu %a : f32[8, 4]",
        "o: f32[8, 4]",
        {"main": ["fused_split_relu"], "fused_split_relu": ["split", "tuple_get_item", "relu"]},
    ),
    (
        "fields of a split that meet again",
        SQUARE,
        f"""{SPLIT}
        %a = relax.tuple_get_item %s[0] : f32[8, 4]
        %b = relax.tuple_get_item %s[1] : f32[8, 4]
        %r = relax.nn.relu %a : f32[8, 4]
        %o = relax.add %r, %b : f32[8, 4]""",
        "o: f32[8, 4]",
        {
            "main": ["fused_split_relu_add"],
            "fused_split_relu_add": ["split", "tuple_get_item", "tuple_get_item", "relu", "add"],
        },
    ),
    (
        "fields of a split that part: passed one by one",
        SQUARE,
        f"""{SPLIT}
        %a = relax.tuple_get_item %s[0] : f32[8, 4]
        %b = relax.tuple_get_item %s[1] : f32[8, 4]
        %c = relax.nn.softmax %a : f32[8, 4]
        %d = relax.exp %b : f32[8, 4]
        %e = relax.nn.relu %a : f32[8, 4]""",
        "c: f32[8, 4]; d: f32[8, 4]; e: f32[8, 4]",
        {
            "main": ["split", "tuple_get_item", "tuple_get_item", "fused_tir_exp", "softmax", "relu"],
            "fused_tir_exp": ["tir_exp"],
        },
    ),
    (
        "a tuple that is made here",
        SQUARE,
        """%a = relax.exp %x : f32[8, 8]
        %b = relax.nn.relu %x : f32[8, 8]
        %t = relax.tuple(%a, %b)
        %c = relax.tuple_get_item %t[0] : f32[8, 8]
        %d = relax.tuple_get_item %t[1] : f32[8, 8]
        %e = relax.tanh %d : f32[8, 8]
        %o = relax.add %c, %e : f32[8, 8]""",
        "o: f32[8, 8]",
        {
            "main": ["tir_exp", "relu", "tuple", "tuple_get_item", "tuple_get_item", "fused_tir_tanh_add"],
            "fused_tir_tanh_add": ["tir_tanh", "add"],
        },
    ),
    (
        "a packed call between",
        SQUARE,
        """%a = relax.exp %x : f32[8, 8]
        %b = relax.call_dps_packed "f"(%a) : f32[8, 8]
        %c = relax.exp %b : f32[8, 8]
        %o = relax.nn.relu %c : f32[8, 8]""",
        "o: f32[8, 8]",
        {"main": ["tir_exp", "call_dps_packed", "fused_tir_exp_relu"], "fused_tir_exp_relu": ["tir_exp", "relu"]},
    ),
    (
        "an output ends a group",
        SQUARE,
        """%a = relax.add %x, %w : f32[8, 8]
        %b = relax.exp %a : f32[8, 8]
        %c = relax.exp %b : f32[8, 8]
        %o = relax.nn.relu %c : f32[8, 8]""",
        "b: f32[8, 8]; o: f32[8, 8]",
        {
            "main": ["fused_add_tir_exp", "fused_tir_exp_relu"],
            "fused_add_tir_exp": ["add", "tir_exp"],
            "fused_tir_exp_relu": ["tir_exp", "relu"],
        },
    ),
    # TVM forgets that match_cast uses its operand, and fails here
    (
        "match_cast is a use",
        "x: f32[n, 8]",
        """%a = relax.exp %x : f32[n, 8]
        %b = relax.match_cast %a : f32[n, 8] -> f32[n, 8]
        %c = relax.exp %a : f32[n, 8]
        %o = relax.add %c, %b : f32[n, 8]""",
        "o: f32[n, 8]",
        {"main": ["tir_exp", "match_cast", "fused_tir_exp_add"], "fused_tir_exp_add": ["tir_exp", "add"]},
    ),
    (
        "equal groups share a function",
        SQUARE,
        """%a = relax.exp %x : f32[8, 8]
        %b = relax.tanh %a : f32[8, 8]
        %c = relax.nn.softmax %b : f32[8, 8]
        %m = relax.matmul %c, %w : f32[8, 8]
        %d = relax.exp %m : f32[8, 8]
        %s = relax.nn.softmax %d : f32[8, 8]
        %q = relax.permute_dims %s : f32[8, 8]
        %k = relax.matmul %q, %w : f32[8, 8]
        %e = relax.sum %k {axis = [1]} : f32[8]""",
        "e: f32[8]",
        {
            "main": [
                "fused_tir_exp_tir_tanh", "softmax", "fused_matmul_tir_exp", "softmax", "transpose", "matmul", "sum",
            ],
            "fused_tir_exp_tir_tanh": ["tir_exp", "tir_tanh"],
            "fused_matmul_tir_exp": ["matmul", "tir_exp"],
        },
    ),
]  # fmt: skip
IDS = [c[0] for c in CASES]


def double(x: Any, out: Any) -> None:
    out[...] = 2 * x


def check_meaning(before: ModuleOp, after: ModuleOp) -> None:
    """Both give the same on random inputs, at several sizes; and the first can be run at all."""
    packed = {"f": double}
    main = next(op for op in before.body.block.ops if isinstance(op, relax.FuncOp) and op.sym_name.data == "main")
    interpret(before, "main", random_inputs(main, {"n": 3, "m": 2}), packed)
    assert_same_meaning(before, after, packed=packed)


@pytest.mark.parametrize(("params", "body", "outputs", "expected"), [c[1:] for c in CASES], ids=IDS)
def test_groups(
    program: Program, shape_of_fusion: Shape, params: str, body: str, outputs: str, expected: dict[str, list[str]]
):
    before = program(params, body, outputs)
    after = FuseOps()(before)
    assert shape_of_fusion(after) == expected
    check_meaning(before, after)
    check_meaning(before, FuseTIR()(after))


def functions(module: ModuleOp) -> dict[str, Any]:
    return {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, relax.FuncOp | tir.FuncOp)}


def names(ops: Any) -> list[str | None]:
    return [name_of(op.results[0]) for op in ops if op.results]


def dataflow_of(func: Any) -> relax.DataflowOp:
    return next(op for op in func.body.block.ops if isinstance(op, relax.DataflowOp))


MLP = CASES[3]


def test_names(program: Program):
    """Parameters and bindings keep their names, results are called gv; new variables of the caller lv and gv."""
    after = functions(FuseOps()(program(*MLP[1:4])))
    fused = after["fused_matmul_add1"]
    assert [name_of(p) for p in fused.params] == ["r", "w", "x"]
    assert names(dataflow_of(fused).body.block.ops) == ["m2", "gv"]
    assert names([dataflow_of(fused)]) == ["gv"]
    assert names(dataflow_of(after["main"]).body.block.ops) == ["lv", "gv"]
    assert fused.private
    assert fused.func_attrs.data["Primitive"] == IntegerAttr(1, 64)


def test_an_output_of_another_name_keeps_it(parse: Parse, program: Program):
    text = str(program(SQUARE, "%a = relax.exp %x : f32[8, 8] %o = relax.exp %a : f32[8, 8]", "o: f32[8, 8]"))
    after = functions(
        FuseOps()(
            parse(text.replace("%o = relax.dataflow", "%out = relax.dataflow").replace("return %o", "return %out"))
        )
    )
    dataflow = dataflow_of(after["main"])
    assert names(dataflow.body.block.ops) == ["lv"]
    assert names([dataflow]) == ["out"]


def test_names_that_clash_get_suffixes(program: Program):
    """A parameter gv and the result gv; lv of the program and the new lv, in order of definition."""
    body = """%lv = relax.nn.softmax %gv : f32[8, 8]
    %a = relax.call_dps_packed "f"(%lv) : f32[8, 8]
    %b = relax.exp %a : f32[8, 8]
    %c = relax.exp %b : f32[8, 8]
    %d = relax.nn.softmax %c : f32[8, 8]
    %e = relax.add %gv, %d : f32[8, 8]
    %o = relax.exp %e : f32[8, 8]"""
    after = functions(FuseOps()(program("gv: f32[8, 8]", body, "o: f32[8, 8]")))
    fused = after["fused_softmax_add_tir_exp"]
    assert [name_of(p) for p in fused.params] == ["c", "gv"]
    assert names(dataflow_of(fused).body.block.ops)[-1] == "gv_1"
    assert names([dataflow_of(fused)]) == ["gv_1"]
    assert names(dataflow_of(after["main"]).body.block.ops) == ["lv", "a", "lv_1", "gv_1"]


def test_variables_are_numbered_through_the_module(parse: Parse, program: Program):
    text = str(program(SQUARE, "%a = relax.exp %x : f32[8, 8] %o = relax.exp %a : f32[8, 8]", "o: f32[8, 8]"))
    text = text.removeprefix("builtin.module {").rstrip().removesuffix("}").replace("return %o", "return %out")
    text = text.replace("%o = relax.dataflow", "%out = relax.dataflow")
    main = text[text.index("relax.func") :]
    after = functions(FuseOps()(parse(main.replace("@main", "@other") + text)))
    assert names(dataflow_of(after["main"]).body.block.ops) == ["lv"]
    assert names(dataflow_of(after["other"]).body.block.ops) == ["lv1"]
    assert sorted(n for n in after if n.startswith("fused")) == ["fused_tir_exp_tir_exp"]


def test_function_names_that_are_taken(parse: Parse, program: Program, shape_of_fusion: Shape):
    text = str(program(SQUARE, "%a = relax.exp %x : f32[8, 8] %o = relax.exp %a : f32[8, 8]", "o: f32[8, 8]"))
    other = "relax.func @fused_tir_exp_tir_exp(%x: f32[4]) -> f32[4] { relax.return %x : f32[4] }"
    after = FuseOps()(parse(other + text.removeprefix("builtin.module {").rstrip().removesuffix("}")))
    assert shape_of_fusion(after)["main"] == ["fused_tir_exp_tir_exp1"]


def test_constants_are_passed(program: Program):
    """TVM's names: param_0; a constant without a name has no other."""
    body = """%l = relax.constant <f32 [8] [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>
    %a = relax.multiply %x, %l : f32[8, 8]
    %o = relax.exp %a : f32[8, 8]"""
    before = program("x: f32[8, 8]", body, "o: f32[8, 8]")
    for op in dataflow_of(functions(before)["main"]).body.block.ops:
        if isinstance(op, relax.ConstantOp):
            op.result.name_hint = None
    after = FuseOps()(before)
    fused = functions(after)["fused_multiply_tir_exp"]
    assert [name_of(p) for p in fused.params] == ["x", "param_0"]
    check_meaning(before, after)
    check_meaning(before, FuseTIR()(after))


FULL = """%k = relax.constant <f32 [] 1.0>
%sh = relax.shape [n + 1]
%a = relax.full %sh, %k : f32[n + 1]
%b = relax.exp %a : f32[n + 1]
%o = relax.nn.relu %b : f32[n + 1]"""


def test_symbolic_variables_that_nothing_determines(program: Program):
    before = program("x: f32[n]", FULL, "o: f32[n + 1]")
    after = FuseOps()(before)
    fused = functions(after)["fused_full_tir_exp_relu"]
    assert [(name_of(p), str(p.type)) for p in fused.params] == [("tir_vars", "!relax.shape<[n]>")]
    call = next(op for op in after.walk() if isinstance(op, relax.CallOp))
    shape = call.call_args[0].owner
    assert isinstance(shape, relax.ShapeOp) and shape.result.name_hint is None
    check_meaning(before, after)


def test_groups_equal_up_to_symbolic_variables_share(program: Program, shape_of_fusion: Shape):
    body = """%a = relax.exp %x : f32[n]
    %b = relax.nn.relu %a : f32[n]
    %c = relax.exp %y : f32[m]
    %d = relax.nn.relu %c : f32[m]"""
    before = program("x: f32[n]; y: f32[m]", body, "b: f32[n]; d: f32[m]")
    after = FuseOps()(before)
    assert shape_of_fusion(after)["main"] == ["fused_tir_exp_relu", "fused_tir_exp_relu"]
    check_meaning(before, FuseTIR()(after))


def test_each_dataflow_block_for_itself(parse: Parse, program: Program, shape_of_fusion: Shape):
    source = str(program(SQUARE, "%a = relax.exp %x : f32[8, 8] %o = relax.exp %a : f32[8, 8]", "o: f32[8, 8]"))
    split = source.replace(
        "%o_1 = relax.call_tir @tir_exp(%a)",
        "relax.output %a : f32[8, 8] } %o = relax.dataflow { %o_1 = relax.call_tir @tir_exp(%a)",
    ).replace("%o = relax.dataflow", "%a = relax.dataflow", 1)
    assert split.count("relax.dataflow") == 2
    after = FuseOps()(parse(split))
    assert shape_of_fusion(after) == {"main": ["tir_exp", "tir_exp"]}


def test_what_a_match_cast_binds_is_used_after_it(program: Program, shape_of_fusion: Shape):
    """The group of a and d would be placed at a, before m is known."""
    body = """%a = relax.exp %x : f32[8]
    %y = relax.call_dps_packed "g"(%x) : f32[8]
    %c = relax.match_cast %y : f32[8] -> f32[m]
    %e = relax.exp %c : f32[m]
    %b = relax.nn.relu %a : f32[8]
    %s = relax.concat (%b, %e) {axis = 0} : f32[m + 8]"""
    before = program("x: f32[8]", body, "s: f32[m + 8]")
    after = FuseOps()(before)
    order = shape_of_fusion(after)["main"]
    assert order.index("match_cast") < len(order) - 1
    packed = {"g": lambda x, out: out.__setitem__(..., x)}
    assert_same_meaning(before, after, packed=packed)


def chain(parse: Parse, length: int, function: str = "sqrt") -> ModuleOp:
    """A function, length times."""
    step = """tir.func private @e(%A: !tir.buffer<[4], f32>, %C: !tir.buffer<[4], f32>)
      attributes {op_pattern = 0 : i64} {
      tir.for %i = 0 to 4 { tir.block "c" (%v = spatial(%i, 4)) { tir.reads %A[%v] tir.writes %C[%v]
        %x = tir.load %A[%v] : f32 %y = tir.call_intrin "FUNCTION"(%x) : f32 tir.store %y, %C[%v] } } }"""
    step = step.replace("FUNCTION", function)
    lines = [f"%x{i + 1} = relax.call_tir @e(%x{i}) : f32[4]" for i in range(length)]
    body = "\n".join(lines)
    return parse(
        f"{step}\nrelax.func @main(%x0: f32[4]) -> f32[4] {{ %x{length} = relax.dataflow {{ {body}\n"
        f"relax.output %x{length} : f32[4] }} relax.return %x{length} : f32[4] }}"
    )


@pytest.mark.parametrize(
    ("length", "options", "sizes"),
    [
        (256, {}, [256]),
        (257, {}, [256]),
        (601, {}, [89, 256]),
        (10, {"max_depth": 4}, [2, 4]),
        (10, {"max_depth": 1}, []),
        (10, {"fuse_opt_level": 0}, []),
        (10, {"fuse_opt_level": 1}, [10]),
    ],
)
def test_the_size_of_groups(
    parse: Parse, shape_of_fusion: Shape, length: int, options: dict[str, int], sizes: list[int]
):
    """Equal groups share a function: 601 are 256, 256 and 89. The same with TVM 0.27."""
    after = shape_of_fusion(FuseOps(**options)(chain(parse, length)))
    assert sorted(len(ops) for name, ops in after.items() if name != "main") == sizes


@pytest.mark.parametrize(
    ("length", "function", "most", "sizes"),
    [
        (32, "sin", None, [32]),
        (33, "tanh", None, [1, 32]),
        (100, "sin", None, [4, 32]),
        (100, "sin", 8, [4, 8]),
        (3, "sin", 0, []),
        (100, "sqrt", 0, [100]),
    ],
)
def test_elementary_functions_of_groups_are_few(
    parse: Parse, shape_of_fusion: Shape, length: int, function: str, most: int | None, sizes: list[int]
):
    """Hundreds in one block take LLVM's register allocation the square of their number."""
    config = {} if most is None else {"tirax.limit.fuse.functions": most}
    before = chain(parse, length, function)
    with PassContext(config=config):
        after = shape_of_fusion(FuseOps()(before))
    groups = sorted(len(ops) for name, ops in after.items() if name != "main")
    assert groups == [size for size in sizes if size > 1], "a group of one stays a call"


def test_the_context_sets_level_and_depth(parse: Parse, shape_of_fusion: Shape):
    with PassContext(opt_level=0):
        assert len(shape_of_fusion(FuseOps()(chain(parse, 4)))) == 1
    with PassContext(config={"relax.FuseOps.max_depth": 2}):
        after = shape_of_fusion(FuseOps()(chain(parse, 4)))
    assert sorted(map(len, after.values())) == [2, 2]


def test_a_long_chain_keeps_its_meaning(parse: Parse):
    before = chain(parse, 40)
    check_meaning(before, FuseTIR()(FuseOps(max_depth=16)(before)))


def test_values_that_nobody_uses(program: Program, shape_of_fusion: Shape):
    """A group without uses is dropped."""
    body = """%a = relax.exp %x : f32[8, 8]
    %b = relax.tanh %a : f32[8, 8]
    %o = relax.nn.softmax %x : f32[8, 8]"""
    before = program(SQUARE, body, "o: f32[8, 8]")
    after = FuseOps()(before)
    assert shape_of_fusion(after) == {"main": ["softmax"]}


def test_primitive_and_foreign_functions_stay(program: Program):
    before = program(SQUARE, "%a = relax.exp %x : f32[8, 8] %o = relax.exp %a : f32[8, 8]", "o: f32[8, 8]")
    main = functions(before)["main"]
    for attrs in ({"Primitive": IntegerAttr(1, 64)}, {"Codegen": StringAttr("x")}):
        main.func_attrs = DictionaryAttr(attrs)
        assert str(FuseOps()(before)) == str(before)


def test_without_annotations_nothing_is_fused(program: Program):
    before = program(SQUARE, "%a = relax.exp %x : f32[8, 8] %o = relax.exp %a : f32[8, 8]", "o: f32[8, 8]")
    for func in functions(before).values():
        if isinstance(func, tir.FuncOp):
            func.func_attrs = None
    assert str(FuseOps()(before)) == str(before)
    assert str(FuseOps()(AnnotateTIROpPattern()(before))) != str(before)


def test_groups_with_several_results(program: Program, shape_of_fusion: Shape):
    """FuseOps makes none, pattern-based fusion does: the function returns a tuple."""
    body = """%a = relax.exp %x : f32[8, 8]
    %b = relax.tanh %a : f32[8, 8]
    %c = relax.add %b, %a : f32[8, 8]
    %o = relax.nn.softmax %b : f32[8, 8]"""
    before = program(SQUARE, body, "c: f32[8, 8]; o: f32[8, 8]")
    after = before.clone()
    dataflow = dataflow_of(functions(after)["main"])
    graph = BindingGraph(dataflow.body.block)
    Outliner(after).outline(dataflow, graph, [[0, 1, 2]])
    after.verify()
    assert shape_of_fusion(after) == {
        "main": ["fused_tir_exp_tir_tanh_add", "tuple_get_item", "tuple_get_item", "softmax"],
        "fused_tir_exp_tir_tanh_add": ["tir_exp", "tir_tanh", "add"],
    }
    assert names(dataflow_of(functions(after)["main"]).body.block.ops)[:3] == ["lv", "lv1", "gv"]
    check_meaning(before, after)
    check_meaning(before, FuseTIR()(after))


def graph_of(n: int, edges: list[tuple[int, int]]) -> BindingGraph:
    """A graph of n bindings with these edges; the last one leaves the block."""
    ops = [relax.StringOp("") for _ in range(n)]
    for op in ops:
        set_name(op.result, "s")
    graph = BindingGraph(Block(ops))
    for a, b in edges:
        graph.producers[b].append(a)
        graph.consumers[a].append(b)
    graph.external.add(n - 1)
    return graph


@pytest.mark.parametrize("seed", range(20))
def test_post_dominators_against_the_definition(seed: int):
    """d post-dominates i where every way from i to the exit goes through d; the kind is the hardest on these ways."""
    import random

    rng = random.Random(seed)
    n = 14
    edges = [(i, j) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.25]
    patterns = [OpPattern(rng.choice([0, 1, 2, 3, 4, 8])) for _ in range(n)]
    graph = graph_of(n, edges)
    tree = PostDominators(graph, patterns)

    def reaches_exit(i: int, without: int | None) -> bool:
        """Whether i's value gets to the end or to a value nobody uses, on a way without the given node."""
        if i == without:
            return False
        return not graph.consumers[i] or any(reaches_exit(c, without) for c in graph.consumers[i])

    def between(i: int, d: int) -> set[int]:
        return {d} | {k for c in graph.consumers[i] if c != d for k in (c, *between(c, d))}

    for i in range(n):
        strict = [d for d in range(i + 1, n) if not reaches_exit(i, d)]
        expected = min(strict, default=None)
        assert tree.dominator(i) == expected
        if expected is not None:
            assert tree.pattern[i] == max(patterns[k] for k in between(i, expected))


def test_a_wide_and_deep_graph_is_grouped_without_search():
    """4000 bindings that all lead to one: the ways are not walked beyond the size of a group."""
    n = 4000
    graph = graph_of(n, [(i, i + 1) for i in range(n - 1)] + [(i, n - 1) for i in range(n - 2)])
    groups = Groups(graph, [OpPattern.ELEMWISE] * n, 256).members()
    assert max(map(len, groups)) <= 256
    assert sum(map(len, groups)) == n
