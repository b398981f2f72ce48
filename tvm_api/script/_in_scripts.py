"""Names of `T` that only the parser interprets, with their parameters, for readers and editors.

A test compares the parameters with those that the parser accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ...diagnostics import TiraxError

F = TypeVar("F", bound=Callable[..., Any])


def _read(function: F) -> F:
    """Mark a function as interpreted by the parser; a call outside of a script raises `TiraxError`."""

    @wraps(function)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        name = function.__qualname__
        raise TiraxError(f"T.{name} has a meaning only in the body of a T.prim_func")

    return refuse  # pyright: ignore[reportReturnType]


# Loops


@_read
def grid(*extents: Any) -> Any:
    """Open nested loops, `for i, j in T.grid(n, m)`; an extent may be a pair (start, stop)."""


@_read
def serial(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """Open a loop from `start`, or from 0 to `start` without `stop`."""


@_read
def parallel(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """Open a parallel loop."""


@_read
def vectorized(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """Open a vectorized loop."""


@_read
def unroll(start: Any, stop: Any = None, annotations: Any = None) -> Any:
    """Open an unrolled loop."""


@_read
def thread_binding(start: Any, stop: Any = None, thread: str | None = None, annotations: Any = None) -> Any:
    """Open a loop whose iterations are threads: `T.thread_binding(32, thread="threadIdx.x")`."""


@_read
def env_thread(thread_tag: str, dtype: str = "int32") -> Any:
    """Return a thread by its tag, whose extent `T.launch_thread` sets."""


@_read
def launch_thread(thread: Any, extent: Any) -> Any:
    """Run the body of a `with` by `extent` threads: `with T.launch_thread("threadIdx.x", 32) as x:`."""


# Blocks


@_read
def block(name: str = "", no_realize: bool = False) -> Any:
    """Open a block: `with T.block("B"):`, followed by its iterators and its body."""


@_read
def sblock(name: str = "", no_realize: bool = False) -> Any:
    """`T.block` under TVM's name since 0.22."""


