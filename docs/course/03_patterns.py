import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="3. Patterns")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 3. Patterns: finding what can be better

    Most of what makes a program faster is knowledge of the form "*this* is the same as *that*, and that is
    cheaper". In this notebook we write such knowledge down: a pattern for *this*, a few lines for *that*. The
    compiler finds all the places.
    """)
    return


@app.cell
def _():
    import marimo as mo
    import numpy as np
    from lesson import before_and_after, listing, right, seconds, table, verdict

    from tirax.interpreter import assert_same_meaning
    from tirax.tvm_api import IRModule, relax
    from tirax.tvm_api.relax.analysis import get_var2val
    from tirax.tvm_api.relax.dpl import (
        EqsatRewrite,
        PatternContext,
        PatternMatchingRewriter,
        is_const,
        is_op,
        rewrite_bindings,
        rewrite_call,
        wildcard,
    )
    from tirax.tvm_api.script import relax as R

    return (
        EqsatRewrite,
        IRModule,
        PatternContext,
        PatternMatchingRewriter,
        R,
        assert_same_meaning,
        get_var2val,
        is_const,
        is_op,
        listing,
        mo,
        np,
        relax,
        rewrite_bindings,
        rewrite_call,
        right,
        seconds,
        before_and_after,
        table,
        verdict,
        wildcard,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Here is a piece of a transformer, as it comes out of a modelling library that knows nothing of compilers:
    """)
    return


@app.cell
def _(IRModule, R):
    @R.function
    def layer(
        x: R.Tensor((5, 8), "float32"),
        wq: R.Tensor((8, 8), "float32"),
        wk: R.Tensor((8, 8), "float32"),
        wv: R.Tensor((8, 8), "float32"),
    ):
        with R.dataflow():
            q = R.matmul(x, wq)
            k = R.matmul(x, wk)
            v = R.matmul(x, wv)
            s = R.matmul(q, R.permute_dims(k))
            c = R.divide(s, R.const(2.828427, "float32"))
            w = R.nn.softmax(c, axis=-1)
            o = R.matmul(w, v)
            g = R.multiply(o, R.sigmoid(o))
            R.output(g)
        return g

    module = IRModule({"main": layer})
    return layer, module


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## To say what something looks like

    A pattern is built like the expression that it stands for. `wildcard()` is anything, `is_op` an operator, and
    calling that gives a pattern for a call:
    """)
    return


@app.cell
def _(get_var2val, is_op, layer, wildcard):
    anything = wildcard()
    swish = is_op("relax.multiply")(anything, is_op("relax.sigmoid")(anything))

    values = get_var2val(layer)
    bindings = {b.var.name_hint: b.value for b in layer.body.blocks[0].bindings}
    match = swish.extract_matched_expr(bindings["g"], values)
    print("swish is", match[swish], "and what goes in is", match[anything])
    return anything, bindings, swish, values


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    `anything` occurs twice, and is **the same object** twice: so it must be the same expression twice. `o ·
    sigmoid(o)` fits, `o · sigmoid(q)` would not. `values` tells the matcher what variables stand for; without it a
    variable would be just a variable.

    ## Why not?

    A pattern that silently finds nothing is the most annoying thing in this business. Ask it:
    """)
    return


@app.cell
def _(bindings, is_const, is_op, listing, values, wildcard):
    scaled = is_op("relax.multiply")(is_op("relax.matmul")(wildcard(), wildcard()), is_const())
    listing(str(scaled.explain(bindings["c"], values)), "text")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The condition that failed, and where in the program. We wrote a pattern for scores that are *multiplied*; this
    library divides. Either is fine with us, and `|` says so:
    """)
    return


@app.cell
def _(bindings, is_const, is_op, values, wildcard):
    product = is_op("relax.matmul")(wildcard(), wildcard())
    scaled_either_way = is_op("relax.multiply")(product, is_const()) | is_op("relax.divide")(product, is_const())
    print(scaled_either_way.explain(bindings["c"], values))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## To put something else there

    `rewrite_call` wants a pattern and a function. The function is told what matched, and gives what shall stand
    there:
    """)
    return


@app.cell
def _(R, anything, layer, listing, rewrite_call, swish):
    def to_silu(expr, matches):
        return R.nn.silu(matches[anything])

    silu = rewrite_call(swish, to_silu, layer)
    listing(silu.script())
    return (silu,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Is it the same program? Never believe yourself. The interpreter runs both on random inputs, and complains where
    they differ:
    """)
    return


@app.cell
def _(IRModule, assert_same_meaning, module, silu):
    assert_same_meaning(module, IRModule({"main": silu}))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Silence is the good news. (With a rewrite that is wrong it says on which inputs, and what came out. Try it: let
    `to_silu` give `R.nn.gelu`.)

    ## Conditions

    Division by a constant can move from the scores, n² numbers, to the queries, n · d of them. But only if that is
    fewer. A rewriter that does not like what it sees gives the expression back:
    """)
    return


