"""Products of tiles by `wmma`, the matrix instructions of CUDA's warps: loads, products, zeros and stores of fragments.

A fragment is a tile of a buffer in a scope of its own; its number follows from the buffer's offset and stride.
"""

from __future__ import annotations

from collections.abc import Callable

from ....schedule.tensor_intrin import TensorIntrin, from_script
from .texts import Operand, function

_SHORT = {"f16": "float16", "f32": "float32", "s8": "int8", "s4": "int4", "s32": "int32"}
_LOADS = ("shared", "shared.dyn")
_STORES = ("shared", "shared.dyn", "global")


def _fragment(name: str, stride: str, rows: int, columns: int) -> str:
    """Return the number of a fragment in its buffer."""
    row = f"{name}.elem_offset // {stride} // {rows}"
    return f"{row} * ({stride} // {columns}) + {name}.elem_offset % {stride} // {columns}"


def _copied(block: str, shape: tuple[int, int], value: str = "A[vi, vj]") -> str:
    return f"""\
for i, j in T.grid({shape[0]}, {shape[1]}):
    with T.block("{block}"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = {value}
"""


def load(size: tuple[int, int, int], dtype: str, scope: str, is_b: bool, transposed: bool) -> TensorIntrin:
    """Return the load of a fragment of an operand of the product; a transposed one is stored by columns."""
    m, n, k = size
    shape = (k, n) if is_b else (m, k)
    shape = (shape[1], shape[0]) if transposed else shape
    layout = "col_major" if transposed else "row_major"
    source = Operand("A", shape, dtype, scope, shape[1], ("s1", "s0"))
    fragment = Operand("C", shape, dtype, f"wmma.matrix_{'b' if is_b else 'a'}", shape[1], ("d1", "d0"))
    impl = (
        f"T.tvm_load_matrix_sync(C.data, {m}, {n}, {k}, {_fragment('C', 'd1', *shape)},"
        f' A.access_ptr("r"), s1, "{layout}")'
    )
    operands = (source, fragment)
    desc = function(operands, "A", "C", _copied("load", shape))
    return from_script(desc, function(operands, "A", "C", impl, implements=True))


def fill(size: tuple[int, int, int], dtype: str) -> TensorIntrin:
    """Return the fragment of zeros that sums begin with."""
    m, n, k = size
    sums = Operand("C", (m, n), dtype, "wmma.accumulator", n, ("d1", "d0"))
    impl = f"T.tvm_fill_fragment(C.data, {m}, {n}, {k}, {_fragment('C', 'd1', m, n)}, T.float32(0))"
    desc = function([sums], "", "C", _copied("init", (m, n), f"T.{dtype}(0)"))
    return from_script(desc, function([sums], "", "C", impl, implements=True))


def store(size: tuple[int, int, int], dtype: str, scope: str) -> TensorIntrin:
    """Return the store of a fragment of sums."""
    m, n, k = size
    sums = Operand("A", (m, n), dtype, "wmma.accumulator", n, ("d1", "d0"))
    out = Operand("C", (m, n), dtype, scope, n, ("s1", "s0"))
    impl = (
        f"T.tvm_store_matrix_sync(A.data, {m}, {n}, {k}, {_fragment('A', 'd1', m, n)},"
        ' C.access_ptr("w"), s1, "row_major")'
    )
    desc = function((sums, out), "A", "C", _copied("store", (m, n)))
    return from_script(desc, function((sums, out), "A", "C", impl, implements=True))


