"""The names and signatures of TVM's operator library, and those that are left out."""

from __future__ import annotations

import inspect
import re

import pytest

from tirax.tvm_api import te, topi

SIGNATURES = {
    "topi": """
    abs(x)
    acos(x)
    acosh(x)
    add(lhs, rhs)
    adv_index(data, indices)
    all(data, axis=, keepdims=)
    any(data, axis=, keepdims=)
    arange(start, stop=, step=, dtype=)
    argmax(data, axis=, keepdims=, select_last_index=)
    argmin(data, axis=, keepdims=, select_last_index=)
    argsort(data, valid_count=, axis=, is_ascend=, dtype=)
    asin(x)
    asinh(x)
    atan(x)
    atan2(lhs, rhs)
    atanh(x)
    binary_search(sequence_offset, search_range, sorted_sequence, value, right, out_dtype)
    bitwise_and(lhs, rhs)
    bitwise_not(data)
    bitwise_or(lhs, rhs)
    bitwise_xor(lhs, rhs)
    broadcast_to(data, shape)
    cast(x, dtype, span=)
    ceil(x)
    ceil_log2(x)
    clip(x, a_min, a_max)
    collapse_sum(data, target_shape)
    concatenate(a_tuple, axis=)
    const_vector(vector, name=)
    cos(x)
    cosh(x)
    cumprod(data, axis=, dtype=, exclusive=)
    cumsum(data, axis=, dtype=, exclusive=)
    decl_buffer(shape, dtype=, name=, data=, strides=, elem_offset=, scope=, data_alignment=, offset_factor=, span=,
        layout=)
    dft(re_data, im_data, inverse)
    div(a, b, span=)
    divide(lhs, rhs)
    dyn_tile(a, new_shape, rdim)
    dynamic_strided_slice(a, begin, end, strides, output_shape)
    einsum(subscripts, operand*)
    elemwise_sum(xs)
    equal(lhs, rhs)
    erf(x)
    exp(x)
    expand_dims(a, axis, num_newaxis=)
    expand_like(a, shape_like, axis)
    extern(shape, inputs, fcompute, name=, dtype=, in_buffers=, out_buffers=, tag=, attrs=)
    eye(n, m=, k=, dtype=)
    fast_erf(x)
    fast_exp(x)
    fast_tanh(x)
    fixed_point_multiply(x, multiplier, shift)
    fixed_point_multiply_per_axis(x, y, lshift, rshift, is_lshift_required, is_rshift_required, axes)
    flip(a, axis=)
    floor(x)
    floor_divide(lhs, rhs)
    floor_mod(lhs, rhs)
    floordiv(a, b, span=)
    floormod(a, b, span=)
    full(shape, dtype, fill_value)
    full_like(x, fill_value)
    gather(data, axis, indices)
    gather_nd(a, indices, batch_dims=)
    get_const_tuple(in_tuple)
    greater(lhs, rhs)
    greater_equal(lhs, rhs)
    hamming_window(window_size, periodic, alpha, beta, dtype)
    identity(x)
    index_put(data, indices, values, accumulate=)
    index_tensor(data, indices)
    isfinite(x)
    isinf(x)
    isnan(x)
    layout_transform(array, src_layout, dst_layout, schedule_rule=)
    left_shift(lhs, rhs)
    less(lhs, rhs)
    less_equal(lhs, rhs)
    log(x)
    log10(x)
    log2(x)
    log_add_exp(lhs, rhs)
    logical_and(lhs, rhs)
    logical_not(data)
    logical_or(lhs, rhs)
    logical_xor(lhs, rhs)
    make_idx(b, e, s, z, i)
    matmul(a, b, transp_a=, transp_b=)
    matrix_set_diag(data, diagonal, k=, align=)
    max(data, axis=, keepdims=)
    maximum(lhs, rhs)
    meshgrid(a_tuple, indexing)
    min(data, axis=, keepdims=)
    minimum(lhs, rhs)
    mod(lhs, rhs)
    multiply(lhs, rhs)
    negative(x)
    not_equal(lhs, rhs)
    one_hot(indices, on_value, off_value, depth, axis, dtype)
    power(lhs, rhs)
    prod(data, axis=, keepdims=)
    reinterpret(x, dtype)
    repeat(a, repeats, axis)
    reshape(a, newshape)
    reverse_sequence(a, seq_lengths, seq_axis=, batch_axis=)
    right_shift(lhs, rhs)
    round(x)
    rsqrt(x)
    scanop(data, binop, identity_value, op_name, axis=, dtype=, exclusive=)
    scatter_elements(data, indices, updates, axis=, reduction=)
    scatter_nd(data, indices, updates, mode)
    searchsorted(sorted_sequence, values, right=, out_dtype=)
    sequence_mask(data, valid_length, mask_value=, axis=)
    shape(array, dtype=)
    sigmoid(x)
    sign(x)
    sin(x)
    sinh(x)
    slice_scatter(input_tensor, src, start, end, step, axis)
    sliding_window(data, axis, window_shape, strides)
    sort(data, axis=, is_ascend=)
    sparse_reshape(sparse_indices, prev_shape, new_shape, new_sparse_indices_shape, new_shape_shape)
    sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=)
    split(ary, indices_or_sections, axis=)
    sqrt(x)
    squeeze(a, axis=)
    stack(a, axis=)
    stft(data, n_fft, hop_length, win_length, window, normalized, onesided, output_shape)
    strided_set(a, v, begin, end, strides=)
    strided_slice(a, begin, end, strides=, axes=, slice_mode=, assume_inbound=)
    subtract(lhs, rhs)
    sum(data, axis=, keepdims=)
    take(a, indices, axis=, batch_dims=, mode=)
    tan(x)
    tanh(x)
    tensor_size(array, dtype=)
    tensordot(a, b, axes)
    tile(a, reps)
    topk(data, k=, axis=, ret_type=, is_ascend=, dtype=)
    transpose(a, axes=)
    trilu(data, k, upper)
    trunc(x)
    unravel_index(indices, shape)
    where(condition, x, y)
    within_index(b, e, s, i)
    """,
    "nn": """
    adaptive_pool(data, output_size, pool_type, layout=)
    adaptive_pool1d(data, output_size, pool_type, layout=)
    adaptive_pool3d(data, output_size, pool_type, layout=)
    add(lhs, rhs)
    batch_matmul(tensor_a, tensor_b, oshape=, out_dtype=, transpose_a=, transpose_b=,
        auto_scheduler_rewritten_layout=, meta_schedule_original_shape=)
    batch_norm(data, gamma, beta, moving_mean, moving_var, axis=, epsilon=, center=, scale=, training=, momentum=)
    batch_to_space_nd(data, block_shape, crop_begin_list, crop_end_list)
    binarize_pack(data, axis=, name=)
    binary_dense(data, weight)
    bitpack(data, bits, pack_axis, bit_axis, pack_type, name=)
    bitserial_conv2d_nchw(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype=, out_dtype=,
        unipolar=)
    bitserial_conv2d_nhwc(data, kernel, stride, padding, activation_bits, weight_bits, pack_dtype=, out_dtype=,
        unipolar=)
    bitserial_dense(data, weight, data_bits, weight_bits, pack_dtype=, out_dtype=, unipolar=)
    circular_pad(data, pad_before, pad_after=, name=)
    concatenate(a_tuple, axis=)
    conv(inp, filt, stride, padding, dilation, groups, data_layout, kernel_layout=, out_dtype=,
        auto_scheduler_rewritten_layout=, meta_schedule_original_shape=, auto_scheduler_should_rewrite_layout=)
    conv1d(data, kernel, strides=, padding=, dilation=, groups=, data_layout=, kernel_layout=, out_dtype=)
    conv1d_ncw(data, kernel, strides=, padding=, dilation=, out_dtype=)
    conv1d_nwc(data, kernel, strides=, padding=, dilation=, out_dtype=)
    conv1d_transpose_ncw(data, kernel, stride, padding, out_dtype, output_padding)
    conv2d(input, filter, strides, padding, dilation, data_layout=, kernel_layout=, out_dtype=)
    conv2d_NCHWc(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype=)
    conv2d_NCHWc_OIHWo(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype=)
    conv2d_NCHWc_int8(data, kernel, stride, padding, dilation, layout, out_layout, out_dtype=, n_elems=)
    conv2d_hwcn(Input, Filter, stride, padding, dilation, out_dtype=)
    conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=)
    conv2d_nhwc(Input, Filter, stride, padding, dilation, out_dtype=, auto_scheduler_rewritten_layout=,
        meta_schedule_original_shape=)
    conv2d_transpose_nchw(Input, Filter, strides, padding, out_dtype, output_padding)
    conv2d_transpose_nchw_preprocess(data, kernel, strides, padding, out_dtype, output_padding)
    conv2d_winograd_nchw(data, weight, strides, padding, dilation, out_dtype, pre_computed=,
        auto_scheduler_rewritten_layout=, meta_schedule_original_shape=)
    conv2d_winograd_nchw_without_weight_transform(data, weight, strides, padding, dilation, out_dtype,
        auto_scheduler_rewritten_layout=, meta_schedule_original_shape=)
    conv2d_winograd_nhwc(data, weight, strides, padding, dilation, out_dtype, pre_computed=,
        auto_scheduler_rewritten_layout=, meta_schedule_original_shape=)
    conv2d_winograd_nhwc_without_weight_transform(data, weight, strides, padding, dilation, out_dtype,
        auto_scheduler_rewritten_layout=, meta_schedule_original_shape=)
    conv2d_winograd_weight_transform(kernel, tile_size)
    conv3d_ncdhw(Input, Filter, stride, padding, dilation, groups, out_dtype=)
    conv3d_ndhwc(Input, Filter, stride, padding, dilation, groups, out_dtype=, auto_scheduler_rewritten_layout=,
        meta_schedule_origin_shape=)
    conv3d_transpose_ncdhw(Input, Filter, strides, padding, out_dtype, output_padding)
    conv3d_transpose_ncdhw_preprocess(data, kernel, strides, padding, out_dtype, output_padding)
    conv3d_winograd_weight_transform(kernel, tile_size)
    correlation_nchw(data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply)
    declaration_conv2d_transpose_impl(data, kernel, strides, padding, out_dtype, output_padding)
    declaration_conv3d_transpose_impl(data, kernel, strides, padding, out_dtype, output_padding)
    deformable_conv2d_nchw(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype)
    deformable_conv2d_nhwc(data, offset, kernel, strides, padding, dilation, deformable_groups, groups, out_dtype)
    dense(data, weight, bias=, out_dtype=, auto_scheduler_rewritten_layout=, meta_schedule_original_shape=)
    dense_pack(data, weight, bias=, out_dtype=)
    depth_to_space(data, block_size, layout=, mode=)
    depthwise_conv2d_NCHWc(Input, Filter, stride, padding, dilation, layout, out_layout, out_dtype=)
    depthwise_conv2d_backward_input_nhwc(Filter, Out_grad, oshape, ishape, stride, padding)
    depthwise_conv2d_backward_weight_nhwc(Input, Out_grad, oshape, fshape, stride, padding)
    depthwise_conv2d_nchw(Input, Filter, stride, padding, dilation, out_dtype=)
    depthwise_conv2d_nhwc(Input, Filter, stride, padding, dilation, kernel_layout=, out_dtype=)
    dilate(data, strides, dilation_value=, name=)
    equal_const_int(expr, value)
    fast_softmax(x, axis=)
    fifo_buffer(data, buffer, axis)
    flatten(data)
    get_const_int(expr)
    get_const_tuple(in_tuple)
    get_pad_tuple(padding, kernel)
    get_pad_tuple1d(padding, kernel)
    get_pad_tuple3d(padding, kernel)
    get_pad_tuple_generic(padding, kernel)
    get_padded_shape(data, pad_before, pad_after=)
    global_pool(data, pool_type, layout=)
    group_conv1d_ncw(data, kernel, strides=, padding=, dilation=, groups=, out_dtype=)
    group_conv1d_nwc(data, kernel, strides=, padding=, dilation=, groups=, out_dtype=)
    group_conv1d_transpose_ncw(data, kernel, stride, padding, out_dtype, output_padding, groups)
    group_conv2d_nchw(Input, Filter, stride, padding, dilation, groups, out_dtype=)
    group_conv2d_nhwc(Input, Filter, stride, padding, dilation, groups, out_dtype=)
    group_conv2d_transpose_nchw(data, kernel, stride, padding, out_dtype, output_padding, groups)
    group_conv3d_transpose_ncdhw(data, kernel, strides, padding, out_dtype, output_padding, groups)
    group_norm(data, gamma, beta, num_groups, channel_axis, axes, epsilon=)
    instance_norm(data, gamma, beta, channel_axis, axis, epsilon=)
    layer_norm(data, gamma, beta, axis, epsilon=)
    leaky_relu(x, alpha)
    log_softmax(x, axis=)
    lrn(data, size, axis=, alpha=, beta=, bias=)
    lstm(Xs, Wi, Wh, Bi=, Bh=, h_init=, c_init=, proj=, p_i=, p_f=, p_o=, f_act=, g_act=, h_act=, reverse=,
        weight_layout=)
    matmul(tensor_a, tensor_b, bias=, out_dtype=, transpose_a=, transpose_b=, auto_scheduler_rewritten_layout=,
        meta_schedule_original_shape=)
    mirror_pad(data, pad_before, pad_after=, mode=, name=)
    nll_loss(predictions, targets, weights, reduction, ignore_index)
    pad(data, pad_before, pad_after=, pad_value=, name=, attrs=)
    pool1d(data, kernel, stride, dilation, padding, pool_type, ceil_mode=, layout=, count_include_pad=)
    pool2d(data, kernel, stride, dilation, padding, pool_type, ceil_mode=, layout=, count_include_pad=)
    pool3d(data, kernel, stride, dilation, padding, pool_type, ceil_mode=, layout=, count_include_pad=)
    pool_grad(grads, data, kernel, stride, padding, pool_type, ceil_mode=, count_include_pad=, layout=)
    prelu(x, slope, axis=)
    reflect_pad(data, pad_before, pad_after=, name=)
    relu(x)
    replicate_pad(data, pad_before, pad_after=, name=)
    rms_norm(data, weight, axis, epsilon=)
    scale_shift_nchw(Input, Scale, Shift)
    scale_shift_nchwc(Input, Scale, Shift)
    scale_shift_nhwc(Input, Scale, Shift)
    simulated_dequantize(data, in_dtype, input_scale=, input_zero_point=, axis=)
    simulated_quantize(data, out_dtype, output_scale=, output_zero_point=, axis=)
    softmax(x, axis=)
    softmax_common(x, axis, use_fast_exp)
    softplus(x, beta=, threshold=)
    space_to_batch_nd(data, block_shape, pad_before, pad_after, pad_value=)
    space_to_depth(data, block_size, layout=)
    strided_slice(a, begin, end, strides=, axes=, slice_mode=, assume_inbound=)
    unpack_NCHWc_to_nchw(packed_out, out_dtype)
    upsampling(data, scale_h, scale_w, layout=, method=, align_corners=, output_shape=)
    upsampling3d(data, scale_d, scale_h, scale_w, layout=, method=, coordinate_transformation_mode=, output_shape=)
    winograd_transform_matrices(tile_size, kernel_size, out_dtype)
    """,
    "image": """
    affine_grid(data, target_shape, align_corners=)
    can_convert_multiply_to_intdiv(origin_size, scaled_size)
    crop_and_resize(data, boxes, box_indices, crop_size, layout=, method=, extrapolation_value=, out_dtype=)
    dilation2d_nchw(input, filter, stride, padding, dilations, out_dtype=)
    dilation2d_nhwc(input, filter, stride, padding, dilations, out_dtype=)
    get_1d_indices(indices, layout=)
    get_1d_pixel(data, layout, image_width, n, c, x, cc, ib, ic)
    get_2d_indices(indices, layout=)
    get_2d_pixel(data, layout, image_height, image_width, n, c, y, x, cc, ib, ic)
    get_3d_indices(indices, layout=)
    get_3d_pixel(data, layout, image_depth, image_height, image_width, n, c, z, y, x, cc)
    get_closest_index(in_x, rounding_method, boxes, use_int_div=)
    get_inx(x, image_width, target_width, coordinate_transformation_mode, start_x=, end_x=, use_int_div=)
    grid_sample(data, grid, method=, layout=, padding_mode=, align_corners=)
    nchw_pack_layout(layout_info)
    nchw_xc_layout(layout_info)
    resize1d(data, roi, size, layout=, method=, coordinate_transformation_mode=, rounding_method=, bicubic_alpha=,
        bicubic_exclude=, extrapolation_value=, out_dtype=, output_shape=)
    resize2d(data, roi, size, layout=, method=, coordinate_transformation_mode=, rounding_method=, bicubic_alpha=,
        bicubic_exclude=, extrapolation_value=, out_dtype=, output_shape=)
    resize3d(data, roi, size, layout=, method=, coordinate_transformation_mode=, rounding_method=, bicubic_alpha=,
        bicubic_exclude=, extrapolation_value=, out_dtype=, output_shape=)
    """,
}
"""The functions of TVM: names of parameters, `=` after those with a default."""

