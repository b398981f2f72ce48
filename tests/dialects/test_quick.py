"""`make`, `fill`, `clone` and `replace_uses` do what xDSL's own ways do, which they are written out of."""

import pytest
from xdsl.dialects import arith, llvm, test
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnitAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from tirax.dialects import tir
from tirax.dialects.quick import clone, make, replace_uses
from tirax.script.mlir_text import parse_mlir


def _state(op: Operation) -> tuple[object, ...]:
    types = [r.type for r in op.results]
    where = [(r.op is op, r.index, r.name_hint) for r in op.results]
    links = (op.parent, op.next_op, op.prev_op, list(op.regions), list(op.successors))
    return (list(op.operands), types, where, op.properties, op.attributes, op.location, links)


def _uses(value: SSAValue) -> list[tuple[Operation, int]]:
    forth = list(value.uses)
    back = []
    use = forth[-1] if forth else None
    while use is not None:
        back.append(use)
        use = use._prev_use
    assert back == forth[::-1], "the list of uses reads the same both ways"
    return [(use.operation, use.index) for use in forth]


@pytest.mark.parametrize("cls", [arith.AddiOp, arith.AddfOp, llvm.GEPOp, test.TestOp, tir.AddOp])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_operation_is_created_as_in_xdsl(cls: type[Operation], count: int) -> None:
    block = Block(arg_types=[i32, i32])
    operands = [block.args[0], block.args[1], block.args[0]][:count]
    arguments = {"operands": operands, "result_types": [i32] * count, "properties": {"a": UnitAttr()}}
    place = FileLineColLoc(StringAttr("x"), IntAttr(1), IntAttr(2))
    arguments |= {"attributes": {"b": UnitAttr()}, "location": place}
    assert _state(make(cls, **arguments)) == _state(cls.create(**arguments))
    assert _state(make(cls)) == _state(cls.create())


def test_a_created_operation_shares_nothing_with_its_operands() -> None:
    properties = {"a": UnitAttr()}
    one, other = (make(arith.AddiOp, (), (i32,), properties) for _ in range(2))
    one.properties["c"] = UnitAttr()
    assert "c" not in other.properties and "c" not in properties
    assert "c" not in make(arith.AddiOp).properties


def test_uses_of_created_operations_are_known() -> None:
    a, b = Block(arg_types=[i32, i32]).args
    result = make(arith.AddiOp, (a, a), (i32,))
    also = make(arith.AddiOp, (b, a), (i32,))
    assert _uses(a) == [(also, 1), (result, 1), (result, 0)]
    assert _uses(b) == [(also, 0)]
    result.drop_all_references()
    assert _uses(a) == [(also, 1)]


@pytest.mark.parametrize("before", [0, 1, 2])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_uses_go_over_as_they_do_in_xdsl(count: int, before: int) -> None:
    def users(replace: object) -> tuple[list[list[int]], list[tuple[int, int]], list[tuple[int, int]]]:
        old, new, third = values = Block(arg_types=[i32, i32, i32]).args
        ops = [make(test.TestOp, (new,)) for _ in range(before)]
        ops += [make(test.TestOp, (old, third, old, new)) for _ in range(count)]
        replace(old, new)  # type: ignore[operator]
        numbers = {value: i for i, value in enumerate(values)}
        operands = [[numbers[v] for v in op.operands] for op in ops]
        return operands, *([(ops.index(op), i) for op, i in _uses(v)] for v in (old, new))

    assert users(replace_uses) == users(lambda old, new: old.replace_all_uses_with(new))


def test_a_name_goes_over_where_there_is_none() -> None:
    old, new = Block(arg_types=[i32, i32]).args
    old.name_hint = "x"
    replace_uses(old, new)
    assert new.name_hint == "x"
    named = Block(arg_types=[i32]).args[0]
    named.name_hint = "y"
    replace_uses(old, named)
    assert named.name_hint == "y"
    replace_uses(named, named)
    assert not list(named.uses)


PROGRAM = """
builtin.module {
  func.func @branches(%a: i32, %c: i1) -> i32 {
    cf.cond_br %c, ^one(%a : i32), ^two
  ^two:
    %x = arith.addi %a, %a : i32
    cf.br ^one(%x : i32)
  ^one(%y: i32):
    func.return %y : i32
  }
  tir.func @loops(%A: !tir.buffer<[n, 8], f32>, %B: !tir.buffer<[n, 8], f32>) {
    tir.for %i = 0 for n {
      tir.for %j = 0 for 8 {
        tir.block "B" (%v = spatial(%i, n), %w = spatial(%j, 8)) {
          tir.reads %A[%v, %w]
          tir.writes %B[%v, %w]
          %0 = tir.load %A[%v, %w] : f32
          %1 = tir.mul %0, %0 : f32
          tir.store %1, %B[%v, %w]
        }
      }
    }
  }
}
"""


def _described(op: Operation) -> list[object]:
    """All operations inside, in order, with numbers for values, and the uses of each in order."""
    ops = list(op.walk())
    blocks = [block for each in ops for region in each.regions for block in region.blocks]
    values = [v for each in ops for v in each.results] + [v for block in blocks for v in block.args]
    numbers = {v: i for i, v in enumerate(values)}
    places = {each: i for i, each in enumerate(ops)}
    described: list[object] = []
    for each in ops:
        links = [places.get(o) for o in (each.next_op, each.prev_op, each.parent_op()) if o is not None]
        operands = [numbers[v] for v in each.operands]
        targets = [blocks.index(b) for b in each.successors]
        described.append((type(each), operands, targets, links, each.properties, each.attributes, each.location))
    described += [(v.type, v.name_hint, [(places[o], i) for o, i in _uses(v)]) for v in values]
    described += [(b.arg_types, [(places[u.operation], u.index) for u in b.uses]) for b in blocks]
    ends = [(b.first_op, b.last_op) for b in blocks]
    return described + [tuple(None if end is None else places[end] for end in pair) for pair in ends]


def test_a_copy_is_what_xdsl_clones() -> None:
    module = parse_mlir(PROGRAM)
    copied = clone(module)
    copied.verify()
    assert _described(copied) == _described(module.clone()) and len(_described(copied)) > 30
    assert not set(copied.walk()) & set(module.walk())


def test_a_copy_uses_replaced_values() -> None:
    a, b = Block(arg_types=[i32, i32]).args
    op = make(test.TestOp, (a, b), (i32,))
    values: dict[SSAValue, SSAValue] = {a: b}
    copied = clone(op, values)
    assert list(copied.operands) == [b, b] and values == {a: b, op.results[0]: copied.results[0]}
    assert copied.parent is None and _uses(a) == [(op, 0)]
