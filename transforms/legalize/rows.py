"""Legalization of operators that one tensor function computes: a row each.

    nn.softplus   nn.softplus   x .beta .threshold

legalizes `relax.nn.softplus` to `topi.nn.softplus(x, beta, threshold)`, in a `tir.func` named `softplus`. Columns are
the operator without `relax.`, the function of `topi`, and its arguments:

| argument | stands for |
|---|---|
| `x` | the operand `x` |
| `.axis` | the attribute `axis` |
| `*` | all operands, None for those that are absent |
| `%shape`, `%dtype` | those of the result, which are known |
| `0`, `True` | a constant |
| `-> name` | not an argument: the name of the `tir.func`, if it is not the last part of the operator's |

Operators that need more than this have a rule in the file of their family.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ... import topi
from ...dialects.relax.operator import Operator
from ...topi import (
    block_quantization,
    grad,
    linear_algebra,
    normalization,
    random,
    sampling,
    scan,
    scatter,
    special,
    windows,
)
from .legalize_rules import RULES, Emit, LegalizeRule, operand, result_dims, result_tensor

_MODULES = (
    *(block_quantization, grad, linear_algebra, normalization, random, sampling, scan, scatter, special, windows),
)
_FAMILIES: dict[str, Any] = {module.__name__.rpartition(".")[2]: module for module in _MODULES}
"""Modules of topi whose functions rows name with the module: `scan.sort`; others are functions of `topi` itself."""

# relax.exp -> tir_exp: the prefix avoids clashes with C library functions
_UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh exp floor isfinite isinf isnan log log2 log10 "
    "logical_not negative round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
_SPECIAL = "digamma erfinv expm1 lgamma log1p"
_ACTIVATIONS = "relu gelu gelu_tanh selu silu"
_REDUCTIONS = "sum prod max min mean std variance argmax argmin"

_ROWS = """
erf                         erf                                   *
clip                        clip                                  x min max   -> tir_clip
nn.leakyrelu                nn.leaky_relu                         x .alpha   -> leaky_relu
nn.softplus                 nn.softplus                           x .beta .threshold
astype                      cast                                  * %dtype   -> cast
wrap_param                  cast                                  * %dtype   -> cast
where                       where                                 condition x1 x2
zeros                       full                                  %shape %dtype 0
zeros_like                  full                                  %shape %dtype 0   -> zeros
ones                        full                                  %shape %dtype 1
ones_like                   full                                  %shape %dtype 1   -> ones
eye                         eye                                   %shape k %dtype
eye_like                    eye                                   %shape k %dtype
tril                        trilu                                 x k False
triu                        trilu                                 x k True
hamming_window              hamming_window                        %shape periodic alpha beta %dtype
nn.softmax                  nn.softmax                            x .axis
nn.log_softmax              nn.log_softmax                        x .axis
nn.cross_entropy_with_logits  normalization.cross_entropy_with_logits  predictions labels
nn.dropout                  nn.dropout                            x
nn.attention_var_len  nn.attention_var_len  queries keys values seqstart_q seqstart_k .scale .causal_mask .window_size
nn.pixel_shuffle            windows.pixel_shuffle                 data .upscale_factor
outer                       linear_algebra.outer                  *
ewise_fma                   linear_algebra.ewise_fma              *
quantize                    linear_algebra.quantize               data scale zero_point .axis %dtype
dequantize                  linear_algebra.dequantize             data scale zero_point .axis %dtype
dequantize_blocks           block_quantization.dequantize_blocks  packed .format %dtype .interleaved
take_blocks                 block_quantization.take_blocks        packed indices .format %dtype .interleaved
matmul_blocks               block_quantization.matmul_blocks      x packed .format %dtype .activation .interleaved
permute_dims                transpose                             x .axes   -> transpose
reshape                     reshape                               x %shape
flatten                     reshape                               x %shape   -> reshape
broadcast_to                broadcast_to                          x %shape
squeeze                     squeeze                               x .axis
split                       split                                 x .indices_or_sections .axis
take                        take                                  x indices .axis .mode
repeat                      repeat                                data .repeats .axis
flip                        flip                                  data .axis
collapse_sum_like           collapse_sum                          data %shape   -> collapse_sum
collapse_sum_to             collapse_sum                          data %shape   -> collapse_sum
gather_elements             gather                                data .axis indices   -> gather
gather_nd                   gather_nd                             data indices .batch_dims
one_hot                     one_hot                               indices on_value off_value .depth .axis
image.grid_sample           sampling.grid_sample                  * .method .padding_mode .align_corners
sort                        scan.sort                             x .axis .descending
bucketize                   scan.searchsorted           boundaries input_tensor .right %dtype   -> searchsorted
multinomial_from_uniform    scan.multinomial_from_uniform         * %dtype
scatter_elements            scatter.scatter_elements              * .axis .reduction
grad.nll_loss_backward      grad.nll_loss_backward                * .reduction .ignore_index
random.uniform              random.uniform                        seed offset %shape .low .high %dtype
random.normal               random.normal                         seed offset %shape .mean .std %dtype
random.exponential          random.exponential                    seed offset %shape .rate %dtype
random.bits                 random.bits                           seed offset %shape %dtype
random.permutation          random.permutation                    seed offset %shape %dtype
random.bernoulli            random.bernoulli                      seed offset %shape p %dtype
random.randint              random.randint                        seed offset %shape low high %dtype
random.multinomial          random.multinomial                    seed offset weights .num_samples .replacement %dtype
"""


def _families() -> str:
    """Return the rows of families whose operators differ in their names alone."""
    rows = [f"{name} {name} * -> tir_{name}" for name in _UNARY.split()]
    rows += [f"nn.{name} nn.{name} *" for name in _ACTIVATIONS.split()]
    rows += [f"{name} special.{name} *" for name in _SPECIAL.split()]
    rows += [f"{name} {name} x .axis .keepdims" for name in _REDUCTIONS.split()]
    return "\n".join(rows)


Argument = Callable[[Operator], tuple[Any, ...]]
_RESULT: dict[str, Argument] = {
    "*": lambda op: tuple(op.args),
    "%shape": lambda op: (result_dims(op),),
    "%dtype": lambda op: (result_tensor(op).element,),
}


def _argument(text: str) -> Argument:
    if text in _RESULT:
        return _RESULT[text]
    if text[0] == ".":
        return lambda op: (op.attr(text[1:]),)
    if text[0].isdigit() or text in ("True", "False"):
        constant = (literal_eval(text),)
        return lambda op: constant
    return lambda op: (operand(op, text),)


def _function(path: str) -> Callable[..., Any]:
    family, _, name = path.partition(".")
    return attrgetter(name)(_FAMILIES[family]) if family in _FAMILIES else attrgetter(path)(topi)


def row(text: str) -> tuple[str, LegalizeRule]:
    """Return the operator of a row and its rule."""
    columns, _, explicit = text.partition("->")
    operator, path, *arguments = columns.split()
    function, readers = _function(path), [_argument(a) for a in arguments]
    name = explicit.strip() or operator.rpartition(".")[2]

    def rule(op: Operator) -> Emit:
        return Emit(function, tuple(value for read in readers for value in read(op)), name)

    return f"relax.{operator}", rule


RULES.update(dict(row(text) for text in (*_ROWS.strip().splitlines(), *_families().splitlines())))
