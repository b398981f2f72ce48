"""The pass: names, sharing, order, options, what stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax import topi
from tirax.diagnostics import NameLookupError, ShapeError, TiraxError
from tirax.dialects import relax, tir
from tirax.dialects.relax.operator import OPERATORS
from tirax.driver.build import build
from tirax.interpreter import first_disagreement, interpret
from tirax.script.printer import print_script
from tirax.transforms.legalize import LegalizeOps

Parse = Callable[[str], ModuleOp]

MLP = """
relax.func @forward(%x: !relax.tensor<[n, 784], f32>, %fc1_weight: !relax.tensor<[128, 784], f32>,
    %fc1_bias: !relax.tensor<[128], f32>, %fc2_weight: !relax.tensor<[10, 128], f32>,
    %fc2_bias: !relax.tensor<[10], f32>) -> !relax.tensor<[n, 10], f32> attributes {num_input = 1 : i64} {
  %gv = relax.dataflow {
    %permute_dims = relax.permute_dims %fc1_weight : !relax.tensor<[784, 128], f32>
    %matmul = relax.matmul %x, %permute_dims : !relax.tensor<[n, 128], f32>
    %add = relax.add %matmul, %fc1_bias : !relax.tensor<[n, 128], f32>
    %relu = relax.nn.relu %add : !relax.tensor<[n, 128], f32>
    %permute_dims1 = relax.permute_dims %fc2_weight : !relax.tensor<[128, 10], f32>
    %matmul1 = relax.matmul %relu, %permute_dims1 : !relax.tensor<[n, 10], f32>
    %add1 = relax.add %matmul1, %fc2_bias : !relax.tensor<[n, 10], f32>
    relax.output %add1 : !relax.tensor<[n, 10], f32>
  }
  relax.return %gv : !relax.tensor<[n, 10], f32>
}
"""


def functions(module: ModuleOp) -> list[str]:
    return sorted(f.sym_name.data for f in module.body.block.ops if isinstance(f, tir.FuncOp))


def calls(module: ModuleOp) -> list[relax.CallTIROp]:
    return [op for op in module.walk() if isinstance(op, relax.CallTIROp)]


def test_mlp_prints_as_tvm_prints_it(parse: Parse, golden: Callable[[str, str], None]) -> None:
    golden("transforms/legalize_mlp.txt", print_script(LegalizeOps()(parse(MLP))))


def test_the_input_module_stays(parse: Parse) -> None:
    module = parse(MLP)
    before = str(module)
    LegalizeOps()(module)
    assert str(module) == before


@pytest.mark.parametrize(
    ("name", "args", "attrs"),
    [
        ("relax.nn.softmax", ["[n, 4] f32"], {}),
        ("relax.argmax", ["[n, 4, 5] f32"], {"axis": 1}),
        ("relax.nn.layer_norm", ["[n, 4] f16", "[4] f16", "[4] f16"], {"axes": [-1]}),
        ("relax.concat", [["[n, 4] f32", "[m, 4] f32", "[n, 4] f32"]], {}),
        ("relax.split", ["[n, 10] f32"], {"indices_or_sections": [3, 7], "axis": 1}),
        ("relax.take", ["[n, 4] f32", "[2, 3] i32"], {"axis": 1}),
        ("relax.mean", ["[n, 4, 5] f32"], {"axis": [1, 2]}),
        ("relax.nn.gelu", ["[3, 4] f32"], {}),
    ],
)
def test_structure(
    name: str,
    args: list[Any],
    attrs: dict[str, Any],
    one_operator: Callable[..., ModuleOp],
    golden: Callable[..., None],
) -> None:
    golden(
        f"transforms/legalize_{name.rpartition('.')[2]}.txt",
        print_script(LegalizeOps()(one_operator(name, args, **attrs))),
    )


def test_equal_structure_is_shared_and_another_is_numbered(parse: Parse) -> None:
    module = LegalizeOps()(
        parse("""
    relax.func @b(%x: !relax.tensor<[n, 4], f32>, %y: !relax.tensor<[m, 4], f32>) -> !relax.tensor<[m, 4], f32> {
      %0 = relax.add %x, %x : !relax.tensor<[n, 4], f32>
      %1 = relax.add %y, %y : !relax.tensor<[m, 4], f32>
      %2 = relax.add %1, %y : !relax.tensor<[m, 4], f32>
      relax.return %2 : !relax.tensor<[m, 4], f32>
    }
    relax.func @a(%x: !relax.tensor<[3], f32>) -> !relax.tensor<[3], f32> {
      %0 = relax.add %x, %x : !relax.tensor<[3], f32>
      relax.return %0 : !relax.tensor<[3], f32>
    }""")
    )
    assert functions(module) == ["add", "add1"]
    # @a comes first by its name, although @b stands before it
    assert {
        c.callee_name for c in calls(module) if c.result.type == relax.TensorType.of([3], c.result.type.element)
    } == {"add"}
    assert [c.callee_name for c in calls(module)].count("add1") == 3


def test_names_of_the_module_are_not_taken(parse: Parse) -> None:
    module = LegalizeOps()(
        parse("""
    relax.func @add(%x: !relax.tensor<[3], f32>) -> !relax.tensor<[3], f32> {
      %0 = relax.add %x, %x : !relax.tensor<[3], f32>
      relax.return %0 : !relax.tensor<[3], f32>
    }""")
    )
    assert functions(module) == ["add1"]


def test_a_private_function_of_the_module_is_reused(parse: Parse) -> None:
    once = LegalizeOps()(parse(MLP))
    again = parse(str(once) + MLP.replace("@forward", "@second"))
    merged = ModuleOp([op.clone() for part in again.body.block.ops for op in _flatten(part)])
    assert functions(LegalizeOps()(merged)) == functions(once)


def _flatten(op: Any) -> list[Any]:
    return list(op.body.block.ops) if isinstance(op, ModuleOp) else [op]


def test_scalars_are_written_into_functions_and_unused_leaves_go(parse: Parse) -> None:
    module = LegalizeOps()(
        parse("""
    relax.func @main(%x: !relax.tensor<[3], f32>) -> !relax.tensor<[3], f32> {
      %0 = relax.constant <f32 [] 2.0>
      %1 = relax.add %x, %0 : !relax.tensor<[3], f32>
      %2 = relax.constant <f32 [] 3.0>
      %3 = relax.add %1, %2 : !relax.tensor<[3], f32>
      relax.return %3 : !relax.tensor<[3], f32>
    }""")
    )
    assert functions(module) == ["add", "add1"]
    assert not any(isinstance(op, relax.ConstantOp) for op in module.walk())
    assert all(len(c.args) == 1 for c in calls(module))
    np.testing.assert_array_equal(interpret(module, "main", [np.zeros(3, np.float32)]), np.full(3, 5, np.float32))


def test_branches_and_local_functions(parse: Parse) -> None:
    module = parse("""
    relax.func @main(%c: !relax.tensor<[], i1>, %x: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      %r = relax.if %c : !relax.tensor<[n], f32> {
        %0 = relax.exp %x : !relax.tensor<[n], f32>
        relax.yield %0 : !relax.tensor<[n], f32>
      } else {
        %1 = relax.negative %x : !relax.tensor<[n], f32>
        relax.yield %1 : !relax.tensor<[n], f32>
      }
      relax.return %r : !relax.tensor<[n], f32>
    }""")
    legal = LegalizeOps()(module)
    assert functions(legal) == ["tir_exp", "tir_negative"]
    assert first_disagreement(module, legal) is None


def test_a_tuple_value_is_split(parse: Parse) -> None:
    module = parse("""
    relax.func @main(%t: tuple<!relax.tensor<[n], f32>, !relax.tensor<[2], f32>>) -> !relax.tensor<[n + 2], f32> {
      %0 = relax.concat (%t) : !relax.tensor<[n + 2], f32>
      relax.return %0 : !relax.tensor<[n + 2], f32>
    }""")
    legal = LegalizeOps()(module)
    assert functions(legal) == ["concatenate"]
    assert first_disagreement(module, legal) is None


def test_an_undetermined_variable_is_passed(parse: Parse) -> None:
    module = parse("""
    relax.func @main(%x: !relax.tensor<[n], f32>) -> !relax.tensor<[n + 1, 3], f32> {
      %0 = relax.shape [n + 1, 3]
      %1 = relax.ones %0 {dtype = "float32"} : !relax.tensor<[n + 1, 3], f32>
      relax.return %1 : !relax.tensor<[n + 1, 3], f32>
    }""")
    legal = LegalizeOps()(module)
    (call,) = calls(legal)
    assert call.tir_vars is not None and [str(d.data) for d in call.tir_vars] == ["n"]
    assert first_disagreement(module, legal) is None


def test_unknown_shapes_stay(parse: Parse) -> None:
    text = """
    relax.func @main(%x: !relax.tensor<ndim = 2, f32>, %y: !relax.tensor<[3]>) -> !relax.tensor<ndim = 2, f32> {
      %0 = relax.exp %x : !relax.tensor<ndim = 2, f32>
      %1 = relax.add %y, %y : !relax.tensor<[3]>
      relax.return %0 : !relax.tensor<ndim = 2, f32>
    }"""
    assert str(LegalizeOps()(parse(text))) == str(parse(text))


def test_skip_ops(parse: Parse) -> None:
    module = LegalizeOps(skip_ops=("relax.matmul",))(parse(MLP))
    assert "relax.matmul" in str(module)
    assert "matmul" not in functions(module)


def test_warning_for_an_operator_without_rule(one_operator: Callable[..., ModuleOp], monkeypatch: Any) -> None:
    from tirax.transforms.legalize.legalize_rules import RULES

    monkeypatch.delitem(RULES._entries, "relax.exp")
    module = one_operator("relax.exp", ["[3] f32"])
    LegalizeOps()(module)
    with pytest.warns(UserWarning, match=r"no legalization of relax\.exp"):
        LegalizeOps(enable_warning=True)(module)


def test_custom_rules_go_first_and_their_result_is_legalized(parse: Parse) -> None:
    def flipped(builder: Any, op: Any) -> Any:
        return builder.call_te(topi.add, op.args[1], op.args[0], primfunc_name_hint="flipped")

    def gelu(builder: Any, op: Any) -> Any:
        return OPERATORS["relax.nn.gelu"].make(op.args[0])

    def leave(builder: Any, op: Any) -> Any:
        return None

    rules = {"relax.add": flipped, "relax.nn.relu": gelu, "relax.matmul": leave}
    module = LegalizeOps(customize_legalize_map=rules)(parse(MLP))
    assert functions(module) == ["flipped", "flipped1", "gelu", "transpose", "transpose1"]
    assert str(module).count("relax.matmul") == 2
    first = next(c for c in calls(module) if c.callee_name == "flipped")
    assert [a.name_hint for a in first.args] == ["fc1_bias", "matmul"]


def test_custom_rule_of_the_same_operator_ends(one_operator: Callable[..., ModuleOp]) -> None:
    def twice(builder: Any, op: Any) -> Any:
        inner = builder.emit(OPERATORS["relax.exp"].make(op.args[0]))
        return OPERATORS["relax.exp"].make(inner)

    module = LegalizeOps(customize_legalize_map={"relax.exp": twice})(one_operator("relax.exp", ["[3] f32"]))
    assert str(module).count("relax.exp") == 2


def test_a_packed_function_in_place_of_an_operator_is_trusted_to_be_pure(parse: Parse) -> None:
    def packed(builder: Any, op: Any) -> Any:
        return relax.CallPackedOp("my.add", op.args, op.result_type)

    module = LegalizeOps(customize_legalize_map={"relax.add": packed})(parse(MLP))
    assert str(module).count('relax.call_pure_packed "my.add"') == 2
    assert "relax.call_packed" not in str(module)


def test_a_custom_rule_may_give_a_value_that_is_there(parse: Parse) -> None:
    module = LegalizeOps(customize_legalize_map={"relax.nn.relu": lambda builder, op: op.args[0]})(parse(MLP))
    assert "relu" not in str(module)
    assert [c.result.name_hint for c in calls(module)] == [
        "permute_dims",
        "matmul",
        "add",
        "permute_dims1",
        "matmul1",
        "add1",
    ]


def test_repeated_operands(parse: Parse) -> None:
    module = parse("""
    relax.func @main(%x: !relax.tensor<[n], f32>, %y: !relax.tensor<[n], f32>) -> !relax.tensor<[n], f32> {
      %0 = relax.subtract %x, %y : !relax.tensor<[n], f32>
      %1 = relax.subtract %0, %0 : !relax.tensor<[n], f32>
      %2 = relax.subtract %y, %y : !relax.tensor<[n], f32>
      %3 = relax.subtract %1, %x : !relax.tensor<[n], f32>
      relax.return %3 : !relax.tensor<[n], f32>
    }""")
    legal = LegalizeOps()(module)
    assert functions(legal) == ["subtract"]
    assert first_disagreement(module, legal) is None


def test_errors(one_operator: Callable[..., ModuleOp]) -> None:
    module = one_operator("relax.exp", ["[3] f32"])
    with pytest.raises(NameLookupError, match=r"unknown operator 'relax\.exq'") as error:
        LegalizeOps(skip_ops=("relax.exq",))(module)
    assert "relax.exp" in str(error.value.hint)
    with pytest.raises(TiraxError, match="must give a value"):
        LegalizeOps(customize_legalize_map={"relax.exp": lambda builder, op: "nothing"})(module)


def join_of(count: int, columns: Callable[[int], str]) -> str:
    """A concat of tensors that have sizes of their own along the axis."""
    params = ", ".join(f"%x{i}: !relax.tensor<[n{i}, {columns(i)}], f32>" for i in range(count))
    names = ", ".join(f"%x{i}" for i in range(count))
    result = f"!relax.tensor<[{' + '.join(f'n{i}' for i in range(count))}, {columns(0)}], f32>"
    body = f"%y = relax.concat ({names}) : {result}\nrelax.return %y : {result}"
    return f"relax.func @main({params}) -> {result} {{\n{body}\n}}"


def test_joins_of_many_sizes_share_functions(parse: Parse) -> None:
    """Groups of sixteen tensors are calls of one function, which does not depend on the sizes of others."""
    module = parse(join_of(48, lambda _: "m"))
    after = LegalizeOps()(module)
    assert [c.callee_name for c in calls(after)] == ["concatenate"] * 3 + ["concatenate1"]
    assert not any(c.tir_vars for c in calls(after))
    assert first_disagreement(module, after) is None


def test_joins_of_groups_compare_what_is_assumed(parse: Parse) -> None:
    """Extents beside the axis have to be equal when the program runs, within a group and of groups."""
    function = build(parse(join_of(32, lambda i: f"m{i // 8}")))["main"]
    arrays = [np.full((i % 3, 4), i, "float32") for i in range(32)]
    np.testing.assert_array_equal(function(*arrays), np.concatenate(arrays))
    for first in (8, 16):
        with pytest.raises(ShapeError):
            function(*arrays[:first], *(np.zeros((1, 5), "float32") for _ in range(first, 32)))
