"""Modules as graphs: what is connected with what; DOT that Graphviz reads; Model Explorer's JSON."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from tirax.ir.graphs.dot import dot_text, quoted
from tirax.ir.graphs.explorer import explorer_graphs, explorer_text
from tirax.ir.graphs.nodes import graph_of
from tirax.script import parse_mlir, parse_source

PROGRAM = """\
from tvm.script import ir as I, relax as R, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def double(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((4,), "float32")
        for i in range(4):
            with T.block("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = X[vi] * T.float32(2)
        for i in range(4):
            with T.block("Y"):
                vi = T.axis.spatial(4, i)
                Y[vi] = B[vi]
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")):
        n = T.int64()
        with R.dataflow():
            lv = R.exp(x)
            lv1 = R.reshape(lv, (n * 4,))
            R.output(lv1)
        if c:
            y = R.add(lv1, lv1)
        else:
            y = R.negative(lv1)
        z = R.call_tir(Module.double, (R.const([1.0, 2.0, 3.0, 4.0], "float32"),), out_sinfo=R.Tensor((4,), "float32"))
        return (y, z)
"""
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@pytest.fixture(scope="module")
def graph():
    return graph_of(parse_source(PROGRAM))


def edges(graph, function):
    """The edges of a function by the labels of their ends."""
    labels = {n.id: n.label.partition(":")[0] for n in graph.nodes if n.group[0] == function}
    return sorted((labels[e.source], labels[e.target]) for e in graph.edges if e.source in labels)


def test_values_are_edges(graph):
    assert edges(graph, "main") == [
        ("add", "if"),
        ("c", "if"),
        ("call_tir @double", "tuple"),
        ("constant", "call_tir @double"),
        ("exp", "reshape"),
        ("if", "tuple"),
        ("negative", "if"),
        ("reshape", "add"),
        ("reshape", "add"),
        ("reshape", "negative"),
        ("tuple", "return"),
        ("x", "exp"),
    ]


def test_blocks_and_buffers_of_tensor_functions(graph):
    blocks = [(n.label.partition(":")[0], n.kind) for n in graph.nodes if n.group == ("double",)]
    assert sorted(blocks) == [("B", "block"), ("B", "buffer"), ("X", "buffer"), ("Y", "block"), ("Y", "buffer")]
    assert edges(graph, "double") == [("B", "B"), ("B", "Y"), ("X", "B"), ("Y", "Y")]


def test_groups_are_functions_dataflow_blocks_and_branches(graph):
    groups = {n.label: n.group for n in graph.nodes if n.group[0] == "main"}
    assert len(groups["exp"]) == 2 and groups["exp"][1].startswith("dataflow")
    assert (
        groups["add"][-1] == "then" and groups["negative"][-1] == "else" and groups["add"][:2] == groups["negative"][:2]
    )
    assert groups["if"] == ("main",)


def test_shapes_are_attributes_and_contents_of_constants_nowhere(graph):
    (reshape,) = [n for n in graph.nodes if n.label == "reshape"]
    assert "n * 4" in dict(reshape.attributes)["operand 1"] and reshape.outputs == ("[n * 4] float32",)
    (constant,) = [n for n in graph.nodes if n.kind == "constant"]
    assert not constant.attributes and constant.outputs == ("[4] float32",)


def test_dot(graph):
    text = dot_text(graph)
    bare = STRING.sub("S", text)
    assert '"' not in bare and bare.count("{") == bare.count("}") == 7
    declared = re.findall(r'^ +("[^"]*") \[label', text, re.MULTILINE)
    used = re.findall(r'^  ("[^"]*") -> ("[^"]*") ', text, re.MULTILINE)
    assert len(declared) == len(set(declared)) == len(graph.nodes)
    assert len(used) == len(graph.edges) and {end for pair in used for end in pair} <= set(declared)
    if shutil.which("dot") is not None:
        done = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr and "<title>cluster main</title>" in done.stdout


@pytest.mark.parametrize("text", ['a "b"', "a\\", "\\n", "a\nb", "\0\x1b", "ä<b>&", '\\"'])
def test_text_is_escaped(text):
    assert STRING.fullmatch(quoted(text)) and "\n" not in quoted(text)


def test_any_name_can_be_drawn():
    name = 'a \\"b\\" </g> } -> c'
    module = parse_mlir(f'func.func @"{name}"() {{ func.return }}\nfunc.func private @other(i32) -> i32')
    text = dot_text(graph_of(module))
    assert STRING.sub("S", text).count("{") == 3 and '\\"b\\"' in text


def test_a_module_without_functions():
    text = dot_text(graph_of(parse_mlir("builtin.module {}")))
    assert text.startswith("digraph") and "cluster" not in text


def test_model_explorer_has_a_graph_for_each_function(graph):
    graphs = {g["id"]: g["nodes"] for g in explorer_graphs(graph)}
    assert list(graphs) == ["double", "main"]
    nodes = {n["label"]: n for n in graphs["main"]}
    assert nodes["call_tir @double"]["subgraphIds"] == ["double"]
    assert re.fullmatch(r"if \d+/then", nodes["add"]["namespace"]) and nodes["if"]["namespace"] == ""
    ids = {n["id"] for n in graphs["main"]}
    incoming = [e for n in graphs["main"] for e in n["incomingEdges"]]
    assert len(incoming) == 12 and {e["sourceNodeId"] for e in incoming} <= ids
    assert [e["targetNodeInputId"] for e in nodes["add"]["incomingEdges"]] == ["0", "1"]
    assert json.loads(explorer_text(graph, "m")) == {"label": "m", "graphs": explorer_graphs(graph)}
