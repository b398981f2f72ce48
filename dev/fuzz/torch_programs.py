"""PyTorch programs of varying structure: inputs and outputs, regions, views, mutation, indexing.

A case is the text of a module `Model`, of `inputs`, and of the entry: `torch.export` or `torch.compile`.
Its results and mutations must equal those of eager PyTorch, at two sizes. Programs that PyTorch's own
export or backend rejects, or computes differently, are not compared.
"""

from __future__ import annotations

import copy
import random
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

from ...diagnostics import UnsupportedError
from ...driver.build import build
from ...frontend.importing.errors import ModelError
from ...frontend.torch.expansion import expanded
from ...frontend.torch.exported_program import from_exported_program
from .checks import demand

_HEAD = """\
WAY, DYNAMIC, GRAD = {way!r}, {dynamic}, {grad}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.arange(16.0).reshape(4, 4) / 16)
        self.register_buffer("b", torch.ones(4))
        self.register_buffer("count", torch.tensor(0))

    def forward(self, x, y=None, *, k=None, tree=None, scale=2):
        m = x > 0.5
        if y is None:
            y = x * scale
"""

_EXPRESSIONS = (
    "{a} + {b}", "{a} - {b} * 0.5", "torch.sin({a})", "torch.where(m, {a}, {b})", "{a} @ self.w", "{a} * scale",
    "{a}.clone()", "{a}.view(-1).view({a}.shape)", "{a}.unsqueeze(0).squeeze(0)", "{a}.T.contiguous().T", "{a}[:]",
    "torch.cat([{a}[1:], {b}[:1]])", "torch.stack([{a}, {b}]).sum(0)", "{a} + {b}[{i}].sum()", "{a}.flip(0)",
    "torch.nn.functional.pad({a}[:, :-1], (1, 0))", "{a} * {b}.shape[0]", "{a} + self.b * self.count", "{a}.detach()",
    "{a}.double().float()", "{b}.sum(0, keepdim=True).expand_as({a})", "{a} + torch.arange({b}.shape[0])[:, None]",
    "torch.tensor([1.0, 2.0, 3.0, 4.0]) * {a}", "{a}.new_zeros({a}.shape) + {b}", "torch.full_like({a}, 1.5) - {b}",
    "torch.func.vmap(lambda r: r * 2 + r.sum())({a})", "torch.func.vmap(lambda c: c.sin(), in_dims=1, out_dims=1)({a})",
    "torch.func.vmap(lambda r, w: r @ w, in_dims=(0, None))({a}, self.w)",
    "torch.func.vmap(torch.func.vmap(torch.cos))({a}) + {b}",
    "torch.utils.checkpoint.checkpoint(lambda z: z.sin() + {b}, {a}, use_reentrant=False)",
    "torch.cond({a}.sum() > 0, lambda z: z + 1, lambda z: z * 2, ({b},))", "torch.softmax({a}, -1)",
    "torch.func.vmap(lambda r: r[torch.tensor([3, 0, 1, 2])])({a})", "torch.func.grad(lambda z: (z * z).sum())({a})",
    "torch.func.vmap(torch.relu, out_dims=1)({a}).T", "{a}[m].sum() + {b}", "torch.nonzero(m).shape[0] * {a}",
    "{a}.sort(dim=0, descending=True)[0]", "{a}.chunk(2, dim=1)[1].repeat(1, 2)", "torch.cat({a}.split([1, 3], 1), 1)",
    "{a}.unbind(1)[2][:, None] + {b}", "{a}.scatter(0, torch.zeros(1, 4, dtype=torch.int64), {b}[:1])",
    "{a}.as_strided({a}.shape, (4, 1))", "{a}.T.reshape({a}.shape)", "{a}.repeat_interleave(2, 0)[::2]",
    "torch.where(m)[0].sum() + {a}", "{a}.unfold(0, 2, 1).sum(-1)[:1] + {b}", "{a}.cumsum(0)",
    "{a} + self.count.item()",
    "{a} if bool(({b} > 0.5).all()) else {b}", "torch.fft.fft({a}).real", "{a}.to_sparse().to_dense()",
    "torch.rand_like({a}) * 0 + {b}", "{a}.to(torch.complex64).imag + {b}", "{a} + len(m.unique())",
    "torch.from_numpy({a}.detach().numpy().copy())", "{a}.where({b} > {b}.mean(), 0.5)", "{a}.tril() + {b}.triu(1)",
)  # fmt: skip
"""Tensors of shape [n, 4] computed from others; some are views."""

