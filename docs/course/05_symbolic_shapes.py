import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="5. Symbolic shapes")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 5. Sizes that nobody knows yet

    A sentence has as many words as it has. A compiler that wants to know the number beforehand is compiled again
    for each length, or pads everything to the longest, and computes mostly zeros. Ours computes with `n`.
    """)
    return


@app.cell
def _():
    import marimo as mo
    import numpy as np
    from lesson import listing, right, table, verdict

    from tirax.diagnostics import TiraxError
    from tirax.interpreter import assert_same_meaning, interpret
    from tirax.schedule import Schedule
    from tirax.tvm_api import relax
    from tirax.tvm_api.script import from_source
    from tirax.tvm_api.script import ir as I
    from tirax.tvm_api.script import relax as R
    from tirax.tvm_api.script import tir as T

    return (
        I,
        R,
        Schedule,
        T,
        TiraxError,
        assert_same_meaning,
        from_source,
        interpret,
        listing,
        mo,
        np,
        relax,
        right,
        table,
        verdict,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## A step of a language model

    A model that writes text keeps what it has seen, `t` words, and gets `s` new ones. Both differ from call to
    call:
    """)
    return


@app.cell
def _(I, R, T, listing):
    @I.ir_module
    class Step:
        @R.function
        def main(x: R.Tensor(("b", "s", 24), "float32"), cache: R.Tensor(("b", "t", 24), "float32")):
            b, s, t = T.int64(), T.int64(), T.int64()
            with R.dataflow():
                heads = R.reshape(x, (b, s, 4, 6))
                seen = R.concat([cache, x], axis=1)
                rows = R.reshape(seen, (b * (t + s), 24))
                R.output(heads, seen, rows)
            return heads, seen, rows

    listing(Step.script())
    return (Step,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Look at the types. `seen` has the length `t + s`, and `rows` is `b * t + b * s` long: an *expression*,
    multiplied out. All sizes are kept in one canonical form, so that two sizes are equal exactly where their texts
    are:
    """)
    return


@app.cell
def _():
    from tirax.dialects.sym.expr import Var

    b, s, t = Var("b"), Var("s"), Var("t")
    [str(e) for e in ((t + s) * b, (b + t) * (b - t), (s * 4 + 8) // 4, (s * 2 + 1) % 2)], (t + s) * b == b * s + t * b
    return (Var,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    So the compiler can compare sizes that it does not know, and there are three answers. Here is a product of
    matrices, and three claims about how many rows the second one has:
    """)
    return


@app.cell
def _(TiraxError, from_source, listing):
    PRODUCT = """
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor(("m", "n"), "float32"), w: R.Tensor(("ROWS", 4), "float32")):
            y = R.matmul(x, w)
            return y
    """

    def complaint(text):
        try:
            from_source(text)
        except TiraxError as error:
            return str(error)
        return "nothing is wrong"

    listing(
        "\n\n".join(f"{rows} rows: {complaint(PRODUCT.replace('ROWS', rows))}" for rows in ("n", "n + 1", "k")), "text"
    )
    return (PRODUCT,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    With `n` rows it is *always* right. With `n + 1` it is *never* right, for no `n` in the world, and is refused
    while the program is read. With `k` it is right *sometimes*. Such a program is built, with a question in it that
    is asked at each call, as we shall see.

    ## One build, all lengths
    """)
    return


@app.cell
def _(Step, np, relax, table):
    step = relax.build(Step, target="llvm")["main"]
    _rng = np.random.default_rng(0)
    _rows = []
    for _b, _s, _t in ((1, 1, 0), (2, 3, 5), (4, 0, 7)):
        _x, _cache = _rng.random((_b, _s, 24), "float32"), _rng.random((_b, _t, 24), "float32")
        _results = step(_x, _cache)
        np.testing.assert_array_equal(_results[1].numpy(), np.concatenate([_cache, _x], axis=1))
        _rows.append((_b, _s, _t, *(str(r.shape) for r in _results)))
    table(["b", "s", "t", "heads", "seen", "rows"], _rows)
    return (step,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The letters are read from the shapes of the arguments when the function is called. `b` stands in both of them,
    and so has to be the same number in both:
    """)
    return


