"""`tirax bench` and `tirax run --compare`: a table of runtimes, whose results are compared."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tirax.tools import peers
from tirax.tools.bench import interleaved
from tirax.tools.peers import PEERS, Peer, difference

WEIGHT = np.random.default_rng(0).standard_normal((8, 4)).astype("float32")


@pytest.fixture
def layer(tmp_path, monkeypatch):
    x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("x", ["n", 8]), ("y", ["n", 4])))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [numpy_helper.from_array(WEIGHT, "w")]
    )
    path = tmp_path / "layer.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    monkeypatch.chdir(tmp_path)
    return "layer.onnx"


def in_numpy(name: str, factor: float) -> Peer:
    """A runtime that is always installed, and wrong unless `factor` is 1."""
    return Peer(name, "numpy", (".onnx",), lambda path, threads: lambda values: lambda: [values[0] @ WEIGHT * factor])


@pytest.fixture
def with_numpy(monkeypatch):
    monkeypatch.setitem(PEERS, "numpy", in_numpy("numpy", 1.0))


def test_the_table_has_a_row_for_each_runtime_and_number_of_threads(cli, layer, with_numpy):
    done = cli("bench", layer, "--against", "numpy", "--threads", "1,2", "--sizes", "n=3", "--repeat", "3")
    assert done.code == 0 and "n = 3; medians of 3 interleaved repeats" in done.out
    head, *rows = [line.split() for line in done.out.splitlines()[2:]]
    assert head == ["threads", "runtime", "median", "÷", "tirax", "difference"]
    assert [row[:2] for row in rows] == [["1", "tirax"], ["1", "numpy"], ["2", "tirax"], ["2", "numpy"]]
    assert [row[4] for row in rows if row[1] == "tirax"] == ["1.00", "1.00"]
    assert all(float(row[5]) < 1e-6 for row in rows if row[1] == "numpy")


def test_a_missing_runtime_is_named_with_its_pip_line(cli, layer, monkeypatch):
    monkeypatch.setitem(PEERS, "other", Peer("other", "no_such_package", (".onnx",), PEERS["openvino"].load))
    done = cli("bench", layer, "--against", "other", "--repeat", "1")
    assert done.code == 0 and "note: no_such_package is not installed: pip install no_such_package" in done.err
    done = cli("run", layer, "--compare", "other")
    assert done.code == 1 and "hint: pip install no_such_package" in done.err


def test_a_runtime_that_refuses_the_model_is_left_out(cli, layer, monkeypatch):
    def refuse(path, threads):
        raise ValueError("opset 21 is unknown\nand more")

    monkeypatch.setitem(PEERS, "old", Peer("old", "numpy", (".onnx",), refuse))
    done = cli("bench", layer, "--against", "old", "--repeat", "1")
    assert done.code == 0 and "note: old does not run this model: opset 21 is unknown\n" in done.err


def test_compare_ends_with_a_line_or_with_an_error(cli, layer, with_numpy, monkeypatch):
    done = cli("run", layer, "--compare", "numpy")
    assert done.code == 0 and "compare: numpy computes the same" in done.out
    monkeypatch.setitem(PEERS, "wrong", in_numpy("wrong", 1.1))
    done = cli("run", layer, "--compare", "numpy,wrong")
    assert done.code == 1 and "error: wrong computes something else" in done.err


@pytest.mark.parametrize(("option", "value"), [("--threads", "0"), ("--threads", "two"), ("--repeat", "-1")])
def test_options_that_are_not_understood(cli, layer, option, value):
    assert cli("bench", layer, option, value).code == 2


def test_with_onnxruntime(cli, layer, onnxruntime):
    done = cli("run", layer, "--compare", "onnxruntime")
    assert done.code == 0 and "compare: onnxruntime computes the same" in done.out


def test_with_torch(cli, tmp_path, torch):
    model = torch.nn.Linear(8, 4).eval()
    path = tmp_path / "layer.pt2"
    torch.export.save(torch.export.export(model, (torch.ones(2, 8),)), path)
    done = cli("bench", path, "--against", "torch", "--repeat", "3")
    assert done.code == 0 and "torch" in done.out
    assert cli("run", path, "--compare", "torch").code == 0


def test_differences():
    a = np.array([1.0, -4.0], np.float32)
    assert difference([a], [a]) == 0.0 and difference([a * 1.5], [a]) == 0.5
    assert difference([a], [a[:1]]) == difference([a], []) == difference([a], [a * np.nan]) == float("inf")
    nan = np.array([np.nan, np.inf, 2.0])
    assert difference([nan], [nan]) == 0.0
    assert difference([np.array([True, False])], [np.array([True, True])]) == 1.0
    assert peers.arrays([a])[0] is not None


def test_samples_take_turns():
    seen = []
    interleaved({"a": lambda: seen.append("a"), "b": lambda: seen.append("b")}, 2)
    assert seen[-1] == "b" and "ab" in "".join(seen)
