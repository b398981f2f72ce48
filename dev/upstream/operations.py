"""Which operations of MLIR the importer reads: the table of docs/mlir_operations.md.

python -m tirax.dev.upstream.operations > docs/mlir_operations.md
"""

from __future__ import annotations

from collections.abc import Mapping

from ...dialects.xdsl_extras.linalg_named import ELEMENTWISE, NAMED
from ...dialects.xdsl_extras.refused import REASONS
from ...frontend.mlir.convert import rules
from ...frontend.mlir.kernels import STATEMENTS
from ...frontend.mlir.kernels.core import ENDS
from ...frontend.mlir.scalars import RULES
from ...frontend.mlir.tensors import RULES_OF_TENSORS

OPERATIONS: Mapping[str, str] = {
    "func": """
        call call_indirect constant func return
    """,
    "cf": """
        assert br cond_br switch
    """,
    "arith": """
        addf addi addui_extended andi bitcast ceildivsi ceildivui cmpf cmpi constant convertf divf divsi
        divui extf extsi extui floordivsi flush_denormals fptosi fptoui index_cast index_castui maximumf
        maximumnumf maxnumf maxsi maxui minimumf minimumnumf minnumf minsi minui mulf muli
        mulsi_extended mului_extended negf ori remf remsi remui scaling_extf scaling_truncf select shli
        shrsi shrui sitofp subf subi subui_extended truncf trunci uitofp xori
    """,
    "math": """
        absf absi acos acosh asin asinh atan atan2 atanh cbrt ceil clampf copysign cos cosh ctlz ctpop
        cttz erf erfc exp exp2 expm1 floor fma fpowi ipowi isfinite isinf isnan isnormal log log10 log1p
        log2 powf round roundeven rsqrt sin sincos sinh sqrt tan tanh trunc
    """,
    "ub": """
        poison
    """,
    "scf": """
        condition execute_region for forall forall.in_parallel if index_switch parallel reduce
        reduce.return while yield
    """,
    "affine": """
        apply delinearize_index dma_start dma_wait for if linearize_index load max min parallel prefetch
        store vector_load vector_store yield
    """,
    "memref": """
        alloc alloca alloca_scope alloca_scope.return assume_alignment atomic_rmw atomic_yield cast
        collapse_shape copy dealloc dim distinct_objects dma_start dma_wait expand_shape
        extract_aligned_pointer_as_index extract_strided_metadata generic_atomic_rmw get_global global
        load memory_space_cast prefetch rank realloc reinterpret_cast reshape store subview transpose
        view
    """,
    "vector": """
        bitcast broadcast compressstore constant_mask contract create_mask deinterleave expandload
        extract extract_strided_slice fma from_elements gather insert insert_strided_slice interleave
        load mask maskedload maskedstore multi_reduction outerproduct print reduction scalable.extract
        scalable.insert scan scatter shape_cast shuffle step store to_elements transfer_read
        transfer_write transpose type_cast vscale yield
    """,
    "tensor": """
        bitcast cast collapse_shape concat dim empty expand_shape extract extract_slice from_elements
        gather generate insert insert_slice pad parallel_insert_slice rank reshape scatter splat yield
    """,
    "bufferization": """
        alloc_tensor clone dealloc dealloc_tensor materialize_in_destination to_buffer to_tensor
    """,
    "linalg": """
        batch_matmul batch_matvec batch_mmt4d batch_reduce_matmul batch_vecmat broadcast contract
        conv_1d conv_1d_ncw_fcw conv_1d_nwc_wcf conv_2d conv_2d_nchw_fchw conv_2d_nchw_fchw_q
        conv_2d_ngchw_fgchw conv_2d_ngchw_gfchw conv_2d_ngchw_gfchw_q conv_2d_nhwc_fhwc
        conv_2d_nhwc_fhwc_q conv_2d_nhwc_hwcf conv_2d_nhwc_hwcf_q conv_2d_nhwgc_gfhwc
        conv_2d_nhwgc_gfhwc_q conv_3d conv_3d_ncdhw_fcdhw conv_3d_ndhwc_dhwcf conv_3d_ndhwc_dhwcf_q copy
        depthwise_conv_1d_ncw_cw depthwise_conv_1d_nwc_wc depthwise_conv_1d_nwc_wcm
        depthwise_conv_2d_nchw_chw depthwise_conv_2d_nhwc_hwc depthwise_conv_2d_nhwc_hwc_q
        depthwise_conv_2d_nhwc_hwcm depthwise_conv_2d_nhwc_hwcm_q depthwise_conv_3d_ncdhw_cdhw
        depthwise_conv_3d_ndhwc_dhwc depthwise_conv_3d_ndhwc_dhwcm dot elementwise fill fill_rng_2d
        generic index map matmul matvec mmt4d pack pooling_nchw_max pooling_nchw_sum pooling_ncw_max
        pooling_ncw_sum pooling_ndhwc_max pooling_ndhwc_min pooling_ndhwc_sum pooling_nhwc_max
        pooling_nhwc_max_unsigned pooling_nhwc_min pooling_nhwc_min_unsigned pooling_nhwc_sum
        pooling_nwc_max pooling_nwc_max_unsigned pooling_nwc_min pooling_nwc_min_unsigned
        pooling_nwc_sum quantized_batch_matmul quantized_matmul reduce scaled_contract softmax transpose
        unpack vecmat winograd_filter_transform winograd_input_transform winograd_output_transform yield
    """,
    "tosa": """
        abs add add_shape apply_scale argmax argmin arithmetic_right_shift assert_equal_shape avg_pool2d
        avg_pool2d_adaptive bitwise_and bitwise_not bitwise_or bitwise_xor cast cast_from_block_scaled
        cast_to_block_scaled ceil clamp clz concat concat_shape cond_if const const_shape conv2d
        conv2d_block_scaled conv3d cos custom depthwise_conv2d dim div_ceil_shape div_floor_shape equal
        erf exp exp2_shape fft2d floor gather greater greater_equal identity intdiv log log2_ceil_shape
        log2_floor_shape logical_and logical_left_shift logical_not logical_or logical_right_shift
        logical_xor matmul matmul_t matmul_t_block_scaled max_pool2d max_pool2d_adaptive max_shape
        maximum min_shape minimum mod_shape mul mul_shape negate pad pow reciprocal reduce_all
        reduce_any reduce_max reduce_min reduce_product reduce_sum rescale reshape reshape_block_scaled
        resize reverse rfft2d row_gather row_gather_block_scaled rsqrt scatter select sigmoid sin slice
        slice_shape sub sub_shape table tanh tile transpose transpose_conv2d variable variable_read
        variable_write while_loop yield
    """,
}
"""dialect -> MLIR's operations, as `iree-base-compiler` 3.13 registers them; those of `bufferization` and `ub` are
those of MLIR's documentation."""

