import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="8. A transformer")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 8. A transformer, compiled, and what the clock says

    We have come from an einsum with five words. Here is the rest of it: a model that reads letters and says which
    letter might come next, small, but with every part that the large ones have. We write it, look at what the
    compiler does to it, check it against numpy, and then read the profile as one reads the chart of a patient.
    """)
    return


@app.cell
def _():
    import marimo as mo
    import numpy as np
    from lesson import listing, picture, right, seconds, table, verdict

    import tirax.tvm_api as tvm
    from tirax.runtime import set_num_threads
    from tirax.tvm_api import relax
    from tirax.tvm_api.relax.frontend import nn

    return (
        listing,
        mo,
        nn,
        np,
        picture,
        relax,
        right,
        seconds,
        set_num_threads,
        table,
        tvm,
        verdict,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The model
    """)
    return


@app.cell
def _(nn, np):
    LETTERS, SIZE, HEADS, LAYERS = 96, 128, 4, 2

    class Attention(nn.Module):
        def __init__(self):
            self.qkv = nn.Linear(SIZE, 3 * SIZE)
            self.out = nn.Linear(SIZE, SIZE)

        def forward(self, x):
            b, n, _ = x.shape
            qkv = nn.op.reshape(self.qkv(x), (b, n, 3 * HEADS, SIZE // HEADS))
            q, k, v = nn.op.split(qkv, 3, axis=2)
            seen = nn.op.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(nn.op.reshape(seen, (b, n, SIZE)))

    class Block(nn.Module):
        def __init__(self):
            self.norm1, self.attention = nn.LayerNorm(SIZE), Attention()
            self.norm2, self.up, self.down = nn.LayerNorm(SIZE), nn.Linear(SIZE, 4 * SIZE), nn.Linear(4 * SIZE, SIZE)

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.down(nn.op.gelu(self.up(self.norm2(x))))

    class Transformer(nn.Module):
        def __init__(self):
            self.letters, self.places = nn.Embedding(LETTERS, SIZE), nn.Embedding(256, SIZE)
            self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(SIZE), nn.Linear(SIZE, LETTERS, bias=False)

        def forward(self, text, places):
            x = self.letters(text) + self.places(places)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    ids = nn.spec.Tensor((1, "n"), "int64")
    module, parameters = Transformer().export_tvm({"forward": {"text": ids, "places": ids}})
    print(len(parameters), "parameters,", sum(int(np.prod(p.shape)) for _, p in parameters), "numbers")
    return HEADS, LAYERS, LETTERS, SIZE, module, parameters


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    While `forward` runs, its tensors stand for values of a Relax function, and each operation writes down a
    binding. What comes out is a program like those that we wrote by hand, with the length `n` symbolic. Two layers
    are some forty bindings; we look at the beginning:
    """)
    return


@app.cell
def _(listing, module):
    listing("\n".join(line[:110] for line in module["forward"].script().splitlines()[4:26]))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The way down

    In the fourth notebook we followed a small network through the passes. Here the same table says more:
    """)
    return


@app.cell
def _(module, table):
    from tirax.driver.pipelines import PIPELINES, make_passes

    def journey(ir):
        """What is in the program after each pass that changes it."""
        rows, before = [], ""
        for one in make_passes(PIPELINES["optimize"]):
            ir = one(ir)
            text = str(ir.op)
            if text != before:
                before = text
                kernels = [op.name for op in ir.op.body.block.ops].count("tir.func")
                rows.append((one.name, text.count("relax.call_tir "), kernels, len(text.splitlines())))
        return rows

    steps = journey(module)
    table(["pass", "calls of kernels", "kernels", "lines"], steps)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Read the last lines from the bottom to the top. Both layers share their kernels, because loops that are equal
    are one function; and after fusion, the bias, gelu and the sum with `x` have disappeared into the products
    before them, where their operands still are in registers.

    ## Is it right?

    An oracle that we did not write would be best, and for the models of others there are some. For our own we write
    numpy, as plainly as we can:
    """)
    return


@app.cell
def _(HEADS, LAYERS, SIZE, np, parameters):
    rng = np.random.default_rng(0)
    weights = {
        name: (rng.standard_normal(tuple(map(int, p.shape))) * 0.08 + name.startswith("norm")).astype("float32")
        for name, p in parameters
    }

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return scaled * weights[name + ".weight"] + weights[name + ".bias"]

    def linear(x, name):
        return x @ weights[name + ".weight"].T + weights[name + ".bias"]

    def gelu(x):
        from math import erf

        return x * 0.5 * (1 + np.vectorize(erf)(x / 2**0.5))

    def attention(x, name):
        q, k, v = (
            part.reshape(-1, HEADS, SIZE // HEADS).swapaxes(0, 1) for part in np.split(linear(x, name + ".qkv"), 3, -1)
        )
        scores = q @ k.swapaxes(1, 2) / (SIZE // HEADS) ** 0.5
        scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
        e = np.exp(scores - scores.max(-1, keepdims=True))
        seen = (e / e.sum(-1, keepdims=True)) @ v
        return linear(seen.swapaxes(0, 1).reshape(-1, SIZE), name + ".out")

    def in_numpy(text):
        x = weights["letters.weight"][text] + weights["places.weight"][: len(text)]
        for i in range(LAYERS):
            x = x + attention(norm(x, f"blocks.{i}.norm1"), f"blocks.{i}.attention")
            x = x + linear(gelu(linear(norm(x, f"blocks.{i}.norm2"), f"blocks.{i}.up")), f"blocks.{i}.down")
        return norm(x, "norm") @ weights["head.weight"].T

    return in_numpy, rng, weights


@app.cell
def _(
    LETTERS,
    in_numpy,
    module,
    np,
    relax,
    rng,
    set_num_threads,
    table,
    tvm,
    weights,
):
    set_num_threads(1)
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu(), profile=True)

    def run(text):
        """The numbers for each letter that may follow, at each place."""
        return machine["forward"](text[None], np.arange(len(text))[None], *weights.values()).numpy()[0]

    lengths = [1, 7, 64]
    texts = [rng.integers(0, LETTERS, n) for n in lengths]
    table(
        ["letters", "largest difference"], [(n, float(abs(run(t) - in_numpy(t)).max())) for n, t in zip(lengths, texts)]
    )
    return machine, run, texts


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    One build, three lengths, a difference in the seventh digit: sums in another order. And the speed?
    """)
    return


