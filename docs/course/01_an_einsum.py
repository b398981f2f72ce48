import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="1. An einsum")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 1. An einsum, and what a compiler sees in it

    Eight notebooks from here a transformer will run as machine code that we made, and we shall know why each of its
    loops is as it is. A transformer is a big thing; most of its time goes into one small thing, done again and
    again. So we begin with that one, and stay with it until nothing about it is a mystery.

    *Every number in this course is computed on your machine while you read. Change a cell and what depends on it
    runs again.*
    """)
    return


@app.cell
def _():
    import marimo as mo
    import numpy as np
    from lesson import listing, right, seconds, table, verdict

    return listing, mo, np, right, seconds, table, verdict


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Five words look at each other

    Attention asks of each word how much it has to do with each other word. A word that asks has a vector `q`, a
    word that is asked has a vector `k`, and the answer is their dot product. Here are five words with vectors of
    eight numbers:
    """)
    return


@app.cell
def _(np):
    rng = np.random.default_rng(0)
    q, k = rng.random((2, 5, 8), dtype="float32")
    scores = np.einsum("id,jd->ij", q, k)
    scores.round(2)
    return k, q, rng, scores


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The string `id,jd->ij` is a whole program. Letters on the right of the arrow stay: for each `i` and each `j`
    there is a result. A letter that does not come back, `d`, is summed over. That is all there is to an einsum, and
    written out it is three loops:
    """)
    return


@app.cell
def _(k, np, q, scores):
    def scores_in_loops(q, k):
        out = np.zeros((5, 5), "float32")
        for i in range(5):
            for j in range(5):
                for d in range(8):
                    out[i, j] += q[i, d] * k[j, d]
        return out

    float(abs(scores_in_loops(q, k) - scores).max())
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The same as data

    Python runs these loops, and forgets them. A compiler must not run them yet: it wants to *look* at them, turn
    them around, and only then run something. So it needs the loops as data. That data is the **IR**, the
    intermediate representation.

    There are several ways to make some. The shortest one says what each *element* of the result is, a tensor
    expression:
    """)
    return


@app.cell
def _(listing):
    from tirax.tvm_api import te

    Q = te.placeholder((5, 8), name="Q")
    K = te.placeholder((5, 8), name="K")
    d = te.reduce_axis((0, 8), name="d")
    S = te.compute((5, 5), lambda i, j: te.sum(Q[i, d] * K[j, d], axis=d), name="S")

    function = te.create_prim_func([Q, K, S])
    listing(function.script())
    return function, te


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Nothing was multiplied. What we see is a description of three loops. Read it from the outside in:

    - `T.Buffer((5, 8), "float32")`: memory with a shape. The result is a parameter, too: whoever calls makes room
      for it.
    - `T.grid` are the loops, one for each letter of the einsum.
    - `T.block` is the **block**: the smallest piece of work that is moved as a whole. What is inside of it does not
      know about loops. It knows its own iterators, and what they are: `S`, *spatial*, for letters that stay, and
      `R`, *reduce*, for letters that are summed over.
    - `T.init` is what happens before the first step of a sum.

    Loops say *when*. Blocks say *what*. Keeping the two apart is the idea on which everything later rests: notebook
    6 will tear the loops to pieces, and not touch the block.

    ## Two ways to run it

    The **interpreter** does what the IR says, an operation at a time, in numpy. It is slow, simple, and right: when
    we change a program, it is what we compare with.

    The **compiler** makes machine code of the same thing.
    """)
    return


@app.cell
def _(function, k, np, q, scores):
    from tirax.interpreter import interpret
    from tirax.tvm_api import IRModule, build

    module = IRModule({"main": function})

    meant = np.zeros((5, 5), "float32")
    interpret(module, "main", [q, k, meant])

    native = np.zeros((5, 5), "float32")
    build(module, target="llvm")["main"](q, k, native)

    float(abs(meant - scores).max()), float(abs(native - scores).max())
    return IRModule, build, interpret


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What it is made of

    `function.script()` is the program as a person would write it. The compiler's own text is MLIR, and each line of
    it is an *operation* with operands, results and perhaps regions:
    """)
    return


