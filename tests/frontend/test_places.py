"""Operations of `nn` stand where the model's own code calls what makes them."""

import inspect

import numpy as np

from tirax.driver.build import build
from tirax.frontend import nn
from tirax.ir.locations import location_of
from tirax.runtime.profiling.limits import Limits


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 8)

    def forward(self, x: nn.Tensor):
        y = self.fc(x)
        return (
            nn.op.silu(y)
            + y
        )  # fmt: skip


SPEC = {"forward": {"x": nn.spec.Tensor([4, 16], "float32")}}
FORWARD = inspect.getsourcelines(Model.forward)[1]


def test_operations_know_the_line_of_the_call():
    mod, _ = Model().export_tvm(SPEC)
    places = {op.name: location_of(op) for op in mod.op.walk() if op.name in ("relax.matmul", "relax.nn.silu")}
    matmul, silu = places["relax.matmul"], places["relax.nn.silu"]
    assert (matmul.file, matmul.line, matmul.column) == (__file__, FORWARD + 1, 13)
    assert (silu.line, silu.column) == (FORWARD + 3, 13)


def test_the_profile_names_them():
    mod, params = Model().export_tvm(SPEC)
    arrays = [np.ones([int(n) for n in p.shape], np.float32) for _, p in params]
    limits = Limits(1, 1e9, ((1 << 40, 1e9),))
    report = build(mod).profile("forward", np.ones((4, 16), np.float32), *arrays, limits=limits)
    places = {row.place.rsplit(":", 1)[0] for row in report.rows if row.kind == "kernel"}
    assert places and places <= {f"{__file__}:{FORWARD + i}" for i in (1, 3, 4)}
