"""Operations of MLIR that tirax does not read, and why: for diagnostics, and the page on MLIR's operations."""

from __future__ import annotations

from collections.abc import Mapping

_BLOCKS = "numbers in blocks with common scales have no type in tirax"
_SHAPES = "shapes are computed symbolically: have them folded to constants"
_STATE = "a function keeps no state between calls"
_FUNCTIONS = "functions are no values"
_FIXED = "vectors have fixed extents here"
_NEW = "new in MLIR, xDSL has no class for it"
_PAIR = "two results of one scalar operation"
REASONS: Mapping[str, str] = {
    "func.call_indirect": _FUNCTIONS,
    "func.constant": _FUNCTIONS,
    "arith.addui_extended": _PAIR,
    "arith.subui_extended": _PAIR,
    "arith.mulsi_extended": _PAIR,
    "arith.mului_extended": _PAIR,
    "math.sincos": _PAIR,
    "arith.convertf": _NEW,
    "arith.flush_denormals": _NEW,
    "arith.maximumnumf": _NEW,
    "arith.minimumnumf": _NEW,
    "math.clampf": _NEW,
    "math.erfc": _NEW,
    "math.ipowi": _NEW,
    "math.isnormal": _NEW,
    "arith.scaling_extf": _BLOCKS,
    "arith.scaling_truncf": _BLOCKS,
    "linalg.scaled_contract": _BLOCKS,
    "affine.dma_start": "there is one memory",
    "affine.dma_wait": "there is one memory",
    "memref.dma_start": "there is one memory",
    "memref.dma_wait": "there is one memory",
    "memref.extract_aligned_pointer_as_index": "addresses are no values",
    "bufferization.dealloc": "buffers live as long as their scope: leave out the passes that free them",
    "linalg.fill_rng_2d": "its numbers are those of a generator that MLIR defines by a lowering only",
    "linalg.winograd_filter_transform": "matrices that only its lowering has: run `linalg-decompose-winograd` first",
    "linalg.winograd_input_transform": "matrices that only its lowering has: run `linalg-decompose-winograd` first",
    "linalg.winograd_output_transform": "matrices that only its lowering has: run `linalg-decompose-winograd` first",
    "vector.print": "a function has no output but its results",
    "vector.vscale": _FIXED,
    "vector.scalable.insert": _FIXED,
    "vector.scalable.extract": _FIXED,
    "vector.type_cast": "memrefs hold numbers, not vectors",
    "vector.yield": "ends `vector.mask`",
    "tosa.apply_scale": "appears below `tosa.rescale` only, which is read",
    "tosa.argmin": "new in MLIR: `argmax` of the negated tensor",
    "tosa.matmul_t": "new in MLIR: `matmul` of the transposed tensor",
    "tosa.row_gather": "new in MLIR: `gather`",
    "tosa.avg_pool2d_adaptive": "windows that are computed at run time",
    "tosa.max_pool2d_adaptive": "windows that are computed at run time",
    "tosa.custom": "its meaning is that of another tool",
    "tosa.fft2d": "no converter yet",
    "tosa.rfft2d": "no converter yet",
    "tosa.cond_if": "run `tosa-to-scf` first",
    "tosa.while_loop": "run `tosa-to-scf` first",
    "tosa.yield": "ends `tosa.cond_if`",
    **dict.fromkeys(("tosa.variable", "tosa.variable_read", "tosa.variable_write"), _STATE),
    **{
        f"tosa.{name}_block_scaled": _BLOCKS
        for name in ("cast_from", "cast_to", "conv2d", "matmul_t", "reshape", "row_gather")
    },
    **{
        f"tosa.{name}": _SHAPES
        for name in (
            "add_shape", "assert_equal_shape", "concat_shape", "dim", "div_ceil_shape", "div_floor_shape", "exp2_shape",
            "log2_ceil_shape", "log2_floor_shape", "max_shape", "min_shape", "mod_shape", "mul_shape", "slice_shape",
            "sub_shape",
        )
    },
}  # fmt: skip
"""operation -> why it is not read."""