@app.cell
def _(function, listing):
    listing(str(function.op), "llvm")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Operations are Python objects ([xDSL](https://xdsl.dev)). `walk` visits all of them, so questions about programs
    are short Python programs. What is in there?
    """)
    return


@app.cell
def _(function, table):
    from collections import Counter

    table(["operation", "how often"], Counter(op.name for op in function.op.walk()).most_common())
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    And how much work is it? A loop knows its extent:
    """)
    return


@app.cell
def _(function, np):
    from tirax.dialects import tir

    extents = {
        str(op.loop_var.name_hint): op.extent.evaluate({}) for op in function.op.walk() if isinstance(op, tir.ForOp)
    }
    extents, 2 * int(np.prod(list(extents.values())))
    return (tir,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Two operations, a product and a sum, for each of 5 · 5 · 8 points: 400. Remember this way of counting. At the
    end of the course it will tell us how good our machine code is.

    ## Every einsum

    We wrote the loops of one einsum. Here is the compiler from *any* einsum to IR, in a dozen lines: letters become
    extents, letters without a future become axes of a sum.
    """)
    return


@app.cell
def _(listing, te):
    def einsum(spec, *tensors):
        inputs, output = spec.split("->")
        names = inputs.split(",")
        extents = {letter: n for name, t in zip(names, tensors) for letter, n in zip(name, t.shape)}
        summed = {c: te.reduce_axis((0, n), name=c) for c, n in extents.items() if c not in output}

        def element(*indices):
            at = dict(zip(output, indices)) | summed
            factors = [t(*(at[c] for c in name)) for name, t in zip(names, tensors)]
            product = factors[0]
            for factor in factors[1:]:
                product = product * factor
            return te.sum(product, axis=list(summed.values())) if summed else product

        return te.compute(tuple(extents[c] for c in output), element, name="out")

    def einsum_function(spec, *shapes):
        tensors = [te.placeholder(shape, name=f"X{n}") for n, shape in enumerate(shapes)]
        return te.create_prim_func([*tensors, einsum(spec, *tensors)])

    listing(einsum_function("bihd,bjhd->bhij", (1, 5, 2, 4), (1, 5, 2, 4)).script())
    return (einsum_function,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    That last one is attention with several heads `h` and a batch `b`, as transformers have it. Five loops now; not
    a line of the compiler changed.

    ## At a real size

    Twelve heads, 128 words, 64 numbers each, as in BERT and GPT-2. We build the einsum and let numpy do the same:
    """)
    return


@app.cell
def _(IRModule, build, einsum_function, np, rng, seconds, table):
    shape = (1, 128, 12, 64)
    left, other = rng.random((2, *shape), dtype="float32")
    heads = build(IRModule({"main": einsum_function("bihd,bjhd->bhij", shape, shape)}), target="llvm -num-cores=1")
    out = np.zeros((1, 12, 128, 128), "float32")
    heads["main"](left, other, out)
    np.testing.assert_allclose(out, np.einsum("bihd,bjhd->bhij", left, other), rtol=1e-4)

    operations = 2 * 12 * 128 * 128 * 64
    times = {
        "np.einsum": seconds(lambda: np.einsum("bihd,bjhd->bhij", left, other)),
        "np.matmul": seconds(lambda: left.transpose(0, 2, 1, 3) @ other.transpose(0, 2, 3, 1)),
        "ours": seconds(lambda: heads["main"](left, other, out)),
    }
    table(["", "ms", "GFLOP/s"], [(name, t * 1e3, operations / t / 1e9) for name, t in times.items()])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    We said nothing about how the loops should run: something between the IR and the machine rearranged them. That
    something is the *default schedule*; in notebook 6 we do its work by hand, and better understand why it does
    what it does.

    ## Exercises

    **1.** Attention goes on: the scores, after a softmax, are weights `w` of shape `(batch, heads, i, j)`, and each
    word gets the sum of all values `v`, of shape `(batch, j, heads, d)`, by these weights. The result has shape
    `(batch, i, heads, d)`. Which einsum is it?
    """)
    return


@app.cell(hide_code=True)
def _(np):
    def check_1(answer):
        if answer is None:
            return "Write the einsum as a string: two inputs, an arrow, the result."
        parts = str(answer).replace(" ", "").replace("->", ",").split(",")
        if len(parts) != 3 or "->" not in answer:
            return f"`{answer}` should have two inputs and a result: `…,…->…`."
        if any(len(p) != 4 or len(set(p)) != 4 for p in parts):
            return "All three have four dimensions, each with a letter of its own."
        _w = np.random.default_rng(1).random((2, 3, 2, 4), "float32")
        _v = np.random.default_rng(2).random((2, 4, 3, 6), "float32")
        _true = np.stack([[_w[b, h] @ _v[b, :, h] for h in range(3)] for b in range(2)]).transpose(0, 2, 1, 3)
        try:
            got = np.einsum(answer.replace(" ", ""), _w, _v)
        except ValueError as error:
            return f"numpy says: {error}. A letter stands for one extent everywhere."
        if got.shape != _true.shape:
            return f"The result should have the shape (batch, i, heads, d), here {_true.shape}, and has {got.shape}."
        if not np.allclose(got, _true, rtol=1e-4):
            return "The shape is right, the numbers are not: is `j` summed over, and nothing else?"
        return None

    return (check_1,)


@app.cell
def _(check_1, verdict):
    answer_1 = None  # "…,…->…"
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(check_1, right):
    solution_1 = "bhij,bjhd->bihd"
    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** Norms of rows: write a function that takes a tensor of shape `(m, n)` and gives one of shape `(m,)`, the
    sum of the squares of each row. It takes and gives tensors of `te`.
    """)
    return


