import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="6. Schedules")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 6. Schedules: from a hundredth of the machine to all of it

    One matrix product, the same additions and multiplications in every version of it. The first takes a hundred
    times as long as the last. Nothing of what is *computed* changes on the way, only the *order*; and we shall see
    the order, in pictures that the interpreter takes while it runs our loops.
    """)
    return


@app.cell
def _():
    import marimo as mo
    import numpy as np
    from lesson import listing, picture, right, seconds, table, verdict

    from tirax.interpreter import assert_same_meaning
    from tirax.runtime import set_num_threads
    from tirax.schedule import Schedule, ScheduleError
    from tirax.target import Target
    from tirax.tools.access_patterns import Cache, record
    from tirax.tools.access_pictures import draw
    from tirax.tvm_api import build
    from tirax.tvm_api.script import ir as I
    from tirax.tvm_api.script import tir as T

    return (
        Cache,
        I,
        Schedule,
        ScheduleError,
        T,
        Target,
        assert_same_meaning,
        build,
        draw,
        listing,
        mo,
        np,
        picture,
        record,
        right,
        seconds,
        set_num_threads,
        table,
        verdict,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What the machine can do

    First the goal. This asks your processor how many multiply-adds it can do when nothing else is to be done, no
    memory, no loops worth speaking of, on one thread:
    """)
    return


@app.cell
def _(Target, set_num_threads, table):
    from tirax.runtime.profiling.limits import measured_limits

    set_num_threads(1)
    limits = measured_limits()
    machine = Target("llvm")
    lanes, registers = machine.lanes("float32"), machine.vector_registers
    table(
        ["", "this machine"],
        [
            ("multiplications and additions, GFLOP/s", limits.operations / 1e9),
            ("copying within the cache, GB/s", limits.bandwidth[0][1] / 1e9),
            ("copying in main memory, GB/s", limits.bandwidth[-1][1] / 1e9),
            ("numbers in a vector register", lanes),
            ("vector registers", registers),
        ],
    )
    return lanes, limits, machine, registers


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Compare the first two rows. To multiply and add takes two operands of 4 bytes; to fetch both from memory each
    time would need many times what memory can give. **Whoever wants to compute fast must fetch little.** That is
    the whole notebook.

    ## As it is written
    """)
    return


@app.cell
def _(I, T, build, limits, np, seconds, table):
    def product(n):
        @I.ir_module
        class Product:
            @T.prim_func
            def main(A: T.Buffer((n, n), "float32"), B: T.Buffer((n, n), "float32"), C: T.Buffer((n, n), "float32")):
                T.func_attr({"tir.noalias": T.bool(True), "tir.is_scheduled": T.bool(True)})
                for i, j, k in T.grid(n, n, n):
                    with T.block("C"):
                        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                        with T.init():
                            C[vi, vj] = T.float32(0)
                        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

        return Product

    SIZE = 384
    a, b = np.random.default_rng(0).random((2, SIZE, SIZE), dtype="float32")

    def part_of_the_peak(module):
        """GFLOP/s of a product of this size, and which part of the peak that is; first of all it has to be right."""
        run, c = build(module, target="llvm -num-cores=1")["main"], np.zeros((SIZE, SIZE), "float32")
        run(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4)
        speed = 2 * SIZE**3 / seconds(lambda: run(a, b, c), 0.1)
        return speed / 1e9, speed / limits.operations

    as_written = part_of_the_peak(product(SIZE))
    table(["", "GFLOP/s", "of the peak"], [("as it is written", *as_written)])
    return SIZE, as_written, part_of_the_peak, product


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    (`tir.is_scheduled` tells the compiler to keep its hands off. Otherwise it would do what we are about to do.)

    A hundredth. The machine is not slow, it waits. For what? Let us look. For pictures a small product is enough;
    the interpreter records each access, and a little cache of 12 lines, 4 numbers each, stands for the large one in
    your processor:
    """)
    return


