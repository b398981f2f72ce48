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
        """Put a loop that runs once directly around a block or a loop."""
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Add the remark `ann_key: ann_val` to a loop or a block: a string, a number, a list or a dictionary."""
    def annotate_buffer_access(self, block: BlockRV | str, buffer_index: int, buf_type: str, gen_new_ranges: IndexMap | IndexMapAttr | Callable[..., Any]) -> None:
        """Say which region of a buffer `block` accesses, where that is not what is seen from its body."""
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Bind `loop` to an axis of threads, `threadIdx.x` for instance."""
    def blockize(self, target: LoopRV | Sequence[BlockRV], preserve_unit_iters: bool = True) -> BlockRV:
        """Make one block of what a loop computes, or of blocks that follow each other."""
    def cache_index(self, block: BlockRV | str, storage_scope: str, cse_thresh: int = 0) -> list[BlockRV]:
        """Compute the indices at which `block` reads in blocks of their own, into buffers."""
    def cache_inplace(self, block: BlockRV | str, read_buffer_index: int | str | Buffer, storage_scope: str) -> list[BlockRV]:
        """Let `block` update a copy of a buffer that it reads and writes: copied before it, and back after it."""
    def cache_read(self, block: BlockRV | str, read_buffer_index: int | str | Buffer, storage_scope: str, consumer_blocks: Sequence[BlockRV] | None = None) -> BlockRV:
        """Copy a buffer that `block` reads into one of `storage_scope`, and let its readers read that."""
    def cache_write(self, block: BlockRV | str, write_buffer_index: int | str | Buffer, storage_scope: str, consumer_blocks: Sequence[BlockRV] | None = None) -> BlockRV:
        """Let `block` write a buffer of `storage_scope`, and copy that into the buffer that it wrote."""
    def compute_at(self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1) -> None:
        """Compute a producer under `loop`, just the part that each iteration needs."""
    def compute_inline(self, block: BlockRV | str) -> None:
        """Write what a producer computes in place of every read of it; the block and its buffer are no more."""
    def decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Take a padding apart: a block that fills all with the constant before `loop`, and the block that copies the rest."""
    def decompose_reduction(self, block: BlockRV | str, loop: LoopRV) -> BlockRV:
        """Move the init of a reduction into a block of its own, in front of `loop`."""
    def enter_postproc(self) -> None:
        """Mark the place in the trace from which on steps are postprocessing; nothing is changed."""
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Make one loop of loops that are directly inside of each other."""
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block called `name` of the function `func_name` (the one worked on, `main`, or the only one); `root` is all."""
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """The blocks directly below a block or a loop, in order."""
    def get_consumers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks after `block` in its scope that read what it writes."""
    def get_loops(self, block: BlockRV | str) -> list[LoopRV]:
        """The loops around `block` in its scope, the outermost first."""
    def get_output_blocks(self, scope_block: BlockRV) -> list[BlockRV]:
        """The blocks of a scope that write buffers which are not allocated in it."""
    def get_producers(self, block: BlockRV | str) -> list[BlockRV]:
        """The blocks before `block` in its scope that write what it reads."""
    def loop_partition(self, loop: LoopRV, factors: Sequence[int | ExprRV | None], preserve_unit_iters: bool = True) -> list[LoopRV]:
        """Let a loop be several loops behind each other, with the extents `factors`; one may be None: what is left."""
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Make one loop of loops beside each other; the loops around them, up to those that they share, are merged, too."""
    def pad_einsum(self, block: BlockRV | str, padding: Sequence[int]) -> None:
        """Round the domain of each iterator up to a multiple of its number in `padding`; buffers are padded with zeros."""
    def parallel(self, loop: LoopRV) -> None:
        """Run the iterations of `loop` on several threads."""
    def read_at(self, loop: LoopRV, block: BlockRV | str, read_buffer_index: int, storage_scope: str) -> BlockRV:
        """Copy what an iteration of `loop` reads of a buffer into one of `storage_scope`, at its beginning."""
    def reindex(self, block: BlockRV | str, buffer: tuple[str, int] | str | Buffer) -> BlockRV:
        """Copy what `block` reads or writes of a buffer into one whose axes are the iterators of the block."""
    def reindex_cache_read(self, block: BlockRV | str, read_buffer_index: int | str | Buffer, storage_scope: str, index_map: IndexMap | IndexMapAttr | Callable[..., Any]) -> BlockRV:
        """Copy what `block` reads of a buffer into one of `storage_scope`, at places that `index_map` makes of iterators."""
    def reindex_cache_write(self, block: BlockRV | str, write_buffer_index: int | str | Buffer, storage_scope: str, index_map: IndexMap | IndexMapAttr | Callable[..., Any]) -> BlockRV:
        """Let `block` write a buffer of `storage_scope`, at places that `index_map` makes of iterators, and copy it back."""
    def reorder(self, *loops: LoopRV) -> None:
        """Change the order of loops of one nest: those given take the places of each other in the order given."""
    def reorder_block_iter_var(self, block: BlockRV | str, new_order: list[int]) -> None:
        """Change the order of a block's iterators: `new_order` are their positions."""
    def reverse_compute_at(self, block: BlockRV | str, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1) -> None:
        """Compute a consumer under `loop`, just the part that each iteration provides."""
    def reverse_compute_inline(self, block: BlockRV | str) -> None:
        """Write what a consumer computes where its producer stores; the consumer and the buffer between are no more."""
    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Let each iteration of a reduction loop have a result of its own, which are combined afterwards."""
    def rolling_buffer(self, block: BlockRV | str, write_buffer_index: int) -> None:
        """Keep what an iteration of the loops around `block` computes for the next one, in a buffer used in circles."""
    def sample_categorical(self, candidates: Sequence[Any], probs: Sequence[float], decision: int | None = None) -> ExprRV:
        """One of `candidates`, each as probable as its `probs`; the decision is its position."""
    def sample_compute_location(self, block: BlockRV | str, decision: int | None = None) -> LoopRV:
        """A place for `compute_at`: a loop around its consumers, `inline` where that is possible, or `root`."""
    def sample_partitioned_tile(self, loop: LoopRV, n: int, partition_pos: int = 0, innerpart_factor: int = 1, decision: Sequence[int] | None = None) -> list[ExprRV]:
        """`n` factors whose product is the extent of `loop`; `innerpart_factor` divides that of those from `partition_pos`."""
    def sample_perfect_tile(self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: Sequence[int] | None = None) -> list[ExprRV]:
        """`n` factors whose product is the extent of `loop`, the last one at most `max_innermost_factor`."""
    def set_axis_separator(self, block: BlockRV | str, buffer: tuple[str, int] | str | Buffer, axis_separators: Sequence[int]) -> None:
        """Keep groups of axes of a buffer apart when it is flattened: those before and after each of `axis_separators`."""
    def set_scope(self, block: BlockRV | str, buffer_index: int, storage_scope: str) -> None:
        """Put the buffer that `block` writes at `buffer_index` into another storage scope."""
    def split(self, loop: LoopRV, factors: Sequence[int | ExprRV | None], preserve_unit_iters: bool = True, disable_predication: bool = False) -> list[LoopRV]:
        """Split a loop into a nest of loops with the extents `factors`; one may be None or -1: what is left, rounded up."""
    def storage_align(self, block: BlockRV | str, buffer_index: int, axis: int, factor: int, offset: int) -> None:
        """Ask for strides of a buffer that `block` writes: that of `axis` is `offset` modulo `factor`, in elements."""
    def tensorize(self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = True) -> None:
        """Compute a block, or what is below a loop, by a tensor intrinsic."""
    def transform_block_layout(self, block: BlockRV | str, index_map: IndexMap | IndexMapAttr | Callable[..., Any]) -> None:
        """Let a block run over other iterators: those that `index_map` makes of its own."""
    def transform_layout(self, block: BlockRV | str, buffer: tuple[str, int] | str | Buffer, index_map: IndexMap | IndexMapAttr | Callable[..., Any], pad_value: int | float | PrimExpr | IndexMap | Callable[..., Any] | None = None, assume_injective_transform: bool = False) -> None:
        """Store a buffer that `block` reads or writes in another order, wherever it is accessed."""
    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Take the remark `ann_key` away from a loop or a block. Refused where there is none."""
    def unroll(self, loop: LoopRV) -> None:
        """Write the iterations of `loop` one after the other."""
    def unsafe_hide_buffer_access(self, block: BlockRV | str, buf_type: str, buf_index_array: Sequence[int]) -> None:
        """Take regions out of what `block` says that it reads or writes, though it accesses them."""
    def unsafe_set_dtype(self, block: BlockRV | str, buffer_index: int, dtype: str) -> None:
        """Store what `block` writes as another type of elements: values are converted when stored and when read."""
    def vectorize(self, loop: LoopRV) -> None:
        """Run the iterations of `loop` as the lanes of vectors."""
    def write_at(self, loop: LoopRV, block: BlockRV | str, write_buffer_index: int, storage_scope: str) -> BlockRV:
        """Let an iteration of `loop` write a buffer of `storage_scope`, and copy it into the buffer at its end."""
