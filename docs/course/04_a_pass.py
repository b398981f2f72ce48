import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="4. A pass")


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 4. Writing a pass, and not believing it

    A compiler is a list of passes. Each takes a program and gives a program that means the same. The one on your
    machine has more than fifty on the way from Relax to machine code; in this notebook we write four, one of them
    wrong.
    """)
    return


@app.cell
def _():
    from dataclasses import dataclass

    import marimo as mo
    import numpy as np
    from lesson import before_and_after, listing, right, table, verdict

    from tirax.dialects import tir
    from tirax.interpreter import MeaningError, assert_same_meaning
    from tirax.ir.passes.transform import Pass, Sequential
    from tirax.ir.rewriting.driver import apply_rules
    from tirax.transforms.operators.rules import constant_array, producer
    from tirax.tvm_api.script import from_source
    from tirax.tvm_api.script import ir as I
    from tirax.tvm_api.script import relax as R

    return (
        I,
        MeaningError,
        Pass,
        R,
        Sequential,
        apply_rules,
        assert_same_meaning,
        before_and_after,
        constant_array,
        dataclass,
        from_source,
        listing,
        mo,
        np,
        producer,
        right,
        table,
        tir,
        verdict,
    )


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## The patient

    Programs that come from models are full of leftovers. Somebody transposed the weights, somebody else transposed
    them back, a third one did not trust either:
    """)
    return


@app.cell
def _(I, R):
    @I.ir_module
    class Network:
        @R.function
        def main(x: R.Tensor(("n", 8), "float32"), w: R.Tensor((4, 8), "float32")):
            with R.dataflow():
                a = R.permute_dims(w)
                b = R.permute_dims(a)
                c = R.permute_dims(b)
                y = R.matmul(x, c)
                z = R.multiply(R.multiply(y, R.const(8, "float32")), R.const(0.25, "float32"))
                R.output(z)
            return z

    return (Network,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## A rule, and what drives it

    A pass of ours is a frozen dataclass. Its `apply` changes a module in place; what it does is a table: the name
    of an operation → a method that gives the value which shall stand there, or None to leave all as it is.
    """)
    return


@app.cell
def _(Network, Pass, apply_rules, before_and_after, dataclass, producer):
    @dataclass(frozen=True)
    class CancelTransposes(Pass):
        """permute_dims(permute_dims(x)) -> x"""

        name = "cancel-transposes"

        def apply(self, ctx, op):
            apply_rules(op, {"relax.permute_dims": self.cancel})

        def cancel(self, op, emit):
            inner = producer(op.operands[0], "permute_dims")
            return None if inner is None else inner.operands[0]

    before_and_after(Network["main"].script(), CancelTransposes()(Network)["main"].script())
    return (CancelTransposes,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Two of three transposes are gone. `producer` asks which operation gives a value; the driver walks, finds the
    places, keeps the names, and removes what nothing uses any more. All of it is twelve lines.

    ## Does it mean the same?
    """)
    return


@app.cell
def _(CancelTransposes, Network, assert_same_meaning):
    assert_same_meaning(Network.op, CancelTransposes()(Network).op)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    No complaint. `n` is a symbolic size, and the interpreter tried several values of it, 0 and 1 among them, for
    those are where programs break. So our pass is right?

    We tested what we had thought of. Let us think of something else: more than two dimensions, and axes in another
    order.
    """)
    return


@app.cell
def _(CancelTransposes, I, MeaningError, R, assert_same_meaning, listing):
    @I.ir_module
    class Cube:
        @R.function
        def main(x: R.Tensor((3, 3, 3), "float32")):
            with R.dataflow():
                a = R.permute_dims(x, axes=[1, 2, 0])
                b = R.permute_dims(a, axes=[1, 2, 0])
                R.output(b)
            return b

    def complaint(before, after):
        """What the interpreter says of two programs."""
        try:
            assert_same_meaning(before.op, after.op)
        except MeaningError as error:
            return str(error)
        return "they mean the same"

    listing(complaint(Cube, CancelTransposes()(Cube)), "text")
    return Cube, complaint


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    There it is. A rotation of three axes, done twice, is not nothing: it is the rotation the other way. Our rule
    was true for matrices, and we had believed that it was true.

    The right rule composes the two permutations, and drops the rest only if nothing remains of them:
    """)
    return


