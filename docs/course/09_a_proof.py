import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="9. A proof")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 9. Is my pass right?

    In the [fourth notebook](04_a_pass.py) an interpreter compared two programs on a handful of inputs. That finds a
    wrong pass if one of the inputs happens to show it. In this notebook a program runs on *terms* instead of numbers:
    what comes out are expressions of the inputs, and if they are equal before and after a pass, the results are, for
    all inputs.
    """)
    return


@app.cell
def _():
    from dataclasses import dataclass

    import marimo as mo
    from lesson import listing, right, table, verdict

    from tirax.interpreter import MeaningError, assert_same_meaning
    from tirax.ir.passes.transform import Pass
    from tirax.ir.rewriting.driver import apply_rules
    from tirax.proof import Level, Verdict, validate
    from tirax.schedule import Schedule
    from tirax.tvm_api.script import from_source
    from tirax.tvm_api.script import ir as I
    from tirax.tvm_api.script import relax as R

    return (
        I,
        Level,
        MeaningError,
        Pass,
        R,
        Schedule,
        Verdict,
        apply_rules,
        assert_same_meaning,
        dataclass,
        from_source,
        listing,
        mo,
        right,
        table,
        validate,
        verdict,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## A pass that passes

    Some networks clip their activations at 6, some at a number so large that, the author of the following pass
    thinks, it never matters:
    """)
    return


@app.cell
def _(I, Pass, R, apply_rules, dataclass):
    @dataclass(frozen=True)
    class DropClips(Pass):
        """clip(x, low, high) -> x, where the limits are large"""

        name = "drop-clips"

        def apply(self, ctx, op):
            apply_rules(op, {"relax.clip": self.drop})

        def drop(self, op, emit):
            return op.operands[0]

    @I.ir_module
    class Clipped:
        @R.function
        def main(x: R.Tensor(("n", 4), "float32")):
            with R.dataflow():
                a = R.clip(x, -1000, 1000)
                b = R.nn.relu(a)
                R.output(b)
            return b

    dropped = DropClips()(Clipped)
    return Clipped, DropClips, dropped


@app.cell
def _(Clipped, assert_same_meaning, dropped):
    assert_same_meaning(Clipped.op, dropped.op)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The interpreter has nothing to say against it: its random numbers lie between -1 and 1. Now the proof:
    """)
    return


@app.cell
def _(Clipped, dropped, listing, validate):
    listing(str(validate(Clipped, dropped)), "text")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The two terms, `maximum(maximum(minimum(x, 1000), -1000), 0)` and `maximum(x, 0)`, are not the same, and no law
    of arithmetic makes them so. Only then the validator looks for numbers that show it, now that it knows where: near
    the constants of the programs. A function is *wrong* only with such numbers; if it finds none, it says *not
    covered*. So there are three verdicts, and no false alarm.

    ## What a proof looks like

    A pass that is right. How much, though? Floats round, and few laws hold of them. A proof says the weakest laws
    that it needed:

    | level | what it may use |
    |---|---|
    | `bits` | hardly anything: `a + b = b + a`. The results are the same bit by bit |
    | `reassociated` | sums and products in any order |
    | `real` | all that holds of real numbers |
    """)
    return


@app.cell
def _(from_source, table, validate):
    GRAPH = """
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32"), z: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = {}
                R.output(a)
            return a
    """

    def program(expression):
        """A module that computes an expression of x, y and z."""
        return from_source(GRAPH.format(expression))

    def finding(before, after):
        """What is known of two expressions."""
        return validate(program(before), program(after)).findings[0]

    PAIRS = [
        ("R.add(x, y)", "R.add(y, x)"),
        ("R.add(R.add(x, y), z)", "R.add(x, R.add(y, z))"),
        ("R.multiply(x, R.add(y, z))", "R.add(R.multiply(x, y), R.multiply(x, z))"),
        ("R.exp(R.add(x, y))", "R.multiply(R.exp(x), R.exp(y))"),
        ("R.subtract(x, y)", "R.subtract(y, x)"),
        ("R.sin(R.add(x, R.const(6.2831855)))", "R.sin(x)"),
    ]

    def shown(before, after):
        found = finding(before, after)
        return before, after, found.verdict.value, found.level.value if found.level else found.reason

    table(["before", "after", "verdict", "level, or reason"], [shown(*p) for p in PAIRS])
    return GRAPH, finding, program


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The last one is honest: a sine has a period, but the validator knows no such law, and in float32 that constant is
    not 2π anyway.

    ## All sizes

    `n` was symbolic in `Clipped`, and a proof runs a program at sizes that are numbers. For tensor functions made of
    blocks there is more: loops, guards and regions are proved for *all* sizes, by an SMT solver where our own
    analyzer does not see it. Schedules can be proved while they are written:
    """)
    return


@app.cell
def _(Schedule, from_source, listing):
    SUM = """
    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n, 8), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for i, k in T.grid(n, 8):
                with T.block("B"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
    """
    schedule = Schedule(from_source(SUM), validate="proof")
    rows_of_sum, steps_of_sum = schedule.get_loops(schedule.get_block("B"))
    outer_of_sum, inner_of_sum = schedule.split(rows_of_sum, [None, 4])
    schedule.reorder(outer_of_sum, steps_of_sum, inner_of_sum)
    schedule.vectorize(inner_of_sum)
    listing("\n".join(f"{name}: {result}" for name, result in schedule.proofs.steps), "text")
    return (SUM,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## What it does not say

    A proof is about the semantics of the IR, in which indices that data choose are within bounds, and numbers are
    finite above `bits`. What LLVM makes of a kernel is tested, not proved, and so is the machine.

    For a pass in a pipeline there is `tirax-opt --check-each=proof`, for a build `relax.build(module,
    validate="proof")`, and for two files `tirax prove before.py after.py`.

    ## Exercises

    **1.** How strong is each of these? Give a list of four words, each `"bits"`, `"reassociated"`, `"real"` or
    `"wrong"`, for the pairs of `QUESTIONS`.
    """)
    return


