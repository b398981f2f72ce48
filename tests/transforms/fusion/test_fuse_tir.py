"""Primitive functions become tensor functions: names, buffers, symbolic variables, calls, what stays, the meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr

from tirax.dialects import relax, tir
from tirax.dialects.names import name_of
from tirax.interpreter import assert_same_meaning, interpret, random_inputs
from tirax.transforms.fusion.fuse_ops import FuseOps
from tirax.transforms.fusion.fuse_tir import REASON, FuseTIR

Program = Callable[[str, str, str], ModuleOp]
Parse = Callable[[str], ModuleOp]


def functions(module: ModuleOp) -> dict[str, Any]:
    return {f.sym_name.data: f for f in module.body.block.ops if isinstance(f, relax.FuncOp | tir.FuncOp)}


def fuse(module: ModuleOp) -> dict[str, Any]:
    return functions(FuseTIR()(FuseOps()(module)))


def parameters(func: tir.FuncOp) -> list[tuple[str | None, str, str]]:
    assert func.handle_names is not None
    handles = [h.data for h in func.handle_names]
    return [(name_of(p), str(p.type), h) for p, h in zip(func.params, handles, strict=True)]


def allocated(func: tir.FuncOp) -> list[tuple[str | None, str]]:
    return [(name_of(op.result), str(op.result.type)) for op in func.walk() if isinstance(op, tir.AllocBufferOp)]


def block_names(func: tir.FuncOp) -> list[str]:
    return [op.block_name.data for op in func.walk() if isinstance(op, tir.BlockOp)]


def test_names_of_parameters_buffers_and_blocks(program: Program):
    body = """%a = relax.add %x, %y : f32[n, 8]
    %b = relax.add %a, %y : f32[n, 8]
    %o = relax.sum %b {axis = [1]} : f32[n]"""
    after = fuse(program("x: f32[n, 8]; y: f32[n, 8]", body, "o: f32[n]"))
    assert list(after) == ["main", "fused_add_add_sum"]
    func = after["fused_add_add_sum"]
    assert func.private
    assert str(func.func_attrs) == "{tir.noalias = true}"
    (x, y, out), buffers = parameters(func), allocated(func)
    assert x == ("x", "!tir.buffer<[n, 8], f32>", "p_x")
    assert y == ("y", "!tir.buffer<[n, 8], f32>", "p_y")
    assert out[0].endswith("_intermediate") and out[1:] == ("!tir.buffer<[n], f32>", "p_output0")
    assert buffers == [
        ("T_add_intermediate", "!tir.buffer<[n, 8], f32>"),
        ("T_add_intermediate_1", "!tir.buffer<[n, 8], f32>"),
    ]
    assert block_names(func)[:2] == ["T_add", "T_add1"]


def test_the_result_takes_the_plain_name(program: Program):
    body = "%a = relax.exp %x : f32[4] %o = relax.nn.relu %a : f32[4]"
    func = fuse(program("x: f32[4]", body, "o: f32[4]"))["fused_tir_exp_relu"]
    assert [p[0] for p in parameters(func)] == ["x", "compute_intermediate"]
    assert [n for n, _ in allocated(func)] == ["compute_intermediate_1"]


def test_scalars_go_last(program: Program):
    body = """%k = relax.constant <f32 [] 1.0>
    %sh = relax.shape [n + 1]
    %a = relax.full %sh, %k : f32[n + 1]
    %o = relax.exp %a : f32[n + 1]"""
    before = program("x: f32[n]", body, "o: f32[n + 1]")
    after = FuseTIR()(FuseOps()(before))
    func = functions(after)["fused_full_tir_exp"]
    assert parameters(func) == [
        ("compute_intermediate", "!tir.buffer<[n + 1], f32>", "p_output0"),
        ("n", "i64", "n"),
    ]
    call = next(op for op in after.walk() if isinstance(op, relax.CallTIROp))
    assert call.tir_vars is not None and [str(v.data) for v in call.tir_vars] == ["n"]
    assert not any(isinstance(op, relax.ShapeOp) for op in after.walk())
    interpret(after, "main", random_inputs(functions(after)["main"], {"n": 3}))
    assert_same_meaning(before, after)


ADD = """tir.func private @{name}(%A: !tir.buffer<[{dims}], f32>, %B: !tir.buffer<[{dims}], f32>{scalars})
attributes {{op_pattern = 0 : i64}} {{
  tir.for %i = 0 to {extent} {{
    tir.block "c" (%v = spatial(%i, {extent})) {{
      tir.reads %A[%v] tir.writes %B[%v]
      %x = tir.load %A[%v] : f32
      {value}
      %y = tir.add %x, %k : f32
      tir.store %y, %B[%v]
    }}
  }}
}}
"""
ONE = "%k = tir.const 1.0 : f32"


def test_symbolic_variables_are_unified(parse: Parse):
    """@f calls its extent m, @g has m + m from a scalar m: in the caller they are n * 2, and n."""
    f = ADD.format(name="f", dims="m", extent="m", scalars="", value=ONE)
    g = ADD.format(name="g", dims="m * 2", extent="m * 2", scalars=", %m: i64", value="%k = tir.cast %m : i64 -> f32")
    main = """relax.func @main(%s: f32[n], %x: f32[n * 2]) -> f32[n * 2] {
      %o = relax.dataflow {
        %a = relax.call_tir @f(%x) : f32[n * 2]
        %o = relax.call_tir @g(%a) tir_vars [n] : f32[n * 2]
        relax.output %o : f32[n * 2]
      }
      relax.return %o : f32[n * 2]
    }"""
    before = parse(f + g + main)
    after = FuseTIR()(FuseOps()(before))
    func = functions(after)["fused_f_g"]
    assert [p[1] for p in parameters(func)] == ["!tir.buffer<[n * 2], f32>", "!tir.buffer<[n * 2], f32>", "i64"]
    loops = [str(op.extent) for op in func.walk() if isinstance(op, tir.ForOp)]
    assert loops == ["n * 2", "n * 2"]
    main_func = functions(before)["main"]
    interpret(before, "main", random_inputs(main_func, {"n": 3}))
    assert_same_meaning(before, after)


def test_tuples_are_flattened_and_unused_fields_are_not_passed(parse: Parse):
    two = """tir.func private @two(%A: !tir.buffer<[4], f32>, %B: !tir.buffer<[4], f32>, %C: !tir.buffer<[4], f32>)
      attributes {op_pattern = 0 : i64} {
      tir.for %i = 0 to 4 {
        tir.block "c" (%v = spatial(%i, 4)) {
          tir.reads %A[%v] tir.writes %B[%v] tir.writes %C[%v]
          %x = tir.load %A[%v] : f32
          tir.store %x, %B[%v]
          %y = tir.add %x, %x : f32
          tir.store %y, %C[%v]
        }
      }
    }"""
    main = """
    relax.func private @p(%t: tuple<f32[4], tuple<f32[4], f32[4]>>) -> tuple<f32[4], f32[4]>
      attributes {Primitive = 1 : i64} {
      %u = relax.tuple_get_item %t[1] : tuple<f32[4], f32[4]>
      %x = relax.tuple_get_item %u[1] : f32[4]
      %r = relax.call_tir @two(%x) : tuple<f32[4], f32[4]>
      %a = relax.tuple_get_item %r[1] : f32[4]
      %s = relax.call_tir @two(%a) : tuple<f32[4], f32[4]>
      %b = relax.tuple_get_item %s[1] : f32[4]
      %c = relax.tuple_get_item %r[0] : f32[4]
      %z = relax.tuple(%b, %c)
      relax.return %z : tuple<f32[4], f32[4]>
    }
    relax.func @main(%t: tuple<f32[4], tuple<f32[4], f32[4]>>) -> tuple<f32[4], f32[4]> {
      %o = relax.call @p(%t) : tuple<f32[4], f32[4]>
      relax.return %o : tuple<f32[4], f32[4]>
    }"""
    before = parse(two + main)
    after = FuseTIR()(before)
    func = functions(after)["p"]
    assert isinstance(func, tir.FuncOp)
    assert [p[2] for p in parameters(func)] == ["p_t_1_1", "p_output0", "p_output1"]
    interpret(before, "main", random_inputs(functions(before)["main"], {}))
    assert_same_meaning(before, after)


def test_constants_inside(parse: Parse):
    f = """tir.func private @f(%A: !tir.buffer<[2], f32>, %B: !tir.buffer<[2], f32>, %C: !tir.buffer<[2], f32>) {
      tir.for %i = 0 to 2 { tir.block "c" (%v = spatial(%i, 2)) {
        tir.reads %A[%v] tir.reads %B[%v] tir.writes %C[%v]
        %x = tir.load %A[%v] : f32 %y = tir.load %B[%v] : f32 %z = tir.mul %x, %y : f32 tir.store %z, %C[%v] } } }"""
    main = """
    relax.func private @p(%x: f32[2]) -> f32[2] attributes {Primitive = 1 : i64} {
      %c = relax.constant <f32 [2] [3.0, 4.0]>
      %r = relax.call_tir @f(%x, %c) : f32[2]
      relax.return %r : f32[2]
    }
    relax.func @main(%x: f32[2]) -> f32[2] {
      %o = relax.call @p(%x) : f32[2]
      relax.return %o : f32[2]
    }"""
    before = parse(f + main)
    after = FuseTIR()(before)
    assert any(isinstance(op, tir.AllocConstOp) for op in functions(after)["p"].walk())
    interpret(after, "main", random_inputs(functions(after)["main"], {}))
    assert_same_meaning(before, after)


def test_in_place_calls(parse: Parse):
    """What is written in place into a parameter is the result: the fused call is in place."""
    f = """tir.func private @f(%A: !tir.buffer<[4], f32>) {
      tir.for %i = 0 to 4 { tir.block "c" (%v = spatial(%i, 4)) {
        tir.reads %A[%v] tir.writes %A[%v]
        %x = tir.load %A[%v] : f32 %y = tir.add %x, %x : f32 tir.store %y, %A[%v] } } }"""
    main = """
    relax.func private @p(%x: f32[4]) -> f32[4] attributes {Primitive = 1 : i64} {
      %r = relax.call_tir_inplace @f(%x) inplace [0] : f32[4]
      %s = relax.call_tir_inplace @f(%r) inplace [0] : f32[4]
      relax.return %s : f32[4]
    }
    relax.func @main(%x: f32[4]) -> f32[4] {
      %o = relax.call @p(%x) : f32[4]
      relax.return %o : f32[4]
    }"""
    before = parse(f + main)
    after = FuseTIR()(before)
    call = next(op for op in after.walk() if isinstance(op, relax.CallTIRInplaceOp))
    assert call.callee_name == "p" and call.indices == [0]
    assert len(functions(after)["p"].params) == 1
    interpret(after, "main", random_inputs(functions(after)["main"], {}))
    assert_same_meaning(before, after)


def test_dead_code_goes_and_outputs_are_bound_once(program: Program, parse: Parse):
    body = "%d = relax.exp %x : f32[4] %o = relax.nn.softmax %x : f32[4]"
    text = str(program("x: f32[4]", body, "o: f32[4]"))
    text = text.replace("%o = relax.dataflow", "%out = relax.dataflow").replace("return %o", "return %out")
    after = fuse(parse(text))
    assert sorted(after) == ["main", "softmax"]
    dataflow = next(op for op in after["main"].walk() if isinstance(op, relax.DataflowOp))
    assert [name_of(op.results[0]) for op in dataflow.body.block.ops if op.results] == ["out"]


def test_public_tensor_functions_stay(program: Program, parse: Parse):
    text = str(program("x: f32[4]", "%a = relax.exp %x : f32[4] %o = relax.exp %a : f32[4]", "o: f32[4]"))
    after = fuse(parse(text.replace("private @tir_exp", "@tir_exp")))
    assert sorted(after) == ["fused_tir_exp_tir_exp", "main", "tir_exp"]


def test_a_module_of_private_functions_keeps_them(program: Program, parse: Parse):
    text = str(program("x: f32[4]", "%a = relax.exp %x : f32[4] %o = relax.exp %a : f32[4]", "o: f32[4]"))
    after = fuse(parse(text.replace("@main", "private @main")))
    assert "main" in after


PRIMITIVE = """
relax.func private @p(%x: {param}) -> {result} attributes {{Primitive = 1 : i64}} {{
  {body}
}}
relax.func @main(%x: {param}) -> {result} {{
  %o = relax.call @p(%x) : {result}
  relax.return %o : {result}
}}"""
F = ADD.format(name="f", dims="4", extent="4", scalars="", value=ONE)
CALL = "%o = relax.call_tir @f(%x) : f32[4] relax.return %o : f32[4]"
STAYS = [
    ("f32[4]", "f32[4]", '%o = relax.call_pure_packed "g"(%x) : f32[4] relax.return %o : f32[4]', "call_pure_packed"),
    ("f32[4]", "f32[4]", "%o = relax.exp %x : f32[4] relax.return %o : f32[4]", "relax.exp"),
    ("f32[4]", "f32[4]", "relax.return %x : f32[4]", "returns a parameter"),
    (
        "f32[4]",
        "tuple<f32[4], f32[4]>",
        "%a = relax.call_tir @f(%x) : f32[4] %o = relax.tuple(%a, %a) relax.return %o : tuple<f32[4], f32[4]>",
        "one value twice",
    ),
    ("f32[6]", "f32[4]", CALL, "extent of 4 and is given 6"),
    ("f32[4, 1]", "f32[4]", CALL, "is given !tir.buffer<[4, 1]"),
    ("!relax.tensor<ndim = 1, f32>", "f32[4]", CALL, "known shape"),
    (
        "f32[4]",
        "f32[4]",
        "%c = relax.constant <f32 [4] [1.0, 2.0, 3.0, 4.0]> relax.return %c : f32[4]",
        "returns a constant",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("param", "result", "body", "reason"), STAYS, ids=[s[3] for s in STAYS])
def test_what_cannot_be_fused_stays_and_says_why(parse: Parse, param: str, result: str, body: str, reason: str):
    before = parse(F + PRIMITIVE.format(param=param, result=result, body=body))
    after = functions(FuseTIR()(before))
    func = after["p"]
    assert isinstance(func, relax.FuncOp) and func.func_attrs is not None
    assert reason in str(func.func_attrs.data[REASON])
    assert any(isinstance(op, relax.CallOp) for op in after["main"].walk())


def test_a_layout_of_its_own_is_a_reason(parse: Parse):
    source = F.replace("%A: !tir.buffer<[4], f32>", "%A: !tir.buffer<[4], f32, strides = [2]>")
    after = functions(FuseTIR()(parse(source + PRIMITIVE.format(param="f32[4]", result="f32[4]", body=CALL))))
    assert "layout" in str(after["p"].func_attrs.data[REASON])


def test_a_function_used_as_a_value_stays(parse: Parse):
    reference = """relax.func @other() -> !relax.object {
      %r = relax.function_ref @p : !relax.callable<(f32[4]) -> f32[4]>
      relax.return %r : !relax.callable<(f32[4]) -> f32[4]>
    }"""
    after = functions(FuseTIR()(parse(F + PRIMITIVE.format(param="f32[4]", result="f32[4]", body=CALL) + reference)))
    assert "used as a value" in str(after["p"].func_attrs.data[REASON])


def test_a_call_of_unknown_shape_is_a_reason(parse: Parse):
    source = F + PRIMITIVE.format(param="f32[4]", result="f32[4]", body=CALL)
    source = source.replace("-> f32[4] {\n  %o = relax.call", "-> !relax.object {\n  %o = relax.call")
    source = source.replace("@p(%x) : f32[4]", "@p(%x) : !relax.object").replace(
        "%o : f32[4]\n}", "%o : !relax.object\n}"
    )
    source = source.replace("relax.return %o : !relax.object", "relax.return %o : f32[4]", 1)
    after = functions(FuseTIR()(parse(source)))
    assert "unknown shape" in str(after["p"].func_attrs.data[REASON])


def test_places_in_the_source_are_kept(parse: Parse):
    """A fused call stands where the last binding of its group stood."""
    text = (
        F
        + """relax.func @main(%x: f32[4]) -> f32[4] {
      %o = relax.dataflow {
        %a = relax.call_tir @f(%x) : f32[4]
        %o = relax.call_tir @f(%a) : f32[4]
        relax.output %o : f32[4]
      }
      relax.return %o : f32[4]
    }"""
    )
    before = parse(text)
    place = FileLineColLoc(StringAttr("model.py"), IntAttr(7), IntAttr(3))
    [op for op in before.walk() if isinstance(op, relax.CallTIROp)][-1].location = place
    after = FuseTIR()(FuseOps()(before))
    call = next(op for op in after.walk() if isinstance(op, relax.CallTIROp))
    assert call.callee_name == "fused_f_f" and call.location == place