@app.cell
def _(R, is_const, is_op, layer, np, rewrite_call, wildcard):
    queries, keys, constant = wildcard(), wildcard(), is_const()
    divided = is_op("relax.divide")(is_op("relax.matmul")(queries, keys), constant)

    def divide_early(expr, matches):
        before = np.prod([int(e) for e in expr.struct_info.shape])
        after = np.prod([int(e) for e in matches[queries].struct_info.shape])
        if after >= before:
            return expr
        return R.matmul(R.divide(matches[queries], matches[constant]), matches[keys])

    print(rewrite_call(divided, divide_early, layer).script() == layer.script())
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    With five words of eight numbers it is not worth it, and nothing changed. For the 128 words of BERT with 64
    numbers a head it would be.

    ## Things far from each other

    The three projections of `x` have nothing above them in common: no expression contains all three. What they
    share is an input. A `PatternContext` ties patterns together that are no parts of each other:
    """)
    return


@app.cell
def _(
    IRModule,
    PatternContext,
    R,
    assert_same_meaning,
    is_op,
    layer,
    listing,
    module,
    relax,
    rewrite_bindings,
    wildcard,
):
    with PatternContext() as together:
        shared = wildcard()
        weights = [wildcard() for _ in range(3)]
        projections = [is_op("relax.matmul")(shared, w) for w in weights]

    def one_product(m, _bindings):
        wide = R.matmul(m[shared], R.concat([m[w] for w in weights], axis=1))
        parts = R.split(wide, 3, axis=1)
        return {m[p]: relax.TupleGetItem(parts, i) for i, p in enumerate(projections)}

    merged = rewrite_bindings(together, one_product, layer)
    assert_same_meaning(module, IRModule({"main": merged}))
    listing(merged.script())
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    One product of a wide matrix in the place of three of narrow ones: `x` is read once, and the weights, which are
    constants in a real model, are put beside each other when the program is built.

    ## When the order of rules decides

    A greedy rewriter replaces, and what was there is gone. Think of `(A · B) · x`, with two square matrices and one
    vector. Products are associative, so there are two ways, and they are not at all equally dear:
    """)
    return


@app.cell
def _(PatternMatchingRewriter, R, is_op, wildcard):
    @R.function
    def chain(a: R.Tensor((256, 256), "float32"), b: R.Tensor((256, 256), "float32"), x: R.Tensor((256, 1), "float32")):
        with R.dataflow():
            ab = R.matmul(a, b)
            y = R.matmul(ab, x)
            R.output(y)
        return y

    f, g, h = wildcard(), wildcard(), wildcard()
    mm = is_op("relax.matmul")
    to_right = PatternMatchingRewriter.from_pattern(mm(mm(f, g), h), lambda _, m: R.matmul(m[f], R.matmul(m[g], m[h])))
    to_left = PatternMatchingRewriter.from_pattern(mm(f, mm(g, h)), lambda _, m: R.matmul(R.matmul(m[f], m[g]), m[h]))
    return chain, to_left, to_right


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    A rule in one direction helps here and hurts elsewhere; both directions would turn around forever. **Equality
    saturation** takes rules as what they are, equalities. It keeps both sides, until nothing new is found, and then
    takes the cheapest:
    """)
    return


@app.cell
def _(EqsatRewrite, IRModule, chain, before_and_after, to_left, to_right):
    chain_module = IRModule({"main": chain})
    best = EqsatRewrite([to_right, to_left])(chain_module)
    before_and_after(chain_module["main"].script(), best["main"].script())
    return best, chain_module


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    And what is it worth? A count first, then the clock:
    """)
    return


@app.cell
def _(best, chain_module, np, relax, seconds, table):
    _a, _b = np.random.default_rng(0).random((2, 256, 256), dtype="float32")
    _x = np.ones((256, 1), "float32")
    _rows = []
    for _name, _m, _ops in (("(A·B)·x", chain_module, 2 * 256**3 + 2 * 256**2), ("A·(B·x)", best, 4 * 256**2)):
        _main = relax.build(_m, target="llvm -num-cores=1")["main"]
        _rows.append((_name, f"{_ops:,}", seconds(lambda main=_main: main(_a, _b, _x)) * 1e6))
    table(["", "operations", "µs"], _rows)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    No kernel, however good, wins what a good equality wins.

    ## Exercises

    **1.** Somebody wrote a softmax out: `exp(x) / sum(exp(x))`. Write a pattern for it. The sum is over some axis,
    so leave the attributes alone; both exponentials are of the same thing.
    """)
    return


@app.cell(hide_code=True)
def _(R, get_var2val):
    @R.function
    def _written_out(x: R.Tensor((4, 6), "float32"), y: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            e = R.exp(x)
            total = R.sum(e, axis=[-1], keepdims=True)
            softmax = R.divide(e, total)
            other = R.sum(R.exp(y), axis=[-1], keepdims=True)
            strange = R.divide(e, other)
            plain = R.divide(x, total)
            out = R.add(R.add(softmax, strange), plain)
            R.output(out)
        return out

    def check_1(answer):
        if answer is None:
            return "Build a pattern of `wildcard` and `is_op`, for `relax.divide`, `relax.exp` and `relax.sum`."
        _values = get_var2val(_written_out)
        _exprs = {b.var.name_hint: b.value for b in _written_out.body.blocks[0].bindings}
        why = answer.explain(_exprs["softmax"], _values)
        if why is not None:
            return f"It does not match a softmax:\n\n```text\n{why}\n```"
        if answer.match(_exprs["plain"], _values):
            return "It matches `x / sum(exp(x))`, too: what is above the line is an exponential as well."
        if answer.match(_exprs["strange"], _values):
            return "It matches `exp(x) / sum(exp(y))`, too. Use one pattern object for both exponentials."
        return None

    return (check_1,)


@app.cell
def _(check_1, verdict):
    answer_1 = None
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(check_1, is_op, right, wildcard):
    _exponential = is_op("relax.exp")(wildcard())
    solution_1 = is_op("relax.divide")(_exponential, is_op("relax.sum")(_exponential))
    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** Write a function that takes a Relax function and gives one in which `maximum(x, 0)` is `R.nn.relu(x)`.
    Other constants must stay: `matches[constant].data.numpy()` is a constant's array.
    """)
    return


