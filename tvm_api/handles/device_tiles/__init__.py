"""Tensor intrinsics of GPUs and other devices, as text: for `tensorize`; no code is generated for them."""
