"""The kinds that compare with others see what is planted, and are left out where the others are not installed."""

from __future__ import annotations

import random
from base64 import b64encode
from typing import Any

import numpy as np
import pytest

from tirax.dev.fuzz import kinds, nnsmith_graphs, onnx_graphs, torch_reference
from tirax.dev.fuzz.__main__ import main
from tirax.dev.fuzz.kinds import KINDS, Kind
from tirax.dialects import tir
from tirax.frontend.torch import graph, table
from tirax.interpreter import MeaningError
from tirax.script import parse_source

RELU = """
relax.func @main(%x: !relax.tensor<[n, 4], f32>) -> !relax.tensor<[n, 4], f32> {
  %y = relax.nn.relu %x : !relax.tensor<[n, 4], f32>
  relax.return %y : !relax.tensor<[n, 4], f32>
}
"""


def needing(kind: str) -> Kind:
    """A kind whose packages are installed."""
    if KINDS[kind].missing:
        pytest.skip(f"{', '.join(KINDS[kind].missing)} not installed")
    return KINDS[kind]


@pytest.mark.usefixtures("torch")
def test_what_torch_computes_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = needing("torch")
    assert kind.check(RELU) == 4
    monkeypatch.setitem(torch_reference._OPERATORS, "nn.relu", lambda torch, op, x: x.abs())
    with pytest.raises(MeaningError):
        kind.check(RELU)


@pytest.mark.usefixtures("torch")
def test_operators_that_the_table_has_not_are_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(torch_reference._OPERATORS, "nn.relu")
    assert needing("torch").check(RELU) == 0


