"""What is broken, half typed, huge or no text at all: the server tells it, or says nothing, and goes on."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from lsp_client import Client
from strength import only_full, some, thinned

pytest.importorskip("pygls", reason="the language server speaks by pygls: pip install 'tirax[lsp]'")

FOLDER = Path(__file__).parent
PROGRAM = """\
from tvm.script import ir as I, relax as R, tir as T
SIZES = [4, 8]
@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("Y"):
                vi = T.axis.spatial(SIZES[0], i)
                Y[vi] = X[vi] * T.float32(2)
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        if c:
            y = R.add(x, x)
        else:
            y = R.exp(x)
        z, w = R.split(y, 2, axis=1)
        return R.call_tir(Module.double, (z,), out_sinfo=R.Tensor((4,), "float32"))
@R.function
def alone(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    return x
"""
FUNCTION = """  relax.func @f{}(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {{
    %y = relax.exp %x : !relax.tensor<[n, 4], f32>
    relax.return %y : !relax.tensor<[n, 4], f32>
  }}
"""
TEXTS = {
    "nothing": "",
    "a bracket": "(",
    "no Python": "@R.function\ndef f(x:\n\tclass ((\n",
    "a zero byte": "@R.function\ndef f(x):\n\0",
    "half of a pair": "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return '\ud800'\n",
    "deep": "@R.function\ndef f(x: R.Tensor((4,), 'float32')):\n    return " + "(" * 5000 + "x" + ")" * 5000,
    "deep loops": "@T.prim_func\ndef f():\n"
    + "".join(" " * (i + 1) + "while True:\n" for i in range(99))
    + " " * 100
    + "pass",
    "two of one name": "@R.function\ndef f():\n    return 1\n@R.function\ndef f():\n    return 1\n",
    "calls itself": "@T.prim_func\ndef f():\n    g()\n@T.prim_func\ndef g():\n    f()\n",
    "other ends of lines": PROGRAM.replace("\n", "\r\n") + "\f\u2028\v",
    "only a decorator": "@R.function",
    "no function": "@R.function\nclass X:\n    pass\n@I.ir_module\nclass Y: pass",
}
MLIR_TEXTS = {
    "a brace": "}",
    "open": "relax.func @f(%x: !relax.tensor<[n], f32>) -> {",
    "an open string": 'func.func @f() { "abc',
    "deep": "builtin.module {" * 3000,
    "huge numbers": "func.func @f() { %x = arith.constant 99999999999999999999999999 : i64 func.return }",
    "a zero byte": "func.func @f() {\0}",
    "half of a pair": 'func.func @f() attributes {a = "\ud800"} { func.return }',
    "two of one name": FUNCTION.format(0) * 2,
    "other letters": "func.func @ä(%ü: i32) { func.return }",
    "pieces": "// -----\n// -----\n" + FUNCTION.format(0) + "// -----",
}


@pytest.fixture(scope="module")
def client():
    running = Client([str(Path(sys.executable).with_name("tirax-lsp"))])
    yield running
    assert running.close() == 0


def ask_everything(client, uri, text):
    """All requests at some places of a text; what is answered has to be no error."""
    lines = text.split("\n")
    document = {"textDocument": {"uri": uri}}
    last = {"line": len(lines) - 1, "character": len(lines[-1])}
    for position in (last, {"line": len(lines) // 2, "character": 9}, {"line": 10**6, "character": 10**6}):
        for request in ("hover", "definition", "completion"):
            client.request(f"textDocument/{request}", {**document, "position": position})
        span = {"start": position, "end": position}
        client.request("textDocument/inlayHint", {**document, "range": span})
        client.request("textDocument/codeAction", {**document, "range": span, "context": {"diagnostics": []}})


@thinned("language, kind", [("python", k) for k in TEXTS] + [("mlir", k) for k in MLIR_TEXTS], 12)
def test_no_text_ends_the_server(client, language, kind):
    text = (TEXTS if language == "python" else MLIR_TEXTS)[kind]
    uri = f"file:///folder/{kind}.{language}"
    problems = client.open(uri, text, language)
    assert not [p for p in problems if "internal error" in p["message"]], problems
    ask_everything(client, uri, text)


@pytest.mark.thinned
@pytest.mark.parametrize("language, text", [("python", PROGRAM), ("mlir", "".join(map(FUNCTION.format, range(3))))])
def test_a_text_is_typed(client, language, text):
    uri = f"file:///folder/typed.{language}"
    client.open(uri, "", language)
    for end in some(sorted(random.Random(0).sample(range(len(text)), 12)), 5):
        problems = client.change(uri, text[:end])
        assert not [p for p in problems if "internal error" in p["message"]], text[:end]
        ask_everything(client, uri, text[:end])
    assert client.change(uri, text) == []


def test_a_huge_text_is_left_alone(client):
    uri = "file:///folder/huge.mlir"
    (problem,) = client.open(uri, "".join(map(FUNCTION.format, range(7000))), "mlir")
    assert "are not read" in problem["message"]
    ask_everything(client, uri, "")
    assert client.change(uri, FUNCTION.format(0)) == []


def test_python_without_programs_is_not_looked_at(client):
    assert client.open("file:///folder/other.py", "def f(:\n", "python") == []


NO_MESSAGES = [b'{"jsonrpc": "2.0", "method": "x\xff\xfe"}', b"{", b"[]", b'{"jsonrpc": "2.0"}']


def test_messages_that_are_none(client):
    for number, body in enumerate(NO_MESSAGES):
        client.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert client.open(f"file:///folder/after{number}.py", PROGRAM, "python") == [], body


@only_full
def test_unknown_texts_and_requests(client):
    document = {"textDocument": {"uri": "file:///nowhere.py"}, "position": {"line": 0, "character": 0}}
    assert client.request("textDocument/hover", document) is None
    assert client.request("textDocument/completion", document) == []
    with pytest.raises(RuntimeError):
        client.request("textDocument/rename", {**document, "newName": "y"})
