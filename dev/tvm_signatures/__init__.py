"""TVM's public Python names with their parameters beside those of `tirax.tvm_api`.

`python -m tirax.dev.tvm_signatures` prints the differences, `--read PATH/python/tvm` first reads TVM's sources.
"""
