"""State dicts that PyTorch saved, read without running anything."""

from __future__ import annotations

import numpy as np
import pytest
from torch_models import exported

from tirax.driver.build import build
from tirax.frontend.importing.errors import ModelError
from tirax.frontend.importing.weights import bind_weights
from tirax.frontend.params import detach_params

torch = pytest.importorskip("torch", reason="models are made by PyTorch")

from tirax.frontend.torch.exported_program import from_exported_program  # noqa: E402
from tirax.frontend.torch.state_dict import read_state_dict  # noqa: E402


def test_weights_of_another_model_of_the_same_kind(tmp_path) -> None:
    program = exported(torch.nn.Linear(3, 2), [torch.ones(1, 3)])
    mod, _ = detach_params(from_exported_program(program, keep_params_as_input=True))
    other = torch.nn.Linear(3, 2)
    torch.save(other.state_dict(), tmp_path / "w.pt")
    weights = read_state_dict(tmp_path / "w.pt")
    assert not any(w.flags.writeable for w in weights.values())
    (result,) = build(bind_weights(mod, weights)).jit()["main"](np.ones((1, 3), "float32"))
    np.testing.assert_allclose(result, other(torch.ones(1, 3)).detach(), rtol=1e-6)


def test_bfloat16(tmp_path) -> None:
    torch.save({"w": torch.arange(3).bfloat16()}, tmp_path / "w.pt")
    assert read_state_dict(tmp_path / "w.pt")["w"].astype("float32").tolist() == [0.0, 1.0, 2.0]


def test_other_files_are_refused(tmp_path) -> None:
    torch.save(torch.nn.Linear(3, 2), tmp_path / "module.pt")
    torch.save([torch.ones(2)], tmp_path / "list.pt")
    (tmp_path / "cut.pt").write_bytes((tmp_path / "list.pt").read_bytes()[:100])
    for name in ("module.pt", "list.pt", "cut.pt"):
        with pytest.raises(ModelError, match=name):
            read_state_dict(tmp_path / name)
