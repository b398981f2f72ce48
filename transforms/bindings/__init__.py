"""The bindings of relax functions: normal form, what is computed twice or never, dataflow blocks, their order."""
