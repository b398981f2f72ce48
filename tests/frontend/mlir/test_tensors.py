"""Functions on tensors, through native code, beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from strength import thinned

from tirax.diagnostics import ShapeError, VerifyError
from tirax.dialects.xdsl_extras.linalg_named import NAMED, iterators, operands_of
from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.ir.verification.verify import verify_module
from tirax.script import parse_mlir
from tirax.script.mlir_text import MLIRSyntaxError

DRAW = np.random.default_rng(0)


def draw(*shape: int) -> Any:
    return DRAW.normal(size=shape).astype("float32")


def run(text: str, *args: Any) -> Any:
    module = from_mlir(parse_mlir(text))
    verify_module(module)
    return np.asarray(build(module)["main"](*args))


def check(text: str, expected: Any, *args: Any) -> None:
    np.testing.assert_allclose(run(text, *args), expected, rtol=1e-4, atol=1e-4)


def test_a_generic_operation_of_any_size() -> None:
    a, b = draw(5, 7), draw(5, 7)
    check(
        """
#m = affine_map<(d0,d1)->(d0,d1)>
func.func @main(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d0 = tensor.dim %a, %c0 : tensor<?x?xf32>
  %d1 = tensor.dim %a, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%d0, %d1) : tensor<?x?xf32>
  %r = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel", "parallel"]}
    ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>)
    outs(%e : tensor<?x?xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.addf %x, %y : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  func.return %r : tensor<?x?xf32>
}""",
        np.exp(a + b),
        a,
        b,
    )


def test_a_product_that_starts_at_zero() -> None:
    a, w = draw(5, 7), draw(7, 3)
    check(
        """
func.func @main(%a: tensor<?x7xf32>, %b: tensor<7x3xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %d0 = tensor.dim %a, %c0 : tensor<?x7xf32>
  %e = tensor.empty(%d0) : tensor<?x3xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<?x3xf32>) -> tensor<?x3xf32>
  %r = linalg.matmul ins(%a, %b : tensor<?x7xf32>, tensor<7x3xf32>) outs(%i : tensor<?x3xf32>) -> tensor<?x3xf32>
  func.return %r : tensor<?x3xf32>
}""",
        a @ w,
        a,
        w,
    )


def test_a_reduction_a_broadcast_and_a_transpose() -> None:
    a = DRAW.uniform(1, 2, (5, 7)).astype("float32")
    check(
        """
func.func @main(%a: tensor<5x7xf32>) -> tensor<7x5xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %i = linalg.fill ins(%z : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %s = linalg.reduce ins(%a : tensor<5x7xf32>) outs(%i : tensor<5xf32>) dimensions = [1] (%in: f32, %acc: f32) {
    %x = arith.addf %in, %acc : f32
    linalg.yield %x : f32
  }
  %e2 = tensor.empty() : tensor<5x7xf32>
  %b = linalg.broadcast ins(%s : tensor<5xf32>) outs(%e2 : tensor<5x7xf32>) dimensions = [1]
  %d = arith.divf %a, %b : tensor<5x7xf32>
  %e3 = tensor.empty() : tensor<7x5xf32>
  %t = linalg.transpose ins(%d : tensor<5x7xf32>) outs(%e3 : tensor<7x5xf32>) permutation = [1, 0]
  func.return %t : tensor<7x5xf32>
}""",
        (a / a.sum(1, keepdims=True)).T,
        a,
    )


GENERIC = """
func.func @main(%a: tensor<{a}>, %o: tensor<{o}>) -> tensor<{o}> {{
  {setup}
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
    ins(%a : tensor<{a}>) outs({start} : tensor<{o}>) {{
  ^bb0(%x: {e}, %y: {e}):
    {body}
  }} -> tensor<{o}>
  func.return %r : tensor<{o}>
}}"""


@pytest.mark.parametrize("start", ["given", "constant"])
@pytest.mark.parametrize(
    ("index", "shape", "place"),
    [
        ("d0 + 1", (7,), np.s_[1:6]),
        ("d0 * 2", (10,), np.s_[0:9:2]),
        ("-d0 + 4", (7,), np.s_[4::-1]),
        ("1, d0", (3, 5), np.s_[1]),
        ("d0, d0", (5, 5), (np.arange(5), np.arange(5))),
    ],
)
@pytest.mark.parametrize("reads", [True, False])
def test_elements_that_no_index_reaches_stay(index: str, shape: Any, place: Any, reads: bool, start: str) -> None:
    a, o = draw(5), draw(*shape)
    kind = f"tensor<{_type(shape)}>"
    setup = f"%c = arith.constant 3.0 : f32\n%f = linalg.fill ins(%c : f32) outs(%o : {kind}) -> {kind}"
    text = GENERIC.format(
        a="5xf32", o=_type(shape), e="f32", kinds='"parallel"', start="%o" if start == "given" else "%f",
        maps=f"affine_map<(d0)->(d0)>, affine_map<(d0)->({index})>",
        setup="" if start == "given" else setup,
        body="%s = arith.addf %x, %y : f32\nlinalg.yield %s : f32" if reads else "linalg.yield %x : f32",
    )  # fmt: skip
    expected = o.copy() if start == "given" else np.full_like(o, 3)
    expected[place] = a + expected[place] if reads else a
    check(text, expected, a, o)


def _type(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) + "xf32"


def test_sums_of_diagonals_of_a_part() -> None:
    a, o = draw(4, 5), draw(6)
    text = GENERIC.format(
        a="4x5xf32", o="6xf32", e="f32", kinds='"reduction", "parallel"', setup="", start="%o",
        maps="affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d1 + 1)>",
        body="%s = arith.addf %x, %y : f32\nlinalg.yield %s : f32",
    )  # fmt: skip
    expected = o.copy()
    expected[1:] += a.sum(0)
    check(text, expected, a, o)


@pytest.mark.parametrize("count", [0, 3])
def test_a_reduction_that_does_not_read_its_output(count: int) -> None:
    a, o = draw(4, count), draw(4)
    text = GENERIC.format(
        a="4x?xf32", o="4xf32", e="f32", kinds='"parallel", "reduction"', setup="", start="%o",
        maps="affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0)>", body="linalg.yield %x : f32",
    )  # fmt: skip
    check(text, a[:, -1] if count else o, a, o)


def test_a_generic_operation_with_several_results() -> None:
    a = draw(5, 7)
    text = """
