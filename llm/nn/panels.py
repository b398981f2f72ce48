"""Layers whose float matrices are stored in panels, the order in which products read them: [N / n, K, n].

Rows n of a panel of a weight (N, K) lie side by side, so that the products with a row of inputs are summed in the same
order for one row of inputs and for many, and no product copies a matrix. The last panel is padded with zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...frontend.nn import op
from ...frontend.nn.core import Module
from ...frontend.nn.tensor import Parameter, Tensor
from ...handles.tir.prim_expr import PrimExpr
from ...te.tensor import Tensor as Elements
from ...te.tensor import compute
from ...transforms.operators.pack_weights import padded_matmul

Array = np.ndarray[Any, Any]


def panels_shape(rows: int, columns: int, width: int) -> tuple[int, int, int]:
    """Return the shape of a matrix in panels of `width` rows."""
    return -(-rows // width), columns, width


def write_panels(matrix: Array, panels: Array) -> None:
    """Copy a matrix (N, K) to its panels (N / n, K, n)."""
    width = panels.shape[2]
    full = len(matrix) // width
    np.copyto(panels[:full], matrix[: full * width].reshape(full, width, matrix.shape[1]).swapaxes(1, 2))
    if full < len(panels):
        panels[full] = 0
        panels[full, :, : len(matrix) - full * width] = matrix[full * width :].T


class PanelLinear(Module):
    """A float32 linear layer; its weight is stored in panels, in float32 or half precision."""

    def __init__(self, inputs: int, outputs: int, bias: bool, dtype: str, width: int):
        super().__init__()
        self.outputs = outputs
        self.weight = Parameter(panels_shape(outputs, inputs, width), dtype)
        self.bias = Parameter((outputs,), "float32") if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer to the last dimension."""
        y = panel_product(x, self.weight, self.outputs)
        return y if self.bias is None else y + self.bias


class PanelEmbedding(Module):
    """A float32 embedding whose table is stored in panels, and also serves as the output projection."""

    def __init__(self, count: int, size: int, dtype: str, width: int):
        super().__init__()
        self.count = count
        self.weight = Parameter(panels_shape(count, size, width), dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Return the rows of a vector of indices, `(len(x), size)`."""
        return op.tensor_expr_op(_rows, "take_panels", [self.weight, x])

    def logits(self, x: Tensor) -> Tensor:
        """Return the products with all rows."""
        return panel_product(x, self.weight, self.count)


def panel_product(x: Tensor, panels: Tensor, rows: int) -> Tensor:
    """Return x times the transpose of a matrix in panels, which is widened to the dtype of x as it is read."""
    return op.tensor_expr_op(lambda a, b: padded_matmul(a, b, rows), "panel_matmul", [x, panels])


def _rows(panels: Elements, indices: Elements) -> Elements:
    width = panels.dims[2].constant
    assert width is not None

    def element(i: PrimExpr, k: PrimExpr) -> Any:
        row = indices(i)
        return panels(row // width, k, row % width).astype("float32")

    return compute([indices.dims[0], panels.dims[1]], element, "rows")
