"""Structural equality: what counts and what does not, and the report of a difference."""

import pytest

from tirax.ir.equality import (
    StructuralInequalityError,
    assert_structural_equal,
    first_difference,
    structural_equal,
    structural_hash,
)

TIR = """
tir.func private @f(%A: !tir.buffer<[n, 4], f32>, %B: !tir.buffer<[n, 4], f32>) {
  tir.for %i = 0 to n {
    tir.for %j = 0 to 4 {
      tir.block "B" (%vi = spatial(%i, n), %vj = spatial(%j, 4)) {
        tir.reads %A[%vi, %vj]
        tir.writes %B[%vi, %vj]
        %0 = tir.load %A[%vi, %vj] : f32
        %1 = tir.const 1.0 : f32
        %2 = tir.add %0, %1 : f32
        tir.store %2, %B[%vi, %vj]
      }
    }
  }
}
"""
T = "!relax.tensor<[n], f32>"
RELAX = f"""
relax.func @main(%x: {T}) -> {T} {{
  %c = relax.constant <f32 [] 1.0>
  %y = relax.add %x, %x : {T}
  %z = relax.multiply %y, %y : {T}
  relax.return %z : {T}
}}
"""

NESTED = TIR.replace("%2 = tir.add %0, %1 : f32", "%5 = tir.add %0, %1 : f32 %2 = tir.sub %5, %0 : f32").replace(
    "to 4 {", "to 4 annotations {a = 1 : i64} {"
)
MAPPED = RELAX.replace(
    "relax.add %x, %x :", "relax.layout_transform %x {index_map = #sym.index_map<(i) -> (i + n)>} :"
).replace("[n]", "[4]")

SAME = [
    (MAPPED, [("i + n", "i + m")]),
    (TIR, [("%vi", "%a"), ("%A", "%input"), ('"B"', '"C"')]),
    (TIR, [("[n, 4]", "[batch, 4]"), ("to n", "to batch"), ("%i, n)", "%i, batch)")]),
    (TIR, [("@f", "@g")]),
    (RELAX, [("%y", "%other"), ("[n]", "[m]")]),
]
DIFFERENT = [
    (TIR, "tir.add", "tir.sub", "kind of op"),
    (TIR, "1.0", "2.0", "attributes"),
    (TIR, "to n", "to n + 1", "attributes"),
    (TIR, "tir.for %j", "tir.for parallel %j", "attributes"),
    (TIR, "tir.writes %B[%vi, %vj]", "", "kind of op|more ops"),
    (TIR, "tir.load %A[%vi, %vj]", "tir.load %B[%vi, %vj]", "operands"),
    (NESTED, "tir.sub %5, %0", "tir.sub %5, %1", "operands"),
    (NESTED, "a = 1", "a = 2", "attributes"),
    (MAPPED, "i + n", "i - n", "attributes"),
    (RELAX, "@main", "@other", "names"),
    (RELAX, "relax.multiply", "relax.add", "kind of op"),
    (RELAX, "relax.multiply %y, %y", "relax.multiply %y, %x", "operands"),
    (RELAX, "constant <f32 [] 1.0>", "constant <f32 [] 2.0>", "attributes"),
]


def function(module):
    return next(iter(module.ops))


@pytest.mark.parametrize(("text", "renamings"), SAME)
def test_names_do_not_count(parse, text, renamings):
    other = text
    for old, new in renamings:
        other = other.replace(old, new)
    assert other != text
    a, b = function(parse(text)), function(parse(other))
    assert_structural_equal(a, b)
    assert structural_hash(a) == structural_hash(b)


@pytest.mark.parametrize(("text", "old", "new", "what"), DIFFERENT)
def test_what_counts(parse, text, old, new, what):
    a, b = function(parse(text)), function(parse(text.replace(old, new, 1)))
    assert not structural_equal(a, b)
    assert structural_hash(a) != structural_hash(b)
    with pytest.raises(StructuralInequalityError, match=what) as caught:
        assert_structural_equal(a, b)
    assert "expected:" in str(caught.value) and "found:" in str(caught.value)


