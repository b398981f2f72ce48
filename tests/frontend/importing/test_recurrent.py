"""Recurrent layers beside PyTorch's and those of ONNX Runtime."""

import itertools

import numpy as np
import pytest
from strength import only_full, thinned

from tirax.driver.build import build
from tirax.frontend.block_builder import BlockBuilder
from tirax.frontend.importing import recurrent
from tirax.frontend.importing.recurrent import GRU, LSTM, RNN, Gates, run_layer, sigmoid, tanh
from tirax.handles.relax import names as rx
from tirax.handles.relax.calls import const
from tirax.interpreter import interpret

INPUTS, HIDDEN, BATCH = 5, 7, 3
GATES = {"LSTM": "ifco", "GRU": "rzh", "RNN": "h"}
STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def layer(cell, gates, states, time, batch=BATCH, lengths=None, reverse=False):
    """A module of a layer over `x` whose length, or all of whose shape, is symbolic."""
    bb, x = BlockBuilder(), rx.Var("x", rx.TensorStructInfo((time, batch, INPUTS), "float32"))
    initial = [rx.Var(f"s{i}", rx.TensorStructInfo((batch, HIDDEN), "float32")) for i in range(states)]
    lens = [] if lengths is None else [rx.Var("lens", rx.TensorStructInfo((batch,), "int32"))]
    with bb.function("main", [x, *initial, *lens]):
        inputs, last = run_layer(bb, cell, gates, x, initial, *(lens or [None]), reverse)
        bb.emit_func_output(rx.Tuple([inputs, *last]))
    return bb.get()


def constant_gates(inputs, hidden, *biases):
    return Gates(const(inputs), const(hidden), *(None if b is None else const(b) for b in biases))


def assert_gives(mod, cases, interpreted=True, atol=2e-6):
    main = build(mod)["main"]
    for args, expected in cases:
        for results in (main(*args), *([interpret(mod, "main", args)] if interpreted else [])):
            assert len(results) == len(expected)
            for result, value in zip(results, expected, strict=True):
                np.testing.assert_allclose(result, value, atol=atol)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("time", ["t", 1])
def test_layers_of_pytorch(kind, time, torch):
    torch.manual_seed(0)
    theirs = getattr(torch.nn, kind)(INPUTS, HIDDEN)
    weights = [w.detach().numpy() for w in theirs.parameters()]
    cells = {
        "LSTM": LSTM(GATES[kind], (sigmoid, tanh, tanh)),
        "GRU": GRU(GATES[kind], (sigmoid, tanh), reset_after=True),
        "RNN": RNN(GATES[kind], (tanh,)),
    }
    mod = layer(cells[kind], constant_gates(*weights), STATES[kind], time)
    cases = []
    for length in (1, 6) if time == "t" else (1,):
        x, states = numbers(length, BATCH, INPUTS), [numbers(BATCH, HIDDEN, seed=i) for i in range(STATES[kind])]
        before = [torch.tensor(s[None]) for s in states]
        inputs, last = theirs(torch.tensor(x), tuple(before) if len(before) > 1 else before[0])
        last = last if isinstance(last, tuple) else (last,)
        cases.append(((x, *states), [v.detach().numpy() for v in (inputs, *(s[0] for s in last))]))
    assert_gives(mod, cases)


ONNX_ORDER = {"LSTM": "iofc", "GRU": "zrh", "RNN": "h"}


def onnx_results(runtime, kind, weights, x, states, lengths, **attributes):
    """What ONNX Runtime gives for one direction; `weights` are W, R, B and P."""
    onnx = pytest.importorskip("onnx", reason="models are written with the package onnx")
    w, r, b, *more = weights
    feeds = {"X": x, "W": w[None], "R": r[None], "B": np.concatenate(b)[None], "lens": lengths.astype("int32")}
    feeds |= {f"state{i}": s[None] for i, s in enumerate(states)}
    if more:
        feeds["P"] = more[0].reshape(1, -1)
    names = ["X", "W", "R", "B", "lens", *(f"state{i}" for i in range(len(states))), *(["P"] if more else [])]
    outputs = ["Y", "Y_h", "Y_c"][: 1 + len(states)]
    node = onnx.helper.make_node(kind, names, outputs, hidden_size=HIDDEN, **attributes)
    kinds = {n: onnx.helper.np_dtype_to_tensor_dtype(v.dtype) for n, v in feeds.items()}
    graph = onnx.helper.make_graph(
        [node],
        "layer",
        [onnx.helper.make_tensor_value_info(n, kinds[n], v.shape) for n, v in feeds.items()],
        [onnx.helper.make_tensor_value_info(n, 1, None) for n in outputs],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 14)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs, *last = session.run(None, feeds)
    return [inputs[:, 0], *(s[0] for s in last)]