@app.cell
def _(Cube, Pass, apply_rules, before_and_after, dataclass, producer):
    def axes_of(op):
        """The permutation; without axes all are turned around."""
        axes = op.attr("axes")
        rank = len(op.results[0].type.dims)
        return list(range(rank))[::-1] if axes is None else [a % rank for a in axes]

    @dataclass(frozen=True)
    class ComposeTransposes(Pass):
        """permute_dims(permute_dims(x, p), q) -> permute_dims(x, p[q]), which is x where p[q] changes nothing"""

        name = "compose-transposes"

        def apply(self, ctx, op):
            apply_rules(op, {"relax.permute_dims": self.compose})

        def compose(self, op, emit):
            inner = producer(op.operands[0], "permute_dims")
            if inner is None:
                return None
            both = [axes_of(inner)[a] for a in axes_of(op)]
            if both == sorted(both):
                return inner.operands[0]
            return emit("permute_dims", inner.operands[0], axes=both)

    before_and_after(Cube["main"].script(), ComposeTransposes()(Cube)["main"].script())
    return (ComposeTransposes,)


@app.cell
def _(ComposeTransposes, Cube, Network, complaint):
    [complaint(m, ComposeTransposes()(m)) for m in (Network, Cube)]
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    `emit` makes an operator and infers its type. Keep the moral in mind, for it is the only one of this notebook:
    *a pass is right when an oracle that you did not write says so on programs that you did not choose.* tirax has
    such an oracle at every level; `tirax-opt --check-each` asks it after each pass of a pipeline.

    ## Options

    The fields of the dataclass are the options of the pass, the same in Python and on a command line (`-p
    'merge-factors{exactly=true}'`):
    """)
    return


@app.cell
def _(
    ComposeTransposes,
    Network,
    Pass,
    Sequential,
    apply_rules,
    constant_array,
    dataclass,
    listing,
    np,
    producer,
):
    @dataclass(frozen=True)
    class MergeFactors(Pass):
        """(x * c) * d -> x * (c * d)

        `exactly`: only where that rounds as before, which is certain where `c` is a power of two.
        """

        name = "merge-factors"
        exactly: bool = True

        def apply(self, ctx, op):
            apply_rules(op, {"relax.multiply": self.merge})

        def merge(self, op, emit):
            inner = producer(op.operands[0], "multiply")
            if inner is None:
                return None
            c, d = constant_array(inner.operands[1]), constant_array(op.operands[1])
            if c is None or d is None or (self.exactly and not np.all(np.frexp(c)[0] == 0.5)):
                return None
            return emit("multiply", inner.operands[0], emit.constant(c * d, op.result.type.element))

    cleaned = Sequential([ComposeTransposes(), MergeFactors()])(Network)
    listing(cleaned["main"].script())
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    `Sequential` is a pass made of passes. After each one the program is *verified*: a pass that leaves a type that
    does not fit, or a value that is used before it is there, is stopped on the spot, and named.

    ## One floor down

    Tensor functions are loops and scalars. An expression there is an operation without effects, and may be replaced
    where it stands; `remove_dead` takes away what nobody uses then. Division is slow on every machine,
    multiplication is not:
    """)
    return


