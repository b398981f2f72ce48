"""Make a case that shows a fault smaller: random choices of the fuzzer, and programs (`tirax reduce`)."""