_BITS = "operators on packed bits: no CPU target of today gains by them"
_PARTS = "a part of another operator that TVM happens to export"
_WINOGRAD = "the Winograd transform: a schedule of conv2d, numerically another one"
_TE = "the same as in te, which exports it"
LEFT_OUT = {
    "topi": {
        "binary_search": _PARTS,
        "decl_buffer": "tir.decl_buffer",
        "dft": "Fourier transforms: libraries have better ones",
        "div": _TE,
        "extern": _TE,
        "floordiv": _TE,
        "floormod": _TE,
        "sparse_reshape": "tensors in sparse formats",
        "stft": "Fourier transforms: libraries have better ones",
    },
    "nn": {
        "binarize_pack": _BITS,
        "binary_dense": _BITS,
        "bitpack": _BITS,
        "bitserial_conv2d_nchw": _BITS,
        "bitserial_conv2d_nhwc": _BITS,
        "bitserial_dense": _BITS,
        "conv2d_NCHWc_OIHWo": "a layout of Adreno GPUs",
        "conv2d_NCHWc_int8": "a schedule: conv2d_NCHWc with out_dtype int32, and tensorize",
        "conv2d_transpose_nchw_preprocess": _PARTS,
        "conv2d_winograd_nchw": _WINOGRAD,
        "conv2d_winograd_nchw_without_weight_transform": _WINOGRAD,
        "conv2d_winograd_nhwc": _WINOGRAD,
        "conv2d_winograd_nhwc_without_weight_transform": _WINOGRAD,
        "conv2d_winograd_weight_transform": _WINOGRAD,
        "conv3d_transpose_ncdhw_preprocess": _PARTS,
        "conv3d_winograd_weight_transform": _WINOGRAD,
        "correlation_nchw": "vision",
        "declaration_conv2d_transpose_impl": _PARTS,
        "declaration_conv3d_transpose_impl": _PARTS,
        "deformable_conv2d_nchw": "vision",
        "deformable_conv2d_nhwc": "vision",
        "dense_pack": "a schedule: dense, and transform_layout of its weight",
        "depthwise_conv2d_backward_input_nhwc": "relax differentiates programs (relax.transform.Gradient)",
        "depthwise_conv2d_backward_weight_nhwc": "relax differentiates programs (relax.transform.Gradient)",
        "lstm": "te.scan, which is left out; relax has loops",
        "simulated_dequantize": "dtypes that are known only at run time",
        "simulated_quantize": "dtypes that are known only at run time",
        "winograd_transform_matrices": _WINOGRAD,
    },
    "image": {
        "can_convert_multiply_to_intdiv": _PARTS,
        "get_1d_indices": _PARTS,
        "get_1d_pixel": _PARTS,
        "get_2d_indices": _PARTS,
        "get_2d_pixel": _PARTS,
        "get_3d_indices": _PARTS,
        "get_3d_pixel": _PARTS,
        "get_closest_index": _PARTS,
        "get_inx": _PARTS,
        "nchw_pack_layout": _PARTS,
        "nchw_xc_layout": _PARTS,
    },
}
MODULES = {"topi": topi, "nn": topi.nn, "image": topi.image}


