"""Programs that grow in one dimension each: the TVMScript for a size.

`chain` and `fan_in` of an operator, sharing, tuples, branches, loops, dataflow blocks, tensor functions,
signatures, symbolic sizes, expressions, dimensions, constants. Their build times must grow linearly
(`benchmarks/structural_growth.py`), and their results must be the interpreter's (the fuzzer's
`structures`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

HEAD = "from tvm.script import ir as I, relax as R, tir as T\n\n\n@I.ir_module\nclass Module:\n"
X = 'x: R.Tensor((8, 8), "float32")'
XN = 'x: R.Tensor(("n", 8), "float32")'


def function(
    params: str, lines: Sequence[str], result: str, sizes: Sequence[str] = (), *, flow: bool = True, head: str = ""
) -> str:
    """Return the text of a module whose `main` has these bindings, with `flow` in one dataflow block, after `head`."""
    body = [f"{size} = T.int64()" for size in sizes]
    if flow:
        body += ["with R.dataflow():", *(f"    {line}" for line in lines)]
        body += [f"    result = {result}", "    R.output(result)", "return result"]
    else:
        body += [*lines, f"result = {result}", "return result"]
    text = "".join(f"        {line}\n" for line in body)
    return f"{HEAD}{head}    @R.function\n    def main({params}):\n{text}"


def chain(step: str, params: str = X, sizes: Sequence[str] = (), *, flow: bool = True) -> Callable[[int], str]:
    """Return a generator of `v1 = step(x); v2 = step(v1); …`: `{v}` is the previous value, `{i}` its number."""

    def text(n: int) -> str:
        names = ["x", *(f"v{i}" for i in range(n))]
        lines = [f"v{i} = {step.format(v=names[i], i=i)}" for i in range(n)]
        return function(params, lines, names[-1], sizes, flow=flow)

    return text


def fan_in(step: str, *dims: object, own: bool = False) -> Callable[[int], str]:
    """Return a generator of `step` on n tensors `{xs}` of these dimensions; with `own`, the first is a new symbol."""

    def text(n: int) -> str:
        def shape(i: int) -> str:
            return ", ".join(map(str, (f'"n{i}"' if own else dims[0], *dims[1:])))

        params = ", ".join(f'x{i}: R.Tensor(({shape(i)},), "float32")' for i in range(n))
        sizes = [f"n{i}" for i in range(n)] if own else ["n"] if '"n"' in dims else []
        return function(params, [], step.format(xs=", ".join(f"x{i}" for i in range(n)), n=n), sizes)

    return text


def fan_out(step: str, params: str = X) -> Callable[[int], str]:
    """Return a generator of a tuple of n times `step` of x; `{i}` is the number of each."""

    def text(n: int) -> str:
        lines = [f"v{i} = {step.format(v='x', i=i)}" for i in range(n)]
        return function(params, lines, "(" + ", ".join(f"v{i}" for i in range(n)) + ",)")

    return text


def diamonds(n: int) -> str:
    """Return a program in which each value reads the previous two."""
    names = ["x", "x", *(f"v{i}" for i in range(n))]
    lines = [f"v{i} = R.add(R.exp({names[i]}), {names[i + 1]})" for i in range(n)]
    return function(X, lines, names[-1])


def split(n: int) -> str:
    """Return a program that splits a tensor into n parts and uses all of them."""
    lines = [f"s = R.split(x, {n}, axis=0)", *(f"v{i} = R.exp(s[{i}])" for i in range(n))]
    return function(f'x: R.Tensor(({2 * n}, 8), "float32")', lines, "(" + ", ".join(f"v{i}" for i in range(n)) + ",)")


def tuples(n: int) -> str:
    """Return a program of n tuples, each of elements of the previous one."""
    lines = ["t0 = (x, R.exp(x))", *(f"t{i + 1} = (t{i}[1], t{i}[0])" for i in range(n))]
    return function(X, lines, f"R.subtract(t{n}[0], t{n}[1])", flow=False)


def nested_tuples(n: int) -> str:
    """Return a program that nests n tuples and then unpacks them."""
    lines = ["t0 = (x, x)", *(f"t{i + 1} = (t{i}, x)" for i in range(n))]
    lines += [f"u{n} = t{n}", *(f"u{i - 1} = u{i}[0]" for i in range(n, 0, -1))]
    return function(X, lines, "R.add(u0[0], u0[1])", flow=False)


def branches(n: int) -> str:
    """Return a program of n consecutive branches."""
    lines: list[str] = []
    for i in range(n):
        old = f"v{i - 1}" if i else "x"
        lines += ["if c:", f"    a{i} = R.exp({old})", f"    v{i} = R.add(a{i}, x)", "else:"]
        lines += [f"    b{i} = R.tanh({old})", f"    v{i} = R.add(b{i}, x)"]
    return function(f'{X}, c: R.Tensor((), "bool")', lines, f"v{n - 1}", flow=False)


def nested_branches(n: int) -> str:
    """Return a program of nested branches, as deep as Python can parse."""
    lines: list[str] = []
    for i in range(n):
        lines.append("    " * i + "if c:")
    lines.append("    " * n + "v = R.exp(x)")
    for i in reversed(range(n)):
        lines += ["    " * i + "else:", "    " * (i + 1) + f"v = R.add(x, R.const({i}.0))"]
    return function(f'{X}, c: R.Tensor((), "bool")', lines, "v", flow=False)


def blocks(n: int) -> str:
    """Return a program of n dataflow blocks."""
    lines: list[str] = []
    for i in range(n):
        old = f"v{i - 1}" if i else "x"
        lines += ["with R.dataflow():", f"    a{i} = R.exp({old})", f"    v{i} = R.add(a{i}, x)", f"    R.output(v{i})"]
    return function(X, lines, f"v{n - 1}", flow=False)


_KERNEL = """    @T.prim_func(private=True)
    def f{i}(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32({i}.5)

"""


def calls(n: int) -> str:
    """Return a program of a chain of n calls of one tensor function."""
    names = ["x", *(f"v{i}" for i in range(n))]
    call = 'R.call_tir(cls.f0, ({},), out_sinfo=R.Tensor((8, 8), "float32"))'
    lines = ["cls = Module", *(f"{b} = {call.format(a)}" for a, b in zip(names, names[1:], strict=False))]
    return function(X, lines, names[-1], head=_KERNEL.format(i=0), flow=False)


def kernels(n: int) -> str:
    """Return a program of n tensor functions, each called once."""
    names = ["x", *(f"v{i}" for i in range(n))]
    lines = ["cls = Module"]
    for i, (a, b) in enumerate(zip(names, names[1:], strict=False)):
        lines.append(f'{b} = R.call_tir(cls.f{i}, ({a},), out_sinfo=R.Tensor((8, 8), "float32"))')
    return function(X, lines, names[-1], head="".join(_KERNEL.format(i=i) for i in range(n)), flow=False)


def functions(n: int) -> str:
    """Return a program of n Relax functions, each of which calls the previous one."""
    head = f"    @R.function\n    def f0({X}):\n        v = R.exp(x)\n        return v\n\n"
    for i in range(1, n):
        call = f'        v: R.Tensor((8, 8), "float32") = Module.f{i - 1}(x)\n'
        head += f'    @R.function\n    def f{i}({X}) -> R.Tensor((8, 8), "float32"):\n{call}        return v\n\n'
    return function(X, [f'v: R.Tensor((8, 8), "float32") = Module.f{n - 1}(x)'], "v", flow=False, head=head)


def loops(n: int) -> str:
    """Return a program of n consecutive Relax loops."""
    head = f'    @R.function(private=True)\n    def cond(i: R.Tensor((), "int64"), {X}) -> R.Tensor((), "bool"):\n'
    head += '        return R.less(i, R.const(3, "int64"))\n\n    @R.function(private=True)\n'
    head += f'    def body(i: R.Tensor((), "int64"), {X}):\n'
    head += '        j = R.add(i, R.const(1, "int64"))\n        y = R.tanh(x)\n        return (j, y)\n\n'
    lines = ["cls = Module"]
    for i in range(n):
        old = f"t{i - 1}[1]" if i else "x"
        lines.append(f't{i} = R.while_loop(cls.cond, cls.body, (R.const(0, "int64"), {old}))')
    return function(X, lines, f"t{n - 1}[1]", head=head, flow=False)


_VECTORS = f'{HEAD}    @T.prim_func\n    def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n'


def statements(n: int) -> str:
    """Return a tensor function of n stores of distinct values."""
    return _VECTORS + "".join(f"        B[{i % 16}] = A[{i * 7 % 16}] + T.float32({i}.5)\n" for i in range(n))


def nests(n: int) -> str:
    """Return a tensor function of n loop nests, each with its own buffer."""
    text = _VECTORS + "".join(f"        C{i} = T.alloc_buffer((16,))\n" for i in range(n))
    names = ["A", *(f"C{i}" for i in range(n)), "B"]
    for i, (a, b) in enumerate(zip(names, names[1:], strict=False)):
        text += f'        for i{i} in range(16):\n            with T.block("b{i}"):\n'
        text += f"                v = T.axis.spatial(16, i{i})\n                {b}[v] = {a}[v] + T.float32({i}.5)\n"
    return text


def terms(n: int) -> str:
    """Return a tensor function with a sum of n terms."""
    text = (
        _VECTORS
        + '        for i in range(16):\n            with T.block("b"):\n                v = T.axis.spatial(16, i)\n'
    )
    parts = [f"A[T.max(v - {i}, 0)]" if i else "A[v]" for i in range(n)]
    while len(parts) > 1:  # a tree, which readers of text take at any size
        parts = [f"({a} + {b})" if b else a for a, b in zip(parts[::2], [*parts[1::2], ""], strict=False)]
    return text + f"                B[v] = {parts[0]}\n"


def ranks(n: int) -> str:
    """Return a program that permutes, shifts and sums a tensor of n dimensions."""
    dims = ", ".join(["2"] * n)
    lines = [f"a = R.permute_dims(x, [{', '.join(str(i) for i in reversed(range(n)))}])", "b = R.add(R.exp(a), x)"]
    return function(f'x: R.Tensor(({dims},), "float32")', lines, f"R.concat((b, R.flip(b, axis={n - 1})), axis=0)")


def symbols(n: int) -> str:
    """Return a program with a tensor and a kernel for each of n symbolic sizes."""
    params = ", ".join(f'x{i}: R.Tensor(("n{i}", 4), "float32")' for i in range(n))
    lines = [f"v{i} = R.exp(x{i})" for i in range(n)]
    return function(params, lines, "(" + ", ".join(f"v{i}" for i in range(n)) + ",)", [f"n{i}" for i in range(n)])


def reshapes(n: int) -> str:
    """Return a program of reshapes of reshapes of transposed matrices with symbolic sizes."""
    lines = ["v0 = R.reshape(x, (n * m,))"]
    for i in range(1, n + 1):
        step = f"R.reshape(v{i - 1}, (m, n))" if i % 2 else f"R.reshape(R.permute_dims(v{i - 1}), (n * m,))"
        lines.append(f"v{i} = {step}")
    return function('x: R.Tensor(("n", "m"), "float32")', lines, f"v{n}", ["n", "m"])


_W = f'{X}, w: R.Tensor((8, 8), "float32"), b: R.Tensor((8,), "float32")'
_IMAGE = 'x: R.Tensor((1, 4, 8, 8), "float32"), w: R.Tensor((4, 4, 3, 3), "float32")'
_INDEX = 'R.const([3, 1, 2, 0, 5, 4, 7, 6], "int64")'
_SHIFT = "R.concat((R.strided_slice({v}, [0], [1], [8]), R.strided_slice({v}, [0], [0], [1])), axis=0)"
_SLICE_SCATTER = (
    "R.slice_scatter(x, R.strided_slice({v}, [0], [0], [4]), R.prim_value(2), R.prim_value(6), R.prim_value(1))"
)
_LINEAR = 'R.nn.relu(R.add(R.multiply(R.matmul({v}, w), R.const(0.1, "float32")), b))'
_CONVOLVED = 'R.nn.relu(R.add(R.multiply(R.nn.conv2d({v}, w, padding=(1, 1)), R.const(0.02, "float32")), x))'
"""A convolution step that keeps values, and so rounding differences, small: a thousand steps can be compared."""

STRUCTURES: dict[str, Callable[[int], str]] = {
    "chain": chain("R.exp({v})"),
    "chain, symbolic": chain("R.exp({v})", XN, ["n"]),
    "chain, no dataflow": chain("R.exp({v})", flow=False),
    "chain with x": chain("R.add(R.tanh({v}), x)"),
    "diamonds": diamonds,
    "squares": chain("R.add({v}, {v})"),
    "constants": chain('R.add({v}, R.const({i}.5, "float32"))'),
    "sums of all": fan_in("R.add(x0, R.mean(R.concat(({xs},), axis=0), axis=[0], keepdims=True))", 8, 8),
    "outputs": fan_out('R.multiply({v}, R.const({i}.5, "float32"))'),
    "outputs of sums": fan_out("R.sum({v}, axis=[{i} % 2])".replace("{i} % 2", "0")),
    "parameters": lambda n: function(
        ", ".join([X, *(f'y{i}: R.Tensor((8, 8), "float32")' for i in range(n))]),
        [f"v{i} = R.add({f'v{i - 1}' if i else 'x'}, y{i})" for i in range(n)], f"v{n - 1}",
    ),
    "tuples": tuples,
    "branches": branches,
    "loops": loops,
    "dataflow blocks": blocks,
    "calls": calls,
    "kernels": kernels,
    "functions": functions,
    "statements": statements,
    "nests": nests,
    "terms": terms,
    "symbols": symbols,
    "reshapes, symbolic": reshapes,
    "concat": fan_in("R.concat(({xs},), axis=0)", 2, 8),
    "concat, last axis": fan_in("R.concat(({xs},), axis=1)", 2, 8),
    "concat, symbolic": fan_in("R.concat(({xs},), axis=0)", "n", 4, own=True),
    "concat of results": fan_in("R.concat(({xs},), axis=0)", '"n"', 4),
    "stack": fan_in("R.stack(({xs},), axis=0)", 2, 8),
    "stack, symbolic": fan_in("R.stack(({xs},), axis=1)", '"n"', 8),
    "split": split,
    "concat of concat": chain("R.strided_slice(R.concat(({v}, x), axis=0), [0], [4], [12])"),
    "pad": chain("R.strided_slice(R.nn.pad({v}, [1, 1, 0, 0]), [0], [0], [8])"),
    "reflect": chain('R.strided_slice(R.nn.pad({v}, [1, 1, 0, 0], pad_mode="reflect"), [0], [0], [8])'),
    "roll": chain(_SHIFT),
    "reshape": chain("R.reshape(R.permute_dims(R.reshape({v}, (4, 16))), (8, 8))"),
    "permute": chain("R.permute_dims(R.exp({v}))"),
    "flip": chain("R.flip({v}, axis=0)"),
    "take": chain(f"R.take({{v}}, {_INDEX}, axis=0)"),
    "repeat": chain("R.strided_slice(R.repeat({v}, 2, axis=0), [0], [4], [12])"),
    "tile": chain("R.strided_slice(R.tile({v}, (2, 1)), [0], [4], [12])"),
    "broadcast": chain("R.add(R.broadcast_to(R.strided_slice({v}, [0], [0], [1]), (8, 8)), x)"),
    "where": chain("R.where(R.greater({v}, x), x, {v})"),
    "tril": chain("R.add(R.tril({v}), x)"),
    "cumsum": chain("R.cumsum({v}, axis=0)"),
    "sort": chain("R.sort({v}, axis=1)"),
    "scatter": chain(f"R.scatter_elements(x, R.broadcast_to(R.reshape({_INDEX}, (8, 1)), (8, 8)), {{v}}, axis=0)"),
    "slice_scatter": chain(_SLICE_SCATTER),
    "sum": chain("R.add(R.sum({v}, axis=[1], keepdims=True), x)"),
    "softmax": chain("R.nn.softmax({v}, axis=1)"),
    "layer_norm": chain("R.nn.layer_norm({v}, b, b, axes=[-1])", _W),
    "matmul": chain(_LINEAR, _W),
    "conv2d": chain(_CONVOLVED, _IMAGE),
    "max_pool2d": chain("R.nn.max_pool2d({v}, pool_size=(3, 3), padding=(1, 1))", _IMAGE),
}  # fmt: skip
"""The growing structures by name."""

SHALLOW: dict[str, Callable[[int], str]] = {
    "nested branches": nested_branches, "nested tuples": nested_tuples, "ranks": ranks,
}  # fmt: skip
"""Structures that cannot grow to a thousand: nested branches are limited by Python, nested tuples by the
recursion of type comparison, dimensions to 16.
"""


def structure(rng: random.Random) -> str:
    """Return a random structure of a random size."""
    name = rng.choice(sorted({**STRUCTURES, **SHALLOW}))
    if name in SHALLOW:
        return SHALLOW[name](rng.randint(1, 12))
    return STRUCTURES[name](rng.choice((1, 2, 3, 7, 17, 40, 100)))
