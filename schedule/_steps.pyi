"""Written by `python -m tirax.dev.reference`. Do not edit."""

from collections.abc import Callable, Sequence
from typing import Any

from ..dialects.sym import IndexMapAttr
from ..handles.tir.buffers import Buffer
from ..handles.tir.index_map import IndexMap
from ..handles.tir.prim_expr import PrimExpr
from .trace import BlockRV, ExprRV, LoopRV

class Steps:
    """The primitives of a schedule as its methods. Those of plug-ins are not here."""

    def add_unit_loop(self, block_or_loop: BlockRV | LoopRV) -> LoopRV:
        """Add a loop with extent 1 directly around a block or a loop."""
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Add the annotation `ann_key: ann_val` to a loop or a block: a string, a number, a list or a dictionary."""
    def annotate_buffer_access(self, block: BlockRV | str, buffer_index: int, buf_type: str, gen_new_ranges: IndexMap | IndexMapAttr | Callable[..., Any]) -> None:
        """Set the region of a buffer that `block` accesses, overriding the region inferred from its body."""
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Bind `loop` to a thread axis, for instance `threadIdx.x`."""
    def blockize(self, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = True) -> BlockRV:
        """Turn the computation of a loop, or consecutive blocks, into one block."""
    def cache_index(self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0) -> list[BlockRV]:
        """Compute the indices of loads in `block` in separate blocks, and store them in buffers."""
    def cache_inplace(self, block: BlockRV | str, read_buffer_index: int | str | Buffer, storage_scope: str) -> list[BlockRV]:
        """Let `block` update a copy of a buffer that it reads and writes; it is copied before the block and back after it."""
    def cache_read(self, block: BlockRV | str, read_buffer_index: int | str | Buffer, storage_scope: str, consumer_blocks: Sequence[BlockRV] | None = None) -> BlockRV:
        """Copy a buffer that `block` reads into a buffer of `storage_scope`, and let its readers read the copy."""
    def cache_write(self, block: BlockRV | str, write_buffer_index: int | str | Buffer, storage_scope: str, consumer_blocks: Sequence[BlockRV] | None = None) -> BlockRV:
        """Let `block` write to a new buffer of `storage_scope`, and copy that to the original buffer."""
    def compute_at(self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1) -> None:
        """Move a producer under `loop`, where it computes only the region that each iteration requires."""
    def compute_inline(self, block: BlockRV | str) -> None:
        """Inline a producer into its consumers; the block and its buffer are removed."""
    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Decompose a padding into a block before `loop` that fills everything with the constant, and a block that copies."""
    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Move the init of a reduction to a separate block before `loop`."""
    def enter_postproc(self) -> None:
        """Mark the beginning of postprocessing in the trace. The module is not changed."""
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Fuse perfectly nested loops into one loop."""
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """Return the block `name` of the function `func_name` (by default the one worked on, `main`, or the only one)."""
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """Return the blocks directly below a block or a loop, in order."""
    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """Return the blocks after `block` in its scope that read what it writes."""
    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """Return the loops around `block` in its scope, outermost first."""
    def get_output_blocks(self, scope_block: BlockRV) -> list[BlockRV]:
        """Return the blocks in a scope, also those in others, that write buffers which are not allocated in it."""
    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """Return the blocks before `block` in its scope that write what it reads."""
    def loop_partition(self, loop: LoopRV, factors: Sequence[int | ExprRV | None], preserve_unit_iters: bool = True) -> list[LoopRV]:
        """Partition a loop into consecutive loops with the extents `factors`; one may be None to be inferred."""
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Merge neighbouring loops into one; the loops around them, up to those that they share, are merged, too."""
    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Round the domain of each iterator up to a multiple of its factor in `padding`; buffers are padded with zeros."""
    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of `loop` on several threads."""
    def read_at(self, loop: LoopRV, block: BlockRV | str, read_buffer_index: int, storage_scope: str) -> BlockRV:
        """Copy the region of a buffer that an iteration of `loop` reads to a buffer of `storage_scope`, at its beginning."""
    def reindex(self, block: BlockRV | str, buffer: tuple[str, int] | str | Buffer) -> BlockRV:
        """Copy the elements that `block` reads or writes to a buffer whose axes are the iterators of the block."""
    def reindex_cache_read(self, block: BlockRV | str, read_buffer_index: int | str | Buffer, storage_scope: str, index_map: IndexMap | IndexMapAttr | Callable[..., Any]) -> BlockRV:
        """Copy the elements that `block` reads to a buffer of `storage_scope`, at indices that `index_map` computes."""
    def reindex_cache_write(self, block: BlockRV | str, write_buffer_index: int | str | Buffer, storage_scope: str, index_map: IndexMap | IndexMapAttr | Callable[..., Any]) -> BlockRV:
        """Let `block` write to a buffer of `storage_scope`, at indices that `index_map` computes, and copy it back."""
    def reorder(self, *loops: LoopRV) -> None:
        """Reorder loops of one nest: the listed loops take each other's positions in the listed order."""
    def reorder_block_iter_var(self, block: BlockRV | str, new_order: list[int]) -> None:
        """Reorder a block's iterators; `new_order` lists their positions."""
    def reverse_compute_at(self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1) -> None:
        """Move a consumer under `loop`, where it processes only the region that each iteration provides."""
    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Inline a consumer into its producer; the consumer and the intermediate buffer are removed."""
    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Factor a reduction loop: each of its iterations computes a partial result, which are combined afterwards."""
    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int) -> None:
        """Reuse elements that earlier iterations of the loops around `block` have computed, in a ring buffer."""
    def sample_categorical(self, candidates: Sequence[Any], probs: Sequence[float], decision: int | None = None) -> ExprRV:
        """Return one of `candidates`, with the probabilities `probs`; the decision is its index."""
    def sample_compute_location(self, block: BlockRV | str, decision: int | None = None) -> LoopRV:
        """Return a location for `compute_at`: a loop around its consumers, `inline` if that is possible, or `root`."""
    def sample_partitioned_tile(self, loop: LoopRV, n: int, partition_pos: int = 0, innerpart_factor: int = 1, decision: Sequence[int] | None = None) -> list[ExprRV]:
        """Return `n` factors whose product is the extent of `loop`; `innerpart_factor` divides the product from `partition_pos`."""
    def sample_perfect_tile(self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None) -> list[ExprRV]:
        """Return `n` factors whose product is the extent of `loop`, the last one at most `max_innermost_factor`."""
    def set_axis_separator(self, block: BlockRV | str, buffer: tuple[str, int] | str | Buffer, axis_separators: Sequence[int]) -> None:
        """Separate groups of axes that stay distinct when the buffer is flattened, at each of `axis_separators`."""
    def set_scope(self, block: BlockRV | str, buffer_index: int | str | Buffer, storage_scope: str) -> None:
        """Change the storage scope of the buffer that `block` writes at `buffer_index`."""
    def split(self, loop: LoopRV, factors: Sequence[int | ExprRV | None], preserve_unit_iters: bool = True, disable_predication: bool = False) -> list[LoopRV]:
        """Split a loop into a nest of loops with the extents `factors`; one may be None or -1 to be inferred, rounded up."""
    def storage_align(self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Set the stride alignment of a buffer that `block` writes: the stride of `axis` is `offset` modulo `factor` elements."""
    def tensorize(self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = True) -> None:
        """Replace the computation of a block, or of a loop's body, by a tensor intrinsic."""
    def transform_block_layout(self, block: BlockRV | str, index_map: IndexMap | IndexMapAttr | Callable[..., Any]) -> None:
        """Replace the iterators of a block by the results of `index_map` for them."""
    def transform_layout(self, block: BlockRV | str, buffer: tuple[str, int] | str | Buffer, index_map: IndexMap | IndexMapAttr | Callable[..., Any], pad_value: int | float | PrimExpr | IndexMap | Callable[..., Any] | None = None, assume_injective_transform: bool = False) -> None:
        """Change the layout of a buffer that `block` reads or writes, at all of its accesses."""
    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Remove the annotation `ann_key` from a loop or a block. Raises `ScheduleError` if there is none."""
    def unroll(self, loop: LoopRV) -> None:
        """Unroll `loop`."""
    def unsafe_hide_buffer_access(self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int]) -> None:
        """Remove regions from the declared reads or writes of `block`, although it accesses them."""
    def unsafe_set_dtype(self, block: BlockRV | str, buffer_index: int, dtype: str) -> None:
        """Change the element type of a buffer that `block` writes: values are converted when stored and when loaded."""
    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of `loop` as the lanes of vectors."""
    def write_at(self, loop: LoopRV, block: BlockRV | str, write_buffer_index: int, storage_scope: str) -> BlockRV:
        """Let an iteration of `loop` write to a buffer of `storage_scope`, and copy it to the original buffer at its end."""
