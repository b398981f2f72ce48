"""Why samples of operators that core ATen reaches do not run, by the operator as PyTorch's list writes it."""

REASONS = {
    "addr": "alpha and beta of truth values besides 0 and 1",
    "as_strided_partial_views": "a view of memory that is not row major",
    "bucketize": "PyTorch's own decomposition asks for a number in a tensor",
    "item": "a number out of a tensor is a size here: floating point and negative ones have no place",
    "nn_functional_avg_pool2d": "a mean with a divisor of its own, of windows that stick out",
    "nonzero": "the positions of a scalar",
    "tensor_split": "cut at numbers that stand in a tensor",
}
