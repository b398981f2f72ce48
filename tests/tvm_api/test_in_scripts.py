"""What names of `T` take that only the parser reads."""

import inspect

import pytest

from tirax.diagnostics import TiraxError
from tirax.script import parse_source
from tirax.script.parser.tir_foreign import DEVICE_NAMES
from tirax.script.parser.tir_parser import FUNCTIONS, SPECIAL
from tirax.script.parser.tir_statements import CONTEXTS
from tirax.script.parser.values import CallSite
from tirax.tvm_api.script import _in_scripts
from tirax.tvm_api.script import tir as T
from tirax.tvm_api.script.tir import block, grid

SCRIPTS = (
    """
@T.prim_func
def loops(a: T.handle, B: T.Buffer((16,), "float32")):
    T.func_attr({"target": T.target("llvm"), "other": T.Target("llvm")})
    A = T.match_buffer(a, (16,))
    C = T.alloc_buffer((16,))
    for i in T.serial(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            T.where(i < 8)
            T.block_attr({"note": 1})
            B[vi] = A[vi]
    for i in T.parallel(16):
        with T.block("C"):
            vi = T.axis.reduce(16, i)
            with T.init():
                C[0] = T.float32(0)
            C[0] = C[0] + B[vi]
    for i in T.vectorized(16):
        with T.block("D"):
            vi = T.axis.scan(16, i)
            C[vi] = A[vi]
    for i in T.unroll(16):
        with T.block("E"):
            vi = T.axis.opaque(16, i)
            C[vi] = A[vi]
    for i in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("F"):
            vi = T.axis.remap("S", [i])
            C[vi] = A[vi]
""",
    """
@T.prim_func
def statements(A: T.Buffer((16,), "float32"), n: T.int32):
    p = T.allocate_const([1.0, 2.0], "float32", [2])
    q = T.allocate([16], "float32")
    x = T.env_thread("threadIdx.x")
    with T.launch_thread(x, 16):
        T.buffer_store(A, T.fma(A[x], A[x], T.strict_multiply(A[x], A[x])), [x])
    with T.LetStmt(n + 1) as y:
        T.evaluate(y)
    z = T.int32()
    with T.let(z, n + 2):
        T.evaluate(z)
    u = T.meta_var(n + 3)
    A[T.ramp(0, 1, 16)] = T.broadcast(T.float32(0), 16)
    T.evaluate(T.tvm_thread_invariant(T.fabs(A[0])))
    T.evaluate(T.get_active_lane_mask("uint1x4", 0, u))
    with T.Assert(n > 0, "a size"):
        T.evaluate(0)
    T.attr(0, "key", 1)
    T.evaluate(0)
""",
    """
@T.prim_func
def result(n: T.int32):
    T.ret(n)
""",
)

UNBOUND = {
    "Let", "Range", "grid", "init", "iter_var", "llvm_lookup_intrinsic_id", "reads", "reduce", "tvm_call_packed",
    "writes",
}  # fmt: skip
"""What takes what it is given, or reads its arguments unevaluated."""


def described():
    """The names with the signatures that they show."""
    for name in _in_scripts.__all__:
        if name == "axis":
            yield from ((f"axis.{kind}", getattr(T.axis, kind)) for kind in vars(T.axis) if not kind.startswith("_"))
        elif not name.startswith("sblock"):
            yield name, getattr(T, name)


def test_parameters_are_those_that_the_parser_binds(monkeypatch):
    specs, bind = {}, CallSite.bind

    def recorded(self, spec):
        specs[self.name.removeprefix("T.")] = spec
        return bind(self, spec)

    monkeypatch.setattr(CallSite, "bind", recorded)
    for text in SCRIPTS:
        parse_source(text)
    specs |= {"axis.S": specs["axis.spatial"], "axis.R": specs["axis.reduce"]}
    shown = {name: inspect.signature(function).parameters.values() for name, function in described()}
    assert set(shown) - set(specs) == UNBOUND
    for name in set(shown) - UNBOUND:
        spec = [n.rstrip("=") for n in specs[name].split()]
        assert [p.name for p in shown[name]] == spec, name
        optional = {p.name for p in shown[name] if p.default is not p.empty} - {
            "shape"
        }  # windows have one of their own
        assert optional == {n.rstrip("=") for n in specs[name].split() if n.endswith("=")}, name


def test_every_name_of_the_parser_is_documented():
    known = {*FUNCTIONS, *CONTEXTS, *(path.partition(".")[0] for path in SPECIAL)} - DEVICE_NAMES.keys()
    assert not known - set(dir(T))
    assert all(getattr(T, name) for name in dir(T))


def test_names_by_tvms_new_names_are_the_same():
    for name in ("block", "block_attr", "alloc_buffer"):
        old, new = getattr(T, name), getattr(T, f"s{name}" if name != "alloc_buffer" else "sblock_alloc_buffer")
        assert inspect.signature(old) == inspect.signature(new)


def test_outside_of_scripts_they_refuse():
    with pytest.raises(TiraxError, match=r"T\.match_buffer has a meaning only in the body of a T\.prim_func"):
        T.match_buffer(None, (4,))
    with pytest.raises(TiraxError, match=r"T\.axis\.spatial has"):
        T.axis.spatial(4, 0)


def test_scripts_know_them_without_the_module():
    @T.prim_func
    def double(A: T.Buffer((4,), "float32")):
        for i in grid(4):
            with block("A"):
                vi = T.axis.spatial(4, i)
                A[vi] = A[vi] * T.float32(2)

    assert 'with T.block("A"):' in double.script()