_ELSEWHERE = (
    "func.func", "func.return", "func.call", "cf.br", "cf.cond_br", "cf.switch", "memref.global", "linalg.generic",
    "linalg.reduce", "linalg.fill", "linalg.map", "linalg.transpose", "linalg.broadcast", "linalg.contract",
    "linalg.elementwise", "linalg.index", "linalg.yield", "tensor.yield", "vector.yield", "affine.yield",
)  # fmt: skip
"""What is read as a part of other operations, or by the files on structured ones."""


def names() -> list[str]:
    """Return the names of MLIR's operations."""
    return [f"{dialect}.{name}" for dialect, words in OPERATIONS.items() for name in words.split()]


def is_read(name: str) -> bool:
    """Return whether the importer has a rule for an operation."""
    if name in REASONS:
        return False
    tables = (STATEMENTS, rules, RULES_OF_TENSORS, RULES, NAMED, ENDS, _ELSEWHERE)
    return any(name in table for table in tables) or name.removeprefix("linalg.") in ELEMENTWISE


def page() -> str:
    """Return the text of docs/mlir_operations.md."""
    lines = [
        "# MLIR's operations",
        "",
        "What [the importer](mlir.md) reads, by dialect, and why it refuses the others. Written by",
        "`python -m tirax.dev.upstream.operations`.",
        "",
        "| dialect | read | of |",
        "|---|---|---|",
    ]
    for dialect, words in OPERATIONS.items():
        every = [f"{dialect}.{name}" for name in words.split()]
        lines.append(f"| `{dialect}` | {sum(map(is_read, every))} | {len(every)} |")
    for dialect, words in OPERATIONS.items():
        every = words.split()
        lines += ["", f"## {dialect}", ""]
        read = [f"`{name}`" for name in every if is_read(f"{dialect}.{name}")]
        lines += _wrapped(read)
        refused = [(name, REASONS[f"{dialect}.{name}"]) for name in every if not is_read(f"{dialect}.{name}")]
        if refused:
            lines += ["", "| refused | why |", "|---|---|"]
            lines += [f"| `{name}` | {reason} |" for name, reason in refused]
    return "\n".join(lines) + "\n"


def _wrapped(words: list[str]) -> list[str]:
    lines = [""]
    for number, word in enumerate(words):
        text = word + ("," if number < len(words) - 1 else "")
        if len(lines[-1]) + len(text) > 120:
            lines.append("")
        lines[-1] = f"{lines[-1]} {text}".strip()
    return lines


if __name__ == "__main__":
    print(page(), end="")
