"""The policy table of `ToMixedPrecision`: the precision of each operator.

A new operator is another name in one of these rows; operators in no row keep their types (`NEVER`).
"""

from __future__ import annotations

from enum import Enum

from ...dialects.relax.operator import Operator


class Policy(Enum):
    """Precision policy of an operator: profits from low precision, follows its inputs, or needs full precision."""

    ALWAYS = "its inputs are converted to the low precision"
    FOLLOW = "it is computed in low precision where all of its inputs are there already"
    NEVER = "its inputs are converted back"


_ROWS = {
    # Dominated by arithmetic on many elements, accumulated in `out_dtype`.
    Policy.ALWAYS: """
        matmul outer
        nn.attention nn.attention_bias nn.attention_var_len
        nn.conv1d nn.conv1d_transpose nn.conv2d nn.conv2d_transpose nn.conv3d nn.conv3d_transpose
    """,
    # Element-wise operators, data movement, and sums of few elements or in float32.
    Policy.FOLLOW: """
        abs acos acosh asin asinh atan atan2 atanh bitwise_not ceil cos cosh erf exp expm1 floor isfinite isinf isnan
        log log10 log1p log2 logical_not negative round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc
        add divide floor_divide floor_mod log_add_exp maximum minimum mod multiply power subtract
        equal greater greater_equal less less_equal not_equal
        bitwise_and bitwise_or bitwise_xor left_shift logical_and logical_or logical_xor right_shift ewise_fma
        arange eye full full_like hamming_window ones zeros astype
        broadcast_to concat dynamic_strided_slice expand_dims flatten layout_transform meshgrid permute_dims reshape
        split squeeze stack strided_slice
        image.affine_grid image.grid_sample image.resize2d image.resize3d
        nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d
        nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.batch_flatten
        nn.dropout nn.gelu nn.gelu_tanh nn.relu nn.selu nn.silu
        nn.group_norm nn.instance_norm nn.layer_norm nn.rms_norm
    """,
    # Operators that lose too much precision, depend on single bits, or are not about floating point.
    Policy.NEVER: """
        argmax argmin argsort bucketize sort topk unique nonzero multinomial_from_uniform
        random.bernoulli random.bits random.exponential random.multinomial random.normal random.permutation
        random.randint random.uniform
        collapse_sum_like collapse_sum_to cumprod cumsum einsum max mean median min prod std sum variance
        clip dequantize digamma erfinv lgamma quantize one_hot where while_loop wrap_param
        dequantize_blocks matmul_blocks take_blocks
        eye_like ones_like zeros_like tril triu
        flip gather_elements gather_nd index_put index_tensor repeat reverse_sequence scatter_elements scatter_nd size
        slice_scatter take tile
        nn.batch_norm nn.cross_entropy_with_logits nn.leakyrelu nn.log_softmax nn.nll_loss nn.pad nn.pixel_shuffle
        nn.prelu nn.softmax nn.softplus
        assert_op hint_on_device print shape_of shape_to_tensor tensor_to_shape to_vdevice
        fft.fft fft.irfft fft.rfft
        linalg.cholesky linalg.det linalg.eig linalg.eigh linalg.eigvalsh linalg.geqrf linalg.inv linalg.ldl
        linalg.ldl_solve linalg.lu linalg.matrix_exp linalg.pivots_to_order
        linalg.qr linalg.slogdet linalg.solve linalg.solve_triangular linalg.svd linalg.svdvals
        builtin.alloc_tensor builtin.stop_lift_params vm.alloc_storage vm.alloc_tensor vm.call_tir_dyn vm.kill_object
        memory.alloc_storage memory.alloc_tensor memory.ensure_zero_offset memory.kill_storage memory.kill_tensor
        memory.view
        inspect.tensor_byte_offset inspect.tensor_dtype_bits inspect.tensor_dtype_code inspect.tensor_dtype_lanes
        inspect.tensor_elem_offset inspect.tensor_ndim inspect.tensor_shape_i inspect.tensor_stride_i
        grad.avg_pool1d_backward grad.avg_pool2d_backward grad.avg_pool3d_backward grad.end_checkpoint
        grad.max_pool1d_backward grad.max_pool2d_backward grad.max_pool3d_backward grad.nll_loss_backward grad.no_grad
        grad.start_checkpoint grad.take_backward
    """,
}

POLICIES: dict[str, Policy] = {f"relax.{name}": policy for policy, names in _ROWS.items() for name in names.split()}
"""The policy of each operator, by name."""


def policy_of(op: Operator) -> Policy:
    """Return the policy of an operator: `NEVER` without a row, as for plug-ins."""
    return POLICIES.get(op.name, Policy.NEVER)
