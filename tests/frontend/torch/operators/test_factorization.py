"""Factorizations and inverses of matrices against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tirax  # noqa: E402
from tirax.runtime.errors import AssertionFailedError  # noqa: E402

L: Any = torch.linalg


def positive(*shape: int, dtype: Any = torch.float64) -> Any:
    a = torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    return (a @ a.mT + shape[-1] * torch.eye(shape[-1], dtype=torch.float64)).to(dtype)


def general(*shape: int, dtype: Any = torch.float64) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64).to(dtype)


class Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


def compiled(function: Callable[..., Any], *args: Any) -> Any:
    return tirax.compile(Model(function), args, fallback="error")


def rebuilt(parts: Any) -> Any:
    """What a singular value decomposition stands for, and the values: the signs of its vectors are free."""
    u, s, vh = parts
    return (u[..., : s.shape[-1]] * s[..., None, :]) @ vh[..., : s.shape[-1], :], s


def squared(parts: Any) -> Any:
    q, r = parts
    return q @ r, r.abs(), q.mT @ q


def spectral(parts: Any) -> Any:
    values, v = parts
    return (v * values[..., None, :]) @ v.mT, values


A, S, B = general(2, 5, 5), positive(2, 5, 5), general(2, 5, 3)
WIDE, TALL, V = general(2, 3, 5), general(2, 5, 3), general(2, 5)
HALF = positive(2, 5, 5).tril()
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (L.cholesky, (S,)),
    "cholesky upper": (lambda x: L.cholesky(x, upper=True), (S,)),
    "cholesky of old": (torch.cholesky, (S,)),
    "cholesky_ex": (L.cholesky_ex, (S,)),
    "cholesky_solve": (torch.cholesky_solve, (B, HALF)),
    "cholesky_solve upper": (lambda b, u: torch.cholesky_solve(b, u, upper=True), (B, HALF.mT.contiguous())),
    "cholesky_inverse": (torch.cholesky_inverse, (HALF,)),
    "inv": (L.inv, (A,)),
    "inverse": (torch.inverse, (A,)),
    "inv_ex": (L.inv_ex, (A,)),
    "solve": (L.solve, (A, B)),
    "solve broadcast": (L.solve, (A[0], B)),
    "solve right": (lambda x, b: L.solve(x, b, left=False), (A, general(2, 3, 5))),
    "solve vectors": (L.solve, (A, V)),
    "solve vector": (L.solve, (A[0], V[0])),
    "solve_ex": (L.solve_ex, (A, B)),
    "tensorsolve": (L.tensorsolve, (A[0], V[0])),
    "solve_triangular": (lambda x, b: L.solve_triangular(x, b, upper=False), (S, B)),
    "solve_triangular upper": (lambda x, b: L.solve_triangular(x, b, upper=True), (S, B)),
    "solve_triangular right": (lambda x, b: L.solve_triangular(x, b, upper=True, left=False), (S, general(2, 3, 5))),
    "solve_triangular unit": (lambda x, b: L.solve_triangular(x, b, upper=False, unitriangular=True), (A, B)),
    "triangular_solve": (torch.triangular_solve, (B, S)),
    "triangular_solve transposed": (lambda b, x: torch.triangular_solve(b, x, transpose=True), (B, S)),
    "lu": (L.lu, (A,)),
    "lu wide": (L.lu, (WIDE,)),
    "lu tall": (L.lu, (TALL,)),
    "lu_factor": (L.lu_factor, (A,)),
    "lu_factor_ex": (L.lu_factor_ex, (A,)),
    "lu_solve": (lambda x, b: L.lu_solve(*L.lu_factor(x), b), (A, B)),
    "lu_solve adjoint": (lambda x, b: L.lu_solve(*L.lu_factor(x), b, adjoint=True), (A, B)),
    "lu_solve right": (lambda x, b: L.lu_solve(*L.lu_factor(x), b, left=False), (A, general(2, 3, 5))),
    "det": (L.det, (A,)),
    "slogdet": (L.slogdet, (A,)),
    "logdet": (torch.logdet, (A,)),
    "qr": (lambda x: squared(L.qr(x)), (TALL,)),
    "qr complete": (lambda x: squared(L.qr(x, mode="complete")), (TALL,)),
    "qr r": (lambda x: L.qr(x, mode="r")[1].abs(), (TALL,)),
    "qr of old": (lambda x: squared(torch.qr(x)), (WIDE,)),
    "svd": (lambda x: rebuilt(L.svd(x)), (TALL,)),
    "svd wide": (lambda x: rebuilt(L.svd(x)), (WIDE,)),
    "svd thin": (lambda x: rebuilt(L.svd(x, full_matrices=False)), (WIDE,)),
    "svdvals": (L.svdvals, (TALL,)),
    "eigh": (lambda x: spectral(L.eigh(x)), (S,)),
    "eigh upper": (lambda x: spectral(L.eigh(x, UPLO="U")), (A,)),
    "eigvalsh": (L.eigvalsh, (A,)),
    "pinv": (L.pinv, (WIDE,)),
    "pinv of rank 1": (L.pinv, (torch.ones(3, 4, dtype=torch.float64),)),
    "pinv hermitian": (lambda x: L.pinv(x, hermitian=True), (S,)),
    "pinv tolerances": (lambda x: L.pinv(x, atol=0.5, rtol=0.1), (A,)),
    "pinv atol": (lambda x: L.pinv(x, atol=1.0), (A,)),
    "matrix_rank": (L.matrix_rank, (torch.ones(3, 4, dtype=torch.float64),)),
    "matrix_exp": (L.matrix_exp, (A,)),
    "matrix_exp large": (L.matrix_exp, (A * torch.tensor([20.0, 0.1], dtype=torch.float64).reshape(2, 1, 1),)),
    "matrix_power": (lambda x: L.matrix_power(x, 3), (A,)),
    "matrix_power negative": (lambda x: L.matrix_power(x, -2), (A,)),
    "matrix_norm nuclear": (lambda x: L.matrix_norm(x, "nuc"), (A,)),
    "matrix_norm 2": (lambda x: L.matrix_norm(x, 2), (A,)),
    "norm": (L.norm, (A,)),
    "cond": (L.cond, (A,)),
    "multi_dot": (lambda a, b: L.multi_dot([a, a, b]), (A[0], B[0])),
    "reflections": (torch.geqrf, (TALL,)),
    "reflections of wide matrices": (torch.geqrf, (WIDE,)),
    "tensorinv": (lambda x: L.tensorinv(x, 1), (general(6, 2, 3),)),
    "product of reflections": (L.householder_product, (TALL, general(2, 3))),
    "product of fewer reflections": (L.householder_product, (A, general(2, 3))),
    **{
        f"{'transposed ' * transpose}reflections of the {'left' if left else 'right'}": (
            lambda a, t, c, left=left, transpose=transpose: torch.ormqr(a, t, c if left else c.mT, left, transpose),
            (TALL, general(2, 3), general(2, 5, 4)),
        )
        for left in (True, False)
        for transpose in (True, False)
    },
}


def close(name: str, found: Any, wanted: Any) -> None:
    if isinstance(wanted, list | tuple):
        for f, w in zip(found, wanted, strict=True):
            close(name, f, w)
        return
    bound = 1e-3 if wanted.dtype == torch.float32 else 1e-9
    torch.testing.assert_close(
        found, wanted, rtol=bound, atol=bound * max(1.0, float(wanted.abs().max())), msg=lambda text: f"{name}: {text}"
    )


NAMES = list(CASES)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("first", range(0, len(NAMES), 20))
def test_as_pytorch(first: int) -> None:
    """Programs of twenty operators each, since PyTorch takes long to trace one."""
    cases = [CASES[name] for name in NAMES[first : first + 20]]
    flat = [a for _, args in cases for a in args]

    def all_of(*inputs: Any) -> list[Any]:
        rest = iter(inputs)
        return [function(*(next(rest) for _ in args)) for function, args in cases]

    for dtype in (torch.float64, torch.float32):
        inputs = [a.to(dtype) for a in flat]
        for name, found, wanted in zip(
            NAMES[first:], compiled(all_of, *inputs)(*inputs), all_of(*inputs), strict=False
        ):
            close(name, found, wanted)


@pytest.mark.parametrize("function", [L.cholesky, L.inv, L.solve], ids=["cholesky", "inv", "solve"])
def test_matrices_without_a_result(function: Callable[..., Any]) -> None:
    args = [S, B] if function is L.solve else [S]
    f = compiled(function, *args)
    bad = [-torch.eye(5, dtype=S.dtype).repeat(2, 1, 1) * torch.tensor([-1.0, 0.0]).reshape(2, 1, 1), *args[1:]]
    with pytest.raises(AssertionFailedError, match=r"the matrix \(1,\) is not"):
        f(*bad)


def test_status_of_matrices_without_a_result() -> None:
    def both(x: Any) -> Any:
        return L.cholesky_ex(x)[1], L.inv_ex(x)[1]

    x = torch.diag_embed(torch.tensor([[1.0, 2.0, 3.0], [1.0, 0.0, 3.0]]))
    close("info", compiled(both, x)(x), both(x))


def test_a_symbolic_batch_and_size() -> None:
    def solved(x: Any, b: Any) -> Any:
        return L.solve(x @ x.mT + torch.eye(x.shape[-1]), b), L.svdvals(x)

    batch, size = torch.export.Dim("batch"), torch.export.Dim("size")
    shapes = ({0: batch, 1: size, 2: size}, {0: batch, 1: size})
    f = tirax.compile(
        Model(solved), (general(2, 5, 5).float(), general(2, 5, 3).float()), dynamic_shapes=(shapes,), fallback="error"
    )
    x, b = general(3, 7, 7).float(), general(3, 7, 3).float()
    close("solved", f(x, b), solved(x, b))


def symmetric(*shape: int, dtype: Any = torch.float64) -> Any:
    """Matrices whose pivots are blocks of one and of two rows, exchanged with others."""
    a = general(*shape, dtype=dtype)
    return (a + a.mT) * (1 - torch.eye(shape[-1], dtype=dtype))


def test_symmetric_factors_and_solutions() -> None:
    def both(x: Any, b: Any) -> Any:
        ld, pivots = L.ldl_factor(x)
        return (*L.ldl_factor_ex(x), ld, pivots, L.ldl_solve(ld, pivots, b))

    batch, size = torch.export.Dim("batch"), torch.export.Dim("size")
    shapes = ({0: batch, 1: size, 2: size}, {1: size})
    args = [(symmetric(k, n, n), general(1, n, 3)) for k, n in ((2, 5), (3, 12))]
    f = tirax.compile(Model(both), args[0], dynamic_shapes=(shapes,), fallback="error")
    for x, b in args:
        *found, solved = f(x, b)
        *wanted, _ = both(x, b)
        close("factors", found, wanted)
        assert (found[1] < 0).any() and (found[1] > 0).any()
        torch.testing.assert_close(x @ solved, b.expand(len(x), -1, -1))


def test_symmetric_matrices_without_factors() -> None:
    x = torch.zeros(2, 3, 3)
    found = compiled(lambda x: L.ldl_factor_ex(x), x)(x)
    close("zeros", found, L.ldl_factor_ex(x))
    with pytest.raises(AssertionFailedError, match=r"the matrix \(0,\) is not invertible"):
        compiled(lambda x: L.ldl_factor(x).LD, x)(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_eigenvalues_of_any_matrix(dtype: Any) -> None:
    def parts(x: Any) -> Any:
        values, vectors = L.eig(x)
        z = torch.complex(x, torch.zeros_like(x)) @ vectors - vectors * values[..., None, :]
        return torch.view_as_real(values), torch.view_as_real(z), vectors.abs().square().sum(-2), L.eigvals(x).abs()

    x = general(2, 5, 5, dtype=dtype)
    values, residual, norms, sizes = compiled(parts, x)(x)
    bound = 1e-4 if dtype == torch.float32 else 1e-11
    for some, other in zip(torch.view_as_complex(values), L.eigvals(x), strict=True):
        np.testing.assert_allclose(*(np.sort_complex(v.numpy().round(4)) for v in (some, other)), atol=2e-4)
    torch.testing.assert_close(residual, torch.zeros_like(residual), atol=bound, rtol=0)
    torch.testing.assert_close(norms, torch.ones_like(norms), atol=bound, rtol=0)
    torch.testing.assert_close(sizes, values.square().sum(-1).sqrt())