@app.cell
def _(Cache, draw, picture, product, record):
    TOY = 16
    toy_cache = Cache(lines=12, line=4)

    def film(pattern, title):
        return picture(draw(pattern, title, cache=toy_cache, square=11, buffers=["A", "B", "C"]))

    naive = record(product(TOY))
    film(naive, "i, j, k: as it is written")
    return TOY, film, naive, toy_cache


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    `C` is finished one element after the other; for each the loop goes through a row of `A` and through a
    **column** of `B`. A column is the worst way through a matrix: memory comes in lines, neighbours of a row
    together, and of each line we use one number before we need another line. When we come back to it, the line is
    gone:
    """)
    return


@app.cell
def _(naive, table, toy_cache):
    def loads(pattern):
        """The lines that the little cache had to load."""
        misses = toy_cache.misses(pattern)
        return misses["A"], misses["B"], misses["C"], sum(misses.values())

    table(["", "A", "B", "C", "all"], [("as it is written", *loads(naive)), ("each line once", 64, 64, 64, 192)])
    return (loads,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Another order

    A `Schedule` changes loops. Its methods are called *primitives*, and each of them either keeps the meaning or
    refuses. The one for today's first trouble: let `j` be the innermost loop, and both `B` and `C` are walked along
    their rows.
    """)
    return


@app.cell
def _(Schedule, TOY, assert_same_meaning, film, product, record):
    def by_rows(schedule):
        i, j, k = schedule.get_loops("C")
        schedule.reorder(i, k, j)
        return schedule.mod

    assert_same_meaning(product(TOY).op, by_rows(Schedule(product(TOY))).op)
    rows_first = record(by_rows(Schedule(product(TOY))))
    film(rows_first, "i, k, j: rows of B")
    return by_rows, rows_first


@app.cell
def _(
    SIZE,
    Schedule,
    as_written,
    by_rows,
    loads,
    mo,
    naive,
    part_of_the_peak,
    product,
    rows_first,
    table,
):
    reordered = part_of_the_peak(by_rows(Schedule(product(SIZE))))
    mo.vstack(
        [
            table(
                ["lines loaded", "A", "B", "C", "all"], [("i, j, k", *loads(naive)), ("i, k, j", *loads(rows_first))]
            ),
            table(["", "GFLOP/s", "of the peak"], [("i, j, k", *as_written), ("i, k, j", *reordered)]),
        ]
    )
    return (reordered,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    One line of code. And what about lying? Parallel over `k` would be wrong, since all steps of a sum write the
    same element:
    """)
    return


@app.cell
def _(Schedule, ScheduleError, TOY, listing, product):
    def refusal():
        schedule = Schedule(product(TOY))
        try:
            schedule.parallel(schedule.get_loops("C")[2])
        except ScheduleError as error:
            return str(error)
        return "it was done"

    listing(refusal(), "text")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Tiles

    Now `C` is what we fetch too often: each element is read and written anew for each `k`. Where should a number be
    that is needed so often? In a *register*, which costs nothing. There are few, so we keep a small **tile** of `C`
    in them, and let `k` run from its beginning to its end with the tile in place.

    How large? With `r` rows of `v` vectors the tile needs `r · v` registers, `v` more for a piece of `B` and one
    for an element of `A`. A step loads `v + r` things and does `r · v` multiply-adds with them. The more of these
    for each load, the better:
    """)
    return


