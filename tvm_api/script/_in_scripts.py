"""Names of `T` that the parser reads and that nothing can be called by: what they take, for people and their editors.

A test compares the parameters with those that the parser binds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ...diagnostics import TiraxError

F = TypeVar("F", bound=Callable[..., Any])


def _read(function: F) -> F:
    """What the parser reads: calling it, outside of a script, raises `TiraxError`."""

    @wraps(function)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        name = function.__qualname__
        raise TiraxError(f"T.{name} has a meaning only in the body of a T.prim_func")

    return refuse  # pyright: ignore[reportReturnType]


# Loops


@_read
def grid(*extents: Any) -> Any:
    """Loops in each other, `for i, j in T.grid(n, m)`; an extent may be a pair of a first and an end."""


@_read
def serial(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """A loop from `start`, or from 0 to `start` where there is no `stop`."""


@_read
def parallel(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """A loop whose iterations may run at once."""


@_read
def vectorized(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """A loop that becomes vectors."""


@_read
def unroll(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """A loop that is written out."""


@_read
def thread_binding(start: Any, stop: Any = None, thread: str | None = None, annotations: Any = None) -> Any:
    """A loop whose iterations are threads: `T.thread_binding(32, thread="threadIdx.x")`."""


@_read
def env_thread(thread_tag: str, dtype: str = "int32") -> Any:
    """A thread by its tag, to which `T.launch_thread` gives an extent."""


@_read
def launch_thread(thread: Any, extent: Any) -> Any:
    """So many threads run what is in the `with`: `with T.launch_thread("threadIdx.x", 32) as x:`."""


# Blocks


@_read
def block(name: str = "", no_realize: bool = False) -> Any:
    """A block: `with T.block("B"):`, then its iterators, and what it does at one point of them."""


@_read
def sblock(name: str = "", no_realize: bool = False) -> Any:
    """`T.block`, by TVM's name from 0.22 on."""