_CHANGES = (
    "{a}[{i}] = 2.5", "{a}[{i}] = {b}[{i}] * 2", "{a}[{i}] += 1", "{a}[{i}] = torch.tensor(0.25)", "{a}.add_({b})",
    "{a}.mul_(0.5)", "{a}.copy_({b})", "{a}.zero_()", "{a}.fill_(1.5)", "{a}[:, 1].mul_(2)", "{a}.T[1:].add_(1)",
    "{a}.view(-1)[1::2].add_(1)", "{a}[{i}].add_(1)", "{a}.masked_fill_(m, 0.5)", "{a}.clamp_(0, 1)",
    "{a}.index_add_(0, torch.tensor([0, 1]), {b}[:2])", "torch.add({b}, 1, out={a})", "self.b.add_({a}.mean(0))",
    "self.b[{c}] = 1.5", "self.count += 1", "self.b = self.b * 2", "self.b.copy_({a}[0])",
)  # fmt: skip
"""Statements that mutate a tensor or a buffer."""

_REGIONS = (
    "with torch.no_grad()", "with torch.enable_grad()", "with torch.set_grad_enabled(False)",
    "with torch.inference_mode()", "with torch.autocast('cpu')", "with torch.autocast('cpu', dtype=torch.float16)",
    "with torch.autocast('cpu', enabled=False)", "with torch.profiler.record_function('r')", "for _ in range(2)",
    "if x.shape[0] > 3",
)  # fmt: skip
"""The heads of blocks."""

_ROWS = (
    ":", "0", "-1", "1:", "::2", "-2:", ":-1", "[0, 2]", "torch.tensor([1, 0])", "torch.tensor([[1], [-1]])", "m[:, 0]",
    "torch.tensor(1)", "{b}.shape[0] - 1:", "{b}.shape[0] // 2", ":0",
)  # fmt: skip
_COLUMNS = (
    ":", "0", "-1", "1:3", "::2", "-3:", ":-1", "[3, 0]", "torch.tensor([1, 2])", "torch.tensor([[0], [-1]])",
    "torch.tensor([True, False, True, False])", "m[0]", "self.count", "1:-1:2",
)  # fmt: skip
_SUBSCRIPTS = ("m", "{row}", "{row}, {column}", "{row}, ..., {column}", "..., {column}", "None, {row}, {column}",
          "{row}, None, {column}", "..., None", "{row}, ...", "...", "m[:, 0], {column}")  # fmt: skip
"""Subscripts of a tensor of [n, 4]."""

_LEAVES = (
    "{a}", "{a}", "{a}", "x", "y", "self.b", "self.w", "self.count", "{a}[{i}]", "{a}.T", "{a}.view(-1)", "{a}[0]",
    "{a}.sum()", "{a} > 0.5", "{a}.shape[0]", "{a}.shape[0] * 2 + 1", "{a}.shape", "m.sum().item()", "None", "3", "2.5",
    "True", "'text'", "()", "{a}.bfloat16()", "self.b.view(2, 2)", "{a}.long()",
)  # fmt: skip
_TREES = ("({0}, {1})", "[{0}, {1}]", "{{'s': {0}, 'r': {1}}}", "Pair({0}, {1})", "Box({0}, {1})", "({0},)",
          "OrderedDict(s={0}, r={1})")  # fmt: skip