@app.cell
def _(Pass, before_and_after, dataclass, from_source, tir):
    from tirax.ir.rewriting.edit import insert_before
    from tirax.transforms.tir.walk import functions, remove_dead

    @dataclass(frozen=True)
    class MultiplyInstead(Pass):
        """x / c -> x * (1 / c)"""

        name = "multiply-instead"

        def apply(self, ctx, op):
            for function in functions(op):
                for division in [inner for inner in function.walk() if isinstance(inner, tir.DivOp)]:
                    divisor = division.rhs.owner
                    if isinstance(divisor, tir.ConstOp) and divisor.py_value:
                        factor = insert_before(division, tir.ConstOp(1 / divisor.py_value, division.rhs.type))
                        product = insert_before(division, tir.MulOp(division.lhs, factor.results[0]))
                        division.result.replace_all_uses_with(product.result)
                remove_dead(function)

    HALVES = """
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
            for i in range(8):
                B[i] = A[i] / T.float32(4)
    """
    halves = from_source(HALVES)
    before_and_after(halves["main"].script(), MultiplyInstead()(halves)["main"].script())
    return HALVES, functions, insert_before, remove_dead


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Fifty of them

    Here are the passes of the pipeline `optimize` on a small network, and what is in the program after each of
    those that changed it:
    """)
    return


@app.cell
def _(I, R, table):
    from tirax.driver.pipelines import PIPELINES, make_passes

    @I.ir_module
    class Small:
        @R.function
        def main(
            x: R.Tensor(("n", 784), "float32"), w: R.Tensor((784, 128), "float32"), b: R.Tensor((128,), "float32")
        ):
            with R.dataflow():
                h = R.nn.relu(R.add(R.matmul(x, w), b))
                y = R.nn.softmax(h)
                R.output(y)
            return y

    def journey(module, names):
        rows, before = [], str(module.op)
        for one in make_passes(names):
            module = one(module)
            if str(module.op) != before:
                before = str(module.op)
                operators = sum(
                    o.name.startswith("relax.") and not o.name.startswith("relax.call") for o in module.op.walk()
                )
                calls = before.count("relax.call_tir ")
                rows.append((one.name, operators, calls, before.count("tir.func"), len(before.splitlines())))
        return rows

    table(
        ["pass", "other operations of Relax", "calls", "tensor functions", "lines"],
        journey(Small, PIPELINES["optimize"]),
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Four operators became four functions, and then `fuse-ops` and `fuse-tir` made fewer of them: the sum with the
    bias and the relu happen where the product is made, before it ever goes to memory.

    ## Exercises

    **1.** Write the rule for `add(x, 0) -> x`, a function of `(op, emit)`. `constant_array` gives the numbers of a
    constant, and None for anything else. Beware: the sum of a small tensor and a large tensor of zeros is not the
    small tensor.
    """)
    return


@app.cell(hide_code=True)
def _(Pass, apply_rules, complaint, dataclass, from_source):
    ZEROS = """
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3,), "float32"), y: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                a = R.add(y, R.const(0, "float32"))
                b = R.add(a, R.const(1, "float32"))
                c = R.add(b, x)
                R.output(c)
            return c
    """
    WIDER = """
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                a = R.add(x, R.const([[0, 0, 0], [0, 0, 0]], "float32"))
                R.output(a)
            return a
    """

    def pass_of(rules):
        """A pass of these rules."""

        @dataclass(frozen=True)
        class Rules(Pass):
            name = "rules"

            def apply(self, ctx, op):
                apply_rules(op, rules)

        return Rules()

    def check_1(answer):
        if answer is None:
            return "Write a function of `op` and `emit` that gives a value, or None."
        before = from_source(ZEROS)
        after = pass_of({"relax.add": answer})(before)
        if complaint(before, after) != "they mean the same":
            return f"The result changed: is it only zeros that you drop?\n\n```python\n{after['main'].script()}\n```"
        if str(after.op).count("relax.add") != 2:
            return f"Two additions should be left, and {str(after.op).count('relax.add')} are."
        wide = from_source(WIDER)
        if complaint(wide, pass_of({"relax.add": answer})(wide)) != "they mean the same":
            return (
                "A vector plus a matrix of zeros is a matrix. Compare `op.operands[0].type` with `op.results[0].type`."
            )
        return None

    return check_1, pass_of


@app.cell
def _(check_1, verdict):
    answer_1 = None
    verdict(check_1(answer_1))
    return


