"""The numbers of the default schedule: how large tiles, panels and blocks are, and from which size on something pays.

Each entry names its unit and where the number comes from:

- an instruction set, or a processor's manual, fixes it;
- it follows from the number of registers, or from the size of a cache;
- it was measured, on Xeons with AVX-512 (Sapphire and Emerald Rapids) or on a Zen 3 core (AVX2), `docs/performance.md`;
- it bounds the code that is written, and thus the time of a build;
- it is assumed in place of a size that is known only when the program runs.

What depends on the target is a number of `Machine`; numbers of one decision are in its plan, and can be edited there.
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
"""Bytes of a result that a last-level cache keeps, however large it is; assumed: many cores share it."""
MANY_PAGES = 1 << 22
"""Bytes that a strip of columns spreads over; the processors: their pages are more than are translated at once."""
L3_BYTES_PER_CYCLE = 11
"""Bytes of the last cache while vectors are multiplied, two in a cycle; measured on AVX-512."""
STREAM_LINES_AHEAD = 32
"""Lines from what is read to what is prefetched past the caches; measured on AVX-512: 16 to 64 are as good."""
FEW_ITERATIONS = frozenset((1, 2, 3))
"""Iterations; assumed: tiles of so few loops read lines of their own, or their number tells little."""
ASSUMED_TILES = 4
"""Tiles that share the prefetching of a panel; assumed of an unknown number of them."""

# Tiles in registers

MANY_REGISTERS = 32
"""Vector registers; the instruction set: AVX-512 and AArch64 have as many, others 16."""
MAX_TILE_ROWS = 16
"""Rows of a tile; bounds the code, more save few loads of what lies along the lanes."""
SUMS_IN_FLIGHT = 8
"""Vectors; the processors: two units that multiply and add, of four cycles, work on so many."""
MIN_SUMS = 12
"""Vectors of a tile whose sums never wait for each other; the processors: `SUMS_IN_FLIGHT`, and loads between."""
MAX_TAIL_ROWS = 4
"""Rows of a tile where fewer are left than fill one; bounds the code: one tile more, then single rows."""
MAX_SINGLE_TAIL = 2
"""Rows of a tail tile that is not padded; of rows left in pairs one at most is single."""
BLOCK_STEPS = 4
"""Steps of a reduction for one end of a loop, and for one prefetch; measured on Zen 3 and AVX-512."""
MAX_SQUARE = 16
"""Rows of a square transposed in registers; registers: more do not fit."""
MAX_SLIDING_TAPS = 8
"""Taps of a window, one after the other in the code; bounds the code."""
BORDER_ROWS_PER_TAP = 6
"""Rows of an image for each row of the kernel but one; measured: with more, most tiles are not at the border."""
MIN_STEPS_OF_PART = 256
"""Steps of a reduction for which a part of an operand is read; measured: each part stores and loads all sums again."""
NEIGHBOURS = frozenset[int | None]((0, 1))
"""Elements from lane to lane of an operand: one value, or a vector that is loaded."""
NEAR_LANES = frozenset[int | None]((0, 1, 2, 3, 4))
"""Elements from lane to lane; the instruction set: vectors are shuffled out of the few that they lie in."""

# What is unknown, and what is much

MANY_ROWS = 64
"""Rows; assumed of an image of unknown height; from so many on what they share is worth being in a near cache."""
ASSUMED_STEPS = 1024
"""Steps of a reduction; assumed where their number is unknown."""
MAX_UNROLLED = 1024
"""Of a number of a plan but bytes; bounds the code: loops of so many steps are unrolled."""
MIN_VECTOR_RUN = 8
"""Neighbours in memory; fewer are not worth a loop of vectors."""

# Panels

MIN_PANEL_ROWS = 24
"""Rows that use a panel; measured on AVX-512: with fewer, copying it costs too much of what it saves."""
MIN_PANEL_BYTES = 1 << 16
"""Bytes of a panel; cache: every second level has room for them."""
PANEL_PARTS = 2
"""Parts of the second-level cache, one of which is a panel's: rows of the other operand and results pass through, too.
A larger panel is summed up part by part, and each part reads and writes all sums again."""
SHORT_IMAGE_ROW = 32
"""Columns of an image's row; shorter rows are copied side by side into a panel."""
MAX_PANELS_ABREAST = 8
"""Panels that a tile passes by before the next one does; cache: with the first-level cache's lines for each."""
MIN_GROUPS_OF_PANELS = 16
"""Groups of panels side by side; leaves work for threads."""

# Reductions, scans, elementwise stages