PROGRAM = """WAY, DYNAMIC, GRAD = {way!r}, True, False


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(4))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x, k=None):
        {change}
        return Pair({{"s": x.T, "r": None}}, Box(x, (x + self.b, "text")))


def inputs(n):
    return (torch.arange(4.0 * n).reshape(n, 4),), {{"k": None}}
"""


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("way", ["export", "compile"])
def test_what_programs_of_torch_change_and_return_is_compared(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = needing("torch-programs")
    text = PROGRAM.format(way=way, change="x[m := x > 2] += 1; self.b.mul_(x.mean() + m.sum())")
    assert kind.check(text) == 2
    monkeypatch.setattr(graph, "lookup", lambda name, overload: table.lookup({"add": "sub"}.get(name, name), overload))
    with pytest.raises(MeaningError, match="value"):
        kind.check(text)


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("way", ["export", "compile"])
@pytest.mark.parametrize("change", ["x.set_(k)", "raise ValueError(x.shape)"])
def test_what_torch_itself_refuses_is_not_compared(way: str, change: str) -> None:
    assert needing("torch-programs").check(PROGRAM.format(way=way, change=change)) == 0


@pytest.mark.usefixtures("onnxruntime")
def test_what_onnx_runtime_computes_otherwise_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = needing("onnx")
    text = next(t for t in (kind.draw(random.Random(seed)) for seed in range(20)) if kind.check(t))
    right = onnx_graphs._of_onnx_runtime

    def wrong(model: Any) -> Any:
        return [(feed, [np.where(v == v, v + 1, 0).astype(v.dtype) for v in values]) for feed, values in right(model)]

    monkeypatch.setattr(onnx_graphs, "_of_onnx_runtime", wrong)
    with pytest.raises(MeaningError, match="expected"):
        kind.check(text)


@pytest.mark.usefixtures("onnxruntime")
@pytest.mark.parametrize(
    ("node", "extents"),
    [
        ("MaxPool <kernel_shape = [3, 1], strides = [2, 1], ceil_mode = 0> (x)", (1, 2, 2)),
        ("Gather <axis = 2> (x, zero)", (1, 0, 0)),
    ],
)
def test_what_onnx_runtime_computes_beyond_the_specification_is_not_compared(
    node: str, extents: tuple[int, ...]
) -> None:
    kind = needing("onnx")
    from onnx import parser

    def compared(*dims: int) -> int:
        text = f"""<ir_version: 9, opset_import: ["" : 18]>
            graph (float[n, {", ".join(map(str, dims))}] x) => (float[a, b, c, d] y)
            <int64[1] zero = {{0}}> {{ y = {node} }}"""
        return kind.check(b64encode(parser.parse_model(text).SerializeToString()).decode())

    assert compared(*extents) == 0
    assert compared(1, 3, 2) == 2


@pytest.mark.parametrize("limit", ["elements", "memory"])
def test_models_of_nnsmith_that_no_memory_holds_are_not_taken(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = needing("nnsmith")
    text = next(t for t in (kind.draw(random.Random(seed)) for seed in range(20)) if kind.check(t))
    if limit == "elements":
        monkeypatch.setattr(nnsmith_graphs, "_MOST_ELEMENTS", 0)
    else:
        from nnsmith.materialize.torch import TorchModelCPU

        def full(ir: Any) -> Any:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 17179869184 bytes")

        monkeypatch.setattr(TorchModelCPU, "from_gir", full)
    assert kind.check(text) == 0


def test_what_nnsmith_draws_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = needing("nnsmith")
    text = next(t for t in (kind.draw(random.Random(seed)) for seed in range(20)) if kind.check(t))
    right = nnsmith_graphs.build

    def wrong(module: Any) -> Any:
        run = right(module)["main"]
        return {"main": lambda *args: [np.full(np.shape(r), 12345) for r in nnsmith_graphs._several(run(*args))]}

    monkeypatch.setattr(nnsmith_graphs, "build", wrong)
    with pytest.raises(MeaningError, match="expected"):
        kind.check(text)


def test_an_error_that_is_no_diagnostic_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = needing("onnx-files")

    def damaged(model: Any) -> Any:
        raise KeyError("x")

    monkeypatch.setattr("tirax.frontend.onnx.from_onnx", damaged)
    with pytest.raises(KeyError):
        kind.check(kind.draw(random.Random(0)))


def test_rewriting_that_changes_the_meaning_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    head = "# simplify\n@T.prim_func\ndef main(A: T.Buffer((4,), 'int32')):\n"
    text = f"{head}    for i in range(4):\n        A[i] = i * 2\n"
    assert KINDS["rewriting"].check(text) == 1
    other = parse_source(text.replace("i * 2", "i * 3"))

    def wrong(p: Any, context: Any, module: Any) -> None:
        kernel, changed = (next(op for op in m.walk() if isinstance(op, tir.FuncOp)) for m in (module, other))
        kernel.detach()
        module.body.block.add_op(changed.clone())

    monkeypatch.setattr(kinds, "run_pass", wrong)
    with pytest.raises(MeaningError):
        KINDS["rewriting"].check(text)


def test_kinds_are_left_out_where_their_packages_are_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(KINDS, "other", Kind("planted", lambda rng: "", lambda text: 1, ("tirax_has_no_such_package",)))
    assert main(["other", "--count", "1"]) == 0
    assert "left out: it needs tirax_has_no_such_package" in capsys.readouterr().out


NORM = """// decompose-ops-for-{0}
relax.func @main(%x: !relax.tensor<[n, 3], f32>, %p: !relax.tensor<[3], f32>) -> {2} {{
  %y = relax.nn.batch_norm %x, %p, %p, %p, %p {{training = {1}}} : {2}
  relax.return %y : {2}
}}
"""
NORMED = "tuple<!relax.tensor<[n, 3], f32>, !relax.tensor<[3], f32>, !relax.tensor<[3], f32>>"


@pytest.mark.parametrize(("use", "training"), [("inference", "true"), ("training", "false")])
def test_batch_norms_are_compared_as_the_passes_take_them(
    use: str, training: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = NORM.format(use, training, NORMED)
    assert KINDS["passes"].check(text)
    monkeypatch.setattr(kinds, "_TRAINING", {})
    with pytest.raises(MeaningError):
        KINDS["passes"].check(text)