@app.cell
def _(in_numpy, run, seconds, table, texts):
    text = texts[-1]
    ours, numpys = seconds(lambda: run(text)), seconds(lambda: in_numpy(text))
    table(["64 letters", "ms"], [("compiled", ours * 1e3), ("numpy, as plainly as above", numpys * 1e3)])
    return (text,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The profile

    Where does the time go? `profile` runs the function with a clock in it, and divides all of a call among kernels:
    """)
    return


@app.cell
def _(machine, np, table, text, weights):
    report = machine.profile("forward", text[None], np.arange(64)[None], *weights.values())
    kernels = sorted((row for row in report.rows if row.kind == "kernel"), key=lambda row: -row.seconds)

    table(
        ["kernel", "calls", "µs", "share, %", "operations a byte", "% of peak"],
        [
            (
                r.name,
                r.count,
                r.seconds * 1e6,
                100 * r.share,
                (r.operations or 0) / (r.bytes or 1),
                100 * (r.limit or 0),
            )
            for r in kernels
        ],
    )
    return (report,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    How to read it:

    1. **The share first.** What takes one percent may be as bad as it likes.
    2. **Then operations over bytes.** A kernel that does many operations for each byte can be limited by arithmetic
       only; one that does few, by memory only. Between the two lies a ridge, and it depends on the machine.
    3. **Then how far it is from its limit.** A kernel near its roof is done; one far below it has a reason, and the
       reason is worth finding.

    All three are in one picture, the *roofline*. Each dot is a kernel, as large as its share; the lines are what
    this machine can do, as measured:
    """)
    return


@app.cell
def _(picture, report):
    picture(report.roofline())
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Products of matrices are up on the right, near the roof if the text is long enough; norms, copies and lookups
    are on the left, where only memory counts. The usual surprise of a first profile is not a slow product, but ten
    small kernels that nobody thought of. Fusion is what keeps them few.

    Longer texts do more for each weight that is fetched, so the same kernels move to the right and up:
    """)
    return


@app.cell
def _(machine, np, table, weights):
    def operations_a_second(n):
        some = np.zeros(n, "int64")
        reports = [machine.profile("forward", some[None], np.arange(n)[None], *weights.values()) for _ in range(5)]
        return max(sum(row.operations or 0 for row in r.rows) / r.seconds for r in reports) / 1e9

    table(["letters", "GFLOP/s"], [(n, operations_a_second(n)) for n in (1, 8, 64, 256)])
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    One letter at a time, as when a model writes, reads all weights for a single row: the memory is the limit, and
    no schedule changes that. (What does: smaller numbers, [mixed precision](../mixed_precision.md), or several
    texts at once.)

    ## Exercises

    **1.** Count. How many multiplications and additions do the *matrix products* of this model need for `n`
    letters? Write a function of `n`. Leave out attention's own two products, `q·kᵀ` and `w·v`; embeddings are
    lookups and need none.
    """)
    return


