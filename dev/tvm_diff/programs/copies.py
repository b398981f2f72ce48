"""Passes that copy by instructions of CUDA, and that place shared memory."""

from __future__ import annotations

from ..rows import Row

_COPY = "tir.InjectPTXAsyncCopy()"
_LOAD = "tir.InjectPTXLDG32()"


def _kernel(body: str, dtype: str = "float32", scope: str = "shared") -> str:
    lines = body.strip().replace("\n", "\n    ")
    return f"""
@T.prim_func
def main(A: T.Buffer((1024,), "{dtype}"), B: T.Buffer((1024,), "{dtype}")):
    t = T.launch_thread("threadIdx.x", 32)
    S = T.decl_buffer((1024,), "{dtype}", scope="{scope}")
    {lines}
"""


def _async(stored: str, at: str = "t", **options: str) -> str:
    return _kernel(f'with T.attr(0, "async_scope", 1):\n    S[{at}] = {stored}\nB[t] = S[t]', **options)


_ORDER = "TVM 0.27 places the first allocation outermost, 0.20 the last"
_REDUCE = "tir.LowerThreadAllreduce()"


def _sum(threads: str, over: str, dtype: str = "float32", target: str = "cuda", condition: str = "True") -> str:
    launches = "\n    ".join(
        f't{name} = T.launch_thread("threadIdx.{name}", {count})'
        for name, count in (pair.split("=") for pair in threads.split())
    )
    return f"""
@T.prim_func
def main(A: T.Buffer((1024,), "{dtype}"), B: T.Buffer((1024,), "{dtype}")):
    T.func_attr({{"target": T.target("{target}")}})
    {launches}
    R = T.decl_buffer((1,), "{dtype}", scope="local")
    with T.attr(
        T.comm_reducer(lambda x, y: x + y, [T.{dtype}(0)]), "reduce_scope", T.reinterpret("handle", T.uint64(0))
    ):
        T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool({condition}), R[0], {over})
    if tx == 0:
        B[0] = R[0]
"""


_MARKS = "tir.InstrumentProfileIntrinsics()"
_RESET = {"tir.reset_start_id": True}
_NESTS = """
@T.prim_func
def main(A: T.Buffer((8, 8, 8), "float32"), B: T.Buffer((8, 8, 8), "float32")):
    for i in {outer}(8):
        for j in T.serial(8):
            for k in T.serial(8):
                A[i, j, k] = T.float32(0)
        for j in {inner}(8):
            if j < 4:
                for k in T.serial(8):
                    B[i, j, k] = A[i, j, k]
            for k in T.serial(8):
                A[i, j, k] = B[i, j, k]
    for i in T.serial(8):
        A[i, 0, 0] = T.float32(1)
"""


def _marked(branch: str, outer: str = "T.serial", inner: str = "T.serial", **options: int) -> Row:
    config = {**_RESET, **{f"tir.{name}": value for name, value in options.items()}}
    return Row(_MARKS, branch, _NESTS.format(outer=outer, inner=inner), config)


ROWS = [
    _marked("loops beside loops"),
    _marked("innermost loops, too", lwp_min_height=0),
    _marked("loops down to a depth", instr_siblings=False, lwp_max_depth=1),
    _marked("outermost loops", instr_siblings=False),
    _marked("all loops", instr_siblings=False, lwp_max_depth=4, lwp_min_height=0),
    _marked("no function", lwp_disable_func_prof=True),
    _marked("a parallel outer loop", "T.parallel", instr_siblings=False, lwp_max_depth=4, lwp_min_height=0),
    _marked("a parallel inner loop", "T.serial", "T.parallel", lwp_min_height=0),
    Row(_REDUCE, "a warp", _sum("x=32", "tx"), reason=_ORDER),
    Row(_REDUCE, "half a warp", _sum("x=16", "tx"), reason=_ORDER),
    Row(_REDUCE, "half a warp among others", _sum("x=16 y=8", "tx"), reason=_ORDER),
    Row(_REDUCE, "no power of two", _sum("x=24", "tx"), reason=_ORDER),
    Row(_REDUCE, "several warps", _sum("x=128", "tx"), reason=_ORDER),
    Row(_REDUCE, "several warps among others", _sum("x=128 y=2", "tx"), reason=_ORDER),
    Row(_REDUCE, "two dimensions", _sum("x=8 y=4", "tx, ty"), reason=_ORDER),
    Row(_REDUCE, "not contiguous", _sum("x=8 y=4", "ty")),
    Row(_REDUCE, "no power of two among others", _sum("x=24 y=4", "tx")),
    Row(_REDUCE, "many, no power of two", _sum("x=100", "tx")),
    Row(_REDUCE, "one thread", _sum("x=1", "tx")),
    Row(_REDUCE, "halves", _sum("x=32", "tx", dtype="float16"), reason=_ORDER),
    Row(_REDUCE, "bytes", _sum("x=32", "tx", dtype="int8")),
    Row(_REDUCE, "integers", _sum("x=32", "tx", dtype="int32"), reason=_ORDER),
    Row(_REDUCE, "metal", _sum("x=32", "tx", target="metal"), reason=_ORDER),
    Row(_REDUCE, "rocm", _sum("x=64", "tx", target="rocm"), reason=_ORDER),
    Row(_REDUCE, "under a condition", _sum("x=32", "tx", condition="False"), reason=_ORDER),
    Row(_COPY, "a copy", _async("A[t]")),
    Row(_COPY, "a copy to dynamic memory", _async("A[t]", scope="shared.dyn")),
    Row(_COPY, "a copy to local memory", _async("A[t]", scope="local")),
    Row(_COPY, "no copy", _async("A[t] + T.float32(1)")),
    Row(_COPY, "no scope", _kernel("S[t] = A[t]\nB[t] = S[t]")),
    Row(_COPY, "two bytes", _async("A[t]", dtype="float16")),
    Row(_COPY, "four halves", _async("A[T.Ramp(t * 4, 1, 4)]", "T.Ramp(t * 4, 1, 4)", dtype="float16")),
    Row(_COPY, "eight halves", _async("A[T.Ramp(t * 8, 1, 8)]", "T.Ramp(t * 8, 1, 8)", dtype="float16")),
    Row(_COPY, "three numbers", _async("A[T.Ramp(t * 3, 1, 3)]", "T.Ramp(t * 3, 1, 3)")),
    Row(_COPY, "eight numbers", _async("A[T.Ramp(t * 8, 1, 8)]", "T.Ramp(t * 8, 1, 8)")),
    Row(_COPY, "a condition", _async("T.if_then_else(t < 16, A[t], T.float32(0))")),
    Row(_COPY, "a condition, else another number", _async("T.if_then_else(t < 16, A[t], T.float32(1))")),
    Row(
        _COPY,
        "a condition on a vector",
        _async("T.if_then_else(t < 16, A[T.Ramp(t * 4, 1, 4)], T.Broadcast(T.float32(0), 4))", "T.Ramp(t * 4, 1, 4)"),
    ),
    Row(_COPY, "an integer", _async("A[t]", dtype="int32")),
    Row(_LOAD, "nothing allocated", _kernel("S[t] = T.if_then_else(t < 16, A[t], T.float32(0))\nB[t] = S[t]")),
]