_ARGUMENTS = {
    "t0": "x",
    "t0, None": "x",
    "t0, t1": "x y",
    "t0, t0": "x y",
    "t0, t0[:]": "x y",
    "torch.stack([*t0.T]).T": "x",
}
_KEYWORDS = {
    "": "",
    "k=t2": "k",
    "tree={'a': t2, 'b': (None, [t3])}": "tree['a'] tree['b'][1][0]",
    "tree=Pair(t2, Box(t3, None))": "tree.a tree.b.a",
    "tree=[t0, t2], scale=3": "tree[0] tree[1]",
    "scale=0.5": "",
    "k=t2, scale=t3": "k scale",
}
"""Keyword arguments of `Model`, and the tensors that they make available."""

Pair = namedtuple("Pair", "a b")


@dataclass
class Box:
    """A class whose fields are registered with PyTorch."""

    a: Any
    b: Any


def torch_program(rng: random.Random) -> str:
    """Return a program, as text."""
    args, kwargs = rng.choice(list(_ARGUMENTS)), rng.choice(list(_KEYWORDS))
    writer = _Writer(rng, ["y", *f"{_ARGUMENTS[args]} {_KEYWORDS[kwargs]}".split()])
    writer.block("        ", rng.randint(1, 9))
    text = _HEAD.format(
        way=rng.choice(("export", "compile")), dynamic=rng.choice((True, False)), grad=rng.choice((True, False))
    )
    text += "".join(writer.lines) + f"        return {writer.tree(rng.randint(0, 3))}\n"
    tensors = "t0, t1, t2, t3 = (torch.rand(n, 4, generator=rng) for _ in range(4))"
    inputs = f"\n\ndef inputs(n):\n    rng = torch.Generator().manual_seed(n)\n    {tensors}\n"
    return f"{text}{inputs}    return ({args},), dict({kwargs})\n"


class _Writer:
    """The lines of `forward`; `values` are the available tensors of [n, 4]."""

    def __init__(self, rng: random.Random, values: list[str]):
        self.rng, self.values, self.lines = rng, values, []
        self._names = 0

    def block(self, indent: str, most: int) -> None:
        for _ in range(most):
            kind = self.rng.randrange(8)
            if kind == 0 and most > 1:
                region, outside = self.rng.choice(_REGIONS), list(self.values)
                self.lines.append(f"{indent}{region}:\n")
                self.block(f"{indent}    ", most // 2)
                if not region.startswith("with"):
                    self.values = outside
            elif kind <= 3:
                self.lines.append(f"{indent}{self._filled(_CHANGES)}\n")
            else:
                self.lines.append(f"{indent}v{self._names} = {self._filled(_EXPRESSIONS)}\n")
                self.values.append(f"v{self._names}")
                self._names += 1

    def tree(self, depth: int) -> str:
        """Return an expression of nested outputs."""
        if depth == 0:
            return self._filled(_LEAVES)
        parts = [self.tree(self.rng.randrange(depth)) for _ in range(2)]
        return self.rng.choice(_TREES).format(*parts)

    def _filled(self, forms: Sequence[str]) -> str:
        form = self.rng.choice(forms)
        index = self._index() if "{i}" in form else ""
        return form.format(
            a=self.rng.choice(self.values), b=self.rng.choice(self.values), i=index, c=self.rng.choice(_COLUMNS)
        )

    def _index(self) -> str:
        row, column = self.rng.choice(_ROWS), self.rng.choice(_COLUMNS)
        return self.rng.choice(_SUBSCRIPTS).format(row=row.format(b=self.rng.choice(self.values)), column=column)


# Running them.


class ProgramRejected(Exception):
    """Raised if PyTorch itself rejects the program, or computes something else in this way."""


def check_torch_program(text: str, backend: str = "tirax") -> int:
    """Return how many calls were compared, 0 if tirax or PyTorch rejects the program.

    `backend` is the one to check; one of PyTorch's own checks the reference. Each case runs in a new thread,
    since a failure while tracing leaves PyTorch's thread-local state changed.
    """
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(_check, text, backend).result()


def _check(text: str, backend: str) -> int:
    program = _Program(text)
    check = _check_exported if program.way == "export" else _check_compiled
    try:
        with warnings.catch_warnings(), program.torch.set_grad_enabled(program.grad):
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "tirax leaves")
            return check(program, backend)
    except ProgramRejected:
        return 0


