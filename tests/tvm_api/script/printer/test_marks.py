"""What `script()` underlines and annotates: nodes and paths, also of a copy of the function."""

import pytest

import tirax.tvm_api as tvm
from tirax.diagnostics import TiraxError
from tirax.tvm_api.runtime import ObjectPath
from tirax.tvm_api.script import from_source

FUNC = from_source(
    "@T.prim_func\ndef main():\n    T.evaluate(1)\n    T.evaluate(2)\n    for i in range(3):\n        T.evaluate(i)\n"
)
HEAD = "# from tvm.script import tir as T\n\n"
SEQ = ObjectPath.root().attr("body").attr("seq")
MODULE = tvm.IRModule({"main": FUNC})


@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        lambda seq: {"obj_to_annotate": {seq[1]: "two", seq[2]: "loop"}},
        lambda seq: {"path_to_annotate": {SEQ.array_index(1): "two", SEQ.array_index(2): "loop"}},
    ],
)
def test_notes(options, copy):
    func = FUNC.with_attr("global_symbol", "f") if copy else FUNC
    name = "f" if copy else "main"
    assert func.script(**options(FUNC.body.seq)) == (
        f"{HEAD}@T.prim_func\ndef {name}():\n    T.evaluate(1)\n    T.evaluate(2)  # two\n"
        "    # loop\n    for i in range(3):\n        T.evaluate(i)"
    )


def test_a_note_on_a_binding_prints_its_scope():
    func = from_source("@T.prim_func\ndef main():\n    x: T.int32 = 1\n    y: T.int32 = x + 1\n    T.evaluate(y - x)\n")
    assert func.script(obj_to_annotate={func.body.body: "sum"}) == (
        f"{HEAD}@T.prim_func\ndef main():\n    x: T.int32 = 1\n    # sum\n"
        "    with T.LetStmt(x + 1) as y:\n        T.evaluate(y - x)"
    )


@pytest.mark.parametrize(
    "options", [{"obj_to_underline": [FUNC.body.seq[0]]}, {"path_to_underline": [SEQ.array_index(0)]}]
)
def test_lines(options):
    assert "    T.evaluate(1)\n    ^^^^^^^^^^^^^\n    T.evaluate(2)\n    for" in FUNC.script(**options)


@pytest.mark.parametrize(
    "path", [ObjectPath.root(), ObjectPath.root().attr("functions").map_value(MODULE.get_global_var("main"))]
)
def test_functions_and_modules(path):
    text = MODULE.script(path_to_underline=[path])
    assert "    def main():\n    ^^^^^^^^^^^\n        T.evaluate(1)\n        ^^^^^^^^^^^^^\n" in text
    assert ("class Module:\n^^^^^^^^^^^^^\n" in text) is (len(path) == 1)


@pytest.mark.parametrize("path", [SEQ.array_index(7), SEQ.attr("nothing"), SEQ.missing_array_element(0)])
def test_paths_that_lead_nowhere(path):
    with pytest.raises(TiraxError, match="path leads"):
        FUNC.script(path_to_underline=[path])
