import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="2. Programs as text")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 2. Programs as text: TVMScript

    In the first notebook a library wrote our loops. Now we write them, in **TVMScript**: text that has the grammar
    of Python and another meaning. It is worth learning well, for it is what the compiler shows you whenever you ask
    it what it is doing.
    """)
    return


@app.cell
def _():
    import marimo as mo
    import numpy as np
    from lesson import listing, right, table, verdict

    from tirax.diagnostics import TiraxError
    from tirax.interpreter import interpret
    from tirax.tvm_api.script import from_source
    from tirax.tvm_api.script import ir as I
    from tirax.tvm_api.script import relax as R
    from tirax.tvm_api.script import tir as T

    return (
        I,
        R,
        T,
        TiraxError,
        from_source,
        interpret,
        listing,
        mo,
        np,
        right,
        table,
        verdict,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## A tensor function

    The scores of attention again, five words of eight numbers, by hand:
    """)
    return


@app.cell
def _(I, T, interpret, np):
    @I.ir_module
    class Scores:
        @T.prim_func
        def main(Q: T.Buffer((5, 8), "float32"), K: T.Buffer((5, 8), "float32"), S: T.Buffer((5, 5), "float32")):
            for i, j, d in T.grid(5, 5, 8):
                with T.block("S"):
                    vi, vj, vd = T.axis.remap("SSR", [i, j, d])
                    with T.init():
                        S[vi, vj] = T.float32(0)
                    S[vi, vj] = S[vi, vj] + Q[vi, vd] * K[vj, vd]

    rng = np.random.default_rng(0)
    q, k, v = rng.random((3, 5, 8), dtype="float32")
    scores = np.zeros((5, 5), "float32")
    interpret(Scores, "main", [q, k, scores])
    float(abs(scores - q @ k.T).max())
    return Scores, k, q, scores, v


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The body of `main` **never runs**. `T.grid` yields nothing; the decorator reads the *source text* of the class,
    walks through its syntax tree and makes IR of it. That is why the indices may be written in such a natural way,
    and why a file of TVMScript from a stranger is harmless: it is read, not executed.

    ## The letters matter

    `"SSR"` says that `vi` and `vj` are spatial and `vd` is reduced. It looks like a comment. It is not; let us lie,
    and claim that all three are spatial:
    """)
    return


@app.cell
def _(Scores, from_source, interpret, k, np, q, scores):
    lie = from_source(Scores.script().replace('"SSR"', '"SSS"'))
    lied = np.zeros((5, 5), "float32")
    interpret(lie, "main", [q, k, lied])
    (scores[0].round(3), lied[0].round(3), (q[0, 7] * k[:, 7]).round(3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    What came out is only the last product, `d = 7`. The init of a block runs where all of its *reduced* iterators
    are at their first value. With none of them it runs each time, and every sum begins anew, forever. The letters
    are the truth about the computation; loops are only how we happen to go through it.

    ## Text and back

    The printer and the parser are inverse to each other, in both languages. So a program can leave the compiler at
    any point, be read by a person, edited, and go in again:
    """)
    return


@app.cell
def _(Scores, from_source):
    from tirax.script import parse_mlir

    again = from_source(Scores.script())
    from_mlir = parse_mlir(str(Scores.op))
    again.script() == Scores.script(), str(from_mlir) == str(Scores.op)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Above the loops

    Nobody wants to write a transformer as loops. One floor up, in **Relax**, values are whole tensors, and an
    operation is an operator:
    """)
    return


@app.cell
def _(I, R, listing):
    @I.ir_module
    class Attention:
        @R.function
        def main(
            q: R.Tensor((5, 8), "float32"), k: R.Tensor((5, 8), "float32"), v: R.Tensor((5, 8), "float32")
        ) -> R.Tensor((5, 8), "float32"):
            with R.dataflow():
                s = R.matmul(q, R.permute_dims(k))
                scaled = R.multiply(s, R.const(1 / 8**0.5, "float32"))
                w = R.nn.softmax(scaled, axis=-1)
                out = R.matmul(w, v)
                R.output(out)
            return out

    listing(Attention.script())
    return (Attention,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Look at what came back: every variable has gained a shape and a dtype. That is its *struct info*, the type of
    Relax. It was inferred, and if we had written a matrix that does not fit, we would have been told here and not
    on the machine.

    `R.dataflow()` promises that nothing in the block has side effects: a compiler may reorder, merge and drop what
    is in it.

    ## From one floor to the other

    The two floors live in **one module**, which is the reason why Relax exists. The pass `LegalizeOps` replaces
    operators by calls of tensor functions, whose loops stand beside their caller:
    """)
    return


