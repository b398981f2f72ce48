"""`tirax-lsp`, the language server for MLIR text and TVMScript.

`script_reader` and `mlir_reader` read a text function by function, reread only what changed, and recover
from errors; their result, a `Reading`, is independent of the protocol. `hover`, `complete` and `actions`
answer from it, `server` implements the protocol (pygls).
"""
