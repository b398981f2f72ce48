"""Tensor functions as linalg: imported again they compute the same, and MLIR reads them; a table row for each kind."""

from __future__ import annotations

import re

import numpy as np
import pytest
from strength import thinned
from xdsl.dialects.builtin import ModuleOp

from tirax.dev.upstream.judges import iree_opt, judged_by_iree
from tirax.dev.upstream.linalg import as_linalg, cases, difference, kernels
from tirax.diagnostics import UnsupportedError
from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.lowering.tir_to_linalg.convert import REASON
from tirax.script import parse_mlir

BY_VECTORS = ("sort", 0)
"""A case whose kernel computes with vectors of tir, which have no form on elements."""
BY_LOOPS = (
    "cumsum", "cumprod", "sort", "argsort", "topk", "bucketize", "multinomial_from_uniform", "scatter_elements",
    "scatter_nd", "index_put",
)  # fmt: skip
"""Operators with kernels whose blocks are not all structured; those of random numbers are not, either."""


@thinned("name, number", cases(), 16)
def test_operators(name: str, number: int) -> None:
    for kernel in kernels(name, number):
        if (name, number) == BY_VECTORS:
            with pytest.raises(UnsupportedError, match="vector"):
                as_linalg(kernel)
            continue
        text = as_linalg(kernel, strict=name not in BY_LOOPS and not name.startswith("random."))
        assert iree_opt() is None or judged_by_iree(text) is None
        assert difference(kernel, text) is None


def matmul(dtype: str, total: str) -> str:
    cast = (lambda v: f"%{v}") if dtype == total else (lambda v: f"%{v}w")
    widened = "" if dtype == total else "\n".join(f"%{v}w = tir.cast %{v} : {dtype} -> {total}" for v in "ab")
    return f"""
tir.func @f(%A: !tir.buffer<[n, 7], {dtype}>, %B: !tir.buffer<[7, m], {dtype}>, %C: !tir.buffer<[n, m], {total}>) {{
  tir.for %i = 0 for n {{
    tir.for %j = 0 for m {{
      tir.for %k = 0 for 7 {{
        tir.block "C" (%vi = spatial(%i, n), %vj = spatial(%j, m), %vk = reduce(%k, 7)) {{
          tir.reads %A[%vi, %vk]
          tir.reads %B[%vk, %vj]
          tir.writes %C[%vi, %vj]
          tir.init {{
            %z = tir.const 0{".0" if total[0] == "f" or total[0] == "b" else ""} : {total}
            tir.store %z, %C[%vi, %vj]
          }}
          %c = tir.load %C[%vi, %vj] : {total}
          %a = tir.load %A[%vi, %vk] : {dtype}
          %b = tir.load %B[%vk, %vj] : {dtype}
          {widened}
          %p = tir.mul {cast("a")}, {cast("b")} : {total}
          %s = tir.add %c, %p : {total}
          tir.store %s, %C[%vi, %vj]
        }}
      }}
    }}
  }}
}}
"""


TYPES = [
    ("f32", "f32"), ("f64", "f64"), ("f16", "f16"), ("bf16", "bf16"), ("f16", "f32"), ("i8", "i32"), ("ui8", "i32"),
    ("i16", "i16"), ("i32", "i32"), ("ui32", "ui32"), ("i64", "i64"),
]  # fmt: skip


@pytest.mark.parametrize("dtype, total", TYPES)
def test_types(dtype: str, total: str) -> None:
    module = parse_mlir(matmul(dtype, total))
    text = as_linalg(module, strict=True)
    assert ("linalg.matmul" in text) == (dtype != "ui8")  # the operation takes bytes as signed
    assert iree_opt() is None or judged_by_iree(text) is None
    assert difference(module, text) is None


