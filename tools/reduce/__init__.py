"""Reduce failing cases: random choices of the fuzzer, and programs (`tirax reduce`)."""