SUMMED_TOGETHER = 4
"""Vectors whose lanes are summed at once; the instruction set: by shuffles within 128 bits."""
FEW_SUMMED = (3, 2)
"""Rows of a tile of sums with 16 registers, the first that divides: 12 sums, 3 rows, one of the columns at a time."""
SUMS_OF_TILE = (4, SUMS_IN_FLIGHT, 1)
"""Vectors summed side by side in tiles of no, one, two iterators; the processors: an addition waits for the last."""
COMPARED_VECTORS = (4, 2, 1)
"""Vectors compared side by side in an argmax, those first that leave the fewest elements over."""
SCAN_WIDTH = 512
"""Totals of a scan side by side; cache: enough lines to read memory in runs, a part of the first level."""
INTERLEAVED_VECTORS = (2, 3, 4)
"""Vectors interleaved in registers; the instruction set: by few shuffles."""


class Streams(NamedTuple):
    """How many rows are read at a time, how far before its use a line is prefetched, and the shortest such row."""

    count: int
    prefetch_bytes: int
    row_bytes: int


WIDE_STREAMS = Streams(8, 1 << 11, 1 << 12)
"""Rows and bytes for vectors of 512 bits; measured on AVX-512, where 1 to 3 KiB ahead are as good."""
NARROW_STREAMS = Streams(4, 1 << 8, 1 << 10)
"""Rows and bytes for narrower vectors; measured on Zen 3, which foresees such streams: further ahead 0.8 of the rate,
tiles of 64 bytes a row 0.65."""

# Inlining

MAX_INLINED_COPIES = 3
"""Places where a cheap element is computed; bounds the code."""
MAX_INLINED_DEPTH = 128
"""Operations one after the other; Python's stack: vectorization follows an expression by calling itself."""
MANY_OPERATIONS = 64
"""Operations of a block from which on those that compute the same become one; bounds the time of that search."""

# Products of narrow types

MAX_BOUND = 1 << 20
"""Steps of a sum; what is bounded by more is not bounded."""
MAX_PANEL_WIDTH = 64
"""Columns of a packed panel that share the rows of a group; what `pack-convolutions` writes."""
MAX_PAIRED_ROWS = 4
"""Rows of a tile of pairs of bytes; registers: each row takes one more."""
MAX_SHIFTED_ROWS = 12
"""Rows of a tile that has one more, of 128s; registers."""
MANY_WINDOWS = 128
"""Windows that use a panel of pairs; measured on Zen 3: with as many the next panel needs no prefetching."""
ROW_BLOCK_PARTS = 4
"""Parts of the second-level cache, one of which is a block of rows': weights have half of it at most."""
MAX_PAIR_SUM = 32767
"""Of two products of bytes; the instruction set: `vpmaddubsw` saturates."""
MAX_PAIR_FACTOR = 127
"""Of the signed byte of such a product, which is never -128."""

# Blocks of quantized numbers

LONG_BLOCK = 64
"""Numbers of a block; bounds the code: longer ones are unpacked into memory first, and have smaller tiles."""
FEW_BLOCK_ROWS = 4
"""Rows of a tile with 16 registers, or of long blocks; registers."""
BLOCK_PRODUCT_ROWS = 12
"""Rows of a tile of products of bytes; registers: 32, of which 8 hold the words of a block."""
BLOCK_FLOAT_ROWS = 8
"""Rows of a tile of products of floats; registers: 32, each row has a chain of sums besides its total."""
BLOCK_FLOAT_CHAINS = 4
"""Sums of a tile begun side by side; the processors: a row alone has several."""

# Attention

QUERIES = 128
"""Rows of a tile of scores; measured on AVX-512."""
MAX_ONLY_QUERIES = 256
"""Rows that are one tile: more for each panel of keys, and none left over; measured on AVX-512."""
MIN_KEYS, MAX_KEYS = 64, 512
"""Columns of a tile of scores; cache: between them as many as take a quarter of the second level, in float32."""
CAUSAL_QUERIES, FEW_CAUSAL_QUERIES = 64, 32
"""Rows of a tile where a mask ends what they look at; measured: what is above its diagonal is computed in vain. Fewer
where there are few, or any number of them."""
KEYS_OF_PIECE, KEYS_AHEAD = 4, 16
"""Keys of a piece, while which memory brings as many, and keys between that piece and these; measured on AVX-512."""
PARTS_OF_KEYS, KEYS_OF_PART = 16, 128
"""Parts of all heads, which keep threads busy evenly; keys of a tile of a part."""

# Matrix registers (AMX)

AMX_ROWS, AMX_LANES = 16, 16
"""Rows of a register, and elements of 32 bits in a row; the instruction set."""
AMX_STEP_BYTES = 4
"""Bytes of a row, or of a column, that a step multiplies; the instruction set."""
AMX_PAIR = 2
"""Registers of rows, and of columns, that are multiplied by each other; registers: 4 sums, 2 and 2 of 8."""
AMX_CONFIG_BYTES = 64
"""Bytes that hold the sizes of the registers, a row's at 16 + 2 r, the rows' at 48 + r; the instruction set."""
AMX_TILES = 8
"""Tiles of rows for one configuration, which takes as long as some products; measured on Sapphire Rapids."""
MIN_AMX_ROWS, MIN_AMX_STEPS = 6, 6
"""Rows, and steps, of a register; measured on Sapphire Rapids: with fewer, vectors take no longer."""