@app.cell
def _(Attention, listing):
    from tirax.tvm_api import relax

    lowered = relax.transform.LegalizeOps()(Attention)
    listing(lowered["main"].script())
    return lowered, relax


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    `R.call_tir` makes room for the result and passes it as the last argument: *destination passing*. Above, values
    that never change; below, memory that is written; `call_tir` is the door between them. And here are the
    functions behind the doors:
    """)
    return


@app.cell
def _(lowered, table):
    table(
        ["function", "parameters", "loops"],
        [
            (name.name_hint, len(f.params), str(f.script()).count("T.grid"))
            for name, f in lowered.functions.items()
            if name.name_hint != "main"
        ],
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    We may write on both floors at once. Here the scores are our own loops, scale included, and the rest is left to
    operators:
    """)
    return


@app.cell
def _(I, R, T):
    @I.ir_module
    class Mixed:
        @T.prim_func
        def scores(Q: T.Buffer((5, 8), "float32"), K: T.Buffer((5, 8), "float32"), S: T.Buffer((5, 5), "float32")):
            for i, j, d in T.grid(5, 5, 8):
                with T.block("S"):
                    vi, vj, vd = T.axis.remap("SSR", [i, j, d])
                    with T.init():
                        S[vi, vj] = T.float32(0)
                    S[vi, vj] = S[vi, vj] + Q[vi, vd] * K[vj, vd] * T.float32(0.35355339)

        @R.function
        def main(q: R.Tensor((5, 8), "float32"), k: R.Tensor((5, 8), "float32"), v: R.Tensor((5, 8), "float32")):
            cls = Mixed
            with R.dataflow():
                s = R.call_tir(cls.scores, (q, k), out_sinfo=R.Tensor((5, 5), "float32"))
                out = R.matmul(R.nn.softmax(s, axis=-1), v)
                R.output(out)
            return out

    return (Mixed,)


@app.cell
def _(Attention, Mixed, k, np, q, relax, table, v):
    def attention(q, k, v):
        e = np.exp(q @ k.T / q.shape[1] ** 0.5)
        return e / e.sum(-1, keepdims=True) @ v

    results = {
        name: relax.build(m, target="llvm")["main"](q, k, v)
        for name, m in {"operators": Attention, "mixed": Mixed}.items()
    }
    table(
        ["", "largest error"], [(name, float(abs(r.numpy() - attention(q, k, v)).max())) for name, r in results.items()]
    )
    return (attention,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## When it is wrong

    A good compiler is a patient reader. Three programs with a mistake each, and what it says about them:
    """)
    return


@app.cell
def _(TiraxError, from_source, listing):
    HEAD = """
    @R.function
    def main(x: R.Tensor((5, 8), "float32"), w: R.Tensor((4, 8), "float32")):
    """

    mistakes = {
        "a shape": "    y = R.matmul(x, w)\n    return y\n",
        "a name": "    y = R.nn.sofmax(x)\n    return y\n",
        "a dtype": '    y = R.add(x, R.const(1, "int32"))\n    return y\n',
    }

    def complaint(text):
        try:
            from_source(text)
        except TiraxError as error:
            return str(error)
        return "nothing is wrong"

    listing("\n\n".join(complaint(HEAD + body) for body in mistakes.values()), "text")
    return (complaint,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The place, what was expected, what was found, and often what to do. All errors of tirax are made so; when you
    write passes, yours should be, too.

    ## Exercises

    **1.** A softmax begins with the largest element of each row. Write a module `RowMax` with a tensor function
    `main(X, M)`, where `X` has the shape (4, 6) and `M` the shape (4,). It is a reduction, with `T.max(a, b)`; what
    does it begin with? (`T.min_value("float32")` is the least number.)
    """)
    return


@app.cell(hide_code=True)
def _(interpret, np):
    def check_1(answer):
        if answer is None:
            return "Write a class with the decorator `@I.ir_module`, and give it to the check."
        text = answer.script()
        if (
            "R" not in "".join(line.split('"')[1] for line in text.splitlines() if "T.axis.remap(" in line)
            and "T.axis.reduce" not in text
        ):
            return "No iterator of the block is a reduced one, `R`: along which axis is the maximum taken?"
        for _x in (
            np.random.default_rng(0).random((4, 6), "float32"),
            -1 - np.random.default_rng(1).random((4, 6), "float32"),
        ):
            _m = np.full(4, 7, "float32")
            interpret(answer, "main", [_x, _m])
            if not np.array_equal(_m, _x.max(1)):
                _why = " Does it begin with 0? All numbers of this row are below it." if (_m == 0).all() else ""
                return f"For the row {_x[0].round(2)} it gives {_m[0]:.3g}.{_why}"
        return None

    return (check_1,)