@app.cell(hide_code=True)
def _(IRModule, R, assert_same_meaning):
    @R.function
    def _clipped(x: R.Tensor((4, 6), "float32")):
        with R.dataflow():
            a = R.maximum(x, R.const(0, "float32"))
            b = R.maximum(a, R.const(1, "float32"))
            c = R.maximum(R.negative(b), R.const(0, "float32"))
            R.output(c)
        return c

    def check_2(answer):
        if answer is None:
            return "Write a function of one argument; `rewrite_call` does most of it."
        after = answer(_clipped)
        text = after.script()
        if text.count("R.nn.relu") == 0:
            return "There is no `R.nn.relu` in what came out."
        if text.count("R.nn.relu") == 3:
            return "`maximum(a, 1)` became a relu, too. Look at the number before you rewrite."
        if "R.maximum" not in text or text.count("R.nn.relu") != 2:
            return f"Two of the three maxima are relus. This came out:\n\n```python\n{text}\n```"
        assert_same_meaning(IRModule({"main": _clipped}), IRModule({"main": after}))
        return None

    return (check_2,)


@app.cell
def _(check_2, verdict):
    answer_2 = None
    verdict(check_2(answer_2))
    return


@app.cell(hide_code=True)
def _(R, check_2, is_const, is_op, rewrite_call, right, wildcard):
    def solution_2(function):
        x, limit = wildcard(), is_const()

        def rewriter(expr, matches):
            return R.nn.relu(matches[x]) if (matches[limit].data.numpy() == 0).all() else expr

        return rewrite_call(is_op("relax.maximum")(x, limit), rewriter, function)

    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** `x · w + x · v` is `x · (w + v)`, with half of the products. Write a `PatternMatchingRewriter` for it.
    """)
    return


@app.cell(hide_code=True)
def _(IRModule, R, assert_same_meaning):
    @R.function
    def _shared(x: R.Tensor((4, 6), "float32"), w: R.Tensor((6, 5), "float32"), v: R.Tensor((6, 5), "float32")):
        with R.dataflow():
            s = R.add(R.matmul(x, w), R.matmul(x, v))
            R.output(s)
        return s

    @R.function
    def _apart(x: R.Tensor((4, 6), "float32"), y: R.Tensor((4, 6), "float32"), w: R.Tensor((6, 5), "float32")):
        with R.dataflow():
            s = R.add(R.matmul(x, w), R.matmul(y, R.negative(w)))
            R.output(s)
        return s

    def check_3(answer):
        if answer is None:
            return "`PatternMatchingRewriter.from_pattern(pattern, rewriter)`, as for the chain above."
        once, left = answer(_shared), answer(_apart)
        if once.script().count("R.matmul") != 1:
            return (
                f"`x·w + x·v` still has {once.script().count('R.matmul')} products:\n\n```python\n{once.script()}\n```"
            )
        if left.script().count("R.matmul") != 2:
            return "`x·w + y·v` has two different left sides and was rewritten all the same."
        assert_same_meaning(IRModule({"main": _shared}), IRModule({"main": once}))
        return None

    return (check_3,)


@app.cell
def _(check_3, verdict):
    answer_3 = None
    verdict(check_3(answer_3))
    return


@app.cell(hide_code=True)
def _(PatternMatchingRewriter, R, check_3, is_op, right, wildcard):
    _x, _w, _v = wildcard(), wildcard(), wildcard()
    solution_3 = PatternMatchingRewriter.from_pattern(
        is_op("relax.add")(is_op("relax.matmul")(_x, _w), is_op("relax.matmul")(_x, _v)),
        lambda _, m: R.matmul(m[_x], R.add(m[_w], m[_v])),
    )
    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Where next

    A rule finds a place and changes it. What runs rules, in which order, on what, and what holds afterwards: that
    is a *pass*, and the [next notebook](04_a_pass.py) writes some.
    """)
    return


if __name__ == "__main__":
    app.run()