def signatures(module: str) -> dict[str, list[str]]:
    matches = re.findall(r"(\w+)\(([^)]*)\)", SIGNATURES[module])
    return {name: [p.strip() for p in parameters.split(",")] for name, parameters in matches}


def parameter(p: inspect.Parameter) -> str:
    return p.name + ("*" if p.kind is p.VAR_POSITIONAL else "=" if p.default is not p.empty else "")


@pytest.mark.parametrize("module", MODULES)
def test_names_that_are_left_out(module: str) -> None:
    missing = {name for name in signatures(module) if not hasattr(MODULES[module], name)}
    assert missing == set(LEFT_OUT[module])


@pytest.mark.parametrize("module", MODULES)
def test_signatures(module: str) -> None:
    for name, expected in signatures(module).items():
        if name not in LEFT_OUT[module]:
            function = getattr(MODULES[module], name)
            assert [parameter(p) for p in inspect.signature(function).parameters.values()] == expected, name
            assert function.__doc__, name


def test_utils() -> None:
    n = te.var("n")
    assert topi.utils.get_const_tuple([te.const(3), 4, n])[:2] == (3, 4)
    assert topi.utils.get_const_tuple([n])[0] is n
    assert topi.nn.get_const_int(te.const(3)) == 3
    assert topi.nn.equal_const_int(te.const(3), 3) and not topi.nn.equal_const_int(n, 3)
    assert topi.nn.get_pad_tuple("SAME", (3, 4)) == (1, 2, 1, 1)
    assert topi.nn.get_pad_tuple((1, 2), (3, 3)) == (1, 2, 1, 2)
    assert topi.nn.get_pad_tuple1d(2, 3) == (2, 2)
    assert topi.nn.get_pad_tuple3d("VALID", (3, 3, 3)) == (0,) * 6
    assert topi.utils.get_pad_tuple_generic((1, 2, 3, 4), (3, 3)) == (1, 2, 3, 4)
