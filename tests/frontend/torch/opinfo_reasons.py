"""Why samples of operators that core ATen reaches do not run, by the operator as PyTorch's list writes it."""

REASONS = {
    "as_strided_partial_views": "a view of memory that is not row major",
    "item": "a number out of a tensor is a size here: floating point and negative ones have no place",
    "tensor_split": "cut at numbers that stand in a tensor",
}