@app.cell
def _(check_1, verdict):
    answer_1 = None
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(I, T, check_1, right):
    @I.ir_module
    class RowMax:
        @T.prim_func
        def main(X: T.Buffer((4, 6), "float32"), M: T.Buffer((4,), "float32")):
            for i, j in T.grid(4, 6):
                with T.block("M"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    with T.init():
                        M[vi] = T.min_value("float32")
                    M[vi] = T.max(M[vi], X[vi, vj])

    solution_1 = RowMax
    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** Two heads. Write a Relax function `main(q, k, v)` of tensors of the shape `(2, 5, 8)`, the first extent
    being the heads, that gives the attention of each head. `R.matmul` multiplies the last two dimensions and keeps
    those in front; `R.permute_dims` takes `axes=`.
    """)
    return


@app.cell(hide_code=True)
def _(attention, interpret, np):
    def check_2(answer):
        if answer is None:
            return "Write a module with a function `main` of Relax."
        _main = answer["main"]
        if [tuple(map(int, p.struct_info.shape)) for p in _main.params] != [(2, 5, 8)] * 3:
            return "`main` should have three parameters of the shape (2, 5, 8)."
        _qkv = np.random.default_rng(2).standard_normal((3, 2, 5, 8)).astype("float32")
        got = interpret(answer, "main", list(_qkv))
        if got.shape != (2, 5, 8):
            return f"The result should have the shape (2, 5, 8), and has {got.shape}."
        _true = np.stack([attention(*_qkv[:, h]) for h in range(2)])
        _unscaled = np.stack([attention(_qkv[0, h] * 8**0.5, *_qkv[1:, h]) for h in range(2)])
        if np.allclose(got, _unscaled, atol=1e-5):
            return "Almost: the scores are not divided by the root of 8."
        if not np.allclose(got, _true, atol=1e-5):
            return "The numbers are not those of attention. Is the softmax taken over the last axis?"
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
    class TwoHeads:
        @R.function
        def main(
            q: R.Tensor((2, 5, 8), "float32"), k: R.Tensor((2, 5, 8), "float32"), v: R.Tensor((2, 5, 8), "float32")
        ):
            with R.dataflow():
                s = R.matmul(q, R.permute_dims(k, axes=[0, 2, 1]))
                w = R.nn.softmax(R.divide(s, R.const(8**0.5, "float32")), axis=-1)
                out = R.matmul(w, v)
                R.output(out)
            return out

    solution_2 = TwoHeads
    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** Mend this program. It should give `x · wᵀ + b`; it has two mistakes, and the compiler knows the first
    one.
    """)
    return


@app.cell
def _(complaint, listing):
    broken = """
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((5, 8), "float32"), w: R.Tensor((4, 8), "float32"), b: R.Tensor((5,), "float32")):
            with R.dataflow():
                y = R.matmul(x, w)
                z = R.add(y, b)
                R.output(z)
            return z
    """
    listing(complaint(broken), "text")
    return (broken,)


@app.cell(hide_code=True)
def _(complaint, from_source, interpret, np):
    def check_3(answer):
        if answer is None:
            return "Give the mended text, `broken.replace(…)` or all of it."
        _said = complaint(answer)
        if _said != "nothing is wrong":
            return f"```text\n{_said}\n```"
        _module = from_source(answer)
        _args = [
            np.random.default_rng(4).random(tuple(map(int, p.struct_info.shape)), "float32")
            for p in _module["main"].params
        ]
        got = interpret(_module, "main", _args)
        if [a.shape for a in _args[:2]] != [(5, 8), (4, 8)]:
            return "The weights are as torch keeps them, outputs first: leave the shapes of `x` and `w` as they are."
        if got.shape != (5, 4) or not np.allclose(got, _args[0] @ _args[1].T + _args[2], rtol=1e-5):
            return "It is a program now, but not x · wᵀ + b."
        return None

    return (check_3,)


@app.cell
def _(check_3, verdict):
    answer_3 = None
    verdict(check_3(answer_3))
    return


@app.cell(hide_code=True)
def _(broken, check_3, right):
    solution_3 = broken.replace("R.matmul(x, w)", "R.matmul(x, R.permute_dims(w))").replace(
        "R.Tensor((5,)", "R.Tensor((4,)"
    )
    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Where next

    We can write programs, and read them. In the [next notebook](03_patterns.py) we look for parts of them, and put
    others in their place.
    """)
    return


if __name__ == "__main__":
    app.run()
