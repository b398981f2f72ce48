"""What tests of host code share: kernels as text, and the way from text to an executable."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tirax.dialects.host import Host
from tirax.driver.build import build, lower
from tirax.ir.passes.transform import new_context
from tirax.runtime.executable import Executable

KERNELS = """
tir.func private @add(%A: !tir.buffer<[n, 4], f32>, %B: !tir.buffer<[n, 4], f32>, %C: !tir.buffer<[n, 4], f32>)
    attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for 4 {
    %a = tir.load %A[%i, %j] : f32
    %b = tir.load %B[%i, %j] : f32
    %c = tir.add %a, %b : f32
    tir.store %c, %C[%i, %j]
  } }
}
tir.func private @inc(%A: !tir.buffer<[n, 4], f32>, %B: !tir.buffer<[n, 4], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for 4 {
    %a = tir.load %A[%i, %j] : f32
    %one = tir.const 1.0 : f32
    %c = tir.add %a, %one : f32
    tir.store %c, %B[%i, %j]
  } }
}
tir.func private @double_inplace(%A: !tir.buffer<[n, 4], f32>) attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for 4 {
    %a = tir.load %A[%i, %j] : f32
    %c = tir.add %a, %a : f32
    tir.store %c, %A[%i, %j]
  } }
}
tir.func private @halves(%A: !tir.buffer<[n, 4], f32>, %L: !tir.buffer<[n, 2], f32>, %R: !tir.buffer<[n, 2], f32>)
    attributes {tir.noalias = true} {
  tir.for %i = 0 for n { tir.for %j = 0 for 2 {
    %a = tir.load %A[%i, %j] : f32
    tir.store %a, %L[%i, %j]
    %two = tir.const 2 : i64
    %k = tir.add %j, %two : i64
    %b = tir.load %A[%i, %k] : f32
    tir.store %b, %R[%i, %j]
  } }
}
tir.func private @iota(%A: !tir.buffer<[n + 1], i64>, %n: i64) attributes {tir.noalias = true} {
  %n1 = sym.value n + 1
  tir.for %i = 0 for %n1 {
    %v = tir.mul %i, %n : i64
    tir.store %v, %A[%i]
  }
}
"""
"""add, inc: f32[n, 4]; double_inplace; halves: [n, 4] -> [n, 2], [n, 2]; iota: i * n for i in 0 … n, n given."""

F4 = "!relax.tensor<[n, 4], f32>"


def parse(text: str) -> ModuleOp:
    """A module of text, in which `T` stands for `tensor<[n, 4], f32>`, after the kernels."""
    context = new_context()
    context.load_dialect(Host)
    return Parser(context, KERNELS + text.replace("!T", F4)).parse_module()


class HostTools:
    """Given to tests as the fixture `host`."""

    KERNELS = KERNELS
    PIPELINE = "lower-cpu-unscheduled"
    parse = staticmethod(parse)

    def build(self, text: str, **options) -> Executable:
        """The executable of a text, kernels included."""
        return build(parse(text), pipeline=self.PIPELINE, **options)

    def lower(self, text: str) -> ModuleOp:
        return lower(parse(text), pipeline=self.PIPELINE)


@pytest.fixture(scope="session")
def host() -> HostTools:
    return HostTools()
