"""Tensors in functions on memrefs, and operations that compute elements at their indices, beside numpy."""

from __future__ import annotations

import numpy as np
from mlir_kernels import A, check_memref, check_results


def test_tensors_of_memrefs() -> None:
    check_memref(
        """
%t = bufferization.to_tensor %x restrict : memref<4x8xf32> to tensor<4x8xf32>
%e = tensor.empty() : tensor<8x4xf32>
%u = linalg.transpose ins(%t : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
%f = tensor.empty() : tensor<4x4xf32>
%g = linalg.fill ins(%z : f32) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
%m = linalg.matmul ins(%t, %u : tensor<4x8xf32>, tensor<8x4xf32>) outs(%g : tensor<4x4xf32>) -> tensor<4x4xf32>
bufferization.materialize_in_destination %m in restrict writable %y : (tensor<4x4xf32>, memref<4x4xf32>) -> ()""",
        A @ A.T,
    )


CUBE = np.random.default_rng(1).normal(size=(3, 4, 5)).astype("float32")


def test_gather_and_scatter() -> None:
    places = np.array([[3], [1]])
    check_results(
        "%x: tensor<3x4x5xf32>, %i: tensor<2x1xindex>) -> tensor<2x3x5xf32>",
        "%r = tensor.gather %x[%i] gather_dims([1]) : (tensor<3x4x5xf32>, tensor<2x1xindex>) -> tensor<2x3x5xf32>\n"
        "return %r : tensor<2x3x5xf32>",
        (CUBE, places),
        CUBE[:, [3, 1]].transpose(1, 0, 2),
    )
    expected = CUBE.copy()
    expected[:, [3, 1]] = 1
    check_results(
        "%x: tensor<3x4x5xf32>, %i: tensor<2x1xindex>, %s: tensor<2x3x1x5xf32>) -> tensor<3x4x5xf32>",
        "%r = tensor.scatter %s into %x[%i] scatter_dims([1]) unique : "
        "(tensor<2x3x1x5xf32>, tensor<3x4x5xf32>, tensor<2x1xindex>) -> tensor<3x4x5xf32>\n"
        "return %r : tensor<3x4x5xf32>",
        (CUBE, places, np.ones((2, 3, 1, 5), "float32")),
        expected,
    )


def test_pack_and_unpack() -> None:
    x = np.random.default_rng(2).normal(size=(7, 9)).astype("float32")
    padded = np.pad(x, ((0, 1), (0, 1)), constant_values=1.5)
    check_results(
        "%x: tensor<?x9xf32>, %d: tensor<?x2x4x5xf32>, %e: tensor<?x9xf32>) -> (tensor<?x2x4x5xf32>, tensor<?x9xf32>)",
        """
%p = arith.constant 1.5 : f32
%r = linalg.pack %x padding_value(%p : f32) inner_dims_pos = [0, 1] inner_tiles = [4, 5] into %d
  : tensor<?x9xf32> -> tensor<?x2x4x5xf32>
%u = linalg.unpack %r inner_dims_pos = [0, 1] inner_tiles = [4, 5] into %e
  : tensor<?x2x4x5xf32> -> tensor<?x9xf32>
return %r, %u : tensor<?x2x4x5xf32>, tensor<?x9xf32>""",
        (x, np.zeros((2, 2, 4, 5), "float32"), np.zeros((7, 9), "float32")),
        padded.reshape(2, 4, 2, 5).transpose(0, 2, 1, 3),
        x,
    )


def test_softmax_and_elementwise_by_kind() -> None:
    check_results(
        "%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)",
        """
%e = tensor.empty() : tensor<4x8xf32>
%r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
%s = linalg.elementwise kind=#linalg.elementwise_kind<add> indexing_maps = [affine_map<(a, b) -> (a, b)>,
  affine_map<(a, b) -> (b)>, affine_map<(a, b) -> (a, b)>] ins(%x, %y : tensor<4x8xf32>, tensor<8xf32>)
  outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
return %r, %s : tensor<4x8xf32>, tensor<4x8xf32>""",
        (A, A[1]),
        np.exp(A) / np.exp(A).sum(1, keepdims=True),
        A + A[1],
    )


def test_insert_bitcast_and_reshape() -> None:
    expected = A.copy()
    expected[1, 2] = 5
    check_results(
        "%x: tensor<4x8xf32>, %v: f32) -> tensor<4x8xf32>",
        """
%r = tensor.insert %v into %x[%c1, %c2] : tensor<4x8xf32>
%b = tensor.bitcast %r : tensor<4x8xf32> to tensor<4x8xi32>
%c = tensor.bitcast %b : tensor<4x8xi32> to tensor<4x8xf32>
%d = tensor.collapse_shape %c [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
%s = arith.constant dense<[4, 8]> : tensor<2xi64>
%e = tensor.reshape %d(%s) : (tensor<32xf32>, tensor<2xi64>) -> tensor<4x8xf32>
return %e : tensor<4x8xf32>""",
        (A, np.float32(5)),
        expected,
    )


def test_a_slice_that_keeps_one_of_its_extents_of_one() -> None:
    """Which of them its type leaves out follows from the others."""
    x = np.random.default_rng(3).normal(size=(2, 5, 3, 4)).astype("float32")
    check_results(
        "%x: tensor<2x5x3x?xf32>) -> tensor<1x5x?xf32>",
        """
%n = tensor.dim %x, %c3 : tensor<2x5x3x?xf32>
%r = tensor.extract_slice %x[1, 0, 2, 0] [1, 5, 1, %n] [1, 1, 1, 1]
  : tensor<2x5x3x?xf32> to tensor<1x5x?xf32>
return %r : tensor<1x5x?xf32>""",
        (x,),
        x[1:2, :, 2],
    )