@app.cell
def _(TiraxError, listing, np, step):
    def refused(function, *args):
        try:
            function(*args)
        except TiraxError as error:
            return str(error)
        return "it ran"

    listing(refused(step, np.ones((2, 3, 24), "float32"), np.ones((3, 5, 24), "float32")), "text")
    return (refused,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    And the product with `k` rows? It asks, too:
    """)
    return


@app.cell
def _(PRODUCT, from_source, listing, np, refused, relax):
    product = relax.build(from_source(PRODUCT.replace("ROWS", "k")), target="llvm")["main"]
    _x = np.ones((2, 3), "float32")
    listing("\n\n".join(refused(product, _x, np.ones((rows, 4), "float32")) for rows in (3, 5)), "text")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    All that is checked *before* any kernel runs. A compiled program never reads beyond an array because a caller
    was mistaken.

    ## What cannot be known

    Sometimes even the expression is not known: how many elements of a tensor are not zero is data. The type then
    says what it does know (`ndim=2`), and `R.match_cast` is where the program says what it believes, and is held to
    it:
    """)
    return


@app.cell
def _(I, R, T, listing, np, refused, relax):
    @I.ir_module
    class Believes:
        @R.function
        def main(x: R.Tensor(ndim=2, dtype="float32"), y: R.Tensor(("n", 4), "float32")):
            n = T.int64()
            z = R.match_cast(x, R.Tensor((n, 4), "float32"))
            w = R.add(z, y)
            return w

    believes = relax.build(Believes, target="llvm")["main"]
    _y = np.ones((3, 4), "float32")
    listing(f"{believes(_y, _y).shape}\n\n{refused(believes, np.ones((2, 4), 'float32'), _y)}", "text")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## To prove things

    Passes and schedules do not guess about sizes: they ask an *analyzer*, which proves statements about integers,
    for all values of their variables.
    """)
    return


@app.cell
def _(table):
    from tirax.tvm_api import arith, te, tir

    analyzer = arith.Analyzer()
    i, n = tir.Var("i", "int64"), tir.Var("n", "int64")
    _questions = [n // 4 * 4 <= n, tir.floormod(n * 6 + 12, 3) == 0, (n + 3) // 4 * 4 >= n, n // 4 * 4 == n, n >= 0]
    table(
        ["statement", "proved"],
        [(str(q).replace("T.int64", "").replace("*", "·"), analyzer.can_prove(q)) for q in _questions],
    )
    return analyzer, arith, n, te, tir


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The last two are not always true. With more knowledge they are:
    """)
    return


@app.cell
def _(analyzer, n, te):
    with analyzer.constraint_scope(te.all(n % 4 == 0, n >= 0)):
        known = analyzer.can_prove(n // 4 * 4 == n), analyzer.can_prove(n >= 0)
    known
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Where does a compiler need it? Here. We cut a loop over `n` into pieces of 4. Does 4 divide `n`? Nobody knows,
    so the last piece may stand out, and a predicate appears, `T.where`:
    """)
    return


@app.cell
def _(I, Schedule, T, assert_same_meaning, listing):
    @I.ir_module
    class Twice:
        @T.prim_func
        def main(x: T.handle, y: T.handle):
            n = T.int64()
            X = T.match_buffer(x, (n,), "float32")
            Y = T.match_buffer(y, (n,), "float32")
            for i in range(n):
                with T.block("Y"):
                    vi = T.axis.spatial(n, i)
                    Y[vi] = X[vi] * T.float32(2)

    pieces = Schedule(Twice)
    pieces.split(pieces.get_loops("Y")[0], [None, 4])
    assert_same_meaning(Twice.op, pieces.mod.op)
    listing(pieces.mod["main"].script())
    return Twice, pieces


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    If the extent is `n * 8`, the analyzer proves that nothing stands out, and the predicate is not even written.
    Loops without conditions are loops that become vectors:
    """)
    return


