"""`tirax-lsp`, the language server: what an editor asks of MLIR text and TVMScript while they are typed.

`script_reader` and `mlir_reader` read a text function by function, again only what changed, and go on behind errors;
what they give, a `Reading`, knows nothing of the protocol. `hover`, `complete` and `actions` answer from it, `server`
speaks the protocol (pygls).
"""