func.func @main(%a: tensor<?x7xf32>, %m: tensor<?xf32>, %i: tensor<?xi64>) -> (tensor<?xf32>, tensor<?xi64>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d0,d1)->(d0,d1)>, affine_map<(d0,d1)->(d0)>,
    affine_map<(d0,d1)->(d0)>], iterator_types = ["parallel", "reduction"]}
    ins(%a : tensor<?x7xf32>) outs(%m, %i : tensor<?xf32>, tensor<?xi64>) {
  ^bb0(%x: f32, %best: f32, %at: i64):
    %j = linalg.index 1 : index
    %k = arith.index_cast %j : index to i64
    %more = arith.cmpf ogt, %x, %best : f32
    %b:2 = scf.if %more -> (f32, i64) {
      scf.yield %x, %k : f32, i64
    } else {
      scf.yield %best, %at : f32, i64
    }
    linalg.yield %b#0, %b#1 : f32, i64
  } -> (tensor<?xf32>, tensor<?xi64>)
  func.return %r#0, %r#1 : tensor<?xf32>, tensor<?xi64>
}"""
    again = str(parse_mlir(str(parse_mlir(text))))
    assert "-> (tensor<?xf32>, tensor<?xi64>)" in again
    greatest, at = build(from_mlir(parse_mlir(again)))["main"](a, np.full(5, -9, "f"), np.zeros(5, "int64"))
    np.testing.assert_array_equal(greatest, a.max(1))
    np.testing.assert_array_equal(at, a.argmax(1))


def test_indices_as_elements() -> None:
    text = """
func.func @main(%o: tensor<4xindex>, %t: tensor<4xi1>) -> (tensor<4xindex>, tensor<4xi1>) {
  %c = arith.constant 3 : index
  %f = linalg.fill ins(%c : index) outs(%o : tensor<4xindex>) -> tensor<4xindex>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d0)->(d0)>, affine_map<(d0)->(d0)>],
    iterator_types = ["parallel"]} outs(%f, %t : tensor<4xindex>, tensor<4xi1>) {
  ^bb0(%x: index, %y: i1):
    %i = linalg.index 0 : index
    %s = arith.addi %x, %i : index
    %odd = arith.index_castui %s : index to i1
    linalg.yield %s, %odd : index, i1
  } -> (tensor<4xindex>, tensor<4xi1>)
  func.return %r#0, %r#1 : tensor<4xindex>, tensor<4xi1>
}"""
    numbers, odd = build(from_mlir(parse_mlir(text)))["main"](np.zeros(4, "int64"), np.zeros(4, bool))
    assert (numbers.tolist(), odd.tolist()) == ([3, 4, 5, 6], [True, False, True, False])


@pytest.mark.parametrize("attributes", ["{}", '{indexing_maps = [], iterator_types = ["sideways"]}'])
def test_a_generic_operation_without_its_maps_is_an_error(attributes: str) -> None:
    with pytest.raises(MLIRSyntaxError, match="expected indexing_maps|unknown iterator type"):
        parse_mlir(
            f"func.func @f(%o: tensor<4xf32>) {{\n linalg.generic {attributes} outs(%o : tensor<4xf32>) {{}}\n}}"
        )


def test_slices_and_padding() -> None:
    a = draw(5, 7)
    part = a[1:3, 2:8:2]
    expected = np.pad(part, ((1, 3), (0, 4)), constant_values=1.5)
    expected[3:5, 1:4] = part
    check(
        """
