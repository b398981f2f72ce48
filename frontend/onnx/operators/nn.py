"""Layers of neural networks."""

from __future__ import annotations

from ....handles.relax.expr import Expr
from ..node import Node
from ..table import converter, rows, simple
from ..values import Value, op

rows(simple("nn.softmax", "axis"), "Softmax", since=13)
rows(simple("nn.log_softmax", "axis"), "LogSoftmax", since=13)


@converter("Conv")
def conv(node: Node, x: Value, weight: Value, bias: Value | None = None) -> Expr:
    """A convolution over one to three dimensions."""
    rank = x.rank - 2
    if not 1 <= rank <= 3:
        raise node.unsupported(f"a convolution over {rank} dimensions")
    layout = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[rank]
    y = op(
        f"nn.conv{rank}d",
        x,
        weight,
        strides=node.attr("strides") or [1] * rank,
        padding=node.attr("pads") or [0] * (2 * rank),
        dilation=node.attr("dilations") or [1] * rank,
        groups=node.attr("group"),
        data_layout=layout,
        kernel_layout=layout.replace("N", "O", 1).replace("C", "I", 1),
    )
    return y if bias is None else op("add", y, op("reshape", bias, (1, bias.dims[0], *[1] * rank)))
