"""Functions of equal structure are found, and what tells others apart at once is not read."""

import pytest

from tirax.ir import alike
from tirax.ir.alike import Alike, with_others
from tirax.ir.passes.transform import module_op
from tirax.tvm_api.script import from_source

FUNCTION = """
    @T.prim_func(private=True)
    def {name}({arg}: T.Buffer(({extent},), "{dtype}"), y: T.Buffer(({extent},), "{dtype}")):
        for i in range({extent}):
            with T.block("y"):
                v = T.axis.spatial({extent}, i)
                y[v] = {arg}[v] + T.{dtype}({number})
"""
SYMBOLIC = """
    @T.prim_func(private=True)
    def {name}(a: T.handle, b: T.handle):
        {size} = T.int64()
        x = T.match_buffer(a, ({size},), "float32")
        y = T.match_buffer(b, ({size},), "float32")
        for i in range({size}):
            with T.block("y"):
                v = T.axis.spatial({size}, i)
                y[v] = x[v] + T.float32({number})
"""
RELAX = """
    @R.function(private=True)
    def {name}({arg}: R.Tensor(({extent},), "float32")) -> R.Tensor(({extent},), "float32"):
        z = R.add({arg}, {arg})
        return z
"""


def functions(*texts):
    module = from_source(
        "from tvm.script import ir as I, relax as R, tir as T\n@I.ir_module\nclass Module:" + "".join(texts)
    )
    return {f.sym_name.data: f for f in module_op(module).ops}


def plain(name, arg="x", extent=4, dtype="float32", number=1):
    return FUNCTION.format(name=name, arg=arg, extent=extent, dtype=dtype, number=number)


def firsts(actual):
    table = Alike()
    return {name: table.first_of(f).sym_name.data for name, f in actual.items()}


def test_the_first_of_a_structure_is_returned():
    by_name = functions(
        plain("a"), plain("b", arg="z"), plain("c", extent=5), plain("d", dtype="float16"), plain("e", number=2),
        plain("f", number=2), plain("g", extent=5), plain("h"),
    )  # fmt: skip
    assert firsts(by_name) == {"a": "a", "b": "a", "c": "c", "d": "d", "e": "e", "f": "e", "g": "c", "h": "a"}


def test_names_of_sizes_do_not_count():
    rows = {"a": ("n", 1), "b": ("m", 1), "c": ("n", 2), "d": ("k", 2)}
    by_name = functions(*(SYMBOLIC.format(name=name, size=s, number=x) for name, (s, x) in rows.items()))
    assert firsts(by_name) == {"a": "a", "b": "a", "c": "c", "d": "c"}


def test_functions_of_relax():
    by_name = functions(
        *(RELAX.format(name=name, arg=arg, extent=n) for name, arg, n in [("a", "x", 4), ("b", "z", 4), ("c", "x", 5)])
    )
    assert firsts(by_name) == {"a": "a", "b": "a", "c": "c"}


def test_only_functions_of_the_same_parameters_are_read(monkeypatch: pytest.MonkeyPatch):
    read = []
    fingerprint = alike.fingerprint
    monkeypatch.setattr(alike, "fingerprint", lambda f: read.append(f.sym_name.data) or fingerprint(f))
    firsts(functions(plain("a"), plain("b", extent=5), plain("c"), plain("d", dtype="int32"), plain("e")))
    assert read == ["a", "c", "e"]


def test_functions_that_may_be_of_one_structure():
    by_name = functions(plain("a"), plain("b", extent=5), plain("c", number=2), plain("d", dtype="int32"), plain("e"))
    assert [f.sym_name.data for f in with_others(by_name.values())] == ["a", "c", "e"]
    assert with_others([]) == with_others([by_name["a"]]) == []
