"""The language server, asked by a client over stdin and stdout."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from lsp_client import Client, place

pytest.importorskip("pygls", reason="the language server speaks by pygls: pip install 'tirax[lsp]'")

SCRIPT = """\
from tvm.script import ir as I, relax as R, tir as T

raise SystemExit("nothing of this file runs")


@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("Y"):
                vi = T.axis.spatial(4, i)
                Y[vi] = X[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor(("n", 6), "float32"), w: R.Tensor((6, 4), "float32")):
        n = T.int64()
        with R.dataflow():
            lv = R.matmul(x, w)
            lv1 = R.sum(lv, axis=[0])
            lv2 = R.call_tir(Module.double, (lv1,), out_sinfo=R.Tensor((4,), "float32"))
            R.output(lv2)
        return lv2
"""
MLIR = """\
relax.func @main(%x: !relax.tensor<[n, 6], f32>, %w: !relax.tensor<[6, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %gv = relax.dataflow {
    %lv = relax.matmul %x, %w : !relax.tensor<[n, 4], f32>
    relax.output %lv : !relax.tensor<[n, 4], f32>
  }
  relax.return %gv : !relax.tensor<[n, 4], f32>
}
"""


@pytest.fixture(scope="module")
def client():
    running = Client([str(Path(sys.executable).with_name("tirax-lsp")), "--stdio"])
    yield running
    assert running.close() == 0


@pytest.fixture
def script(client):
    uri = "file:///folder/model.py"
    assert client.open(uri, SCRIPT, "python") == []
    yield uri
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.problems(uri) == []


@pytest.fixture
def mlir(client):
    uri = "file:///folder/model.mlir"
    assert client.open(uri, MLIR, "mlir") == []
    yield uri
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    client.problems(uri)


def ask(client, request, uri, position):
    return client.request(f"textDocument/{request}", {"textDocument": {"uri": uri}, "position": position})


def labels(client, uri, text, position):
    client.change(uri, text)
    return [item["label"] for item in ask(client, "completion", uri, position)]


def actions(client, uri, line, **context):
    here = {"line": line, "character": 0}
    params = {"range": {"start": here, "end": here}, "context": {"diagnostics": [], **context}}
    return client.request("textDocument/codeAction", {"textDocument": {"uri": uri}, **params})


def changed(client, uri, text, title):
    """The text after the action of a title."""
    line = text.index("@main") if "@main" in text else text.index("def main")
    by_title = {a["title"]: a for a in actions(client, uri, text.count("\n", 0, line))}
    edits = client.request("codeAction/resolve", by_title[title])["edit"]["changes"][uri]
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: e["range"]["start"]["line"], reverse=True):
        start, end = edit["range"]["start"], edit["range"]["end"]
        rest = lines[end["line"]][end["character"] :]
        before = lines[start["line"]][: start["character"]]
        lines[start["line"] : end["line"] + 1] = (before + edit["newText"] + rest).split("\n")
    return "\n".join(lines)


def test_errors_are_reported_while_typing(client, script):
    problem, *others = client.change(script, SCRIPT.replace("R.sum(lv", "R.summ(lv"))
    assert not others
    assert problem["message"].startswith("R has no 'summ'") and "did you mean 'sum'" in problem["message"]
    assert problem["source"] == "tirax" and problem["range"]["start"] == place(SCRIPT, "R.sum")
    assert client.change(script, SCRIPT, 3) == []


def test_every_function_has_its_own_errors(client, script):
    text = (
        SCRIPT.replace("float32(2)", "float31(2)")
        .replace("R.matmul(x, w)", "R.matmul(w, w)")
        .replace("Y[vi] =", "Z[vi] =")
    )
    problems = client.change(script, text)
    lines = text.split("\n")
    shown = {lines[p["range"]["start"]["line"]].split()[0]: p["message"].split("\n")[0] for p in problems}
    assert shown.keys() == {"Z[vi]", "lv"} and "last dimension of x1" in shown["lv"]


def test_half_a_line_hides_nothing_else(client, script):
    text = SCRIPT.replace("lv1 = R.sum(lv, axis=[0])", "lv1 = R.sum(lv, ")
    (problem,) = client.change(script, text)
    assert "not Python" in problem["message"] and problem["range"]["start"]["line"] == 19
    hover = ask(client, "hover", script, place(text, "lv,", shift=1))
    assert 'lv: R.Tensor((n, 4), dtype="float32")' in hover["contents"]["value"]


def test_hover_says_struct_info_and_documentation(client, script, mlir):
    texts = [
        ask(client, "hover", script, at)["contents"]["value"]
        for at in (place(SCRIPT, "lv1,"), place(SCRIPT, "R.matmul", shift=4), place(SCRIPT, "T.block", shift=3))
    ]
    assert 'lv1: R.Tensor((4,), dtype="float32")' in texts[0]
    assert "R.matmul(x1, x2, out_dtype=None)" in texts[1] and "matrix product" in texts[1]
    assert "schedules" in texts[2]
    value = ask(client, "hover", mlir, place(MLIR, "%lv", shift=2))["contents"]["value"]
    assert "%lv: !relax.tensor<[n, 4], f32>" in value
    assert "matrix product" in ask(client, "hover", mlir, place(MLIR, "relax.matmul", shift=8))["contents"]["value"]
    assert ask(client, "hover", mlir, place(MLIR, "->")) is None


def test_go_to_definition(client, script, mlir):
    def target(uri, at):
        return ask(client, "definition", uri, at)["range"]["start"]

    assert target(script, place(SCRIPT, "lv, axis")) == place(SCRIPT, "lv = R")
    assert target(script, place(SCRIPT, "Module.double", shift=8)) == place(SCRIPT, "double")
    assert target(script, place(SCRIPT, "vi] ")) == place(SCRIPT, "vi = T")
    assert target(mlir, place(MLIR, "%lv :")) == place(MLIR, "%lv =")


def test_completion_of_operators_attributes_names_and_functions(client, script, mlir):
    line = "            lv1 = R.sum(lv, axis=[0])"

    def in_script(typed):
        text = SCRIPT.replace(line, f"            lv1 = {typed}")
        return labels(client, script, text, place(text, typed, shift=len(typed)))

    assert {"conv1d", "conv2d", "conv2d_transpose"} <= set(in_script("R.nn.conv"))
    assert {"matmul", "match_cast"} <= set(in_script("R.mat"))
    assert in_script("R.sum(lv, keep") == ["keepdims="]
    assert {"x", "w", "lv", "n"} <= set(in_script("R.add("))
    assert in_script("Module.dou") == ["double"]

    def in_mlir(typed):
        text = MLIR.replace("relax.matmul %x, %w : !relax.tensor<[n, 4], f32>", typed)
        return labels(client, mlir, text, place(text, typed, shift=len(typed)))

    assert "matmul" in in_mlir("relax.mat") and "tensor" in in_mlir("relax.add %x, %w : !relax.ten")
    assert in_mlir("relax.matmul %x, %") == ["%x", "%w", "%gv"]
    assert in_mlir("relax.matmul %x, %w {out") == ["out_dtype = "]
    assert in_mlir("rela") == ["relax"]


def test_inlay_hints_are_what_the_text_does_not_say(client, script, mlir):
    def hints(uri):
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}}
        return {
            (h["position"]["line"], h["position"]["character"]): h["label"]
            for h in client.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": span})
        }

    shown = hints(script)
    lines = SCRIPT.split("\n")
    assert {lines[line][:column].split()[-1]: label for (line, column), label in shown.items()} == {
        "lv": ': R.Tensor((n, 4), dtype="float32")',
        "lv1": ': R.Tensor((4,), dtype="float32")',
        "lv2": ': R.Tensor((4,), dtype="float32")',
        '"float32"))': ' -> R.Tensor((4,), dtype="float32")',
    }
    assert hints(mlir) == {(1, 5): ": !relax.tensor<[n, 4], f32>"}


def test_a_pass_runs_as_a_code_action(client, script, mlir):
    text = changed(client, script, SCRIPT, "run the pass legalize-ops")
    assert (
        "def matmul" in text and 'R.call_tir(cls.matmul, (x, w), out_sinfo=R.Tensor((n, 4), dtype="float32"))' in text
    )
    assert text.startswith(SCRIPT[: SCRIPT.index("    @R.function")])  # what did not change stays
    assert client.change(script, text) == []
    text = changed(client, mlir, MLIR, "run the pass legalize-ops")
    assert "relax.call_tir @matmul" in text and client.change(mlir, text) == []


def test_actions_fit_the_function_and_the_kind(client, script):
    line = SCRIPT.count("\n", 0, SCRIPT.index("def double"))
    titles = {a["title"] for a in actions(client, script, line)}
    assert "run the pass tir-simplify" in titles and "run the pass fuse-ops" not in titles
    kind = "refactor.rewrite.tirax.fuse-ops"
    assert [a["kind"] for a in actions(client, script, 16, only=[kind])] == [kind]
    assert actions(client, script, 16, triggerKind=2) == []
    assert actions(client, script, 0) == []


def test_a_pass_that_cannot_run_says_why(client, script):
    (action,) = actions(client, script, 16, only=["refactor.rewrite.tirax.bundle-model-params"])
    client.notifications.clear()
    resolved = client.request("codeAction/resolve", action | {"data": action["data"] | {"pass": "no-such-pass"}})
    assert "edit" not in resolved
    (reported,) = [m["params"]["message"] for m in client.notifications if m["method"] == "window/showMessage"]
    assert "unknown pass 'no-such-pass'" in reported


def test_columns_are_counted_as_the_editor_does(client, script):
    """An emoji is two units of UTF-16, and one character of Python's."""
    text = SCRIPT.replace("R.sum(lv, axis=[0])", 'R.tuple(R.str("\N{GRINNING FACE}"), lv, R.foo(x))')
    (problem,) = client.change(script, text)
    shifted = place(text, "R.foo", shift=1)
    assert problem["range"]["start"] == shifted
    hover = ask(client, "hover", script, place(text, "lv, R.foo", shift=1))
    assert "lv: R.Tensor" in hover["contents"]["value"] and hover["range"]["start"] == place(text, "lv, R.foo", shift=1)
