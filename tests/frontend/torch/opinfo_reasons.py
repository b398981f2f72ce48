"""Why operators of PyTorch's list are left out or computed by PyTorch, by the operator as the list writes it."""

REASONS = {
    "as_strided_partial_views": "a view of memory that is not row major",
    **dict.fromkeys(("sparse_mm_reduce", "sparse_sampled_addmm", "to_sparse"), "a sparse tensor"),
    "hash_tensor": "no row",
}
