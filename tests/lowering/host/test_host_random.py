"""Random relax functions, compiled and compared with what numpy makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strength import drawn

from tirax.runtime import registry


@pytest.fixture(scope="module", autouse=True)
def packed():
    registry.register_func("random.twice", lambda x, out: np.multiply(x, 2, out=out), override=True)
    registry.register_func("random.negate", lambda x: -x, override=True)
    registry.register_func("random.view", lambda x: x[::-1], override=True)
    yield
    for name in ("random.twice", "random.negate", "random.view"):
        registry.remove_global_func(name)


HELPER = """
relax.func private @helper(%x: !T, %y: !T) -> tuple<!T, !T> {
  %a = relax.call_tir @inc(%x) : !T
  %b = relax.call_tir @add(%a, %y) : !T
  %t = relax.tuple(%b, %x)
  relax.return %t : tuple<!T, !T>
}
"""


class Writer:
    """Writes statements and keeps beside each value the function that computes it with numpy."""

    def __init__(self, draw):
        self.draw = draw
        self.lines = []
        self.count = 0

    def fresh(self):
        self.count += 1
        return f"v{self.count}"

    def statement(self, known, depth):
        kinds = ["add", "inc", "dps", "tir_by_name", "packed", "view", "helper", "tuple", "cast"]
        kind = self.draw(st.sampled_from(kinds + ["if"] * (depth < 2)))
        x, y = (self.draw(st.sampled_from(sorted(known))) for _ in range(2))
        getattr(self, kind)(known, x, y, depth)

    def emit(self, known, text, compute):
        name = self.fresh()
        self.lines.append(f"%{name} = {text}")
        known[name] = compute
        return name

    def add(self, known, x, y, depth):
        f, g = known[x], known[y]
        self.emit(known, f"relax.call_tir @add(%{x}, %{y}) : !T", lambda env: f(env) + g(env))

    def inc(self, known, x, y, depth):
        f = known[x]
        self.emit(known, f"relax.call_tir @inc(%{x}) : !T", lambda env: f(env) + 1)

    def dps(self, known, x, y, depth):
        f = known[x]
        self.emit(known, f'relax.call_dps_packed "random.twice"(%{x}) : !T', lambda env: f(env) * 2)

    def tir_by_name(self, known, x, y, depth):
        f = known[x]
        self.emit(known, f'relax.call_dps_packed "inc"(%{x}) : !T', lambda env: f(env) + 1)

    def packed(self, known, x, y, depth):
        f = known[x]
        self.emit(known, f'relax.call_pure_packed "random.negate"(%{x}) : !T', lambda env: -f(env))

    def view(self, known, x, y, depth):
        f = known[x]
        self.emit(known, f'relax.call_pure_packed "random.view"(%{x}) : !T', lambda env: f(env)[::-1])

    def helper(self, known, x, y, depth):
        f, g = known[x], known[y]
        t = self.fresh()
        self.lines.append(f"%{t} = relax.call @helper(%{x}, %{y}) : tuple<!T, !T>")
        self.emit(known, f"relax.tuple_get_item %{t}[0] : !T", lambda env: f(env) + 1 + g(env))
        self.emit(known, f"relax.tuple_get_item %{t}[1] : !T", f)

    def tuple(self, known, x, y, depth):
        t = self.fresh()
        self.lines.append(f"%{t} = relax.tuple(%{x}, %{y})")
        self.emit(known, f"relax.tuple_get_item %{t}[1] : !T", known[y])

    def cast(self, known, x, y, depth):
        self.emit(known, f"relax.match_cast %{x} : !T -> !T", known[x])

    def if_(self, known, depth):
        inside = dict(known)
        for _ in range(self.draw(st.integers(0, 3))):
            self.statement(inside, depth + 1)
        result = self.draw(st.sampled_from(sorted(inside)))
        self.lines.append(f"relax.yield %{result} : !T")
        return inside[result]


def _if(self, known, x, y, depth):
    name, cond = self.fresh(), self.draw(st.sampled_from(["c", "d"]))
    self.lines.append(f"%{name} = relax.if %{cond} : !T {{")
    then = self.if_(known, depth)
    self.lines.append("} else {")
    other = self.if_(known, depth)
    self.lines.append("}")
    known[name] = lambda env: then(env) if env[cond] else other(env)


setattr(Writer, "if", _if)  # the kind's name is a keyword


@st.composite
def programs(draw):
    writer = Writer(draw)
    known = {"x": lambda env: env["x"], "y": lambda env: env["y"]}
    for _ in range(draw(st.integers(1, 10))):
        writer.statement(known, 0)
    first, second = (draw(st.sampled_from(sorted(known))) for _ in range(2))
    body = "\n".join(writer.lines)
    text = f"""{HELPER}
    relax.func @main(%c: !relax.tensor<[], i1>, %d: !relax.prim<i1>, %x: !T, %y: !T) -> tuple<!T, !T> {{
      {body}
      %result = relax.tuple(%{first}, %{second})
      relax.return %result : tuple<!T, !T>
    }}"""
    return text, known[first], known[second]


@drawn(20, quick=6)
@given(programs(), st.sampled_from([0, 1, 5, 64]))
def test_random_functions(host, program, n):
    text, first, second = program
    main = host.build(text, opt_level=1)["main"]
    x = np.arange(n * 4, dtype=np.float32).reshape(n, 4)
    for c, d in ((True, False), (False, True)):
        env = {"x": x, "y": 3 - x, "c": c, "d": d}
        result = main(np.array(c), d, env["x"], env["y"])
        np.testing.assert_array_equal(result[0], first(env))
        np.testing.assert_array_equal(result[1], second(env))
    np.testing.assert_array_equal(x, np.arange(n * 4, dtype=np.float32).reshape(n, 4))