func.func @main(%a: tensor<5x7xf32>) -> tensor<6x7xf32> {
  %s = tensor.extract_slice %a[1, 2] [2, 3] [1, 2] : tensor<5x7xf32> to tensor<2x3xf32>
  %z = arith.constant 1.5 : f32
  %p = tensor.pad %s low[1, 0] high[3, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<2x3xf32> to tensor<6x7xf32>
  %q = tensor.insert_slice %s into %p[3, 1] [2, 3] [1, 1] : tensor<2x3xf32> into tensor<6x7xf32>
  func.return %q : tensor<6x7xf32>
}""",
        expected,
        a,
    )


SIZES = {**{letter: 2 + number % 3 for number, letter in enumerate("abcdefghkmnz")}, "w": 4, "x": 3, "y": 2, "z": 2}
STRIDE, DILATION = 2, 1


def _extent(term: tuple[str, ...]) -> int:
    if len(term) == 1:
        return SIZES[term[0]]
    stride = 1 if term[-1] == "+" else STRIDE
    return (SIZES[term[0]] - 1) * stride + (SIZES[term[1]] - 1) * DILATION + 1


def _reference(name: str, ins: list[Any], start: Any) -> Any:
    """The operation as loops over all iterators."""
    inputs, output = operands_of(NAMED[name].notation)
    letters, _ = iterators(inputs, output)
    result = start.astype("float64")

    def place(terms: Any, at: dict[str, int]) -> tuple[int, ...]:
        strides = [1 if term[-1] == "+" else STRIDE for term in terms]
        return tuple(
            at[t[0]] if len(t) == 1 else at[t[0]] * s + at[t[1]] * DILATION for t, s in zip(terms, strides, strict=True)
        )

    for numbers in np.ndindex(*(SIZES[letter] for letter in letters)):
        at = dict(zip(letters, numbers, strict=True))
        values = [float(a[place(t, at)]) for a, t in zip(ins, inputs, strict=True)]
        for k, zero in enumerate(values[2:]):
            values[k] -= zero
        to = place(output, at)
        computes = NAMED[name].computes
        if computes == "product":
            result[to] += values[0] * values[1]
        elif computes == "sum":
            result[to] += values[0]
        else:
            result[to] = {"max": max, "min": min}[computes](result[to], values[0])
    return result


@thinned("group", range(4), 1)
def test_named_operations(group: int) -> None:
    """Each on small tensors of float32, several by one function, beside loops over all of its iterators."""
    params, lines, results, args, expected = [], [], [], [], []
    for number, name in enumerate([n for n in NAMED if not NAMED[n].unsigned][group::4]):
        inputs, output = operands_of(NAMED[name].notation)
        shapes = [[_extent(term) for term in terms] for terms in (*inputs, output)]
        arrays = [draw(*shape) if shape or k > 1 else draw() for k, shape in enumerate(shapes)]
        types = ["f32" if k > 1 and k < len(shapes) - 1 else f"tensor<{''.join(f'{d}x' for d in s)}f32>"
                 for k, s in enumerate(shapes)]  # fmt: skip
        names = [f"%p{number}_{k}" for k in range(len(shapes))]
        params += [f"{n}: {t}" for n, t in zip(names, types, strict=True)]
        windows = sum(len(term) > 1 and term[-1] != "+" for term in inputs[0])
        dense = "dense<{}> : tensor<" + str(windows) + "xi64>"
        attributes = f"{{strides = {dense.format(STRIDE)}, dilations = {dense.format(DILATION)}}} " if windows else ""
        ins = f"{', '.join(names[:-1])} : {', '.join(types[:-1])}"
        lines.append(f"%r{number} = {name} {attributes}ins({ins}) outs({names[-1]} : {types[-1]}) -> {types[-1]}")
        results.append(types[-1])
        args += arrays
        expected.append(_reference(name, arrays[:-1], arrays[-1]))
    body, kinds = "\n".join(lines), ", ".join(results)
    values = ", ".join(f"%r{k}" for k in range(len(results)))
    text = f"func.func @main({', '.join(params)}) -> ({kinds}) {{\n{body}\nfunc.return {values} : {kinds}\n}}"
    made = build(from_mlir(parse_mlir(text)))["main"](*args)
    for line, got, want in zip(lines, made, expected, strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-4, atol=1e-4, err_msg=line)


def test_sizes_that_contradict_each_other() -> None:
    text = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<4x5xf32>, %c: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %r = linalg.batch_vecmat ins(%a, %b : tensor<2x3xf32>, tensor<4x5xf32>) outs(%c : tensor<2x5xf32>) -> tensor<2x5xf32>
  func.return %r : tensor<2x5xf32>
}"""
    with pytest.raises(ShapeError, match="do not fit together"):
        from_mlir(parse_mlir(text))


def test_a_minimum_that_begins_with_another_tensor() -> None:
    """Each lane of the schedule begins with the element of its own place."""
    a, first = draw(37), draw(3, 4)
    check(
        """
func.func @main(%a: tensor<37xf32>, %o: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d2, d1)>],
    iterator_types = ["reduction", "parallel", "parallel"]} ins(%a : tensor<37xf32>) outs(%o : tensor<3x4xf32>) {
  ^bb0(%x: f32, %p: f32):
    %v = arith.minimumf %p, %x : f32
    linalg.yield %v : f32
  } -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}""",
        np.minimum(first, a.min()),
        a,
        first,
    )


def test_a_region_of_more_blocks_than_an_operation_has_is_an_error() -> None:
    text = """
func.func @f(%n: i32, %c: i1) -> i32 {
  %r = scf.while (%i = %n) : (i32) -> i32 {
    scf.condition(%c) %i : i32
  } do {
  ^bb0(%i: i32):
    cf.br ^bb1
  ^bb1:
    scf.yield %i : i32
  }
  func.return %r : i32
}"""
    with pytest.raises(VerifyError, match="'scf.while' has a region of 2 blocks"):
        from_mlir(parse_mlir(text))


LOCALS = {
    "memref": """
  %m = memref.alloc() : memref<4xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    memref.store %x, %m[%i] : memref<4xf32>
  }
  %z = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %z) -> (f32) {
    %v = memref.load %m[%i] : memref<4xf32>
    %b = arith.addf %a, %v : f32
    scf.yield %b : f32
  }""",
    "vector": """
  %v = vector.broadcast %x : f32 to vector<4xf32>
  %s = vector.reduction <add>, %v : vector<4xf32> into f32""",
    "buffer": """
  %c1 = arith.constant 1 : index
  %e = tensor.from_elements %x, %x : tensor<2xf32>
  %b = bufferization.to_buffer %e : tensor<2xf32> to memref<2xf32>
  %v = memref.load %b[%c1] : memref<2xf32>
  %w = arith.addf %v, %v : f32
  %s = arith.addf %w, %w : f32""",
}


@pytest.mark.parametrize("local", LOCALS)
def test_memrefs_and_vectors_of_a_function_of_scalars(local: str) -> None:
    text = f"func.func @main(%x: f32) -> f32 {{{LOCALS[local]}\n  return %s : f32\n}}"
    assert run(text, np.float32(2.5)) == 10


def test_a_function_that_only_writes_memrefs_of_its_own() -> None:
    text = "func.func @main() {\n%m = memref.alloc() : memref<4xf32>\nmemref.dealloc %m : memref<4xf32>\nreturn\n}"
    assert build(from_mlir(parse_mlir(text)))["main"]() == ()


def test_a_size_without_its_operand_is_an_error() -> None:
    text = """
func.func @f() {
  %m = memref.alloc() : memref<10xf32>
  %r = "memref.reinterpret_cast"(%m) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>, static_offsets = array<i64: 0>,
    static_sizes = array<i64: -9223372036854775808>, static_strides = array<i64: 1>}> :
    (memref<10xf32>) -> memref<?xf32, strided<[1]>>
  func.return
}"""
    with pytest.raises(VerifyError, match="other operands than 'static_sizes' says"):
        from_mlir(parse_mlir(text))


def test_vectors_as_arguments_and_results() -> None:
    text = """
func.func @main(%a: vector<4xf32>, %b: vector<2x4xf32>) -> (vector<4xf32>, f32) {
  %r = vector.extract %b[1] : vector<4xf32> from vector<2x4xf32>
  %s = arith.addf %a, %r : vector<4xf32>
  %t = vector.reduction <add>, %s : vector<4xf32> into f32
  return %s, %t : vector<4xf32>, f32
}"""
    a, b = draw(4), draw(2, 4)
    total, number = build(from_mlir(parse_mlir(text)))["main"](a, b)
    np.testing.assert_allclose(np.asarray(total), a + b[1], rtol=1e-6)
    np.testing.assert_allclose(np.asarray(number), (a + b[1]).sum(), rtol=1e-5)
