"""LLVM text to assembly with lines."""

from __future__ import annotations

from tirax.driver.tracing.assembly import assembly_of, function_lines, with_lines
from tirax.target import Target

TEXT = """define i64 @"a b"(i64 %x, i64 %y) {
bb0:
  %sum = add i64 %x, %y
  %product = mul i64 %sum, 3
  ret i64 %product
}

define internal void @plain(ptr %p) nounwind {
bb0:
  store i64 7, ptr %p
  ret void
}

define void @calls(ptr %p) {
bb0:
  call void @plain(ptr %p)
  ret void
}
"""


def test_function_lines():
    assert function_lines(TEXT) == {"a b": range(6), "plain": range(7, 12), "calls": range(13, 18)}


def test_every_instruction_names_its_line():
    lines = with_lines(TEXT).split("\n")
    assert lines[2].endswith("!dbg !DILocation(line: 3, scope: !1000004)")
    assert lines[0].endswith("!dbg !1000004 {")


def test_instructions_are_of_lines_of_the_text():
    assembly = assembly_of(TEXT, Target("llvm -mcpu=x86-64"), 3)
    by_name = {line.split()[0]: at for line, at in assembly["a b"] if at is not None}
    assert by_name["leaq"] in (2, 3) and by_name["retq"] == 4
    assert ("a b" in assembly["a b"][0][0]) and not any("." in line.split()[0] for line, _ in assembly["a b"][1:])


def test_what_is_inlined_keeps_its_line():
    assembly = assembly_of(TEXT, Target("llvm -mcpu=x86-64"), 3)
    assert next(at for line, at in assembly["calls"] if line.split()[0] == "movq") == 9