def test_sharing_a_value_changes_nothing(parse):
    shared = "tir.func @f(%A: !tir.buffer<[4], f32>) { %i = tir.const 0 : i64 %x = tir.load %A[%i] : f32 BODY }"
    once = "%y = tir.add %x, %x : f32 tir.store %y, %A[%i]"
    twice = "%x2 = tir.load %A[%i] : f32 %j = tir.const 0 : i64 %y = tir.add %x, %x2 : f32 tir.store %y, %A[%j]"
    assert structural_equal(parse(shared.replace("BODY", once)), parse(shared.replace("BODY", twice)))


def test_names_of_private_functions_count_in_a_module(parse):
    assert not structural_equal(parse(TIR), parse(TIR.replace("@f", "@g")))


def test_the_order_in_which_outputs_are_listed_does_not_count(parse):
    text = f"""
relax.func @main(%x: {T}) -> tuple<{T}, {T}> {{
  %a, %b = relax.dataflow {{
    %c = relax.exp %x : {T}
    %d = relax.negative %c : {T}
    relax.output %c, %d : {T}, {T}
  }}
  %t = relax.tuple(%a, %b)
  relax.return %t : tuple<{T}, {T}>
}}
"""
    other = text.replace("%a, %b =", "%b, %a =").replace("output %c, %d", "output %d, %c")
    assert_structural_equal(parse(text), parse(other))
    assert structural_hash(parse(text)) == structural_hash(parse(other))
    assert not structural_equal(parse(text), parse(other.replace("tuple(%a, %b)", "tuple(%b, %a)")))


def test_the_difference_shows_both_sides(parse):
    difference = first_difference(parse(TIR), parse(TIR.replace("tir.add", "tir.sub")))
    assert "tir.add" in str(difference) and "tir.sub" in str(difference)
    shorter = first_difference(parse(TIR), parse(TIR.replace("tir.store %2, %B[%vi, %vj]", "")))
    assert "after: tir.writes" in str(shorter)


def test_arithmetic_on_symbolic_variables_is_one_expression(parse):
    text = "tir.func @f(%A: !tir.buffer<[n * 2], f32>, %x: i64) { BODY tir.evaluate %e : i64 }"
    full = text.replace("BODY", "%e = sym.value n * 2 : i64")
    parts = text.replace("BODY", "%n = sym.value n : i64 %two = tir.const 2 : i64 %e = tir.mul %n, %two : i64")
    assert structural_equal(parse(full), parse(parts))
    assert not structural_equal(parse(full), parse(full.replace("n * 2 :", "n * 3 :")))
    assert not structural_equal(parse(full), parse(parts.replace("tir.mul %n,", "tir.mul %x,")))


def test_a_scalar_parameter_that_is_a_symbolic_variable(parse):
    text = "tir.func @f(%A: !tir.buffer<[n], f32>, %n: i64, %m: i64) { BODY tir.evaluate %e : i64 }"
    variable = text.replace("BODY", "%s = sym.value n : i64 %e = tir.add %s, %m : i64")
    parameter = text.replace("BODY", "%e = tir.add %n, %m : i64")
    assert structural_equal(parse(variable), parse(parameter))
    assert not structural_equal(parse(variable), parse(parameter.replace("%n, %m :", "%m, %m :")))


def test_a_comparison_of_symbolic_variables_is_one_expression(parse):
    text = "tir.func @f(%A: !tir.buffer<[n, m], f32>) { BODY tir.evaluate %e : i1 }"
    full = text.replace("BODY", "%e = sym.value and(lt(n, m * 2), ne(m, 1))")
    parts = text.replace(
        "BODY",
        "%n = sym.value n : i64 %m = sym.value m * 2 : i64 %k = sym.value m : i64 %one = tir.const 1 : i64 "
        "%a = tir.lt %n, %m : i64 %b = tir.ne %k, %one : i64 %e = tir.and %a, %b : i1",
    )
    assert structural_equal(parse(full), parse(parts))
    assert not structural_equal(parse(full), parse(parts.replace("tir.lt", "tir.le")))