@app.cell(hide_code=True)
def _(IRModule, interpret, np, te):
    def check_2(answer):
        if answer is None:
            return "Write a function of one tensor of `te`."
        _x = te.placeholder((3, 7), name="x")
        y = answer(_x)
        if not isinstance(y, te.Tensor):
            return f"It should give a tensor of `te`, the result of `te.compute`, and gives a {type(y).__name__}."
        if [int(e) for e in y.shape] != [3]:
            return f"The result should have one element a row, the shape (3,), and has {tuple(y.shape)}."
        _values = np.random.default_rng(3).random((3, 7), "float32")
        _result = np.zeros(3, "float32")
        interpret(IRModule({"main": te.create_prim_func([_x, y])}), "main", [_values, _result])
        if np.allclose(_result, _values.sum(1), rtol=1e-5):
            return "These are the sums of the rows. The squares are missing."
        if not np.allclose(_result, (_values**2).sum(1), rtol=1e-5):
            return f"For the row {_values[0].round(1)} it gives {_result[0]:.3f}, not {(_values[0] ** 2).sum():.3f}."
        return None

    return (check_2,)


@app.cell
def _(check_2, verdict):
    answer_2 = None
    verdict(check_2(answer_2))
    return


@app.cell(hide_code=True)
def _(check_2, right, te):
    def solution_2(x):
        n = te.reduce_axis((0, x.shape[1]), name="n")
        return te.compute((x.shape[0],), lambda i: te.sum(x[i, n] * x[i, n], axis=n), name="norms")

    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** Write `flops(function)`: how many additions, subtractions and multiplications a tensor function does, by
    walking through its IR. An operation is done once for each iteration of all loops around it. Only what is
    computed with floating point counts, and what stands below a `tir.init` does not. (`op.parent_op()` is the
    operation around an operation; those that count are `tir.AddOp`, `tir.SubOp`, `tir.MulOp`; the type of what they
    give is `op.results[0].type`.)
    """)
    return


@app.cell(hide_code=True)
def _(einsum_function):
    def check_3(answer):
        if answer is None:
            return "Write a function of one argument, like `function` above; `function.op` is its operation."
        cases = {"id,jd->ij": [(5, 8), (5, 8)], "ij->i": [(4, 6)], "ij,ij,ij->ij": [(4, 6)] * 3}
        counts = {"id,jd->ij": 400, "ij->i": 24, "ij,ij,ij->ij": 48}
        for spec, shapes in cases.items():
            got = answer(einsum_function(spec, *shapes))
            if got != counts[spec]:
                times = (
                    f" That is {got / counts[spec]:g} times as many." if isinstance(got, (int, float)) and got else ""
                )
                return f"`{spec}` of {shapes} has {counts[spec]} operations, and the answer is {got}.{times}"
        return None

    return (check_3,)


@app.cell
def _(check_3, verdict):
    answer_3 = None
    verdict(check_3(answer_3))
    return


@app.cell(hide_code=True)
def _(check_3, right, tir):
    from xdsl.dialects.builtin import Float32Type

    def solution_3(function):
        count = 0
        for op in function.op.walk():
            if not isinstance(op, (tir.AddOp, tir.SubOp, tir.MulOp)) or not isinstance(op.results[0].type, Float32Type):
                continue
            times, around = 1, op.parent_op()
            while around is not None:
                if isinstance(around, tir.InitOp):
                    times = 0
                if isinstance(around, tir.ForOp):
                    times *= around.extent.evaluate({})
                around = around.parent_op()
            count += times
        return count

    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Where next

    We let a library write our IR. In the [next notebook](02_programs_as_text.py) we write it ourselves, as text
    that looks like Python and is not.
    """)
    return


if __name__ == "__main__":
    app.run()