class axis:  # noqa: N801 (TVM's name)
    """The iterators of a block: a domain (an extent, or a pair of ends), and the value that is bound to it."""

    @staticmethod
    @_read
    def spatial(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """An iterator whose points may be computed in any order."""

    @staticmethod
    @_read
    def reduce(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """An iterator of a reduction."""

    @staticmethod
    @_read
    def scan(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """An iterator whose points are computed in order."""

    @staticmethod
    @_read
    def opaque(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """An iterator of which nothing is known."""

    @staticmethod
    @_read
    def remap(kinds: str, bindings: Any) -> Any:
        """Iterators that are loop variables: `vi, vk = T.axis.remap("SR", [i, k])`."""

    S = spatial
    R = reduce


@_read
def init() -> Any:
    """What a block does at the first point of its reduction: `with T.init():`."""


@_read
def where(predicate: Any) -> None:
    """The condition under which the block runs."""


@_read
def reads(*regions: Any) -> None:
    """What the block reads: `T.reads(A[vi, 0:4], B[vi])`. It is inferred where it is not said."""


@_read
def writes(*regions: Any) -> None:
    """What the block writes. It is inferred where it is not said."""


@_read
def block_attr(attrs: dict[str, Any]) -> None:
    """Annotations of the block."""


@_read
def sblock_attr(attrs: dict[str, Any]) -> None:
    """`T.block_attr`, by TVM's name from 0.22 on."""


# Buffers


@_read
def match_buffer(
    param: Any,
    shape: Any = None,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
) -> Any:
    """The buffer that a parameter points to; in a block a window of one, `T.match_buffer(A[0:4, i:i + 4])`."""


@_read
def alloc_buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    annotations: Any = None,
) -> Any:
    """A buffer of the block around, or of the function."""


@_read
def sblock_alloc_buffer(
    shape: Any,
    dtype: str = "float32",
    data: Any = None,
    strides: Any = None,
    elem_offset: Any = None,
    scope: str = "global",
    align: int = 0,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Any = None,
    annotations: Any = None,
) -> Any:
    """`T.alloc_buffer`, by TVM's name from 0.22 on."""


@_read
def allocate(extents: Any, dtype: str, scope: str = "global", condition: Any = True, annotations: Any = None) -> Any:
    """The address of memory of so many elements."""


@_read
def allocate_const(data: Any, dtype: str, extents: Any, annotations: Any = None) -> Any:
    """The address of constants."""


# Statements


@_read
def func_attr(attrs: dict[str, Any]) -> None:
    """The attributes of the function."""


@_read
def buffer_store(buffer: Any, value: Any, indices: Any) -> None:
    """`buffer[indices] = value`"""


@_read
def evaluate(value: Any) -> None:
    """An expression for its effect."""


@_read
def ret(value: Any) -> None:
    """The result of the function."""


@_read
def attr(node: Any, attr_key: str, value: Any) -> Any:
    """A note on the statements in the `with`, or on all that follow."""


@_read
def Assert(condition: Any, message: str) -> Any:  # noqa: N802 (TVM's name)
    """The function stops, with the message, where the condition does not hold."""


@_read
def LetStmt(value: Any, var: Any = None) -> Any:  # noqa: N802 (TVM's name)
    """A name for a value: `x = T.LetStmt(value)`, or `with T.LetStmt(value) as x:`."""


@_read
def let(var: Any, value: Any) -> Any:
    """A variable that is a value in the `with`."""


# Expressions


@_read
def Let(expr: Any, where: dict[Any, Any]) -> Any:  # noqa: N802 (TVM's name)
    """An expression with a name for a value: `T.Let(x + 1, where={x: value})`."""


@_read
def meta_var(value: Any) -> Any:
    """The expression itself, which gets a name while the script is read and no variable."""


@_read
def target(target_config: Any, host: Any = None) -> Any:
    """A target among the attributes of a function."""


Target = target


@_read
def fma(x: Any, y: Any, z: Any) -> Any:
    """x * y + z, rounded once."""


@_read
def strict_multiply(a: Any, b: Any) -> Any:
    """a * b, rounded before anything is added to it: never part of a multiply-add. An intrinsic of tirax alone."""


@_read
def fabs(x: Any) -> Any:
    """The absolute value."""


@_read
def tvm_thread_invariant(x: Any) -> Any:
    """A value that is the same in all threads."""


@_read
def tvm_call_packed(name: str, *args: Any) -> Any:
    """A packed function by name; a buffer is passed as an array."""


@_read
def llvm_lookup_intrinsic_id(name: str) -> Any:
    """An intrinsic of LLVM, by name, for `T.call_llvm_intrin`."""


@_read
def ramp(base: Any, stride: Any, lanes: Any) -> Any:
    """base, base + stride, …: a vector."""


@_read
def broadcast(value: Any, lanes: Any) -> Any:
    """A vector of one value."""


@_read
def get_active_lane_mask(dtype: str, base: Any, limit: Any) -> Any:
    """Which of the numbers from `base` on are below `limit`."""


@_read
def reduce(
    combiner: Any, source: Any, init: Any = None, axis: Any = None, condition: Any = True, value_index: int = 0
) -> Any:
    """A reduction as an expression, by a `T.comm_reducer`, over axes that are `T.iter_var`s."""


@_read
def iter_var(var: Any, dom: Any, iter_type: str = "CommReduce", thread_tag: str = "") -> Any:
    """An axis of a `T.reduce`: its variable and its range."""


@_read
def Range(begin: Any, end: Any = None) -> Any:  # noqa: N802 (TVM's name)
    """The numbers from `begin`, or 0, below the other one: of a `T.iter_var`."""


__all__ = [
    "Assert", "Let", "LetStmt", "Range", "Target", "alloc_buffer", "allocate", "allocate_const", "attr", "axis",
    "block", "block_attr", "broadcast", "buffer_store", "env_thread", "evaluate", "fabs", "fma", "func_attr",
    "get_active_lane_mask", "grid", "init", "iter_var", "launch_thread", "let", "llvm_lookup_intrinsic_id",
    "match_buffer", "meta_var", "parallel", "ramp", "reads", "reduce", "ret", "sblock", "sblock_alloc_buffer",
    "sblock_attr", "serial", "strict_multiply", "target", "thread_binding", "tvm_call_packed",
    "tvm_thread_invariant", "unroll", "vectorized", "where", "writes",
]  # fmt: skip