@app.cell(hide_code=True)
def _(check_1, constant_array, np, right):
    def solution_1(op, emit):
        added = constant_array(op.operands[1])
        if added is None or np.any(added != 0) or op.operands[0].type != op.results[0].type:
            return None
        return op.operands[0]

    right(check_1(solution_1))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **2.** `MultiplyInstead` is not exact: 1/3 is rounded, and `x * (1/3)` is not always `x / 3`. Write a pass that
    does it only where nothing changes, for powers of two. Floats only: integers have no halves.
    """)
    return


@app.cell(hide_code=True)
def _(HALVES, complaint, from_source, tir):
    def check_2(answer):
        if answer is None:
            return "Write a class like `MultiplyInstead`, and give an object of it: `Mine()`."
        for divisor, kept in (("T.float32(4)", False), ("T.float32(0.125)", False), ("T.float32(3)", True)):
            before = from_source(HALVES.replace("T.float32(4)", divisor))
            divisions = sum(isinstance(o, tir.DivOp) for o in answer(before).op.walk())
            if bool(divisions) != kept:
                return f"Dividing by `{divisor}` should {'stay' if kept else 'become a product'}."
        integers = HALVES.replace("T.float32(4)", "4").replace('"float32"', '"int32"').replace(" / ", " // ")
        if complaint(from_source(integers), answer(from_source(integers))) != "they mean the same":
            return "A division of integers became something else."
        return None

    return (check_2,)


@app.cell
def _(check_2, verdict):
    answer_2 = None
    verdict(check_2(answer_2))
    return


@app.cell(hide_code=True)
def _(
    Pass,
    check_2,
    dataclass,
    functions,
    insert_before,
    np,
    remove_dead,
    right,
    tir,
):
    @dataclass(frozen=True)
    class MultiplyExactly(Pass):
        name = "multiply-exactly"

        def apply(self, ctx, op):
            for function in functions(op):
                for division in [inner for inner in function.walk() if isinstance(inner, tir.DivOp)]:
                    divisor = division.rhs.owner
                    if isinstance(divisor, tir.ConstOp) and abs(np.frexp(float(divisor.py_value))[0]) == 0.5:
                        factor = insert_before(division, tir.ConstOp(1 / divisor.py_value, division.rhs.type))
                        product = insert_before(division, tir.MulOp(division.lhs, factor.results[0]))
                        division.result.replace_all_uses_with(product.result)
                remove_dead(function)

    solution_2 = MultiplyExactly()
    right(check_2(solution_2))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **3.** Be the tester. This rule says that a sum over one axis of a sum over another one is a sum over both.
    Write a module, a text of TVMScript with a function `main`, on which it is wrong.
    """)
    return


@app.cell
def _(producer):
    def merge_sums(op, emit):
        # sum(sum(x, a), b) -> sum(x, [a, b])
        inner = producer(op.operands[0], "sum")
        if inner is None or op.attr("keepdims") or inner.attr("keepdims"):
            return None
        return emit("sum", inner.operands[0], axis=sorted({*inner.attr("axis"), *op.attr("axis")}))

    return (merge_sums,)


@app.cell(hide_code=True)
def _(complaint, from_source, merge_sums, pass_of):
    def check_3(answer):
        if answer is None:
            return "Write the program as a text, as `ZEROS` is (unfold the cell above exercise 1's answer)."
        before = from_source(answer)
        if str(before.op).count("relax.sum") < 2:
            return "There are not two sums in it, so the rule has nothing to do."
        after = pass_of({"relax.sum": merge_sums})(before)
        if str(after.op) == str(before.op):
            return "The rule leaves this program alone. It wants axes to be given, and dimensions not to be kept."
        if complaint(before, after) == "they mean the same":
            return "Here the rule is right. After the first sum, which axis is number 1?"
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
        @R.function
        def main(x: R.Tensor((3, 3, 3), "float32")):
            with R.dataflow():
                a = R.sum(x, axis=[0])
                b = R.sum(a, axis=[1])
                R.output(b)
            return b
    """
    right(check_3(solution_3))
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Where next

    In `Network` the size `n` was never known, and nothing minded. How a compiler computes with sizes that it does
    not know is the subject of the [next notebook](05_symbolic_shapes.py).
    """)
    return


if __name__ == "__main__":
    app.run()
