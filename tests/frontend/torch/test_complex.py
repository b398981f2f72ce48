"""Complex numbers of PyTorch programs: as pairs of real tensors, without PyTorch at run time."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tirax  # noqa: E402
from tirax.runtime.errors import ArgumentError  # noqa: E402

F: Any = torch.fft
HANN = torch.hann_window(8)


class Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function
        self.register_buffer(
            "weight", torch.randn(8, dtype=torch.complex64, generator=torch.Generator().manual_seed(3))
        )

    def forward(self, x: Any, y: Any) -> Any:
        return self.function(x, y, self)


def random(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def spectrum(x: Any, *_: Any) -> Any:
    return torch.stft(x.flatten(), 8, 2, window=HANN, return_complex=True)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "products": lambda z, w, m: z * w * m.weight,
    "quotients": lambda z, w, _: z / w,
    "large quotients": lambda z, w, _: (z * 1e25) / (w * 1e25),
    "numbers": lambda z, w, _: (z * 2j + 1 - 0.5j) / (1 + 1j),
    "numbers before": lambda z, w, _: 1 - z,
    "real tensors": lambda z, w, _: z * z.real + z.imag,
    "polar": lambda z, w, _: torch.polar(z.real.abs(), w.real),
    "absolute values": lambda z, w, _: [z.abs(), (z * 1e25).abs(), (z * 0).abs(), z.angle()],
    "conjugates": lambda z, w, _: (z.conj() * w).resolve_conj(),
    "exponentials": lambda z, w, _: [z.exp(), z.log(), z.sqrt(), (z * 0).sqrt(), torch.sigmoid(z)],
    "circular functions": lambda z, w, _: [z.sin(), z.cos(), z.tan(), z.sinh(), z.cosh(), z.tanh()],
    "powers": lambda z, w, _: [z**3, z**-2, z**2.5, z.square(), z.reciprocal(), z.sgn()],
    "matrices": lambda z, w, _: [z @ w.mT, z @ w.mH, torch.vdot(z[0], w[0]), torch.outer(z[0], w[1])],
    "einsum": lambda z, w, _: torch.einsum("ij,kj->ik", z, w),
    "sums": lambda z, w, _: [z.sum(0), z.mean(-1), z.cumsum(1), torch.linalg.vector_norm(z)],
    "moves": lambda z, w, _: torch.cat([z, w], -1).reshape(2, -1)[:, 3:].flip(0).T.contiguous(),
    "stacks": lambda z, w, _: torch.stack([z, z.real + 0j]).permute(1, 0, 2).unsqueeze(0),
    "choices": lambda z, w, _: torch.where(z.real > 0, z, torch.zeros_like(w)),
    "comparisons": lambda z, w, _: [z == w, z != z],
    "indices": lambda z, w, _: z[torch.tensor([2, 0])][:, torch.tensor([1, 1, 3])],
    "casts": lambda z, w, _: [z.real.to(torch.complex64) * 1j, torch.full((3, 8), 2 + 1j) * z],
    "pairs": lambda z, w, _: torch.view_as_complex(torch.view_as_real(z * w).flip(-1)),
}
TRANSFORMS: dict[str, Callable[..., Any]] = {
    "fft": lambda z, w, _: [F.fft(z), F.fft(z, n=11, norm="ortho"), F.ifft(z, dim=0), F.ifft(z.real).resolve_conj()],
    "rfft": lambda z, w, _: [F.rfft(z.real), F.rfft(z.real, n=11), F.rfft(z.real, dim=0, norm="forward")],
    "irfft": lambda z, w, _: [F.irfft(z), F.irfft(z, n=9), F.irfft(z, n=20, norm="ortho")],
    "hfft": lambda z, w, _: [F.hfft(z), F.ihfft(z.real).resolve_conj()],
    "2": lambda z, w, _: [F.fft2(z), F.ifft2(z), F.rfft2(z.real), F.irfft2(z), F.hfft2(z), F.ihfft2(z.real)],
    "n": lambda z, w, _: [F.fftn(z.real), F.ifftn(z, norm="ortho"), F.rfftn(z.real), F.irfftn(z)],
    "shifts": lambda z, w, _: [F.fftshift(F.fft(z)), F.ifftshift(z)],
    "stft": lambda z, w, _: spectrum(z.real),
    "istft": lambda z, w, _: torch.istft(spectrum(z.real), 8, 2, window=HANN),
}


def close(found: Any, wanted: Any) -> None:
    if isinstance(wanted, list | tuple):
        for f, w in zip(found, wanted, strict=True):
            close(f, w)
    else:
        bound = 1e-5 * max(1.0, float(wanted.abs().max())) if wanted.dtype != torch.bool else 0
        torch.testing.assert_close(found, wanted, rtol=2e-5, atol=bound)


@pytest.mark.parametrize("cases", [ARITHMETIC, TRANSFORMS], ids=["arithmetic", "transforms"])
def test_as_pytorch(cases: dict[str, Callable[..., Any]]) -> None:
    """One program of all cases, with complex arguments and results."""

    def all_of(z: Any, w: Any, model: Any) -> list[Any]:
        return [case(z, w, model) for case in cases.values()]

    z, w = torch.complex(random(3, 8), random(3, 8, seed=1)), torch.complex(random(3, 8, seed=2), random(3, 8, seed=3))
    model = Model(all_of).eval()
    f = tirax.compile(model, (z, w), fallback="error")
    assert not f.fallbacks
    for found, wanted in zip(f(z, w), model(z, w), strict=True):
        close(found, wanted)


class Rotary(torch.nn.Module):
    """Rotary position embedding by complex numbers, as Llama's reference code has it."""

    def forward(self, x: Any, angles: Any) -> Any:
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)


class Mel(torch.nn.Module):
    """Logarithms of mel bands, as speech models take them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(64))
        self.register_buffer("bands", random(8, 33).abs())

    def forward(self, x: Any) -> Any:
        power = torch.stft(x, 64, 16, window=self.window, return_complex=True).abs() ** 2
        return torch.clamp(self.bands @ power, min=1e-10).log10()


def test_rotary_embedding() -> None:
    x, angles = random(2, 5, 8), random(5, 4)
    f = tirax.compile(Rotary(), (x, angles), fallback="error")
    close(f(x, angles), Rotary()(x, angles))


def test_mel_bands_of_any_length() -> None:
    model = Mel().eval()
    shapes = {"x": {0: "batch", 1: torch.export.Dim("length", min=33)}}  # half a frame is mirrored at each end
    f = tirax.compile(model, random(2, 400), dynamic_shapes=shapes, fallback="error")
    for shape in ((2, 400), (1, 440), (3, 173)):
        close(f(random(*shape)), model(random(*shape)))


def test_double_precision_and_numpy() -> None:
    z, w = random(3, 8).to(torch.complex128) * 1j, random(3, 8, seed=1).to(torch.complex128) + 2j
    f = tirax.compile(Model(lambda a, b, _: a / b), (z, w), fallback="error")
    copies = [f, pickle.loads(pickle.dumps(f))]  # noqa: S301
    for g in copies:
        found = g(z.numpy(), w.numpy())
        assert found.dtype == np.complex128
        np.testing.assert_allclose(found, (z / w).numpy(), rtol=1e-14)
    assert g(z.mH.mH, w).dtype == torch.complex128
    with pytest.raises(ArgumentError, match="x is an array of complex numbers"):
        f(z.real, w)