@app.cell
def _(finding):
    QUESTIONS = [
        ("R.subtract(x, y)", "R.add(x, R.negative(y))"),
        ("R.divide(x, y)", "R.multiply(x, R.divide(R.const(1.0), y))"),
        ("R.maximum(R.maximum(x, y), z)", "R.maximum(x, R.maximum(z, y))"),
        ("R.sum(R.multiply(x, y))", "R.multiply(R.sum(x), R.sum(y))"),
    ]

    def check_1(answer):
        if answer is None:
            return "Give a list of four words."
        for (before, after), word in zip(QUESTIONS, answer, strict=True):
            found = finding(before, after)
            if word != (found.level.value if found.level else found.verdict.value):
                return f"`{before}` and `{after}`: not `{word}`."
        return None

    return (check_1,)


@app.cell
def _(check_1, verdict):
    answer_1 = None
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(check_1, right):
    solution_1 = ["bits", "real", "reassociated", "wrong"]
    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** Make `DropClips` right: write its rule, a function of `(op, emit)` that drops a clip of a clip where the
    first one is at least as narrow. `op.operands` are the value and both limits; `limits_of` gives the limits as
    numbers.
    """)
    return


@app.cell
def _(Pass, apply_rules, dataclass, program, validate):
    def limits_of(op):
        """The limits of a clip as numbers."""
        return [float(limit.owner.value.value.data) for limit in op.operands[1:]]

    def check_2(answer):
        if answer is None:
            return "Write a function of `op` and `emit` that gives a value, or None."

        @dataclass(frozen=True)
        class Own(Pass):
            name = "own"

            def apply(self, ctx, op):
                apply_rules(op, {"relax.clip": answer})

        for inner, outer, goes in (
            ((-0.5, 1.5), (-2.5, 2.5), True),
            ((-0.5, 3.5), (-2.5, 2.5), False),
            ((-0.5, 1.5), (-0.5, 1.5), True),
        ):
            before = program(f"R.clip(R.clip(R.add(x, y), {inner[0]}, {inner[1]}), {outer[0]}, {outer[1]})")
            after = Own()(before)
            result = validate(before, after)
            if result.verdict.value != "proved":
                return f"Clips to {inner} and then to {outer}:\n\n```text\n{result}\n```"
            if (str(after.op).count("relax.clip") == 1) != goes:
                return f"Of clips to {inner} and then to {outer}, {'one should go' if goes else 'both are needed'}."
        return None

    return check_2, limits_of


@app.cell
def _(check_2, verdict):
    answer_2 = None
    verdict(check_2(answer_2))
    return


@app.cell(hide_code=True)
def _(check_2, limits_of, right):
    def solution_2(op, emit):
        clipped = op.operands[0]
        if getattr(clipped.owner, "name", "") != "relax.clip":
            return None
        (low, high), (least, most) = limits_of(clipped.owner), limits_of(op)
        return clipped if least <= low and high <= most else None

    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** Write a tensor function `main` with the buffers of `SUM` which computes the same sums in another way, with
    the loops `o`, `i` and `k`, where `i` runs to 4, and is proved for all sizes. Mind the last rows.
    """)
    return


@app.cell(hide_code=True)
def _(SUM, Verdict, from_source, validate):
    def check_3(answer):
        if answer is None:
            return "Write the module as a text; `SUM` is one."
        written = from_source(answer)
        result = validate(from_source(SUM), written)
        if result.verdict is not Verdict.PROVED:
            return f"```text\n{result}\n```"
        if not result.findings[0].all_sizes:
            return f"Only at some sizes: {result.findings[0].reason}."
        if str(written.op).count("tir.for ") != 3:
            return "There should be three loops, one of them of four iterations."
        return None

    return (check_3,)


@app.cell
def _(check_3, verdict):
    answer_3 = None
    verdict(check_3(answer_3))
    return


@app.cell(hide_code=True)
def _(check_3, right):
    solution_3 = """
    @I.ir_module
    class Module:
        @T.prim_func
        def main(a: T.handle, b: T.handle):
            n = T.int64()
            A = T.match_buffer(a, (n, 8), "float32")
            B = T.match_buffer(b, (n,), "float32")
            for o, i, k in T.grid((n + 3) // 4, 4, 8):
                with T.block("B"):
                    T.where(o * 4 + i < n)
                    vi = T.axis.spatial(n, o * 4 + i)
                    vk = T.axis.reduce(8, k)
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] = B[vi] + A[vi, vk]
    """
    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Where next

    A proof says nothing of programs that nobody has compiled yet, but it says it of each one while it is compiled:
    that is what `validate="proof"` of a build is for. The [page on proofs](../proofs.md) has what is assumed, how far
    proofs go, and what they found.
    """)
    return


if __name__ == "__main__":
    app.run()
