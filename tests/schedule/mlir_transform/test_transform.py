"""Traces as sequences of MLIR's dialect `transform`, and its sequences on tensor functions; a row for each step."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tirax.dev.upstream.judges import iree_opt
from tirax.dev.upstream.linalg import as_linalg, difference
from tirax.diagnostics import TiraxError, UnsupportedError
from tirax.dialects import tir
from tirax.driver.build import build
from tirax.frontend.mlir import from_mlir
from tirax.frontend.mlir.transform import ApplyTransform
from tirax.ir.passes.transform import new_context
from tirax.ir.upstream_text import upstream_text
from tirax.ir.verification.verify import verify_module
from tirax.schedule.mlir_transform.write import REFUSED, ConvertSchedToTransform
from tirax.schedule.schedule import ApplySchedule
from tirax.script import parse_mlir


def product(m: object = 12, n: object = 16, k: object = 8) -> str:
    """Return a product of matrices, block "C"."""
    a, b, c = (f"!tir.buffer<[{x}, {y}], f32>" for x, y in ((m, k), (k, n), (m, n)))
    return f"""
tir.func @f(%A: {a}, %B: {b}, %C: {c}) {{
  tir.for %i = 0 for {m} {{
    tir.for %j = 0 for {n} {{
      tir.for %k = 0 for {k} {{
        tir.block "C" (%vi = spatial(%i, {m}), %vj = spatial(%j, {n}), %vk = reduce(%k, {k})) {{
          tir.reads %A[%vi, %vk]
          tir.reads %B[%vk, %vj]
          tir.writes %C[%vi, %vj]
          tir.init {{
            %z = tir.const 0.0 : f32
            tir.store %z, %C[%vi, %vj]
          }}
          %c = tir.load %C[%vi, %vj] : f32
          %a = tir.load %A[%vi, %vk] : f32
          %b = tir.load %B[%vk, %vj] : f32
          %p = tir.mul %a, %b : f32
          %s = tir.add %c, %p : f32
          tir.store %s, %C[%vi, %vj]
        }}
      }}
    }}
  }}
}}
"""


HEAD = """sched.sequence {
%b = sched.get_block(name = "C", func_name = "f") : block
%i, %j, %k = sched.get_loops(block = %b) : loop, loop, loop
"""
TILES = """%i0, %i1 = sched.split(loop = %i, factors = [none, 4]) : loop, loop
%j0, %j1 = sched.split(loop = %j, factors = [none, 8]) : loop, loop
"""
# step -> (trace, operations of MLIR, in order)
STEPS = {
    "split": (TILES + "sched.reorder(loops = [%i0, %j0, %i1, %j1])", ["tile_using_for", "tile_using_for"]),
    "split twice": (
        "%i0, %i1, %i2 = sched.split(loop = %i, factors = [none, 3, 2]) : loop, loop, loop\n",
        ["tile_using_for %1 tile_sizes [6, 0, 0]", "tile_sizes [2, 0, 0]"],
    ),
    "split that leaves a rest": (
        "%j0, %j1 = sched.split(loop = %j, factors = [none, 5]) : loop, loop\n"
        "sched.reorder(loops = [%j0, %i, %j1])",
        ["tile_sizes [0, 5, 0]"],
    ),
    "sampled": (
        "%x, %y = sched.sample_perfect_tile(loop = %j, n = 2, max_innermost_factor = 8) decision [2, 8] : int, int\n"
        "%j0, %j1 = sched.split(loop = %j, factors = [%x, %y]) : loop, loop",
        ["tile_sizes [0, 8, 0]"],
    ),
    "reorder": ("sched.reorder(loops = [%k, %j, %i])", ["generalize", "interchange", "array<i64: 2, 1, 0>"]),
    "parallel": (TILES + "sched.parallel(loop = %i0)", ["tile_using_forall", "array<i64: 4, 0, 0>"]),
    "fuse": (
        TILES + "sched.reorder(loops = [%i0, %j0, %i1, %j1])\n%x = sched.fuse(loops = [%i0, %j0]) : loop",
        ["tile_sizes [4, 8, 0]", "loop.coalesce"],
    ),
    "fuse, parallel": (
        TILES + "sched.reorder(loops = [%i0, %j0, %i1, %j1])\n%x = sched.fuse(loops = [%i0, %j0]) : loop\n"
        "sched.parallel(loop = %x)",
        ["tile_using_forall", "array<i64: 4, 8, 0>"],
    ),
    "vectorize": (
        TILES + "sched.reorder(loops = [%i0, %j0, %i1, %k, %j1])\nsched.vectorize(loop = %j1)",
        ["structured.vectorize", "array<i64: 1, 8, 1>"],
    ),
    "unroll": (
        TILES + "sched.reorder(loops = [%i0, %j0, %i1, %j1])\nsched.unroll(loop = %i1)",
        ["loop.unroll", "factor = 4"],
    ),
    "decompose_reduction": (
        "%z = sched.decompose_reduction(block = %b, loop = %i) : block\n"
        "%zi, %zj = sched.get_loops(block = %z) : loop, loop\nsched.parallel(loop = %zi)",
        ['tirax.block = "C_init"', "tile_using_forall"],
    ),
}  # fmt: skip


def scheduled(text: str) -> ModuleOp:
    """Run the sequence of a module on its functions."""
    module = parse_mlir(text)
    ApplyTransform().apply(new_context(), module)
    verify_module(module)
    return module


def written(source: str, trace: str) -> str:
    """Return a kernel in linalg, with a trace as a sequence of MLIR."""
    module = parse_mlir(f"{source}\n{HEAD}{trace}\n}}")
    ConvertSchedToTransform().apply(new_context(), module)
    sequence = module.body.block.last_op
    assert sequence is not None
    linalg = parse_mlir(as_linalg(parse_mlir(source)))
    sequence.detach()
    linalg.body.block.add_op(sequence)
    linalg.attributes |= module.attributes
    return upstream_text(linalg)


@pytest.mark.parametrize("step", STEPS)
def test_steps(step: str) -> None:
    """A trace, its sequence in MLIR's interpreter, and the sequence here compute the same."""
    trace, parts = STEPS[step]
    source = product()
    ours = parse_mlir(f"{source}\n{HEAD}{trace}\n}}")
    ApplySchedule().apply(new_context(), ours)
    text = written(source, trace)
    place = 0
    for part in parts:
        assert part in text[place:], part
        place = text.index(part, place)
    kernel = parse_mlir(source)
    assert difference(kernel, upstream_text(scheduled(text)), imported=False) is None
    if iree_opt() is not None:
        assert difference(kernel, transformed(text)) is None


def transformed(text: str) -> str:
    """Return what MLIR's interpreter makes of a module, without the sequence."""
    command = [str(iree_opt()), "--transform-interpreter", "--canonicalize", "--cse", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_symbolic_sizes() -> None:
    with pytest.raises(UnsupportedError, match="the loop that is vectorized is open"):
        written(product("m", "n", "k"), "sched.reorder(loops = [%i, %k, %j])\nsched.vectorize(loop = %j)")
    source = product("m", "n", "k")
    text = written(source, TILES + "sched.reorder(loops = [%i0, %j0, %k, %i1, %j1])\nsched.parallel(loop = %i0)")
    kernel = parse_mlir(source)
    assert difference(kernel, upstream_text(scheduled(text)), (3, 1, 7), imported=False) is None
    assert iree_opt() is None or difference(kernel, transformed(text)) is None


def test_the_same_loops() -> None:
    """A trace and its sequence, applied to a kernel, give the same loops."""
    trace = TILES + "sched.reorder(loops = [%i0, %j0, %i1, %j1, %k])\nsched.parallel(loop = %i0)"
    source = product()
    both = [parse_mlir(f"{source}\n{HEAD}%z = sched.decompose_reduction(block = %b, loop = %i) : block\n{trace}\n}}")]
    both.append(both[0].clone())
    ApplySchedule().apply(new_context(), both[0])
    ConvertSchedToTransform().apply(new_context(), both[1])
    ApplyTransform().apply(new_context(), both[1])
    loops = [[op.kind for op in m.walk() if isinstance(op, tir.ForOp)] for m in both]
    assert loops[0] == loops[1] and tir.ForKind.PARALLEL in loops[0]


@pytest.mark.parametrize(
    "steps, message",
    [
        ("%c = sched.cache_write(block = %b, consumer_blocks = [], write_buffer_index = 0, "
         'storage_scope = "local") : block', REFUSED["cache_write"]),
        ('sched.bind(loop = %i, thread_axis = "threadIdx.x")', REFUSED["bind"]),
        ("sched.compute_inline(block = %b)", REFUSED["compute_inline"]),
        ("sched.set_scope(block = %b, buffer_index = 0, storage_scope = \"local\")", "no such step"),
        ("%x, %y = sched.split(loop = %i, factors = [4, none]) : loop, loop", "the first factor"),
        ("sched.vectorize(loop = %i)", "has to be the innermost one"),
        (TILES + "sched.reorder(loops = [%i1, %i0])", "a loop within a tile surrounds"),
        ("%x = sched.fuse(loops = [%i, %k]) : loop", "not nested directly"),
        ("%x = sched.fuse(loops = [%j, %i]) : loop", "not nested directly"),
        (TILES + "%x, %y = sched.split(loop = %i, factors = [none, 2]) : loop, loop", "split or fused before"),
        (TILES + "sched.reorder(loops = [%i, %k])", "split or fused before"),
        (TILES + "sched.parallel(loop = %i)", "split or fused before"),
        ("sched.reorder(loops = [%k, %k])", "each once"),
        ("sched.parallel(loop = %i)\nsched.unroll(loop = %i)", "has the mark 'parallel'"),
        ("sched.parallel(loop = %k)", "over a reduction"),
        ("%x, %y = sched.sample_perfect_tile(loop = %j, n = 2, max_innermost_factor = 8) : int, int", "no decision"),
    ],
)  # fmt: skip
def test_steps_that_mlir_does_not_have(steps: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        written(product(), steps)


ANY = "!transform.any_op"
MATCH = f'%0 = transform.structured.match ops{{["linalg.matmul"]}} in %root : ({ANY}) -> {ANY}\n'
MATMUL = """
func.func @f(%A: memref<12x8xf32>, %B: memref<8x16xf32>, %C: memref<12x16xf32>) {
  linalg.matmul ins(%A, %B : memref<12x8xf32>, memref<8x16xf32>) outs(%C : memref<12x16xf32>)
  return
}
"""
# operation -> (steps as people write them, a part of the program after it)
READ = {
    "tile_using_for": (f"%1, %l:2 = transform.structured.tile_using_for %0 tile_sizes [4, 8] interchange = [1, 0] : "
                       f"({ANY}) -> ({ANY}, {ANY}, {ANY})", "= 0 to 3"),
    "num_threads": (f"%1, %l = transform.structured.tile_using_forall %0 num_threads [3, 2] : ({ANY}) -> ({ANY}, "
                    f"{ANY})", "tir.for parallel"),
    "interchange": (f"%1 = transform.structured.interchange %0 iterator_interchange = [2, 0, 1] : ({ANY}) -> {ANY}",
                    "= 0 to 8"),
    "vectorize": (f"transform.structured.vectorize %0 vector_sizes [12, 16, 8] : {ANY}", "tir.for vectorized"),
    "unroll": (f"%1, %l = transform.structured.tile_using_for %0 tile_sizes [0, 0, 1] : ({ANY}) -> ({ANY}, {ANY})\n"
               f"transform.loop.unroll %l factor = 4 : {ANY}", "tir.for unrolled"),
    "interchange of tiles": (
        f"%1, %l:2 = transform.structured.tile_using_for %0 tile_sizes [0, 4, 8] interchange = [2, 0, 1] : "
        f"({ANY}) -> ({ANY}, {ANY}, {ANY})\n%2 = transform.loop.coalesce %l#0 : ({ANY}) -> {ANY}", "fused = 0 to 4"),
    "coalesce": (f"%1, %l:2 = transform.structured.tile_using_for %0 tile_sizes [4, 8] : ({ANY}) -> "
                 f"({ANY}, {ANY}, {ANY})\n%2 = transform.loop.coalesce %l#0 : ({ANY}) -> {ANY}", "fused = 0 to 6"),
    "split_handle": (f"%1 = transform.split_handle %0 : ({ANY}) -> {ANY}\n"
                     f"transform.apply_cse to %root : {ANY}", "matmul"),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_sequences_of_others(name: str) -> None:
    steps, part = READ[name]
    text = f"{MATMUL}{sequence(MATCH + steps)}"
    module = scheduled(text)
    assert part in str(module)
    (kernel,) = scheduled(f"{MATMUL}{sequence('')}").body.block.ops
    kernel.detach()
    assert difference(ModuleOp([kernel]), str(module), imported=False) is None


CHAIN = """
func.func @f(%X: memref<12x16xf32>, %Y: memref<12x16xf32>) {
  %t = memref.alloc() : memref<12x16xf32>
  linalg.exp ins(%X : memref<12x16xf32>) outs(%t : memref<12x16xf32>)
  linalg.add ins(%t, %X : memref<12x16xf32>, memref<12x16xf32>) outs(%Y : memref<12x16xf32>)
  return
}
"""


def test_a_producer_in_a_loop() -> None:
    """MLIR fuses on tensors only; here it is a step of any schedule."""
    steps = (
        f'%0 = transform.structured.match ops{{["linalg.add"]}} in %root : ({ANY}) -> {ANY}\n'
        f'%p = transform.structured.match ops{{["linalg.exp"]}} in %root : ({ANY}) -> {ANY}\n'
        f"%1, %l = transform.structured.tile_using_for %0 tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})\n"
        f"%2, %3 = transform.structured.fuse_into_containing_op %p into %l : ({ANY}, {ANY}) -> ({ANY}, {ANY})\n"
    )
    module = scheduled(f"{CHAIN}{sequence(steps)}")
    (function,) = module.body.block.ops
    assert isinstance(function, tir.FuncOp)
    (outer,) = [op for op in function.body.block.ops if isinstance(op, tir.ForOp)]
    assert {op.block_name.data for op in outer.walk() if isinstance(op, tir.BlockOp)} == {"exp", "add"}
    assert "tir.is_scheduled" in str(module)
    (kernel,) = scheduled(f"{CHAIN}{sequence('')}").body.block.ops
    kernel.detach()
    assert difference(ModuleOp([kernel]), str(module), imported=False) is None


def test_padding() -> None:
    steps = (
        '%1:3 = "transform.structured.pad"(%0) <{padding_dimensions = [0, 1, 2], '
        "static_pad_to_multiple_of = array<i64: 5, 16, 8>}> : (!transform.any_op) -> "
        "(!transform.any_op, !transform.any_op, !transform.any_op)"
    )
    source = """
func.func @main(%a: tensor<12x8xf32>, %b: tensor<8x16xf32>) -> tensor<12x16xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<12x16xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<12x16xf32>) -> tensor<12x16xf32>
  %y = linalg.matmul ins(%a, %b : tensor<12x8xf32>, tensor<8x16xf32>) outs(%f : tensor<12x16xf32>) -> tensor<12x16xf32>
  return %y : tensor<12x16xf32>
}
"""
    module, plain = (scheduled(f"{source}{sequence(s)}") for s in (MATCH + steps, ""))
    assert "tir.alloc_buffer : !tir.buffer<[15, 16]" in str(module)
    kernel, padded = (ModuleOp([m.body.block.first_op.clone()]) for m in (plain, module) if m.body.block.first_op)
    assert difference(kernel, str(padded), imported=False) is None


def sequence(steps: str) -> str:
    """Return the sequence with these steps."""
    head = f"transform.named_sequence @__transform_main(%root: {ANY} {{transform.readonly}})"
    return f"{head} {{\n{steps}\ntransform.yield\n}}"


TILE = "%1, %l = transform.structured.tile_using_for"


@pytest.mark.parametrize(
    "steps, message",
    [
        (f'%1 = transform.get_parent_op %0 {{op_name = "scf.for"}} : ({ANY}) -> {ANY}', "transform.get_parent_op"),
        (f"%1, %l = transform.structured.tile_using_for %0 tile_sizes [0, 0, 0, 4] : ({ANY}) -> ({ANY}, {ANY})",
         "more tile sizes than iterators"),
        (f"%1, %2 = transform.split_handle %0 : ({ANY}) -> ({ANY}, {ANY})", "2 results"),
        (f"transform.loop.unroll %0 factor = 4 : {ANY}", "a handle on operations"),
        (f"{TILE} %0 tile_sizes [-4] : ({ANY}) -> ({ANY}, {ANY})", "positive integers"),
        (f"{TILE} %0 tile_sizes [4, 8] : ({ANY}) -> ({ANY}, {ANY})", "2 sizes that are not 0"),
        (f"{TILE} %0 tile_sizes [4, 0] interchange = [1, 1] : ({ANY}) -> ({ANY}, {ANY})", "an interchange"),
        (f"{TILE} %root tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})", "the handle on the whole module"),
        (f"{TILE} %0 tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})\n%2 = transform.structured.interchange %0 "
         f"iterator_interchange = [0, 2, 1] : ({ANY}) -> {ANY}", "a handle that a step has consumed"),
        (f"{TILE} %0 tile_sizes [4] : ({ANY}) -> ({ANY}, {ANY})\n%2 = transform.structured.match "
         f'ops{{["linalg.matmul"]}} in %l : ({ANY}) -> {ANY}', "a match within a handle"),
        *((f"%1 = transform.structured.interchange %0 iterator_interchange = {order} : ({ANY}) -> {ANY}",
           "an interchange") for order in ([0, 0, 1], [1, 0], [7, 0, 1], [-1, 0, 1])),
        *((f"%1, %l = transform.structured.tile_using_forall %0 {sizes} : ({ANY}) -> ({ANY}, {ANY})", message)
          for sizes, message in (("tile_sizes [0, 0]", "no size"), ("num_threads [-3]", "positive integers"),
                                 ("tile_sizes [0, 0, 2]", "kind reduce"))),
        *((f"transform.structured.vectorize %0 vector_sizes {sizes} : {ANY}", "vector sizes")
          for sizes in ([12], [0, 16, 8])),
    ],
)  # fmt: skip
def test_operations_that_are_refused(steps: str, message: str) -> None:
    with pytest.raises(TiraxError, match=message):
        scheduled(f"{MATMUL}{sequence(MATCH + steps)}")


def test_a_sequence_that_is_not_run() -> None:
    """MLIR's interpreter leaves it in the module: a program that is compiled does not run it again."""
    a, b, c = (np.ones(shape, "float32") for shape in ((12, 8), (8, 16), (12, 16)))
    build(from_mlir(parse_mlir(f"{MATMUL}{sequence(MATCH)}")))["f"](a, b, c)
    assert (c == 9).all()
