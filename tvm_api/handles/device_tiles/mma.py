"""Products of tiles by `mma`, with operands in the registers of a warp: `ldmatrix`, products, zeros and stores.

An element [i, j] of a tile is in the register [thread, place] of the scope `warp`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ....schedule.tensor_intrin import TensorIntrin, from_script
from .texts import Operand, function

WARP_SIZE, M_DIM, N_DIM = 32, 16, 16
_LONG = {
    "f16": "float16", "f32": "float32", "i8": "int8", "i32": "int32", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2",
}  # fmt: skip
_SHORT = {long: short for short, long in _LONG.items()}
_OF_PTX = {"float16": "fp16", "float32": "fp32"}
_LOADS, _STORES = ("shared", "shared.dyn"), ("global", "shared", "shared.dyn")


def shared_16x16_to_ldmatrix_32x8_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """Return the thread and the place of an element of a tile of 16 x 16 halves."""
    return 4 * (i % 8) + (j % 8) // 2, 4 * (j // 8) + (i // 8) * 2 + (j % 2)


def shared_16x32_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """Return the thread and the place of an element of a tile of 16 x 32 bytes."""
    return 4 * (i % 8) + (j % 16) // 4, 8 * (j // 16) + (i // 8) * 4 + j % 4


def shared_32x16_to_ldmatrix_32x16_layout(i: Any, j: Any) -> tuple[Any, Any]:
    """Return the thread and the place of an element of a tile of 32 x 16 bytes."""
    return (i % 16) // 4 + 4 * (j % 8), 8 * (j // 8) + (i // 16) * 4 + i % 4


def ldmatrix_32x8_to_shared_16x16_layout(thread_id: Any, local_id: Any) -> tuple[Any, Any]:
    """Return the row and the column of the element in a register."""
    return 8 * (local_id % 4 // 2) + (thread_id // 4), 8 * (local_id // 4) + (thread_id % 4) * 2 + (local_id % 2)


def _half(i: str, j: str) -> str:
    return f"4 * ({i} % 8) + {j} % 8 // 2, 4 * ({j} // 8) + {i} // 8 * 2 + {j} % 2"


def _wide(i: str, j: str) -> str:
    return f"4 * ({i} % 8) + {j} % 16 // 4, 8 * ({j} // 16) + {i} // 8 * 4 + {j} % 4"


def _tall(i: str, j: str) -> str:
    return f"{i} % 16 // 4 + 4 * ({j} % 8), 8 * ({j} // 8) + {i} // 16 * 4 + {i} % 4"


def _address(transposed: bool, width: int, by_columns: bool, is_b: bool) -> str:
    """Return where a thread reads its part of a tile in shared memory."""
    if width == 32 and is_b and not transposed:
        return "s0"  # only the stride: bytes are not transposed by the instruction
    step = 8 if width == 16 else 16
    if by_columns:
        return f"s0 * 8 * (tx // 16) + s0 * (tx % 8) + {step} * (tx % 16 // 8)"
    return f"s0 * (tx % 16) + {step} * (tx // 16)"


def ldmatrix(depth: int, dtype: str, is_b: bool, transposed: bool, scope: str = "shared") -> TensorIntrin:
    """Return the load of a tile from shared memory to registers."""
    size = M_DIM * depth // WARP_SIZE
    shape = (depth, N_DIM) if is_b else (M_DIM, depth)
    shape = (shape[1], shape[0]) if transposed else shape
    layout = _half if depth == 16 else _tall if is_b and not transposed else _wide
    shared = Operand("shared", shape, dtype, scope, shape[1], ("s0", "s1"))
    warp = Operand("warp", (WARP_SIZE, size), dtype, "warp", shape[1])
    register = f"warp[{layout('v0', 'v1')}]"
    body = f"""\
for ax0, ax1 in T.grid({shape[0]}, {shape[1]}):
    with T.block("shared_warp"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        T.reads(shared[v0, v1])
        T.writes({register})
        {register} = shared[v0, v1]
"""
    by_instruction = transposed != is_b
    impl = f"""\
for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):
    T.evaluate(T.ptx_ldmatrix("{dtype}", T.bool({by_instruction}), 4, ".b16", warp.data,
        warp.elem_offset + {size} * tx, shared.access_ptr("r"), {_address(transposed, depth, transposed, is_b)}))