def nest(statements: str, loops: str = "i n, j 4", block: str = "", end: str = "") -> str:
    """Return a function whose loops surround a block "b" with these statements; `block` is its header."""
    names = [row.split() for row in loops.split(", ")]
    header = block or ", ".join(f"%v{name} = spatial(%{name}, {extent})" for name, extent in names)
    opened = "\n".join(f"tir.for %{name} = 0 for {extent} {{" for name, extent in names)
    buffers = "%X: !tir.buffer<[n, 4], f32>, %Y: !tir.buffer<[n, 4], f32>, %I: !tir.buffer<[n], i32>"
    body = f'tir.block "b" ({header}) {{\n{statements}\n}}'
    return f"tir.func @f({buffers}) {{\n%one = tir.const 1 : i64\n{opened}\n{body}\n{end}{'}' * len(names)}\n}}"


LOAD = "%x = tir.load %X[%vi, %vj] : f32\n"
STORE = "tir.store %x, %Y[%vi, %vj]"
SUMS = "%y = tir.load %Y[%vi, %zero] : f32\n%s = tir.add %x, %y : f32\ntir.store %s, %Y[%vi, %zero]"
OF_ROWS = "%vi = spatial(%i, n), %vj = reduce(%j, 4)"
AROUND = "\n".join(
    [
        "tir.func @f(%X: !tir.buffer<[n, 4], f32>, %Y: !tir.buffer<[n, 4], f32>) {",
        "tir.for %i = 0 for n {",
        *(
            f'tir.for %{j} = 0 for 4 {{\ntir.block "{j}" (%vi = spatial(%i, n), %vj = spatial(%{j}, 4)) {{\n'
            f"%x = tir.load %{source}[%vi, %vj] : f32\n%t = tir.add %x, %x : f32\n"
            f"tir.store %t, %{target}[%vi, %vj]\n}}\n}}"
            for j, source, target in (("j", "X", "Y"), ("k", "Y", "X"))
        ),
        "}\n}",
    ]
)
STRUCTURED = {
    "copy": (nest(LOAD + STORE), "linalg.copy"),
    "in place": (nest("%y = tir.load %Y[%vi, %vj] : f32\n" + LOAD + "%s = tir.add %x, %y : f32\n"
                      "tir.store %s, %Y[%vi, %vj]"), "linalg.generic"),
    "part": (nest(LOAD + STORE, "i n, j 3"), "memref.subview"),
    "position": (nest(LOAD + "%k = tir.add %vi, %vj : i64\n%f = tir.cast %k : i64 -> f32\n%s = tir.add %x, %f : f32\n"
                      "tir.store %s, %Y[%vi, %vj]"), "linalg.index"),
    "reversed": (nest("%t = tir.const 3 : i64\n%r = tir.sub %t, %vj : i64\n%x = tir.load %X[%vi, %r] : f32\n" + STORE),
                 "linalg.generic"),
    "gathered": (nest("%i32 = tir.load %I[%vi] : i32\n%z = tir.const 0 : i64\n%k = tir.cast %i32 : i32 -> i64\n"
                      "%p = tir.mul %k, %z : i64\n%m = tir.let %p : i64 -> i64\n"
                      "%x = tir.load %X[%m, %vj] : f32\n" + STORE),
                 "memref.load"),
    "sums of rows": (nest("%zero = tir.const 0 : i64\n" + LOAD + SUMS, block=OF_ROWS), '"reduction"'),
    "loops around": (AROUND, "memref<1x4xf32"),
}  # fmt: skip
UNSTRUCTURED = {
    "kind": (nest(LOAD + STORE, block="%vi = scan(%i, n), %vj = spatial(%j, 4)"), "%vi is of the kind scan"),
    "condition": (nest(LOAD + STORE).replace("for n {", "for n {\n%p = tir.lt %i, %one : i64", 1).replace(
        "spatial(%j, 4))", "spatial(%j, 4)) where %p"), "it has a condition"),
    "split": (nest(LOAD + STORE, "i n, j0 2, j1 2", "%vi = spatial(%i, n), %vj = spatial(%j, 4)").replace(
        'tir.block "b"', '%two = tir.const 2 : i64\n%m = tir.mul %j0, %two : i64\n%j = tir.add %m, %j1 : i64\n'
        'tir.block "b"'), None),
    "other elements": (nest("%z = tir.const 0 : i64\n%x = tir.load %Y[%z, %vj] : f32\n" + STORE),
                       "it reads other elements of %Y than it writes"),
    "after": (nest(LOAD + STORE + "\n%y = tir.load %Y[%vi, %vj] : f32\n%l = tir.let %y : f32 -> f32\n"
                   "tir.store %l, %X[%vi, %vj]"), "%X|%Y"),
    "twice": (nest(LOAD + STORE + "\n" + STORE), "it writes %Y twice"),
    "branch": (nest(LOAD + "%p = tir.lt %vi, %one : i64\ntir.if %p {\n" + STORE + "\n}"), "it contains 'tir.if'"),
    "last value": (nest("%z = tir.const 0 : i64\n" + LOAD + "tir.store %x, %Y[%vi, %z]",
                        block=OF_ROWS), "its reduction does not read %Y"),
    "one element": (nest("%z = tir.const 0 : i64\n" + LOAD + "tir.store %x, %Y[%vi, %z]"),
                    "no index of %Y, .*, is %vj"),
    "scattered": (nest(LOAD + "%k = tir.load %I[%vi] : i32\n%m = tir.cast %k : i32 -> i64\n%z = tir.const 0 : i64\n"
                       "%p = tir.mul %m, %z : i64\n%o = tir.let %p : i64 -> i64\ntir.store %x, %Y[%o, %vj]"),
                  "an index of %Y, .* is not affine"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_blocks(name: str) -> None:
    source, part = STRUCTURED[name]
    module = parse_mlir(source)
    text = as_linalg(module, strict=True)
    assert part is None or part in text
    assert iree_opt() is None or judged_by_iree(text) is None
    assert difference(module, text) is None


@pytest.mark.parametrize("source", [matmul("f16", "f32"), STRUCTURED["copy"][0]], ids=["matmul", "copy"])
def test_generic_form(source: str) -> None:
    """A named operation has the region that its pretty form leaves out."""
    module = parse_mlir(source)
    text = as_linalg(module, generic=True)
    assert re.search(r'"linalg\.(matmul|copy)"\(.*\({$', text, re.MULTILINE)
    assert iree_opt() is None or judged_by_iree(text) is None
    assert difference(module, text) is None


@pytest.mark.parametrize("name", UNSTRUCTURED)
def test_other_blocks_are_loops(name: str) -> None:
    """They compute the same, and the function has the reason."""
    source, reason = UNSTRUCTURED[name]
    module = parse_mlir(source)
    text = as_linalg(module)
    assert iree_opt() is None or judged_by_iree(text) is None
    assert difference(module, text) is None
    if reason is not None:
        noted = re.search(rf'{REASON} = {{b = "(.*?)"', text)
        assert noted is not None and re.search(reason, noted[1])
        with pytest.raises(UnsupportedError, match=f'block "b" is no structured operation: .*{reason}'):
            as_linalg(module, strict=True)


@pytest.mark.parametrize(
    "parameters, message",
    [
        ("%p: !tir.handle", "a pointer, %p"),
        ("%X: !tir.buffer<[4, 4], f32, strides = [8, 1]>", "%X of @f has strides"),
        ("%X: !tir.buffer<[4], f32, offset = o>", "%X of @f has strides or an offset"),
    ],
)
def test_functions_without_a_form(parameters: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        as_linalg(parse_mlir(f"tir.func @f({parameters}) {{}}"))


def test_native_code_of_it() -> None:
    """The printed text, compiled, computes the same; its blocks have their names, its buffers their sizes."""
    text = as_linalg(parse_mlir(matmul("f32", "f32")))
    module = from_mlir(parse_mlir(text))
    assert str(module).count("!tir.buffer<[n, n1], f32>") == 1 and "tir.assert" not in str(module)
    assert isinstance(module, ModuleOp) and 'tir.block "C"' in str(module)
    a, b = np.random.default_rng(0).normal(size=(2, 7, 7)).astype("float32")
    c = np.zeros((5, 7), "float32")
    build(module)["f"](a[:5], b, c)
    np.testing.assert_allclose(c, a[:5] @ b, rtol=1e-5, atol=1e-6)
