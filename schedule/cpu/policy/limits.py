"""The numbers of the default schedule: sizes of tiles, panels and blocks, and thresholds of optimizations.

Each entry states its unit and the source of the number:

- an instruction set, or a processor's manual, fixes it;
- it follows from the number of registers, or from the size of a cache;
- it was measured, on Xeons with AVX-512 (Sapphire and Emerald Rapids) or on a Zen 3 core (AVX2), `docs/performance.md`;
- it bounds the code that is written, and thus the time of a build;
- it is assumed in place of a size that is known only when the program runs.

Target-dependent numbers are in `Machine`; the numbers of one decision are in its plan, where they can be edited.
"""

from __future__ import annotations

from typing import NamedTuple

# Memory and caches

LINE_BITS = 512
"""Bits of a cache line; the processors: all that are supported."""
L2_WAYS = 8
"""Lines of a set of the second-level cache; the processors: some have 16."""
RESIDENT_BITS = 1 << 23
"""Bits of a buffer; cache: a smaller one is in the second level, or soon will be."""
MAX_KEPT_BYTES = 32 << 20
"""Bytes of a result that a last-level cache keeps, regardless of its size; assumed: many cores share it."""
MANY_PAGES = 1 << 22
"""Bytes spanned by a strip of columns; the processors: more pages than their TLB translates at once."""
L3_BYTES_PER_CYCLE = 11
"""Bytes per cycle from the last-level cache while two vectors are multiplied per cycle; measured on AVX-512."""
STREAM_LINES_AHEAD = 32
"""Lines of prefetch distance for streamed results; measured on AVX-512: 16 to 64 are as good."""
FEW_ITERATIONS = frozenset((1, 2, 3))
"""Iterations of a loop; assumed: tiles of such short loops read separate lines, or their number tells little."""
SHORT_ROW = 256
"""Elements; assumed: a loop over rows that are as long costs little beside them."""
ASSUMED_TILES = 4
"""Tiles that share the prefetching of a panel; assumed if their number is unknown."""

# Tiles in registers

MANY_REGISTERS = 32
"""Vector registers; the instruction set: AVX-512 and AArch64 have 32, others 16."""
MAX_TILE_ROWS = 16
"""Rows of a tile; bounds the code: more rows save few loads of operands along the lanes."""
SUMS_IN_FLIGHT = 8
"""Vectors; the processors: two FMA units with a latency of four cycles process this many at a time."""
MIN_SUMS = 12
"""Vectors of a tile whose sums never stall; the processors: `SUMS_IN_FLIGHT`, and loads in between."""
MAX_TAIL_ROWS = 4
"""Rows of a tail tile; bounds the code: one additional tile, then single rows."""
MAX_SINGLE_TAIL = 2
"""Rows of a tail tile that is not padded; if remaining rows come in pairs, at most one is single."""
BLOCK_STEPS = 4
"""Steps of a reduction per loop iteration, and per prefetch; measured on Zen 3 and AVX-512."""
MAX_SQUARE = 16
"""Rows of a square transposed in registers; registers: more do not fit."""
MAX_SLIDING_TAPS = 8
"""Taps of a window that are unrolled; bounds the code."""
BORDER_ROWS_PER_TAP = 6
"""Image rows per kernel row minus one; measured: with more rows, most tiles are not at the border."""
MIN_STEPS_OF_PART = 256
"""Steps of a reduction for which a part of an operand is read; measured: each part stores and reloads all sums."""
NEIGHBOURS = frozenset[int | None]((0, 1))
"""Strides of an operand from lane to lane, in elements: a single value, or a vector load."""
NEAR_LANES = frozenset[int | None]((0, 1, 2, 3, 4))
"""Strides from lane to lane, in elements; the instruction set: vectors are shuffled out of the few that contain
them.
"""

# Assumptions and thresholds

MANY_ROWS = 64
"""Rows; assumed for an image of unknown height; with at least as many, their shared operand should be in a near
cache.
"""
ASSUMED_STEPS = 1024
"""Steps of a reduction; assumed if their number is unknown."""
MAX_UNROLLED = 1024
"""Any number of a plan except bytes; bounds the code: loops of as many steps are unrolled."""
MIN_VECTOR_RUN = 8
"""Contiguous elements; fewer do not justify a loop of vectors."""

# Panels

MIN_PANEL_ROWS = 24
"""Rows that use a panel; measured on AVX-512: with fewer rows, the copy costs too much of the benefit."""
MIN_PANEL_BYTES = 1 << 16
"""Bytes of a panel; cache: every second level is large enough."""
PANEL_PARTS = 2
"""Fraction of the second-level cache for a panel: rows of the other operand and results pass through it, too.

A larger panel is used in parts, and each part reads and writes all sums again.
"""
SHORT_IMAGE_ROW = 32
"""Columns of an image row; shorter rows are copied side by side into a panel."""
MAX_PANELS_ABREAST = 8
"""Panels that a tile uses before the next tile starts; cache: each needs lines of the first level."""
MIN_GROUPS_OF_PANELS = 16
"""Groups of panels side by side; leaves work for threads."""

# Reductions, scans, elementwise stages