PEEPHOLES = numbers(3, HIDDEN, seed=9)
VARIANTS = {
    "plain": ("LSTM", {}, {}, []),
    "peepholes": ("LSTM", {"peepholes": dict(zip("iof", map(const, PEEPHOLES), strict=True))}, {}, [PEEPHOLES]),
    "coupled": ("LSTM", {"coupled": True}, {"input_forget": 1}, []),
    "clipped": ("LSTM", {"clip": 0.3}, {"clip": 0.3}, []),
    "activations": (
        "LSTM",
        {"activations": (tanh, sigmoid, sigmoid)},
        {"activations": ["Tanh", "Sigmoid", "Sigmoid"]},
        [],
    ),
    "reset before": ("GRU", {}, {"linear_before_reset": 0}, []),
    "reset after": ("GRU", {"reset_after": True}, {"linear_before_reset": 1}, []),
    "relu": ("RNN", {"activations": (recurrent.R.nn.relu,)}, {"activations": ["Relu"]}, []),
}
DEFAULTS = {"LSTM": (LSTM, (sigmoid, tanh, tanh)), "GRU": (GRU, (sigmoid, tanh)), "RNN": (RNN, (tanh,))}


@thinned("variant, reverse", list(itertools.product(VARIANTS, [True, False])), 5)
def test_variants_of_onnx(variant, reverse, onnxruntime):
    kind, ours, theirs, more = VARIANTS[variant]
    make, activations = DEFAULTS[kind]
    rows = len(ONNX_ORDER[kind]) * HIDDEN
    w, r = numbers(rows, INPUTS, seed=3) / 2, numbers(rows, HIDDEN, seed=4) / 2
    biases = [numbers(rows, seed=s) for s in (5, 6)]
    cell = make(ONNX_ORDER[kind], **{"activations": activations, **ours})
    mod = layer(cell, constant_gates(w, r, *biases), STATES[kind], "t", lengths=True, reverse=reverse)
    x, states = numbers(4, BATCH, INPUTS), [numbers(BATCH, HIDDEN, seed=i) for i in range(STATES[kind])]
    lengths = np.array([4, 1, 3], "int32")
    direction = {"direction": "reverse"} if reverse else {}
    expected = onnx_results(onnxruntime, kind, (w, r, biases, *more), x, states, lengths, **theirs, **direction)
    assert_gives(mod, [((x, *states, lengths), expected)], interpreted=not reverse)


@only_full
def test_batches_of_any_size_and_weights_that_are_arguments():
    """All is symbolic, and there are no biases."""
    bb = BlockBuilder()
    shapes = {"x": ("t", "b", "i"), "w": (HIDDEN, "i"), "r": (HIDDEN, HIDDEN), "s": ("b", HIDDEN)}
    x, w, r, s = (rx.Var(n, rx.TensorStructInfo(d, "float32")) for n, d in shapes.items())
    with bb.function("main", [x, w, r, s]):
        inputs, last = run_layer(bb, RNN("h", (tanh,)), Gates(w, r), x, [s])
        bb.emit_func_output(rx.Tuple([inputs, *last]))

    def reference(x, w, r, s):
        states = np.zeros((len(x), *s.shape), "float32")
        for i, row in enumerate(x):
            states[i] = s = np.tanh(row @ w.T + s @ r.T)
        return states, s

    cases = []
    for t, b, i in ((3, 2, 4), (0, 2, 4), (2, 0, 1)):
        args = numbers(t, b, i), numbers(HIDDEN, i), numbers(HIDDEN, HIDDEN), numbers(b, HIDDEN)
        cases.append((args, reference(*args)))
    assert_gives(bb.get(), cases)