@dataclass
class _Outcome:
    """The results of a call, and the arguments and buffers after it."""

    results: Any
    arguments: Any
    buffers: dict[str, Any]

    @property
    def leaves(self) -> list[Any]:
        """Return all of them as a flat list."""
        return _leaves((self.results, self.arguments, self.buffers))


class _Program:
    """The program defined by a text."""

    def __init__(self, text: str):
        import torch
        import torch.utils.checkpoint

        _register_box()
        self.torch = torch
        names: dict[str, Any] = {"torch": torch, "Pair": Pair, "Box": Box, "OrderedDict": OrderedDict}
        exec(compile(text, "<case>", "exec"), names)  # noqa: S102 (a case is a program)
        self.way, self.dynamic, self.grad = names["WAY"], names["DYNAMIC"], names["GRAD"]
        self.inputs: Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]] = names["inputs"]
        self.model: Callable[[], Any] = lambda: names["Model"]().eval()
        self._tolerance = 0.1 if "autocast" in text or "bfloat16" in text else 1e-4

    @property
    def sizes(self) -> tuple[int, ...]:
        """Return the sizes to call it with."""
        return (5, 3) if self.dynamic else (5,)

    def outcomes(self, make: Callable[[Any], Any], sizes: Sequence[int]) -> list[_Outcome]:
        """Return the outcomes of consecutive calls of `make(model)`."""
        function = make(self.model())
        calls: list[_Outcome] = []
        for size in sizes:
            args, kwargs = self.inputs(size)
            results = function(*args, **kwargs)
            named = {name.removeprefix("_orig_mod."): buffer for name, buffer in function.named_buffers()}
            calls.append(_Outcome(results, (args, kwargs), {name: named[name].clone() for name in _BUFFERS}))
        return calls

    def eager(self, make: Callable[[Any], Any], sizes: Sequence[int]) -> list[_Outcome]:
        """As `outcomes`, by PyTorch alone. Raises `ProgramRejected`."""
        try:
            return self.outcomes(make, sizes)
        except Exception as error:  # whatever it is, the program is none of PyTorch's
            raise ProgramRejected from error

    def difference(self, expected: _Outcome, actual: _Outcome) -> str | None:
        """Describe the difference between two calls, None if there is none."""
        for part in ("results", "arguments", "buffers"):
            different = self._in_trees(getattr(expected, part), getattr(actual, part))
            if different is not None:
                return f"{part}: {different}"
        before, after = _aliases(expected), _aliases(actual)
        return None if before == after else f"tensors of the same memory: {after} instead of {before}"

    def _in_trees(self, expected: Any, actual: Any) -> str | None:
        from torch.utils import _pytree

        leaves, spec = _pytree.tree_flatten(expected)
        values, other = _pytree.tree_flatten(actual)
        return self.in_leaves(leaves, values) if spec == other else f"a tree {other} instead of {spec}"

    def in_leaves(self, expected: Sequence[Any], actual: Sequence[Any]) -> str | None:
        """Describe the difference between two lists, None if there is none."""
        if len(expected) != len(actual):
            return f"{len(actual)} values instead of {len(expected)}"
        pairs = enumerate(zip(expected, actual, strict=True))
        return next((f"value {i}: {b} instead of {a}" for i, (a, b) in pairs if not self._same(a, b)), None)

    def _same(self, expected: Any, actual: Any) -> bool:
        if not isinstance(expected, self.torch.Tensor):
            return type(expected) is type(actual) and expected == actual
        if not isinstance(actual, self.torch.Tensor):
            return False
        if expected.dtype != actual.dtype or expected.shape != actual.shape:
            return False
        a, b = expected.detach().double(), actual.detach().double()
        return bool(self.torch.allclose(a, b, self._tolerance, self._tolerance, equal_nan=True))


