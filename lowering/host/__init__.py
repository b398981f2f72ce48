"""relax functions to native host code.

1. `lift-closures`: local functions become functions of the module.
2. `merge-kernels`: tir functions of the same structure become one, also where numbers in them differ (`scalars.py`).
3. `lower-relax-calls`: destination passing form (`dialects/host.py`).
4. `plan-memory` (`lowering/memory`): which tensors share the arena, and where.
5. `convert-host-to-func`: one CPython entry point for each function (`runtime/abi.py` is the contract), also for public
   tir functions. What the executable needs besides is left in attributes of the module: `host.functions` (JSON),
   `host.slots` (JSON), `host.constants`. The tir functions get names that no C function has: `@kernel.<name>`.
6. `isolate-kernels`: so do functions that kernels are split into later.
"""