@app.cell
def _(Schedule, Twice, from_source, pieces):
    eights = Schedule(
        from_source(
            Twice.script()
            .replace("(n,)", "(n * 8,)")
            .replace("range(n)", "range(n * 8)")
            .replace("spatial(n,", "spatial(n * 8,")
        )
    )
    eights.split(eights.get_loops("Y")[0], [None, 4])
    "T.where" in pieces.mod.script(), "T.where" in eights.mod.script()
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Exercises

    **1.** What is the length of the result? A convolution over `n` words with a window of 3, without padding, and
    then every second one is taken, the first one included. Write the length as an expression of `n`, a `Var`, for
    `n` of 3 or more.
    """)
    return


@app.function(hide_code=True)
def check_1(answer):
    if answer is None:
        return 'Write it with `n = Var("n")`, whole numbers and `+ - * // %`.'
    if isinstance(answer, int):
        return "That is a number, and holds for one `n` only."
    for size in range(3, 40):
        length = len(range(0, size - 2, 2))
        got = answer.evaluate({"n": size})
        if got != length:
            return f"For n = {size} there are {length} results, and `{answer}` is {got}."
    return None


@app.cell
def _(verdict):
    answer_1 = None
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(Var, right):
    solution_1 = (Var("n") - 1) // 2
    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** Attention for any number of words. Write a module whose `main(q, k, v)` takes `q` of shape `("n", 8)`,
    and `k`, `v` of shape `("m", 8)`, and gives the attention of each of the `n` words to all `m`.
    """)
    return


@app.cell(hide_code=True)
def _(TiraxError, interpret, np):
    def attention(q, k, v):
        e = np.exp(q @ k.T / q.shape[1] ** 0.5)
        return e / e.sum(-1, keepdims=True) @ v

    def check_2(answer):
        if answer is None:
            return "Write a module with a function `main` of Relax; the second notebook has one with 5 words."
        main = answer["main"]
        if "m" in str(main.struct_info.ret).replace("dtype", "").replace("Tensor", ""):
            return f"The result should have `n` rows, and has the type `{main.struct_info.ret}`."
        for n, m in ((1, 1), (3, 7), (6, 2)):
            q = np.random.default_rng(n).standard_normal((n, 8)).astype("float32")
            k, v = np.random.default_rng(m).standard_normal((2, m, 8)).astype("float32")
            try:
                got = interpret(answer, "main", [q, k, v])
            except TiraxError as error:
                return f"With n = {n} and m = {m}:\n\n```text\n{error}\n```"
            if got.shape != (n, 8) or not np.allclose(got, attention(q, k, v), atol=1e-5):
                return f"With n = {n} and m = {m} the result is not attention. Is it scaled by the root of 8?"
        return None

    return (check_2,)


@app.cell
def _(check_2, verdict):
    answer_2 = None
    verdict(check_2(answer_2))
    return


@app.cell(hide_code=True)
def _(I, R, check_2, right):
    @I.ir_module
    class AnyLength:
        @R.function
        def main(q: R.Tensor(("n", 8), "float32"), k: R.Tensor(("m", 8), "float32"), v: R.Tensor(("m", 8), "float32")):
            with R.dataflow():
                s = R.divide(R.matmul(q, R.permute_dims(k)), R.const(8**0.5, "float32"))
                out = R.matmul(R.nn.softmax(s, axis=-1), v)
                R.output(out)
            return out

    solution_2 = AnyLength
    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** A vectorized copy of `n` words wants to go in pieces of 16, and the buffer has room for `(n + 15) // 16 *
    16`. What must hold of `n` so that no room is wasted? Write a function from a `tir.Var` to a condition, the
    *weakest* one: it holds for every `n` with which no room is wasted.
    """)
    return


@app.cell(hide_code=True)
def _(arith, tir):
    def check_3(answer):
        if answer is None:
            return "Write a function: `lambda n: …`. Conditions on a variable are `n > 0`, `n % 3 == 1`, and so on."
        n = tir.Var("n", "int64")
        checker = arith.Analyzer()
        with checker.constraint_scope(answer(n)):
            if not checker.can_prove((n + 15) // 16 * 16 == n):
                return f"From `{answer(n)}` it does not follow that the room is `n`."
        for size in (0, 16, 48):
            value = arith.Analyzer().simplify(answer(tir.IntImm("int64", size)))
            if not bool(value):
                return f"n = {size} wastes nothing, and the condition does not hold for it. A weaker one will do."
        return None

    return (check_3,)


@app.cell
def _(check_3, verdict):
    answer_3 = None
    verdict(check_3(answer_3))
    return


@app.cell(hide_code=True)
def _(check_3, right):
    def solution_3(n):
        return n % 16 == 0

    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Where next

    We know what is computed, and for which sizes. Now for the pleasure of the craft: the [next
    notebook](06_schedules.py) makes it fast, by hand, until the machine has nothing more to give.
    """)
    return


if __name__ == "__main__":
    app.run()