_BUFFERS = ("b", "count")


@cache
def _register_box() -> None:
    import torch

    torch.export.register_dataclass(Box)


def _leaves(tree: Any) -> list[Any]:
    from torch.utils import _pytree

    return _pytree.tree_leaves(tree)


def _aliases(outcome: _Outcome) -> list[int]:
    """Return for each tensor the index of the first one with the same memory."""
    places = [leaf.untyped_storage().data_ptr() for leaf in outcome.leaves if hasattr(leaf, "numpy")]
    return [places.index(place) for place in places]


def _check_compiled(program: _Program, backend: str) -> int:
    def compiled(by: str) -> Callable[[Any], Any]:
        program.torch._dynamo.reset()
        return lambda model: program.torch.compile(model, backend=by, dynamic=program.dynamic or None)

    expected = program.eager(lambda model: model, program.sizes)
    reference = program.eager(compiled("aot_eager"), program.sizes)
    if any(map(program.difference, expected, reference)):
        raise ProgramRejected("PyTorch's own compiler computes something else")
    actual = program.outcomes(compiled(backend), program.sizes)
    for number, pair in enumerate(zip(expected, actual, strict=True)):
        different = program.difference(*pair)
        demand(different is None, f"call {number}: {different}")
    return len(actual)


def _check_exported(program: _Program, _backend: str) -> int:
    """Compare calls that each begin with the initial buffers."""
    expected = [program.eager(lambda model: model, [size])[0] for size in program.sizes]
    traced = _exported(program)
    for outcome, size in zip(expected, program.sizes, strict=True):
        (replayed,) = program.eager(lambda _: copy.deepcopy(traced).module(), [size])
        different = program.in_leaves(outcome.leaves, replayed.leaves)
        if different is not None:
            raise ProgramRejected(f"PyTorch's own program has another {different}")
    try:
        main = build(from_exported_program(traced)).jit()["main"]
    except (UnsupportedError, ModelError):
        return 0
    for outcome, size in zip(expected, program.sizes, strict=True):
        inputs = [leaf for leaf in _leaves(program.inputs(size)) if hasattr(leaf, "numpy")]
        actual = [program.torch.from_dlpack(v) if hasattr(v, "__dlpack__") else v for v in main(*inputs)]
        different = program.in_leaves(_flat(traced, outcome), actual)
        demand(different is None, f"at {size}: {different}")
    return len(expected)


def _exported(program: _Program) -> Any:
    """Return PyTorch's exported program of the model. Raises `ProgramRejected`."""
    args, kwargs = program.inputs(program.sizes[0])
    dims: Any = program.torch.export.ShapesCollection()
    for leaf in _leaves((args, kwargs)) if program.dynamic else ():
        if hasattr(leaf, "numpy"):
            dims[leaf] = {0: program.torch.export.Dim.AUTO}
    try:
        return program.torch.export.export(program.model(), args, kwargs, dynamic_shapes=dims)
    except Exception as error:  # whatever it is, the program is none of PyTorch's
        raise ProgramRejected from error


def _flat(traced: Any, outcome: _Outcome) -> list[Any]:
    """Return the results of `from_exported_program`: the outputs, then mutated values that are not outputs."""
    from torch.export.graph_signature import InputKind, OutputKind

    read = expanded(traced)
    signature = read.graph_signature
    names = [spec.arg.name for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT]
    state = {**dict(zip(names, _leaves(outcome.arguments), strict=True)), **outcome.buffers}
    (output,) = (node for node in read.graph.nodes if node.op == "output")
    pairs = list(zip(signature.output_specs, output.args[0], strict=True))
    returned = [node for spec, node in pairs if spec.kind is OutputKind.USER_OUTPUT]
    changed = [spec.target for spec, node in pairs if spec.kind is not OutputKind.USER_OUTPUT and node not in returned]
    return [*_leaves(outcome.results), *(state[target] for target in changed)]