"""
    operands = (warp, shared)
    desc = function(operands, ["shared"], ["warp"], body)
    return from_script(desc, function(operands, ["shared"], ["warp"], impl, implements=True))


def product(depth: int, dtype: str, out_dtype: str, trans_a: bool, trans_b: bool) -> TensorIntrin:
    """Return C += A @ B of tiles in registers: two instructions, one for each half of the columns."""
    size, out_size = M_DIM * depth // WARP_SIZE, M_DIM * N_DIM // WARP_SIZE
    of_a = _half if depth == 16 else _wide
    of_b = _half if depth == 16 else _wide if trans_b else _tall
    operands = (
        Operand("A", (WARP_SIZE, size), dtype, "warp", M_DIM if trans_a else depth),
        Operand("B", (WARP_SIZE, size), dtype, "warp", depth if trans_b else N_DIM),
        Operand("C", (WARP_SIZE, out_size), out_dtype, "warp", N_DIM),
    )
    a = f"A[{of_a(*('vk', 'vi') if trans_a else ('vi', 'vk'))}]"
    b = f"B[{of_b(*('vj', 'vk') if trans_b else ('vk', 'vj'))}]"
    c = f"C[{_half('vi', 'vj')}]"
    left, right = (f'T.Cast("{out_dtype}", {x})' if out_dtype != "float16" else x for x in (a, b))
    body = f"""\
for i, j, k in T.grid({M_DIM}, {N_DIM}, {depth}):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads({c}, {a}, {b})
        T.writes({c})
        {c} = {c} + {left} * {right}
"""
    short = [_OF_PTX.get(d, _SHORT[d] if d.startswith("float8") else d) for d in (dtype, dtype, out_dtype)]
    names = ", ".join(f'"{n}"' for n in short)
    instructions = "".join(
        f"""\
    T.evaluate(T.ptx_mma("{out_dtype}", "m16n8k{depth}", "row", "col", {names},
        A.data, A.elem_offset + tx * {size}, B.data, B.elem_offset + tx * {size}{b_half},
        C.data, C.elem_offset + tx * {out_size}{c_half}, T.bool(False)))
"""
        for b_half, c_half in (("", ""), (f" + {size // 2}", f" + {out_size // 2}"))
    )
    impl = f'for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):\n{instructions}'
    desc = function(operands, "CAB", "C", body)
    return from_script(desc, function(operands, "CAB", "C", impl, implements=True))


def fill(dtype: str, size: int = 8) -> TensorIntrin:
    """Return the registers of zeros that sums begin with."""
    register = f"C[{_half('i', 'j')}]"
    body = f"""\
for i0, i1 in T.grid({M_DIM}, {N_DIM}):
    with T.block("C_warp"):
        i, j = T.axis.remap("SS", [i0, i1])
        T.reads()
        T.writes({register})
        {register} = T.{dtype}(0)
"""
    impl = f"""\
for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):
    T.evaluate(T.mma_fill("{dtype}", {size}, C.data, C.elem_offset))
"""
    desc = function([Operand("C", (WARP_SIZE, size), dtype, "warp", 0)], "", "C", body)
    return from_script(desc, function([Operand("C", (WARP_SIZE, size), dtype, "warp")], "", "C", impl, implements=True))


def store(dtype: str, scope: str, instruction: bool, size: int = 8) -> TensorIntrin:
    """Return the store of a tile of sums, by the instruction or by a loop over registers."""
    register = f"W[{_half('v0', 'v1')}]"
    body = f"""\
for i0, i1 in T.grid({M_DIM}, {N_DIM}):
    with T.block("C_warp"):
        v0, v1 = T.axis.remap("SS", [i0, i1])
        T.reads({register})
        T.writes(C[v0, v1])
        C[v0, v1] = {register}
"""
    if instruction:
        step = f'T.evaluate(T.mma_store("{dtype}", {M_DIM}, {N_DIM}, C.access_ptr("w"), W.data, W.elem_offset, s0))'
    else:
        step = f"""\