SUMMED_TOGETHER = 4
"""Vectors whose lanes are summed together; the instruction set: by shuffles within 128 bits."""
FEW_SUMMED = (3, 2)
"""Rows of a tile of sums with 16 registers, the first that divides: 12 sums, 3 rows, one column at a time."""
SUMS_OF_TILE = (4, SUMS_IN_FLIGHT, 1)
"""Vectors summed side by side in tiles of zero, one, two iterators; the processors: additions depend on each other."""
COMPARED_VECTORS = (4, 2, 1)
"""Vectors compared side by side in an argmax, in order of preference; the one with the smallest remainder is used."""
SCAN_WIDTH = 512
"""Totals of a scan side by side; cache: enough lines to read memory in runs, and a fraction of the first level."""
INTERLEAVED_VECTORS = (2, 3, 4)
"""Vectors interleaved in registers; the instruction set: by few shuffles."""


class Streams(NamedTuple):
    """The number of rows read at a time, the prefetch distance in bytes, and the minimal length of such a row in
    bytes.
    """

    count: int
    prefetch_bytes: int
    row_bytes: int


WIDE_STREAMS = Streams(8, 1 << 11, 1 << 12)
"""Rows and bytes for vectors of 512 bits; measured on AVX-512, where distances of 1 to 3 KiB are as good."""
NARROW_STREAMS = Streams(4, 1 << 8, 1 << 10)
"""Rows and bytes for narrower vectors; measured on Zen 3, whose hardware prefetchers follow such streams.

A larger distance reaches 0.8 of the rate, tiles with 64 bytes per row 0.65.
"""

# Inlining

MAX_INLINED_COPIES = 3
"""Copies of a cheap element; bounds the code."""
MAX_ROW_VERSIONS = 4
"""Versions of a row for conditions that hold for all of it or none; bounds the code."""
MAX_ROW_CHOICES = 8
"""Choices along a row, each with loops of its own; bounds the code."""
MAX_INLINED_DEPTH = 128
"""Operations in a chain; Python's stack: vectorization recurses over expressions."""
MANY_OPERATIONS = 64
"""Operations of a block from which on common ones are merged; bounds the time of that search."""

# Products of narrow types

MAX_BOUND = 1 << 20
"""Steps of a sum; a larger bound counts as unbounded."""
MAX_PANEL_WIDTH = 64
"""Columns of a packed panel that share the rows of a group; the width written by `pack-convolutions`."""
MAX_PAIRED_ROWS = 4
"""Rows of a tile of pairs of bytes; registers: each row takes one more."""
MAX_SHIFTED_ROWS = 12
"""Rows of a tile with an additional row of 128s; registers."""
MANY_WINDOWS = 128
"""Windows that use a panel of pairs; measured on Zen 3: with as many, the next panel needs no prefetching."""
ROW_BLOCK_PARTS = 4
"""Fraction of the second-level cache for a block of rows; weights have at most half of it."""
MAX_PAIR_SUM = 32767
"""Sum of two products of bytes; the instruction set: `vpmaddubsw` saturates."""
MAX_PAIR_FACTOR = 127
"""Signed byte of such a product, which is never -128."""

# Blocks of quantized numbers

LONG_BLOCK = 64
"""Elements of a block; bounds the code: longer blocks are unpacked to memory first, and have smaller tiles."""
FEW_BLOCK_ROWS = 4
"""Rows of a tile with 16 registers, or of long blocks; registers."""
BLOCK_PRODUCT_ROWS = 12
"""Rows of a tile of products of bytes; registers: 32, of which 8 hold the words of a block."""
BLOCK_FLOAT_ROWS = 8
"""Rows of a tile of products of floats; registers: 32, each row has chains of sums besides its total."""
BLOCK_FLOAT_CHAINS = 4
"""Sums of a tile computed side by side; the processors: a single row has several chains."""

# Attention

QUERIES = 128
"""Rows of a tile of scores; measured on AVX-512."""
MAX_ONLY_QUERIES = 256
"""Rows that form a single tile: more rows per panel of keys, and no remainder; measured on AVX-512."""
MIN_KEYS, MAX_KEYS = 64, 512
"""Columns of a tile of scores; cache: within this range as many as take a quarter of the second level, in float32."""
CAUSAL_QUERIES, FEW_CAUSAL_QUERIES = 64, 32
"""Rows of a tile with a causal mask; measured: scores above the diagonal are computed in vain.

The second number is for few rows, or an unknown number of them.
"""
KEYS_OF_PIECE, KEYS_AHEAD = 16, 16
"""Keys of a piece, during which as many are prefetched, and the prefetch distance in keys; the keys of a piece are
transposed in registers."""
KEYS_IN_LANES = 64
"""Keys that few queries copy before they multiply; registers: several vectors of sums, as each waits for itself."""
MANY_HEADS = 16
"""Heads whose keys are not spread over threads; heads alone keep threads evenly busy."""

# Matrix registers (AMX)

AMX_ROWS, AMX_LANES = 16, 16
"""Rows of a register, and elements of 32 bits in a row; the instruction set."""
AMX_STEP_BYTES = 4
"""Bytes of a row, or of a column, that a step multiplies; the instruction set."""
AMX_PAIR = 2
"""Registers of rows, and of columns, that are multiplied by each other; registers: 4 for sums, 2 for each operand,
of 8.
"""
AMX_CONFIG_BYTES = 64
"""Bytes that hold the sizes of the registers, a row's bytes at 16 + 2 r, the number of rows at 48 + r; the
instruction set.
"""
AMX_TILES = 8
"""Tiles of rows per configuration, which takes as long as some products; measured on Sapphire Rapids."""
MIN_AMX_ROWS, MIN_AMX_STEPS = 6, 6
"""Rows, and steps, of a register; measured on Sapphire Rapids: with fewer, vectors take no longer."""
