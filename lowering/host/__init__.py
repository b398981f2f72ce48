"""Lower relax functions to native host code.

1. `lift-closures`: local functions become functions of the module.
2. `merge-kernels`: tir functions of the same structure are merged, also if constants in them differ (`scalars.py`).
3. `lower-relax-calls`: destination passing form (`dialects/host.py`).
4. `plan-memory` (`lowering/memory`): which tensors share the arena, and at which offsets.
5. `convert-host-to-func`: one CPython entry point for each function (`runtime/abi.py` is the contract), also for public
   tir functions. Everything else that the executable needs is stored in attributes of the module: `host.functions`
   (JSON), `host.slots` (JSON), `host.constants`. The tir functions get names that no C function has: `@kernel.<name>`.
6. `isolate-kernels`: the same for functions that kernels are split into later.
"""