@app.cell
def _(SIZE, lanes, registers, table):
    def tiles(most):
        """(multiply-adds for each load, rows, vectors) of tiles that fit into the registers and divide the matrix."""
        for r in range(1, most):
            for v in range(1, most):
                if r * v + v + 1 <= most and SIZE % r == 0 and SIZE % (v * lanes) == 0:
                    yield r * v / (r + v), r, v

    ratio, ROWS, VECTORS = max(tiles(registers))
    table(["multiply-adds a load", "rows", "vectors"], sorted(tiles(registers), reverse=True)[:5])
    return ROWS, VECTORS


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Here is the tile, as a schedule. Read it as instructions to somebody who sorts the work:
    """)
    return


@app.cell
def _(Schedule, TOY, assert_same_meaning, film, product, record):
    def in_tiles(schedule, rows, columns):
        result = schedule.cache_write("C", 0, "local")  # a place for the tile, in registers
        i, j, k = schedule.get_loops("C")
        i_0, i_1 = schedule.split(i, [None, rows])
        j_0, j_1 = schedule.split(j, [None, columns])
        schedule.reorder(j_0, i_0, k, i_1, j_1)  # for each tile: all k; for each k: the tile
        schedule.reverse_compute_at(result, i_0)  # a finished tile goes to memory
        start = schedule.decompose_reduction("C", k)  # zeros before k, not within it
        for block in ("C_update", start, result):
            across, along = schedule.get_loops(block)[-2:]
            schedule.unroll(across)
            schedule.vectorize(along)
        return schedule.mod

    assert_same_meaning(product(TOY).op, in_tiles(Schedule(product(TOY)), 4, 8).op)
    toy_tiles = record(in_tiles(Schedule(product(TOY)), 4, 8))
    film(toy_tiles, "tiles of 4 rows and 8 columns")
    return in_tiles, toy_tiles


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    `C` is touched once, when a tile is done; the rest of the time it lives in the buffer `C_local` (which we left
    out of the picture, as the machine leaves it out of memory). Each step reads a piece of a row of `B` and a piece
    of a column of `A`.
    """)
    return


@app.cell
def _(
    ROWS,
    SIZE,
    Schedule,
    VECTORS,
    in_tiles,
    lanes,
    loads,
    mo,
    part_of_the_peak,
    product,
    reordered,
    rows_first,
    table,
    toy_tiles,
):
    tiled = part_of_the_peak(in_tiles(Schedule(product(SIZE)), ROWS, VECTORS * lanes))
    mo.vstack(
        [
            table(
                ["lines loaded", "A", "B", "C", "all"], [("i, k, j", *loads(rows_first)), ("tiles", *loads(toy_tiles))]
            ),
            table(
                ["", "GFLOP/s", "of the peak"],
                [("i, k, j", *reordered), (f"tiles of {ROWS} × {VECTORS * lanes}", *tiled)],
            ),
        ]
    )
    return (tiled,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Let us look at what the processor gets. This is the part of the machine code with the most multiply-adds:
    """)
    return


@app.cell
def _(
    ROWS,
    SIZE,
    Schedule,
    VECTORS,
    in_tiles,
    lanes,
    listing,
    machine,
    product,
):
    from tirax.driver.build import lower
    from tirax.lowering.llvm_text import print_llvm
    from tirax.lowering.machine import emit_assembly

    def inner_loop(module):
        """The longest straight piece of assembly that multiplies and adds."""
        text = emit_assembly(print_llvm(lower(module, machine)), machine)
        pieces = [[]]
        for line in text.splitlines():
            if line.endswith(":"):
                pieces.append([])
            elif not line.strip().startswith((".", "#")):
                pieces[-1].append(line.replace("\t", " ").strip())
        longest = max(pieces, key=lambda lines: sum("fmadd" in line or "fmla" in line for line in lines))
        last = max((n for n, line in enumerate(longest) if "fmadd" in line or "fmla" in line), default=0)
        return longest[: last + 4]

    listing("\n".join(inner_loop(in_tiles(Schedule(product(SIZE)), ROWS, VECTORS * lanes))), "text")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The piece of `B` is loaded; an element of `A` goes into all lanes of a register, and then come as many
    multiply-adds with it as the tile has vectors. Nothing is stored at all: the tile stays where it is until the
    loop has ended.

    ## Panels

    What is left? `B`. A tile reads 64 numbers of a row, and then those of the next row, a whole row further on in
    memory. That is a jump for each `k`, over and over for every tile of the column; the hardware that fetches ahead
    gives up on it, and lines fight for the same places of the cache. So copy the strip of `B` once, for all tiles
    below each other, to where it lies in one piece:
    """)
    return