def product(size: tuple[int, int, int], dtype: str, out_dtype: str, transposed: bool) -> TensorIntrin:
    """Return C += A @ B of fragments, or C += A @ B.T of a transposed B."""
    m, n, k = size
    shape = (n, k) if transposed else (k, n)
    operands = (
        Operand("A", (m, k), dtype, "wmma.matrix_a", k, ("a1", "a0")),
        Operand("B", shape, dtype, "wmma.matrix_b", shape[1], ("b1", "b0")),
        Operand("C", (m, n), out_dtype, "wmma.accumulator", n, ("c1", "c0")),
    )
    left, right = "A[vi, vk]", "B[vj, vk]" if transposed else "B[vk, vj]"
    if dtype != out_dtype:
        left, right = (f'T.Cast("{out_dtype}", {side})' for side in (left, right))
    body = f"""\
for i, j, k in T.grid({m}, {n}, {k}):
    with T.block(""):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        C[vi, vj] = C[vi, vj] + {left} * {right}
"""
    sums = f"C.data, {_fragment('C', 'c1', m, n)}"
    impl = (
        f"T.tvm_mma_sync({sums}, A.data, {_fragment('A', 'a1', m, k)}, B.data, {_fragment('B', 'b1', *shape)}, {sums})"
    )
    desc = function(operands, "CAB", "C", body)
    return from_script(desc, function(operands, "CAB", "C", impl, implements=True))


def _builders() -> dict[str, Callable[[], TensorIntrin]]:
    square, flat = (16, 16, 16), (8, 8, 32)
    table: dict[str, Callable[[], TensorIntrin]] = {}
    for a, c, trans in (
        ("f16", "f32", False),
        ("f16", "f32", True),
        ("f16", "f16", False),
        ("f16", "f16", True),
        ("s8", "s32", False),
        ("s8", "s32", True),
        ("s4", "s32", True),
    ):
        size = flat if a == "s4" else square
        name = f"wmma_sync_{'x'.join(map(str, size))}_{a}{a}{c}{'_trans' if trans else ''}"
        table[name] = lambda size=size, a=a, c=c, t=trans: product(size, _SHORT[a], _SHORT[c], t)
    rows = [(d, m, t) for d in ("f16", "s8") for m in "ab" for t in (False, True)]
    for a, matrix, trans in (*rows, ("s4", "a", False), ("s4", "b", True)):
        size = flat if a == "s4" else square
        for scope in _LOADS:
            name = f"wmma_load_{'x'.join(map(str, size))}_{a}_{matrix}{'_trans' if trans else ''}"
            table[f"{name}_{scope.replace('.', '_')}"] = lambda size=size, a=a, s=scope, m=matrix, t=trans: load(
                size, _SHORT[a], s, m == "b", t
            )
    for size, c in ((square, "f32"), (square, "f16"), (square, "s32"), (flat, "s32")):
        of_size = "x".join(map(str, size))
        table[f"wmma_fill_{of_size}_{c}"] = lambda size=size, c=c: fill(size, _SHORT[c])
        for scope in _STORES:
            name = f"wmma_store_{of_size}_{c}_{scope.replace('.', '_')}"
            table[name] = lambda size=size, c=c, s=scope: store(size, _SHORT[c], s)
    return table


BUILDERS = _builders()
"""The name of an intrinsic -> what builds it."""


def get_wmma_intrin_group(
    load_scope: str, store_scope: str, in_dtype: str, out_dtype: str, trans_b: bool
) -> dict[str, str]:
    """Return the names of the five intrinsics of a matrix product.

    Raises `AssertionError`, as TVM does, for scopes and dtypes without intrinsics.
    """
    if load_scope not in _LOADS or store_scope not in _STORES:
        raise AssertionError(f"no fragments of {load_scope} and {store_scope}")
    if in_dtype not in ("float16", "int8") or out_dtype not in ("float16", "float32", "int32"):
        raise AssertionError(f"no products of {in_dtype} in {out_dtype}")
    short = {long: s for s, long in _SHORT.items()}
    a, c = short[in_dtype], short[out_dtype]
    load_scope, store_scope = load_scope.replace(".", "_"), store_scope.replace(".", "_")
    trans = "_trans" if trans_b else ""
    return {
        "init": f"wmma_fill_16x16x16_{c}",
        "load_a": f"wmma_load_16x16x16_{a}_a_{load_scope}",
        "load_b": f"wmma_load_16x16x16_{a}_b{trans}_{load_scope}",
        "compute": f"wmma_sync_16x16x16_{a}{a}{c}{trans}",
        "store": f"wmma_store_16x16x16_{c}_{store_scope}",
    }