for local_id in T.serial({size}):
        C[8 * (local_id % 4 // 2) + tx // 4, 8 * (local_id // 4) + tx % 4 * 2 + local_id % 2] = W[tx, local_id]"""
    impl = f'for tx in T.thread_binding(0, {WARP_SIZE}, "threadIdx.x"):\n    {step}\n'
    plain = (Operand("W", (WARP_SIZE, size), dtype, "warp", 0), Operand("C", (M_DIM, N_DIM), dtype, scope, 0))
    strided = (
        Operand("W", (WARP_SIZE, size), dtype, "warp"),
        Operand("C", (M_DIM, N_DIM), dtype, scope, 1, ("s0", "s1")),
    )
    desc = function(plain, "W", "C", body)
    return from_script(desc, function(strided, "W", "C", impl, implements=True))


def _builders() -> dict[str, Callable[[], TensorIntrin]]:
    table: dict[str, Callable[[], TensorIntrin]] = {}
    rows = [("f16", m, t, s) for m in "ab" for t in (False, True) for s in _LOADS]
    rows += [(d, *r, "shared") for d in ("i8", "e4m3", "e5m2") for r in (("a", False), ("b", False), ("b", True))]
    for d, matrix, trans, scope in rows:
        name = f"mma_ldmatrix_{d}_{matrix}{'_trans' if trans else ''}{'' if scope == 'shared' else '_dyn'}"
        table[name] = lambda d=d, m=matrix, t=trans, s=scope: ldmatrix(
            16 if d == "f16" else 32, _LONG[d], m == "b", t, s
        )
    products = [("f16", c, ta, tb) for c in ("f32", "f16") for ta in (False, True) for tb in (False, True)]
    products += [
        (d, c, False, tb) for d, c in (("i8", "i32"), ("e5m2", "f32"), ("e4m3", "f32")) for tb in (False, True)
    ]
    for d, c, ta, tb in products:
        name = f"mma_{d}{d}{c}{'_trans_a' if ta else ''}{'_trans_b' if tb else ''}"
        table[name] = lambda d=d, c=c, ta=ta, tb=tb: product(16 if d == "f16" else 32, _LONG[d], _LONG[c], ta, tb)
    for c in ("f32", "f16", "i32"):
        table[f"mma_fill_16x16_{c}"] = lambda c=c: fill(_LONG[c])
    for c, scope, instruction in (
        ("f32", "global", True),
        ("f32", "shared.dyn", True),
        ("f32", "shared.dyn", False),
        ("f16", "shared.dyn", False),
        ("f16", "global", True),
        ("i32", "global", True),
    ):
        name = f"mma_store_16x16_{c}_{scope.replace('.', '_')}_{'' if instruction else 'simple_'}"
        table[name] = lambda c=c, s=scope, i=instruction: store(_LONG[c], s, i)
    return table


BUILDERS = _builders()
"""The name of an intrinsic -> what builds it."""


def get_mma_intrin_group(
    load_scope: str,
    store_scope: str,
    in_dtype: str,
    out_dtype: str,
    trans_a: bool,
    trans_b: bool,
    not_use_mma_store_intrinic: bool = True,
    store_to_smem_dtype: str | None = None,
) -> dict[str, str]:
    """Return the names of the five intrinsics of a matrix product.

    Raises `AssertionError`, as TVM does, for scopes and dtypes without intrinsics.
    """
    if load_scope not in _LOADS or store_scope not in _STORES:
        raise AssertionError(f"no tiles in {load_scope} and {store_scope}")
    if in_dtype not in ("float16", "int8", "float8_e4m3fn", "float8_e5m2") or out_dtype not in (
        "float16",
        "float32",
        "int32",
    ):
        raise AssertionError(f"no products of {in_dtype} in {out_dtype}")
    a, c = _SHORT[in_dtype], _SHORT[out_dtype]
    of_a, of_b = ("_trans" if t else "" for t in (trans_a, trans_b))
    dyn = "_dyn" if load_scope == "shared.dyn" else ""
    stored = _SHORT[store_to_smem_dtype] if store_to_smem_dtype else c
    simple = "simple_" if not_use_mma_store_intrinic else ""
    return {
        "init": f"mma_fill_16x16_{c}",
        "load_a": f"mma_ldmatrix_{a}_a{of_a}{dyn}",
        "load_b": f"mma_ldmatrix_{a}_b{of_b}{dyn}",
        "compute": f"mma_{a}{a}{c}{of_a and of_a + '_a'}{of_b and of_b + '_b'}",
        "store": f"mma_store_16x16_{stored}_{store_scope.replace('.', '_')}_{simple}",
    }