@app.cell
def _(Schedule, TOY, assert_same_meaning, in_tiles, listing, product):
    def in_panels(schedule, rows, columns):
        in_tiles(schedule, rows, columns)
        panel = schedule.cache_read("C_update", 2, "global")
        j_0 = schedule.get_loops("C_update")[0]
        schedule.compute_at(panel, j_0)  # once for each strip of columns
        schedule.vectorize(schedule.get_loops(panel)[-1])
        return schedule.mod

    toy_panels = in_panels(Schedule(product(TOY)), 4, 8)
    assert_same_meaning(product(TOY).op, toy_panels.op)
    listing(toy_panels["main"].script())
    return (in_panels,)


@app.cell
def _(
    ROWS,
    SIZE,
    Schedule,
    VECTORS,
    as_written,
    in_panels,
    lanes,
    part_of_the_peak,
    product,
    reordered,
    table,
    tiled,
):
    panels = part_of_the_peak(in_panels(Schedule(product(SIZE)), ROWS, VECTORS * lanes))
    journey = {"as it is written": as_written, "rows first": reordered, "tiles": tiled, "tiles and panels": panels}
    table(["", "GFLOP/s", "of the peak"], [(name, *result) for name, result in journey.items()])
    return (journey,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    When this was written, on one core of a Sapphire Rapids with nothing else to do, the column said 0.009, 0.19,
    0.82 and 0.97. If yours says less in the end, something else may be running: run the cell again. (And if it says
    more than 1, something else was running while the peak was measured.)
    """)
    return


@app.cell(hide_code=True)
def _(journey, picture):
    def bars(results):
        """The journey as a picture: the whole width is the peak."""
        height = 34 * len(results) + 34
        font = 'font-family="sans-serif" font-size="13"'
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" {font}>']
        out.append(f'<line x1="640" x2="640" y1="6" y2="{height - 24}" stroke="#d9480f" stroke-width="2"/>')
        out.append(f'<text x="640" y="{height - 8}" text-anchor="middle" fill="#d9480f">the peak</text>')
        for row, (name, (speed, part)) in enumerate(results.items()):
            y = 34 * row + 10
            out.append(f'<text x="130" y="{y + 16}" text-anchor="end" fill="#333">{name}</text>')
            out.append(f'<rect x="140" y="{y}" width="{500 * min(part, 1.04):.1f}" height="22" fill="#1f77b4"/>')
            anchor, at, colour = (
                ("end", 500 * part + 132, "#fff") if part > 0.3 else ("start", 500 * part + 148, "#333")
            )
            out.append(f'<text x="{at:.1f}" y="{y + 16}" text-anchor="{anchor}" fill="{colour}">{part:.3f}</text>')
        return "\n".join([*out, "</svg>"])

    picture(bars(journey))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What we did, as data

    Everything that a schedule did is its *trace*: a program, too, which can be printed, kept, and done again on
    another function. It is what the next notebook's tuner searches in.
    """)
    return


@app.cell
def _(Schedule, TOY, in_tiles, listing, product):
    traced = Schedule(product(TOY))
    in_tiles(traced, 4, 8)
    listing(str(traced.trace))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The default schedule of tirax makes these decisions by rules, for every operator, and without a trace;
    `plan-schedule` prints what it decided ([how](../default_schedule.md)).

    ## Exercises

    **1.** A transpose, `B[j, i] = A[i, j]`, is a product's little sister: whatever the order of its two loops, one
    of the matrices is walked by columns. Schedule it so that the little cache of *eight* lines loads every line of
    both matrices once. Write a function of a `Schedule`; the block is called `"B"`.
    """)
    return


@app.cell(hide_code=True)
def _(Cache, I, Schedule, T, assert_same_meaning, record):
    @I.ir_module
    class Transpose:
        @T.prim_func
        def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
            for i, j in T.grid(16, 16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vj, vi] = A[vi, vj]

    def check_1(answer):
        if answer is None:
            return "Write a function of a schedule: `get_loops`, `split`, `reorder`."
        schedule = Schedule(Transpose)
        answer(schedule)
        assert_same_meaning(Transpose.op, schedule.mod.op)
        misses = Cache(lines=8, line=4).misses(record(schedule.mod))
        if sum(misses.values()) > 128:
            return (
                f"It loads {misses['A']} lines of A and {misses['B']} of B; each has 64. A line is 4 long, and 8 fit."
            )
        return None

    return (check_1,)


@app.cell
def _(check_1, verdict):
    answer_1 = None
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(check_1, right):
    def solution_1(schedule):
        i, j = schedule.get_loops("B")
        i_0, i_1 = schedule.split(i, [None, 4])
        j_0, j_1 = schedule.split(j, [None, 4])
        schedule.reorder(i_0, j_0, i_1, j_1)

    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** Fuse two loops over memory into one. `relu(x + b)` comes as two blocks, `"S"` and `"Y"`, with a buffer
    between them. Schedule it so that the sum is never stored: no buffer but the parameters is left.
    """)
    return