@app.cell(hide_code=True)
def _(parameters):
    def check_1(answer):
        if answer is None:
            return "Every linear layer takes 2 · n · inputs · outputs. Use `SIZE`, `LAYERS`, `LETTERS`."
        products = [
            p.shape for name, p in parameters if len(p.shape) == 2 and name.split(".")[0] not in ("letters", "places")
        ]
        matrices = sum(int(a) * int(b) for a, b in products)
        for n in (1, 10):
            if answer(n) != 2 * n * matrices:
                times = answer(n) / (2 * n * matrices)
                return f"For {n} letters there are {2 * n * matrices:,}; the answer is {times:.3g} times as many."
        return None

    return (check_1,)


@app.cell
def _(check_1, verdict):
    answer_1 = None
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(LAYERS, LETTERS, SIZE, check_1, right):
    def solution_1(n):
        layer = 3 * SIZE**2 + SIZE**2 + 2 * 4 * SIZE**2  # q, k, v; out; up and down
        return 2 * n * (LAYERS * layer + SIZE * LETTERS)

    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** Read. Write a function of a report that gives the share of the call, from 0 to 1, that is spent in
    kernels which do fewer than 4 operations for each byte: those that memory limits on every machine of today.
    (`row.kind`, `row.operations`, `row.bytes`, `row.share`; what is not known is None or negative.)
    """)
    return


@app.cell(hide_code=True)
def _(report):
    def check_2(answer):
        if answer is None:
            return "Write a function of a report, such as `report` above."
        few = [r for r in report.rows if (r.operations or 0) <= 4 * (r.bytes or 0)]
        share = sum(r.share for r in few if r.kind == "kernel" and r.bytes)
        everything = sum(r.share for r in few)
        got = answer(report)
        if abs(got - everything) < 1e-9 and abs(got - share) > 1e-9:
            return "Rows that are no kernels (host code, the call from Python) are in it, too."
        if abs(got - share) > 1e-9:
            return f"It is {share:.3f} of the call here, and the answer is {got:.3f}."
        return None

    return (check_2,)


@app.cell
def _(check_2, verdict):
    answer_2 = None
    verdict(check_2(answer_2))
    return


@app.cell(hide_code=True)
def _(check_2, right):
    def solution_2(report):
        kernels = [row for row in report.rows if row.kind == "kernel" and row.bytes]
        return sum(row.share for row in kernels if (row.operations or 0) / row.bytes < 4)

    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** Write. Let the model go on with a text: a function of `(text, count)` that gives the text with `count`
    more letters, each the one with the largest number at the last place. `run(text)` gives the numbers. (With
    weights drawn at random it will not be Shakespeare.)
    """)
    return


@app.cell(hide_code=True)
def _(in_numpy, np):
    def check_3(answer):
        if answer is None:
            return "Write a loop: run, take the last row, its `argmax`, append."
        start = np.array([5, 17, 42])
        longer = start
        for _ in range(4):
            longer = np.append(longer, in_numpy(longer)[-1].argmax())
        got = np.asarray(answer(start, 4))
        if got.shape != longer.shape:
            return f"3 letters and 4 more are 7; the answer has the shape {got.shape}."
        if not np.array_equal(got, longer):
            return f"It should go on with {longer[3:].tolist()}, and goes on with {got[3:].tolist()}."
        return None

    return (check_3,)


@app.cell
def _(check_3, verdict):
    answer_3 = None
    verdict(check_3(answer_3))
    return


@app.cell(hide_code=True)
def _(check_3, np, right, run):
    def solution_3(text, count):
        for _ in range(count):
            text = np.append(text, run(text)[-1].argmax())
        return text

    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The end, and where to go

    From an einsum to this. You have seen the IR, written it, searched it, rewritten it, checked it, scheduled it,
    tuned it, extended it and measured it; and the compiler that did all of it is ten rooms of Python that you may
    read. [The life of one matmul](../life_of_a_matmul.md) goes through them with a finger on the line. [Bring a
    model](../bring_a_model.md) takes one of yours, from PyTorch or ONNX. And if something in it is slower or uglier
    than it should be: [where do I change …?](../where_to_change.md)
    """)
    return


if __name__ == "__main__":
    app.run()