class axis:  # noqa: N801 (TVM's name)
    """The iterators of a block: a domain (an extent, or a pair of ends), and the bound value."""

    @staticmethod
    @_read
    def spatial(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """Return a data-parallel iterator."""

    @staticmethod
    @_read
    def reduce(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """Return a reduction iterator."""

    @staticmethod
    @_read
    def scan(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """Return an iterator with ordered iterations."""

    @staticmethod
    @_read
    def opaque(dom: Any, binding: Any, dtype: str = "int32") -> Any:
        """Return an iterator without known properties."""

    @staticmethod
    @_read
    def remap(kinds: str, bindings: Any) -> Any:
        """Return iterators bound to loop variables: `vi, vk = T.axis.remap("SR", [i, k])`."""

    S = spatial
    R = reduce


@_read
def init() -> Any:
    """Open the init of a block, which runs at the first point of its reduction: `with T.init():`."""


@_read
def where(predicate: Any) -> None:
    """Set the predicate of the block."""


@_read
def reads(*regions: Any) -> None:
    """Declare the reads of the block, `T.reads(A[vi, 0:4], B[vi])`, which are inferred by default."""


@_read
def writes(*regions: Any) -> None:
    """Declare the writes of the block, which are inferred by default."""


@_read
def block_attr(attrs: dict[str, Any]) -> None:
    """Set the annotations of the block."""


@_read
def sblock_attr(attrs: dict[str, Any]) -> None:
    """`T.block_attr` under TVM's name since 0.22."""


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
    """Return the buffer of a pointer parameter, or in a block a region of one, `T.match_buffer(A[0:4, i:i + 4])`."""


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
    """Allocate a buffer in the enclosing block or function."""


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
    """`T.alloc_buffer` under TVM's name since 0.22."""


@_read
def allocate(extents: Any, dtype: str, scope: str = "global", condition: Any = True, annotations: Any = None) -> Any:
    """Allocate memory for `extents` elements, and return its address."""


@_read
def allocate_const(data: Any, dtype: str, extents: Any, annotations: Any = None) -> Any:
    """Return the address of constants."""


# Statements


@_read
def func_attr(attrs: dict[str, Any]) -> None:
    """Set the attributes of the function."""


@_read
def buffer_store(buffer: Any, value: Any, indices: Any) -> None:
    """Emit `buffer[indices] = value`."""


@_read
def evaluate(value: Any) -> None:
    """Evaluate an expression for its side effects."""


@_read
def ret(value: Any, dtype: str | None = None) -> None:
    """Return `value` from the function, converted to a dtype."""


@_read
def attr(node: Any, attr_key: str, value: Any) -> Any:
    """Attach an attribute to the statements in the `with`, or to all that follow."""


@_read
def Assert(condition: Any, message: str) -> Any:  # noqa: N802 (TVM's name)
    """Stop the function with a message if the condition is false."""


@_read
def LetStmt(value: Any, type_annotation: Any = None, *, var: Any = None) -> Any:  # noqa: N802 (TVM's name)
    """Bind a variable: `x = T.LetStmt(value)`, or `with T.LetStmt(value) as x:`."""


@_read
def let(v: Any, value: Any) -> Any:
    """Bind a variable to a value in the `with`."""


# Expressions


@_read
def Let(expr: Any, where: dict[Any, Any]) -> Any:  # noqa: N802 (TVM's name)
    """Return an expression with a variable bound to a value: `T.Let(x + 1, where={x: value})`."""


@_read
def meta_var(value: Any) -> Any:
    """Return the expression itself: an alias at parse time, not a variable."""


@_read
def target(target_config: Any, host: Any = None) -> Any:
    """Return a target, for the attributes of a function."""


Target = target


@_read
def fma(x: Any, y: Any, z: Any) -> Any:
    """Return x * y + z, rounded once."""


@_read
def strict_multiply(a: Any, b: Any) -> Any:
    """Return a * b, rounded before it is added to anything: never contracted to a multiply-add. Specific to tirax."""


@_read
def fabs(x: Any) -> Any:
    """Return the absolute value."""


@_read
def tvm_thread_invariant(x: Any) -> Any:
    """Return a value that is the same in all threads."""


@_read
def tvm_call_packed(name: str, *args: Any) -> Any:
    """Call a packed function by name; a buffer is passed as an array."""


@_read
def llvm_lookup_intrinsic_id(name: str) -> Any:
    """Return the ID of an LLVM intrinsic by name, for `T.call_llvm_intrin`."""


@_read
def ramp(base: Any, stride: Any, lanes: Any) -> Any:
    """Return the vector base, base + stride, …."""


@_read
def broadcast(value: Any, lanes: Any) -> Any:
    """Return a vector of equal values."""


@_read
def get_active_lane_mask(dtype: str, base: Any, limit: Any) -> Any:
    """Return a mask of the numbers from `base` on that are below `limit`."""


@_read
def reduce(
    combiner: Any, source: Any, init: Any = None, axis: Any = None, condition: Any = True, value_index: int = 0
) -> Any:
    """Return a reduction as an expression, with a `T.comm_reducer`, over axes that are `T.iter_var`s."""


@_read
def iter_var(v: Any, dom: Any, iter_type: str = "CommReduce", thread_tag: str = "") -> Any:
    """Return an axis of a `T.reduce`: its variable and its range."""


@_read
def Range(begin: Any, end: Any = None) -> Any:  # noqa: N802 (TVM's name)
    """Return the range from `begin` to `end`, exclusive, or from 0 to `begin`, for a `T.iter_var`."""


__all__ = [
    "Assert", "Let", "LetStmt", "Range", "Target", "alloc_buffer", "allocate", "allocate_const", "attr", "axis",
    "block", "block_attr", "broadcast", "buffer_store", "env_thread", "evaluate", "fabs", "fma", "func_attr",
    "get_active_lane_mask", "grid", "init", "iter_var", "launch_thread", "let", "llvm_lookup_intrinsic_id",
    "match_buffer", "meta_var", "parallel", "ramp", "reads", "reduce", "ret", "sblock", "sblock_alloc_buffer",
    "sblock_attr", "serial", "strict_multiply", "target", "thread_binding", "tvm_call_packed",
    "tvm_thread_invariant", "unroll", "vectorized", "where", "writes",
]  # fmt: skip