@app.cell(hide_code=True)
def _(I, Schedule, T, assert_same_meaning, record):
    @I.ir_module
    class Bias:
        @T.prim_func
        def main(X: T.Buffer((8, 16), "float32"), b: T.Buffer((16,), "float32"), Y: T.Buffer((8, 16), "float32")):
            S = T.alloc_buffer((8, 16))
            for i, j in T.grid(8, 16):
                with T.block("S"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    S[vi, vj] = X[vi, vj] + b[vj]
            for i, j in T.grid(8, 16):
                with T.block("Y"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    Y[vi, vj] = T.max(S[vi, vj], T.float32(0))

    def check_2(answer):
        if answer is None:
            return (
                "Write a function of a schedule. There is a primitive that computes a block within those that read it."
            )
        schedule = Schedule(Bias)
        answer(schedule)
        assert_same_meaning(Bias.op, schedule.mod.op)
        buffers = set(record(schedule.mod).buffers)
        if buffers != {"X", "b", "Y"}:
            return f"These buffers are accessed: {', '.join(sorted(buffers))}."
        return None

    return (check_2,)


@app.cell
def _(check_2, verdict):
    answer_2 = None
    verdict(check_2(answer_2))
    return


@app.cell(hide_code=True)
def _(check_2, right):
    def solution_2(schedule):
        schedule.compute_inline("S")

    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** Tiles for a larger cache. Schedule `product(16)`, without `cache_write`, so that a cache of 24 lines,
    twice the one above, loads at most 400 lines in all (as it is written: 1152). It need not be fast. Which loops
    should be cut, and which be innermost?
    """)
    return


@app.cell(hide_code=True)
def _(Cache, Schedule, TOY, assert_same_meaning, product, record):
    def check_3(answer):
        if answer is None:
            return "Write a function of a schedule; the block is called `C`."
        schedule = Schedule(product(TOY))
        answer(schedule)
        assert_same_meaning(product(TOY).op, schedule.mod.op)
        pattern = record(schedule.mod)
        if set(pattern.buffers) != {"A", "B", "C"}:
            return "Without other buffers, please: `split` and `reorder` are enough."
        misses = Cache(lines=24, line=4).misses(pattern)
        if sum(misses.values()) > 400:
            return f"Loaded lines: {dict(misses)}, {sum(misses.values())} in all. A tile of 8 × 8 numbers has 16 lines."
        return None

    return (check_3,)


@app.cell
def _(check_3, verdict):
    answer_3 = None
    verdict(check_3(answer_3))
    return


@app.cell(hide_code=True)
def _(check_3, right):
    def solution_3(schedule):
        i, j, k = schedule.get_loops("C")
        i_0, i_1 = schedule.split(i, [None, 8])
        j_0, j_1 = schedule.split(j, [None, 8])
        k_0, k_1 = schedule.split(k, [None, 8])
        schedule.reorder(i_0, j_0, k_0, i_1, j_1, k_1)

    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Where next

    We chose the tile with a formula, and were lucky: there was one. In the [next
    notebook](07_tuning_and_extending.py) the machine tries, and then we teach the compiler things that nobody
    thought of.
    """)
    return


if __name__ == "__main__":
    app.run()
